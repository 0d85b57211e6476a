/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that are stuck terminating, who holds memory, and evictions that were asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "cluster/internal.h"
#include "cluster/ledger/holders.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"

#define UID_A   "11111111-2222-3333-4444-555555555555"
#define UID_B   "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
#define SECONDS ((int64_t)USEC_PER_SEC)
#define GRACE   (1000 * SECONDS) /* when the grace of the pod is over */

static const struct device_ask one_gpu = {.resource = {"nvidia.com/gpu", 14}, .count = 1};
static const struct container_facts container = {CONTAINER_NORMAL, &one_gpu, 1};
static const struct device_offer h100 = {.resource = {"nvidia.com/gpu", 14},
					 .product = {"H100", 4},
					 .unit_memory = 80 * GIB,
					 .count = 8,
					 .sharing = DEVICE_WHOLE};

static struct pod_facts pod_facts(const char *name)
{
	return (struct pod_facts){
		.namespace = STR("a"),
		.name = str_from(name),
		.uid = STR(UID_A),
		.phase = POD_RUNNING,
		.node = STR("n"),
		.created_us = 5 * SECONDS,
		.containers = &container,
		.n_containers = 1,
	};
}

static void apply_pod(struct cluster *c, struct pod_facts facts)
{
	assert_int_equal(cluster_apply_pod(c, &facts, NULL), 0);
}

static void apply_node(struct cluster *c, enum node_ready ready)
{
	struct node_facts facts = {
		.name = STR("n"), .uid = STR("n"), .ready = ready, .offers = &h100, .n_offers = 1};

	assert_int_equal(cluster_apply_node(c, &facts, NULL), 0);
}

/* @timeout_us: -1 for releaseOn Deletion. */
static void apply_quota(struct cluster *c, int64_t timeout_us)
{
	struct quota_facts facts = {
		.namespace = STR("a"),
		.name = STR("q"),
		.uid = STR("q"),
		.spec = {.gpu_memory = 320 * GIB,
			 .gpus = AMOUNT_NONE,
			 .pod_gpu_memory = AMOUNT_NONE,
			 .pod_gpus = AMOUNT_NONE,
			 .release_terminal = timeout_us >= 0,
			 .terminal_timeout_us = timeout_us < 0 ? 300 * SECONDS : timeout_us}};

	assert_int_equal(cluster_apply_quota(c, &facts, NULL), 0);
}

static void stop_pod(struct cluster *c, const char *name)
{
	struct pod_facts pod = pod_facts(name);

	pod.terminating = true;
	pod.deletion_us = GRACE;
	apply_pod(c, pod);
}

static unsigned int drain(struct cluster *c)
{
	unsigned int n = 0;
	uint32_t handle;

	while (cluster_take_dirty(c, &handle))
		n++;
	return n;
}

static void assert_recount_agrees(struct cluster *c)
{
	struct recount total = {0};
	uint32_t cursor = 0;

	while (!cluster_recount(c, &cursor, 100, &total))
		;
	assert_int_equal(total.differing, 0);
}

/* What is charged and released at that moment, in cards; and the next moment that matters. */
static void assert_held(struct cluster *c, int64_t now_us, int64_t used, int64_t released,
			int64_t next_us)
{
	uint32_t namespace = cluster_namespace_find(c, STR("a"));
	struct arena arena = {0};
	struct quota_lookup lookup;
	int64_t next;

	cluster_refresh(c, namespace);
	cluster_release(c, namespace, now_us, &next);
	assert_int_equal(next, next_us);
	assert_int_equal(
		cluster_quota_view(c, cluster_quota_nth(c, namespace, 0), &arena, &lookup, NULL),
		0);
	assert_int_equal(lookup.view.used, used * 80 * GIB);
	assert_int_equal(lookup.view.live, used * 80 * GIB);
	assert_int_equal(lookup.view.pods, used);
	assert_int_equal(lookup.view.released, released * 80 * GIB);
	assert_int_equal(lookup.view.released_pods, released);
	arena_clear(&arena);
	assert_recount_agrees(c);
}

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

/* --- releases */

static void test_a_stuck_pod_is_released_in_time(void **state)
{
	struct cluster *c = *state;

	apply_node(c, NODE_NOT_READY);
	apply_quota(c, 300 * SECONDS);
	apply_pod(c, pod_facts("p"));
	apply_pod(c, pod_facts("q"));
	assert_held(c, GRACE, 2, 0, TIME_NEVER);
	drain(c);
	stop_pod(c, "p");
	assert_int_equal(drain(c), 1);
	assert_held(c, 0, 2, 0, GRACE + 300 * SECONDS);
	assert_held(c, GRACE + 300 * SECONDS - 1, 2, 0, GRACE + 300 * SECONDS);
	assert_held(c, GRACE + 300 * SECONDS, 1, 1, TIME_NEVER);
	stop_pod(c, "p"); /* its events change nothing */
	assert_held(c, GRACE + 301 * SECONDS, 1, 1, TIME_NEVER);
	cluster_delete(c, CLUSTER_PODS, STR("a"), STR("p"));
	assert_held(c, GRACE + 302 * SECONDS, 1, 0, TIME_NEVER);
}

static void test_a_node_that_is_there_keeps_its_pods_charged(void **state)
{
	static const struct {
		enum node_ready ready;
		int64_t released;
	} cases[] = {{NODE_READY, 0}, {NODE_NOT_READY, 1}, {NODE_READY_UNKNOWN, 0}};
	struct cluster *c = *state;

	apply_quota(c, 0);
	apply_node(c, NODE_READY);
	stop_pod(c, "p");
	assert_held(c, GRACE, 1, 0, TIME_NEVER);
	drain(c);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		apply_node(c, cases[i % 3].ready);
		assert_int_equal(drain(c), i > 0);
		assert_held(c, GRACE, 1 - cases[i % 3].released, cases[i % 3].released, TIME_NEVER);
	}
	cluster_delete(c, CLUSTER_NODES, STR_NONE, STR("n"));
	assert_int_equal(drain(c), 1);
	assert_int_equal(cluster_prices(c).n_rows, 0);
}

static void test_a_node_that_is_gone_releases_and_takes_back(void **state)
{
	struct cluster *c = *state;
	struct namespace_view view;
	int64_t next;

	apply_quota(c, 0);
	apply_node(c, NODE_READY);
	stop_pod(c, "p");
	cluster_delete(c, CLUSTER_NODES, STR_NONE, STR("n"));
	drain(c);
	cluster_release(c, cluster_namespace_find(c, STR("a")), GRACE, &next);
	cluster_namespace_view(c, cluster_namespace_find(c, STR("a")), &view);
	assert_int_equal(view.pods, 0);
	assert_int_equal(view.unpriced, 0);
	apply_node(c, NODE_READY);
	assert_int_equal(drain(c), 1);
	assert_held(c, GRACE, 1, 0, TIME_NEVER);
}

static void test_the_policy_decides(void **state)
{
	struct cluster *c = *state;

	apply_node(c, NODE_NOT_READY);
	apply_quota(c, -1);
	stop_pod(c, "p");
	assert_held(c, GRACE + 1000 * SECONDS, 1, 0, TIME_NEVER);
	apply_quota(c, 100 * SECONDS);
	assert_held(c, GRACE + 1000 * SECONDS, 0, 1, TIME_NEVER);
	apply_quota(c, -1);
	assert_held(c, GRACE + 1000 * SECONDS, 1, 0, TIME_NEVER);
}

static void test_another_pod_of_the_name_is_charged(void **state)
{
	struct cluster *c = *state;
	struct pod_facts next = pod_facts("p");

	apply_node(c, NODE_NOT_READY);
	apply_quota(c, 0);
	stop_pod(c, "p");
	assert_held(c, GRACE, 0, 1, TIME_NEVER);
	next.uid = STR(UID_B);
	apply_pod(c, next);
	assert_held(c, GRACE, 1, 0, TIME_NEVER);
	next.terminating = true;
	next.deletion_us = GRACE;
	apply_pod(c, next);
	assert_held(c, GRACE, 0, 1, TIME_NEVER);
	next.phase = POD_FAILED;
	apply_pod(c, next);
	assert_held(c, GRACE, 0, 0, TIME_NEVER);
}

static void test_a_release_marks_the_tenant(void **state)
{
	struct cluster *c = *state;
	const struct label label = {STR("team"), STR("ml")};
	const struct label_requirement requirement = {STR("team"), LABEL_EXISTS, NULL, 0};
	struct namespace_facts ns = {
		.name = STR("a"), .uid = STR("a"), .labels = &label, .n_labels = 1};
	struct tenant_facts t = {
		.name = STR("t"), .uid = STR("t"), .spec = {.namespaces = {&requirement, 1}}};
	uint32_t tenant;

	assert_int_equal(cluster_apply_namespace(c, &ns, NULL), 0);
	assert_int_equal(cluster_apply_tenant(c, &t, NULL), 0);
	apply_node(c, NODE_NOT_READY);
	apply_quota(c, 0);
	stop_pod(c, "p");
	drain(c);
	while (cluster_take_dirty_tenant(c, &tenant))
		;
	assert_held(c, GRACE - 1, 1, 0, GRACE);
	assert_false(cluster_take_dirty_tenant(c, &tenant));
	assert_held(c, GRACE, 0, 1, TIME_NEVER);
	assert_true(cluster_take_dirty_tenant(c, &tenant));
}

/* --- holders */

static struct holders look(struct cluster *c, int64_t now_us, struct arena *arena)
{
	struct holders holders;

	assert_true(
		cluster_holders(c, cluster_namespace_find(c, STR("a")), now_us, arena, &holders));
	return holders;
}

static void test_holders_are_what_is_charged(void **state)
{
	struct cluster *c = *state;
	struct arena arena = {0}, small;
	struct pod_facts done = pod_facts("done");
	struct holders holders;

	apply_node(c, NODE_NOT_READY);
	apply_quota(c, 0);
	apply_pod(c, pod_facts("p"));
	done.phase = POD_SUCCEEDED;
	apply_pod(c, done);
	stop_pod(c, "stuck");
	assert_held(c, GRACE, 1, 1, TIME_NEVER);
	holders = look(c, 0, &arena);
	assert_int_equal(holders.n, 1);
	assert_true(str_equal(holders.list[0].name, STR("p")));
	assert_true(str_equal(holders.list[0].uid, STR(UID_A)));
	assert_int_equal(holders.list[0].charge, 80 * GIB);
	assert_int_equal(holders.list[0].gpus, 1);
	assert_int_equal(holders.list[0].n_units, 1);
	assert_int_equal(holders.list[0].units[0].count, 1);
	assert_true(str_equal(holders.list[0].units[0].resource, STR("nvidia.com/gpu")));
	assert_int_equal(holders.list[0].created_us, 5 * SECONDS);
	assert_true(str_empty(holders.list[0].owner_kind));
	assert_null(holders.list[0].blocked);
	assert_int_equal(holders.look_again_us, TIME_NEVER);
	arena_init(&small, 64);
	assert_false(cluster_holders(c, cluster_namespace_find(c, STR("a")), 0, &small, &holders));
	arena_clear(&small);
	arena_clear(&arena);
}

static void test_a_workload_is_who_controls_the_pod(void **state)
{
	static const struct {
		const char *kind, *name, *hash, *of_kind, *of_name;
	} cases[] = {
		{"", "", "", "", ""},
		{"Job", "train", "", "Job", "train"},
		{"ReplicaSet", "chat-5f9c7", "5f9c7", "Deployment", "chat"},
		{"ReplicaSet", "chat-5f9c7", "", "ReplicaSet", "chat-5f9c7"},
		{"ReplicaSet", "chat5f9c7", "5f9c7", "ReplicaSet", "chat5f9c7"},
		{"ReplicaSet", "5f9c7", "5f9c7", "ReplicaSet", "5f9c7"},
		{"StatefulSet", "db-5f9c7", "5f9c7", "StatefulSet", "db-5f9c7"},
	};
	struct cluster *c = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pod_facts pod = pod_facts("p");
		struct arena arena = {0};
		struct holders holders;

		pod.owner_kind = str_from(cases[i].kind);
		pod.owner_name = str_from(cases[i].name);
		pod.template_hash = str_from(cases[i].hash);
		apply_pod(c, pod);
		holders = look(c, 0, &arena);
		assert_int_equal(holders.n, 1);
		if (!str_equal(holders.list[0].owner_kind, str_from(cases[i].of_kind)) ||
		    !str_equal(holders.list[0].owner_name, str_from(cases[i].of_name)))
			fail_msg("case %zu: %.*s %.*s", i, STR_ARGS(holders.list[0].owner_kind),
				 STR_ARGS(holders.list[0].owner_name));
		arena_clear(&arena);
	}
}

static void test_a_name_out_of_bounds_is_no_owner(void **state)
{
	struct cluster *c = *state;
	static char name[600];
	struct pod_facts pod = pod_facts("p");
	struct arena arena = {0};
	struct holders holders;

	memset(name, 'x', sizeof(name));
	pod.owner_kind = STR("Job");
	pod.owner_name = (struct str){name, sizeof(name)};
	apply_pod(c, pod);
	holders = look(c, 0, &arena);
	assert_int_equal(holders.n, 1);
	assert_true(str_empty(holders.list[0].owner_name));
	arena_clear(&arena);
}

/* --- evictions */

static void note(struct cluster *c, const char *uid, enum eviction_outcome outcome, int64_t now_us)
{
	struct eviction eviction = {STR("a"), STR("p"), str_from(uid), outcome, now_us};

	cluster_note_eviction(c, &eviction);
}

/* The only holder, at that time. */
static struct quota_holder only(struct cluster *c, int64_t now_us, int64_t look_again_us)
{
	struct arena arena = {0};
	struct holders holders = look(c, now_us, &arena);
	struct quota_holder holder;

	assert_int_equal(holders.n, 1);
	assert_int_equal(holders.look_again_us, look_again_us);
	holder = holders.list[0];
	arena_clear(&arena);
	return holder;
}

static void test_an_eviction_counts_until_the_watch_shows_it(void **state)
{
	struct cluster *c = *state;

	apply_node(c, NODE_READY);
	apply_pod(c, pod_facts("p"));
	drain(c);
	note(c, UID_B, EVICTION_ISSUED, 0);
	assert_int_equal(drain(c), 0);
	assert_false(only(c, 0, TIME_NEVER).terminating);
	note(c, UID_A, EVICTION_ISSUED, 0);
	assert_int_equal(drain(c), 1);
	assert_true(only(c, 1, EVICTION_SHOWN_US).terminating);
	apply_pod(c, pod_facts("p")); /* an event from before */
	assert_true(only(c, EVICTION_SHOWN_US - 1, EVICTION_SHOWN_US).terminating);
	assert_false(only(c, EVICTION_SHOWN_US, TIME_NEVER).terminating);
	stop_pod(c, "p");
	assert_int_equal(c->evictions.count, 0);
	assert_true(only(c, 2 * EVICTION_SHOWN_US, TIME_NEVER).terminating);
}

static void test_a_refusal_blocks_for_longer_each_time(void **state)
{
	static const int64_t waits[] = {10, 20, 40, 80, 160, 160};
	struct cluster *c = *state;
	int64_t now = 0;

	apply_node(c, NODE_READY);
	apply_pod(c, pod_facts("p"));
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		int64_t until = now + waits[i] * SECONDS;

		note(c, UID_A, EVICTION_BUDGET, now);
		assert_non_null(strstr(only(c, until - 1, until).blocked, "PodDisruptionBudget"));
		assert_false(only(c, until - 1, until).terminating);
		assert_null(only(c, until, TIME_NEVER).blocked);
		now = until;
	}
	note(c, UID_A, EVICTION_ISSUED, now);
	assert_true(only(c, now, now + EVICTION_SHOWN_US).terminating);
	note(c, UID_A, EVICTION_THROTTLED, now);
	assert_non_null(only(c, now, now + EVICTION_BACKOFF_US).blocked);
}

static void test_an_eviction_goes_with_its_pod(void **state)
{
	struct cluster *c = *state;
	struct pod_facts other = pod_facts("p");

	apply_node(c, NODE_READY);
	apply_pod(c, pod_facts("p"));
	note(c, UID_A, EVICTION_BUDGET, 0);
	other.uid = STR(UID_B);
	apply_pod(c, other);
	assert_null(only(c, 0, TIME_NEVER).blocked);
	note(c, UID_B, EVICTION_ISSUED, 0);
	cluster_delete(c, CLUSTER_PODS, STR("a"), STR("p"));
	assert_int_equal(c->evictions.count, 0);
	note(c, UID_B, EVICTION_ISSUED, 0);
	assert_int_equal(c->evictions.count, 0);
}

/* --- claims */

/* A claim for one card; @owner: the pod whose it is, or NULL. */
static void apply_claim(struct cluster *c, const char *name, const char *uid, const char *owner)
{
	const struct claim_choice choice = {STR("gpu"), 1};
	const struct claim_request request = {&choice, 1, false};
	struct claim_facts facts = {.namespace = STR("a"),
				    .name = str_from(name),
				    .uid = str_from(uid),
				    .created_us = 9 * SECONDS,
				    .owner_kind = STR("Pod"),
				    .owner_name = str_from(owner),
				    .owner_uid = owner ? STR(UID_A) : STR_NONE,
				    .requests = &request,
				    .n_requests = 1};

	assert_int_equal(cluster_apply_claim(c, &facts, NULL), 0);
}

static void apply_class(struct cluster *c)
{
	struct class_facts facts = {.name = STR("gpu"),
				    .uid = STR("gpu"),
				    .driver = STR("gpu.nvidia.com"),
				    .extended_resource = STR("nvidia.com/gpu")};

	assert_int_equal(cluster_apply_class(c, &facts, NULL), 0);
}

static void test_a_pod_s_claim_is_held_by_the_pod(void **state)
{
	struct cluster *c = *state;
	struct quota_holder holder;

	apply_node(c, NODE_READY);
	apply_class(c);
	apply_claim(c, "p-gpu", "c", "p");
	cluster_refresh(c, cluster_namespace_find(c, STR("a")));
	holder = only(c, 0, TIME_NEVER);
	assert_true(str_equal(holder.name, STR("p")));
	assert_int_equal(holder.charge, 80 * GIB);
	assert_int_equal(holder.gpus, 1);
	assert_int_equal(holder.created_us, 9 * SECONDS);
	assert_null(holder.blocked);
	drain(c);
	note(c, UID_A, EVICTION_ISSUED, 0);
	assert_int_equal(drain(c), 1);
	assert_true(only(c, 1, TIME_NEVER).terminating);
	apply_claim(c, "p-gpu", "c", "p");
	assert_true(only(c, 1, TIME_NEVER).terminating);
	assert_true(only(c, 2 * EVICTION_SHOWN_US, TIME_NEVER).terminating);
	apply_claim(c, "p-gpu", "another", "p");
	assert_false(only(c, 1, TIME_NEVER).terminating);
	note(c, UID_A, EVICTION_BUDGET, 0);
	cluster_delete(c, CLUSTER_CLAIMS, STR("a"), STR("p-gpu"));
	assert_int_equal(c->evictions.count, 0);
}

static void test_a_claim_of_nobody_is_not_evicted(void **state)
{
	struct cluster *c = *state;
	struct quota_holder holder;

	apply_node(c, NODE_READY);
	apply_class(c);
	apply_claim(c, "shared", UID_B, NULL);
	cluster_refresh(c, cluster_namespace_find(c, STR("a")));
	holder = only(c, 0, TIME_NEVER);
	assert_true(str_equal(holder.name, STR("shared")));
	assert_true(str_equal(holder.owner_kind, STR("ResourceClaim")));
	assert_non_null(strstr(holder.blocked, "ResourceClaim"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_stuck_pod_is_released_in_time),
		CASE(a_node_that_is_there_keeps_its_pods_charged),
		CASE(a_node_that_is_gone_releases_and_takes_back),
		CASE(the_policy_decides),
		CASE(another_pod_of_the_name_is_charged),
		CASE(a_release_marks_the_tenant),
		CASE(holders_are_what_is_charged),
		CASE(a_workload_is_who_controls_the_pod),
		CASE(a_name_out_of_bounds_is_no_owner),
		CASE(an_eviction_counts_until_the_watch_shows_it),
		CASE(a_refusal_blocks_for_longer_each_time),
		CASE(an_eviction_goes_with_its_pod),
		CASE(a_pod_s_claim_is_held_by_the_pod),
		CASE(a_claim_of_nobody_is_not_evicted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
