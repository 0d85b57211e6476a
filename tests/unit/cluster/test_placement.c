/* SPDX-License-Identifier: Apache-2.0 */
/* Rooms, assumptions and layouts while what they are of comes, goes and changes its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "cluster/placing/assume.h"
#include "cluster/placing/placement.h"
#include "lib/layouts.h"
#include "pod_world.h"

#define UNTIL (1000 * USEC_PER_SEC)
#define NODES 1000

static const struct device_offer eight = {
	.resource = {"nvidia.com/gpu", 14},
	.product = {"H100", 4},
	.unit_memory = 80 * GIB,
	.count = 8,
	.allocatable = 8,
};

static void tell_node(struct cluster *c, const char *name, const struct layout *layout)
{
	struct node_facts facts = {.name = str_from(name),
				   .uid = str_from(name),
				   .ready = NODE_READY,
				   .offers = &eight,
				   .n_offers = 1,
				   .layout = layout,
				   .layout_state = layout ? LAYOUT_IS_KNOWN : LAYOUT_IS_ABSENT};

	apply_node(c, facts);
}

/* "p" of namespace "a", with one card. */
static void tell_pod(struct cluster *c, const char *uid, const char *node)
{
	struct pod_facts facts = pod_facts();

	facts.uid = str_from(uid);
	facts.node = node ? str_from(node) : STR_NONE;
	facts.phase = node ? POD_RUNNING : POD_PENDING;
	apply_pod(c, facts);
}

static uint32_t the_pod(const struct cluster *c, const char *uid)
{
	return cluster_pod_find(c, STR("a"), STR("p"), str_from(uid));
}

static uint32_t the_node(const struct cluster *c, const char *name)
{
	return cluster_node_find(c, str_from(name));
}

static int64_t free_on(const struct cluster *c, const char *node)
{
	struct cluster_ask ask;
	struct cluster_units units[LIMIT_RESOURCES_PER_POD];
	struct pod_facts stranger = pod_facts();

	stranger.namespace = STR("elsewhere");
	cluster_ask_of(c, &stranger, &ask);
	assert_int_equal(ask.n, 1);
	cluster_units_on(c, &ask, the_node(c, node), units);
	return units[0].free;
}

/* A pod that waits is assumed to be on "n" with its first card. */
static void assume(struct cluster *c, const struct machine *machine)
{
	tell_node(c, "n", &machine->layout);
	tell_pod(c, "u", NULL);
	cluster_assume(c, the_pod(c, "u"), the_node(c, "n"), 1, UNTIL);
	assert_int_equal(cluster_assumptions(c), 1);
	assert_int_equal(free_on(c, "n"), 7);
	assert_int_equal(cluster_room(c, the_node(c, "n")).assumed, 1);
}

static struct machine machine;

static int setup(void **state)
{
	machine_dgx_h100(&machine);
	return cluster_setup(state);
}

static int teardown(void **state)
{
	uint32_t cursor = 0;
	struct recount total = {0};

	assert_true(cluster_recount(*state, &cursor, UINT32_MAX, &total));
	assert_int_equal(total.differing, 0);
	return cluster_teardown(state);
}

/* --- assumptions */

static void a_node_comes_back_with_what_was_assumed_there(void **state)
{
	struct cluster *c = *state;
	int64_t next_us;

	assume(c, &machine);
	cluster_delete(c, CLUSTER_NODES, STR_NONE, STR("n"));
	assert_false(cluster_node_exists(c, the_node(c, "n")));
	assert_null(cluster_room(c, the_node(c, "n")).topo);
	tell_node(c, "n", &machine.layout);
	assert_int_equal(free_on(c, "n"), 7);
	assert_int_equal(cluster_room(c, the_node(c, "n")).assumed, 1);
	cluster_expire_assumptions(c, UNTIL, &next_us);
	assert_int_equal(free_on(c, "n"), 8);
}

static void a_pod_is_assumed_again_on_a_node_that_is_gone(void **state)
{
	struct cluster *c = *state;

	assume(c, &machine);
	cluster_delete(c, CLUSTER_NODES, STR_NONE, STR("n"));
	cluster_assume(c, the_pod(c, "u"), the_node(c, "n"), 2, UNTIL + 1);
	assert_int_equal(cluster_pod_node(c, the_pod(c, "u")), the_node(c, "n"));
	cluster_unassume(c, the_pod(c, "u"));
	assert_int_equal(cluster_pod_node(c, the_pod(c, "u")), TABLE_NONE);
	assert_int_equal(cluster_assumptions(c), 0);
}

static void a_pod_moves_from_one_assumed_node_to_another(void **state)
{
	struct cluster *c = *state;

	assume(c, &machine);
	tell_node(c, "m", &machine.layout);
	cluster_assume(c, the_pod(c, "u"), the_node(c, "m"), 4, UNTIL);
	assert_int_equal(cluster_assumptions(c), 1);
	assert_int_equal(free_on(c, "n"), 8);
	assert_int_equal(cluster_room(c, the_node(c, "n")).assumed, 0);
	assert_int_equal(free_on(c, "m"), 7);
	assert_int_equal(cluster_room(c, the_node(c, "m")).assumed, 4);
}

static void a_deleted_pod_leaves_no_assumption(void **state)
{
	struct cluster *c = *state;

	assume(c, &machine);
	cluster_delete(c, CLUSTER_PODS, STR("a"), STR("p"));
	assert_int_equal(cluster_assumptions(c), 0);
	assert_int_equal(free_on(c, "n"), 8);
	assert_int_equal(cluster_room(c, the_node(c, "n")).assumed, 0);
}

static void a_pod_of_another_uid_is_another_pod(void **state)
{
	struct cluster *c = *state;

	assume(c, &machine);
	tell_pod(c, "v", NULL);
	assert_int_equal(the_pod(c, "u"), TABLE_NONE);
	assert_int_equal(cluster_pod_node(c, the_pod(c, "v")), TABLE_NONE);
	assert_int_equal(cluster_assumptions(c), 0);
	assert_int_equal(free_on(c, "n"), 8);
}

static void a_finished_or_bound_pod_is_not_assumed(void **state)
{
	struct cluster *c = *state;
	struct pod_facts facts = pod_facts();

	tell_node(c, "n", &machine.layout);
	tell_node(c, "m", &machine.layout);
	tell_pod(c, "u", "n");
	cluster_assume(c, the_pod(c, "u"), the_node(c, "m"), 1, UNTIL);
	assert_int_equal(cluster_pod_node(c, the_pod(c, "u")), the_node(c, "n"));
	facts.uid = STR("v");
	facts.node = STR_NONE;
	facts.phase = POD_FAILED;
	apply_pod(c, facts);
	cluster_assume(c, the_pod(c, "v"), the_node(c, "m"), 1, UNTIL);
	assert_int_equal(cluster_assumptions(c), 0);
	assert_int_equal(free_on(c, "m"), 8);
}

static void a_new_list_keeps_assumptions_of_pods_that_are_in_it(void **state)
{
	struct cluster *c = *state;

	assume(c, &machine);
	cluster_begin_replace(c, CLUSTER_PODS);
	tell_pod(c, "u", NULL);
	cluster_end_replace(c, CLUSTER_PODS);
	assert_int_equal(cluster_assumptions(c), 1);
	assert_int_equal(free_on(c, "n"), 7);
	cluster_begin_replace(c, CLUSTER_PODS);
	cluster_end_replace(c, CLUSTER_PODS);
	assert_int_equal(cluster_assumptions(c), 0);
	assert_int_equal(free_on(c, "n"), 8);
}

static void what_a_pod_holds_itself_is_free_for_it(void **state)
{
	struct cluster *c = *state;
	struct cluster_units units[LIMIT_RESOURCES_PER_POD];
	struct cluster_ask ask;

	assume(c, &machine);
	cluster_ask_of_pod(c, the_pod(c, "u"), &ask);
	cluster_units_on(c, &ask, the_node(c, "n"), units);
	assert_int_equal(units[0].free, 8);
}

/* --- rooms */

static void tell_held(struct cluster *c, bool terminating)
{
	struct pod_facts facts = pod_facts();
	const struct str ids[] = {machine.gpus[2].uuid, machine.gpus[5].uuid, STR("GPU-unknown")};

	facts.uid = STR("u");
	facts.terminating = terminating;
	facts.deletion_us = terminating ? USEC_PER_SEC : 0;
	facts.device_ids = ids;
	facts.n_device_ids = ARRAY_SIZE(ids);
	apply_pod(c, facts);
}

static void cards_that_kubelet_gave_are_seen(void **state)
{
	struct cluster *c = *state;

	assume(c, &machine);
	tell_held(c, false);
	assert_int_equal(cluster_room(c, the_node(c, "n")).seen, 0x24);
	assert_int_equal(cluster_room(c, the_node(c, "n")).assumed, 0);
	/* on its way out: they may be anybody's before the watch shows it gone */
	tell_held(c, true);
	assert_int_equal(cluster_room(c, the_node(c, "n")).seen, 0);
	assert_int_equal(cluster_room(c, the_node(c, "n")).assumed, 0x25);
	assert_int_equal(free_on(c, "n"), 7);
}

static struct cluster_room room_with(struct cluster *c, const struct str *ids, size_t n,
				     uint32_t cpus, bool devices_have_cpus)
{
	struct pod_facts facts = pod_facts();

	facts.device_ids = ids;
	facts.n_device_ids = n;
	facts.alignment.guaranteed = facts.alignment.cpus_together = true;
	facts.alignment.whole_cpus = devices_have_cpus;
	facts.alignment.cpus = cpus;
	apply_pod(c, facts);
	return cluster_room(c, the_node(c, "n"));
}

static void cpus_are_where_all_cards_of_a_pod_are(void **state)
{
	struct cluster *c = *state;
	const struct str together[] = {machine.gpus[5].uuid, machine.gpus[7].uuid};
	const struct str apart[] = {machine.gpus[2].uuid, machine.gpus[5].uuid};
	struct cluster_room room;

	tell_node(c, "n", &machine.layout);
	room = room_with(c, together, ARRAY_SIZE(together), 12, true);
	assert_int_equal(room.pinned[1], 12);
	assert_int_equal(room.pinned_somewhere, 0);
	room = room_with(c, together, ARRAY_SIZE(together), 14, true); /* resized, no more */
	assert_int_equal(room.pinned[1], 14);
	room = room_with(c, apart, ARRAY_SIZE(apart), 14, true);
	assert_int_equal(room.pinned[0] + room.pinned[1], 0);
	assert_int_equal(room.pinned_somewhere, 14);
	/* the CPUs are another container's, which is aligned with no card */
	room = room_with(c, together, ARRAY_SIZE(together), 14, false);
	assert_int_equal(room.pinned[0] + room.pinned[1], 0);
	assert_int_equal(room.pinned_somewhere, 14);
}

/* The quota lets go of a pod on a dead node; its devices are not free for that. */
static void a_released_pod_holds_its_devices(void **state)
{
	struct cluster *c = *state;
	struct quota_facts quota = {.namespace = STR("a"),
				    .name = STR("q"),
				    .uid = STR("q"),
				    .spec = {.gpu_memory = 320 * GIB,
					     .gpus = AMOUNT_NONE,
					     .pod_gpu_memory = AMOUNT_NONE,
					     .pod_gpus = AMOUNT_NONE,
					     .release_terminal = true}};
	struct node_facts facts = {.name = STR("n"),
				   .uid = STR("n"),
				   .ready = NODE_NOT_READY,
				   .offers = &eight,
				   .n_offers = 1,
				   .layout = &machine.layout,
				   .layout_state = LAYOUT_IS_KNOWN};
	int64_t next_us;

	apply_node(c, facts);
	assert_int_equal(cluster_apply_quota(c, &quota, NULL), 0);
	tell_held(c, true);
	cluster_release(c, cluster_namespace_find(c, STR("a")), 100 * USEC_PER_SEC, &next_us);
	assert_int_equal(view_of(c, "a").released, 80 * GIB);
	assert_int_equal(free_on(c, "n"), 7);
}

static void a_claim_of_an_extended_resource_stays_charged_once(void **state)
{
	struct cluster *c = *state;
	struct pod_facts facts = pod_facts();

	tell_node(c, "n", &machine.layout);
	facts.uid = STR("u");
	facts.node = STR_NONE;
	facts.extended_claim = STR("made-by-scheduler");
	apply_pod(c, facts);
	cluster_assume(c, the_pod(c, "u"), the_node(c, "n"), 1, UNTIL);
	assert_int_equal(view_of(c, "a").live, 80 * GIB);
	cluster_unassume(c, the_pod(c, "u"));
	assert_int_equal(view_of(c, "a").live, 0);
	assert_int_equal(view_of(c, "a").used, 80 * GIB);
}

/* --- layouts */

static const char *numbered(int number)
{
	static char name[16];

	snprintf(name, sizeof(name), "n-%d", number);
	return name;
}

/* All alike but for who their cards are. */
static void tell_many(struct cluster *c)
{
	char uuids[8][48];

	for (int i = 0; i < NODES; i++) {
		for (size_t card = 0; card < 8; card++) {
			snprintf(uuids[card], sizeof(uuids[card]), "GPU-%d-%zu", i, card);
			machine.gpus[card].uuid = str_from(uuids[card]);
		}
		tell_node(c, numbered(i), &machine.layout);
	}
}

static void nodes_of_one_shape_share_a_layout(void **state)
{
	struct cluster *c = *state;
	struct cluster_layouts layouts;
	struct cluster_stats before, after;
	uint64_t number;

	tell_many(c);
	cluster_layouts(c, &layouts);
	assert_int_equal(layouts.distinct, 1);
	assert_int_equal(layouts.nodes[LAYOUT_IS_KNOWN], NODES);
	number = cluster_room(c, the_node(c, "n-0")).layout;
	assert_ptr_equal(cluster_room(c, the_node(c, "n-0")).topo,
			 cluster_room(c, the_node(c, "n-999")).topo);
	cluster_stats(c, &before);
	for (int i = 0; i < NODES; i++)
		cluster_delete(c, CLUSTER_NODES, STR_NONE, str_from(numbered(i)));
	cluster_layouts(c, &layouts);
	assert_int_equal(layouts.distinct, 0);
	tell_many(c);
	cluster_stats(c, &after);
	assert_int_equal(after.bytes[CLUSTER_NODES], before.bytes[CLUSTER_NODES]);
	assert_int_equal(after.shared_bytes, before.shared_bytes);
	assert_true(cluster_room(c, the_node(c, "n-0")).layout > number);
}

static void what_decisions_read_makes_another_shape(void **state)
{
	struct cluster *c = *state;
	struct cluster_layouts layouts;

	tell_node(c, "n", &machine.layout);
	machine.layout.generation++;
	machine.gpus[3].pci = STR("0000:ff:00.0");
	tell_node(c, "m", &machine.layout);
	cluster_layouts(c, &layouts);
	assert_int_equal(layouts.distinct, 1);
	machine.layout.kubelet.policy = LAYOUT_POLICY_SINGLE_NUMA;
	tell_node(c, "m", &machine.layout);
	cluster_layouts(c, &layouts);
	assert_int_equal(layouts.distinct, 2);
	machine.gpus[3].health = LAYOUT_HEALTH_FAILED;
	tell_node(c, "n", &machine.layout);
	tell_node(c, "m", &machine.layout);
	cluster_layouts(c, &layouts);
	assert_int_equal(layouts.distinct, 1);
	assert_false(cluster_room(c, the_node(c, "n")).topo->usable & 8);
}

static void cards_that_were_chosen_of_others_are_forgotten(void **state)
{
	struct cluster *c = *state;

	assume(c, &machine);
	machine.gpus[0].uuid = STR("GPU-new");
	tell_node(c, "n", &machine.layout);
	assert_int_equal(cluster_room(c, the_node(c, "n")).assumed, 0);
	assert_int_equal(free_on(c, "n"), 7);
}

/* --- what is looked at together */

struct containers {
	const char *name;
	struct {
		enum container_kind kind;
		int64_t gpus, parts;
	} containers[3];
	size_t n;
	uint32_t most; /* of as many as the pod has cards */
};

static void how_many_devices_are_looked_at_together(void **state)
{
	static const struct containers cases[] = {
		{"one container", {{CONTAINER_NORMAL, 4, 0}}, 1, 4},
		{"one beside others", {{CONTAINER_INIT, 0, 0}, {CONTAINER_NORMAL, 4, 0}}, 2, 4},
		{"two halves", {{CONTAINER_NORMAL, 2, 0}, {CONTAINER_NORMAL, 2, 0}}, 2, 2},
		{"parts do not stand for cards",
		 {{CONTAINER_NORMAL, 2, 2}, {CONTAINER_NORMAL, 2, 0}},
		 2,
		 2},
		{"parts elsewhere", {{CONTAINER_NORMAL, 4, 0}, {CONTAINER_NORMAL, 0, 1}}, 2, 4},
		{"an init container with all",
		 {{CONTAINER_INIT, 4, 0}, {CONTAINER_NORMAL, 2, 0}, {CONTAINER_NORMAL, 2, 0}},
		 3,
		 4},
		{"an init container with less",
		 {{CONTAINER_INIT, 2, 0}, {CONTAINER_NORMAL, 4, 0}},
		 2,
		 0},
		{"a sidecar", {{CONTAINER_SIDECAR, 1, 0}, {CONTAINER_NORMAL, 3, 0}}, 2, 3},
	};

	tell_node(*state, "n", &machine.layout);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct device_ask asks[3][2];
		struct container_facts containers[3];
		struct pod_facts facts = pod_facts();
		struct cluster_ask ask;

		for (size_t k = 0; k < cases[i].n; k++) {
			size_t n = 0;

			if (cases[i].containers[k].gpus > 0)
				asks[k][n++] = device_ask_units(STR("nvidia.com/gpu"),
								cases[i].containers[k].gpus);
			if (cases[i].containers[k].parts > 0)
				asks[k][n++] = device_ask_units(STR("nvidia.com/mig-1g.10gb"),
								cases[i].containers[k].parts);
			containers[k] =
				(struct container_facts){cases[i].containers[k].kind, asks[k], n};
		}
		facts.containers = containers;
		facts.n_containers = cases[i].n;
		cluster_ask_of(*state, &facts, &ask);
		if (MIN(ask.most, 4) != cases[i].most)
			fail_msg("%s: %u", cases[i].name, ask.most);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_node_comes_back_with_what_was_assumed_there),
		TEST(a_pod_is_assumed_again_on_a_node_that_is_gone),
		TEST(a_pod_moves_from_one_assumed_node_to_another),
		TEST(a_deleted_pod_leaves_no_assumption),
		TEST(a_pod_of_another_uid_is_another_pod),
		TEST(a_finished_or_bound_pod_is_not_assumed),
		TEST(a_new_list_keeps_assumptions_of_pods_that_are_in_it),
		TEST(what_a_pod_holds_itself_is_free_for_it),
		TEST(cards_that_kubelet_gave_are_seen),
		TEST(cpus_are_where_all_cards_of_a_pod_are),
		TEST(a_released_pod_holds_its_devices),
		TEST(a_claim_of_an_extended_resource_stays_charged_once),
		TEST(nodes_of_one_shape_share_a_layout),
		TEST(what_decisions_read_makes_another_shape),
		TEST(cards_that_were_chosen_of_others_are_forgotten),
		TEST(how_many_devices_are_looked_at_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
