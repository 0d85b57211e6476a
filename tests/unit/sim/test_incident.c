/* SPDX-License-Identifier: Apache-2.0 */
/* Many interleavings of the incident: what each placer may and may not let happen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/macros.h"
#include "sim/incident.h"
#include "sim/incident_node.h"

#define SEEDS      12
#define SOAK_SEEDS 2000
#define ALL_CARDS  (INCIDENT_NODES * INCIDENT_CARDS)

static uint32_t n_seeds(void)
{
	return getenv("GPUQOS_SOAK") ? SOAK_SEEDS : SEEDS;
}

static struct incident_result play(enum incident_placer placer, enum layout_policy kubelet)
{
	struct incident_plan plan = {placer, kubelet, 0};
	struct incident_result result = {0};

	for (; plan.seed < n_seeds(); plan.seed++)
		incident_play(&plan, &result);
	return result;
}

static void counting_cards_spans_sockets_or_is_rejected(void **state)
{
	struct incident_result none = play(INCIDENT_COUNTING, LAYOUT_POLICY_NONE);
	struct incident_result aligned = play(INCIDENT_COUNTING, LAYOUT_POLICY_SINGLE_NUMA);

	(void)state;
	assert_int_equal(none.ran, INCIDENT_PODS * n_seeds());
	assert_true(none.spanning > none.ran / 10);
	assert_int_equal(none.rejected, 0);
	assert_int_equal(aligned.spanning, 0);
	assert_true(aligned.rejected > n_seeds());
}

static void required_neither_spans_nor_is_rejected(void **state)
{
	struct incident_result result = play(INCIDENT_STRICT, LAYOUT_POLICY_SINGLE_NUMA);

	(void)state;
	assert_int_equal(result.ran, INCIDENT_PODS * n_seeds());
	assert_int_equal(result.never_ran, 0);
	assert_int_equal(result.spanning, 0);
	assert_int_equal(result.rejected, 0);
}

static void required_waits_where_kubelet_promises_nothing(void **state)
{
	struct incident_result result = play(INCIDENT_STRICT, LAYOUT_POLICY_NONE);

	(void)state;
	assert_int_equal(result.ran, 0);
	assert_int_equal(result.never_ran, INCIDENT_PODS * n_seeds());
}

static void no_card_is_sold_twice_though_all_are_sold(void **state)
{
	static const enum layout_policy kubelets[] = {LAYOUT_POLICY_NONE,
						      LAYOUT_POLICY_SINGLE_NUMA};

	(void)state;
	for (unsigned int placer = 0; placer < INCIDENT_PLACER_COUNT; placer++) {
		for (size_t k = 0; k < ARRAY_SIZE(kubelets); k++) {
			struct incident_result result = play(placer, kubelets[k]);

			assert_int_equal(result.sold_twice, 0);
			if (result.ran > 0)
				assert_int_equal(result.most_bound, ALL_CARDS);
		}
	}
}

static void kubelet_gives_what_is_free_or_rejects(void **state)
{
	static const struct {
		enum layout_policy policy;
		uint64_t free;
		uint32_t count;
		uint64_t within; /* 0: it rejects the pod */
	} rows[] = {
		{LAYOUT_POLICY_NONE, 0x11, 2, 0x11},
		{LAYOUT_POLICY_NONE, 0x11, 3, 0},
		{LAYOUT_POLICY_SINGLE_NUMA, 0x11, 2, 0},
		{LAYOUT_POLICY_SINGLE_NUMA, 0x31, 2, 0x30},
		{LAYOUT_POLICY_SINGLE_NUMA, 0xff, 4, 0x0f},
		{LAYOUT_POLICY_SINGLE_NUMA, 0xff, 5, 0},
	};
	struct random random;

	(void)state;
	random_init(&random, 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t cards =
			incident_admit(rows[i].policy, rows[i].free, rows[i].count, &random);

		assert_int_equal(cards & ~rows[i].within, 0);
		if (rows[i].within)
			assert_int_equal(__builtin_popcountll(cards), rows[i].count);
	}
	assert_true(incident_spans(0x18));
	assert_false(incident_spans(0xf0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counting_cards_spans_sockets_or_is_rejected),
		cmocka_unit_test(required_neither_spans_nor_is_rejected),
		cmocka_unit_test(required_waits_where_kubelet_promises_nothing),
		cmocka_unit_test(no_card_is_sold_twice_though_all_are_sold),
		cmocka_unit_test(kubelet_gives_what_is_free_or_rejects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
