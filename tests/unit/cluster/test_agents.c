/* SPDX-License-Identifier: Apache-2.0 */
/* What Leases and capacity make of a layout, and which nodes are to be looked at for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cluster/looks.h"
#include "cluster/nodes/agents.h"
#include "cluster/placing/placement.h"
#include "cluster/read.h"
#include "lib/layouts.h"

#define SECOND USEC_PER_SEC

struct world {
	struct cluster *cluster;
	struct machine machine;
	uint64_t version;
	int64_t now_us;
};

static int setup(void **state)
{
	struct world *w = mem_alloc(sizeof(*w));
	const struct hash_key key = {1, 2};

	w->cluster = cluster_new(&key);
	machine_dgx_h100(&w->machine);
	w->machine.layout.writer = STR("gpuqos-agent/0.2.0");
	w->now_us = 1000 * SECOND;
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

/* @layout may be NULL. */
static void node(struct world *w, const struct layout *layout, int64_t cards)
{
	const struct device_offer offer = {
		.resource = STR("nvidia.com/gpu"),
		.product = STR("H100"),
		.unit_memory = 1 << 30,
		.count = cards,
		.allocatable = cards,
		.sharing = DEVICE_WHOLE,
	};
	const struct node_facts facts = {
		.name = STR("n"),
		.uid = STR("n"),
		.resource_version = ++w->version,
		.ready = NODE_READY,
		.offers = &offer,
		.n_offers = cards > 0,
		.layout = layout,
		.layout_state = layout ? LAYOUT_IS_KNOWN : LAYOUT_IS_ABSENT,
	};

	assert_int_equal(cluster_apply_node(w->cluster, &facts, NULL), 0);
}

static void lease(struct world *w, int64_t renew_us, const char *holder)
{
	const struct agent_facts facts = {
		.name = STR("gpuqos-agent-n"),
		.holder = str_from(holder),
		.resource_version = ++w->version,
		.renew_us = renew_us,
		.duration_us = 40 * SECOND,
	};

	assert_int_equal(cluster_apply_agent(w->cluster, &facts, w->now_us, NULL), 0);
}

static int64_t pass(struct world *w, int64_t seconds)
{
	int64_t next_us;

	w->now_us += seconds * SECOND;
	cluster_expire_agents(w->cluster, w->now_us, &next_us);
	return next_us;
}

/* --- what is known */

static void assert_state(const struct world *w, enum layout_state state)
{
	struct cluster_room room =
		cluster_room(w->cluster, cluster_node_find(w->cluster, STR("n")));

	assert_int_equal(room.state, state);
	assert_int_equal(room.topo != NULL, state == LAYOUT_IS_KNOWN);
}

static uint32_t looked_at(struct world *w)
{
	uint32_t n = 0, node;

	while (cluster_take_node(w->cluster, &node))
		n++;
	return n;
}

/* --- the tests */

static void an_agents_layout_holds_while_its_lease_changes(void **state)
{
	struct world *w = *state;

	lease(w, 1, "n");
	node(w, &w->machine.layout, 8);
	assert_state(w, LAYOUT_IS_KNOWN);
	pass(w, 39);
	lease(w, 2, "n");
	pass(w, 39);
	assert_state(w, LAYOUT_IS_KNOWN);
	assert_true(pass(w, 0) == w->now_us + SECOND);
	assert_true(pass(w, 1) == TIME_NEVER);
	assert_state(w, LAYOUT_IS_AGENT_GONE);
	lease(w, 3, "n");
	assert_state(w, LAYOUT_IS_KNOWN);
}

static void a_lease_that_says_the_same_is_no_renewal(void **state)
{
	struct world *w = *state;

	node(w, &w->machine.layout, 8);
	lease(w, 1, "n");
	pass(w, 30);
	lease(w, 1, "n"); /* relisted, or somebody set a label */
	pass(w, 10);
	assert_state(w, LAYOUT_IS_AGENT_GONE);
	lease(w, 1, "n");
	assert_state(w, LAYOUT_IS_AGENT_GONE);
}

static void clocks_are_not_compared(void **state)
{
	struct world *w = *state;

	node(w, &w->machine.layout, 8);
	lease(w, 5, "n");
	pass(w, 20);
	lease(w, 2, "n"); /* its clock was put back */
	pass(w, 39);
	assert_state(w, LAYOUT_IS_KNOWN);
}

static void without_a_lease_an_agents_layout_is_not_known(void **state)
{
	struct world *w = *state;

	node(w, &w->machine.layout, 8);
	assert_state(w, LAYOUT_IS_AGENT_GONE);
	lease(w, 1, "n");
	assert_state(w, LAYOUT_IS_KNOWN);
	cluster_delete(w->cluster, CLUSTER_AGENTS, STR("system"), STR("gpuqos-agent-n"));
	assert_state(w, LAYOUT_IS_AGENT_GONE);
}

static void a_lease_that_is_given_up_or_anothers_is_none(void **state)
{
	struct world *w = *state;

	node(w, &w->machine.layout, 8);
	lease(w, 1, "");
	assert_state(w, LAYOUT_IS_AGENT_GONE);
	lease(w, 2, "m");
	assert_state(w, LAYOUT_IS_AGENT_GONE);
	lease(w, 3, "n");
	assert_state(w, LAYOUT_IS_KNOWN);
}

static void a_layout_of_another_writer_needs_no_lease(void **state)
{
	struct world *w = *state;

	w->machine.layout.writer = STR("by hand");
	node(w, &w->machine.layout, 8);
	assert_state(w, LAYOUT_IS_KNOWN);
	lease(w, 1, "n");
	pass(w, 100);
	assert_state(w, LAYOUT_IS_KNOWN);
}

static void who_could_not_listen_blames_nobody(void **state)
{
	struct world *w = *state;

	node(w, &w->machine.layout, 8);
	lease(w, 1, "n");
	w->now_us += 100 * SECOND;
	cluster_excuse_agents(w->cluster, w->now_us);
	pass(w, 39);
	assert_state(w, LAYOUT_IS_KNOWN);
	pass(w, 1);
	assert_state(w, LAYOUT_IS_AGENT_GONE);
}

static void a_relist_forgets_who_is_not_in_it(void **state)
{
	struct world *w = *state;

	node(w, &w->machine.layout, 8);
	lease(w, 1, "n");
	cluster_begin_replace(w->cluster, CLUSTER_AGENTS);
	lease(w, 1, "n");
	cluster_end_replace(w->cluster, CLUSTER_AGENTS);
	assert_state(w, LAYOUT_IS_KNOWN);
	cluster_begin_replace(w->cluster, CLUSTER_AGENTS);
	cluster_end_replace(w->cluster, CLUSTER_AGENTS);
	assert_state(w, LAYOUT_IS_AGENT_GONE);
}

static void capacity_beyond_the_layout_contradicts_it(void **state)
{
	struct world *w = *state;

	lease(w, 1, "n");
	node(w, &w->machine.layout, 9);
	assert_state(w, LAYOUT_IS_CONTRADICTS);
	node(w, &w->machine.layout, 8);
	assert_state(w, LAYOUT_IS_KNOWN);
}

static void renewals_make_nobody_look(void **state)
{
	struct world *w = *state;
	uint32_t key;

	lease(w, 1, "n");
	node(w, &w->machine.layout, 8);
	assert_int_equal(looked_at(w), 1);
	while (cluster_take_dirty(w->cluster, &key))
		;
	for (int64_t i = 2; i < 100; i++) {
		lease(w, i, "n");
		pass(w, 10);
	}
	assert_int_equal(looked_at(w), 0);
	assert_false(cluster_take_dirty(w->cluster, &key));
	pass(w, 40);
	assert_int_equal(looked_at(w), 1);
}

static void what_was_told_is_remembered(void **state)
{
	struct world *w = *state;
	uint32_t n;

	node(w, &w->machine.layout, 8);
	n = cluster_node_find(w->cluster, STR("n"));
	assert_int_equal(looked_at(w), 1);
	assert_int_equal(cluster_tell_layout(w->cluster, n), LAYOUT_IS_ABSENT);
	assert_int_equal(cluster_tell_layout(w->cluster, n), LAYOUT_IS_AGENT_GONE);
	cluster_look_again(w->cluster);
	assert_int_equal(looked_at(w), 1);
	assert_int_equal(cluster_tell_layout(w->cluster, n), LAYOUT_IS_ABSENT);
}

static void a_node_that_is_gone_can_still_be_looked_at(void **state)
{
	struct world *w = *state;

	node(w, &w->machine.layout, 8);
	cluster_delete(w->cluster, CLUSTER_NODES, STR_NONE, STR("n"));
	assert_true(cluster_node_find(w->cluster, STR("n")) != TABLE_NONE);
	assert_int_equal(looked_at(w), 1);
	assert_true(cluster_node_find(w->cluster, STR("n")) == TABLE_NONE);
}

static void of_a_node_without_gpus_nothing_is_known(void **state)
{
	struct world *w = *state;
	const struct node_facts facts = {.name = STR("n"), .uid = STR("n"), .ready = NODE_READY};

	assert_int_equal(cluster_apply_node(w->cluster, &facts, NULL), 0);
	assert_state(w, LAYOUT_IS_ABSENT);
	node(w, &w->machine.layout, 8);
	assert_int_equal(cluster_apply_node(w->cluster, &facts, NULL), 0);
	assert_state(w, LAYOUT_IS_ABSENT);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(an_agents_layout_holds_while_its_lease_changes),
		CASE(a_lease_that_says_the_same_is_no_renewal),
		CASE(clocks_are_not_compared),
		CASE(without_a_lease_an_agents_layout_is_not_known),
		CASE(a_lease_that_is_given_up_or_anothers_is_none),
		CASE(a_layout_of_another_writer_needs_no_lease),
		CASE(who_could_not_listen_blames_nobody),
		CASE(a_relist_forgets_who_is_not_in_it),
		CASE(capacity_beyond_the_layout_contradicts_it),
		CASE(renewals_make_nobody_look),
		CASE(what_was_told_is_remembered),
		CASE(a_node_that_is_gone_can_still_be_looked_at),
		CASE(of_a_node_without_gpus_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
