/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that go together or not at all, and tricks with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "cluster/internal.h"
#include "cluster/leaving/victims.h"
#include "model/receipt.h"
#include "pod_world.h"

#define TODAY (1800000000LL * USEC_PER_SEC)

/* A pod of a gang, of namespace "a", running for a minute. */
static struct pod_facts member(const char *name, const char *owner_kind, const char *owner,
			       const char *gang)
{
	struct pod_facts facts = pod_facts();

	facts.name = facts.uid = str_from(name);
	facts.owner_kind = str_from(owner_kind);
	facts.owner_name = str_from(owner);
	facts.exit.started_us = TODAY - 60 * USEC_PER_SEC;
	facts.exit.gang = GANG_KUEUE;
	facts.exit.gang_name = str_from(gang);
	return facts;
}

static struct cluster_victim victim_of(struct cluster *c, const char *name)
{
	struct cluster_victim victim;

	cluster_victim(c, pod_find(c, STR("a"), str_from(name)), 0, TODAY, &victim);
	return victim;
}

/* How many pods a walk through the gang of @name meets; 1 for none. */
static size_t together(struct cluster *c, const char *name)
{
	uint32_t gang = victim_of(c, name).gang;
	size_t n = 0;

	if (gang == TABLE_NONE)
		return 1;
	for (uint32_t pod = cluster_gang_pod(c, gang); pod != TABLE_NONE;
	     pod = cluster_gang_next(c, pod))
		n++;
	return n;
}

static void who_is_in_a_gang_together(void **state)
{
	static const struct {
		const char *what, *gang, *owners[3];
		size_t together;
	} cases[] = {
		{"pods of one job", "g", {"Job/x", "Job/x", "Job/x"}, 3},
		{"pods that nobody owns", "g", {"/", "/", "/"}, 3},
		{"jobs named after their set",
		 "set",
		 {"Job/set-a-0", "Job/set-a-1", "Job/set-b-0"},
		 3},
		{"a leader's and its workers' StatefulSets",
		 "llm-0",
		 {"StatefulSet/llm", "StatefulSet/llm-0", "StatefulSet/llm-0"},
		 3},
		{"a gang named after the job and its uid",
		 "job-4a7d",
		 {"Job/job", "Job/job", "Job/job"},
		 3},
		{"workloads that have the name alone in common",
		 "all",
		 {"Job/x", "Job/y", "Job/z"},
		 1},
		{"two of one workload, one of another", "all", {"Job/x", "Job/x", "Job/y"}, 2},
		{"a name that only begins alike",
		 "set",
		 {"Job/set", "Job/settle", "Job/settle"},
		 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(cluster_free) struct cluster *c = cluster_new(&(struct hash_key){1, 2});
		char kind[32], name[16];

		for (int k = 0; k < 3; k++) {
			const char *slash = strchr(cases[i].owners[k], '/');

			snprintf(kind, sizeof(kind), "%.*s", (int)(slash - cases[i].owners[k]),
				 cases[i].owners[k]);
			snprintf(name, sizeof(name), "%d", k);
			apply_pod(c, member(name, kind, slash + 1, cases[i].gang));
		}
		if (together(c, "0") != cases[i].together)
			fail_msg("%s: %zu", cases[i].what, together(c, "0"));
	}
	(void)state;
}

static void test_gangs_of_two_namespaces_or_systems_are_two(void **state)
{
	struct cluster *c = *state;
	struct pod_facts facts = member("1", "", "", "g");

	apply_pod(c, member("0", "", "", "g"));
	facts.exit.gang = GANG_VOLCANO;
	apply_pod(c, facts);
	assert_int_equal(together(c, "0"), 1);
	facts = member("0", "", "", "g");
	facts.namespace = STR("b");
	apply_pod(c, facts);
	assert_int_equal(together(c, "0"), 1);
}

static void test_who_is_finished_or_renamed_leaves(void **state)
{
	struct cluster *c = *state;
	struct pod_facts facts = member("1", "", "", "g");

	apply_pod(c, member("0", "", "", "g"));
	apply_pod(c, facts);
	apply_pod(c, member("2", "", "", "g"));
	assert_int_equal(together(c, "0"), 3);
	facts.phase = POD_SUCCEEDED;
	apply_pod(c, facts);
	assert_int_equal(together(c, "0"), 2);
	apply_pod(c, member("2", "", "", "h"));
	assert_int_equal(together(c, "0"), 1);
	apply_pod(c, member("2", "", "", "g"));
	assert_int_equal(together(c, "0"), 2);
	cluster_delete(c, CLUSTER_PODS, STR("a"), STR("0"));
	assert_int_equal(together(c, "2"), 1);
}

static void test_who_cannot_be_read_any_more_stays(void **state)
{
	struct cluster *c = *state;
	struct pod_facts facts = member("1", "", "", "g");

	apply_pod(c, member("0", "", "", "g"));
	apply_pod(c, facts);
	facts.exit = (struct pod_exit){0};
	facts.unreadable = true;
	apply_pod(c, facts);
	assert_int_equal(together(c, "0"), 2);
	assert_int_equal(victim_of(c, "1").started_us, TODAY - 60 * USEC_PER_SEC);
}

static void test_a_gang_larger_than_a_plan_exempts_nobody(void **state)
{
	struct cluster *c = *state;
	char name[16];

	for (int i = 0; i < RECEIPT_VICTIMS; i++) {
		snprintf(name, sizeof(name), "%d", i);
		apply_pod(c, member(name, "Job", "x", "g"));
	}
	assert_int_equal(together(c, "0"), RECEIPT_VICTIMS);
	apply_pod(c, member("more", "Job", "x", "g"));
	assert_int_equal(victim_of(c, "0").gang, TABLE_NONE);
	assert_int_equal(victim_of(c, "more").gang, TABLE_NONE);
	cluster_delete(c, CLUSTER_PODS, STR("a"), STR("more"));
	assert_int_equal(together(c, "0"), RECEIPT_VICTIMS);
}

static void test_a_pod_made_anew_keeps_no_gang_young(void **state)
{
	struct cluster *c = *state;
	struct pod_facts facts = member("1", "", "", "g");

	facts.exit.started_us = TODAY - USEC_PER_SEC;
	apply_pod(c, member("0", "", "", "g"));
	apply_pod(c, facts);
	assert_int_equal(victim_of(c, "1").started_us, TODAY - 60 * USEC_PER_SEC);
	facts = member("0", "", "", "g");
	facts.terminating = true;
	apply_pod(c, facts);
	assert_int_equal(victim_of(c, "1").started_us, TODAY - USEC_PER_SEC);
}

static void test_a_gang_has_the_newest_checkpoint_of_its_pods(void **state)
{
	struct cluster *c = *state;
	struct pod_facts facts = member("1", "", "", "g");

	facts.exit.checkpoint_us = TODAY - 10 * USEC_PER_SEC;
	apply_pod(c, member("0", "", "", "g"));
	apply_pod(c, facts);
	assert_int_equal(victim_of(c, "0").checkpoint_us, facts.exit.checkpoint_us);
}

static void test_a_checkpoint_that_cannot_be_is_none(void **state)
{
	static const struct {
		int64_t at_us, counts_us;
	} cases[] = {
		{TODAY - 10 * USEC_PER_SEC, TODAY - 10 * USEC_PER_SEC},
		{TODAY, TODAY},
		{TODAY + USEC_PER_SEC, 0},
		{TODAY - 61 * USEC_PER_SEC, 0},
		{INT64_MAX, 0},
		{0, 0},
	};
	struct cluster *c = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pod_facts facts = member("p", "", "", "g");

		facts.exit.checkpoint_us = cases[i].at_us;
		apply_pod(c, facts);
		assert_int_equal(victim_of(c, "p").checkpoint_us, cases[i].counts_us);
	}
}

static void test_who_made_a_pod_tells_whether_it_may_go(void **state)
{
	struct cluster *c = *state;
	struct pod_facts facts = member("p", "DaemonSet", "d", "");

	facts.exit.grace_us = 45 * USEC_PER_SEC;
	apply_pod(c, facts);
	assert_true(victim_of(c, "p").daemon);
	assert_false(victim_of(c, "p").mirror);
	assert_int_equal(victim_of(c, "p").grace_us, 45 * USEC_PER_SEC);
	facts = member("p", "Node", "n", "");
	facts.exit.mirror = true;
	apply_pod(c, facts);
	assert_true(victim_of(c, "p").mirror);
	assert_false(victim_of(c, "p").daemon);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, cluster_setup, cluster_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_in_a_gang_together),
		TEST(test_gangs_of_two_namespaces_or_systems_are_two),
		TEST(test_who_is_finished_or_renamed_leaves),
		TEST(test_who_cannot_be_read_any_more_stays),
		TEST(test_a_gang_larger_than_a_plan_exempts_nobody),
		TEST(test_a_pod_made_anew_keeps_no_gang_young),
		TEST(test_a_gang_has_the_newest_checkpoint_of_its_pods),
		TEST(test_a_checkpoint_that_cannot_be_is_none),
		TEST(test_who_made_a_pod_tells_whether_it_may_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
