/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scores of the published policies, in the numbers and with the cuts to integers of
 * hkust-adsl/kubernetes-scheduler-simulator, pkg/simulator/plugin.
 */
#include "sim/policy.h"

#include "base/macros.h"
#include "place/place.h"
#include "sim/cards.h"

/* The largest node that there is, by which the published policies divide. */
#define MOST_CPU 128000
#define MOST_GPU 8000
#define MOST     100 /* points */

const char *sim_policy_name(enum sim_policy policy)
{
	static const char *const names[] = {
#define X(name, text, published) [SIM_##name] = text,
		SIM_POLICIES(X)
#undef X
	};

	return names[policy];
}

bool sim_policy_find(struct str name, enum sim_policy *ret_policy)
{
	for (unsigned int i = 0; i < SIM_POLICY_COUNT; i++) {
		if (!str_equal(name, str_from(sim_policy_name(i))))
			continue;
		*ret_policy = i;
		return true;
	}
	return false;
}

uint64_t sim_kind(const struct frag_ask *ask)
{
	if (ask->gpus == 0)
		return 0;
	return UINT64_C(1) << (ask_is_share(ask) ? 0 : MIN(ask->gpus, 63));
}

/* The extender's own score, of nodes of which nothing is known but what is free. */
static struct sim_score score_gpuqos(const struct sim_rules *rules, const struct sim_place *place,
				     const struct frag_ask *ask)
{
	struct place_score terms = {.alignment = PLACE_TERM_MOST / 2, .pcie = PLACE_TERM_MOST / 2};
	struct sim_score score = {0};
	struct frag_cost cost;

	(void)frag_best_cards(&rules->mix, &place->gpu, ask, UINT64_MAX, &score.cards);
	cost = frag_cost(&rules->mix, &place->gpu, ask, score.cards);
	terms.fragmentation = place_fragmentation(frag_cost_sum(&cost, rules->weights));
	score.score = place_total(&rules->placement, &terms);
	return score;
}

static struct sim_score score_fgd(const struct sim_rules *rules, const struct sim_place *place,
				  const struct frag_ask *ask)
{
	struct sim_score score = {0};

	score.score = fgd_score(&rules->fgd, &place->gpu, place->fragmentation, ask, &score.cards);
	return score;
}

/* The less is left afterwards, of CPU and GPU alike, the better. */
static struct sim_score score_bestfit(const struct sim_rules *rules, const struct sim_place *place,
				      const struct frag_ask *ask)
{
	int64_t gpu = cards_left(&place->gpu) - (int64_t)ask->gpus * ask->gpu_milli;
	double left = 0;

	(void)rules;
	left += (double)(place->gpu.cpu_milli - ask->cpu_milli) / MOST_CPU * 0.5;
	left += (double)gpu / MOST_GPU * 0.5;
	return (struct sim_score){(int64_t)((1.0 - left) * MOST), cards_tightest(&place->gpu, ask)};
}

/* Used cards before free cards of a used node before those of an unused one. */
static struct sim_score score_packing(const struct sim_rules *rules, const struct sim_place *place,
				      const struct frag_ask *ask)
{
	struct sim_score score = {.cards = cards_tightest(&place->gpu, ask)};
	int64_t whole = cards_whole(&place->gpu), untouched = 0, left = 0;

	(void)rules;
	if (ask->gpus == 0)
		return score;
	for (uint64_t rest = score.cards; rest != 0; rest &= rest - 1) {
		uint16_t on_card = place->gpu.left[__builtin_ctzll(rest)];

		untouched += on_card == FRAG_WHOLE;
		left += on_card * 100 / FRAG_WHOLE;
	}
	if (whole == place->gpu.cards)
		score.score = MAX(MOST / 3 - whole, whole);
	else if (untouched > 0)
		score.score = MAX(MOST / 2 - untouched, MOST / 3);
	else
		score.score = MAX(MOST - left / 10, MOST / 2);
	return score;
}

/* Pods of one kind to their like. */
static struct sim_score score_clustering(const struct sim_rules *rules,
					 const struct sim_place *place, const struct frag_ask *ask)
{
	int64_t fill = MOST / 4 * (MOST_GPU - cards_left(&place->gpu)) / MOST_GPU, level;
	uint64_t kind = sim_kind(ask);

	(void)rules;
	if (kind == 0)
		return (struct sim_score){0};
	if (place->kinds & kind)
		level = place->kinds == kind ? 3 : 2;
	else
		level = place->kinds == 0 ? 1 : 0;
	return (struct sim_score){fill + MOST * level / 4, cards_tightest(&place->gpu, ask)};
}

/* The smaller the product of what is free and what is asked for, the better. */
static struct sim_score score_dotprod(const struct sim_rules *rules, const struct sim_place *place,
				      const struct frag_ask *ask)
{
	double product = 0;

	(void)rules;
	product += (double)place->gpu.cpu_milli / MOST_CPU * ((double)ask->cpu_milli / MOST_CPU);
	product += (double)cards_left(&place->gpu) / MOST_GPU *
		   ((double)((int64_t)ask->gpus * ask->gpu_milli) / MOST_GPU);
	return (struct sim_score){(int64_t)(MOST * (1.0 - product / 2)),
				  cards_tightest(&place->gpu, ask)};
}

struct sim_score sim_policy_score(enum sim_policy policy, const struct sim_rules *rules,
				  const struct sim_place *place, const struct frag_ask *ask)
{
	static struct sim_score (*const scores[SIM_POLICY_COUNT])(
		const struct sim_rules *, const struct sim_place *, const struct frag_ask *) = {
		[SIM_GPUQOS] = score_gpuqos,   [SIM_FGD] = score_fgd,
		[SIM_BESTFIT] = score_bestfit, [SIM_PACKING] = score_packing,
		[SIM_DOTPROD] = score_dotprod, [SIM_CLUSTERING] = score_clustering,
	};

	return scores[policy](rules, place, ask);
}

uint64_t sim_random_cards(struct gorand *rand, const struct frag_node *node,
			  const struct frag_ask *ask)
{
	uint64_t cards = 0;
	uint32_t seen = 0;

	if (!ask_is_share(ask))
		return cards_first(node, ask);
	for (uint32_t i = 0; i < node->cards; i++)
		if (node->left[i] >= ask->gpu_milli && gorand_below(rand, ++seen) == 0)
			cards = UINT64_C(1) << i;
	return cards;
}
