/* SPDX-License-Identifier: Apache-2.0 */
/* Fragmentation, where a person can tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/macros.h"
#include "model/amount.h"
#include "place/frag.h"

#define MILLI 1000 /* microcards */

static const struct frag_ask half = {.cpu_milli = 4000, .gpu_milli = 500, .gpus = 1, .weight = 1};
static const struct frag_ask whole = {.cpu_milli = 8000, .gpu_milli = 1000, .gpus = 1, .weight = 1};
static const struct frag_ask pair = {.cpu_milli = 8000, .gpu_milli = 1000, .gpus = 2, .weight = 1};
static const struct frag_ask cpu_only = {.cpu_milli = 1000, .weight = 1};

static int64_t frag_for(struct frag_ask ask, struct frag_node node)
{
	struct frag_mix mix;

	frag_mix_set(&mix, &ask, 1);
	return frag_of(&mix, &node);
}

static void what_an_ask_cannot_use_is_fragmented(void **state)
{
	const struct {
		const char *what;
		struct frag_node node;
		struct frag_ask ask;
		int64_t milli;
	} rows[] = {
		{"an ask that fits everywhere leaves nothing", {16000, 1, 2, {1000, 500}}, half, 0},
		{"a card with too little left is lost", {16000, 1, 2, {1000, 400}}, half, 400},
		{"a whole card is had, what is left of the other is lost",
		 {16000, 1, 2, {1000, 700}},
		 whole,
		 700},
		{"with too few cards all is lost", {16000, 1, 2, {1000, 700}}, pair, 1700},
		{"with too little CPU all is lost", {3999, 1, 2, {1000, 500}}, half, 1500},
		{"to pods without GPU all is lost", {16000, 1, 2, {1000, 500}}, cpu_only, 1500},
		{"CPU that is not known is not looked at",
		 {AMOUNT_UNKNOWN, 1, 2, {1000, 500}},
		 half,
		 0},
		{"a full node has nothing to lose", {16000, 1, 2, {0, 0}}, pair, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (frag_for(rows[i].ask, rows[i].node) != rows[i].milli * MILLI)
			fail_msg("%s: %lld", rows[i].what,
				 (long long)frag_for(rows[i].ask, rows[i].node));
}

static void products_decide_where_they_are_asked_for(void **state)
{
	const struct frag_node node = {16000, 2, 1, {1000}}, unknown = {16000, 0, 1, {1000}};
	struct frag_ask ask = half;

	(void)state;
	ask.products = 2 | 4;
	assert_int_equal(frag_for(ask, node), 0);
	assert_int_equal(frag_for(ask, unknown), 1000 * MILLI);
	ask.products = 4;
	assert_int_equal(frag_for(ask, node), 1000 * MILLI);
	assert_false(frag_fits(&node, &ask));
}

static void asks_count_by_their_weights(void **state)
{
	const struct frag_node node = {16000, 1, 2, {1000, 400}};
	struct frag_ask asks[] = {half, pair, half};
	struct frag_mix mix;

	(void)state;
	asks[1].weight = 2;
	frag_mix_set(&mix, asks, ARRAY_SIZE(asks));
	assert_int_equal(mix.count, 2);
	assert_int_equal(mix.weight, 4);
	/* 400 for half of them, 1400 for the others */
	assert_int_equal(frag_of(&mix, &node), 900 * MILLI);
}

static void the_rarest_are_left_out(void **state)
{
	struct frag_ask asks[] = {half, whole, pair};
	struct frag_mix mix;

	(void)state;
	asks[0].weight = 60;
	asks[1].weight = 36;
	asks[2].weight = 4;
	frag_mix_set(&mix, asks, ARRAY_SIZE(asks));
	assert_int_equal(mix.count, 2);
	assert_int_equal(mix.weight, 96);
}

static void weights_may_be_as_large_as_they_like(void **state)
{
	struct frag_ask asks[] = {half, whole, pair};
	const struct frag_node node = {16000, 1, 2, {1000, 400}};
	struct frag_mix mix;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++)
		asks[i].weight = UINT32_MAX;
	frag_mix_set(&mix, asks, ARRAY_SIZE(asks));
	/* 400, 400 and 1400 */
	assert_in_range(frag_of(&mix, &node), 733 * MILLI, 734 * MILLI);
}

static void nothing_is_fragmented_where_nobody_asks(void **state)
{
	const struct frag_node node = {16000, 1, 2, {1000, 400}};
	struct frag_mix mix;

	(void)state;
	frag_mix_set(&mix, NULL, 0);
	assert_int_equal(frag_of(&mix, &node), 0);
}

static void a_share_goes_where_it_spoils_least(void **state)
{
	static const struct {
		const char *what;
		struct frag_node node;
		uint64_t among, cards; /* 0: none */
	} rows[] = {
		{"onto the half card, not the whole one", {16000, 1, 2, {1000, 500}}, 3, 2},
		{"exactly full rather than nearly", {16000, 1, 3, {1000, 600, 500}}, 7, 4},
		{"the first of two that are alike", {16000, 1, 3, {400, 1000, 1000}}, 7, 2},
		{"only onto cards that it may have", {16000, 1, 2, {1000, 500}}, 1, 1},
		{"nowhere", {16000, 1, 2, {400, 499}}, 3, 0},
	};
	struct frag_ask asks[] = {half, whole};
	struct frag_mix mix;

	(void)state;
	frag_mix_set(&mix, asks, ARRAY_SIZE(asks));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t cards = 0;
		bool found = frag_best_cards(&mix, &rows[i].node, &half, rows[i].among, &cards);

		if (found != (rows[i].cards != 0) || cards != rows[i].cards)
			fail_msg("%s: %llx", rows[i].what, (unsigned long long)cards);
	}
}

static void several_shares_go_to_as_many_cards(void **state)
{
	const struct frag_node node = {16000, 1, 3, {1000, 500, 500}};
	struct frag_ask two_halves = half, three = half, asks[] = {half, whole};
	struct frag_mix mix;
	uint64_t cards = 0;

	(void)state;
	two_halves.gpus = 2;
	three.gpus = 4;
	frag_mix_set(&mix, asks, ARRAY_SIZE(asks));
	assert_true(frag_best_cards(&mix, &node, &two_halves, 7, &cards));
	assert_int_equal(cards, 6);
	assert_false(frag_best_cards(&mix, &node, &three, 7, &cards));
}

static void the_terms_are_what_they_are_said_to_be(void **state)
{
	const struct frag_node node = {16000, 1, 2, {1000, 1000}};
	struct frag_ask asks[] = {whole}, share = half;
	struct frag_cost cost;
	struct frag_mix mix;

	(void)state;
	frag_mix_set(&mix, asks, 1);
	/* Both are 8 cores for each GPU. */
	cost = frag_cost(&mix, &node, &half, 1);
	assert_int_equal(cost.increase, 500 * MILLI);
	assert_int_equal(cost.imbalance, 0);
	assert_int_equal(cost.left, 1500 * MILLI);
	share.cpu_milli = 12000; /* 24 cores for each GPU */
	assert_int_equal(frag_cost(&mix, &node, &share, 1).imbalance, 500000);
	share.cpu_milli = AMOUNT_NONE;
	assert_int_equal(frag_cost(&mix, &node, &share, 1).imbalance, 0);
	cost = (struct frag_cost){.increase = -7, .imbalance = 500000, .left = 2000000};
	assert_int_equal(frag_cost_sum(&cost, FRAG_WEIGHTS_DEFAULT), -7 + 80000 + 8000);
}

static void products_that_others_insist_on_are_left_to_them(void **state)
{
	const struct frag_node scarce = {16000, 1, 1, {1000}}, other = {16000, 2, 1, {1000}},
			       unknown = {16000, 0, 1, {1000}};
	const int64_t cards[FRAG_PRODUCTS] = {10, 30};
	struct frag_ask asks[] = {half, whole};
	struct frag_mix mix;

	(void)state;
	asks[1].products = 1;
	asks[1].weight = 2;
	frag_mix_set(&mix, asks, ARRAY_SIZE(asks));
	assert_int_equal(frag_cost(&mix, &scarce, &half, 1).scarcity, 0);
	frag_mix_press(&mix, cards);
	/* 2000 of 2500 millicards insist on a quarter of the cards: 3.2 times their part */
	assert_int_equal(mix.pressure[0], 3200);
	assert_int_equal(mix.pressure[1], 0);
	assert_int_equal(frag_cost(&mix, &scarce, &half, 1).scarcity, 1600 * MILLI);
	assert_int_equal(frag_cost(&mix, &other, &half, 1).scarcity, 0);
	assert_int_equal(frag_cost(&mix, &unknown, &half, 1).scarcity, 0);
	assert_int_equal(frag_cost(&mix, &scarce, &asks[1], 1).scarcity, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_an_ask_cannot_use_is_fragmented),
		cmocka_unit_test(products_decide_where_they_are_asked_for),
		cmocka_unit_test(asks_count_by_their_weights),
		cmocka_unit_test(the_rarest_are_left_out),
		cmocka_unit_test(weights_may_be_as_large_as_they_like),
		cmocka_unit_test(nothing_is_fragmented_where_nobody_asks),
		cmocka_unit_test(a_share_goes_where_it_spoils_least),
		cmocka_unit_test(several_shares_go_to_as_many_cards),
		cmocka_unit_test(products_that_others_insist_on_are_left_to_them),
		cmocka_unit_test(the_terms_are_what_they_are_said_to_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
