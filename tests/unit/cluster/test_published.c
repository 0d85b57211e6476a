/* SPDX-License-Identifier: Apache-2.0 */
/* What an object of others tells of a node's cards, and when that counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cluster/nodes/published.h"
#include "cluster/placing/placement.h"
#include "cluster/read.h"
#include "lib/layouts.h"

struct world {
	struct cluster *cluster;
	struct machine of_node, of_object;
	uint64_t version;
};

static int setup(void **state)
{
	struct world *w = mem_alloc(sizeof(*w));
	const struct hash_key key = {1, 2};

	w->cluster = cluster_new(&key);
	machine_dgx_h100(&w->of_node);
	w->of_node.layout.writer = STR("HAMi");
	machine_pcie_box(&w->of_object);
	w->of_object.layout.writer = STR("Koordinator");
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	cluster_free(w->cluster);
	mem_free(w);
	return 0;
}

/* --- what happens */

static void node(struct world *w, const struct layout *layout, enum layout_state state)
{
	const struct device_offer offer = {
		.resource = STR("nvidia.com/gpu"),
		.product = STR("H100"),
		.unit_memory = 1 << 30,
		.count = 1,
		.allocatable = 1,
		.sharing = DEVICE_WHOLE,
	};
	const struct node_facts facts = {
		.name = STR("n"),
		.uid = STR("n"),
		.resource_version = ++w->version,
		.ready = NODE_READY,
		.offers = &offer,
		.n_offers = 1,
		.layout = layout,
		.layout_state = state,
	};

	assert_int_equal(cluster_apply_node(w->cluster, &facts, NULL), 0);
}

static void object(struct world *w, const struct layout *layout)
{
	const struct published_facts facts = {STR("n"), ++w->version, layout};

	assert_int_equal(cluster_apply_published(w->cluster, CLUSTER_PUBLISHED, &facts, NULL), 0);
}

/* What an object that only counts cards tells of so many of them. */
static void counted(struct world *w, size_t cards)
{
	struct layout layout = w->of_object.layout;
	const struct published_facts facts = {STR("n"), ++w->version, &layout};

	layout.writer = STR("NodeResourceTopology");
	layout.counted = true;
	layout.n_gpus = cards;
	assert_int_equal(cluster_apply_published(w->cluster, CLUSTER_ZONES, &facts, NULL), 0);
}

/* --- what counts */

/* @cards: of the layout that counts; 0: none does. */
static void assert_room(const struct world *w, enum layout_state state, uint32_t cards)
{
	struct cluster_room room =
		cluster_room(w->cluster, cluster_node_find(w->cluster, STR("n")));

	assert_int_equal(room.state, state);
	assert_int_equal(room.topo ? room.topo->n_cards : 0, cards);
}

#define OBJECT_CARDS ((uint32_t)w->of_object.layout.n_gpus)
#define NODE_CARDS   ((uint32_t)w->of_node.layout.n_gpus)

/* --- the tests */

static void it_counts_whichever_comes_first(void **state)
{
	struct world *w = *state;

	object(w, &w->of_object.layout);
	node(w, NULL, LAYOUT_IS_ABSENT);
	assert_room(w, LAYOUT_IS_KNOWN, OBJECT_CARDS);
	cluster_delete(w->cluster, CLUSTER_PUBLISHED, STR_NONE, STR("n"));
	assert_room(w, LAYOUT_IS_ABSENT, 0);
	object(w, &w->of_object.layout);
	assert_room(w, LAYOUT_IS_KNOWN, OBJECT_CARDS);
	object(w, NULL);
	assert_room(w, LAYOUT_IS_ABSENT, 0);
}

static void what_the_node_tells_comes_first(void **state)
{
	struct world *w = *state;

	w->of_object.layout.n_gpus = 4; /* to tell them apart */
	object(w, &w->of_object.layout);
	node(w, &w->of_node.layout, LAYOUT_IS_KNOWN);
	assert_room(w, LAYOUT_IS_KNOWN, NODE_CARDS);
	/* The agent is there, if it is not understood. */
	node(w, NULL, LAYOUT_IS_MALFORMED);
	assert_room(w, LAYOUT_IS_MALFORMED, 0);
	node(w, NULL, LAYOUT_IS_ABSENT);
	assert_room(w, LAYOUT_IS_KNOWN, 4);
}

static void it_outlives_its_node(void **state)
{
	struct world *w = *state;

	node(w, NULL, LAYOUT_IS_ABSENT);
	object(w, &w->of_object.layout);
	cluster_delete(w->cluster, CLUSTER_NODES, STR_NONE, STR("n"));
	assert_false(cluster_node_exists(w->cluster, cluster_node_find(w->cluster, STR("n"))));
	node(w, NULL, LAYOUT_IS_ABSENT);
	assert_room(w, LAYOUT_IS_KNOWN, OBJECT_CARDS);
}

static void an_older_one_is_passed_over(void **state)
{
	struct world *w = *state;
	const struct published_facts old = {STR("n"), 1, NULL};

	w->version = 10;
	node(w, NULL, LAYOUT_IS_ABSENT);
	object(w, &w->of_object.layout);
	assert_int_equal(cluster_apply_published(w->cluster, CLUSTER_PUBLISHED, &old, NULL), 0);
	assert_room(w, LAYOUT_IS_KNOWN, OBJECT_CARDS);
}

static void one_that_a_full_state_does_not_have_is_gone(void **state)
{
	struct world *w = *state;

	node(w, NULL, LAYOUT_IS_ABSENT);
	object(w, &w->of_object.layout);
	cluster_begin_replace(w->cluster, CLUSTER_PUBLISHED);
	cluster_end_replace(w->cluster, CLUSTER_PUBLISHED);
	assert_room(w, LAYOUT_IS_ABSENT, 0);
}

static void a_layout_of_too_few_cards_contradicts(void **state)
{
	struct world *w = *state;

	node(w, NULL, LAYOUT_IS_ABSENT);
	object(w, &w->of_object.layout);
	w->of_object.layout.n_gpus = 0;
	object(w, &w->of_object.layout);
	assert_room(w, LAYOUT_IS_CONTRADICTS, 0);
}

/* --- cards that are only counted */

static void cards_that_are_named_come_before_those_that_are_counted(void **state)
{
	struct world *w = *state;

	counted(w, 1);
	node(w, NULL, LAYOUT_IS_ABSENT);
	assert_room(w, LAYOUT_IS_KNOWN, 1);
	object(w, &w->of_object.layout);
	assert_room(w, LAYOUT_IS_KNOWN, OBJECT_CARDS);
	object(w, NULL);
	assert_room(w, LAYOUT_IS_KNOWN, 1);
	node(w, &w->of_node.layout, LAYOUT_IS_KNOWN);
	assert_room(w, LAYOUT_IS_KNOWN, NODE_CARDS);
	node(w, NULL, LAYOUT_IS_ABSENT);
	cluster_delete(w->cluster, CLUSTER_ZONES, STR_NONE, STR("n"));
	assert_room(w, LAYOUT_IS_ABSENT, 0);
}

static void one_of_a_kind_that_a_full_state_does_not_have_is_gone(void **state)
{
	struct world *w = *state;

	counted(w, 1);
	object(w, &w->of_object.layout);
	node(w, NULL, LAYOUT_IS_ABSENT);
	cluster_begin_replace(w->cluster, CLUSTER_ZONES);
	cluster_end_replace(w->cluster, CLUSTER_ZONES);
	assert_room(w, LAYOUT_IS_KNOWN, OBJECT_CARDS);
	cluster_begin_replace(w->cluster, CLUSTER_PUBLISHED);
	cluster_end_replace(w->cluster, CLUSTER_PUBLISHED);
	assert_room(w, LAYOUT_IS_ABSENT, 0);
}

#define WHOLE(n, given)                                                                  \
	{                                                                                \
		.resource = STR("nvidia.com/gpu"), .count = (n), .allocatable = (given), \
		.unit_memory = 1 << 30, .sharing = DEVICE_WHOLE                          \
	}
#define PART(name, how)                                                                      \
	{                                                                                    \
		.resource = STR(name), .count = 4, .allocatable = 4, .unit_memory = 1 << 20, \
		.sharing = (how)                                                             \
	}

static void they_count_where_they_are_all_that_the_node_offers(void **state)
{
	const struct {
		const char *sentence;
		struct device_offer offers[2];
		size_t n;
		bool known;
	} rows[] = {
		{"as many", {WHOLE(4, 4)}, 1, true},
		{"fewer than are counted", {WHOLE(3, 3)}, 1, false},
		{"more than are counted", {WHOLE(5, 5)}, 1, false},
		{"one of them failed", {WHOLE(4, 3)}, 1, false},
		{"one failed, and is not counted", {WHOLE(5, 4)}, 1, false},
		{"another's make it as many",
		 {WHOLE(2, 2),
		  {.resource = STR("amd.com/gpu"),
		   .count = 2,
		   .allocatable = 2,
		   .unit_memory = 1 << 30,
		   .sharing = DEVICE_WHOLE}},
		 2,
		 true},
		{"replicas", {PART("nvidia.com/gpu", DEVICE_TIME_SLICED)}, 1, false},
		{"some are cut",
		 {WHOLE(4, 4), PART("nvidia.com/mig-1g.10gb", DEVICE_MIG)},
		 2,
		 false},
		{"a scheduler chooses cards",
		 {WHOLE(4, 4), PART("nvidia.com/gpumem", DEVICE_FRACTION)},
		 2,
		 false},
		{"KAI takes whole cards for its parts",
		 {WHOLE(4, 4), PART("kai.scheduler/gpu-fraction", DEVICE_FRACTION)},
		 2,
		 true},
	};
	struct world *w = *state;

	counted(w, 4);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct node_facts facts = {
			.name = STR("n"),
			.uid = STR("n"),
			.resource_version = ++w->version,
			.ready = NODE_READY,
			.offers = rows[i].offers,
			.n_offers = rows[i].n,
			.layout_state = LAYOUT_IS_ABSENT,
		};
		uint32_t at;

		assert_int_equal(cluster_apply_node(w->cluster, &facts, NULL), 0);
		at = cluster_node_find(w->cluster, STR("n"));
		if (cluster_room(w->cluster, at).state !=
			    (rows[i].known ? LAYOUT_IS_KNOWN : LAYOUT_IS_CONTRADICTS) ||
		    str_empty(cluster_layout_problem(w->cluster, at)) != rows[i].known)
			fail_msg("%s", rows[i].sentence);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
		IN_WORLD(it_counts_whichever_comes_first),
		IN_WORLD(what_the_node_tells_comes_first),
		IN_WORLD(it_outlives_its_node),
		IN_WORLD(an_older_one_is_passed_over),
		IN_WORLD(one_that_a_full_state_does_not_have_is_gone),
		IN_WORLD(a_layout_of_too_few_cards_contradicts),
		IN_WORLD(cards_that_are_named_come_before_those_that_are_counted),
		IN_WORLD(one_of_a_kind_that_a_full_state_does_not_have_is_gone),
		IN_WORLD(they_count_where_they_are_all_that_the_node_offers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
