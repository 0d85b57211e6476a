/* SPDX-License-Identifier: Apache-2.0 */
/* What a tenant's view shows of its members: what was granted, what is enforced, what is used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

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

/* --- grants */

static void test_a_grant_marks_its_namespace_and_not_its_tenant(void **state)
{
	struct cluster *c = *state;
	struct tenant_grant full = {.outcome = GRANT_FULL, .granted = GIB, .effective = GIB};
	uint32_t handle;

	tell_namespace(c, "a", &ml);
	tell_quota(c, "a", spec_of(GIB), NULL);
	tell_tenant(c, "t", 1, &is_ml);
	assert_takes(c, "t");
	tell_grant(c, "t", "a", full);
	assert_true(cluster_take_dirty(c, &handle));
	assert_false(cluster_take_dirty_tenant(c, &handle));
	tell_grant(c, "t", "a", full);
	assert_false(cluster_take_dirty(c, &handle));
	full.effective_gpus = 1;
	tell_grant(c, "t", "a", full);
	assert_true(cluster_take_dirty(c, &handle));
	cluster_forget_grants(c);
	assert_takes(c, "t");
}

static void test_a_first_ceiling_in_cards_marks_every_member(void **state)
{
	struct cluster *c = *state;
	struct tenant_facts facts = tenant_of("t", 1, &is_ml);
	uint32_t handle;

	tell_namespace(c, "a", &ml);
	tell_quota(c, "a", spec_of(GIB), NULL);
	tell_tenant(c, "t", 1, &is_ml);
	assert_takes(c, "t");
	while (cluster_take_dirty(c, &handle))
		;
	facts.spec.ceiling_gpus = 4;
	assert_int_equal(cluster_apply_tenant(c, &facts, NULL), 0);
	assert_true(cluster_take_dirty(c, &handle));
}

static struct quota_lookup bare_look(struct cluster *c, const char *namespace, struct arena *arena)
{
	struct quota_lookup lookup;

	arena_reset(arena);
	assert_int_equal(cluster_bare_view(c, handle_of(c, namespace), arena, &lookup, NULL), 0);
	return lookup;
}

static struct quota_lookup quota_look(struct cluster *c, const char *namespace, struct arena *arena)
{
	struct quota_lookup lookup;
	uint32_t quota;

	cluster_refresh(c, handle_of(c, namespace));
	quota = cluster_quota_nth(c, handle_of(c, namespace), 0);
	assert_int_equal(cluster_quota_view(c, quota, arena, &lookup, NULL), 0);
	return lookup;
}

static void test_a_grant_is_for_one_quota_of_one_tenant(void **state)
{
	struct cluster *c = *state;
	struct arena arena = {0};
	struct tenant_grant full = {.outcome = GRANT_FULL, .granted = GIB, .effective = GIB};
	struct tenant_lookup lookup;

	tell_namespace(c, "a", &ml);
	tell_quota(c, "a", spec_of(GIB), NULL);
	tell_tenant(c, "t", 1, &is_ml);
	assert_tenant(c, "a", "t");
	assert_int_equal(quota_look(c, "a", &arena).view.share->grant.granted, 0);
	tell_grant(c, "t", "a", full);
	assert_int_equal(quota_look(c, "a", &arena).view.share->grant.granted, GIB);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->granted, GIB);

	cluster_delete(c, CLUSTER_QUOTAS, STR("a"), STR("quota"));
	tell_quota(c, "a", spec_of(GIB), NULL);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->granted, 0);
	tell_grant(c, "t", "a", full);
	tell_tenant(c, "older", 0, &is_ml);
	assert_tenant(c, "a", "older");
	assert_int_equal(quota_look(c, "a", &arena).view.share->grant.granted, 0);
	arena_clear(&arena);
}

static void test_after_a_restart_the_status_tells_what_was_granted(void **state)
{
	struct cluster *c = *state;
	struct arena arena = {0};
	struct quota_status status = {.tenant = STR("t"),
				      .granted = 3 * GIB,
				      .borrowed = GIB,
				      .effective = 4 * GIB,
				      .granted_gpus = 2,
				      .effective_gpus = 1};
	struct quota_spec spec = spec_of(5 * GIB);
	struct tenant_lookup lookup;

	spec.gpus = 7; /* which it waits for */
	tell_namespace(c, "a", &ml);
	tell_quota(c, "a", spec, &status);
	tell_tenant(c, "t", 1, &is_ml);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->granted, 3 * GIB);
	assert_int_equal(member_of(&lookup, "a")->borrowed, GIB);
	assert_int_equal(member_of(&lookup, "a")->enforced, 4 * GIB);
	assert_int_equal(member_of(&lookup, "a")->wants, 5 * GIB);
	assert_int_equal(member_of(&lookup, "a")->granted_gpus, 2);
	assert_int_equal(member_of(&lookup, "a")->effective_gpus, 1);
	assert_int_equal(member_of(&lookup, "a")->enforced_gpus, 1);
	status.tenant = STR("another");
	tell_quota(c, "a", spec_of(5 * GIB), &status);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->granted, 0);
	assert_int_equal(member_of(&lookup, "a")->enforced, 4 * GIB);
	arena_clear(&arena);
}

/* --- what is enforced */

static const struct device_offer cards[] = {
	{.resource = {"nvidia.com/gpu", 14},
	 .product = {"H100", 4},
	 .unit_memory = 80 * GIB,
	 .count = 8,
	 .sharing = DEVICE_WHOLE},
	{.resource = {"nvidia.com/mig-1g.10gb", 22},
	 .product = {"H100", 4},
	 .unit_memory = 10 * GIB,
	 .count = 7,
	 .sharing = DEVICE_MIG},
};

static void apply_node(struct cluster *c)
{
	struct node_facts node = {
		.name = STR("n"), .uid = STR("n"), .offers = cards, .n_offers = ARRAY_SIZE(cards)};

	assert_int_equal(cluster_apply_node(c, &node, NULL), 0);
}

static void apply_hard(struct cluster *c, uint64_t version, int64_t gpus, int64_t status_gpus)
{
	const struct resource_amount hard[] = {{cards[0].resource, gpus}, {cards[1].resource, 2}};
	const struct resource_amount status[] = {{cards[0].resource, status_gpus},
						 {cards[1].resource, 2}};
	struct resource_quota_facts facts = {.namespace = STR("a"),
					     .name = STR("gpuqos"),
					     .uid = STR("u"),
					     .owner_uid = STR("t"),
					     .resource_version = version,
					     .hard = hard,
					     .n_hard = 2,
					     .status_hard = status,
					     .n_status_hard = 2};

	assert_int_equal(cluster_apply_resource_quota(c, &facts, 5, NULL), 0);
}

static void test_hard_values_stand_for_bytes_and_cards(void **state)
{
	struct cluster *c = *state;
	struct arena arena = {0};
	struct tenant_lookup lookup;

	tell_namespace(c, "a", &ml);
	tell_tenant(c, "t", 1, &is_ml);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(lookup.unenforced.n, 1);
	assert_true(str_equal(lookup.unenforced.namespace, STR("a")));
	apply_hard(c, 1, 1, 3);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->enforced, 20 * GIB); /* a MIG name tells */
	assert_true(member_of(&lookup, "a")->unknown);                 /* and of cards nobody */
	assert_int_equal(lookup.unenforced.n, 1);
	apply_node(c);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->enforced, 240 * GIB);
	assert_false(member_of(&lookup, "a")->unknown);
	assert_int_equal(member_of(&lookup, "a")->enforced_gpus, 3);
	assert_int_equal(member_of(&lookup, "a")->reserve, 80 * GIB);
	apply_hard(c, 2, 1, 1);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->enforced, 80 * GIB);
	assert_int_equal(lookup.unenforced.n, 0);
	arena_clear(&arena);
}

static void test_what_was_sent_counts_until_it_is_shown(void **state)
{
	struct cluster *c = *state;
	struct arena arena = {0};
	const struct resource_amount four = {cards[0].resource, 4}, two = {cards[0].resource, 2};
	struct tenant_lookup lookup;
	uint32_t a;

	apply_node(c);
	tell_namespace(c, "a", &ml);
	tell_tenant(c, "t", 1, &is_ml);
	apply_hard(c, 10, 1, 1);
	a = handle_of(c, "a");
	cluster_note_sent(c, a, &four, 1);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->enforced, 320 * GIB);
	assert_int_equal(member_of(&lookup, "a")->enforced_gpus, 4);
	assert_true(bare_look(c, "a", &arena).view.resource_quota.unanswered);
	apply_hard(c, 11, 1, 1); /* not answered: this need not be ours */
	cluster_note_sent(c, a, &two, 1);
	cluster_note_answered(c, a, CLUSTER_RESOURCE_QUOTAS, STR("gpuqos"), 13);
	assert_false(bare_look(c, "a", &arena).view.resource_quota.unanswered);
	apply_hard(c, 12, 1, 1);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->enforced, 320 * GIB);
	assert_takes(c, "t");
	apply_hard(c, 13, 2, 1);
	assert_takes(c, "t");
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->enforced, 160 * GIB);
	cluster_note_sent(c, a, &four, 1);
	cluster_note_answered(c, a, CLUSTER_RESOURCE_QUOTAS, STR("gpuqos"), 0);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->enforced, 160 * GIB);
	arena_clear(&arena);
}

static void tell_younger(struct cluster *c, const char *namespace)
{
	struct quota_facts facts = {.namespace = str_from(namespace),
				    .name = STR("younger"),
				    .uid = STR("younger-uid"),
				    .created_us = 8,
				    .spec = spec_of(GIB)};

	assert_int_equal(cluster_apply_quota(c, &facts, NULL), 0);
}

/* A status says what admission goes by, so one that is on its way counts like a ResourceQuota. */
static void test_what_is_published_counts_until_it_is_shown(void **state)
{
	struct cluster *c = *state;
	struct arena arena = {0};
	struct quota_status status = {.tenant = STR("t"), .granted = GIB, .effective = GIB};
	struct tenant_lookup lookup;
	uint32_t a;

	tell_namespace(c, "a", &ml);
	tell_quota(c, "a", spec_of(4 * GIB), NULL);
	tell_tenant(c, "t", 1, &is_ml);
	a = handle_of(c, "a");
	cluster_note_publishing(c, a, 3 * GIB, 0);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->enforced, 3 * GIB);
	assert_true(quota_look(c, "a", &arena).view.unanswered);
	cluster_note_answered(c, a, CLUSTER_QUOTAS, STR("another"), 0);
	assert_true(quota_look(c, "a", &arena).view.unanswered);
	cluster_note_answered(c, a, CLUSTER_QUOTAS, STR("quota"), 0);
	assert_false(quota_look(c, "a", &arena).view.unanswered);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->enforced, 0);
	cluster_note_publishing(c, a, 3 * GIB, 0);
	tell_younger(c, "a");
	cluster_delete(c, CLUSTER_QUOTAS, STR("a"), STR("younger"));
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->enforced, 3 * GIB);
	tell_quota(c, "a", spec_of(4 * GIB), &status);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->enforced, 3 * GIB);
	cluster_delete(c, CLUSTER_QUOTAS, STR("a"), STR("quota"));
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->enforced, 0);
	arena_clear(&arena);
}

static void test_cards_in_use_and_wanted(void **state)
{
	struct cluster *c = *state;
	struct arena arena = {0};
	const struct device_ask asks[] = {{.resource = cards[1].resource, .count = 3}};
	struct container_facts container = {CONTAINER_NORMAL, asks, 1};
	struct pod_facts pod = {.namespace = STR("a"),
				.name = STR("p"),
				.uid = STR("p"),
				.containers = &container,
				.n_containers = 1};
	struct quota_spec spec = spec_of(250 * GIB);
	struct tenant_lookup lookup;

	apply_node(c);
	tell_namespace(c, "a", &ml);
	tell_quota(c, "a", spec, NULL);
	tell_tenant(c, "t", 1, &is_ml);
	assert_int_equal(cluster_apply_pod(c, &pod, NULL), 0);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->used, 30 * GIB);
	assert_int_equal(member_of(&lookup, "a")->used_gpus, 0);
	assert_int_equal(member_of(&lookup, "a")->reserve, 10 * GIB);
	assert_int_equal(member_of(&lookup, "a")->wants_gpus, 3);
	spec.gpus = 2;
	tell_quota(c, "a", spec, NULL);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->wants_gpus, 2);
	arena_clear(&arena);
}

/* Who has cards keeps them, whatever joins; who asks for less memory does not. */
static void test_a_node_of_larger_cards_takes_nothing_away(void **state)
{
	const struct tenant_grant three = {.granted = 240 * GIB, .granted_gpus = 3};
	const struct device_offer large = {.resource = STR("amd.com/gpu"),
					   .product = STR("MI300X"),
					   .unit_memory = 192 * GIB,
					   .count = 1,
					   .sharing = DEVICE_WHOLE};
	struct node_facts node = {
		.name = STR("m"), .uid = STR("m"), .offers = &large, .n_offers = 1};
	struct cluster *c = *state;
	struct arena arena = {0};
	struct tenant_lookup lookup;

	apply_node(c);
	tell_namespace(c, "a", &ml);
	tell_quota(c, "a", spec_of(240 * GIB), NULL);
	tell_tenant(c, "t", 1, &is_ml);
	assert_takes(c, "t");
	tell_grant(c, "t", "a", three);
	assert_int_equal(cluster_apply_node(c, &node, NULL), 0);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->wants_gpus, 3);
	tell_quota(c, "a", spec_of(300 * GIB), NULL);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->wants_gpus, 3);
	tell_quota(c, "a", spec_of(200 * GIB), NULL);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(member_of(&lookup, "a")->wants_gpus, 1);
	arena_clear(&arena);
}

/* --- bare namespaces */

static void test_a_tenant_s_namespace_without_a_quota_has_a_view(void **state)
{
	struct cluster *c = *state;
	struct arena arena = {0};
	struct quota_lookup lookup;
	struct error err = {0};

	tell_namespace(c, "a", &ml);
	apply_hard(c, 1, 0, 0);
	cluster_refresh(c, handle_of(c, "a"));
	assert_int_equal(cluster_bare_view(c, handle_of(c, "a"), &arena, &lookup, &err), -1);
	assert_int_equal(err.kind, ERROR_NOT_FOUND);
	tell_tenant(c, "t", 1, &is_ml);
	cluster_refresh(c, handle_of(c, "a"));
	assert_int_equal(cluster_bare_view(c, handle_of(c, "a"), &arena, &lookup, NULL), 0);
	assert_null(lookup.view.spec);
	assert_true(lookup.view.resource_quota.ours);
	assert_true(str_equal(lookup.view.share->tenant, STR("t")));
	arena_clear(&arena);
}

#define CASE(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

/* --- what is not known */

static void apply_cards(struct cluster *c, const char *namespace, const char *name, int64_t n)
{
	const struct device_ask ask = {.resource = cards[0].resource, .count = n};
	const struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	const struct pod_facts pod = {.namespace = str_from(namespace),
				      .name = str_from(name),
				      .uid = str_from(name),
				      .node = STR("n"),
				      .containers = &container,
				      .n_containers = 1};

	assert_int_equal(cluster_apply_pod(c, &pod, NULL), 0);
}

/* The nodes are gone and the pods are not: nobody gets what they may still hold. */
static void test_devices_that_nothing_tells_keep_loans_as_they_are(void **state)
{
	const struct tenant_grant lends = {
		.granted = 480 * GIB, .lent = 160 * GIB, .effective = 320 * GIB};
	const struct tenant_grant borrows = {
		.granted = 160 * GIB, .borrowed = 160 * GIB, .effective = 320 * GIB};
	struct cluster *c = *state;
	struct arena arena = {0};
	struct recount total = {0};
	struct tenant_lookup lookup;
	uint32_t cursor = 0;

	apply_node(c);
	tell_namespace(c, "a", &ml);
	tell_namespace(c, "b", &ml);
	tell_quota(c, "a", spec_of(480 * GIB), NULL);
	tell_quota(c, "b", spec_of(160 * GIB), NULL);
	tell_tenant(c, "t", 1, &is_ml);
	assert_takes(c, "t");
	tell_grant(c, "t", "a", lends);
	tell_grant(c, "t", "b", borrows);
	apply_cards(c, "a", "x", 1);
	apply_cards(c, "b", "y", 4);
	cluster_refresh_tenant(c, cluster_tenant_find(c, STR("t")));
	lookup = look_at(c, "t", &arena);
	assert_int_equal(lookup.unpriced.n, 0);
	assert_int_equal(member_of(&lookup, "b")->used, 320 * GIB);

	cluster_delete(c, CLUSTER_NODES, STR_NONE, STR("n"));
	cluster_refresh_tenant(c, cluster_tenant_find(c, STR("t")));
	lookup = look_at(c, "t", &arena);
	assert_int_equal(lookup.unpriced.n, 2);
	assert_int_equal(member_of(&lookup, "b")->used, 0);
	assert_int_equal(member_of(&lookup, "b")->assumed, 320 * GIB);
	assert_int_equal(member_of(&lookup, "a")->assumed,
			 320 * GIB - 2 * member_of(&lookup, "a")->reserve);
	assert_true(member_of(&lookup, "a")->unknown && member_of(&lookup, "b")->unknown);

	/* what was known of it once is gone by */
	apply_node(c);
	assert_true(cluster_recount(c, &cursor, 1000, &total));
	apply_cards(c, "b", "z", 1);
	cluster_delete(c, CLUSTER_NODES, STR_NONE, STR("n"));
	cluster_refresh_tenant(c, cluster_tenant_find(c, STR("t")));
	lookup = look_at(c, "t", &arena);
	assert_false(member_of(&lookup, "a")->unknown || member_of(&lookup, "b")->unknown);
	assert_int_equal(member_of(&lookup, "b")->assumed, 400 * GIB);
	assert_int_equal(member_of(&lookup, "b")->assumed_gpus, 5);
	arena_clear(&arena);
}

static void test_what_a_tenant_published_is_seen_whole(void **state)
{
	struct cluster *c = *state;
	struct arena arena = {0};
	struct tenant_facts facts = tenant_of("t", 1, &is_ml);
	struct tenant_lookup lookup;

	facts.has_status = true;
	facts.status = (struct tenant_status){.observed_generation = 1,
					      .ceiling = 2 * GIB,
					      .ceiling_gpus = 3,
					      .granted = 4,
					      .used = 5,
					      .lent = 6,
					      .granted_gpus = 7,
					      .used_gpus = 8,
					      .n_namespaces = 9};
	assert_int_equal(cluster_apply_tenant(c, &facts, NULL), 0);
	lookup = look_at(c, "t", &arena);
	assert_int_equal(lookup.facts.status.ceiling, 2 * GIB);
	assert_int_equal(lookup.facts.status.ceiling_gpus, 3);
	assert_int_equal(lookup.facts.status.granted, 4);
	assert_int_equal(lookup.facts.status.used, 5);
	assert_int_equal(lookup.facts.status.lent, 6);
	assert_int_equal(lookup.facts.status.granted_gpus, 7);
	assert_int_equal(lookup.facts.status.used_gpus, 8);
	assert_int_equal(lookup.facts.status.n_namespaces, 9);
	arena_clear(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_grant_marks_its_namespace_and_not_its_tenant),
		CASE(a_first_ceiling_in_cards_marks_every_member),
		CASE(a_grant_is_for_one_quota_of_one_tenant),
		CASE(after_a_restart_the_status_tells_what_was_granted),
		CASE(hard_values_stand_for_bytes_and_cards),
		CASE(what_was_sent_counts_until_it_is_shown),
		CASE(what_is_published_counts_until_it_is_shown),
		CASE(cards_in_use_and_wanted),
		CASE(a_node_of_larger_cards_takes_nothing_away),
		CASE(a_tenant_s_namespace_without_a_quota_has_a_view),
		CASE(devices_that_nothing_tells_keep_loans_as_they_are),
		CASE(what_a_tenant_published_is_seen_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
