/* SPDX-License-Identifier: Apache-2.0 */
/* What pods move over PCIe, in the score of a node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "cluster/nodes/agents.h"
#include "cluster/nodes/gpunodes.h"
#include "cluster/read.h"
#include "lib/layouts.h"
#include "place/place.h"

#define CARDS 8

/* A node of pairs of cards below a switch; one pod has all but the last card. */
struct scene {
	struct cluster *cluster;
	struct machine machine;
	struct place_memory memory;
	struct arena arena;
	struct placement_weights weights;
	struct place place;
	uint64_t version;
};

static void tell_node(struct scene *s)
{
	const struct device_offer offers[] = {{.resource = STR("nvidia.com/gpu"),
					       .product = STR("H100"),
					       .unit_memory = 80 * GIB,
					       .count = CARDS,
					       .allocatable = CARDS,
					       .sharing = DEVICE_WHOLE},
					      {.resource = STR("example.com/slice"),
					       .product = STR("H100"),
					       .unit_memory = GIB,
					       .count = 8,
					       .allocatable = 8,
					       .sharing = DEVICE_FRACTION}};
	const struct node_facts facts = {.name = STR("n"),
					 .uid = STR("n"),
					 .ready = NODE_READY,
					 .offers = offers,
					 .n_offers = ARRAY_SIZE(offers),
					 .layout = &s->machine.layout,
					 .layout_state = LAYOUT_IS_KNOWN};
	const struct agent_facts agent = {.name = STR("gpuqos-agent-n"),
					  .holder = STR("n"),
					  .renew_us = 1,
					  .duration_us = 40 * USEC_PER_SEC};

	assert_int_equal(cluster_apply_node(s->cluster, &facts, NULL), 0);
	assert_int_equal(cluster_apply_agent(s->cluster, &agent, 1, NULL), 0);
}

static void tell_pod(struct scene *s, const char *name, int64_t gpus, const char *node,
		     int64_t pcie)
{
	const struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), gpus);
	const struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct str ids[CARDS];
	const struct pod_facts facts = {.namespace = STR("a"),
					.name = str_from(name),
					.uid = str_from(name),
					.node = str_from(node),
					.pcie = pcie,
					.phase = node[0] ? POD_RUNNING : POD_PENDING,
					.containers = &container,
					.n_containers = 1,
					.device_ids = ids,
					.n_device_ids = node[0] ? (size_t)gpus : 0};

	for (int i = 0; i < CARDS; i++)
		ids[i] = s->machine.gpus[i].uuid;
	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
}

static struct gpu_node_use use_of(struct scene *s, int card, const char *uid, int64_t bytes)
{
	return (struct gpu_node_use){.card = s->machine.gpus[card].pci,
				     .uid = str_from(uid),
				     .memory = 1,
				     .pcie = bytes,
				     .sm_percent = -1};
}

static void measure(struct scene *s, const struct gpu_node_use *uses, size_t n)
{
	const struct gpu_node_facts facts = {
		.name = STR("n"), .resource_version = ++s->version, .uses = uses, .n_uses = n};

	assert_int_equal(cluster_apply_gpu_node(s->cluster, &facts, 1, NULL), 0);
}

/* The last but one card, which shares its switch with the free one: the pod's, and another's. */
static void measure_two(struct scene *s, int64_t one, int64_t other)
{
	const struct gpu_node_use uses[] = {use_of(s, CARDS - 2, "old", one),
					    use_of(s, CARDS - 2, "other", other)};

	measure(s, uses, ARRAY_SIZE(uses));
}

static int64_t pcie_of(struct scene *s)
{
	const struct place_tools tools = {s->cluster, &s->weights, &s->memory, &s->arena, NULL};
	struct cluster_ask ask;

	arena_reset(&s->arena);
	cluster_ask_of_pod(s->cluster,
			   cluster_pod_find(s->cluster, STR("a"), STR("new"), STR("new")), &ask);
	place_begin(&s->place, &tools, &ask);
	return place_score(&s->place, cluster_node_find(s->cluster, STR("n"))).pcie;
}

static int setup(void **state)
{
	static const struct hash_key key = {1, 2};
	struct scene *s = test_calloc(1, sizeof(*s));

	s->cluster = cluster_new(&key);
	s->weights = PLACEMENT_WEIGHTS_DEFAULT;
	arena_init(&s->arena, 16 << 20);
	machine_pcie_box(&s->machine);
	for (size_t i = 0; i < s->machine.layout.n_bridges; i++)
		s->machine.bridges[i].speed = AMOUNT_UNKNOWN;
	tell_node(s);
	tell_pod(s, "old", CARDS - 1, "n", 0);
	tell_pod(s, "new", 1, "", 0);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	place_memory_clear(&s->memory);
	cluster_free(s->cluster);
	arena_clear(&s->arena);
	test_free(s);
	return 0;
}

/* The new pod asks for a part of some card. */
static void tell_slice(struct scene *s)
{
	const struct device_ask ask = device_ask_units(STR("example.com/slice"), 1);
	const struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	const struct pod_facts facts = {.namespace = STR("a"),
					.name = STR("new"),
					.uid = STR("new"),
					.phase = POD_PENDING,
					.containers = &container,
					.n_containers = 1};

	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
}

static int64_t both_ways(const struct scene *s)
{
	return 2 * s->machine.gpus[CARDS - 2].speed;
}

static void a_card_counts_as_what_all_on_it_move(void **state)
{
	struct scene *s = *state;
	int64_t most = both_ways(s);

	assert_int_equal(pcie_of(s), PLACE_TERM_MOST / 2); /* not known: one of two is in use */
	measure_two(s, 0, 0);
	assert_int_equal(pcie_of(s), PLACE_TERM_MOST);
	measure_two(s, most / 4, most / 4);
	assert_int_equal(pcie_of(s), PLACE_TERM_MOST * 3 / 4);
	measure_two(s, most, most);
	assert_int_equal(pcie_of(s), PLACE_TERM_MOST / 2);
	measure_two(s, 0, AMOUNT_UNKNOWN);
	assert_int_equal(pcie_of(s), PLACE_TERM_MOST / 2);
}

static void a_link_that_cards_share_is_full_for_all_of_them(void **state)
{
	struct scene *s = *state;
	int64_t most = both_ways(s);

	for (size_t i = 0; i < s->machine.layout.n_bridges; i++)
		s->machine.bridges[i].speed = s->machine.gpus[0].speed;
	tell_node(s);
	measure_two(s, most / 2, most / 2);
	assert_int_equal(pcie_of(s), 0);
	measure_two(s, most / 4, most / 4);
	assert_int_equal(pcie_of(s), PLACE_TERM_MOST / 2);
}

static void what_a_pod_declares_counts_where_it_is_more(void **state)
{
	struct scene *s = *state;
	int64_t half = both_ways(s) / 2;

	tell_pod(s, "old", CARDS - 1, "n", half * (CARDS - 1));
	assert_int_equal(pcie_of(s), PLACE_TERM_MOST * 3 / 4);
	measure_two(s, 0, 0);
	assert_int_equal(pcie_of(s), PLACE_TERM_MOST * 3 / 4);
	measure_two(s, 0, half);
	assert_int_equal(pcie_of(s), PLACE_TERM_MOST / 2);
	measure_two(s, AMOUNT_UNKNOWN, 0);
	assert_int_equal(pcie_of(s), PLACE_TERM_MOST * 3 / 4);
	tell_pod(s, "old", CARDS - 1, "n", INT64_MAX);
	assert_int_equal(pcie_of(s), PLACE_TERM_MOST / 2);
	tell_pod(s, "old", CARDS - 1, "n", 1);
	measure_two(s, half * 2, 0);
	assert_int_equal(pcie_of(s), PLACE_TERM_MOST / 2);
}

static uint64_t version_of(struct scene *s)
{
	uint32_t n;

	return cluster_node_stamps(s->cluster, &n)[cluster_node_find(s->cluster, STR("n"))].version;
}

static void samples_change_a_node_only_where_they_change_its_tenths(void **state)
{
	struct scene *s = *state;
	int64_t most = both_ways(s);
	uint64_t version;

	measure_two(s, most / 2, 0);
	version = version_of(s);
	measure_two(s, most / 2 + most / 50, 0);
	assert_true(version_of(s) == version);
	measure_two(s, most / 2 + most / 5, 0);
	assert_true(version_of(s) != version);
}

static void nothing_counts_of_an_agent_that_is_gone(void **state)
{
	struct scene *s = *state;
	uint32_t node = cluster_node_find(s->cluster, STR("n"));
	int64_t next;

	measure_two(s, 0, 0);
	assert_int_equal(cluster_room(s->cluster, node).links.len, CARDS);
	cluster_expire_agents(s->cluster, 1000 * USEC_PER_SEC, &next);
	assert_int_equal(cluster_room(s->cluster, node).links.len, 0);
}

static void a_slice_is_judged_by_all_cards(void **state)
{
	struct scene *s = *state;
	int64_t most = both_ways(s);
	struct gpu_node_use uses[CARDS];

	tell_slice(s);
	assert_int_equal(pcie_of(s), PLACE_TERM_MOST / 2);
	for (int i = 0; i < CARDS; i++)
		uses[i] = use_of(s, i, "old", i < CARDS / 2 ? most : 0);
	measure(s, uses, CARDS);
	assert_int_equal(pcie_of(s), PLACE_TERM_MOST / 2);
	measure(s, uses + CARDS / 2, CARDS / 2);
	assert_int_equal(pcie_of(s), PLACE_TERM_MOST * 3 / 4);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_card_counts_as_what_all_on_it_move),
		CASE(a_link_that_cards_share_is_full_for_all_of_them),
		CASE(what_a_pod_declares_counts_where_it_is_more),
		CASE(samples_change_a_node_only_where_they_change_its_tenths),
		CASE(nothing_counts_of_an_agent_that_is_gone),
		CASE(a_slice_is_judged_by_all_cards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
