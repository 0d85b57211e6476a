/* SPDX-License-Identifier: Apache-2.0 */
/* What agents tell of pods: whose cards and CPUs are whose, and for how long that counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/macros.h"
#include "base/mem.h"
#include "cluster/looks.h"
#include "cluster/nodes/agents.h"
#include "cluster/nodes/gpunodes.h"
#include "cluster/placing/placement.h"
#include "cluster/read.h"
#include "lib/layouts.h"
#include "pod_world.h"

#define SECOND USEC_PER_SEC

struct world {
	struct cluster *c;
	struct machine machine;
	uint64_t version;
	int64_t now_us;
};

static int setup(void **state)
{
	struct world *w = mem_alloc(sizeof(*w));
	const struct hash_key key = {1, 2};

	w->c = cluster_new(&key);
	machine_dgx_h100(&w->machine);
	w->now_us = 1000 * SECOND;
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	cluster_free(w->c);
	mem_free(w);
	return 0;
}

/* --- what happens */

static void node(struct world *w)
{
	struct node_facts facts = node_facts();

	facts.resource_version = ++w->version;
	facts.layout = &w->machine.layout;
	facts.layout_state = LAYOUT_IS_KNOWN;
	apply_node(w->c, facts);
}

static void lease(struct world *w, const char *holder)
{
	const struct agent_facts facts = {
		.name = STR("gpuqos-agent-n"),
		.holder = str_from(holder),
		.resource_version = ++w->version,
		.renew_us = w->now_us,
		.duration_us = 40 * SECOND,
	};

	assert_int_equal(cluster_apply_agent(w->c, &facts, w->now_us, NULL), 0);
}

/* "p" of namespace "a", with a Guaranteed whole CPU; its status tells of card 0. */
static void pod(struct world *w, const char *uid)
{
	struct pod_facts facts = pod_facts();

	facts.uid = str_from(uid);
	facts.resource_version = ++w->version;
	facts.device_ids = &w->machine.gpus[0].uuid;
	facts.n_device_ids = 1;
	facts.alignment = (struct pod_alignment){
		.guaranteed = true, .whole_cpus = true, .cpus = 2, .cpus_together = true};
	apply_pod(w->c, facts);
}

static void tell(struct world *w, const struct gpu_node_facts *told)
{
	struct gpu_node_facts facts = *told;

	facts.name = STR("n");
	facts.resource_version = ++w->version;
	assert_int_equal(cluster_apply_gpu_node(w->c, &facts, w->now_us, NULL), 0);
}

/* The agent says that "p" has cards 4 and 5 with CPUs 2 to 5; CPUs 8 and 9 are somebody's. */
static void observe(struct world *w)
{
	const struct str cards[] = {w->machine.gpus[4].pci, w->machine.gpus[5].pci};
	static const struct cpu_range own[] = {{2, 5}}, all[] = {{2, 5}, {8, 9}};
	const struct gpu_node_pod pods[] = {{.namespace = STR("a"),
					     .name = STR("p"),
					     .cards = cards,
					     .n_cards = 2,
					     .cpus = own,
					     .n_cpus = 1}};

	tell(w, &(struct gpu_node_facts){
			.pods = pods, .n_pods = 1, .cpus = all, .n_cpus = ARRAY_SIZE(all)});
}

/* --- what is known then */

static uint32_t the_pod(const struct world *w, const char *uid)
{
	return cluster_pod_find(w->c, STR("a"), STR("p"), str_from(uid));
}

static struct cluster_room room(const struct world *w)
{
	return cluster_room(w->c, cluster_node_find(w->c, STR("n")));
}

static void assert_observed(const struct world *w)
{
	struct cluster_room r = room(w);

	assert_int_equal(r.seen, 0x30);
	assert_int_equal(r.pinned[0], 4);
	assert_int_equal(r.pinned[1], 2);
	assert_int_equal(r.pinned_somewhere, 0);
}

static void assert_by_status(const struct world *w)
{
	struct cluster_room r = room(w);

	assert_int_equal(r.seen, 1);
	assert_int_equal(r.pinned[0], 2);
	assert_int_equal(r.pinned[1] + r.pinned_somewhere, 0);
}

static void in_whichever_order_it_comes(void **state)
{
	static void (*const steps[])(struct world *) = {node, observe};
	struct world *w = *state;

	for (int order = 0; order < 6; order++) {
		teardown(state);
		setup(state);
		w = *state;
		if (order % 3 == 0)
			pod(w, "u");
		steps[order / 3](w);
		if (order % 3 == 1)
			pod(w, "u");
		lease(w, "n");
		steps[1 - order / 3](w);
		if (order % 3 == 2)
			pod(w, "u");
		assert_observed(w);
	}
}

static void it_counts_while_its_agent_lives(void **state)
{
	struct world *w = *state;
	int64_t next_us;

	node(w);
	pod(w, "u");
	observe(w);
	assert_by_status(w);
	lease(w, "n");
	assert_observed(w);
	w->now_us += 41 * SECOND;
	cluster_expire_agents(w->c, w->now_us, &next_us);
	assert_by_status(w);
	lease(w, "n");
	assert_observed(w);
}

static void it_goes(void **state)
{
	struct world *w = *state;

	node(w);
	pod(w, "u");
	lease(w, "n");
	observe(w);
	cluster_delete(w->c, CLUSTER_GPU_NODES, STR_NONE, STR("n"));
	assert_by_status(w);
	observe(w);
	cluster_begin_replace(w->c, CLUSTER_GPU_NODES);
	cluster_end_replace(w->c, CLUSTER_GPU_NODES);
	assert_by_status(w);
}

static void a_node_comes_back_to_it(void **state)
{
	struct world *w = *state;

	node(w);
	lease(w, "n");
	observe(w);
	cluster_delete(w->c, CLUSTER_NODES, STR_NONE, STR("n"));
	node(w);
	pod(w, "u");
	assert_observed(w);
}

static void cpus_of_pods_without_gpus_count_alone(void **state)
{
	static const struct cpu_range all[] = {{0, 2}, {7, 8}, {100, 101}};
	struct world *w = *state;
	struct cluster_room r;

	node(w);
	lease(w, "n");
	tell(w, &(struct gpu_node_facts){.cpus = all, .n_cpus = ARRAY_SIZE(all)});
	r = room(w);
	assert_int_equal(r.pinned[0], 4);
	assert_int_equal(r.pinned[1], 1);
	assert_int_equal(r.pinned_somewhere, 2); /* of no NUMA node that is published */
	pod(w, "u");
	assert_int_equal(room(w).pinned[0], 6);
}

static void what_is_older_is_passed_over(void **state)
{
	struct world *w = *state;
	struct gpu_node_facts old = {.name = STR("n"), .resource_version = 1};

	node(w);
	pod(w, "u");
	lease(w, "n");
	observe(w);
	assert_int_equal(cluster_apply_gpu_node(w->c, &old, w->now_us, NULL), 0);
	assert_observed(w);
}

static void a_card_that_nobody_lists_is_another_device(void **state)
{
	static const struct str cards[] = {{"0000:ff:00.0", 12}};
	struct world *w = *state;
	const struct gpu_node_pod pods[] = {{.namespace = STR("a"),
					     .name = STR("p"),
					     .cards = cards,
					     .n_cards = 1,
					     .others = 2}};
	const struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), 1);
	const struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = pod_facts();
	struct cluster_held held;

	facts.alignment = (struct pod_alignment){.wished = true, .policy = TOPOLOGY_REQUIRED};
	facts.containers = &container;
	node(w);
	apply_pod(w->c, facts);
	lease(w, "n");
	tell(w, &(struct gpu_node_facts){.pods = pods, .n_pods = 1});
	held = cluster_held(w->c, the_pod(w, POD_UID));
	assert_int_equal(held.cards, 0);
	assert_int_equal(held.others, 3);
}

/* --- what is measured */

static void what_a_pod_makes_of_its_cards_is_added_up(void **state)
{
	struct world *w = *state;
	const struct gpu_node_use uses[] = {
		{w->machine.gpus[5].pci, STR(POD_UID), GIB, 7, 30, true, false},
		{w->machine.gpus[4].pci, STR("other"), GIB, 5, 90, false, true},
		{w->machine.gpus[4].pci, STR_NONE, GIB, 5, 90, false, true},
		{w->machine.gpus[4].pci, STR(POD_UID), 2 * GIB, 9, 80, false, true},
	};
	struct gpu_node_facts facts = {.uses = uses, .n_uses = ARRAY_SIZE(uses)};
	struct cluster_usage usage;

	node(w);
	pod(w, POD_UID);
	lease(w, "n");
	usage = cluster_pod_usage(w->c, the_pod(w, POD_UID));
	assert_int_equal(usage.cards, 0);
	assert_int_equal(usage.memory, AMOUNT_UNKNOWN);
	assert_int_equal(usage.pcie, AMOUNT_UNKNOWN);
	assert_int_equal(usage.sm_percent, -1);
	tell(w, &facts);
	usage = cluster_pod_usage(w->c, the_pod(w, POD_UID));
	assert_int_equal(usage.cards, 2);
	assert_int_equal(usage.memory, 3 * GIB);
	assert_int_equal(usage.pcie, 16);
	assert_int_equal(usage.sm_percent, 110);
	assert_true(usage.pcie_estimated && usage.shared);
	assert_int_equal(usage.sampled_us, w->now_us);
}

/* Whatever the agent says: two have it, or two are on it. */
static void a_card_is_shared_where_others_have_it(void **state)
{
	struct world *w = *state;
	const struct str card = w->machine.gpus[4].pci;
	const struct gpu_node_use uses[] = {
		{card, STR(POD_UID), GIB, 0, 30, false, false},
		{card, STR("other"), GIB, 0, 30, false, false},
	};
	const struct gpu_node_pod pods[] = {
		{.namespace = STR("a"), .name = STR("p"), .cards = &card, .n_cards = 1},
		{.namespace = STR("b"), .name = STR("q"), .cards = &card, .n_cards = 1},
	};
	static const struct {
		size_t n_uses, n_pods;
		bool shared;
	} cases[] = {{1, 0, false}, {1, 1, false}, {2, 0, true}, {1, 2, true}, {2, 2, true}};

	node(w);
	pod(w, POD_UID);
	lease(w, "n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		tell(w, &(struct gpu_node_facts){.pods = pods,
						 .n_pods = cases[i].n_pods,
						 .uses = uses,
						 .n_uses = cases[i].n_uses});
		assert_int_equal(cluster_pod_usage(w->c, the_pod(w, POD_UID)).shared,
				 cases[i].shared);
	}
}

static void seen(struct world *w, int64_t seen_us)
{
	const struct agent_facts facts = {
		.name = STR("gpuqos-agent-n"),
		.holder = STR("n"),
		.resource_version = ++w->version,
		.renew_us = w->now_us,
		.duration_us = 40 * SECOND,
		.seen_us = seen_us,
	};

	assert_int_equal(cluster_apply_agent(w->c, &facts, w->now_us, NULL), 0);
}

static void figures_that_the_agent_saw_again_are_told_again(void **state)
{
	struct world *w = *state;
	const struct gpu_node_use use = {
		w->machine.gpus[4].pci, STR(POD_UID), GIB, 7, 30, false, false};
	int64_t told_us;

	node(w);
	pod(w, POD_UID);
	lease(w, "n");
	tell(w, &(struct gpu_node_facts){.uses = &use, .n_uses = 1});
	told_us = w->now_us;
	w->now_us += 10 * SECOND;
	lease(w, "n"); /* it lives, and has not looked */
	assert_int_equal(cluster_pod_usage(w->c, the_pod(w, POD_UID)).sampled_us, told_us);
	seen(w, SECOND);
	assert_int_equal(cluster_pod_usage(w->c, the_pod(w, POD_UID)).sampled_us, w->now_us);
	told_us = w->now_us;
	w->now_us += 10 * SECOND;
	seen(w, SECOND); /* the same look */
	assert_int_equal(cluster_pod_usage(w->c, the_pod(w, POD_UID)).sampled_us, told_us);
	seen(w, 2 * SECOND);
	assert_int_equal(cluster_pod_usage(w->c, the_pod(w, POD_UID)).sampled_us, w->now_us);
}

static void a_lease_that_says_nothing_more_of_figures_tells_none_again(void **state)
{
	struct world *w = *state;
	const struct gpu_node_use use = {
		w->machine.gpus[4].pci, STR(POD_UID), GIB, 7, 30, false, false};
	int64_t told_us;

	node(w);
	pod(w, POD_UID);
	tell(w, &(struct gpu_node_facts){.uses = &use, .n_uses = 1});
	seen(w, SECOND);
	told_us = w->now_us;
	w->now_us += 10 * SECOND;
	lease(w, "n"); /* without its annotation */
	assert_int_equal(cluster_pod_usage(w->c, the_pod(w, POD_UID)).sampled_us, told_us);
}

static void idleness_begins_anew_with_a_lease_that_is_made_anew_after_a_hole(void **state)
{
	struct world *w = *state;
	const struct str card = w->machine.gpus[4].pci;
	const struct gpu_node_use use = {card, STR(POD_UID), GIB, 0, 0, false, false};
	const struct gpu_node_pod told = {
		.namespace = STR("a"), .name = STR("p"), .cards = &card, .n_cards = 1};
	int64_t since_us = w->now_us;

	node(w);
	pod(w, POD_UID);
	seen(w, SECOND);
	tell(w, &(struct gpu_node_facts){.pods = &told, .n_pods = 1, .uses = &use, .n_uses = 1});
	assert_int_equal(cluster_pod_usage(w->c, the_pod(w, POD_UID)).idle_since_us, since_us);
	cluster_delete(w->c, CLUSTER_AGENTS, STR_NONE, STR("gpuqos-agent-n"));
	w->now_us += 1000 * SECOND;
	seen(w, 1000 * SECOND);
	assert_int_equal(cluster_pod_usage(w->c, the_pod(w, POD_UID)).idle_since_us, w->now_us);
}

static void what_is_unknown_of_one_card_is_unknown_of_all(void **state)
{
	struct world *w = *state;
	const struct gpu_node_use uses[] = {
		{w->machine.gpus[4].pci, STR(POD_UID), GIB, AMOUNT_UNKNOWN, 30, false, false},
		{w->machine.gpus[5].pci, STR(POD_UID), AMOUNT_UNKNOWN, 9, -1, false, false},
	};
	struct cluster_usage usage;

	node(w);
	pod(w, POD_UID);
	lease(w, "n");
	tell(w, &(struct gpu_node_facts){.uses = uses, .n_uses = 2});
	usage = cluster_pod_usage(w->c, the_pod(w, POD_UID));
	assert_int_equal(usage.cards, 2);
	assert_int_equal(usage.memory, AMOUNT_UNKNOWN);
	assert_int_equal(usage.pcie, AMOUNT_UNKNOWN);
	assert_int_equal(usage.sm_percent, -1);
	assert_false(usage.pcie_estimated || usage.shared);
}

static void new_measurements_are_nothing_to_look_at(void **state)
{
	struct world *w = *state;
	const struct gpu_node_use use = {w->machine.gpus[4].pci, STR(POD_UID), GIB, 1, 1, 0, 0};
	uint32_t taken;

	node(w);
	pod(w, POD_UID);
	lease(w, "n");
	tell(w, &(struct gpu_node_facts){.n_pods = 0});
	while (cluster_take_node(w->c, &taken))
		;
	tell(w, &(struct gpu_node_facts){.uses = &use, .n_uses = 1});
	assert_false(cluster_take_node(w->c, &taken));
	observe(w);
	assert_true(cluster_take_node(w->c, &taken));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(in_whichever_order_it_comes),
		CASE(it_counts_while_its_agent_lives),
		CASE(it_goes),
		CASE(a_node_comes_back_to_it),
		CASE(cpus_of_pods_without_gpus_count_alone),
		CASE(what_is_older_is_passed_over),
		CASE(a_card_that_nobody_lists_is_another_device),
		CASE(what_a_pod_makes_of_its_cards_is_added_up),
		CASE(a_card_is_shared_where_others_have_it),
		CASE(figures_that_the_agent_saw_again_are_told_again),
		CASE(a_lease_that_says_nothing_more_of_figures_tells_none_again),
		CASE(idleness_begins_anew_with_a_lease_that_is_made_anew_after_a_hole),
		CASE(what_is_unknown_of_one_card_is_unknown_of_all),
		CASE(new_measurements_are_nothing_to_look_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
