/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster, case by case: what marks a namespace, what a view shows, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/macros.h"
#include "cluster/internal.h"
#include "pod_world.h"

#define UID_B "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"

static struct quota_facts quota_facts(const char *name, int64_t created_us)
{
	return (struct quota_facts){
		.namespace = STR("a"),
		.name = str_from(name),
		.uid = str_from(name),
		.created_us = created_us,
		.generation = 1,
		.spec = {.gpu_memory = 320 * GIB,
			 .gpus = AMOUNT_NONE,
			 .pod_gpu_memory = AMOUNT_NONE,
			 .pod_gpus = AMOUNT_NONE},
	};
}

static void apply_quota(struct cluster *c, struct quota_facts facts)
{
	assert_int_equal(cluster_apply_quota(c, &facts, NULL), 0);
}

static unsigned int drain(struct cluster *c)
{
	unsigned int n = 0;
	uint32_t namespace;

	while (cluster_take_dirty(c, &namespace))
		n++;
	return n;
}

static struct quota_view quota_view(struct cluster *c, uint32_t index, struct arena *arena)
{
	uint32_t namespace = cluster_namespace_find(c, STR("a"));
	struct quota_lookup lookup;

	cluster_refresh(c, namespace);
	assert_int_equal(
		cluster_quota_view(c, cluster_quota_nth(c, namespace, index), arena, &lookup, NULL),
		0);
	return lookup.view;
}

static void test_what_changes_nothing_marks_nothing(void **state)
{
	struct cluster *c = *state;
	struct quota_facts quota = quota_facts("q", 5);
	struct namespace_facts ns = {
		.name = STR("a"), .uid = STR(POD_UID), .resource_version = 7, .managed = true};
	struct pod_facts pod = pod_facts();
	struct node_facts node = node_facts();

	quota.has_status = true;
	apply_node(c, node);
	apply_pod(c, pod);
	apply_quota(c, quota);
	assert_int_equal(cluster_apply_namespace(c, &ns, NULL), 0);
	assert_int_equal(drain(c), 1);
	apply_node(c, node);
	apply_pod(c, pod);
	pod.resource_version = node.resource_version = quota.resource_version = 9;
	ns.resource_version = 9;
	pod.phase = POD_PENDING;
	pod.terminating = true;
	apply_pod(c, pod);
	apply_node(c, node);
	apply_quota(c, quota);
	assert_int_equal(cluster_apply_namespace(c, &ns, NULL), 0);
	assert_int_equal(drain(c), 0);
	quota.generation = 2;
	apply_quota(c, quota);
	assert_int_equal(drain(c), 1);
	pod.phase = POD_FAILED;
	apply_pod(c, pod);
	assert_int_equal(drain(c), 1);
	cluster_delete(c, CLUSTER_PODS, STR("a"), STR("p"));
	assert_int_equal(drain(c), 0);
}

static void test_a_terminating_pod_holds_and_a_finished_one_does_not(void **state)
{
	struct cluster *c = *state;
	struct pod_facts pod = pod_facts();

	apply_node(c, node_facts());
	pod.terminating = true;
	apply_pod(c, pod);
	assert_int_equal(view_of(c, "a").used, 80 * GIB);
	assert_int_equal(view_of(c, "a").live, 80 * GIB);
	pod.phase = POD_SUCCEEDED;
	apply_pod(c, pod);
	assert_int_equal(view_of(c, "a").used, 0);
	assert_int_equal(view_of(c, "a").pods, 0);
}

static void test_a_pod_is_charged_when_its_node_becomes_known(void **state)
{
	struct cluster *c = *state;

	apply_pod(c, pod_facts());
	assert_int_equal(view_of(c, "a").unpriced, 1);
	assert_int_equal(view_of(c, "a").used, 0);
	drain(c);
	apply_node(c, node_facts());
	assert_int_equal(drain(c), 1);
	assert_int_equal(view_of(c, "a").unpriced, 0);
	assert_int_equal(view_of(c, "a").used, 80 * GIB);
}

static void test_a_bound_pod_costs_what_its_node_has(void **state)
{
	const struct device_offer t4 = {.resource = STR("nvidia.com/gpu"),
					.product = STR("T4"),
					.unit_memory = 15 * GIB,
					.count = 4};
	struct cluster *c = *state;
	struct pod_facts pod = pod_facts();
	struct node_facts node = node_facts();
	struct arena arena = {0};
	struct quota_view view;

	apply_node(c, node);
	node.name = STR("small");
	node.offers = &t4;
	apply_node(c, node);
	apply_quota(c, quota_facts("q", 1));
	drain(c);
	pod.node = STR_NONE;
	apply_pod(c, pod);
	assert_int_equal(view_of(c, "a").used, 80 * GIB);
	assert_int_equal(view_of(c, "a").live, 0);
	pod.node = STR("small");
	apply_pod(c, pod);
	assert_int_equal(view_of(c, "a").used, 15 * GIB);
	view = quota_view(c, 0, &arena);
	assert_int_equal(view.n_uses, 1);
	assert_string_equal(cluster_name(c, view.uses[0].product), "T4");
	assert_int_equal(view.uses[0].count_live, 1);
	pod.uid = STR(UID_B);
	pod.node = STR_NONE;
	pod.product = STR("T4");
	apply_pod(c, pod);
	assert_int_equal(view_of(c, "a").used, 15 * GIB);
	assert_int_equal(view_of(c, "a").pods, 1);
	pod.product = STR("H900");
	apply_pod(c, pod);
	assert_int_equal(view_of(c, "a").used, 80 * GIB);
	arena_clear(&arena);
}

static void test_equal_nodes_are_no_new_prices(void **state)
{
	struct cluster *c = *state;
	struct device_offer fewer = h100;
	struct node_facts node = node_facts();

	fewer.count = 7;
	apply_node(c, node);
	apply_pod(c, pod_facts());
	apply_quota(c, quota_facts("q", 1));
	drain(c);
	node.offers = &fewer;
	apply_node(c, node);
	node.name = STR("another");
	apply_node(c, node);
	assert_int_equal(drain(c), 0);
	assert_int_equal(cluster_prices(c).rows[0].nodes, 2);
	cluster_delete(c, CLUSTER_NODES, STR_NONE, STR("another"));
	assert_int_equal(drain(c), 0);
	assert_int_equal(cluster_prices(c).rows[0].nodes, 1);
}

static void test_a_known_resource_is_listed_while_nobody_offers_it(void **state)
{
	struct cluster *c = *state;
	struct price_list list;

	assert_int_equal(cluster_know_resource(c, h100.resource, DEVICE_WHOLE, NULL), 0);
	assert_int_equal(cluster_know_resource(c, STR("example.com/npu"), DEVICE_WHOLE, NULL), 0);
	cluster_refresh(c, 0);
	list = cluster_prices(c);
	assert_int_equal(list.n_rows, 2);
	for (size_t i = 0; i < list.n_rows; i++)
		assert_true(list.rows[i].nodes == 0 && list.rows[i].largest == AMOUNT_UNKNOWN);
	apply_node(c, node_facts());
	list = cluster_prices(c);
	assert_int_equal(list.n_rows, 2);
	assert_int_equal(list.rows[0].nodes + list.rows[1].nodes, 1);
	cluster_delete(c, CLUSTER_NODES, STR_NONE, node_facts().name);
	list = cluster_prices(c);
	assert_int_equal(list.n_rows, 2);
	assert_int_equal(list.rows[0].nodes + list.rows[1].nodes, 0);
}

static void test_what_cannot_be_read_keeps_what_was(void **state)
{
	struct cluster *c = *state;
	struct pod_facts pod = pod_facts();
	struct cluster_stats stats;
	char text[LIMIT_NAME + 1] = {0};
	struct error err = {0};

	apply_node(c, node_facts());
	apply_pod(c, pod);
	pod.extended_claim = (struct str){text, sizeof(text)};
	cluster_begin_replace(c, CLUSTER_PODS);
	assert_int_equal(cluster_apply_pod(c, &pod, &err), -1);
	cluster_end_replace(c, CLUSTER_PODS);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_non_null(strstr(err.message, "Pod a/p"));
	assert_int_equal(view_of(c, "a").used, 80 * GIB);
	cluster_stats(c, &stats);
	assert_int_equal(stats.unreadable[CLUSTER_PODS], 1);
	assert_int_equal(stats.objects[CLUSTER_PODS], 1);
	pod.name = STR_NONE;
	assert_int_equal(cluster_apply_pod(c, &pod, &err), -1);
	assert_int_equal(err.kind, ERROR_INVALID);
}

static void test_no_more_resource_names_than_allowed(void **state)
{
	struct cluster *c = *state;
	struct device_offer offer = h100;
	struct node_facts node = node_facts();
	char resource[32], name[32];
	struct error err = {0};
	int refused = 0;

	node.offers = &offer;
	for (int i = 0; i < LIMIT_RESOURCE_NAMES + 5; i++) {
		snprintf(resource, sizeof(resource), "nvidia.com/mig-%d", i);
		snprintf(name, sizeof(name), "node-%d", i);
		offer.resource = str_from(resource);
		node.name = str_from(name);
		refused += cluster_apply_node(c, &node, &err) != 0;
	}
	assert_int_equal(refused, 5);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_int_equal(cluster_prices(c).n_rows, LIMIT_RESOURCE_NAMES);
	cluster_delete(c, CLUSTER_NODES, STR_NONE, STR("node-0"));
	assert_int_equal(cluster_apply_node(c, &node, &err), 0);
}

static void test_the_oldest_quotas_are_kept(void **state)
{
	struct cluster *c = *state;
	struct arena arena = {0};
	struct quota_facts quota;
	char name[16];

	for (int i = 0; i < LIMIT_QUOTAS_PER_NAMESPACE; i++) {
		snprintf(name, sizeof(name), "a%03d", i);
		apply_quota(c, quota_facts(name, 1000 + i));
	}
	quota = quota_facts("young", 5000);
	assert_int_equal(cluster_apply_quota(c, &quota, NULL), -1);
	apply_quota(c, quota_facts("old", 1));
	assert_int_equal(view_of(c, "a").n_quotas, LIMIT_QUOTAS_PER_NAMESPACE);
	assert_true(str_equal(quota_view(c, 0, &arena).governing, STR("old")));
	assert_false(quota_view(c, 0, &arena).duplicate);
	assert_true(quota_view(c, 1, &arena).duplicate);
	quota = quota_facts("old", 1);
	quota.terminating = true;
	apply_quota(c, quota);
	assert_true(quota_view(c, 0, &arena).terminating);
	assert_true(str_equal(quota_view(c, 0, &arena).governing, STR("a000")));
	assert_false(quota_view(c, 1, &arena).duplicate);
	arena_clear(&arena);
}

static void test_a_quota_without_status_is_looked_at_when_written(void **state)
{
	struct cluster *c = *state;
	struct quota_facts quota = quota_facts("q", 5);

	quota.resource_version = 7;
	apply_quota(c, quota);
	assert_int_equal(drain(c), 1);
	apply_quota(c, quota);
	assert_int_equal(drain(c), 0);
	/* From a status that could not be read to none at all, say. */
	quota.resource_version = 8;
	apply_quota(c, quota);
	assert_int_equal(drain(c), 1);
}

static void test_quotas_of_one_time_are_ordered_by_name(void **state)
{
	struct cluster *c = *state;
	struct arena arena = {0};

	apply_quota(c, quota_facts("b", 7));
	apply_quota(c, quota_facts("a", 7));
	assert_true(str_equal(quota_view(c, 1, &arena).governing, STR("a")));
	arena_clear(&arena);
}

/* What the controller does, until nothing is left to write. */
static void reconcile(struct cluster *c, struct arena *arena, struct quota_plan *ret_plan)
{
	struct quota_facts quota = quota_facts("q", 1);
	struct quota_view view = quota_view(c, 0, arena);
	struct resource_quota_facts written = {
		.namespace = STR("a"),
		.name = STR(OWNED_OBJECT_NAME),
		.uid = STR("rq"),
		.owner_uid = STR("q"),
	};

	assert_int_equal(quota_decide(&view, arena, ret_plan, NULL), 0);
	if (ret_plan->write_resource_quota) {
		written.hard = written.status_hard = ret_plan->hard;
		written.n_hard = written.n_status_hard = ret_plan->n_hard;
		assert_int_equal(cluster_apply_resource_quota(c, &written, 5, NULL), 0);
	}
	quota.has_status = true;
	quota.status = ret_plan->status;
	if (ret_plan->write_status)
		apply_quota(c, quota);
}

static void test_plans_carried_out_come_to_rest(void **state)
{
	struct cluster *c = *state;
	struct arena arena = {0};
	struct quota_plan plan;

	apply_node(c, node_facts());
	apply_pod(c, pod_facts());
	apply_quota(c, quota_facts("q", 1));
	for (int i = 0; i < 3; i++)
		reconcile(c, &arena, &plan);
	assert_false(plan.write_status || plan.write_resource_quota);
	assert_int_equal(plan.status.conditions[QUOTA_READY].status, CONDITION_TRUE);
	assert_int_equal(plan.status.used, 80 * GIB);
	assert_int_equal(plan.status.n_rows, 1);
	assert_int_equal(plan.status.rows[0].used, 1);
	drain(c);
	assert_int_equal(drain(c), 0);
	arena_clear(&arena);
}

static void test_only_our_resource_quota_is_kept_and_its_lag_is_timed(void **state)
{
	struct resource_amount hard[] = {{STR("nvidia.com/mig-1g.10gb"), 3},
					 {STR("nvidia.com/gpu"), 2}};
	struct resource_quota_facts facts = {
		.namespace = STR("a"),
		.name = STR("theirs"),
		.uid = STR("rq"),
		.owner_uid = STR("q"),
		.hard = hard,
		.n_hard = 2,
	};
	struct cluster *c = *state;
	struct arena arena = {0};
	struct resource_quota_view view;

	apply_quota(c, quota_facts("q", 1));
	assert_int_equal(cluster_apply_resource_quota(c, &facts, 10, NULL), 0);
	assert_false(quota_view(c, 0, &arena).resource_quota.exists);
	facts.name = STR(OWNED_OBJECT_NAME);
	assert_int_equal(cluster_apply_resource_quota(c, &facts, 10, NULL), 0);
	assert_int_equal(cluster_apply_resource_quota(c, &facts, 20, NULL), 0);
	view = quota_view(c, 0, &arena).resource_quota;
	assert_true(view.exists && view.ours);
	assert_int_equal(view.differs_since_us, 10);
	assert_string_equal(view.hard[0].resource.data, "nvidia.com/gpu");
	facts.status_hard = hard;
	facts.n_status_hard = 2;
	facts.owner_uid = STR("somebody");
	drain(c);
	assert_int_equal(cluster_apply_resource_quota(c, &facts, 30, NULL), 0);
	assert_int_equal(drain(c), 1);
	view = quota_view(c, 0, &arena).resource_quota;
	assert_false(view.ours);
	assert_int_equal(view.differs_since_us, 0);
	cluster_delete(c, CLUSTER_RESOURCE_QUOTAS, STR("a"), STR("theirs"));
	assert_true(quota_view(c, 0, &arena).resource_quota.exists);
	cluster_delete(c, CLUSTER_RESOURCE_QUOTAS, STR("a"), STR(OWNED_OBJECT_NAME));
	assert_false(quota_view(c, 0, &arena).resource_quota.exists);
	arena_clear(&arena);
}

static void test_a_wrong_sum_is_found_told_and_corrected(void **state)
{
	struct cluster *c = *state;
	struct recount total = {0};
	struct arena arena = {0};
	uint32_t cursor = 0, ns;

	apply_node(c, node_facts());
	apply_pod(c, pod_facts());
	apply_quota(c, quota_facts("q", 1));
	drain(c);
	ns = cluster_namespace_find(c, STR("a"));
	namespace_at(c, ns)->sums.used += GIB;
	assert_true(cluster_recount(c, &cursor, 1000, &total));
	assert_int_equal(total.differing, 1);
	assert_int_equal(total.drift, GIB);
	assert_int_equal(view_of(c, "a").used, 80 * GIB);
	assert_int_equal(drain(c), 1);
	assert_int_equal(quota_view(c, 0, &arena).recount_drift, GIB);
	assert_true(cluster_recount(c, &cursor, 1000, &total));
	assert_int_equal(total.differing, 1);
	assert_int_equal(drain(c), 1);
	assert_int_equal(quota_view(c, 0, &arena).recount_drift, 0);
	arena_clear(&arena);
}

static void test_a_namespace_is_told_of_once_after_its_end(void **state)
{
	struct cluster *c = *state;
	uint32_t namespace;

	apply_pod(c, pod_facts());
	drain(c);
	cluster_delete(c, CLUSTER_PODS, STR("a"), STR("p"));
	assert_true(cluster_take_dirty(c, &namespace));
	assert_true(cluster_namespace_has(c, namespace));
	assert_true(str_equal(cluster_namespace_name(c, namespace), STR("a")));
	assert_false(cluster_take_dirty(c, &namespace));
	assert_int_equal(cluster_namespace_find(c, STR("a")), TABLE_NONE);
}

static void test_absurd_requests_are_more_than_any_limit(void **state)
{
	const struct device_ask all = device_ask_units(STR("nvidia.com/gpu"), INT64_MAX);
	const struct container_facts container = {CONTAINER_NORMAL, &all, 1};
	struct cluster *c = *state;
	struct pod_facts pod = pod_facts();

	apply_node(c, node_facts());
	pod.containers = &container;
	apply_pod(c, pod);
	pod.name = STR("p2");
	apply_pod(c, pod);
	assert_int_equal(view_of(c, "a").used, INT64_MAX);
	cluster_delete(c, CLUSTER_PODS, STR("a"), STR("p"));
	cluster_delete(c, CLUSTER_PODS, STR("a"), STR("p2"));
	apply_pod(c, pod_facts());
	assert_int_equal(view_of(c, "a").used, 80 * GIB);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, cluster_setup, cluster_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_changes_nothing_marks_nothing),
		TEST(test_a_terminating_pod_holds_and_a_finished_one_does_not),
		TEST(test_a_pod_is_charged_when_its_node_becomes_known),
		TEST(test_a_bound_pod_costs_what_its_node_has),
		TEST(test_equal_nodes_are_no_new_prices),
		TEST(test_a_known_resource_is_listed_while_nobody_offers_it),
		TEST(test_what_cannot_be_read_keeps_what_was),
		TEST(test_no_more_resource_names_than_allowed),
		TEST(test_the_oldest_quotas_are_kept),
		TEST(test_a_quota_without_status_is_looked_at_when_written),
		TEST(test_quotas_of_one_time_are_ordered_by_name),
		TEST(test_plans_carried_out_come_to_rest),
		TEST(test_only_our_resource_quota_is_kept_and_its_lag_is_timed),
		TEST(test_a_wrong_sum_is_found_told_and_corrected),
		TEST(test_a_namespace_is_told_of_once_after_its_end),
		TEST(test_absurd_requests_are_more_than_any_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
