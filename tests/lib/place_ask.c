/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to placement, and what its answers are held against. */
#include "lib/place_history.h"
#include "lib/team.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"

void history_refresh(struct cluster *cluster)
{
	team_refresh(cluster);
}

void history_begin(struct history *h, const struct cluster *cluster, struct place_memory *memory,
		   int p, struct place *place)
{
	struct place_tools tools = {cluster, &h->weights, memory, &h->arena, NULL};
	struct cluster_ask ask;

	cluster_ask_of_pod(cluster, history_pod_handle(h, cluster, p), &ask);
	place_begin(place, &tools, &ask);
}

static bool offers_all(const struct history *h, int p, int n)
{
	for (int r = 0; r < KUBELET_RESOURCES; r++)
		if (history_asks_of(&h->pods[p], r) > 0 &&
		    h->nodes[n].kubelet.resources[r].registered == 0)
			return false;
	return true;
}

/* Whether kubelet might admit it after those that it has to look at before. */
static bool may_be_admitted(struct history *h, int p, int n)
{
	for (int i = 0; i < 12; i++) {
		struct kubelet_model kubelet = h->nodes[n].kubelet;

		for (int k = 0; k < h->nodes[n].n_queue; k++)
			kubelet_admit(&kubelet, &h->pods[h->nodes[n].queue[k]].spec, &h->random);
		if (kubelet_admit(&kubelet, &h->pods[p].spec, &h->random).admitted)
			return true;
	}
	return false;
}

static bool node_is_known(const struct history *h, int n)
{
	for (int p = 0; p < PODS; p++) {
		const struct history_pod *pod = &h->pods[p];

		if (pod->exists && pod->stale && (pod->node == n || pod->told_node == n))
			return false;
	}
	return h->nodes[n].published;
}

static void check_verdict(struct history *h, struct place_answer answer, int p, int n)
{
	bool required = history_topology_of(h, &h->pods[p]).policy == TOPOLOGY_REQUIRED;
	bool too_few = false, vague, refused;

	h->seen[answer.verdict]++;
	if (!h->nodes[n].exists) {
		if (answer.verdict != PLACE_NO_NODE)
			history_fail_at(h, "a node that is gone", p, n);
		return;
	}
	for (int r = 0; r < KUBELET_RESOURCES; r++)
		too_few |= history_asks_of(&h->pods[p], r) > 0 &&
			   history_asks_of(&h->pods[p], r) >
				   history_given_out(&h->nodes[n], r) - history_held_on(h, n, r, p);
	if ((answer.verdict == PLACE_TOO_FEW) != too_few)
		history_fail_at(h, "whether enough is free", p, n);
	if (too_few)
		return;
	refused = history_quota_refuses(h, p, n, &vague);
	if (!vague && (answer.verdict == PLACE_QUOTA) != refused)
		history_fail_at(h, "what the quota says", p, n);
	if (!required && answer.verdict > PLACE_REJECTED)
		history_fail_at(h, "refused for what it did not ask for", p, n);
	if (answer.verdict == PLACE_REJECTED && node_is_known(h, n) && may_be_admitted(h, p, n))
		history_fail_at(h, "kubelet would not reject it", p, n);
}

static void check_score(struct history *h, struct place *place, int p, int n,
			const struct place_score *score)
{
	uint64_t all = history_cards_below(h->nodes[n].machine.layout.n_gpus);
	uint32_t handle = history_node_handle(h->cluster, n);
	uint64_t held = cluster_room(h->cluster, handle).seen, cards = place_cards(place, handle);
	const int64_t terms[] = {score->alignment, score->nvlink, score->pcie,
				 score->fragmentation};

	if (score->total != place_total(&h->weights, score))
		history_fail_at(h, "a total that is not of its terms", p, n);
	for (size_t i = 0; i < ARRAY_SIZE(terms); i++)
		if (terms[i] < 0 || terms[i] > PLACE_TERM_MOST)
			history_fail_at(h, "a term is out of its range", p, n);
	if (cards & (~all | held) ||
	    (cards != 0 && history_count_of(cards) != history_asks_of(&h->pods[p], KUBELET_CARDS)))
		history_fail_at(h, "cards that it cannot have", p, n);
	if (place_cards(place, handle) != cards)
		history_fail_at(h, "other cards when asked again", p, n);
}

/* What pods that a trial takes as gone ask for stays usual: they wait then. */
static bool same_score(const struct place_score *a, const struct place_score *b, bool in_trial)
{
	return a->alignment == b->alignment && a->nvlink == b->nvlink && a->pcie == b->pcie &&
	       (in_trial || (a->total == b->total && a->fragmentation == b->fragmentation));
}

static void describe(struct place *place, struct place_answer answer, struct buf *buf)
{
	buf_reset(buf);
	place_describe(place, answer, buf);
	buf_add(buf, "", 1);
}

/* The same question of @cluster, with another memory, gets the same answer. */
void history_check_same(struct history *h, const struct cluster *cluster, struct place *place,
			int p, int n)
{
	struct place_answer answer;
	uint32_t ours = history_node_handle(h->cluster, n),
		 theirs = history_node_handle(cluster, n);
	struct buf said CLEANUP(buf_clear) = {0}, again CLEANUP(buf_clear) = {0};
	struct place_score score, other_score;
	struct place_answer found;
	struct place other;

	if (ours == TABLE_NONE || theirs == TABLE_NONE)
		return;
	buf_init(&said, 4096);
	buf_init(&again, 4096);
	history_begin(h, cluster, &h->fresh, p, &other);
	answer = place_fit(place, ours);
	found = place_fit(&other, theirs);
	describe(place, answer, &said);
	describe(&other, found, &again);
	if (found.verdict != answer.verdict || strcmp(said.data, again.data) != 0)
		history_fail_at(h, "another answer when asked again", p, n);
	if (answer.verdict != PLACE_FITS)
		return;
	score = place_score(place, ours);
	other_score = place_score(&other, theirs);
	if (!same_score(&score, &other_score, place->ask.trial != NULL) ||
	    place_cards(place, ours) != place_cards(&other, theirs))
		history_fail_at(h, "another score when asked again", p, n);
}

/* kube-scheduler looks at a node's CPUs as a sum, before it asks us. */
static bool has_cpus(const struct history *h, int p, int n)
{
	const struct kubelet_model *kubelet = &h->nodes[n].kubelet;
	int64_t left = -(int64_t)h->nodes[n].reserved_cpus;

	for (uint32_t numa = 0; numa < kubelet->n_numas; numa++)
		left += kubelet->cpus[numa];
	for (int i = 0; i < PODS; i++)
		if (i == p || history_view_node(&h->pods[i]) == n)
			left -= kubelet_pod_cpus(&h->pods[i].spec);
	return left >= 0;
}

/* The best node that fits, or NO_NODE. */
int history_decide(struct history *h, int p, uint64_t *ret_cards)
{
	struct place place;
	int64_t most = -1;
	int best = NO_NODE;

	arena_reset(&h->arena);
	history_refresh(h->cluster);
	history_begin(h, h->cluster, &h->memory, p, &place);
	for (int n = 0; n < NODES; n++) {
		uint32_t handle = history_node_handle(h->cluster, n);
		struct place_answer answer;
		struct place_score score;

		if (handle == TABLE_NONE || !offers_all(h, p, n) || !has_cpus(h, p, n))
			continue;
		answer = place_fit(&place, handle);
		check_verdict(h, answer, p, n);
		place_memory_clear(&h->fresh);
		history_check_same(h, h->cluster, &place, p, n);
		if (answer.verdict != PLACE_FITS)
			continue;
		score = place_score(&place, handle);
		check_score(h, &place, p, n, &score);
		if (score.total > most || (score.total == most && history_chance(h, 2))) {
			best = n;
			most = score.total;
			*ret_cards = place_cards(&place, handle);
		}
	}
	return best;
}
