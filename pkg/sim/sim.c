/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a policy said of a node is kept for each kind of ask until the node changes, and each pod
 * changes one node: of 1,213 nodes one is scored again for most pods.
 */
#include "sim/sim.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* Kept scores, most: 32 bytes each. Above it they are not kept. */
#define KEPT_MAX (UINT32_C(1) << 24)

#define NOWHERE UINT32_MAX

struct place {
	struct sim_place seen;
	int64_t memory; /* free */
	uint32_t version;
};

struct kept {
	struct sim_score score;
	uint32_t version; /* of the node; 0: never scored */
};

struct sums {
	double allocation, fragmentation;
	uint32_t arrivals;
};

struct sim {
	const struct sim_input *input;
	enum sim_policy policy;
	int64_t seed;
	struct sim_arrivals arrivals;
	struct sim_rules rules;
	struct place *places;
	struct kept *kept;                    /* by ask, then node; NULL: not kept */
	uint32_t next;                        /* of arrivals */
	int64_t capacity, arrived, allocated; /* millicards */
	double fragmentation;                 /* millicards, sum over the nodes */
	struct sums sums[SIM_POINTS];
	struct sim_result counts;
	int8_t *history; /* by percent, then node; NULL: not kept */
	unsigned int percents;
};

/* --- beginning and end */

static void place_nodes(struct sim *sim)
{
	sim->places = mem_alloc_array(sim->input->n_nodes, sizeof(sim->places[0]));
	for (size_t i = 0; i < sim->input->n_nodes; i++) {
		struct place *place = &sim->places[i];

		place->seen.gpu = sim->input->nodes[i].gpu;
		place->seen.fragmentation = fgd_of(&sim->rules.fgd, &place->seen.gpu);
		place->memory = sim->input->nodes[i].memory;
		place->version = 1;
		sim->fragmentation += place->seen.fragmentation;
	}
}

static void set_rules(struct sim_rules *rules, const struct sim_input *input)
{
	int64_t cards[FRAG_PRODUCTS] = {0};

	for (size_t i = 0; i < input->n_nodes; i++)
		if (input->nodes[i].gpu.product)
			cards[__builtin_ctzll(input->nodes[i].gpu.product)] +=
				input->nodes[i].gpu.cards;
	frag_mix_set(&rules->mix, input->asks, input->n_asks);
	frag_mix_press(&rules->mix, cards);
	fgd_init(&rules->fgd, input->asks, input->n_asks);
	rules->weights = FRAG_WEIGHTS_DEFAULT;
	rules->placement = PLACEMENT_WEIGHTS_DEFAULT;
}

struct sim *sim_new(const struct sim_input *input, const struct gorand_table *table,
		    enum sim_policy policy, int64_t seed, bool history)
{
	struct sim *sim = mem_alloc(sizeof(*sim));
	size_t scores = input->n_asks * input->n_nodes;

	sim->input = input;
	sim->policy = policy;
	sim->seed = seed;
	sim->capacity = sim_input_cards(input) * FRAG_WHOLE;
	set_rules(&sim->rules, input);
	sim_arrivals_draw(&sim->arrivals, table, input, seed);
	place_nodes(sim);
	if (scores <= KEPT_MAX && policy != SIM_RANDOM)
		sim->kept = mem_alloc_array(scores, sizeof(sim->kept[0]));
	if (history)
		sim->history = mem_alloc_array(input->n_nodes * SIM_POINTS, 1);
	return sim;
}

void sim_free(struct sim *sim)
{
	if (!sim)
		return;
	sim_arrivals_clear(&sim->arrivals);
	mem_free(sim->places);
	mem_free(sim->kept);
	mem_free(sim->history);
	mem_free(sim);
}

/* --- choosing a node */

struct arrival {
	const struct frag_ask *ask;
	int64_t memory;
	uint32_t kind; /* index of the ask */
};

static bool fits(const struct place *place, const struct arrival *pod)
{
	return place->memory >= pod->memory && frag_fits(&place->seen.gpu, pod->ask);
}

static struct sim_score score_of(struct sim *sim, uint32_t node, const struct arrival *pod)
{
	const struct place *place = &sim->places[node];
	struct kept *kept = NULL;
	struct sim_score score;

	if (sim->kept) {
		kept = &sim->kept[pod->kind * sim->input->n_nodes + node];
		if (kept->version == place->version)
			return kept->score;
	}
	score = sim_policy_score(sim->policy, &sim->rules, &place->seen, pod->ask);
	if (kept)
		*kept = (struct kept){score, place->version};
	return score;
}

static uint32_t choose(struct sim *sim, const struct arrival *pod, uint64_t *ret_cards)
{
	const uint32_t *ranks = sim->arrivals.ranks;
	uint32_t best = NOWHERE;
	int64_t best_score = 0;

	for (uint32_t node = 0; node < sim->input->n_nodes; node++) {
		struct sim_score score;

		if (!fits(&sim->places[node], pod))
			continue;
		score = score_of(sim, node, pod);
		if (best != NOWHERE && (score.score < best_score ||
					(score.score == best_score && ranks[node] > ranks[best])))
			continue;
		best = node;
		best_score = score.score;
		*ret_cards = score.cards;
	}
	return best;
}

static uint32_t choose_at_random(struct sim *sim, const struct arrival *pod, uint64_t *ret_cards)
{
	struct gorand *rand = &sim->arrivals.rand;
	uint32_t fitting = 0, chosen = NOWHERE;

	for (uint32_t node = 0; node < sim->input->n_nodes; node++)
		if (fits(&sim->places[node], pod) && gorand_below(rand, ++fitting) == 0)
			chosen = node;
	if (chosen != NOWHERE)
		*ret_cards = sim_random_cards(rand, &sim->places[chosen].seen.gpu, pod->ask);
	return chosen;
}

static void put(struct sim *sim, uint32_t node, const struct arrival *pod, uint64_t cards)
{
	struct place *place = &sim->places[node];

	frag_take(&place->seen.gpu, pod->ask, cards);
	place->seen.kinds |= sim_kind(pod->ask);
	place->memory -= pod->memory;
	place->version++;
	sim->fragmentation -= place->seen.fragmentation;
	place->seen.fragmentation = fgd_of(&sim->rules.fgd, &place->seen.gpu);
	sim->fragmentation += place->seen.fragmentation;
}

/* --- what comes out */

static int8_t share_of(const struct frag_node *now)
{
	int64_t left = 0;

	if (now->cards == 0)
		return -1;
	for (uint32_t i = 0; i < now->cards; i++)
		left += now->left[i];
	return (int8_t)(100 - left * 100 / ((int64_t)now->cards * FRAG_WHOLE));
}

/* Fills the picture up to @percent with what is allocated now. */
static void remember(struct sim *sim, unsigned int percent)
{
	size_t n = sim->input->n_nodes;

	for (; sim->percents <= percent; sim->percents++)
		for (size_t i = 0; i < n && sim->history; i++)
			sim->history[sim->percents * n + i] = share_of(&sim->places[i].seen.gpu);
}

static void record(struct sim *sim)
{
	double capacity = sim->capacity > 0 ? (double)sim->capacity : 1;
	double percent = rint((double)sim->arrived / capacity * 100);
	double free = capacity - (double)sim->allocated;
	struct sums *sums;

	if (percent >= SIM_POINTS)
		return;
	sums = &sim->sums[(unsigned int)percent];
	sums->arrivals++;
	sums->allocation += rint((double)sim->allocated / capacity * 10000) / 100;
	sums->fragmentation += free > 0 ? sim->fragmentation / free * 100 : 0;
	remember(sim, (unsigned int)percent);
}

static void arrive(struct sim *sim, uint32_t pod_index)
{
	const struct sim_pod *pod = &sim->input->pods[pod_index];
	const struct arrival arrival = {&sim->input->asks[pod->ask], pod->memory, pod->ask};
	int64_t milli = sim_ask_milli(arrival.ask);
	uint64_t cards = 0;
	uint32_t node;

	sim->arrived += milli;
	node = sim->policy == SIM_RANDOM ? choose_at_random(sim, &arrival, &cards)
					 : choose(sim, &arrival, &cards);
	if (node == NOWHERE) {
		sim->counts.refused++;
		sim->counts.refused_milli += milli;
	} else {
		put(sim, node, &arrival, cards);
		sim->allocated += milli;
		sim->counts.placed++;
		sim->counts.placed_milli += milli;
	}
	record(sim);
}

bool sim_step(struct sim *sim, uint32_t count)
{
	for (; count > 0 && sim->next < sim->arrivals.n_pods; count--)
		arrive(sim, sim->arrivals.pods[sim->next++]);
	return sim->next < sim->arrivals.n_pods;
}

enum sim_policy sim_policy_of(const struct sim *sim)
{
	return sim->policy;
}

int64_t sim_seed_of(const struct sim *sim)
{
	return sim->seed;
}

double sim_progress(const struct sim *sim)
{
	return sim->arrivals.n_pods ? (double)sim->next / (double)sim->arrivals.n_pods : 1;
}

/* Where no arrival came to a percent, those beside it stand for it. */
static struct sums sums_at(const struct sim *sim, int percent)
{
	struct sums sums = sim->sums[percent];

	for (int at = percent - 1; sim->sums[percent].arrivals == 0 && at <= percent + 1; at += 2) {
		if (at < 0 || at >= SIM_POINTS)
			continue;
		sums.allocation += sim->sums[at].allocation;
		sums.fragmentation += sim->sums[at].fragmentation;
		sums.arrivals += sim->sums[at].arrivals;
	}
	return sums;
}

void sim_result(const struct sim *sim, struct sim_result *ret_result)
{
	*ret_result = sim->counts;
	for (int i = 0; i < SIM_POINTS; i++) {
		struct sums sums = sums_at(sim, i);

		if (sums.arrivals == 0)
			continue;
		ret_result->points[i] = (struct sim_point){
			.seen = true,
			.allocation = rint(sums.allocation / sums.arrivals * 100) / 100,
			.fragmentation = sums.fragmentation / sums.arrivals,
		};
	}
}

int sim_history(const struct sim *sim, size_t node, unsigned int percent)
{
	if (!sim->history || percent >= sim->percents)
		return -1;
	return sim->history[percent * sim->input->n_nodes + node];
}
