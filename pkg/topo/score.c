/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best set. What a choice S leaves, R, has the score
 *
 *	w(R) = w(free) - sum of w(i, free) over i in S + w(S)
 *
 * so that of choices of equal score the one with the smallest sum of w(i, free), its pull, leaves
 * the most. Cards are taken or left in their order, which meets equal choices in the order that
 * decides between them; where one of several twins is left, the others need not be tried.
 */
#include "topo/score.h"

#include "base/limits.h"
#include "base/macros.h"

struct choice {
	uint64_t set;
	int64_t score, pull;
};

struct search {
	const struct topo *topo;
	const struct topo_ask *ask;
	uint64_t candidates;
	int64_t pulls[LIMIT_LAYOUT_GPUS]; /* w(i, free) */
	int64_t least_pull, best_pair;    /* of candidates */
	uint32_t steps;
	bool found, cut_short;
	struct choice best;
};

static int64_t score_with(const struct topo *topo, uint64_t card, uint64_t set)
{
	int64_t sum = 0;

	topo_set_for_each(other, set)
		sum += topo_pair(topo, card, other);
	return sum;
}

int64_t topo_score(const struct topo *topo, uint64_t set)
{
	int64_t sum = 0;

	topo_set_for_each(card, set)
		sum += score_with(topo, card, set & ~topo_set_below((uint32_t)card));
	return sum;
}

struct topo_terms topo_score_terms(int64_t score)
{
	return (struct topo_terms){
		.nvlink = score >> TOPO_SCORE_NVLINK_BIT,
		.pcie = score >> TOPO_SCORE_PCIE_BIT &
			((1 << (TOPO_SCORE_NVLINK_BIT - TOPO_SCORE_PCIE_BIT)) - 1),
		.numa = score & ((1 << TOPO_SCORE_PCIE_BIT) - 1),
	};
}

/* --- choices */

static bool is_better(const struct choice *a, const struct choice *b)
{
	if (a->score != b->score)
		return a->score > b->score;
	if (a->pull != b->pull)
		return a->pull < b->pull;
	return topo_set_before(a->set, b->set);
}

static void consider(struct search *s, const struct choice *choice)
{
	if (s->found && !is_better(choice, &s->best))
		return;
	s->found = true;
	s->best = *choice;
}

static struct choice with_card(const struct search *s, const struct choice *choice, uint64_t card)
{
	return (struct choice){
		.set = choice->set | UINT64_C(1) << card,
		.score = choice->score + score_with(s->topo, card, choice->set),
		.pull = choice->pull + s->pulls[card],
	};
}

/* What may still be taken beside @card. */
static uint64_t beside(const struct search *s, uint64_t card, uint64_t candidates)
{
	candidates &= ~(UINT64_C(1) << card);
	return s->ask->scoped ? candidates & s->topo->cards[card].together[s->ask->scope]
			      : candidates;
}

static void prepare(struct search *s)
{
	s->candidates = s->ask->free & s->topo->usable;
	s->least_pull = INT64_MAX;
	topo_set_for_each(card, s->candidates) {
		topo_set_for_each(other, s->candidates)
			s->best_pair = MAX(s->best_pair, topo_pair(s->topo, card, other));
		s->pulls[card] = score_with(s->topo, card, s->candidates);
		s->least_pull = MIN(s->least_pull, s->pulls[card]);
	}
}

/* --- the search */

/* Whether @choice with @need more cards cannot become better than the best. */
static bool is_hopeless(const struct search *s, const struct choice *choice, int64_t need)
{
	int64_t has = (int64_t)s->ask->count - need;
	int64_t most = choice->score + s->best_pair * (need * has + need * (need - 1) / 2);

	if (!s->found || most > s->best.score)
		return false;
	return most < s->best.score || choice->pull + need * s->least_pull >= s->best.pull;
}

/* Recursion is as deep as there are cards to take. */
static void extend(struct search *s, const struct choice *choice, uint64_t candidates)
{
	uint32_t need = s->ask->count - topo_set_count(choice->set);

	if (need == 0) {
		consider(s, choice);
		return;
	}
	while (topo_set_count(candidates) >= need && !is_hopeless(s, choice, need)) {
		uint64_t card = topo_set_first(candidates);
		struct choice next = with_card(s, choice, card);

		if (s->steps++ >= TOPO_SEARCH_STEPS) {
			s->cut_short = true;
			return;
		}
		extend(s, &next, beside(s, card, candidates));
		candidates &= ~(s->topo->cards[card].twins | UINT64_C(1) << card);
	}
}

/* --- greed and exchange: what each card would add to a set is kept, not summed up again */

static void grow_from(struct search *s, uint64_t first)
{
	struct choice choice = with_card(s, &(struct choice){0}, first);
	uint64_t candidates = beside(s, first, s->candidates), added = first;
	int64_t gains[LIMIT_LAYOUT_GPUS] = {0};

	while (topo_set_count(choice.set) < s->ask->count && candidates != 0) {
		struct choice best = {0};
		uint64_t taken = 0;

		topo_set_for_each(card, candidates) {
			struct choice next = {choice.set | UINT64_C(1) << card, choice.score,
					      choice.pull + s->pulls[card]};

			gains[card] += topo_pair(s->topo, card, added);
			next.score += gains[card];
			if (best.set == 0 || is_better(&next, &best)) {
				best = next;
				taken = card;
			}
		}
		choice = best;
		added = taken;
		candidates = beside(s, taken, candidates);
	}
	if (topo_set_count(choice.set) == s->ask->count)
		consider(s, &choice);
}

static bool fits_in(const struct search *s, uint64_t card, uint64_t set)
{
	return !s->ask->scoped || !(set & ~s->topo->cards[card].together[s->ask->scope]);
}

/* The best exchange of one card for another; whether it makes the best better. */
static bool exchange(struct search *s)
{
	const struct choice start = s->best;
	int64_t gains[LIMIT_LAYOUT_GPUS] = {0};

	topo_set_for_each(card, s->candidates)
		gains[card] = score_with(s->topo, card, start.set);
	topo_set_for_each(out, start.set) {
		uint64_t kept = start.set & ~(UINT64_C(1) << out);

		topo_set_for_each(in, s->candidates & ~start.set) {
			struct choice other = {
				.set = kept | UINT64_C(1) << in,
				.score = start.score - gains[out] + gains[in] -
					 topo_pair(s->topo, in, out),
				.pull = start.pull - s->pulls[out] + s->pulls[in],
			};

			if (fits_in(s, in, kept))
				consider(s, &other);
		}
	}
	return s->best.set != start.set;
}

static void improve(struct search *s)
{
	topo_set_for_each(card, s->candidates)
		grow_from(s, card);
	for (int i = 0; s->found && i < TOPO_EXCHANGES; i++)
		if (!exchange(s))
			break;
}

enum topo_found topo_best_set(const struct topo *topo, const struct topo_ask *ask,
			      uint64_t *ret_set)
{
	struct search s = {.topo = topo, .ask = ask};

	prepare(&s);
	extend(&s, &(struct choice){0}, s.candidates);
	if (s.cut_short)
		improve(&s);
	if (!s.found)
		return TOPO_NONE;
	*ret_set = s.best.set;
	return s.cut_short ? TOPO_GOOD : TOPO_BEST;
}
