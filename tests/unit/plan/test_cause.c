/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits too long and who is served already; what came of a receipt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "cluster/looks.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "plan/cause.h"

#define NOW     (1000000 * USEC_PER_SEC)
#define AGO(s)  (NOW - (s)*USEC_PER_SEC)
#define PENDING (30 * USEC_PER_SEC)

static int setup(void **state)
{
	static const struct hash_key key = {1, 2};
	struct cluster *cluster = cluster_new(&key);
	struct str value = STR("chat");
	struct label_requirement requirement = {STR("team"), LABEL_IN, &value, 1};
	struct label label = {STR("team"), value};
	struct namespace_facts namespace = {
		.name = value, .uid = value, .labels = &label, .n_labels = 1};
	struct tenant_facts facts = {.name = value,
				     .uid = value,
				     .spec = {.namespaces = {&requirement, 1},
					      .tier = TIER_INFERENCE,
					      .ceiling = AMOUNT_NONE,
					      .ceiling_gpus = AMOUNT_NONE,
					      .pending_us = PENDING}};

	assert_int_equal(cluster_apply_namespace(cluster, &namespace, NULL), 0);
	assert_int_equal(cluster_apply_tenant(cluster, &facts, NULL), 0);
	cluster_refresh_tenant(cluster, cluster_tenant_find(cluster, value));
	*state = cluster;
	return 0;
}

static int teardown(void **state)
{
	cluster_free(*state);
	return 0;
}

struct pod {
	const char *name, *node;
	int64_t created_us;
	enum pod_phase phase;
	bool gated, terminating;
};

static uint32_t tell_pod(struct cluster *cluster, struct pod pod)
{
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), 1);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = {.namespace = STR("chat"),
				  .name = str_from(pod.name),
				  .uid = str_from(pod.name),
				  .node = str_from(pod.node),
				  .owner_kind = STR("Job"),
				  .owner_name = STR("work"),
				  .phase = pod.phase,
				  .gated = pod.gated,
				  .terminating = pod.terminating,
				  .created_us = pod.created_us,
				  .containers = &container,
				  .n_containers = 1};

	assert_int_equal(cluster_apply_pod(cluster, &facts, NULL), 0);
	return cluster_pod_find(cluster, STR("chat"), str_from(pod.name), str_from(pod.name));
}

static struct cause_waiters waiters_of(struct cluster *cluster, int64_t pending_us)
{
	struct cause_waiters waiters;

	cause_waiters(cluster, cluster_tenant_find(cluster, STR("chat")), pending_us, NOW,
		      &waiters);
	return waiters;
}

static void the_one_that_waits_longest_comes_first(void **state)
{
	struct cluster *cluster = *state;
	uint32_t later = tell_pod(cluster, (struct pod){"a", "", AGO(31), POD_PENDING, 0, 0});
	uint32_t first = tell_pod(cluster, (struct pod){"b", "", AGO(60), POD_PENDING, 0, 0});
	struct cause_waiters waiters;

	tell_pod(cluster, (struct pod){"young", "", AGO(20), POD_PENDING, 0, 0});
	waiters = waiters_of(cluster, PENDING);
	assert_int_equal(waiters.n, 2);
	assert_int_equal(waiters.list[0].pod, first);
	assert_int_equal(waiters.list[1].pod, later);
	assert_int_equal(waiters.next_us, AGO(-10));
}

static void who_does_not_wait_for_a_node_is_none(void **state)
{
	static const struct pod pods[] = {
		{"gated", "", AGO(60), POD_PENDING, true, false},
		{"going", "", AGO(60), POD_PENDING, false, true},
		{"bound", "n", AGO(60), POD_PENDING, false, false},
		{"over", "", AGO(60), POD_FAILED, false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
		tell_pod(*state, pods[i]);
	assert_int_equal(waiters_of(*state, PENDING).n, 0);
	assert_int_equal(waiters_of(*state, PENDING).next_us, TIME_NEVER);
	/* Its gate goes: it waits, and its tenant is looked at. */
	uint32_t tenant;
	while (cluster_take_dirty_tenant(*state, &tenant))
		;
	tell_pod(*state, (struct pod){"gated", "", AGO(60), POD_PENDING, false, false});
	assert_true(cluster_take_dirty_tenant(*state, &tenant));
	assert_int_equal(waiters_of(*state, PENDING).n, 1);
}

static void without_pending_seconds_nobody_waits_too_long(void **state)
{
	tell_pod(*state, (struct pod){"a", "", AGO(3600), POD_PENDING, 0, 0});
	assert_int_equal(waiters_of(*state, AMOUNT_NONE).n, 0);
}

static void no_more_are_told_than_fit(void **state)
{
	struct cause_waiters waiters;
	char names[CAUSE_WAITING_MOST + 8][16];

	for (int i = 0; i < CAUSE_WAITING_MOST + 8; i++) {
		snprintf(names[i], sizeof(names[i]), "p%d", i);
		tell_pod(*state, (struct pod){names[i], "", AGO(100 + i % 20), POD_PENDING, 0, 0});
	}
	waiters = waiters_of(*state, PENDING);
	assert_int_equal(waiters.n, CAUSE_WAITING_MOST);
	for (size_t i = 1; i < waiters.n; i++)
		assert_true(waiters.list[i - 1].since_us <= waiters.list[i].since_us);
	assert_int_equal(waiters.list[0].since_us, AGO(119));
}

static void one_receipt_at_a_time_and_a_plan_lasts_an_hour(void **state)
{
	static const struct {
		enum receipt_outcome outcome;
		int64_t at_us;
		const char *uid;
		enum protection_mode mode;
		bool served;
	} cases[] = {
		{RECEIPT_ISSUED, AGO(10), "p", PROTECTION_ENFORCE, true},
		{RECEIPT_ISSUED, AGO(10), "p", PROTECTION_DRY_RUN, true},
		{RECEIPT_ISSUED, AGO(10), "q", PROTECTION_ENFORCE, false},
		{RECEIPT_PLANNED, AGO(3599), "p", PROTECTION_DRY_RUN, true},
		{RECEIPT_PLANNED, AGO(3600), "p", PROTECTION_DRY_RUN, false},
		{RECEIPT_PLANNED, AGO(1), "p", PROTECTION_ENFORCE, false},
		{RECEIPT_PLANNED, AGO(1), "p", PROTECTION_OFF, false},
		{RECEIPT_HELPED, AGO(10), "p", PROTECTION_ENFORCE, false},
		{RECEIPT_INEFFECTIVE, AGO(10), "p", PROTECTION_ENFORCE, false},
	};
	const struct receipt_pod self = {.uid = STR("p")};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct receipt own = {.outcome = cases[i].outcome,
					    .at_us = cases[i].at_us,
					    .beneficiary = {.uid = str_from(cases[i].uid)}};
		const struct limits_view view = {.own = &own, .n_own = 1, .now_real_us = NOW};

		assert_int_equal(cause_is_served(&view, cases[i].mode, &self), cases[i].served);
	}
}

static void workloads_that_lost_a_pod_are_named_by_handle(void **state)
{
	uint32_t pod = tell_pod(*state, (struct pod){"a", "", AGO(60), POD_PENDING, 0, 0});
	const struct receipt_pod victims[] = {
		{.namespace = STR("chat"), .owner = STR("Job/work")},
		{.namespace = STR("chat"), .owner = STR("Job/other")},
		{.namespace = STR("gone"), .owner = STR("Job/work")},
		{.namespace = STR("chat")},
	};
	struct receipt other = {.outcome = RECEIPT_HELPED,
				.at_us = AGO(60),
				.victims = victims,
				.n_victims = ARRAY_SIZE(victims)};
	const struct limits_view view = {.others = &other, .n_others = 1, .now_real_us = NOW};
	struct plan_left_alone alone;
	struct cluster_victim victim;
	struct arena arena;

	arena_init(&arena, 1 << 20);
	assert_true(cause_left_alone(*state, &view, &arena, &alone));
	cluster_victim(*state, pod, NOW, NOW, &victim);
	assert_int_equal(alone.n_workloads, 1);
	assert_int_equal(alone.workloads[0].namespace, victim.namespace);
	assert_int_equal(alone.workloads[0].owner, victim.owner);
	assert_int_equal(alone.n_pods, 0);
	other.at_us = AGO(121);
	assert_true(cause_left_alone(*state, &view, &arena, &alone));
	assert_int_equal(alone.n_workloads, 0);
	arena_clear(&arena);
}

static void who_is_to_go_by_an_open_receipt_is_named_by_handle(void **state)
{
	uint32_t pod = tell_pod(*state, (struct pod){"a", "n", AGO(60), POD_RUNNING, 0, 0});
	const struct receipt_pod victims[] = {
		{.namespace = STR("chat"), .name = STR("a"), .uid = STR("a")},
		{.namespace = STR("chat"), .name = STR("a"), .uid = STR("its predecessor")},
	};
	struct receipt one = {.outcome = RECEIPT_ISSUED,
			      .at_us = AGO(1),
			      .victims = victims,
			      .n_victims = ARRAY_SIZE(victims)};
	const struct limits_view views[] = {{.others = &one, .n_others = 1, .now_real_us = NOW},
					    {.own = &one, .n_own = 1, .now_real_us = NOW}};
	struct plan_left_alone alone;
	struct arena arena;

	arena_init(&arena, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(views); i++) {
		one.outcome = RECEIPT_ISSUED;
		assert_true(cause_left_alone(*state, &views[i], &arena, &alone));
		assert_int_equal(alone.n_pods, 1);
		assert_int_equal(alone.pods[0], pod);
		assert_true(limits_names_victim(&views[i], STR("a")));
		assert_false(limits_names_victim(&views[i], STR("b")));
		one.outcome = RECEIPT_HELPED;
		assert_true(cause_left_alone(*state, &views[i], &arena, &alone));
		assert_int_equal(alone.n_pods, 0);
		assert_false(limits_names_victim(&views[i], STR("a")));
	}
	arena_clear(&arena);
}

static void what_came_of_it_follows_from_what_is_seen(void **state)
{
	static const struct {
		const char *name;
		struct cause_seen seen;
		enum receipt_outcome outcome;
	} cases[] = {
		{"it is gone", {false, false, false, 1, 0, 1, NOW, false}, RECEIPT_MOOT},
		{"it is where room was made",
		 {true, true, true, 0, 0, 0, NOW, false},
		 RECEIPT_HELPED},
		{"there, a victim yet on its way",
		 {true, true, true, 0, 0, 1, NOW, false},
		 RECEIPT_HELPED},
		{"it is elsewhere", {true, true, false, 0, 0, 0, NOW, false}, RECEIPT_INEFFECTIVE},
		{"bound before all were asked",
		 {true, true, true, 1, 0, 1, NOW, false},
		 RECEIPT_MOOT},
		{"victims leave", {true, false, false, 0, 0, 2, NOW, false}, RECEIPT_ISSUED},
		{"one is refused", {true, false, false, 1, 1, 1, NOW, false}, RECEIPT_ISSUED},
		{"all are refused", {true, false, false, 2, 2, 0, NOW, false}, RECEIPT_REFUSED},
		{"it waits", {true, false, false, 0, 0, 0, NOW + 59, false}, RECEIPT_ISSUED},
		{"its time is over",
		 {true, false, false, 0, 0, 0, NOW + 60, false},
		 RECEIPT_INEFFECTIVE},
	};
	const struct receipt receipt = {.held_until_us = NOW + 60, .n_victims = 2};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (cause_judge_pending(&receipt, &cases[i].seen) != cases[i].outcome)
			fail_msg("%s", cases[i].name);
}

static void an_objective_is_judged_when_its_observation_ends(void **state)
{
	enum { END = 60 };
	static const struct {
		const char *name;
		struct cause_seen seen;
		struct cause_value now;
		enum receipt_outcome outcome;
	} cases[] = {
		{"it is gone",
		 {.there = false, .now_real_us = NOW},
		 {OBJECTIVE_MET, OBJECTIVE_BELOW, 100},
		 RECEIPT_MOOT},
		{"it is met before the end",
		 {.there = true, .now_real_us = NOW},
		 {OBJECTIVE_MET, OBJECTIVE_BELOW, 100},
		 RECEIPT_ISSUED},
		{"nobody went",
		 {.there = true, .staying = 2, .refused = 2, .now_real_us = NOW},
		 {OBJECTIVE_VIOLATED, OBJECTIVE_BELOW, 1000},
		 RECEIPT_REFUSED},
		{"it is met",
		 {.there = true, .now_real_us = NOW + END},
		 {OBJECTIVE_MET, OBJECTIVE_BELOW, 990},
		 RECEIPT_HELPED},
		{"it is met while a victim is there",
		 {.there = true, .leaving = 1, .now_real_us = NOW + END},
		 {OBJECTIVE_MET, OBJECTIVE_BELOW, 500},
		 RECEIPT_MOOT},
		{"a fifth better",
		 {.there = true, .now_real_us = NOW + END},
		 {OBJECTIVE_VIOLATED, OBJECTIVE_BELOW, 800},
		 RECEIPT_HELPED},
		{"not quite a fifth",
		 {.there = true, .now_real_us = NOW + END},
		 {OBJECTIVE_AT_RISK, OBJECTIVE_BELOW, 801},
		 RECEIPT_INEFFECTIVE},
		{"a rate that fell",
		 {.there = true, .now_real_us = NOW + END},
		 {OBJECTIVE_VIOLATED, OBJECTIVE_ABOVE, 800},
		 RECEIPT_INEFFECTIVE},
		{"a rate that rose by a fifth",
		 {.there = true, .now_real_us = NOW + END},
		 {OBJECTIVE_VIOLATED, OBJECTIVE_ABOVE, 1200},
		 RECEIPT_HELPED},
		{"nothing is known",
		 {.there = true, .now_real_us = NOW + END},
		 {OBJECTIVE_UNKNOWN, OBJECTIVE_BELOW, 100},
		 RECEIPT_INEFFECTIVE},
	};
	const struct receipt receipt = {.held_until_us = NOW + END, .n_victims = 2, .value = 1000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (cause_judge_objective(&receipt, &cases[i].seen, &cases[i].now) !=
		    cases[i].outcome)
			fail_msg("%s", cases[i].name);
}

/* Those of a query may be of any size. */
static void a_value_is_better_by_a_fifth_of_its_size(void **state)
{
	static const struct {
		enum objective_direction direction;
		int64_t before, now;
		enum receipt_outcome outcome;
	} cases[] = {
		{OBJECTIVE_BELOW, 50, 50, RECEIPT_INEFFECTIVE},
		{OBJECTIVE_BELOW, 50, 41, RECEIPT_INEFFECTIVE},
		{OBJECTIVE_BELOW, 50, 40, RECEIPT_HELPED},
		{OBJECTIVE_BELOW, 1, 1, RECEIPT_INEFFECTIVE},
		{OBJECTIVE_BELOW, 199, 160, RECEIPT_INEFFECTIVE},
		{OBJECTIVE_BELOW, 199, 159, RECEIPT_HELPED},
		{OBJECTIVE_ABOVE, -1000, -1100, RECEIPT_INEFFECTIVE},
		{OBJECTIVE_ABOVE, -1000, -801, RECEIPT_INEFFECTIVE},
		{OBJECTIVE_ABOVE, -1000, -800, RECEIPT_HELPED},
		{OBJECTIVE_BELOW, INT64_MAX, INT64_MIN + 1, RECEIPT_HELPED},
		{OBJECTIVE_ABOVE, INT64_MAX, 0, RECEIPT_INEFFECTIVE},
	};
	const struct cause_seen seen = {.there = true, .now_real_us = NOW};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct receipt receipt = {.n_victims = 1, .value = cases[i].before};
		const struct cause_value now = {OBJECTIVE_VIOLATED, cases[i].direction,
						cases[i].now};

		if (cause_judge_objective(&receipt, &seen, &now) != cases[i].outcome)
			fail_msg("case %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_one_that_waits_longest_comes_first, setup,
						teardown),
		cmocka_unit_test_setup_teardown(who_does_not_wait_for_a_node_is_none, setup,
						teardown),
		cmocka_unit_test_setup_teardown(without_pending_seconds_nobody_waits_too_long,
						setup, teardown),
		cmocka_unit_test_setup_teardown(no_more_are_told_than_fit, setup, teardown),
		cmocka_unit_test(one_receipt_at_a_time_and_a_plan_lasts_an_hour),
		cmocka_unit_test_setup_teardown(who_is_to_go_by_an_open_receipt_is_named_by_handle,
						setup, teardown),
		cmocka_unit_test_setup_teardown(workloads_that_lost_a_pod_are_named_by_handle,
						setup, teardown),
		cmocka_unit_test(what_came_of_it_follows_from_what_is_seen),
		cmocka_unit_test(an_objective_is_judged_when_its_observation_ends),
		cmocka_unit_test(a_value_is_better_by_a_fifth_of_its_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
