/* SPDX-License-Identifier: Apache-2.0 */
/* What kubectl prints, as far as it is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/macros.h"
#include "cli/dump.h"

static void nodes_offer_what_is_allocatable(void **state)
{
	CLEANUP(sim_input_clear) struct sim_input input = {0};
	const struct str text = STR(
		"{\"kind\":\"List\",\"items\":[{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\",\"labels\":"
		"{\"x\":\"y\",\"nvidia.com/gpu.product\":\"H100\"}},\"status\":{\"allocatable\":"
		"{\"cpu\":\"7910m\",\"memory\":\"4Ki\",\"nvidia.com/gpu\":\"8\"}}},"
		"{\"kind\":\"Node\",\"metadata\":{\"name\":\"b\"},\"status\":{\"allocatable\":{\"cpu\":\"0.5\"}}},"
		"{\"kind\":\"Node\",\"metadata\":{\"name\":\"c\"},\"status\":{\"allocatable\":{\"cpu\":2}}}]}");

	(void)state;
	assert_int_equal(dump_add_nodes(&input, text, "x", NULL), 0);
	assert_int_equal(input.n_nodes, 3);
	assert_string_equal(input.nodes[0].name, "a");
	assert_int_equal(input.nodes[0].gpu.cpu_milli, 7910);
	assert_int_equal(input.nodes[0].gpu.cards, 8);
	assert_int_equal(input.nodes[0].memory, 4096);
	assert_int_equal(input.nodes[0].gpu.product, 1);
	assert_int_equal(input.nodes[1].gpu.cpu_milli, 500);
	assert_int_equal(input.nodes[2].gpu.cpu_milli, 2000);
	assert_int_equal(sim_input_cards(&input), 8);
}

static void pods_ask_for_the_sum_of_their_containers(void **state)
{
	CLEANUP(sim_input_clear) struct sim_input input = {0};
	const struct str text = STR("apiVersion: v1\n"
				    "kind: PodList\n"
				    "items:\n"
				    "- metadata: {name: p}\n"
				    "  spec:\n"
				    "    nodeSelector: {nvidia.com/gpu.product: H100}\n"
				    "    initContainers:\n"
				    "    - resources: {requests: {cpu: '9', memory: 1Ki}}\n"
				    "    containers:\n"
				    "    - resources:\n"
				    "        limits: {cpu: '4', nvidia.com/gpu: 2}\n"
				    "        requests: {cpu: 2, memory: 1Ki}\n"
				    "    - resources: {limits: {nvidia.com/gpu: '1'}}\n"
				    "    - name: nothing\n"
				    "- metadata: {name: q}\n"
				    "  spec: {containers: [{}]}\n");

	(void)state;
	assert_int_equal(dump_add_pods(&input, text, "x", NULL), 0);
	assert_int_equal(input.n_pods, 2);
	assert_int_equal(input.asks[0].cpu_milli, 9000);
	assert_int_equal(input.asks[0].gpus, 3);
	assert_int_equal(input.asks[0].gpu_milli, FRAG_WHOLE);
	assert_int_equal(input.asks[0].products, 1);
	assert_int_equal(input.pods[0].memory, 1024);
	assert_int_equal(input.asks[1].gpus, 0);
	assert_int_equal(input.asks[1].cpu_milli, 0);
}

/* It runs beside the containers, and beside the init containers that start after it. */
static void sidecars_are_added(void **state)
{
	CLEANUP(sim_input_clear) struct sim_input input = {0};
	const struct str text = STR("items:\n"
				    "- metadata: {name: p}\n"
				    "  spec:\n"
				    "    initContainers:\n"
				    "    - restartPolicy: Always\n"
				    "      resources: {requests: {cpu: 3, nvidia.com/gpu: 1}}\n"
				    "    - resources: {requests: {cpu: 4}}\n"
				    "    containers:\n"
				    "    - resources: {requests: {cpu: 2, nvidia.com/gpu: 2}}\n");

	(void)state;
	assert_int_equal(dump_add_pods(&input, text, "x", NULL), 0);
	assert_int_equal(input.asks[0].cpu_milli, 7000);
	assert_int_equal(input.asks[0].gpus, 3);
}

static void what_is_wrong_is_named_by_its_object(void **state)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{"{\"items\":[{\"metadata\":{\"name\":\"p\"}}]}",
		 "x: Node p: nothing is allocatable"},
		{"{\"items\":[{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"}}]}",
		 "x: a Pod among what should be Nodes"},
		{"{\"items\":[{\"metadata\":{\"name\":\"n\"},\"status\":{\"allocatable\":{\"cpu\":\"much\"}}}]}",
		 "x: Node n: cpu is \"much\""},
		{"{\"items\":[{\"metadata\":{\"name\":\"n\"},\"status\":{\"allocatable\":{\"memory\":\"-1\"}}}]}",
		 "x: Node n: memory is \"-1\""},
		{"{\"items\":[{\"metadata\":{\"name\":\"n\"},\"status\":{\"allocatable\":{\"amd.com/gpu\":\"65\"}}}]}",
		 "x: Node n: more than 64 of amd.com/gpu"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(sim_input_clear) struct sim_input input = {0};
		struct error err = {0};

		assert_int_equal(dump_add_nodes(&input, str_from(rows[i].text), "x", &err), -1);
		assert_string_equal(err.message, rows[i].words);
	}
}

static void what_is_cut_short_is_refused(void **state)
{
	static const char *const texts[] = {"", "{\"items\":[{}", "{\"kind\":\"List\"}", "[]"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(sim_input_clear) struct sim_input input = {0};

		assert_int_equal(dump_add_pods(&input, str_from(texts[i]), "x", NULL), -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_offer_what_is_allocatable),
		cmocka_unit_test(pods_ask_for_the_sum_of_their_containers),
		cmocka_unit_test(sidecars_are_added),
		cmocka_unit_test(what_is_wrong_is_named_by_its_object),
		cmocka_unit_test(what_is_cut_short_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
