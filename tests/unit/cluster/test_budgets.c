/* SPDX-License-Identifier: Apache-2.0 */
/* Which PodDisruptionBudgets select a pod, and what they leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/macros.h"
#include "cluster/internal.h"
#include "cluster/leaving/budgets.h"
#include "pod_world.h"

static const struct str x_alone[] = {{"x", 1}};
static const struct label app_x = {{"app", 3}, {"x", 1}}, app_y = {{"app", 3}, {"y", 1}};
static const struct label_requirement is_x = {{"app", 3}, LABEL_IN, x_alone, 1},
				      is_not_x = {{"app", 3}, LABEL_NOT_IN, x_alone, 1},
				      has_app = {{"app", 3}, LABEL_EXISTS, NULL, 0},
				      has_role = {{"role", 4}, LABEL_EXISTS, NULL, 0};

static struct budget_facts budget(const char *name, const struct label_requirement *requirement)
{
	return (struct budget_facts){
		.namespace = STR("a"),
		.name = str_from(name),
		.uid = str_from(name),
		.reach = requirement ? BUDGET_SELECTS_SOME : BUDGET_SELECTS_ALL,
		.selector = {requirement, requirement ? 1 : 0},
		.allowed = 1,
		.settled = true,
	};
}

static void tell(struct cluster *c, struct budget_facts facts)
{
	assert_int_equal(cluster_apply_budget(c, &facts, NULL), 0);
}

static void tell_pod(struct cluster *c, const char *name, const struct label *label)
{
	struct pod_facts facts = pod_facts();

	facts.name = facts.uid = str_from(name);
	facts.exit.labels = label;
	facts.exit.n_labels = label ? 1 : 0;
	apply_pod(c, facts);
}

static struct cluster_victim victim_of(struct cluster *c, const char *name)
{
	struct cluster_victim victim;

	cluster_victim(c, pod_find(c, STR("a"), str_from(name)), 0, 0, &victim);
	return victim;
}

static enum victim_budget state_of(struct cluster *c, const char *name)
{
	return victim_of(c, name).budget;
}

/* As the pods' reflector does where labels are wanted. */
static void read_all_pods(struct cluster *c, const char *name, const struct label *label)
{
	cluster_begin_replace(c, CLUSTER_PODS);
	tell_pod(c, name, label);
	cluster_end_replace(c, CLUSTER_PODS);
}

/* --- whom a budget selects */

static void whom_a_budget_selects(void **state)
{
	static const struct {
		const char *what;
		enum budget_reach reach;
		const struct label_requirement *requirement;
		const struct label *label;
		enum victim_budget expected;
	} cases[] = {
		{"its label", BUDGET_SELECTS_SOME, &is_x, &app_x, BUDGET_ALLOWS},
		{"another value", BUDGET_SELECTS_SOME, &is_x, &app_y, BUDGET_NONE},
		{"no label", BUDGET_SELECTS_SOME, &is_x, NULL, BUDGET_NONE},
		{"NotIn without the label", BUDGET_SELECTS_SOME, &is_not_x, NULL, BUDGET_ALLOWS},
		{"NotIn with the value", BUDGET_SELECTS_SOME, &is_not_x, &app_x, BUDGET_NONE},
		{"Exists", BUDGET_SELECTS_SOME, &has_app, &app_y, BUDGET_ALLOWS},
		{"an empty selector", BUDGET_SELECTS_ALL, NULL, NULL, BUDGET_ALLOWS},
		{"no selector", BUDGET_SELECTS_NONE, NULL, &app_x, BUDGET_NONE},
		{"a selector that cannot be read", BUDGET_REACH_UNKNOWN, NULL, &app_x,
		 BUDGET_FORBIDS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(cluster_free) struct cluster *c = cluster_new(&(struct hash_key){1, 2});
		struct budget_facts facts = budget("b", cases[i].requirement);

		facts.reach = cases[i].reach;
		if (facts.reach == BUDGET_REACH_UNKNOWN)
			facts.allowed = 0;
		tell(c, facts);
		tell_pod(c, "p", cases[i].label);
		if (state_of(c, "p") != cases[i].expected)
			fail_msg("%s: %d", cases[i].what, (int)state_of(c, "p"));
		assert_int_equal(victim_of(c, "p").budget_of != TABLE_NONE,
				 cases[i].expected != BUDGET_NONE);
		assert_false(cluster_labels_wanted(c));
	}
}

static void test_other_namespaces_are_not_concerned(void **state)
{
	struct cluster *c = *state;
	struct budget_facts facts = budget("b", NULL);

	facts.namespace = STR("elsewhere");
	tell(c, facts);
	tell_pod(c, "p", &app_x);
	assert_int_equal(state_of(c, "p"), BUDGET_NONE);
	cluster_delete(c, CLUSTER_BUDGETS, STR("elsewhere"), STR("b"));
	assert_int_equal(cluster_namespace_find(c, STR("elsewhere")), TABLE_NONE);
}

static void test_two_that_select_it_are_several(void **state)
{
	struct cluster *c = *state;

	tell(c, budget("b", &is_x));
	tell(c, budget("all", NULL));
	tell_pod(c, "p", &app_x);
	tell_pod(c, "q", &app_y);
	assert_int_equal(state_of(c, "p"), BUDGET_SEVERAL);
	assert_int_equal(state_of(c, "q"), BUDGET_ALLOWS);
	cluster_delete(c, CLUSTER_BUDGETS, STR("a"), STR("all"));
	assert_int_equal(state_of(c, "p"), BUDGET_ALLOWS);
	assert_int_equal(state_of(c, "q"), BUDGET_NONE);
}

static void test_a_full_state_drops_budgets_that_are_gone(void **state)
{
	struct cluster *c = *state;

	tell(c, budget("b", NULL));
	tell_pod(c, "p", &app_x);
	cluster_begin_replace(c, CLUSTER_BUDGETS);
	cluster_end_replace(c, CLUSTER_BUDGETS);
	assert_int_equal(state_of(c, "p"), BUDGET_NONE);
}

/* --- labels that were not read */

static void test_a_new_key_forbids_until_pods_were_read_anew(void **state)
{
	struct cluster *c = *state;

	tell_pod(c, "p", &app_y);
	assert_int_equal(state_of(c, "p"), BUDGET_NONE);
	tell(c, budget("b", &is_x));
	assert_int_equal(state_of(c, "p"), BUDGET_FORBIDS);
	assert_true(cluster_labels_wanted(c));
	read_all_pods(c, "p", &app_y);
	assert_int_equal(state_of(c, "p"), BUDGET_NONE);
	assert_false(cluster_labels_wanted(c));
}

static void test_a_known_key_needs_no_reading(void **state)
{
	struct cluster *c = *state;

	tell(c, budget("b", &is_x));
	tell_pod(c, "p", &app_y);
	assert_int_equal(state_of(c, "p"), BUDGET_NONE);
	tell(c, budget("b", &is_not_x));
	assert_int_equal(state_of(c, "p"), BUDGET_ALLOWS);
	tell(c, budget("c", &has_app));
	assert_int_equal(state_of(c, "p"), BUDGET_SEVERAL);
	assert_false(cluster_labels_wanted(c));
}

static void test_a_selector_without_keys_needs_no_reading(void **state)
{
	struct cluster *c = *state;

	tell_pod(c, "p", &app_y);
	tell(c, budget("b", NULL));
	assert_int_equal(state_of(c, "p"), BUDGET_ALLOWS);
	assert_false(cluster_labels_wanted(c));
}

static void test_a_reading_that_breaks_off_is_still_wanted(void **state)
{
	struct cluster *c = *state;

	tell_pod(c, "p", &app_y);
	tell(c, budget("b", &is_x));
	cluster_begin_replace(c, CLUSTER_PODS);
	assert_false(cluster_labels_wanted(c));
	cluster_abort_replace(c, CLUSTER_PODS);
	assert_true(cluster_labels_wanted(c));
	assert_int_equal(state_of(c, "p"), BUDGET_FORBIDS);
}

static void test_a_key_that_comes_while_pods_are_read_asks_for_another_reading(void **state)
{
	struct cluster *c = *state;

	tell_pod(c, "p", &app_y);
	tell(c, budget("b", &is_x));
	cluster_begin_replace(c, CLUSTER_PODS);
	tell_pod(c, "p", &app_y);
	tell(c, budget("c", &has_role));
	cluster_end_replace(c, CLUSTER_PODS);
	assert_true(cluster_labels_wanted(c));
	assert_int_equal(state_of(c, "p"), BUDGET_FORBIDS);
	read_all_pods(c, "p", &app_y);
	assert_int_equal(state_of(c, "p"), BUDGET_NONE);
}

static void test_labels_of_keys_that_went_mean_nothing(void **state)
{
	struct cluster *c = *state;

	tell(c, budget("b", &is_x));
	tell_pod(c, "p", &app_x);
	cluster_delete(c, CLUSTER_BUDGETS, STR("a"), STR("b"));
	assert_int_equal(state_of(c, "p"), BUDGET_NONE);
	tell(c, budget("all", NULL));
	assert_int_equal(state_of(c, "p"), BUDGET_ALLOWS);
	tell(c, budget("roles", &has_role));
	assert_int_equal(state_of(c, "p"), BUDGET_FORBIDS);
	read_all_pods(c, "p", &app_x);
	assert_int_equal(state_of(c, "p"), BUDGET_ALLOWS);
}

static void test_a_pod_that_cannot_be_read_is_forbidden(void **state)
{
	struct cluster *c = *state;
	struct pod_facts facts = pod_facts();

	tell(c, budget("b", &is_x));
	facts.unreadable = true;
	facts.own = &one_gpu;
	facts.n_own = 1;
	apply_pod(c, facts);
	assert_int_equal(state_of(c, "p"), BUDGET_FORBIDS);
}

static void test_more_keys_or_budgets_than_are_kept_forbid(void **state)
{
	struct cluster *c = *state;
	char name[32];

	for (int i = 0; i <= LIMIT_BUDGET_KEYS; i++) {
		struct label_requirement has = {.op = LABEL_EXISTS};

		snprintf(name, sizeof(name), "key-%d", i);
		has.key = str_from(name);
		tell(c, budget(name, &has));
	}
	tell_pod(c, "p", &app_x);
	assert_int_equal(state_of(c, "p"), BUDGET_FORBIDS);
	cluster_delete(c, CLUSTER_BUDGETS, STR("a"), str_from(name));
	assert_int_equal(state_of(c, "p"), BUDGET_NONE);
	for (int i = 0; i <= LIMIT_BUDGETS_PER_NAMESPACE; i++) {
		snprintf(name, sizeof(name), "more-%d", i);
		tell(c, budget(name, &is_x));
	}
	assert_int_equal(state_of(c, "p"), BUDGET_FORBIDS);
}

/* --- what is left */

static void note(struct cluster *c, const char *pod, enum eviction_outcome outcome)
{
	cluster_note_eviction(c, &(struct eviction){.namespace = STR("a"),
						    .name = str_from(pod),
						    .uid = str_from(pod),
						    .outcome = outcome,
						    .now_us = 0});
}

static void test_a_status_of_an_older_spec_allows_nothing(void **state)
{
	struct cluster *c = *state;
	struct budget_facts facts = budget("b", NULL);

	facts.settled = false;
	facts.allowed = 5;
	tell(c, facts);
	tell_pod(c, "p", NULL);
	assert_int_equal(state_of(c, "p"), BUDGET_FORBIDS);
	facts.settled = true;
	tell(c, facts);
	assert_int_equal(state_of(c, "p"), BUDGET_ALLOWS);
	facts.allowed = 0;
	tell(c, facts);
	assert_int_equal(state_of(c, "p"), BUDGET_FORBIDS);
}

static void test_an_older_version_changes_nothing(void **state)
{
	struct cluster *c = *state;
	struct budget_facts facts = budget("b", NULL);

	facts.resource_version = 7;
	tell(c, facts);
	tell_pod(c, "p", NULL);
	facts.resource_version = 6;
	facts.allowed = 0;
	tell(c, facts);
	assert_int_equal(state_of(c, "p"), BUDGET_ALLOWS);
}

static void test_evictions_that_are_not_seen_yet_count(void **state)
{
	struct cluster *c = *state;
	struct budget_facts facts = budget("b", NULL);
	struct pod_facts gone = pod_facts();
	uint32_t handle;

	facts.allowed = 2;
	tell(c, facts);
	tell_pod(c, "p", NULL);
	tell_pod(c, "q", NULL);
	tell_pod(c, "r", NULL);
	handle = victim_of(c, "r").budget_of;
	assert_int_equal(cluster_budget_left(c, handle), 2);
	note(c, "p", EVICTION_ISSUED);
	assert_int_equal(cluster_budget_left(c, handle), 1);
	note(c, "q", EVICTION_BUDGET);
	assert_int_equal(cluster_budget_left(c, handle), 1);
	note(c, "q", EVICTION_ISSUED);
	assert_int_equal(cluster_budget_left(c, handle), 0);
	assert_int_equal(state_of(c, "r"), BUDGET_FORBIDS);
	/* Its status counts what the watch shows going. */
	facts.allowed = 1;
	tell(c, facts);
	gone.name = gone.uid = STR("p");
	gone.terminating = true;
	apply_pod(c, gone);
	assert_int_equal(cluster_budget_left(c, handle), 0);
	cluster_delete(c, CLUSTER_PODS, STR("a"), STR("q"));
	assert_int_equal(cluster_budget_left(c, handle), 1);
	assert_int_equal(cluster_budget_left(c, TABLE_NONE), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, cluster_setup, cluster_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whom_a_budget_selects),
		TEST(test_other_namespaces_are_not_concerned),
		TEST(test_two_that_select_it_are_several),
		TEST(test_a_full_state_drops_budgets_that_are_gone),
		TEST(test_a_new_key_forbids_until_pods_were_read_anew),
		TEST(test_a_known_key_needs_no_reading),
		TEST(test_a_selector_without_keys_needs_no_reading),
		TEST(test_a_reading_that_breaks_off_is_still_wanted),
		TEST(test_a_key_that_comes_while_pods_are_read_asks_for_another_reading),
		TEST(test_labels_of_keys_that_went_mean_nothing),
		TEST(test_a_pod_that_cannot_be_read_is_forbidden),
		TEST(test_more_keys_or_budgets_than_are_kept_forbid),
		TEST(test_a_status_of_an_older_spec_allows_nothing),
		TEST(test_an_older_version_changes_nothing),
		TEST(test_evictions_that_are_not_seen_yet_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
