/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks lie in the order of what they want of a card, cards are sorted by what they have left: one
 * walk along both tells for each ask which cards are too small and what is free on them.
 */
#include "place/frag.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/mem.h"

#define MICRO      1000 /* microcards of a millicard */
#define WEIGHT_MAX (UINT32_C(1) << 30)
#define CPU_MAX                                                                          \
	(INT64_C(1) << 26) /* as much as counts: 67,000 cores. Keeps products below 2^63 \
			    */

/* --- the usual asks */

static int compare_shape(const struct frag_ask *a, const struct frag_ask *b)
{
	if (a->cpu_milli != b->cpu_milli)
		return a->cpu_milli < b->cpu_milli ? -1 : 1;
	if (a->gpu_milli != b->gpu_milli)
		return a->gpu_milli < b->gpu_milli ? -1 : 1;
	if (a->gpus != b->gpus)
		return a->gpus < b->gpus ? -1 : 1;
	return a->products == b->products ? 0 : a->products < b->products ? -1 : 1;
}

static int by_shape(const void *a, const void *b)
{
	return compare_shape(a, b);
}

static int most_frequent_first(const void *pa, const void *pb)
{
	const struct frag_ask *a = pa, *b = pb;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return compare_shape(b, a);
}

static int by_gpu(const void *pa, const void *pb)
{
	const struct frag_ask *a = pa, *b = pb;

	if (a->gpu_milli != b->gpu_milli)
		return a->gpu_milli < b->gpu_milli ? -1 : 1;
	return compare_shape(a, b);
}

/* Joins neighbours of one shape; weights beyond what fits stay at the most. Returns how many. */
static size_t join(struct frag_ask *asks, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (n > 0 && compare_shape(&asks[n - 1], &asks[i]) == 0) {
			if (__builtin_add_overflow(asks[n - 1].weight, asks[i].weight,
						   &asks[n - 1].weight))
				asks[n - 1].weight = UINT32_MAX;
		} else {
			asks[n++] = asks[i];
		}
	}
	return n;
}

static uint64_t weight_of(const struct frag_ask *asks, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += asks[i].weight;
	return sum;
}

static void shrink_weights(struct frag_mix *mix)
{
	uint64_t weight = weight_of(mix->asks, mix->count);

	while (weight > WEIGHT_MAX) {
		for (uint32_t i = 0; i < mix->count; i++)
			mix->asks[i].weight /= 2;
		weight = weight_of(mix->asks, mix->count);
	}
	mix->weight = (uint32_t)weight;
}

size_t frag_usual(struct frag_ask *asks, size_t count)
{
	uint64_t total, seen = 0;
	size_t n, usual = 0;

	if (count == 0)
		return 0;
	qsort(asks, count, sizeof(*asks), by_shape);
	n = join(asks, count);
	qsort(asks, n, sizeof(*asks), most_frequent_first);
	total = weight_of(asks, n);
	while (usual < n && usual < FRAG_ASKS && seen * 100 < total * FRAG_TYPICAL)
		seen += asks[usual++].weight;
	return usual;
}

void frag_mix_set(struct frag_mix *mix, const struct frag_ask *asks, size_t count)
{
	struct frag_ask *all CLEANUP(mem_free) = mem_alloc_array(count, sizeof(*all));

	*mix = (struct frag_mix){0};
	if (count == 0)
		return;
	memcpy(all, asks, count * sizeof(*all));
	mix->count = (uint32_t)frag_usual(all, count);
	memcpy(mix->asks, all, mix->count * sizeof(*all));
	qsort(mix->asks, mix->count, sizeof(mix->asks[0]), by_gpu);
	shrink_weights(mix);
}

/* --- products */

#define PRESSURE_MOST 100000

static int64_t cards_of(uint64_t products, const int64_t *cards)
{
	int64_t sum = 0;

	for (int i = 0; i < FRAG_PRODUCTS; i++)
		if (products == 0 || (products >> i & 1))
			sum += cards[i];
	return sum;
}

void frag_mix_press(struct frag_mix *mix, const int64_t cards[FRAG_PRODUCTS])
{
	double pressure[FRAG_PRODUCTS] = {0}, demand = 0, all = (double)cards_of(0, cards);

	for (uint32_t i = 0; i < mix->count; i++) {
		const struct frag_ask *ask = &mix->asks[i];
		double wanted = (double)ask->weight * ask->gpus * ask->gpu_milli;
		int64_t good = cards_of(ask->products, cards);

		demand += wanted;
		for (int k = 0; k < FRAG_PRODUCTS && ask->products != 0 && good > 0; k++)
			if (ask->products >> k & 1)
				pressure[k] += wanted * all / (double)good;
	}
	for (int k = 0; k < FRAG_PRODUCTS; k++)
		mix->pressure[k] =
			(uint32_t)(demand > 0 ? MIN(pressure[k] / demand * 1000, PRESSURE_MOST)
					      : 0);
}

static int64_t scarcity_of(const struct frag_mix *mix, const struct frag_node *node,
			   const struct frag_ask *ask, uint64_t cards)
{
	if (ask->products != 0 || node->product == 0)
		return 0;
	return (int64_t)__builtin_popcountll(cards) * ask->gpu_milli *
	       mix->pressure[__builtin_ctzll(node->product)];
}

/* --- F */

static bool has_cpu(int64_t free, int64_t wanted)
{
	return free < 0 || wanted < 0 || free >= wanted;
}

static bool has_product(uint64_t product, uint64_t wanted)
{
	return wanted == 0 || (wanted & product) != 0;
}

/* By what is left, ascending. Cards are few and mostly in order already. */
static void sort_cards(const struct frag_node *node, uint16_t *ret_sorted)
{
	for (uint32_t i = 0; i < node->cards; i++) {
		uint32_t at = i;

		for (; at > 0 && ret_sorted[at - 1] > node->left[i]; at--)
			ret_sorted[at] = ret_sorted[at - 1];
		ret_sorted[at] = node->left[i];
	}
}

static uint32_t total_left(const struct frag_node *node)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < node->cards; i++)
		sum += node->left[i];
	return sum;
}

/* The sum of weight x F(n, m): at most 2^30 x 64000. */
static int64_t weighted_sum(const struct frag_mix *mix, const struct frag_node *node)
{
	uint16_t sorted[LIMIT_LAYOUT_GPUS];
	uint32_t total = total_left(node), too_small = 0, on_them = 0;
	int64_t sum = 0;

	sort_cards(node, sorted);
	for (uint32_t i = 0; i < mix->count; i++) {
		const struct frag_ask *ask = &mix->asks[i];
		bool runs = ask->gpus > 0 && has_cpu(node->cpu_milli, ask->cpu_milli) &&
			    has_product(node->product, ask->products);

		while (too_small < node->cards && sorted[too_small] < ask->gpu_milli)
			on_them += sorted[too_small++];
		runs = runs && node->cards - too_small >= ask->gpus;
		sum += (int64_t)ask->weight * (runs ? on_them : total);
	}
	return sum;
}

static int64_t in_micro(const struct frag_mix *mix, int64_t sum)
{
	return mix->weight ? sum * MICRO / (int64_t)mix->weight : 0;
}

int64_t frag_of(const struct frag_mix *mix, const struct frag_node *node)
{
	return in_micro(mix, weighted_sum(mix, node));
}

/* --- placing */

bool frag_fits(const struct frag_node *node, const struct frag_ask *ask)
{
	uint32_t enough = 0;

	if (!has_cpu(node->cpu_milli, ask->cpu_milli) || !has_product(node->product, ask->products))
		return false;
	for (uint32_t i = 0; i < node->cards; i++)
		enough += node->left[i] >= ask->gpu_milli;
	return enough >= ask->gpus;
}

void frag_take(struct frag_node *node, const struct frag_ask *ask, uint64_t cards)
{
	if (node->cpu_milli >= 0 && ask->cpu_milli >= 0)
		node->cpu_milli = MAX(node->cpu_milli - ask->cpu_milli, 0);
	for (; cards != 0; cards &= cards - 1) {
		uint16_t *left = &node->left[__builtin_ctzll(cards)];

		*left = (uint16_t)(*left - ask->gpu_milli);
	}
}

static int64_t imbalance_of(const struct frag_node *node, const struct frag_ask *ask,
			    uint64_t cards)
{
	uint32_t gpu = (uint32_t)__builtin_popcountll(cards) * ask->gpu_milli;
	int64_t a, b, apart;

	if (gpu == 0 || node->cpu_milli < 0 || ask->cpu_milli < 0)
		return 0;
	/* The ratios over one denominator. */
	a = MIN(ask->cpu_milli, CPU_MAX) * total_left(node);
	b = MIN(node->cpu_milli, CPU_MAX) * gpu;
	apart = a > b ? a - b : b - a;
	return a + b > 0 ? apart * (FRAG_WHOLE * MICRO) / (a + b) : 0;
}

struct frag_cost frag_cost(const struct frag_mix *mix, const struct frag_node *node,
			   const struct frag_ask *ask, uint64_t cards)
{
	struct frag_node after = *node;

	frag_take(&after, ask, cards);
	return (struct frag_cost){
		.increase = in_micro(mix, weighted_sum(mix, &after) - weighted_sum(mix, node)),
		.imbalance = imbalance_of(node, ask, cards),
		.left = (int64_t)total_left(&after) * MICRO,
		.scarcity = scarcity_of(mix, node, ask, cards),
	};
}

int64_t frag_cost_sum(const struct frag_cost *cost, struct frag_weights weights)
{
	return cost->increase + cost->imbalance * weights.imbalance / 1000 +
	       cost->left * weights.left / 1000 + cost->scarcity * weights.scarcity / 1000;
}

/* The next card for @ask on @node, which has the earlier ones taken from it; false: none is left.
 */
static bool best_card(const struct frag_mix *mix, const struct frag_node *node,
		      const struct frag_ask *ask, uint64_t among, uint64_t *ret_card)
{
	int64_t best = INT64_MAX;
	uint32_t best_left = 0;
	bool found = false;

	for (; among != 0; among &= among - 1) {
		uint32_t card = (uint32_t)__builtin_ctzll(among);
		struct frag_node after;
		int64_t sum;

		if (card >= node->cards || node->left[card] < ask->gpu_milli)
			continue;
		if (found && node->left[card] == best_left)
			continue; /* its like was looked at */
		after = *node;
		after.left[card] = (uint16_t)(after.left[card] - ask->gpu_milli);
		sum = weighted_sum(mix, &after);
		if (found && (sum > best || (sum == best && node->left[card] > best_left)))
			continue;
		found = true;
		best = sum;
		best_left = node->left[card];
		*ret_card = UINT64_C(1) << card;
	}
	return found;
}

bool frag_best_cards(const struct frag_mix *mix, const struct frag_node *node,
		     const struct frag_ask *ask, uint64_t among, uint64_t *ret_cards)
{
	const struct frag_ask cpu = {.cpu_milli = ask->cpu_milli};
	struct frag_node rest = *node;
	uint64_t cards = 0, card = 0;

	frag_take(&rest, &cpu, 0);
	for (uint32_t i = 0; i < ask->gpus; i++) {
		if (!best_card(mix, &rest, ask, among & ~cards, &card))
			return false;
		frag_take(&rest, &(struct frag_ask){.gpu_milli = ask->gpu_milli}, card);
		cards |= card;
	}
	*ret_cards = cards;
	return true;
}
