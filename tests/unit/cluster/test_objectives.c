/* SPDX-License-Identifier: Apache-2.0 */
/* What the cluster keeps of objectives: whose verdict goes on, whose begins anew, who is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/macros.h"
#include "cluster/tenants/objectives.h"
#include "pod_world.h"
#include "tenant_world.h"

#define SEC 1000000LL

static const struct objective_spec latency = {.name = {"latency", 7},
					      .preset = PRESET_TGI_REQUEST,
					      .percentile = 95,
					      .threshold = 200000,
					      .for_us = 5 * SEC};

static void tell(struct cluster *c, const struct objective_spec *objectives, size_t n,
		 uint64_t version)
{
	struct tenant_facts facts = tenant_of("t", 1, &is_ml);
	struct error err;

	facts.resource_version = version;
	facts.spec.objectives = objectives;
	facts.spec.n_objectives = n;
	facts.spec.pending_us = 60 * SEC;
	if (cluster_apply_tenant(c, &facts, &err) < 0)
		fail_msg("%s", err.message);
}

static struct slo_moment at(int64_t s)
{
	return (struct slo_moment){s * SEC, 1700000000 * SEC + s * SEC, SEC};
}

/* So many readings from second @from on; true where the last one changed the state. */
static bool read_values(struct cluster *c, size_t index, double value, int64_t from, int n)
{
	uint32_t tenant = cluster_tenant_find(c, STR("t"));
	bool changed = false;

	for (int i = 0; i < n; i++) {
		const struct slo_moment moment = at(from + i);
		const struct slo_point point = {value, 1, moment.real_us,
						cluster_point_pod(c, STR("a"), STR("p")), false};
		const struct slo_reading reading = {.points = &point, .n_points = 1};

		changed = cluster_take_reading(c, tenant, index, &reading, &moment);
	}
	return changed;
}

static struct cluster_objective look(struct cluster *c, size_t index)
{
	return cluster_objective(c, cluster_tenant_find(c, STR("t")), index);
}

static void take_all(struct cluster *c)
{
	uint32_t tenant;

	while (cluster_take_dirty_tenant(c, &tenant))
		;
}

static bool is_dirty(struct cluster *c)
{
	uint32_t tenant;

	return cluster_take_dirty_tenant(c, &tenant);
}

static void test_a_verdict_is_kept_with_its_pod(void **state)
{
	struct cluster *c = *state;
	struct pod_facts pod = pod_facts();

	struct tenant_lookup lookup;
	struct arena arena;

	tell(c, &latency, 1, 1);
	arena_init(&arena, LIMIT_DECODE_ARENA);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(lookup.n_objectives, 1);
	assert_int_equal(lookup.facts.spec.n_objectives, 1);
	assert_true(objective_spec_equal(lookup.facts.spec.objectives, &latency));
	assert_int_equal(lookup.facts.spec.pending_us, 60 * SEC);
	arena_clear(&arena);
	apply_pod(c, pod);
	assert_int_equal(cluster_pending_us(c, cluster_tenant_find(c, STR("t"))), 60 * SEC);
	assert_true(read_values(c, 0, 0.1, 1, 3));
	assert_int_equal(look(c, 0).verdict->state, OBJECTIVE_MET);
	assert_int_not_equal(look(c, 0).pod, TABLE_NONE);
	/* Another pod of its name is another pod. */
	pod.uid = STR("99999999-2222-3333-4444-555555555555");
	pod.resource_version += 10;
	apply_pod(c, pod);
	assert_int_equal(look(c, 0).pod, TABLE_NONE);
	assert_int_equal(cluster_point_pod(c, STR("a"), STR("other")), 0);
}

static void test_its_tenant_is_told_of_news_alone(void **state)
{
	struct cluster *c = *state;

	tell(c, &latency, 1, 1);
	take_all(c);
	read_values(c, 0, 0.1, 1, 3);
	assert_true(is_dirty(c));
	take_all(c);
	read_values(c, 0, 0.1001, 4, 3); /* rounded, it is the same */
	assert_false(is_dirty(c));
	read_values(c, 0, 0.11, 7, 3); /* a value alone has time */
	assert_false(is_dirty(c));
	read_values(c, 0, 0.11, 10, 30);
	assert_true(is_dirty(c));
	take_all(c);
	read_values(c, 0, 0.3, 40, 9);
	assert_int_equal(look(c, 0).verdict->state, OBJECTIVE_VIOLATED);
	assert_true(is_dirty(c));
}

static void test_what_did_not_change_goes_on(void **state)
{
	struct objective_spec two[] = {latency, latency};
	struct cluster *c = *state;

	two[0].name = STR("new");
	tell(c, &latency, 1, 1);
	read_values(c, 0, 0.1, 1, 3);
	tell(c, two, 2, 2);
	assert_int_equal(cluster_objective_count(c, cluster_tenant_find(c, STR("t"))), 2);
	assert_int_equal(look(c, 0).verdict->reason, OBJECTIVE_REASON_RESTARTED);
	assert_int_equal(look(c, 1).verdict->state, OBJECTIVE_MET);
	two[1].threshold = 300000;
	tell(c, two, 2, 3);
	assert_int_equal(look(c, 1).verdict->state, OBJECTIVE_UNKNOWN);
}

static void test_who_begins_to_lead_begins_anew(void **state)
{
	struct cluster *c = *state;

	tell(c, &latency, 1, 1);
	read_values(c, 0, 0.3, 1, 9);
	assert_int_equal(look(c, 0).verdict->state, OBJECTIVE_VIOLATED);
	take_all(c);
	cluster_forget_verdicts(c);
	assert_int_equal(look(c, 0).verdict->reason, OBJECTIVE_REASON_RESTARTED);
	assert_true(is_dirty(c));
}

static void test_a_spec_that_is_not_in_force_has_none(void **state)
{
	struct tenant_facts facts = tenant_of("t", 1, &is_ml);
	struct cluster *c = *state;
	struct error err;

	facts.resource_version = 2;
	facts.spec.objectives = &latency;
	facts.spec.n_objectives = 1;
	tell(c, &latency, 1, 1);
	facts.invalid = "it is odd";
	assert_int_equal(cluster_apply_tenant(c, &facts, &err), 0);
	assert_int_equal(cluster_objective_count(c, cluster_tenant_find(c, STR("t"))), 0);
	assert_int_equal(cluster_pending_us(c, cluster_tenant_find(c, STR("t"))), AMOUNT_NONE);
}

static void test_what_is_silent_for_too_long_is_unknown(void **state)
{
	struct cluster *c = *state;
	struct slo_moment soon = at(12), late = at(20);

	tell(c, &latency, 1, 1);
	read_values(c, 0, 0.1, 0, 10);
	assert_int_equal(look(c, 0).verdict->state, OBJECTIVE_MET);
	take_all(c);
	assert_false(cluster_pass_readings(c, &soon));
	assert_false(is_dirty(c));
	assert_true(cluster_pass_readings(c, &late));
	assert_true(is_dirty(c));
	assert_int_equal(look(c, 0).verdict->state, OBJECTIVE_UNKNOWN);
	assert_int_equal(look(c, 0).verdict->reason, OBJECTIVE_REASON_STALE);
	assert_false(cluster_pass_readings(c, &late));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, cluster_setup, cluster_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_a_verdict_is_kept_with_its_pod),
		TEST(test_its_tenant_is_told_of_news_alone),
		TEST(test_what_did_not_change_goes_on),
		TEST(test_who_begins_to_lead_begins_anew),
		TEST(test_what_is_silent_for_too_long_is_unknown),
		TEST(test_a_spec_that_is_not_in_force_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
