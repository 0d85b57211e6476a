/* SPDX-License-Identifier: Apache-2.0 */
/* Tenants, case by case: whose a namespace is, and who is to be looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/macros.h"
#include "tenant_world.h"

static int setup(void **state)
{
	const struct hash_key key = {1, 2};

	*state = cluster_new(&key);
	return 0;
}

static int teardown(void **state)
{
	cluster_free(*state);
	return 0;
}

/* --- receipts */

static struct tenant_facts with_receipts(const struct receipt *receipts, size_t n, uint64_t version)
{
	struct tenant_facts facts = {.name = STR("t"), .uid = STR("u"), .created_us = 1};

	facts.resource_version = version;
	facts.spec.ceiling = facts.spec.ceiling_gpus = AMOUNT_NONE;
	facts.status.receipts = receipts;
	facts.status.n_receipts = n;
	return facts;
}

/* No two numbers are alike, so that none is read in place of another. */
static void test_what_a_spec_says_is_read_as_it_was(void **state)
{
	struct objective_spec objective = {.name = STR("ttft")};
	struct tenant_facts facts = with_receipts(NULL, 0, 1);
	struct tenant_lookup lookup;
	struct cluster *c = *state;
	struct arena arena;
	uint32_t tenant;

	arena_init(&arena, LIMIT_DECODE_ARENA);
	facts.spec.protection.cooldown_us = 101;
	facts.spec.preemptible.checkpoint_credit_us = 102;
	facts.spec.pending_us = 103;
	facts.spec.objectives = &objective;
	facts.spec.n_objectives = 1;
	facts.spec.isolation = (struct isolation_spec){104, 105, 106};
	facts.spec.feedback =
		(struct feedback_spec){FEEDBACK_ALERT, 107, 108, 109, true, false, 110, 111};
	facts.has_status = true;
	facts.status.throttle = (struct throttle){THROTTLE_REST, 100, 5, 112, 113, 3};
	assert_int_equal(cluster_apply_tenant(c, &facts, NULL), 0);
	assert_true(cluster_take_dirty_tenant(c, &tenant));
	cluster_refresh_tenant(c, tenant);
	assert_int_equal(cluster_tenant_view(c, tenant, &arena, &lookup, NULL), 0);
	assert_int_equal(lookup.facts.spec.protection.cooldown_us, 101);
	assert_int_equal(lookup.facts.spec.preemptible.checkpoint_credit_us, 102);
	assert_int_equal(lookup.facts.spec.pending_us, 103);
	assert_int_equal(lookup.facts.spec.n_objectives, 1);
	assert_true(str_equal(lookup.facts.spec.objectives[0].name, objective.name));
	assert_int_equal(lookup.facts.spec.isolation.memory_overshoot, 106);
	assert_int_equal(lookup.facts.spec.feedback.mode, FEEDBACK_ALERT);
	assert_int_equal(lookup.facts.spec.feedback.floor, 109);
	assert_true(lookup.facts.spec.feedback.evict_offender);
	assert_int_equal(lookup.facts.spec.feedback.override_until_us, 111);
	assert_true(throttle_equal(&lookup.facts.status.throttle, &facts.status.throttle));
	arena_clear(&arena);
}

static void test_receipts_are_kept_and_their_change_is_news(void **state)
{
	const struct receipt_pod victim = {.namespace = STR("a"), .name = STR("v"), .lost = 7};
	struct receipt receipt = {.id = STR("one"),
				  .outcome = RECEIPT_ISSUED,
				  .cards = UINT64_C(1) << 63,
				  .node = STR("n"),
				  .victims = &victim,
				  .n_victims = 1};
	struct tenant_facts facts = with_receipts(&receipt, 1, 1);
	const struct receipt *seen;
	struct cluster *c = *state;
	struct arena arena;
	uint32_t tenant;
	size_t n;

	arena_init(&arena, LIMIT_DECODE_ARENA);
	assert_int_equal(cluster_apply_tenant(c, &facts, NULL), 0);
	assert_true(cluster_take_dirty_tenant(c, &tenant));
	facts.resource_version = 2;
	assert_int_equal(cluster_apply_tenant(c, &facts, NULL), 0);
	assert_false(cluster_take_dirty_tenant(c, &tenant));
	receipt.outcome = RECEIPT_HELPED;
	facts.resource_version = 3;
	assert_int_equal(cluster_apply_tenant(c, &facts, NULL), 0);
	assert_true(cluster_take_dirty_tenant(c, &tenant));
	assert_true(cluster_tenant_receipts(c, tenant, &arena, &seen, &n));
	assert_int_equal(n, 1);
	assert_int_equal(seen->outcome, RECEIPT_HELPED);
	assert_int_equal(seen->cards, receipt.cards);
	assert_int_equal(seen->victims[0].lost, 7);
	assert_true(str_equal(seen->victims[0].name, victim.name));
	facts = with_receipts(NULL, 0, 4);
	assert_int_equal(cluster_apply_tenant(c, &facts, NULL), 0);
	assert_true(cluster_take_dirty_tenant(c, &tenant));
	assert_true(cluster_tenant_receipts(c, tenant, &arena, &seen, &n));
	assert_int_equal(n, 0);
	arena_clear(&arena);
}

/* Each is read where it was written. */
static void test_the_last_fields_of_a_spec_are_kept_as_they_are(void **state)
{
	struct tenant_facts facts = with_receipts(NULL, 0, 1), seen = {0};
	struct cluster *c = *state;
	struct arena arena;

	arena_init(&arena, LIMIT_DECODE_ARENA);
	facts.spec.topology =
		(struct topology_spec){TOPOLOGY_REQUIRED, LAYOUT_NVLINK, MISMATCH_MIGRATE};
	facts.spec.protection = (struct protection_spec){PROTECTION_DRY_RUN, 1, 2, 3, 4, 5};
	facts.spec.preemptible = (struct preemptible_spec){6, 7, 8};
	facts.spec.pending_us = 9;
	assert_int_equal(cluster_apply_tenant(c, &facts, NULL), 0);
	assert_true(cluster_tenant_facts(c, cluster_tenant_find(c, STR("t")), &arena, &seen));
	assert_int_equal(seen.spec.topology.on_mismatch, MISMATCH_MIGRATE);
	assert_int_equal(seen.spec.protection.mode, PROTECTION_DRY_RUN);
	assert_int_equal(seen.spec.protection.victim_tiers, 1);
	assert_int_equal(seen.spec.protection.per_minute, 2);
	assert_int_equal(seen.spec.protection.cooldown_us, 3);
	assert_int_equal(seen.spec.protection.observation_us, 4);
	assert_int_equal(seen.spec.protection.min_run_us, 5);
	assert_int_equal(seen.spec.preemptible.grace_us, 6);
	assert_int_equal(seen.spec.preemptible.min_run_us, 7);
	assert_int_equal(seen.spec.preemptible.checkpoint_credit_us, 8);
	assert_int_equal(seen.spec.pending_us, 9);
	assert_memory_equal(&seen.spec.feedback, &facts.spec.feedback, sizeof(facts.spec.feedback));
	arena_clear(&arena);
}

/* --- whose a namespace is */

static void test_a_selector_takes_what_it_matches(void **state)
{
	static const struct {
		const char *name;
		const struct label_requirement *selector;
		const char *of_ml, *of_web, *of_bare;
	} cases[] = {
		{"one value", &is_ml, "t", NULL, NULL},
		{"one of two values", &is_either, "t", "t", NULL},
		{"any value", &has_team, "t", "t", NULL},
		{"another value or none", &is_not_ml, NULL, "t", "t"},
		{"none", &has_no_team, NULL, NULL, "t"},
		{"an empty selector", NULL, NULL, NULL, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cluster *c = *state;

		print_message("%s\n", cases[i].name);
		tell_tenant(c, "t", 1, cases[i].selector);
		tell_namespace(c, "a", &ml);
		tell_namespace(c, "b", &web);
		tell_namespace(c, "c", NULL);
		tell_namespace(c, "kube-system", NULL);
		assert_tenant(c, "kube-system", NULL);
		assert_tenant(c, "a", cases[i].of_ml);
		assert_tenant(c, "b", cases[i].of_web);
		assert_tenant(c, "c", cases[i].of_bare);
	}
}

static void test_the_oldest_has_it_and_the_others_say_so(void **state)
{
	struct cluster *c = *state;
	struct arena arena = {0};
	struct tenant_lookup lookup;
	struct tenant_facts old = tenant_of("old", 1, &is_ml);

	tell_namespace(c, "a", &ml);
	tell_tenant(c, "young", 5, &has_team);
	tell_tenant(c, "young-too", 5, &is_ml);
	assert_tenant(c, "a", "young");
	tell_tenant(c, "old", 1, &is_ml);
	assert_tenant(c, "a", "old");
	lookup = look_at(c, "young-too", &arena);
	assert_int_equal(lookup.view.n_members, 0);
	assert_int_equal(lookup.elsewhere.n, 1);
	assert_true(str_equal(lookup.elsewhere.namespace, STR("a")));
	assert_true(str_equal(lookup.elsewhere.tenant, STR("old")));
	assert_takes(c, "young young-too old");

	old.terminating = true;
	assert_int_equal(cluster_apply_tenant(c, &old, NULL), 0);
	assert_tenant(c, "a", "young");
	assert_takes(c, "old young young-too");
	cluster_delete(c, CLUSTER_TENANTS, STR_NONE, STR("young"));
	assert_tenant(c, "a", "young-too");
	tell_namespace(c, "a", &web);
	assert_tenant(c, "a", NULL);
	cluster_delete(c, CLUSTER_NAMESPACES, STR_NONE, STR("a"));
	arena_clear(&arena);
}

static void assert_topology(struct cluster *c, const char *namespace, struct topology_spec expected)
{
	struct topology_spec spec;

	cluster_refresh(c, handle_of(c, namespace));
	spec = cluster_topology_of(c, handle_of(c, namespace));
	assert_int_equal(spec.policy, expected.policy);
	assert_int_equal(spec.scope, expected.scope);
	assert_int_equal(spec.on_mismatch, expected.on_mismatch);
}

static void test_a_namespace_has_the_topology_of_its_tenant(void **state)
{
	struct topology_spec strict = {TOPOLOGY_REQUIRED, LAYOUT_NVLINK, MISMATCH_MIGRATE};
	struct tenant_facts facts = tenant_of("t", 1, &is_ml);
	struct cluster *c = *state;

	facts.spec.topology = strict;
	assert_int_equal(cluster_apply_tenant(c, &facts, NULL), 0);
	tell_namespace(c, "a", &ml);
	tell_namespace(c, "b", &web);
	assert_topology(c, "a", strict);
	assert_topology(c, "b", TOPOLOGY_SPEC_DEFAULT);
	facts.spec.topology.policy = TOPOLOGY_PREFERRED;
	facts.resource_version++;
	assert_int_equal(cluster_apply_tenant(c, &facts, NULL), 0);
	assert_topology(
		c, "a",
		(struct topology_spec){TOPOLOGY_PREFERRED, LAYOUT_NVLINK, MISMATCH_MIGRATE});
	cluster_delete(c, CLUSTER_TENANTS, STR_NONE, STR("t"));
	assert_topology(c, "a", TOPOLOGY_SPEC_DEFAULT);
	assert_int_equal(cluster_topology_of(c, TABLE_NONE).policy, TOPOLOGY_NONE);
}

static void test_a_namespace_that_is_gone_is_nobodys(void **state)
{
	struct cluster *c = *state;
	struct arena arena = {0};

	tell_namespace(c, "a", &ml);
	tell_quota(c, "a", spec_of(GIB), NULL);
	tell_tenant(c, "t", 1, &is_ml);
	assert_tenant(c, "a", "t");
	cluster_delete(c, CLUSTER_NAMESPACES, STR_NONE, STR("a"));
	assert_tenant(c, "a", NULL);
	assert_int_equal(look_at(c, "t", &arena).view.n_members, 0);
	arena_clear(&arena);
}

static void test_more_than_it_may_select_are_not_told(void **state)
{
	struct cluster *c = *state;
	struct tenant_summary summary;
	char name[32];

	tell_namespace(c, "a", &ml);
	for (int i = 0; i < LIMIT_SELECTING_TENANTS + 8; i++) {
		snprintf(name, sizeof(name), "t%02d", i);
		tell_tenant(c, name, 100 - i, &is_ml);
	}
	assert_tenant(c, "a", "t71");
	cluster_tenant_summary(c, cluster_tenant_find(c, STR("t08")), &summary);
	assert_int_equal(summary.n_elsewhere, 1);
	cluster_tenant_summary(c, cluster_tenant_find(c, STR("t07")), &summary);
	assert_int_equal(summary.n_elsewhere, 0);
}

static void test_a_replace_drops_what_it_does_not_tell(void **state)
{
	struct cluster *c = *state;
	struct cluster_stats stats;

	tell_namespace(c, "a", &ml);
	tell_tenant(c, "t", 1, &is_ml);
	tell_tenant(c, "u", 2, &is_ml);
	assert_tenant(c, "a", "t");
	cluster_begin_replace(c, CLUSTER_TENANTS);
	tell_tenant(c, "u", 2, &is_ml);
	cluster_end_replace(c, CLUSTER_TENANTS);
	assert_tenant(c, "a", "u");
	cluster_begin_replace(c, CLUSTER_TENANTS);
	cluster_end_replace(c, CLUSTER_TENANTS);
	assert_tenant(c, "a", NULL);
	assert_takes(c, "t u");
	cluster_stats(c, &stats);
	assert_int_equal(stats.objects[CLUSTER_TENANTS], 0);
	assert_int_equal(cluster_tenant_next(c, 0), TABLE_NONE);
}

/* --- who is dirty */

static void test_what_a_decision_reads_marks_the_tenant(void **state)
{
	struct cluster *c = *state;
	struct tenant_facts t = tenant_of("t", 1, &is_ml);
	struct quota_status status = {.tenant = STR("t"), .effective = GIB, .used = 5};
	struct quota_spec spec = spec_of(GIB);
	static const struct resource_amount gpu = {{"nvidia.com/gpu", 14}, 1};
	struct resource_quota_facts owned = {.namespace = STR("a"),
					     .name = STR("gpuqos"),
					     .uid = STR("u"),
					     .hard = &gpu,
					     .n_hard = 1};
	struct limit_range_facts limits = {
		.namespace = STR("a"), .name = STR("gpuqos"), .uid = STR("u")};

	tell_namespace(c, "a", &ml);
	tell_tenant(c, "t", 1, &is_ml);
	tell_tenant(c, "other", 1, &is_not_ml);
	assert_takes(c, "t other");
	tell_tenant(c, "t", 1, &is_ml);
	assert_takes(c, "");
	t.spec.ceiling = 5 * GIB;
	assert_int_equal(cluster_apply_tenant(c, &t, NULL), 0);
	assert_takes(c, "t");
	tell_quota(c, "a", spec, NULL);
	assert_takes(c, "t");
	tell_quota(c, "a", spec, &status);
	assert_takes(c, "t");
	status.used = 6; /* what nobody reads for the tenant */
	tell_quota(c, "a", spec, &status);
	assert_takes(c, "");
	status.effective = 2 * GIB;
	tell_quota(c, "a", spec, &status);
	assert_takes(c, "t");
	assert_int_equal(cluster_apply_resource_quota(c, &owned, 5, NULL), 0);
	assert_takes(c, "t");
	assert_int_equal(cluster_apply_limit_range(c, &limits, NULL), 0);
	assert_takes(c, "");
	cluster_delete(c, CLUSTER_QUOTAS, STR("a"), STR("quota"));
	assert_takes(c, "t");
}

static void test_a_new_uid_marks_every_member(void **state)
{
	struct cluster *c = *state;
	struct tenant_facts t = tenant_of("t", 1, &is_ml);
	uint32_t handle;

	tell_namespace(c, "a", &ml);
	tell_tenant(c, "t", 1, &is_ml);
	assert_takes(c, "t");
	t.uid = STR("another");
	assert_int_equal(cluster_apply_tenant(c, &t, NULL), 0);
	assert_true(cluster_take_dirty(c, &handle));
	assert_int_equal(handle, handle_of(c, "a"));
}

/* --- bindings, and what is refused */

static void test_bindings_are_found_by_their_tenant_and_outlive_it(void **state)
{
	struct cluster *c = *state;
	struct arena arena = {0};
	struct binding_facts qos = {
		.name = STR("gpuqos-tenant-qos-t"),
		.uid = STR("b"),
		.spec = {.policy = STR("gpuqos-tenant-qos"), .param = STR("t"), .denies = true}};
	struct binding_facts foreign = {.name = STR("somebody-else"), .uid = STR("b")};
	struct tenant_lookup lookup;
	struct cluster_stats stats;

	assert_int_equal(cluster_apply_binding(c, &foreign, NULL), 0);
	tell_tenant(c, "t", 1, &is_ml);
	assert_takes(c, "t");
	assert_int_equal(cluster_apply_binding(c, &qos, NULL), 0);
	assert_takes(c, "t");
	assert_int_equal(cluster_apply_binding(c, &qos, NULL), 0);
	assert_takes(c, "");
	lookup = look_at(c, "t", &arena);
	assert_true(lookup.exists);
	assert_null(lookup.bindings[TENANT_BINDING_PODS]);
	assert_true(policy_binding_equal(&lookup.bindings[TENANT_BINDING_QOS]->spec, &qos.spec));
	cluster_delete(c, CLUSTER_TENANTS, STR_NONE, STR("t"));
	assert_takes(c, "t");
	lookup = look_at(c, "t", &arena);
	assert_false(lookup.exists);
	assert_true(str_equal(lookup.bindings[TENANT_BINDING_QOS]->name, qos.name));
	cluster_delete(c, CLUSTER_BINDINGS, STR_NONE, qos.name);
	assert_takes(c, "t");
	assert_int_equal(cluster_tenant_find(c, STR("t")), TABLE_NONE);
	cluster_stats(c, &stats);
	assert_int_equal(stats.objects[CLUSTER_BINDINGS], 0);
	arena_clear(&arena);
}

static void test_an_older_version_is_ignored(void **state)
{
	struct cluster *c = *state;
	struct arena arena = {0};
	struct tenant_facts t = tenant_of("t", 1, &is_ml);

	t.resource_version = 9;
	assert_int_equal(cluster_apply_tenant(c, &t, NULL), 0);
	t.resource_version = 8;
	t.spec.ceiling = 1;
	assert_int_equal(cluster_apply_tenant(c, &t, NULL), 0);
	assert_int_equal(look_at(c, "t", &arena).view.ceiling, 100 * GIB);
	t.uid = STR("another");
	assert_int_equal(cluster_apply_tenant(c, &t, NULL), 0);
	assert_int_equal(look_at(c, "t", &arena).view.ceiling, 1);
	arena_clear(&arena);
}

static void test_unreadable_ones_stay_as_they_were(void **state)
{
	static char text[LIMIT_NAME + 1];
	struct cluster *c = *state;
	struct namespace_facts facts = {
		.name = STR("a"), .uid = STR("a"), .tenant = {text, sizeof(text)}};
	struct cluster_stats stats;

	tell_namespace(c, "a", &ml);
	tell_tenant(c, "t", 1, &is_ml);
	cluster_begin_replace(c, CLUSTER_NAMESPACES);
	assert_int_equal(cluster_apply_namespace(c, &facts, NULL), -1);
	cluster_end_replace(c, CLUSTER_NAMESPACES);
	assert_tenant(c, "a", "t");
	cluster_stats(c, &stats);
	assert_int_equal(stats.unreadable[CLUSTER_NAMESPACES], 1);
	cluster_begin_replace(c, CLUSTER_NAMESPACES);
	cluster_begin_replace(c, CLUSTER_TENANTS);
	assert_true(cluster_keep(c, CLUSTER_NAMESPACES, STR_NONE, STR("a")));
	assert_true(cluster_keep(c, CLUSTER_TENANTS, STR_NONE, STR("t")));
	assert_false(cluster_keep(c, CLUSTER_NAMESPACES, STR_NONE, STR("b")));
	assert_false(cluster_keep(c, CLUSTER_TENANTS, STR_NONE, STR("u")));
	cluster_end_replace(c, CLUSTER_TENANTS);
	cluster_end_replace(c, CLUSTER_NAMESPACES);
	assert_tenant(c, "a", "t");
}

/* What selectors do not ask for costs no more than being kept. */
static void test_a_namespace_may_have_any_number_of_labels(void **state)
{
	static struct label many[50001];
	static char keys[ARRAY_SIZE(many)][8];
	struct cluster *c = *state;
	struct namespace_facts facts = {.name = STR("a"), .uid = STR("a"), .labels = many};

	for (size_t i = 1; i < ARRAY_SIZE(many); i++) {
		snprintf(keys[i], sizeof(keys[i]), "k%zu", i);
		many[i] = (struct label){str_from(keys[i]), STR("v")};
	}
	many[0] = ml;
	facts.n_labels = ARRAY_SIZE(many);
	tell_tenant(c, "t", 1, &is_ml);
	assert_int_equal(cluster_apply_namespace(c, &facts, NULL), 0);
	assert_tenant(c, "a", "t");
	facts.labels = many + 1;
	facts.n_labels--;
	assert_int_equal(cluster_apply_namespace(c, &facts, NULL), 0);
	assert_tenant(c, "a", NULL);
}

static void test_there_is_room_for_so_many(void **state)
{
	struct cluster *c = *state;
	struct binding_facts binding = {.name = STR("gpuqos-tenant-b"), .uid = STR("b")};
	struct tenant_facts t = tenant_of("t", 1, &is_ml);
	struct error err = {0};
	char name[32];

	for (int i = 0; i < LIMIT_TENANTS; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		tell_tenant(c, name, 1, NULL);
	}
	assert_int_equal(cluster_apply_tenant(c, &t, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_string_equal(err.message, "TenantQoS t: there are more than 10000 TenantQoS");
	assert_int_equal(cluster_apply_binding(c, &binding, &err), -1);
	tell_tenant(c, "t7", 2, &is_ml);
	cluster_delete(c, CLUSTER_TENANTS, STR_NONE, STR("t7"));
	assert_int_equal(cluster_apply_tenant(c, &t, &err), -1); /* it is still to be looked at */
	while (cluster_take_dirty_tenant(c, &(uint32_t){0}))
		;
	assert_int_equal(cluster_apply_tenant(c, &t, &err), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_a_spec_says_is_read_as_it_was),
		CASE(receipts_are_kept_and_their_change_is_news),
		CASE(the_last_fields_of_a_spec_are_kept_as_they_are),
		CASE(a_selector_takes_what_it_matches),
		CASE(the_oldest_has_it_and_the_others_say_so),
		CASE(a_namespace_has_the_topology_of_its_tenant),
		CASE(a_namespace_that_is_gone_is_nobodys),
		CASE(more_than_it_may_select_are_not_told),
		CASE(a_replace_drops_what_it_does_not_tell),
		CASE(what_a_decision_reads_marks_the_tenant),
		CASE(a_new_uid_marks_every_member),
		CASE(bindings_are_found_by_their_tenant_and_outlive_it),
		CASE(an_older_version_is_ignored),
		CASE(there_is_room_for_so_many),
		CASE(unreadable_ones_stay_as_they_were),
		CASE(a_namespace_may_have_any_number_of_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
