/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories of pods that are placed as a scheduler places them, on nodes whose kubelets
 * (lib/kubelet_model.h) give out cards as they like. Watches are late, bindings fail, layouts come
 * to be known and unknown. What a pod that requires its scope gets never spans it, and kubelet
 * rejects no such pod; nothing is refused without a cause; rooms and sums are what a count of the
 * pods says; a cluster that is told of everything anew gives the same answers, and one that is told
 * of all but some pods those of a trial in which these are gone.
 *
 * GPUQOS_SEED=n repeats one history, GPUQOS_SOAK=1 runs many more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "cluster/placing/assume.h"
#include "cluster/placing/reserve.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "lib/place_history.h"
#include "lib/topo_oracle.h"
#include "place/place.h"

#define HISTORIES      150
#define SOAK_HISTORIES 20000
#define STEPS          250

static struct history history;
static size_t seen[PLACE_VERDICT_COUNT], required_admitted, loosely_admitted, kubelet_rejected,
	trials;

/* --- what happens */

static int pick(struct history *h, bool (*is)(const struct history_pod *pod))
{
	int found[PODS], n = 0;

	for (int p = 0; p < PODS; p++)
		if (is(&h->pods[p]))
			found[n++] = p;
	return n == 0 ? -1 : found[history_below(h, (uint32_t)n)];
}

/* Beside a device where the pod is of whole CPUs there; beside none at times. */
static void give_whole_cpus(struct history *h, struct history_pod *pod)
{
	for (size_t i = 0; i < pod->spec.n; i++) {
		struct kubelet_container *container = &pod->spec.containers[i];

		if (container->asks[KUBELET_CARDS] + container->asks[KUBELET_PARTS] == 0)
			container->cpus = history_chance(h, 2) ? history_below(h, 4) : 0;
		else if (pod->whole_cpus)
			container->cpus = 1 + history_below(h, 4);
	}
}

static void create_pod(struct history *h)
{
	static const uint32_t sizes[] = {1, 1, 2, 2, 3, 4, 4, 6, 8};
	int p = (int)history_below(h, PODS);
	struct history_pod *pod = &h->pods[p];

	if (pod->exists)
		return;
	*pod = (struct history_pod){
		.exists = true,
		.guaranteed = !history_chance(h, 4),
		.whole_cpus = !history_chance(h, 5),
		.wished = history_chance(h, 2),
		.scoped = history_chance(h, 2),
		.policy = (enum topology_policy)history_below(h, 3),
		.scope = (enum layout_scope)history_below(h, 3),
		.uid = ++h->counter,
		.space = (int)history_below(h, SPACES),
		.node = NO_NODE,
		.told_node = NO_NODE,
		.spec = {.n = history_chance(h, 3) ? 1 + history_below(h, KUBELET_CONTAINERS) : 1},
	};
	pod->spec.guaranteed = pod->guaranteed;
	for (size_t i = 0; i < pod->spec.n; i++) {
		struct kubelet_container *container = &pod->spec.containers[i];

		if (i + 1 < pod->spec.n && history_chance(h, 2) &&
		    (i == 0 || pod->spec.containers[i - 1].kind != CONTAINER_NORMAL))
			container->kind = history_chance(h, 3) ? CONTAINER_SIDECAR : CONTAINER_INIT;
		if (!history_chance(h, 6))
			container->asks[KUBELET_CARDS] =
				sizes[history_below(h, pod->spec.n == 1 ? ARRAY_SIZE(sizes) : 5)];
		if (history_chance(h, 5))
			container->asks[KUBELET_PARTS] = 1 + history_below(h, 2);
	}
	if (history_asks_of(pod, KUBELET_CARDS) + history_asks_of(pod, KUBELET_PARTS) == 0)
		pod->spec.containers[0].asks[KUBELET_CARDS] = 1;
	if (pod->guaranteed)
		give_whole_cpus(h, pod);
	history_tell_pod(h, p);
}

static bool is_pending(const struct history_pod *pod)
{
	return pod->exists && pod->node == NO_NODE && !pod->finished && !pod->terminating;
}

static void assume(struct history *h, struct cluster *cluster, int p)
{
	struct history_pod *pod = &h->pods[p];

	cluster_assume(cluster, history_pod_handle(h, cluster, p),
		       history_node_handle(cluster, pod->assumed_node), pod->assumed_cards,
		       pod->until_us ? pod->until_us : INT64_MAX);
}

static void schedule(struct history *h)
{
	int p = pick(h, is_pending), n;
	struct history_pod *pod = &h->pods[MAX(p, 0)];
	struct topology_spec topology;
	uint64_t cards = 0;
	bool vague;

	if (p < 0)
		return;
	n = history_decide(h, p, &cards);
	if (n == NO_NODE)
		return;
	if (history_quota_refuses(h, p, n, &vague) && !vague)
		history_fail_at(h, "more than is allowed", p, n);
	topology = history_topology_of(h, pod);
	pod->required = topology.policy == TOPOLOGY_REQUIRED;
	pod->required_scope = topology.scope;
	pod->policy_known = h->nodes[n].published && h->nodes[n].policy_told;
	pod->decided = h->step;
	pod->assumed = true;
	pod->assumed_node = n;
	pod->assumed_cards = cards;
	pod->until_us = 0;
	if (!history_chance(h, 6)) { /* bound */
		assume(h, h->cluster, p);
		pod->node = n;
		h->nodes[n].queue[h->nodes[n].n_queue++] = p;
		history_changed(h, p);
		return;
	}
	pod->until_us = h->now_us + 1 + history_below(h, 40);
	assume(h, h->cluster, p);
	if (history_chance(h, 2)) {
		cluster_unassume(h->cluster, history_pod_handle(h, h->cluster, p));
		pod->assumed = false;
		pod->assumed_cards = 0;
	}
}

static void check_admitted(struct history *h, int p, int n)
{
	const struct history_pod *pod = &h->pods[p];
	const struct history_node *node = &h->nodes[n];
	uint64_t cards = pod->got.units[KUBELET_CARDS];

	for (uint32_t unit = 0; unit < KUBELET_UNITS; unit++)
		if (pod->got.units[KUBELET_PARTS] >> unit & 1) {
			uint64_t left = node->cut;

			for (uint32_t i = 0; i < unit / PARTS_OF_CARD; i++)
				left &= left - 1;
			cards |= left & (~left + 1);
		}
	if (oracle_in_one_domain(&node->machine.layout, pod->required_scope, cards) != ORACLE_YES)
		history_fail_at(h, "its cards do not lie in one domain", p, n);
	if (pod->required_scope == LAYOUT_NUMA && pod->got.cpus != 0 &&
	    node->machine.layout.n_numas > 1)
		for (uint32_t card = 0; card < LIMIT_LAYOUT_GPUS; card++)
			if (cards >> card & 1 &&
			    (pod->got.cpus & ~(UINT64_C(1) << node->machine.gpus[card].numa)))
				history_fail_at(h, "CPUs of another NUMA node", p, n);
	required_admitted++;
}

static void admit_next(struct history *h)
{
	int n = (int)history_below(h, NODES), p;
	struct history_node *node = &h->nodes[n];
	struct history_pod *pod;

	if (node->n_queue == 0)
		return;
	p = node->queue[0];
	memmove(&node->queue[0], &node->queue[1], (size_t)--node->n_queue * sizeof(int));
	pod = &h->pods[p];
	pod->got = kubelet_admit(&node->kubelet, &pod->spec, &h->random);
	pod->admitted = pod->got.admitted;
	pod->finished = !pod->admitted;
	kubelet_rejected += pod->finished;
	if (pod->required && pod->finished && pod->policy_known)
		history_fail_at(h, "kubelet rejects a pod whose topology is required", p, n);
	if (pod->required && pod->admitted)
		check_admitted(h, p, n);
	loosely_admitted += !pod->required && pod->admitted;
	history_changed(h, p);
}

static bool is_running(const struct history_pod *pod)
{
	return pod->exists && pod->admitted && !pod->finished;
}

/*
 * Cards that a pod gives back after a decision, or before the watch shows it, and before kubelet
 * has made something of the decision, are cards of which it did not know that they would be free,
 * unless the pod was being deleted (docs/topology.md). That is not what is tested here.
 */
static bool may_finish(const struct history *h, const struct history_pod *pod)
{
	const struct history_node *node = &h->nodes[pod->node];

	for (int i = 0; i < node->n_queue; i++)
		if (pod->left == 0 || h->pods[node->queue[i]].decided <= pod->left)
			return false;
	return true;
}

static void finish_pod(struct history *h)
{
	int p = pick(h, is_running);
	struct history_pod *pod = &h->pods[MAX(p, 0)];

	if (p < 0)
		return;
	if (may_finish(h, pod)) {
		kubelet_release(&h->nodes[pod->node].kubelet, &pod->got);
		pod->finished = true;
		if (pod->left == 0)
			history_tell_pod(h, p);
	} else {
		pod->terminating = true;
	}
	history_changed(h, p);
}

static bool is_over(const struct history_pod *pod)
{
	return pod->exists && (pod->finished || pod->node == NO_NODE);
}

static void delete_pod(struct history *h)
{
	int p = pick(h, is_over);
	struct history_name name = history_name_of("pod", p);
	struct history_name space;

	if (p < 0)
		return;
	space = history_name_of("space", h->pods[p].space);
	cluster_delete(h->cluster, CLUSTER_PODS, str_from(space.text), str_from(name.text));
	h->pods[p].exists = h->pods[p].assumed = false;
}

static bool is_stale(const struct history_pod *pod)
{
	return pod->exists && pod->stale;
}

static void tell_late(struct history *h)
{
	int p = pick(h, is_stale);

	if (p >= 0)
		history_tell_pod(h, p);
}

static void expire(struct history *h)
{
	int64_t next_us, first_us = TIME_NEVER;

	h->now_us += history_below(h, 20);
	cluster_expire_assumptions(h->cluster, h->now_us, &next_us);
	for (int p = 0; p < PODS; p++) {
		struct history_pod *pod = &h->pods[p];

		if (!pod->exists || !pod->assumed || pod->until_us == 0)
			continue;
		if (pod->until_us <= h->now_us) {
			pod->assumed = false;
			pod->assumed_cards = 0;
		} else {
			first_us = MIN(first_us, pod->until_us);
		}
	}
	if (next_us != first_us && !(first_us == TIME_NEVER && next_us == INT64_MAX))
		history_fail_at(h, "the next one ends at another time", -1, -1);
}

/* --- all of it anew */

static void relist(struct history *h)
{
	cluster_begin_replace(h->cluster, CLUSTER_PODS);
	for (int p = 0; p < PODS; p++)
		if (h->pods[p].exists)
			history_tell_pod(h, p);
	cluster_end_replace(h->cluster, CLUSTER_PODS);
}

/* @gone: pods that it is not told of, each a bit. */
static struct cluster *tell_all_but(struct history *h, uint32_t gone)
{
	static const struct hash_key key = {3, 4};
	struct cluster *cluster = cluster_new(&key);

	for (int t = 0; t < TENANTS; t++)
		history_tell_tenant(h, cluster, t);
	for (int s = 0; s < SPACES; s++)
		history_tell_space(h, cluster, s);
	for (int n = 0; n < NODES; n++)
		if (h->nodes[n].exists)
			history_tell_node(h, cluster, n);
	for (int p = PODS; p-- > 0;) {
		struct history_pod *pod = &h->pods[p];

		if (!pod->exists || gone >> p & 1)
			continue;
		history_tell_what_was_told(h, cluster, p);
		if (pod->assumed && history_node_handle(cluster, pod->assumed_node) != TABLE_NONE)
			assume(h, cluster, p);
	}
	history_refresh(cluster);
	return cluster;
}

/* Cards that were chosen for pods that are bound by now are forgotten with a restart. */
static bool all_is_told(const struct history *h)
{
	for (int p = 0; p < PODS; p++) {
		const struct history_pod *pod = &h->pods[p];

		if (pod->exists && pod->assumed && !h->nodes[pod->assumed_node].exists)
			return false;
		if (pod->exists && !pod->assumed && !pod->told_finished && pod->assumed_cards != 0)
			return false;
	}
	return true;
}

static void restart(struct history *h)
{
	CLEANUP(cluster_free) struct cluster *cluster = NULL;

	if (!all_is_told(h))
		return;
	cluster = tell_all_but(h, 0);
	history_refresh(h->cluster);
	for (int p = 0; p < PODS; p++) {
		struct place place;

		if (!is_pending(&h->pods[p]))
			continue;
		arena_reset(&h->arena);
		place_memory_clear(&h->fresh);
		history_begin(h, h->cluster, &h->memory, p, &place);
		for (int n = 0; n < NODES; n++)
			if (history_node_handle(h->cluster, n) != TABLE_NONE)
				history_check_same(h, cluster, &place, p, n);
	}
}

static uint32_t pick_gone(struct history *h, uint32_t *ret_handles, size_t *ret_n)
{
	uint32_t gone = 0;

	*ret_n = 0;
	for (int p = 0; p < PODS; p++) {
		if (!h->pods[p].exists || !history_chance(h, 3))
			continue;
		gone |= UINT32_C(1) << p;
		ret_handles[(*ret_n)++] = history_pod_handle(h, h->cluster, p);
	}
	return gone;
}

/* Without some pods, which are there. */
static void try_without(struct history *h)
{
	CLEANUP(cluster_free) struct cluster *cluster = NULL;
	uint32_t handles[PODS], gone;
	struct cluster_trial trial = {handles, 0};

	if (!all_is_told(h))
		return;
	gone = pick_gone(h, handles, &trial.n);
	cluster = tell_all_but(h, gone);
	history_refresh(h->cluster);
	for (int p = 0; p < PODS; p++) {
		struct place place;

		if (!is_pending(&h->pods[p]) || gone >> p & 1)
			continue;
		arena_reset(&h->arena);
		place_memory_clear(&h->fresh);
		history_begin(h, h->cluster, &h->memory, p, &place);
		place_try(&place, &trial);
		for (int n = 0; n < NODES; n++)
			if (h->nodes[n].exists)
				history_check_same(h, cluster, &place, p, n);
		trials++;
	}
}

/* --- histories */

static void start(struct history *h, uint64_t seed)
{
	static const struct hash_key key = {1, 2};

	memset(h, 0, sizeof(*h));
	h->seen = seen;
	h->seed = seed;
	random_init(&h->random, seed);
	arena_init(&h->arena, 16 << 20);
	h->weights = PLACEMENT_WEIGHTS_DEFAULT;
	h->now_us = 1;
	for (int t = 0; t < TENANTS; t++)
		history_set_tenant(h, t);
	for (int s = 0; s < SPACES; s++)
		history_set_space(h, s);
	for (int n = 0; n < NODES; n++) {
		h->nodes[n].exists = true;
		history_new_machine(h, &h->nodes[n]);
	}
	h->cluster = cluster_new(&key);
	for (int t = 0; t < TENANTS; t++)
		history_tell_tenant(h, h->cluster, t);
	for (int s = 0; s < SPACES; s++)
		history_tell_space(h, h->cluster, s);
	for (int n = 0; n < NODES; n++)
		history_tell_node(h, h->cluster, n);
}

static void step(struct history *h)
{
	static void (*const steps[])(struct history *) = {
		create_pod,
		create_pod,
		schedule,
		schedule,
		schedule,
		schedule,
		admit_next,
		admit_next,
		finish_pod,
		finish_pod,
		delete_pod,
		delete_pod,
		tell_late,
		tell_late,
		expire,
		history_change_node,
		history_change_quota,
		restart,
		try_without,
	};
	uint32_t what = history_below(h, ARRAY_SIZE(steps) * 4 + 1);

	if (what == 0)
		relist(h);
	else
		steps[what % ARRAY_SIZE(steps)](h);
	history_check_rooms(h);
}

/* Room is held, and claims are named, in unit tests alone. */
static bool is_met_here(unsigned int verdict)
{
	return verdict != PLACE_NO_DEVICE && verdict != PLACE_STRANGER && verdict != PLACE_HELD &&
	       verdict != PLACE_CLAIMS;
}

static void check_met(bool only_one)
{
	for (unsigned int verdict = 0; verdict < PLACE_VERDICT_COUNT; verdict++) {
		print_message("%zu %s\n", seen[verdict], place_reason((enum place_verdict)verdict));
		if (!only_one && seen[verdict] == 0 && is_met_here(verdict))
			fail_msg("%s was never met", place_reason((enum place_verdict)verdict));
	}
}

static void every_history_holds(void **state)
{
	const char *only = getenv("GPUQOS_SEED");
	uint64_t first = only ? strtoull(only, NULL, 10) : 1;
	uint64_t n = only ? 1 : getenv("GPUQOS_SOAK") ? SOAK_HISTORIES : HISTORIES;

	(void)state;
	for (uint64_t seed = first; seed < first + n; seed++) {
		start(&history, seed);
		for (history.step = 1; history.step <= STEPS; history.step++)
			step(&history);
		place_memory_clear(&history.memory);
		place_memory_clear(&history.fresh);
		cluster_free(history.cluster);
		arena_clear(&history.arena);
	}
	print_message("%zu admitted with their scope required, %zu without; %zu rejected\n",
		      required_admitted, loosely_admitted, kubelet_rejected);
	check_met(only != NULL);
	print_message("%zu trials\n", trials);
	assert_true(only || (required_admitted > 0 && loosely_admitted > 0 && trials > 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_history_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
