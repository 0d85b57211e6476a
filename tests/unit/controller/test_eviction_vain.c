/* SPDX-License-Identifier: Apache-2.0 */
/* For whom nobody may go: for how long they are left alone, and when a need is a new one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster/looks.h"
#include "cluster/placing/assume.h"
#include "cluster/read.h"
#include "cluster/tenants/objectives.h"
#include "cluster/tenants/tenants.h"
#include "eviction_world.h"

#define NAMESPACE STR(FULL_CLUSTER_TENANT)
#define NODE      STR(FULL_CLUSTER_NODE "-000000")
#define READINGS  30 /* after which nothing before counts */
#define GOOD      0.01
#define BAD       0.9

static const struct objective_spec latency = {.name = {"latency", 7},
					      .preset = PRESET_TGI_REQUEST,
					      .percentile = 95,
					      .threshold = 200000,
					      .for_us = 5 * USEC_PER_SEC};

/* Nobody is of a tier that may go for the tenant's pods, which have an objective. */
static void tell_tenant(struct world *w, enum protection_mode mode, int64_t pending_us)
{
	struct str name = STR(FULL_CLUSTER_TENANT);
	struct label_requirement requirement = {STR("team"), LABEL_IN, &name, 1};
	struct tenant_facts facts;
	struct arena arena CLEANUP(arena_clear);

	arena_init(&arena, LIMIT_DECODE_ARENA);
	assert_true(cluster_tenant_facts(w->cluster, w->tenant, &arena, &facts));
	facts.name = facts.uid = name;
	facts.spec.namespaces = (struct label_selector){&requirement, 1};
	facts.spec.protection.mode = mode;
	facts.spec.protection.victim_tiers = 1U << TIER_BEST_EFFORT;
	facts.spec.pending_us = pending_us;
	facts.spec.objectives = &latency;
	facts.spec.n_objectives = 1;
	assert_int_equal(cluster_apply_tenant(w->cluster, &facts, NULL), 0);
}

/* @node: empty where it waits. */
static uint32_t tell_pod(struct world *w, struct str name, struct str node, int64_t created_us)
{
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), 1);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	const struct pod_facts facts = {.namespace = NAMESPACE,
					.name = name,
					.uid = name,
					.node = node,
					.phase = str_empty(node) ? POD_PENDING : POD_RUNNING,
					.created_us = created_us,
					.containers = &container,
					.n_containers = 1};

	assert_int_equal(cluster_apply_pod(w->cluster, &facts, NULL), 0);
	return cluster_pod_find(w->cluster, NAMESPACE, name, name);
}

static uint32_t add_running(struct world *w, struct str name)
{
	return tell_pod(w, name, NODE, FULL_CLUSTER_NOW_US - 60 * USEC_PER_MIN);
}

static struct eviction_vain *vain_of(struct world *w, uint32_t pod)
{
	struct eviction_vain *all = w->reconciler.search.vain;
	struct uid uid = cluster_pod_uid(w->cluster, pod);

	for (size_t i = 0; i < EVICTION_VAIN_MOST; i++)
		if (all[i].again_us > 0 && uid_equal(all[i].uid, uid))
			return &all[i];
	return NULL;
}

/* Prometheus's clock is its own. */
static void read_values(struct world *w, struct str pod, double value)
{
	static int64_t second;

	for (int i = 0; i < READINGS; i++, second++) {
		const struct slo_moment moment = {second * USEC_PER_SEC,
						  FULL_CLUSTER_NOW_US + second * USEC_PER_SEC,
						  USEC_PER_SEC};
		const struct slo_point point = {
			.value = value,
			.sum = 1 + (double)second,
			.at_us = moment.real_us,
			.pod = cluster_point_pod(w->cluster, NAMESPACE, pod)};
		const struct slo_reading reading = {.points = &point, .n_points = 1};

		cluster_take_reading(w->cluster, w->tenant, 0, &reading, &moment);
	}
	assert_int_equal(cluster_objective(w->cluster, w->tenant, 0).verdict->state,
			 value > GOOD ? OBJECTIVE_VIOLATED : OBJECTIVE_MET);
}

/* Turns, so much later, until nothing more is looked at for a while. */
static void pass(struct world *w, int64_t later_us)
{
	struct work_set set;

	for (int i = 0; i < TURNS; i++) {
		int64_t again_us;

		turn(w, i == 0 ? later_us : 0, &set);
		assert_int_equal(set.n_writes, 0);
		again_us = set.look_again_us;
		work_set_clear(&set);
		if (again_us > loop_now(w->kube.loop))
			return;
	}
	fail_msg("it is looked for too long");
}

/* It is in vain, and is tried again in so many seconds. */
static void assert_tried(struct world *w, uint32_t pod, int64_t left_s)
{
	const struct eviction_vain *vain = vain_of(w, pod);

	assert_non_null(vain);
	assert_int_equal(vain->again_us - w->kube.clock.real_us, left_s * USEC_PER_SEC);
}

/* Three times in vain. */
static uint32_t violate(struct world *w)
{
	uint32_t pod = add_running(w, STR("serving"));

	read_values(w, STR("serving"), BAD);
	pass(w, 0);
	assert_tried(w, pod, 10);
	pass(w, 10 * USEC_PER_SEC);
	pass(w, 20 * USEC_PER_SEC);
	assert_tried(w, pod, 40);
	return pod;
}

static void assert_told(struct world *w, bool told)
{
	struct tenant_lookup lookup;
	struct arena arena CLEANUP(arena_clear);

	arena_init(&arena, LIMIT_DECODE_ARENA);
	assert_int_equal(cluster_tenant_view(w->cluster, w->tenant, &arena, &lookup, NULL), 0);
	assert_int_equal(!str_empty(lookup.unhelped), told);
}

static void assert_says(struct world *w, const char *words)
{
	struct tenant_lookup lookup;
	struct arena arena CLEANUP(arena_clear);

	arena_init(&arena, LIMIT_DECODE_ARENA);
	assert_int_equal(cluster_tenant_view(w->cluster, w->tenant, &arena, &lookup, NULL), 0);
	if (!str_ends_with(lookup.unhelped, str_from(words)))
		fail_msg("\"%.*s\" is said", STR_ARGS(lookup.unhelped));
}

/* Nobody is in need but the objective. */
static void an_objective_is_told_that_a_watch_is_behind(void **state)
{
	struct world *w = *state;
	struct work_set set;

	tell_tenant(w, PROTECTION_ENFORCE, AMOUNT_NONE);
	begin_to_watch(w);
	fake_kube_refuse(&w->kube, "WATCH jobs", ERROR_UNAVAILABLE, 0);
	add_running(w, STR("serving"));
	read_values(w, STR("serving"), BAD);
	for (int i = 0; i < 2; i++) {
		assert_told(w, false);
		turn(w, EVICTION_BEHIND_TOLD_US, &set);
		work_set_clear(&set);
	}
	assert_says(w,
		    "whose objective latency is Violated: what is known of jobs may be old, since "
		    "their watch is not back yet.");
	fake_kube_begin(fake_kube_expect(&w->kube, "WATCH jobs"));
	fake_kube_pass(&w->kube, USEC_PER_SEC);
	pass(w, USEC_PER_SEC);
	assert_says(w, "; nothing tells which cards it has, or how they are wired.");
}

/* Long enough for it to be told. */
static void cut_watch(struct world *w)
{
	fake_kube_refuse(&w->kube, "WATCH jobs", ERROR_UNAVAILABLE, 0);
	pass(w, 0);
	pass(w, EVICTION_BEHIND_TOLD_US);
	assert_says(w, "what is known of jobs may be old, since their watch is not back yet.");
}

static void what_is_told_of_a_watch_ends_once_it_is_back(void **state)
{
	struct world *w = *state;
	uint32_t pod;

	tell_tenant(w, PROTECTION_ENFORCE, AMOUNT_NONE);
	begin_to_watch(w);
	fake_kube_pass(&w->kube, USEC_PER_SEC);
	pod = violate(w);
	cut_watch(w);
	fake_kube_begin(fake_kube_expect(&w->kube, "WATCH jobs"));
	fake_kube_pass(&w->kube, USEC_PER_SEC);
	pass(w, 0);
	assert_says(w, "; nothing tells which cards it has, or how they are wired.");
	assert_tried(w, pod, 80); /* nor does it begin anew */
}

/* What is under way is seen to all the same. */
static void turn_behind(struct world *w, int64_t later_us)
{
	struct work_set set;

	turn(w, later_us, &set);
	work_set_clear(&set);
}

/* Room is made for the first one, and its victim is not gone yet. */
static void it_is_told_of_who_is_not_helped_yet(void **state)
{
	struct world *w = *state;
	struct cluster_pod_name first = cluster_pod_name(w->cluster, w->pod);
	struct work_set set;

	assert_in_range(decide(w, &set), 1, TURNS - 1);
	show_receipt(w, &set.writes[set.n_writes - 1], str_from(set.writes[0].uid));
	work_set_clear(&set);
	begin_to_watch(w);
	fake_kube_pass(&w->kube, USEC_PER_SEC);
	fake_kube_refuse(&w->kube, "WATCH jobs", ERROR_UNAVAILABLE, 0);
	turn_behind(w, 0);
	turn_behind(w, EVICTION_BEHIND_TOLD_US);
	assert_told(w, false);
	tell_pod(w, STR("second"), STR_NONE, first.created_us + USEC_PER_SEC);
	turn_behind(w, USEC_PER_SEC);
	assert_says(w, "second, which waits: what is known of jobs may be old, since their watch "
		       "is not back yet.");
}

/* Prometheus is no watch. */
static void so_it_does_once_nobody_is_in_need(void **state)
{
	struct world *w = *state;

	tell_tenant(w, PROTECTION_ENFORCE, AMOUNT_NONE);
	begin_to_watch(w);
	fake_kube_pass(&w->kube, USEC_PER_SEC);
	violate(w);
	cut_watch(w);
	read_values(w, STR("serving"), GOOD);
	pass(w, USEC_PER_SEC);
	assert_false(str_empty(caches_behind(w->caches)));
	assert_told(w, false);
}

static void is_looked_at_anew(struct world *w, int64_t pending_us)
{
	uint32_t pod;

	tell_tenant(w, PROTECTION_ENFORCE, pending_us);
	pod = violate(w);
	read_values(w, STR("serving"), GOOD);
	pass(w, USEC_PER_SEC);
	assert_told(w, pending_us != AMOUNT_NONE);
	read_values(w, STR("serving"), BAD);
	pass(w, USEC_PER_SEC);
	assert_tried(w, pod, 10);
	assert_told(w, true);
}

static void an_objective_that_was_met_meanwhile_is_looked_at_anew(void **state)
{
	is_looked_at_anew(*state, AMOUNT_NONE);
}

static void so_it_is_while_another_pod_of_the_tenant_is_in_vain(void **state)
{
	is_looked_at_anew(*state, USEC_PER_SEC);
}

/* The turn in which it was met came to nothing else. */
static void so_it_is_where_it_was_met_while_a_receipt_was_waited_for(void **state)
{
	struct world *w = *state;
	uint32_t other = add_other(w), pod;

	tell_tenant(w, PROTECTION_ENFORCE, AMOUNT_NONE);
	pod = violate(w);
	read_values(w, STR("serving"), GOOD);
	w->reconciler.unseen = (struct eviction_unseen){"x", other, true, false, 0};
	pass(w, USEC_PER_SEC);
	assert_told(w, true); /* nothing was looked at */
	w->reconciler.unseen.id[0] = '\0';
	read_values(w, STR("serving"), BAD);
	pass(w, USEC_PER_SEC);
	assert_tried(w, pod, 10);
}

static void an_objective_is_left_alone_whichever_pod_is_its_worst(void **state)
{
	struct world *w = *state;
	uint32_t pod;

	tell_tenant(w, PROTECTION_ENFORCE, AMOUNT_NONE);
	pod = violate(w);
	add_running(w, STR("second"));
	read_values(w, STR("second"), BAD);
	pass(w, USEC_PER_SEC);
	read_values(w, STR("serving"), BAD);
	pass(w, USEC_PER_SEC);
	assert_tried(w, pod, 38);
}

static void who_waits_is_left_alone_while_another_one_is_helped(void **state)
{
	struct world *w = *state;
	struct cluster_pod_name first = cluster_pod_name(w->cluster, w->pod);
	struct work_set set;
	uint32_t second;

	tell_tenant(w, PROTECTION_ENFORCE, USEC_PER_SEC);
	pass(w, 0);
	assert_tried(w, w->pod, 10);
	second = tell_pod(w, STR("second"), STR_NONE, first.created_us + USEC_PER_SEC);
	pass(w, 5 * USEC_PER_SEC);
	assert_tried(w, second, 10);
	turn(w, 5 * USEC_PER_SEC, &set); /* the first one is searched for again */
	assert_int_equal(set.look_again_us, loop_now(w->kube.loop));
	work_set_clear(&set);
	assert_told(w, true);
	cluster_delete(w->cluster, CLUSTER_PODS, first.namespace, first.name);
	pass(w, 0);
	assert_tried(w, second, 5);
	assert_told(w, true);
}

static void so_it_is_while_another_tenants_plan_is_under_way(void **state)
{
	struct world *w = *state;
	struct cluster_pod_name first = cluster_pod_name(w->cluster, w->pod);
	struct work_set set;
	uint32_t own = w->tenant, second;

	tell_tenant(w, PROTECTION_ENFORCE, USEC_PER_SEC);
	pass(w, 0);
	second = tell_pod(w, STR("second"), STR_NONE, first.created_us + USEC_PER_SEC);
	pass(w, 5 * USEC_PER_SEC);
	turn(w, 5 * USEC_PER_SEC, &set);
	work_set_clear(&set);
	w->reconciler.search.tenant = add_other(w);
	pass(w, 0);
	assert_told(w, true);
	cluster_delete(w->cluster, CLUSTER_PODS, first.namespace, first.name);
	w->reconciler.search.tenant = own;
	pass(w, 0);
	assert_tried(w, second, 5);
}

static void who_could_not_be_bound_goes_on_to_wait(void **state)
{
	struct world *w = *state;

	tell_tenant(w, PROTECTION_ENFORCE, USEC_PER_SEC);
	pass(w, 0);
	pass(w, 10 * USEC_PER_SEC);
	assert_tried(w, w->pod, 20);
	cluster_assume(w->cluster, w->pod, cluster_node_next(w->cluster, 0), 0, TIME_NEVER);
	pass(w, USEC_PER_SEC);
	assert_told(w, true);
	cluster_unassume(w->cluster, w->pod);
	pass(w, USEC_PER_SEC);
	assert_tried(w, w->pod, 18);
	assert_told(w, true);
}

static void who_is_protected_again_is_looked_at_anew(void **state)
{
	struct world *w = *state;

	tell_tenant(w, PROTECTION_ENFORCE, USEC_PER_SEC);
	pass(w, 0);
	pass(w, 10 * USEC_PER_SEC);
	tell_tenant(w, PROTECTION_OFF, USEC_PER_SEC);
	pass(w, USEC_PER_SEC);
	assert_told(w, false);
	tell_tenant(w, PROTECTION_ENFORCE, USEC_PER_SEC);
	pass(w, USEC_PER_SEC);
	assert_tried(w, w->pod, 10);
	assert_told(w, true);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_objective_is_told_that_a_watch_is_behind),
		TEST(what_is_told_of_a_watch_ends_once_it_is_back),
		TEST(it_is_told_of_who_is_not_helped_yet),
		TEST(so_it_does_once_nobody_is_in_need),
		TEST(an_objective_that_was_met_meanwhile_is_looked_at_anew),
		TEST(so_it_is_while_another_pod_of_the_tenant_is_in_vain),
		TEST(so_it_is_where_it_was_met_while_a_receipt_was_waited_for),
		TEST(an_objective_is_left_alone_whichever_pod_is_its_worst),
		TEST(who_waits_is_left_alone_while_another_one_is_helped),
		TEST(so_it_is_while_another_tenants_plan_is_under_way),
		TEST(who_could_not_be_bound_goes_on_to_wait),
		TEST(who_is_protected_again_is_looked_at_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
