/* SPDX-License-Identifier: Apache-2.0 */
/* What the cluster should know of pods. */
#include "lib/place_history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/placing/assume.h"
#include "cluster/read.h"

int history_view_node(const struct history_pod *pod)
{
	if (!pod->exists || pod->told_finished)
		return NO_NODE;
	return pod->assumed ? pod->assumed_node : pod->told_node;
}

int64_t history_held_on(const struct history *h, int n, int r, int except)
{
	int64_t sum = 0;

	for (int p = 0; p < PODS; p++)
		if (p != except && history_view_node(&h->pods[p]) == n)
			sum += history_asks_of(&h->pods[p], r);
	return sum;
}

static int64_t bytes_on(const struct history_node *node, const struct history_pod *pod)
{
	return history_asks_of(pod, KUBELET_CARDS) * node->card_bytes +
	       history_asks_of(pod, KUBELET_PARTS) * PART_BYTES;
}

struct held {
	int64_t bytes, gpus;
	bool vague; /* some of it is on a node that does not say what it has */
};

/* Of @space, or of all spaces of @tenant. */
static struct held held_in(const struct history *h, int space, int tenant, int except)
{
	struct held held = {0, 0, false};

	for (int p = 0; p < PODS; p++) {
		const struct history_pod *pod = &h->pods[p];
		int n = history_view_node(pod);

		if (p == except || n == NO_NODE ||
		    (tenant >= 0 ? h->spaces[pod->space].tenant != tenant : pod->space != space))
			continue;
		for (int r = 0; r < KUBELET_RESOURCES; r++)
			held.vague |= history_asks_of(pod, r) > 0 &&
				      (!h->nodes[n].exists ||
				       h->nodes[n].kubelet.resources[r].registered == 0);
		held.bytes += bytes_on(&h->nodes[n], pod);
		held.gpus += history_asks_of(pod, KUBELET_CARDS);
	}
	return held;
}

static bool exceeds(int64_t asks, int64_t held, int64_t limit)
{
	return limit != AMOUNT_NONE && asks > 0 && asks + held > limit;
}

bool history_quota_refuses(const struct history *h, int p, int n, bool *ret_vague)
{
	const struct history_pod *pod = &h->pods[p];
	const struct history_space *space = &h->spaces[pod->space];
	struct held here = held_in(h, pod->space, -1, p);
	int64_t bytes = bytes_on(&h->nodes[n], pod), gpus = history_asks_of(pod, KUBELET_CARDS);

	*ret_vague = here.vague;
	if (space->has_quota &&
	    (exceeds(bytes, here.bytes, space->bytes) || exceeds(gpus, here.gpus, space->gpus)))
		return true;
	if (space->tenant < 0)
		return false;
	here = held_in(h, pod->space, space->tenant, p);
	*ret_vague |= here.vague;
	return !space->has_quota || exceeds(bytes, here.bytes, h->tenants[space->tenant].bytes) ||
	       exceeds(gpus, here.gpus, h->tenants[space->tenant].gpus);
}

struct topology_spec history_topology_of(const struct history *h, const struct history_pod *pod)
{
	struct topology_spec spec = TOPOLOGY_SPEC_DEFAULT;

	if (h->spaces[pod->space].tenant >= 0)
		spec = h->tenants[h->spaces[pod->space].tenant].topology;
	return pod->wished ? topology_of_pod(spec, pod->policy, pod->scoped ? &pod->scope : NULL)
			   : spec;
}

/* --- rooms */

static void check_units(struct history *h, int n, uint32_t handle)
{
	const struct history_node *node = &h->nodes[n];
	struct cluster_units units[KUBELET_RESOURCES];
	struct cluster_ask ask;

	for (int r = 0; r < KUBELET_RESOURCES; r++) {
		struct pod_facts facts = {.namespace = STR("x"), .name = STR("x")};
		struct device_ask row = device_ask_units(history_resources[r], 1);
		struct container_facts container = {CONTAINER_NORMAL, &row, 1};

		facts.containers = &container;
		facts.n_containers = 1;
		cluster_ask_of(h->cluster, &facts, &ask);
		if (ask.n == 0 || node->kubelet.resources[r].registered == 0)
			continue;
		cluster_units_on(h->cluster, &ask, handle, units);
		if (units[0].free != history_given_out(node, r) - history_held_on(h, n, r, -1))
			history_fail_at(h, "another number is free", -1, n);
	}
}

static void check_room(struct history *h, int n)
{
	const struct history_node *node = &h->nodes[n];
	uint32_t handle = history_node_handle(h->cluster, n);
	uint64_t held = 0, assumed = 0, leaving = 0;
	struct cluster_room room;

	if (handle == TABLE_NONE || !node->exists)
		return;
	for (int p = 0; p < PODS; p++) {
		const struct history_pod *pod = &h->pods[p];

		if (history_view_node(pod) != n)
			continue;
		if (pod->told_cards == 0 || pod->told_terminating)
			assumed |= pod->told_cards | pod->assumed_cards;
		else
			held |= pod->told_cards;
		if (pod->told_terminating &&
		    topo_set_count(pod->told_cards) == history_asks_of(pod, KUBELET_CARDS))
			leaving |= pod->told_cards;
	}
	room = cluster_room(h->cluster, handle);
	if (!node->published)
		held = 0;
	if (room.seen != held)
		history_fail_at(h, "other cards are seen to be held", -1, n);
	if (node->published && room.assumed != (assumed & ~held))
		history_fail_at(h, "other cards are assumed", -1, n);
	if (node->published && room.leaving != (leaving & ~held))
		history_fail_at(h, "other cards are about to be free", -1, n);
	check_units(h, n, handle);
}

void history_check_rooms(struct history *h)
{
	uint32_t assumptions = 0;

	for (int n = 0; n < NODES; n++)
		check_room(h, n);
	for (int p = 0; p < PODS; p++)
		assumptions += h->pods[p].exists && h->pods[p].assumed;
	if (cluster_assumptions(h->cluster) != assumptions)
		history_fail_at(h, "another number of pods is assumed", -1, -1);
}
