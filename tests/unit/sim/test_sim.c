/* SPDX-License-Identifier: Apache-2.0 */
/* Small runs: what is counted, and that no card is ever given out twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/macros.h"
#include "sim/sim.h"

static struct gorand_table table;

static int make_table(void **state)
{
	(void)state;
	gorand_table_init(&table);
	return 0;
}

static void add_node(struct sim_input *input, int64_t cpu_milli, uint32_t cards)
{
	struct frag_node gpu = {.cpu_milli = cpu_milli, .cards = cards};

	for (uint32_t i = 0; i < cards; i++)
		gpu.left[i] = FRAG_WHOLE;
	assert_int_equal(sim_input_add_node(input, STR("n"), &gpu, 1000, NULL), 0);
}

static void add_pods(struct sim_input *input, struct frag_ask ask, int64_t memory, int count)
{
	for (int i = 0; i < count; i++)
		assert_int_equal(sim_input_add_pod(input, &ask, memory, NULL), 0);
}

static struct sim_result play(const struct sim_input *input, enum sim_policy policy)
{
	struct sim *sim CLEANUP(sim_free) = sim_new(input, &table, policy, 1, false);
	struct sim_result result;

	while (sim_step(sim, 3))
		assert_true(sim_progress(sim) < 1);
	sim_result(sim, &result);
	return result;
}

static void what_arrives_is_placed_or_refused(void **state)
{
	CLEANUP(sim_input_clear) struct sim_input input = {0};

	(void)state;
	add_node(&input, 100000, 8);
	add_node(&input, 100000, 2);
	add_pods(&input, (struct frag_ask){.cpu_milli = 1, .gpu_milli = 1000, .gpus = 1}, 1, 5);
	for (unsigned int policy = 0; policy < SIM_POLICY_COUNT; policy++) {
		struct sim_result result = play(&input, policy);

		/* 130 % of 10 cards are asked for. */
		assert_int_equal(result.placed, 10);
		assert_int_equal(result.refused, 3);
		assert_int_equal(result.placed_milli, 10000);
		assert_int_equal(result.refused_milli, 3000);
		assert_true(result.points[50].seen);
		assert_true(result.points[50].allocation > 49.99);
		assert_true(result.points[130].allocation > 99.99);
		assert_false(result.points[5].seen); /* no arrival is at 4, 5 or 6 % */
	}
}

static void cpu_memory_and_products_are_looked_at(void **state)
{
	static const struct {
		struct frag_ask ask;
		int64_t memory;
		uint32_t placed;
	} rows[] = {
		{{.cpu_milli = 3000, .gpu_milli = 1000, .gpus = 1}, 1, 3},
		{{.cpu_milli = 1, .gpu_milli = 1000, .gpus = 1}, 400, 2},
		{{.cpu_milli = 1, .gpu_milli = 1000, .gpus = 1, .products = 2}, 1, 0},
		{{.cpu_milli = 1, .gpu_milli = 600, .gpus = 1}, 1, 8},
		{{.cpu_milli = 1, .gpu_milli = 1000, .gpus = 3}, 1, 2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(sim_input_clear) struct sim_input input = {0};

		add_node(&input, 10000, 8);
		add_pods(&input, rows[i].ask, rows[i].memory, 20);
		for (unsigned int policy = 0; policy < SIM_POLICY_COUNT; policy++)
			assert_int_equal(play(&input, policy).placed, rows[i].placed);
	}
}

static void pods_without_gpus_make_no_demand(void **state)
{
	CLEANUP(sim_input_clear) struct sim_input input = {0};

	(void)state;
	add_node(&input, 10, 0);
	add_pods(&input, (struct frag_ask){.cpu_milli = 1}, 1, 12);
	assert_int_equal(play(&input, SIM_GPUQOS).placed, 10);
	assert_int_equal(play(&input, SIM_GPUQOS).refused, 2);
}

static void history_tells_how_full_each_node_was(void **state)
{
	CLEANUP(sim_input_clear) struct sim_input input = {0};
	struct sim *sim CLEANUP(sim_free) = NULL;

	(void)state;
	add_node(&input, 10000, 4);
	add_node(&input, 10000, 0);
	add_pods(&input, (struct frag_ask){.cpu_milli = 1, .gpu_milli = 500, .gpus = 1}, 1, 1);
	sim = sim_new(&input, &table, SIM_GPUQOS, 1, true);
	assert_int_equal(sim_history(sim, 0, 0), -1);
	while (sim_step(sim, 1))
		;
	assert_int_equal(sim_history(sim, 0, 25), 25);
	assert_int_equal(sim_history(sim, 0, 100), 100);
	assert_int_equal(sim_history(sim, 1, 100), -1);
	assert_int_equal(sim_history(sim, 0, 131), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_arrives_is_placed_or_refused),
		cmocka_unit_test(cpu_memory_and_products_are_looked_at),
		cmocka_unit_test(pods_without_gpus_make_no_demand),
		cmocka_unit_test(history_tells_how_full_each_node_was),
	};

	return cmocka_run_group_tests(tests, make_table, NULL);
}
