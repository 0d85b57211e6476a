/* SPDX-License-Identifier: Apache-2.0 */
/* What pods are charged: parts of cards, prices and their order, edits, nodes that do not tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/macros.h"
#include "cluster/internal.h"
#include "pod_world.h"

/* By the prices of now. */
static struct namespace_view refreshed(struct cluster *c)
{
	uint32_t namespace = cluster_namespace_find(c, STR("a"));

	if (namespace != UINT32_MAX)
		cluster_refresh(c, namespace);
	return view_of(c, "a");
}

static int64_t used(struct cluster *c)
{
	return refreshed(c).used;
}

/* Of a quota of the namespace, whichever. */
static struct quota_view quota_view(struct cluster *c, struct arena *arena)
{
	const struct quota_facts quota = {
		.namespace = STR("a"), .name = STR("q"), .uid = STR("q"), .generation = 1};
	uint32_t namespace = cluster_namespace_find(c, STR("a"));
	struct quota_lookup lookup;

	assert_int_equal(cluster_apply_quota(c, &quota, NULL), 0);
	cluster_refresh(c, namespace);
	assert_int_equal(
		cluster_quota_view(c, cluster_quota_nth(c, namespace, 0), arena, &lookup, NULL), 0);
	return lookup.view;
}

/* 30 GiB of each of two cards. */
static const struct device_ask part = {
	{"nvidia.com/gpumem", 17}, 61440, {"nvidia.com/gpu", 14}, 2, 0};
static const struct container_facts part_container = {CONTAINER_NORMAL, &part, 1};
static const struct device_offer cut_h100[] = {
	{.resource = {"nvidia.com/gpu", 14},
	 .product = {"H100", 4},
	 .unit_memory = 80 * GIB,
	 .count = 80,
	 .min_memory = MIB},
	{.resource = {"nvidia.com/gpumem", 17},
	 .product = {"H100", 4},
	 .unit_memory = MIB,
	 .count = 655360,
	 .sharing = DEVICE_FRACTION},
};

static void parts_of_cards_cost_what_the_node_makes_of_them(void **state)
{
	struct cluster *c = *state;
	struct pod_facts pod = pod_facts();
	struct node_facts cutting = node_facts(), whole = node_facts();

	pod.containers = &part_container;
	apply_pod(c, pod);
	assert_int_equal(used(c), 0);
	assert_int_equal(refreshed(c).unpriced, 2);
	whole.name = STR("other");
	apply_node(c, whole); /* nobody cuts cards: it may come to be two whole ones */
	assert_int_equal(used(c), 160 * GIB);
	assert_int_equal(refreshed(c).unpriced, 0);
	cutting.name = STR("cutting");
	cutting.offers = cut_h100;
	cutting.n_offers = 2;
	apply_node(c, cutting); /* somebody does */
	assert_int_equal(used(c), 60 * GIB);
	apply_node(c, node_facts()); /* its own node does not */
	assert_int_equal(used(c), 160 * GIB);
	cutting.name = STR("n");
	apply_node(c, cutting);
	assert_int_equal(used(c), 60 * GIB);
}

static void uses_tell_their_bytes_by_row(void **state)
{
	const struct device_ask asks[] = {
		device_ask_units(STR("nvidia.com/gpu"), 1),
		{STR("nvidia.com/gpumem"), 61440, STR("nvidia.com/gpu"), 2, 0},
	};
	const struct container_facts container = {CONTAINER_NORMAL, asks, 2};
	CLEANUP(arena_clear) struct arena arena = {0};
	struct cluster *c = *state;
	struct pod_facts pod = pod_facts();
	struct quota_view view;

	arena_init(&arena, 1 << 20);
	pod.containers = &container;
	apply_node(c, node_facts());
	apply_pod(c, pod);
	view = quota_view(c, &arena);
	assert_int_equal(view.n_uses, 1); /* all of it is whole cards here */
	assert_int_equal(view.uses[0].count, 3);
	assert_int_equal(view.uses[0].count_live, 3);
	assert_int_equal(view.uses[0].bytes, 240 * GIB);
	assert_int_equal(view.used, 240 * GIB);
}

static void the_smallest_unit_is_the_least_that_one_may_be_cut_to(void **state)
{
	struct cluster *c = *state;
	struct node_facts node = node_facts();
	struct price_list prices;

	node.offers = cut_h100;
	node.n_offers = 2;
	apply_node(c, node);
	cluster_refresh(c, 0);
	prices = cluster_prices(c);
	assert_int_equal(prices.n_rows, 2);
	assert_int_equal(price_smallest(&prices, prices.rows[0].resource, AMOUNT_UNKNOWN), MIB);
	assert_int_equal(prices.rows[0].largest, 80 * GIB);
	assert_int_equal(prices.rows[1].smallest, MIB);
}

static void of_equally_dear_products_the_first_by_name_is_charged(void **state)
{
	static const char *const products[] = {"B-second", "C-third", "A-first"};
	struct device_offer offer = h100;
	struct cluster *c = *state;
	struct node_facts node = node_facts();
	const struct price_row *row;
	struct price_list prices;
	char name[16];

	node.offers = &offer;
	for (size_t i = 0; i < ARRAY_SIZE(products); i++) {
		snprintf(name, sizeof(name), "node-%d", (int)i);
		node.name = str_from(name);
		offer.product = str_from(products[i]);
		apply_node(c, node);
	}
	cluster_refresh(c, 0);
	prices = cluster_prices(c);
	row = price_row_charged(&prices, prices.rows[0].resource, PRODUCT_ANY);
	assert_string_equal(cluster_name(c, row->product), "A-first");
}

/* A pod that asks for so many thousandths of a card by annotation. */
static struct pod_facts annotated(const struct device_ask *ask)
{
	struct pod_facts pod = pod_facts();

	pod.n_containers = 0;
	pod.own = ask;
	pod.n_own = ask->count > 0;
	pod.annotated = ask->count > 0;
	return pod;
}

static void an_edit_of_annotations_never_lowers_a_charge(void **state)
{
	struct device_ask half = {STR("part"), 500, STR("nvidia.com/gpu"), 1, 0};
	const struct device_offer offers[] = {
		h100,
		{.resource = STR("part"), .unit_memory = 80 * GIB / 1000, .count = 8000},
	};
	struct cluster *c = *state;
	struct node_facts node = node_facts();
	const int64_t unit = 80 * GIB / 1000;
	struct pod_facts pod;

	node.offers = offers;
	node.n_offers = 2;
	apply_node(c, node);
	apply_pod(c, annotated(&half));
	assert_int_equal(used(c), 500 * unit);
	half.count = 200;
	apply_pod(c, annotated(&half)); /* lowered */
	assert_int_equal(used(c), 500 * unit);
	half.count = 700;
	apply_pod(c, annotated(&half)); /* raised */
	assert_int_equal(used(c), 700 * unit);
	half.count = 0;
	apply_pod(c, annotated(&half)); /* taken off */
	assert_int_equal(used(c), 700 * unit);
	half.count = 100;
	pod = annotated(&half);
	pod.uid = STR("another");
	apply_pod(c, pod); /* another pod of that name */
	assert_int_equal(used(c), 100 * unit);
	half.count = 0;
	pod = annotated(&half);
	pod.uid = STR("a third");
	apply_pod(c, pod);
	assert_int_equal(refreshed(c).pods, 0);
}

/* Who allocated more tells it in an annotation, where the tenant may write anything too. */
static void what_is_told_of_an_allocation_counts_as_far_as_its_cards_reach(void **state)
{
	struct device_ask told = part;
	const struct container_facts container = {CONTAINER_NORMAL, &told, 1};
	struct cluster *c = *state;
	struct node_facts node = node_facts();
	struct pod_facts pod = pod_facts();

	node.offers = cut_h100;
	node.n_offers = 2;
	apply_node(c, node);
	pod.containers = &container;
	pod.annotated = true;
	told.told = 10240;
	apply_pod(c, pod);
	assert_int_equal(used(c), 70 * GIB);
	told.told = INT64_MAX;
	apply_pod(c, pod);
	assert_int_equal(used(c), 160 * GIB);
	told.told = 0; /* taken off, which never lowers it */
	apply_pod(c, pod);
	assert_int_equal(used(c), 160 * GIB);
	/* what is asked for counts, however much */
	told.count = 200 * 1024;
	told.told = 1;
	apply_pod(c, pod);
	assert_int_equal(used(c), 200 * GIB);
}

/* Koordinator's nodes tell their cards by hundredths of these alone. */
static void hundredths_tell_a_card_too(void **state)
{
	const struct device_ask told = {STR("koordinator.sh/gpu-memory"), 8 * GIB,
					STR("nvidia.com/gpu"), 1, INT64_MAX};
	const struct container_facts container = {CONTAINER_NORMAL, &told, 1};
	const struct device_offer memory = {
		.resource = told.resource, .unit_memory = 1, .count = 80 * GIB};
	const struct device_offer both[] = {
		memory,
		{.resource = STR("koordinator.sh/gpu-memory-ratio"),
		 .unit_memory = GIB,
		 .count = 100},
	};
	struct cluster *c = *state;
	struct node_facts node = node_facts();
	struct pod_facts pod = pod_facts();

	node.offers = both;
	node.n_offers = 1;
	pod.containers = &container;
	apply_node(c, node);
	apply_pod(c, pod);
	assert_int_equal(used(c), 8 * GIB); /* nobody tells what a card has */
	node.n_offers = 2;
	apply_node(c, node);
	assert_int_equal(used(c), 100 * GIB);
}

static void edits_without_end_keep_what_was(void **state)
{
	static char names[LIMIT_RESOURCES_PER_POD + 1][16];
	struct cluster *c = *state;
	struct error err = {0};

	apply_node(c, node_facts());
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct device_ask ask = {{names[i], 0}, 1, STR("nvidia.com/gpu"), 1, 0};
		struct pod_facts pod;

		ask.resource.len = (size_t)snprintf(names[i], sizeof(names[i]), "part-%d", (int)i);
		pod = annotated(&ask);
		assert_int_equal(cluster_apply_pod(c, &pod, &err), 0);
	}
	assert_int_equal(used(c), LIMIT_RESOURCES_PER_POD * 80 * GIB);
}

static void what_a_node_does_not_tell_is_assumed(void **state)
{
	CLEANUP(arena_clear) struct arena arena = {0};
	struct device_offer silent = h100;
	struct cluster *c = *state;
	struct node_facts node = node_facts();

	arena_init(&arena, 1 << 20);
	apply_node(c, node);
	apply_pod(c, pod_facts());
	assert_int_equal(quota_view(c, &arena).assumed, 0);
	node.name = STR("other");
	apply_node(c, node);
	silent.unit_memory = AMOUNT_UNKNOWN;
	node.name = STR("n");
	node.offers = &silent;
	apply_node(c, node);
	assert_int_equal(quota_view(c, &arena).assumed, 80 * GIB);
	assert_int_equal(used(c), 80 * GIB);
	cluster_delete(c, CLUSTER_PODS, STR("a"), STR("p"));
	assert_int_equal(quota_view(c, &arena).assumed, 0);
}

static void sources_that_disagree_are_named_where_it_matters(void **state)
{
	CLEANUP(arena_clear) struct arena arena = {0};
	struct device_offer scaled = h100;
	struct cluster *c = *state;
	struct node_facts node = node_facts();
	struct node_disagreement what;
	struct str sentence;

	arena_init(&arena, 1 << 20);
	scaled.source = MEMORY_FROM_LABEL;
	scaled.other = MEMORY_FROM_HAMI;
	scaled.other_memory = 160 * GIB;
	node.offers = &scaled;
	apply_node(c, node);
	assert_true(cluster_node_disagreement(c, cluster_node_find(c, STR("n")), &what));
	assert_true(str_equal(what.resource, STR("nvidia.com/gpu")));
	assert_int_equal(what.memory, 80 * GIB);
	assert_int_equal(what.other_memory, 160 * GIB);
	assert_int_equal(what.other, MEMORY_FROM_HAMI);
	apply_pod(c, pod_facts());
	sentence = quota_view(c, &arena).disagreement;
	assert_true(str_equal(sentence, STR("a unit of nvidia.com/gpu has 80Gi by its node labels "
					    "and 160Gi by its annotation "
					    "hami.io/node-nvidia-register on node n")));
	assert_int_equal(used(c), 80 * GIB); /* the first counts */
	node.offers = &h100;
	apply_node(c, node);
	assert_false(cluster_node_disagreement(c, cluster_node_find(c, STR("n")), &what));
	assert_true(str_empty(quota_view(c, &arena).disagreement));
}

static void a_node_that_is_cut_anew_is_known(void **state)
{
	struct cluster *c = *state;
	struct node_facts node = node_facts();

	apply_node(c, node);
	assert_false(cluster_node_reconfiguring(c, cluster_node_find(c, STR("n"))));
	node.reconfiguring = true;
	apply_node(c, node);
	assert_true(cluster_node_reconfiguring(c, cluster_node_find(c, STR("n"))));
	assert_int_equal(cluster_node_find(c, STR("m")), TABLE_NONE);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, cluster_setup, cluster_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(parts_of_cards_cost_what_the_node_makes_of_them),
		TEST(uses_tell_their_bytes_by_row),
		TEST(the_smallest_unit_is_the_least_that_one_may_be_cut_to),
		TEST(of_equally_dear_products_the_first_by_name_is_charged),
		TEST(an_edit_of_annotations_never_lowers_a_charge),
		TEST(what_is_told_of_an_allocation_counts_as_far_as_its_cards_reach),
		TEST(hundredths_tell_a_card_too),
		TEST(edits_without_end_keep_what_was),
		TEST(what_a_node_does_not_tell_is_assumed),
		TEST(sources_that_disagree_are_named_where_it_matters),
		TEST(a_node_that_is_cut_anew_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
