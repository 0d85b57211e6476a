/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fragmentation against its definition, taken word for word: every ask, every card, in exact
 * fractions. And the doubles of the published program, which are the same but for rounding.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/random.h"
#include "place/frag.h"
#include "sim/fgd.h"

#define SEEDS      3000
#define SOAK_SEEDS 300000
#define ASKS       12
#define CARDS      8

static struct random rng;

static uint32_t below(uint32_t bound)
{
	return (uint32_t)random_below(&rng, bound);
}

/* Few values, so that much is alike. */
static struct frag_ask random_ask(void)
{
	static const uint32_t shares[] = {100, 300, 500, 800, 1000};
	struct frag_ask ask = {.cpu_milli = below(5) * 4000, .weight = below(5)};

	if (below(8) == 0)
		ask.cpu_milli = -1;
	if (below(6) == 0)
		return ask;
	ask.gpu_milli = shares[below(ARRAY_SIZE(shares))];
	ask.gpus = 1 + below(3);
	ask.products = below(3) == 0 ? 1 + below(3) : 0;
	return ask;
}

static struct frag_node random_node(void)
{
	struct frag_node node = {
		.cpu_milli = below(6) * 4000, .product = below(4), .cards = below(CARDS + 1)};

	if (below(8) == 0)
		node.cpu_milli = -1;
	for (uint32_t i = 0; i < node.cards; i++)
		node.left[i] = (uint16_t)(below(11) * 100);
	return node;
}

static uint32_t lost_to(const struct frag_ask *ask, const struct frag_node *node)
{
	uint32_t all = 0, small = 0, enough = 0;

	for (uint32_t i = 0; i < node->cards; i++) {
		all += node->left[i];
		if (node->left[i] < ask->gpu_milli)
			small += node->left[i];
		else
			enough++;
	}
	if (ask->gpus == 0 || enough < ask->gpus)
		return all;
	if (node->cpu_milli >= 0 && ask->cpu_milli >= 0 && node->cpu_milli < ask->cpu_milli)
		return all;
	return ask->products && !(ask->products & node->product) ? all : small;
}

static double oracle(const struct frag_mix *mix, const struct frag_node *node)
{
	double sum = 0, weight = 0;

	for (uint32_t i = 0; i < mix->count; i++) {
		sum += (double)mix->asks[i].weight * lost_to(&mix->asks[i], node);
		weight += mix->asks[i].weight;
	}
	return weight > 0 ? sum / weight * 1000 : 0;
}

static void check_node(const struct frag_mix *mix, const struct frag_node *node)
{
	struct frag_ask ask = random_ask();
	uint64_t cards = 0;

	assert_true(fabs(oracle(mix, node) - (double)frag_of(mix, node)) <= 1);
	if (!frag_best_cards(mix, node, &ask, UINT64_MAX, &cards)) {
		ask.cpu_milli = -1;
		ask.products = 0;
		assert_false(frag_fits(node, &ask));
		return;
	}
	assert_int_equal(__builtin_popcountll(cards), ask.gpus);
	if (ask.gpus != 1)
		return;
	/* No other card is better. */
	for (uint32_t i = 0; i < node->cards; i++) {
		struct frag_node after = *node, best = *node;

		if (node->left[i] < ask.gpu_milli)
			continue;
		frag_take(&after, &ask, UINT64_C(1) << i);
		frag_take(&best, &ask, cards);
		assert_true(oracle(mix, &best) <= oracle(mix, &after) + 1e-6);
		assert_true(fabs(oracle(mix, &after) - oracle(mix, node) -
				 (double)frag_cost(mix, node, &ask, UINT64_C(1) << i).increase) <=
			    1);
	}
}

/* Its sums are over doubles, of asks that all want some CPU. */
static void check_published(const struct frag_ask *asks, const struct frag_node *node)
{
	struct frag_mix mix;
	struct fgd fgd;

	for (int i = 0; i < ASKS; i++)
		if (asks[i].cpu_milli < 0)
			return;
	if (node->cpu_milli < 0)
		return;
	frag_mix_set(&mix, asks, ASKS);
	fgd_init(&fgd, asks, ASKS);
	assert_true(fabs(fgd_of(&fgd, node) * 1000 - (double)frag_of(&mix, node)) <= 1.001);
}

static void fragmentation_is_what_it_is_defined_to_be(void **state)
{
	uint64_t seeds = getenv("GPUQOS_SOAK") ? SOAK_SEEDS : SEEDS;

	(void)state;
	for (uint64_t seed = 0; seed < seeds; seed++) {
		struct frag_ask asks[ASKS];
		struct frag_node node;
		struct frag_mix mix;

		random_init(&rng, seed);
		for (int i = 0; i < ASKS; i++)
			asks[i] = random_ask();
		frag_mix_set(&mix, asks, ASKS);
		node = random_node();
		check_node(&mix, &node);
		check_published(asks, &node);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fragmentation_is_what_it_is_defined_to_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
