/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every way of sharing a card, from objects as its project makes them (tests/data/sources) to
 * bytes: what the ledger charges is what a person adds up by hand, and the table is printed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/pack.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/macros.h"
#include "base/table.h"
#include "cluster/read.h"
#include "codec/json.h"
#include "lib/files.h"

#define H200 (143771 * MIB)
#define H100 (81559 * MIB)
#define A10  (23028 * MIB)

/* What an admin writes into --config for what no label tells. */
static const struct source_row rows[] = {
	{{"amd.com/cpx_nps4", 16},
	 AMOUNT_NONE,
	 {"example.com/partition.memory", 28},
	 MIB,
	 {NULL, 0},
	 {"amd.com/gpu.product-name", 24},
	 DEVICE_MIG},
	{{"gpu.intel.com/i915", 18}, 128 * GIB, {NULL, 0}, MIB, {NULL, 0}, {NULL, 0}, DEVICE_WHOLE},
	{{"huawei.com/Ascend910", 20},
	 64 * GIB,
	 {NULL, 0},
	 MIB,
	 {"Ascend910B", 10},
	 {NULL, 0},
	 DEVICE_WHOLE},
};
static const struct source_table table = {rows, ARRAY_SIZE(rows)};

static const struct {
	const char *source, *node, *pod, *by_hand;
	int64_t charge;
} cases[] = {
	{"nvidia", "whole", "pair", "2 x 143771Mi", 2 * H200},
	{"nvidia", "mig-mixed", "slices", "71424Mi + 2 x 16384Mi, each kind peaks apart",
	 (71424 + 2 * 16384) * MIB},
	{"nvidia", "mig-single", "single", "3 x 4864Mi", 3 * 4864 * MIB},
	{"nvidia", "time-sliced", "sliced", "81559Mi / 4", H100 / 4},
	{"nvidia", "mps", "mps", "81559Mi / 10", H100 / 10},
	{"nvidia", "renamed", "renamed", "3 x (81559Mi / 10)", 3 * (H100 / 10)},
	{"hami", "json", "memory", "2 x 3000Mi", 6000 * MIB},
	{"hami", "json", "memory-alone", "3000Mi of one card", 3000 * MIB},
	{"hami", "json", "percentage", "2 x 50 x (143771Mi / 100)", 100 * (H200 / 100)},
	{"hami", "csv", "percentage-csv", "25 x (40960Mi / 100)", 25 * (40960 * MIB / 100)},
	{"hami", "json", "percentage-full", "all of 143771Mi", H200},
	{"hami", "json", "percentage-absurd", "no percentage: all of 143771Mi", H200},
	{"hami", "json", "both", "memory wins: 3000Mi", 3000 * MIB},
	{"hami", "json", "cores", "cores are of a card: 143771Mi", H200},
	{"hami", "json", "whole", "2 x 143771Mi", 2 * H200},
	{"hami", "json", "allocated", "raised to 4096Mi", 4096 * MIB},
	{"hami", "json", "lowered", "not lowered: 3000Mi", 3000 * MIB},
	{"hami", "scaled", "scaled", "by its label: 143771Mi", H200},
	{"volcano", "register", "memory", "2 x 2048Mi", 4096 * MIB},
	{"volcano", "register", "memory-alone", "2048Mi of one card", 2048 * MIB},
	{"volcano", "register", "percentage", "30 x (23028Mi / 100)", 30 * (A10 / 100)},
	{"volcano", "unlabelled", "whole", "by its register: 24564Mi", 24564 * MIB},
	{"volcano", "register", "allocated", "raised to 3000Mi", 3000 * MIB},
	{"koordinator", "shared", "memory", "16Gi", 16 * GIB},
	{"koordinator", "shared", "ratio", "50 x (81559Mi / 100)", 50 * (H100 / 100)},
	{"koordinator", "shared", "gpu", "200 x (81559Mi / 100)", 200 * (H100 / 100)},
	{"koordinator", "shared", "memory-of-two", "20Gi in all", 20 * GIB},
	{"koordinator", "shared", "cores-alone", "two cards: 200 x (81559Mi / 100)",
	 200 * (H100 / 100)},
	{"koordinator", "shared", "allocated", "raised to 17Gi", 17 * GIB},
	{"kai", "whole", "half", "500 x (143771Mi / 1000)", 500 * (H200 / 1000)},
	{"kai", "whole", "thirds", "2 x 334 x (143771Mi / 1000)", 668 * (H200 / 1000)},
	{"kai", "whole", "memory", "8192Mi", 8192 * MIB},
	{"kai", "whole", "memory-of-two", "2 x 8192Mi", 16384 * MIB},
	{"kai", "whole", "unreadable", "no fraction: 143771Mi", H200},
	{"kai", "whole", "above-one", "no fraction: 143771Mi", H200},
	{"amd", "whole", "four", "4 x 192Gi", 4 * 192 * GIB},
	{"amd", "partitioned", "partitions", "by the table: 3 x 24Gi", 3 * 24 * GIB},
	{"intel", "max", "one", "by the table: 128Gi", 128 * GIB},
	{"table", "ascend", "ascend", "by the table: 2 x 64Gi", 2 * 64 * GIB},
};

struct world {
	struct arena arena;
	struct buf text;
	struct cluster *cluster;
};

/* What stands in tests/data/sources/<source>/<kind>-<name>.json. */
static void decode(struct world *w, const struct schema *schema, const char *path, void *ret_object)
{
	struct error err = {0};
	const char *copy;

	buf_reset(&w->text);
	file_read(path, &w->text);
	copy = arena_strndup(&w->arena, w->text.data, w->text.len);
	assert_non_null(copy);
	if (json_decode(schema, (struct str){copy, w->text.len}, &w->arena, ret_object, &err) < 0)
		fail_msg("%s: %s", path, err.message);
}

static void load_node(struct world *w, const char *source, const char *name,
		      struct node_facts *ret_facts)
{
	struct error err = {0};
	struct wire_node wire;
	char path[256];

	snprintf(path, sizeof(path), "tests/data/sources/%s/node-%s.json", source, name);
	decode(w, &wire_node_schema, path, &wire);
	if (api_pack_node(&wire, &table, &w->arena, ret_facts, &err) < 0)
		fail_msg("%s", err.message);
}

static void load_pod(struct world *w, const char *source, const char *name,
		     struct pod_facts *ret_facts)
{
	struct error err = {0};
	struct wire_pod wire;
	char path[256];

	snprintf(path, sizeof(path), "tests/data/sources/%s/pod-%s.json", source, name);
	decode(w, &wire_pod_schema, path, &wire);
	if (api_pack_pod(&wire, &table, &w->arena, ret_facts, &err) < 0)
		fail_msg("%s", err.message);
}

static void add_node(struct world *w, const char *source, const char *name)
{
	struct node_facts node;

	load_node(w, source, name, &node);
	assert_int_equal(cluster_apply_node(w->cluster, &node, NULL), 0);
}

static struct namespace_view view_of(struct world *w)
{
	uint32_t namespace = cluster_namespace_find(w->cluster, STR("team-a"));
	struct namespace_view view = {0};

	assert_true(namespace != TABLE_NONE);
	cluster_refresh(w->cluster, namespace);
	cluster_namespace_view(w->cluster, namespace, &view);
	return view;
}

static void test_the_sum_is_the_one_by_hand(void **state)
{
	struct world *w = *state;

	print_message("%-12s %-14s %-18s %-46s %15s %15s\n", "source", "node", "pod", "by hand",
		      "bytes by hand", "charged");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct hash_key key = {3, 5};
		struct pod_facts pod;
		int64_t pending, bound;

		w->cluster = cluster_new(&key);
		add_node(w, cases[i].source, cases[i].node);
		load_pod(w, cases[i].source, cases[i].pod, &pod);
		pod.phase = POD_PENDING;
		pod.node = STR_NONE;
		assert_int_equal(cluster_apply_pod(w->cluster, &pod, NULL), 0);
		pending = view_of(w).used;
		load_pod(w, cases[i].source, cases[i].pod, &pod);
		assert_int_equal(cluster_apply_pod(w->cluster, &pod, NULL), 0);
		bound = view_of(w).used;
		print_message("%-12s %-14s %-18s %-46s %15lld %15lld\n", cases[i].source,
			      cases[i].node, cases[i].pod, cases[i].by_hand,
			      (long long)cases[i].charge, (long long)bound);
		assert_int_equal(bound, cases[i].charge);
		assert_int_equal(pending, cases[i].charge);
		assert_int_equal(view_of(w).unpriced, 0);
		assert_int_equal(view_of(w).live, cases[i].charge);
		cluster_free(w->cluster);
		arena_reset(&w->arena);
	}
	w->cluster = NULL;
}

static void test_nothing_of_a_node_that_is_cut_anew_is_believed(void **state)
{
	const struct hash_key key = {3, 5};
	struct world *w = *state;
	struct pod_facts pod;

	w->cluster = cluster_new(&key);
	add_node(w, "nvidia", "reconfiguring");
	assert_true(cluster_node_reconfiguring(
		w->cluster, cluster_node_find(w->cluster, STR("nvidia-reconfiguring"))));
	load_pod(w, "nvidia", "left-over", &pod);
	assert_int_equal(cluster_apply_pod(w->cluster, &pod, NULL), 0);
	assert_int_equal(view_of(w).used, 0);
	assert_int_equal(view_of(w).unpriced, 1);
	add_node(w, "nvidia", "whole"); /* it may come to be as much as that */
	assert_int_equal(view_of(w).used, H200);
}

static void test_a_scaled_card_is_told_of(void **state)
{
	const struct hash_key key = {3, 5};
	struct world *w = *state;
	struct node_disagreement what;

	w->cluster = cluster_new(&key);
	add_node(w, "hami", "json");
	assert_false(cluster_node_disagreement(
		w->cluster, cluster_node_find(w->cluster, STR("hami-json")), &what));
	add_node(w, "hami", "scaled");
	assert_true(cluster_node_disagreement(
		w->cluster, cluster_node_find(w->cluster, STR("hami-scaled")), &what));
	assert_int_equal(what.source, MEMORY_FROM_LABEL);
	assert_int_equal(what.other, MEMORY_FROM_HAMI);
	assert_true(str_equal(what.resource, STR("nvidia.com/gpu")));
	assert_int_equal(what.memory, H200);
	assert_int_equal(what.other_memory, 2 * H200);
}

static void test_parts_on_a_node_that_does_not_cut_are_whole_cards(void **state)
{
	static const struct {
		const char *source, *pod;
		int64_t cards;
	} parts[] = {
		{"hami", "memory", 2},
		{"hami", "percentage", 2},
		{"koordinator", "ratio", 1},
		{"koordinator", "memory-of-two", 2},
	};
	const struct hash_key key = {3, 5};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		struct pod_facts pod;

		w->cluster = cluster_new(&key);
		add_node(w, "nvidia", "whole");
		load_pod(w, parts[i].source, parts[i].pod, &pod);
		pod.node = STR("nvidia-whole");
		assert_int_equal(cluster_apply_pod(w->cluster, &pod, NULL), 0);
		assert_int_equal(view_of(w).used, parts[i].cards * H200);
		cluster_free(w->cluster);
	}
	w->cluster = NULL;
}

static int setup(void **state)
{
	static struct world world;

	world = (struct world){0};
	arena_init(&world.arena, LIMIT_DECODE_ARENA);
	buf_init(&world.text, LIMIT_WATCH_FRAME);
	*state = &world;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	cluster_free(w->cluster);
	arena_clear(&w->arena);
	buf_clear(&w->text);
	return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_sum_is_the_one_by_hand),
		TEST(test_nothing_of_a_node_that_is_cut_anew_is_believed),
		TEST(test_a_scaled_card_is_told_of),
		TEST(test_parts_on_a_node_that_does_not_cut_are_whole_cards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
