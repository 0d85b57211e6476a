/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a pod is moved and where to: each reason to stay by itself, then the best node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "lib/cards.h"
#include "lib/layouts.h"
#include "plan/migrate.h"

#define NOW    (1000000 * USEC_PER_SEC)
#define AGO(s) (NOW - (s)*USEC_PER_SEC)

/* Two nodes of eight cards on two NUMA nodes: of one kubelet aligns nothing, of the other all. */
struct scene {
	struct cluster *cluster;
	struct machine loose, strict;
	struct place_memory memory;
	struct arena arena;
	struct placement_weights weights;
	struct receipt receipts[2];
	struct limits_view limits;
	struct protection_spec protection;
};

static void add_node(struct scene *s, const char *name, const struct layout *layout,
		     enum node_ready ready)
{
	cards_add_node(
		s->cluster, 8,
		(struct node_facts){.name = str_from(name), .ready = ready, .layout = layout});
}

static int setup(void **state)
{
	static const struct hash_key key = {1, 2};
	struct scene *s = test_calloc(1, sizeof(*s));
	struct namespace_facts namespace = {.name = STR("a"), .uid = STR("a")};

	s->cluster = cluster_new(&key);
	s->weights = PLACEMENT_WEIGHTS_DEFAULT;
	arena_init(&s->arena, 16 << 20);
	machine_dgx_h100(&s->loose);
	s->loose.layout.kubelet = (struct layout_kubelet){LAYOUT_POLICY_NONE, false, true};
	machine_dgx_h100(&s->strict);
	s->strict.layout.kubelet = (struct layout_kubelet){LAYOUT_POLICY_SINGLE_NUMA, false, true};
	assert_int_equal(cluster_apply_namespace(s->cluster, &namespace, NULL), 0);
	add_node(s, "from", &s->loose.layout, NODE_READY);
	s->protection = PROTECTION_DEFAULT;
	s->protection.mode = PROTECTION_ENFORCE;
	s->limits = (struct limits_view){.own = s->receipts, .nodes = 2, .now_real_us = NOW};
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	cluster_free(s->cluster);
	place_memory_clear(&s->memory);
	arena_clear(&s->arena);
	test_free(s);
	return 0;
}

struct pod {
	const char *kind; /* of its owner; NULL: none */
	int64_t started_us;
	enum pod_phase phase;
	bool terminating, mirror;
};

static const struct pod usual = {"ReplicaSet", AGO(100), POD_RUNNING, false, false};

static void tell_pod(struct scene *s, const struct pod *pod)
{
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), 2);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = {
		.namespace = STR("a"),
		.name = STR("p"),
		.uid = STR("p"),
		.node = STR("from"),
		.owner_kind = pod->kind ? str_from(pod->kind) : STR_NONE,
		.owner_name = pod->kind ? STR("w") : STR_NONE,
		.created_us = pod->started_us,
		.phase = pod->phase,
		.terminating = pod->terminating,
		.containers = &container,
		.n_containers = 1,
		.alignment = {.guaranteed = true,
			      .whole_cpus = true,
			      .wished = true,
			      .policy = TOPOLOGY_REQUIRED},
		.exit = {.started_us = pod->started_us, .mirror = pod->mirror},
	};

	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
}

static struct receipt_pod self_of(const struct pod *pod)
{
	return (struct receipt_pod){.namespace = STR("a"),
				    .name = STR("p"),
				    .uid = STR("p"),
				    .owner = pod->kind ? STR("ReplicaSet/w") : STR_NONE};
}

static struct migrate_found decide(struct scene *s, const struct pod *pod)
{
	const struct place_tools tools = {s->cluster, &s->weights, &s->memory, &s->arena, NULL};
	const struct migrate_view view = {&tools, &s->limits, &s->protection, NOW, NOW};
	const struct receipt_pod self = self_of(pod);
	struct migrate_found found;
	uint32_t handle;

	tell_pod(s, pod);
	handle = cluster_pod_find(s->cluster, STR("a"), STR("p"), STR("p"));
	cluster_refresh(s->cluster, cluster_namespace_find(s->cluster, STR("a")));
	migrate_decide(&view, handle, &self, &found);
	return found;
}

static void assert_says(const struct migrate_found *found, const char *words)
{
	struct buf text;

	buf_init(&text, 1024);
	migrate_describe(found, &text);
	buf_add(&text, "", 1);
	assert_string_equal(text.data, words);
	buf_clear(&text);
}

static void it_goes_where_it_is_certain_to_lie_well(void **state)
{
	struct scene *s = *state;
	struct migrate_found found;

	add_node(s, "to", &s->strict.layout, NODE_READY);
	add_node(s, "down", &s->strict.layout, NODE_NOT_READY);
	found = decide(s, &usual);
	assert_int_equal(found.verdict, MIGRATE_MOVE);
	assert_int_equal(found.node, cluster_node_find(s->cluster, STR("to")));
	assert_int_equal(found.nodes, 2);
	assert_int_equal(topo_set_count(found.cards), 2);
	/* Of equal ones the least name. */
	add_node(s, "a", &s->strict.layout, NODE_READY);
	found = decide(s, &usual);
	assert_int_equal(found.node, cluster_node_find(s->cluster, STR("a")));
}

static void without_a_better_node_it_stays_and_says_why(void **state)
{
	struct scene *s = *state;
	struct migrate_found found = decide(s, &usual);

	assert_int_equal(found.verdict, MIGRATE_NO_NODE);
	assert_says(&found, "no node fits: TopologyNotCertain on 1");
}

static void who_may_not_go_stays(void **state)
{
	static const struct {
		struct pod pod;
		enum migrate_verdict verdict;
		const char *words;
	} cases[] = {
		{{"ReplicaSet", AGO(100), POD_SUCCEEDED, false, false},
		 MIGRATE_GOING,
		 "it ends already"},
		{{"ReplicaSet", AGO(100), POD_RUNNING, true, false},
		 MIGRATE_GOING,
		 "it ends already"},
		{{NULL, AGO(100), POD_RUNNING, false, false},
		 MIGRATE_NO_OWNER,
		 "nobody owns it, and so nothing would make it anew"},
		{{"DaemonSet", AGO(100), POD_RUNNING, false, false},
		 MIGRATE_DAEMON,
		 "it is a DaemonSet's, and belongs where it is"},
		{{"Node", AGO(100), POD_RUNNING, false, true},
		 MIGRATE_MIRROR,
		 "it is a static pod"},
		{{"ReplicaSet", AGO(59), POD_RUNNING, false, false},
		 MIGRATE_YOUNG,
		 "it has not run for its minimum time"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene *s;
		struct migrate_found found;

		setup(state);
		s = *state;
		add_node(s, "to", &s->strict.layout, NODE_READY);
		found = decide(s, &cases[i].pod);
		assert_int_equal(found.verdict, cases[i].verdict);
		assert_says(&found, cases[i].words);
		teardown(state);
	}
}

static void add_receipt(struct scene *s, enum receipt_outcome outcome, const char *uid,
			int64_t at_us)
{
	s->receipts[s->limits.n_own++] = (struct receipt){
		.id = STR("r"),
		.cause = RECEIPT_MISMATCH,
		.outcome = outcome,
		.at_us = at_us,
		.beneficiary = {.namespace = STR("a"),
				.uid = str_from(uid),
				.owner = STR("ReplicaSet/w")},
	};
}

static void what_was_moved_is_not_moved_again_within_the_hour(void **state)
{
	static const struct {
		const char *sentence, *uid;
		enum receipt_outcome outcome;
		int64_t at_us;
		enum migrate_verdict verdict;
		enum protection_mode mode;
	} cases[] = {
		{"its own receipt", "p", RECEIPT_HELPED, AGO(3599), MIGRATE_MOVED,
		 PROTECTION_ENFORCE},
		{"a plan", "p", RECEIPT_PLANNED, AGO(3599), MIGRATE_MOVED, PROTECTION_DRY_RUN},
		{"a plan before it was enforced", "p", RECEIPT_PLANNED, AGO(1), MIGRATE_MOVE,
		 PROTECTION_ENFORCE},
		{"an hour is over", "p", RECEIPT_HELPED, AGO(3600), MIGRATE_MOVE,
		 PROTECTION_ENFORCE},
		{"the successor of another", "o", RECEIPT_HELPED, AGO(200), MIGRATE_MOVED,
		 PROTECTION_ENFORCE},
		{"made in the same second", "o", RECEIPT_HELPED, AGO(100) + 5, MIGRATE_MOVED,
		 PROTECTION_ENFORCE},
		{"its elder brother", "o", RECEIPT_HELPED, AGO(99), MIGRATE_MOVE,
		 PROTECTION_ENFORCE},
		{"a plan for another", "o", RECEIPT_PLANNED, AGO(200), MIGRATE_MOVE,
		 PROTECTION_ENFORCE},
		{"a refusal long ago", "p", RECEIPT_REFUSED, AGO(3000), MIGRATE_MOVE,
		 PROTECTION_ENFORCE},
		{"a refusal just now", "p", RECEIPT_REFUSED, AGO(299), MIGRATE_LIMITED,
		 PROTECTION_ENFORCE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene *s;

		print_message("%s\n", cases[i].sentence);
		setup(state);
		s = *state;
		add_node(s, "to", &s->strict.layout, NODE_READY);
		s->protection.cooldown_us = 0;
		s->protection.mode = cases[i].mode;
		add_receipt(s, cases[i].outcome, cases[i].uid, cases[i].at_us);
		assert_int_equal(decide(s, &usual).verdict, cases[i].verdict);
		teardown(state);
	}
}

static void limits_hold_for_it(void **state)
{
	struct scene *s = *state;
	struct migrate_found found;

	add_node(s, "to", &s->strict.layout, NODE_READY);
	s->limits.nodes_not_ready = 1;
	found = decide(s, &usual);
	assert_int_equal(found.verdict, MIGRATE_LIMITED);
	assert_says(&found, "the limits on evictions leave none: too many nodes are not ready");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(it_goes_where_it_is_certain_to_lie_well),
		CASE(without_a_better_node_it_stays_and_says_why),
		cmocka_unit_test(who_may_not_go_stays),
		cmocka_unit_test(what_was_moved_is_not_moved_again_within_the_hour),
		CASE(limits_hold_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
