/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a pod as one that might go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "cluster/leaving/victims.h"
#include "cluster/ledger/holders.h"
#include "pod_world.h"
#include "tenant_world.h"

#define NOW_US (1000LL * USEC_PER_SEC) /* monotonic */
#define TODAY  (1800000000LL * USEC_PER_SEC)

static uint32_t pod_named(struct cluster *c, const char *name)
{
	return pod_find(c, STR("a"), str_from(name));
}

static struct cluster_victim victim_at(struct cluster *c, const char *name, int64_t now_us)
{
	struct cluster_victim victim;
	uint32_t namespace = handle_of(c, "a");

	cluster_refresh(c, namespace);
	cluster_victim(c, pod_named(c, name), now_us, TODAY, &victim);
	return victim;
}

static void note(struct cluster *c, enum eviction_outcome outcome)
{
	cluster_note_eviction(c, &(struct eviction){.namespace = STR("a"),
						    .name = STR("p"),
						    .uid = STR(POD_UID),
						    .outcome = outcome,
						    .now_us = NOW_US});
}

static void test_a_pod_holds_what_it_is_charged(void **state)
{
	struct cluster *c = *state;
	struct pod_facts pod = pod_facts();
	struct cluster_victim victim;

	pod.created_us = TODAY - 60 * USEC_PER_SEC;
	pod.owner_kind = STR("Job");
	pod.owner_name = STR("train");
	apply_node(c, node_facts());
	apply_pod(c, pod);
	victim = victim_at(c, "p", NOW_US);
	assert_int_equal(victim.charge, 80 * GIB);
	assert_int_equal(victim.gpus, 1);
	assert_int_equal(victim.tenant, TABLE_NONE);
	assert_int_equal(victim.started_us, pod.created_us);
	assert_int_equal(victim.busy, AMOUNT_UNKNOWN);
	assert_true(victim.running);
	assert_false(victim.finished || victim.terminating || victim.borrowing);
	assert_string_equal(cluster_name(c, victim.owner), "Job/train");
	pod.phase = POD_SUCCEEDED;
	apply_pod(c, pod);
	assert_true(victim_at(c, "p", NOW_US).finished);
}

static void test_the_tenant_of_its_namespace_tells_its_tier(void **state)
{
	struct cluster *c = *state;

	struct tenant_facts facts = tenant_of("t", 1, &is_ml);

	facts.spec.preemptible.grace_us = 7;
	tell_namespace(c, "a", &ml);
	assert_int_equal(cluster_apply_tenant(c, &facts, NULL), 0);
	apply_node(c, node_facts());
	apply_pod(c, pod_facts());
	assert_tenant(c, "a", "t");
	assert_int_equal(victim_at(c, "p", NOW_US).tenant, cluster_tenant_find(c, STR("t")));
	assert_int_equal(victim_at(c, "p", NOW_US).tier, TIER_TRAINING);
	assert_int_equal(victim_at(c, "p", NOW_US).preemptible.grace_us, 7);
}

static void test_it_borrows_where_more_is_used_than_was_granted(void **state)
{
	struct cluster *c = *state;
	struct tenant_grant grant = {
		.granted = 100 * GIB, .borrowed = 60 * GIB, .effective = 160 * GIB};

	tell_namespace(c, "a", &ml);
	tell_quota(c, "a", spec_of(160 * GIB), NULL);
	tell_tenant(c, "t", 1, &is_ml);
	apply_node(c, node_facts());
	apply_pod(c, pod_facts());
	assert_tenant(c, "a", "t");
	tell_grant(c, "t", "a", grant);
	assert_false(victim_at(c, "p", NOW_US).borrowing);
	grant.granted = 20 * GIB;
	tell_grant(c, "t", "a", grant);
	assert_true(victim_at(c, "p", NOW_US).borrowing);
	grant.borrowed = 0;
	tell_grant(c, "t", "a", grant);
	assert_false(victim_at(c, "p", NOW_US).borrowing);
}

static void test_an_eviction_that_was_issued_is_under_way(void **state)
{
	struct cluster *c = *state;

	apply_node(c, node_facts());
	apply_pod(c, pod_facts());
	note(c, EVICTION_ISSUED);
	assert_true(victim_at(c, "p", NOW_US).terminating);
	assert_null(victim_at(c, "p", NOW_US).refused);
	assert_false(victim_at(c, "p", NOW_US + EVICTION_SHOWN_US).terminating);
}

static void test_an_eviction_that_was_not_answered_is_under_way_for_a_moment(void **state)
{
	struct cluster *c = *state;

	apply_node(c, node_facts());
	apply_pod(c, pod_facts());
	note(c, EVICTION_UNANSWERED);
	assert_true(victim_at(c, "p", NOW_US + EVICTION_UNANSWERED_US - 1).terminating);
	assert_false(victim_at(c, "p", NOW_US + EVICTION_UNANSWERED_US).terminating);
	assert_null(victim_at(c, "p", NOW_US).refused);
}

static void test_a_refusal_is_told_until_it_may_be_asked_again(void **state)
{
	struct cluster *c = *state;

	apply_node(c, node_facts());
	apply_pod(c, pod_facts());
	note(c, EVICTION_BUDGET);
	assert_string_equal(victim_at(c, "p", NOW_US).refused,
			    "a PodDisruptionBudget allows no eviction now");
	assert_false(victim_at(c, "p", NOW_US).terminating);
	assert_null(victim_at(c, "p", NOW_US + EVICTION_BACKOFF_US).refused);
}

static void tell_job(struct cluster *c, const char *name, bool final)
{
	struct job_facts facts = {.namespace = STR("a"), .name = str_from(name), .final = final};

	assert_int_equal(cluster_apply_job(c, &facts, NULL), 0);
}

static void test_whose_run_ends_for_good(void **state)
{
	struct cluster *c = *state;
	struct pod_facts pod = pod_facts();

	apply_pod(c, pod);
	assert_false(victim_at(c, "p", NOW_US).final);
	pod.owner_kind = STR("Job");
	pod.owner_name = STR("train");
	apply_pod(c, pod);
	assert_false(victim_at(c, "p", NOW_US).final);
	tell_job(c, "train", true);
	tell_job(c, "other", true);
	assert_true(victim_at(c, "p", NOW_US).final);
	tell_job(c, "train", false);
	assert_false(victim_at(c, "p", NOW_US).final);
	tell_job(c, "train", true);
	cluster_delete(c, CLUSTER_JOBS, STR("a"), STR("train"));
	assert_false(victim_at(c, "p", NOW_US).final);
	tell_job(c, "train", true);
	cluster_begin_replace(c, CLUSTER_JOBS);
	tell_job(c, "other", true);
	cluster_end_replace(c, CLUSTER_JOBS);
	assert_false(victim_at(c, "p", NOW_US).final);
	pod.owner_kind = STR("MPIJob");
	pod.owner_name = STR("other");
	apply_pod(c, pod);
	assert_false(victim_at(c, "p", NOW_US).final);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, cluster_setup, cluster_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_pod_holds_what_it_is_charged),
		TEST(test_the_tenant_of_its_namespace_tells_its_tier),
		TEST(test_it_borrows_where_more_is_used_than_was_granted),
		TEST(test_an_eviction_that_was_issued_is_under_way),
		TEST(test_an_eviction_that_was_not_answered_is_under_way_for_a_moment),
		TEST(test_whose_run_ends_for_good),
		TEST(test_a_refusal_is_told_until_it_may_be_asked_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
