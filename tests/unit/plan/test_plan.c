/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan says, and when it is none. tests/prop/prop_plan.c has that it is the cheapest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/ledger/holders.h"
#include "cluster/placing/reserve.h"
#include "cluster/read.h"
#include "lib/cards.h"
#include "lib/team.h"
#include "unit/plan/scene.h"

/* Nodes without a layout; a third tenant, rest (Training), in some. */
static void add_node(struct scene *s, const char *name, int64_t cards, enum node_ready ready)
{
	cards_add_node(s->cluster, cards,
		       (struct node_facts){.name = str_from(name), .ready = ready});
}

static void add_tenant(struct scene *s, const char *name, enum tenant_tier tier, int64_t ceiling)
{
	team_add_of(s->cluster, &(struct team){name, tier, ceiling, NULL, 0});
}

static int setup(void **state)
{
	*state = scene_new();
	return 0;
}

struct pod {
	const char *namespace, *name;
	int64_t gpus;
	const char *node; /* NULL: pending */
	int64_t age_s;
	const char *gang; /* NULL: none */
};

static void add_pod(struct scene *s, struct pod pod)
{
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), pod.gpus);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = {
		.namespace = str_from(pod.namespace),
		.name = str_from(pod.name),
		.uid = str_from(pod.name),
		.created_us = NOW - pod.age_s * USEC_PER_SEC,
		.node = pod.node ? str_from(pod.node) : STR_NONE,
		.phase = pod.node ? POD_RUNNING : POD_PENDING,
		.containers = &container,
		.n_containers = 1,
		.exit = {.gang = pod.gang ? GANG_KUEUE : GANG_NONE,
			 .gang_name = pod.gang ? str_from(pod.gang) : STR_NONE},
	};

	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
}

static void begin(struct scene *s, const char *pod, size_t most)
{
	scene_ask(s, pod, most);
	scene_search(s);
}

static bool plan(struct scene *s, const char *pod, size_t most)
{
	begin(s, pod, most);
	return scene_finish(s);
}

static void what_is_found_is_told_with_its_cost(void **state)
{
	struct scene *s = *state;

	add_node(s, "n", 4, NODE_READY);
	add_pod(s, (struct pod){"train", "old", 2, "n", 7200, NULL});
	add_pod(s, (struct pod){"train", "new", 2, "n", 3600, NULL});
	add_pod(s, (struct pod){"chat", "c", 1, NULL, 0, NULL});
	assert_true(plan(s, "c", 16));
	assert_int_equal(s->found.n_victims, 1);
	assert_int_equal(s->found.victims[0], scene_pod(s, "train", "new"));
	assert_int_equal(s->found.cost.lost, 7200);
	assert_int_equal(s->found.cost.owned, 160 * GIB);
	assert_true(s->found.exact);
	assert_string_equal(s->said,
			    "it fits on n with 1 of the 2 pods there gone, 2 of which may go, and "
			    "with any of them kept it does not; that costs 7200 GPU-seconds since "
			    "their last checkpoint and 160 GiB that is not borrowed; 2 pods on 1 "
			    "node were looked at");
}

/* Of all that were looked at most cannot have helped: they are not what it went by. */
static void pods_of_other_nodes_are_counted_apart(void **state)
{
	struct scene *s = *state;

	add_node(s, "n", 4, NODE_READY);
	add_node(s, "m", 4, NODE_READY);
	add_pod(s, (struct pod){"train", "old", 2, "n", 7200, NULL});
	add_pod(s, (struct pod){"train", "new", 1, "n", 3600, NULL});
	add_pod(s, (struct pod){"train", "young", 1, "n", 10, NULL});
	for (unsigned int i = 0; i < 4; i++) {
		static const char *const names[] = {"a", "b", "c", "d"};

		add_pod(s, (struct pod){"train", names[i], 1, "m", 90000, NULL});
	}
	add_pod(s, (struct pod){"chat", "c", 1, NULL, 0, NULL});
	assert_true(plan(s, "c", 16));
	assert_non_null(strstr(s->said, "on n with 1 of the 3 pods there gone, 2 of which may go, "
					"and with any of them kept"));
	assert_non_null(strstr(s->said, "; 7 pods on 2 nodes were looked at"));
}

static void where_none_is_eligible_the_reasons_are_told(void **state)
{
	struct scene *s = *state;

	add_node(s, "n", 4, NODE_READY);
	add_pod(s, (struct pod){"train", "a", 1, "n", 10, NULL});
	add_pod(s, (struct pod){"train", "b", 1, "n", 10, NULL});
	add_pod(s, (struct pod){"chat", "d", 1, "n", 1000, NULL});
	add_pod(s, (struct pod){"alone", "e", 1, "n", 1000, NULL});
	add_pod(s, (struct pod){"chat", "c", 1, NULL, 0, NULL});
	assert_false(plan(s, "c", 16));
	assert_string_equal(s->said, "0 of 4 candidates eligible: 1: its namespace belongs to no "
				     "tenant; 1: its tier is not lower; 2: it has not run for its "
				     "minimum time");
	assert_int_equal(plan_counts(s->plan).exempt[PLAN_YOUNG], 2);
}

static void the_quota_is_told_where_it_is_in_the_way(void **state)
{
	struct scene *s = *state;

	add_tenant(s, "chat", TIER_INFERENCE, 1);
	add_node(s, "n", 4, NODE_READY);
	add_pod(s, (struct pod){"train", "a", 4, "n", 1000, NULL});
	add_pod(s, (struct pod){"chat", "c", 2, NULL, 0, NULL});
	assert_false(plan(s, "c", 16));
	assert_non_null(strstr(s->said,
			       "on 1 of 1 nodes the quota of its own tenant is in the way, "
			       "which nobody's going changes: "));
	assert_non_null(strstr(s->said, "chat"));
}

static void nobody_goes_where_it_fits_as_it_is(void **state)
{
	struct scene *s = *state;

	add_node(s, "n", 4, NODE_READY);
	add_node(s, "m", 4, NODE_READY);
	add_pod(s, (struct pod){"train", "a", 4, "n", 1000, NULL});
	add_pod(s, (struct pod){"chat", "c", 4, NULL, 0, NULL});
	assert_false(plan(s, "c", 16));
	assert_string_equal(s->said, "it fits on m with nobody gone");
}

static void no_more_go_than_may(void **state)
{
	struct scene *s = *state;

	add_node(s, "n", 2, NODE_READY);
	add_pod(s, (struct pod){"train", "a", 1, "n", 1000, NULL});
	add_pod(s, (struct pod){"train", "b", 1, "n", 1000, NULL});
	add_pod(s, (struct pod){"chat", "c", 2, NULL, 0, NULL});
	assert_false(plan(s, "c", 0));
	assert_false(plan(s, "c", 1));
	assert_true(plan(s, "c", 2));
}

static void a_node_that_is_not_ready_is_none(void **state)
{
	struct scene *s = *state;

	add_node(s, "n", 2, NODE_NOT_READY);
	add_pod(s, (struct pod){"train", "a", 2, "n", 1000, NULL});
	add_pod(s, (struct pod){"chat", "c", 2, NULL, 0, NULL});
	assert_false(plan(s, "c", 16));
	assert_string_equal(s->said,
			    "0 of 0 candidates eligible; no node that is ready has as much "
			    "as it asks for");
}

static void a_gang_goes_whole_wherever_it_runs(void **state)
{
	struct scene *s = *state;

	add_node(s, "n", 2, NODE_READY);
	add_node(s, "m", 2, NODE_READY);
	add_pod(s, (struct pod){"train", "g1", 2, "n", 100, "g"});
	add_pod(s, (struct pod){"train", "g2", 1, "m", 100, "g"});
	add_pod(s, (struct pod){"train", "x", 1, "m", 100000, NULL});
	add_pod(s, (struct pod){"chat", "c", 1, NULL, 0, NULL});
	assert_true(plan(s, "c", 16));
	assert_int_equal(s->found.n_victims, 2);
	assert_int_equal(s->found.cost.lost, 300);
	assert_non_null(
		strstr(s->said, " may go, and 1 of the same gangs elsewhere, and with any"));
	assert_true(plan(s, "c", 1)); /* the gang is too large then */
	assert_int_equal(s->found.victims[0], scene_pod(s, "train", "x"));
	assert_int_equal(plan_counts(s->plan).exempt[PLAN_GANG_TOO_LARGE], 2);
}

static void one_member_that_may_not_go_spares_its_gang(void **state)
{
	struct scene *s = *state;

	add_node(s, "n", 2, NODE_READY);
	add_node(s, "m", 1, NODE_READY);
	add_pod(s, (struct pod){"train", "g1", 2, "n", 100, "g"});
	add_pod(s, (struct pod){"train", "g2", 1, "m", 100, "g"});
	add_pod(s, (struct pod){"chat", "c", 1, NULL, 0, NULL});
	cluster_note_eviction(s->cluster, &(struct eviction){
						  .namespace = STR("train"),
						  .name = STR("g2"),
						  .uid = STR("g2"),
						  .outcome = EVICTION_BUDGET,
						  .now_us = NOW,
					  });
	assert_false(plan(s, "c", 16));
	assert_int_equal(plan_counts(s->plan).exempt[PLAN_GANG], 1);
	assert_int_equal(plan_counts(s->plan).exempt[PLAN_REFUSED], 1);
}

static void many_groups_are_answered_by_a_minimal_set(void **state)
{
	struct scene *s = *state;
	char names[40][16];

	add_node(s, "n", 40, NODE_READY);
	for (int i = 0; i < 40; i++) {
		snprintf(names[i], sizeof(names[i]), "p%d", i);
		if (i % 2 == 0)
			add_pod(s, (struct pod){"train", names[i], 1, "n", 100 + i, NULL});
	}
	add_pod(s, (struct pod){"train", "big", 20, "n", 5000, NULL});
	add_pod(s, (struct pod){"chat", "c", 4, NULL, 0, NULL});
	assert_true(plan(s, "c", 16));
	assert_int_equal(s->found.n_victims, 4);
	assert_int_equal(s->found.cost.lost, 100 + 102 + 104 + 106);
	assert_false(s->found.exact);
	assert_non_null(strstr(s->said, "there may be a cheaper way"));
	assert_true(plan(s, "c", 3)); /* four are more than may go */
	assert_int_equal(s->found.n_victims, 1);
}

static void room_that_is_held_for_another_is_none(void **state)
{
	struct scene *s = *state;

	add_node(s, "n", 2, NODE_READY);
	add_pod(s, (struct pod){"train", "a", 1, "n", 1000, NULL});
	add_pod(s, (struct pod){"chat", "first", 1, NULL, 0, NULL});
	add_pod(s, (struct pod){"chat", "c", 1, NULL, 0, NULL});
	assert_true(
		cluster_reserve(s->cluster, &(struct cluster_hold){
						    .id = STR("r"),
						    .tenant = STR("chat"),
						    .node = cluster_node_find(s->cluster, STR("n")),
						    .tier = TIER_INFERENCE,
						    .namespace = STR("chat"),
						    .name = STR("first"),
						    .uid = STR("first"),
						    .until_us = 2 * NOW,
						    .pod = scene_pod(s, "chat", "first"),
					    }));
	assert_true(plan(s, "c", 16));
	assert_int_equal(s->found.n_victims, 1);
	assert_false(plan(s, "first", 16)); /* for it there is room */
}

static void what_changed_since_it_was_found_ends_it(void **state)
{
	struct scene *s = *state;

	add_node(s, "n", 2, NODE_READY);
	add_pod(s, (struct pod){"train", "a", 1, "n", 1000, NULL});
	add_pod(s, (struct pod){"train", "b", 1, "n", 1000, NULL});
	add_pod(s, (struct pod){"chat", "c", 1, NULL, 0, NULL});
	begin(s, "c", 16);
	add_pod(s, (struct pod){"train", "unrelated", 1, NULL, 0, NULL});
	team_refresh(s->cluster);
	assert_true(scene_finish(s));
	begin(s, "c", 16);
	cluster_delete(s->cluster, CLUSTER_PODS, STR("train"), STR("b")); /* so there is room */
	team_refresh(s->cluster);
	assert_false(scene_finish(s));
	add_pod(s, (struct pod){"train", "b", 1, "n", 1000, NULL});
	begin(s, "c", 16);
	add_pod(s, (struct pod){"chat", "c", 1, "m", 0, NULL});
	assert_false(scene_finish(s));
	begin(s, "c", 16);
	assert_false(scene_finish(s)); /* it needs nothing more */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, scene_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_found_is_told_with_its_cost),
		TEST(pods_of_other_nodes_are_counted_apart),
		TEST(where_none_is_eligible_the_reasons_are_told),
		TEST(the_quota_is_told_where_it_is_in_the_way),
		TEST(nobody_goes_where_it_fits_as_it_is),
		TEST(no_more_go_than_may),
		TEST(a_node_that_is_not_ready_is_none),
		TEST(a_gang_goes_whole_wherever_it_runs),
		TEST(one_member_that_may_not_go_spares_its_gang),
		TEST(many_groups_are_answered_by_a_minimal_set),
		TEST(room_that_is_held_for_another_is_none),
		TEST(what_changed_since_it_was_found_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
