/* SPDX-License-Identifier: Apache-2.0 */
/* Lists as they come, and what is said of those that cannot be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/macros.h"
#include "cli/openb.h"

static void nodes_have_cards_a_product_and_memory(void **state)
{
	CLEANUP(sim_input_clear) struct sim_input input = {0};

	(void)state;
	assert_int_equal(openb_add_nodes(&input,
					 STR("model,gpu,sn,cpu_milli,memory_mib\nT4,2,a,8000,4\n"
					     "\r\n,1,b,1,2\r\nT4,0,c,1,2"),
					 "x", NULL),
			 0);
	assert_int_equal(input.n_nodes, 3);
	assert_string_equal(input.nodes[0].name, "a");
	assert_int_equal(input.nodes[0].gpu.cards, 2);
	assert_int_equal(input.nodes[0].gpu.left[1], FRAG_WHOLE);
	assert_int_equal(input.nodes[0].gpu.cpu_milli, 8000);
	assert_int_equal(input.nodes[0].memory, 4194304);
	assert_int_equal(input.nodes[0].gpu.product, 1);
	assert_int_equal(input.nodes[1].gpu.product, 0);
	assert_int_equal(input.nodes[2].gpu.product, 1);
	assert_int_equal(sim_input_cards(&input), 3);
}

static void pods_that_ask_alike_are_one_kind(void **state)
{
	CLEANUP(sim_input_clear) struct sim_input input = {0};

	(void)state;
	assert_int_equal(openb_add_pods(&input,
					STR("cpu_milli,num_gpu,gpu_milli,gpu_spec\n8000,1,500,\n"
					    "8000,2,1000,T4|A10\n8000,1,500,\n4000,0,0,\n"),
					"x", NULL),
			 0);
	assert_int_equal(input.n_pods, 4);
	assert_int_equal(input.n_asks, 3);
	assert_int_equal(input.asks[0].weight, 2);
	assert_int_equal(input.asks[1].products, 3);
	assert_int_equal(sim_ask_milli(&input.asks[1]), 2000);
	assert_int_equal(input.pods[2].ask, 0);
	assert_int_equal(input.asks[2].gpus, 0);
}

static void what_is_wrong_is_named_by_line_and_column(void **state)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{"", "x: empty"},
		{"\n\n", "x: empty"},
		{"num_gpu,gpu_milli\n", "x:1: no column cpu_milli"},
		{"cpu_milli,num_gpu,gpu_milli\n1,65,1\n",
		 "x:2: num_gpu is \"65\", not a number up to 64"},
		{"cpu_milli,num_gpu,gpu_milli\n1,1,1\n-1,1,1\n",
		 "x:3: cpu_milli is \"-1\", not a number up to 1000000000"},
		{"cpu_milli,num_gpu,gpu_milli,memory_mib\n1,1,1\n",
		 "x:2: memory_mib is \"\", not a number up to 1000000000"},
		{"cpu_milli,num_gpu,gpu_milli\n1,1,0\n",
		 "x:2: GPUs are asked for, and gpu_milli is 0"},
		{"cpu_milli,num_gpu,gpu_milli\n"
		 ",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,",
		 "x:2: more than 64 fields"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(sim_input_clear) struct sim_input input = {0};
		struct error err = {0};

		assert_int_equal(openb_add_pods(&input, str_from(rows[i].text), "x", &err), -1);
		assert_string_equal(err.message, rows[i].words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_have_cards_a_product_and_memory),
		cmocka_unit_test(pods_that_ask_alike_are_one_kind),
		cmocka_unit_test(what_is_wrong_is_named_by_line_and_column),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
