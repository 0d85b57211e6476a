/* SPDX-License-Identifier: Apache-2.0 */
/* Receipts that are open: who is asked to go, once more or no more, and what ends with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/type.h"
#include "cluster/ledger/holders.h"
#include "cluster/looks.h"
#include "cluster/placing/reserve.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "eviction_world.h"
#include "lib/crowd.h"

static bool says(const struct work_write *write, const char *word)
{
	size_t len = strlen(word);

	for (size_t at = 0; at + len <= write->body_len; at++)
		if (memcmp(write->body + at, word, len) == 0)
			return true;
	return false;
}

/* It is judged anew then, and may still come to something. */
static void room_is_kept_where_an_outcome_could_not_be_written(void **state)
{
	struct world *w = *state;
	struct error lost = {.kind = ERROR_UNAVAILABLE};
	struct error refused = {.kind = ERROR_FORBIDDEN, .http_status = 403};
	struct work_write *victim;
	struct work_set set, next;

	assert_in_range(decide(w, &set), 1, TURNS - 1);
	victim = &set.writes[set.n_writes - 1];
	assert_ptr_equal(victim->type, &api_pods);
	show_receipt(w, victim, str_from(set.writes[0].uid));
	assert_int_equal(cluster_holds(w->cluster), 1);
	eviction_written(&w->reconciler, w->tenant, victim, NULL, &refused);
	turn(w, 0, &next);
	assert_ptr_equal(next.writes[0].type, &api_tenants);
	assert_true(says(&next.writes[0], "Refused"));
	eviction_written(&w->reconciler, w->tenant, &next.writes[0], NULL, &lost);
	assert_int_equal(cluster_holds(w->cluster), 1);
	work_set_clear(&next);
	work_set_clear(&set);
}

/* It may be on its way: the receipt stays open, and the same pod is asked again if it stays. */
static void an_eviction_that_was_not_answered_is_no_refusal(void **state)
{
	static const struct error answers[] = {
		{.kind = ERROR_UNAVAILABLE},
		{.kind = ERROR_TIMEOUT, .http_status = 504},
		{.kind = ERROR_TIMEOUT, .http_status = 500},
		{.kind = ERROR_UNAVAILABLE, .http_status = 503},
		{.kind = ERROR_CANCELLED},
	};
	struct world *w = *state;
	struct work_write *victim;
	struct work_set set, next;

	assert_in_range(decide(w, &set), 1, TURNS - 1);
	victim = &set.writes[set.n_writes - 1];
	show_receipt(w, victim, str_from(set.writes[0].uid));
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		eviction_written(&w->reconciler, w->tenant, victim, NULL, &answers[i]);
		turn(w, 0, &next);
		assert_int_equal(next.n_writes, 0);
		assert_true(next.look_again_us <= loop_now(w->kube.loop) + EVICTION_UNANSWERED_US);
		turn(w, EVICTION_UNANSWERED_US, &next);
		assert_int_equal(asked_of(&next), 1);
		assert_string_equal(next.writes[next.n_writes - 1].uid, victim->uid);
		work_set_clear(&next);
	}
	work_set_clear(&set);
}

/* --- for whom nobody need go any more */

static void move_to_other(struct world *w)
{
	const struct label label = {STR("team"), STR("other")};
	const struct namespace_facts facts = {.name = STR(FULL_CLUSTER_TENANT),
					      .uid = STR(FULL_CLUSTER_TENANT),
					      .labels = &label,
					      .n_labels = 1};

	add_other(w);
	assert_int_equal(cluster_apply_namespace(w->cluster, &facts, NULL), 0);
}

/* A finalizer keeps it there. */
static void begin_to_leave(struct world *w)
{
	struct cluster_pod_name name = cluster_pod_name(w->cluster, w->pod);
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), 1);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	char uid[UID_TEXT_SIZE];
	const struct pod_facts facts = {.namespace = name.namespace,
					.name = name.name,
					.uid = {uid, UID_TEXT_SIZE - 1},
					.phase = POD_PENDING,
					.terminating = true,
					.created_us = name.created_us,
					.containers = &container,
					.n_containers = 1};

	uid_text(name.uid, uid);
	assert_int_equal(cluster_apply_pod(w->cluster, &facts, NULL), 0);
}

static void who_was_not_evicted_yet_stays(struct world *w, void (*change)(struct world *w))
{
	struct error lost = {.kind = ERROR_TIMEOUT};
	struct work_write *victim;
	struct work_set set, next;

	assert_in_range(decide(w, &set), 1, TURNS - 1);
	victim = &set.writes[set.n_writes - 1];
	show_receipt(w, victim, str_from(set.writes[0].uid));
	eviction_written(&w->reconciler, w->tenant, victim, NULL, &lost);
	turn(w, EVICTION_UNANSWERED_US, &next);
	assert_int_equal(asked_of(&next), 1);
	work_set_clear(&next);
	change(w);
	turn(w, USEC_PER_SEC, &next);
	assert_int_equal(asked_of(&next), 0);
	work_set_clear(&next);
	work_set_clear(&set);
}

static void nobody_more_goes_for_a_pod_that_is_another_tenants_now(void **state)
{
	who_was_not_evicted_yet_stays(*state, move_to_other);
}

static void nobody_more_goes_for_a_pod_that_is_on_its_way_out(void **state)
{
	who_was_not_evicted_yet_stays(*state, begin_to_leave);
}

static void cut_watch(struct world *w)
{
	begin_to_watch(w);
	fake_kube_refuse(&w->kube, "WATCH jobs", ERROR_UNAVAILABLE, 0);
}

static void nobody_more_goes_by_what_may_be_old(void **state)
{
	who_was_not_evicted_yet_stays(*state, cut_watch);
}

/* More than a fifth of them, and none of those that come first in a plan. */
static void lose_nodes(struct world *w)
{
	struct device_offer offer = {.resource = STR("nvidia.com/gpu"),
				     .product = STR("NVIDIA-H100-80GB-HBM3"),
				     .unit_memory = 80 * GIB,
				     .min_memory = 80 * GIB,
				     .count = FULL_CLUSTER_CARDS,
				     .allocatable = FULL_CLUSTER_CARDS,
				     .sharing = DEVICE_WHOLE};

	for (unsigned int i = 350; i < 500; i++) {
		struct node_facts facts = {.name = crowd_text(FULL_CLUSTER_NODE, i),
					   .uid = crowd_text("node-uid", i),
					   .ready = NODE_NOT_READY,
					   .offers = &offer,
					   .n_offers = 1};

		assert_int_equal(cluster_apply_node(w->cluster, &facts, NULL), 0);
	}
}

static void nobody_more_goes_while_many_nodes_are_not_ready(void **state)
{
	who_was_not_evicted_yet_stays(*state, lose_nodes);
}

/* Whatever came of its write: its watch was cut, and has shown neither. */
static void of_a_tenant_that_is_gone_no_room_is_held_nor_a_receipt_waited_for(void **state)
{
	struct error lost = {.kind = ERROR_TIMEOUT};
	struct world *w = *state;
	uint32_t own = w->tenant, other = add_other(w);
	struct work_set set, next;

	assert_in_range(decide(w, &set), 1, TURNS - 1);
	eviction_written(&w->reconciler, own, &set.writes[0], NULL, NULL);
	eviction_written(&w->reconciler, own, &set.writes[1], NULL, &lost);
	work_set_clear(&set);
	w->tenant = other;
	turn(w, 0, &next);
	work_set_clear(&next);
	assert_true(w->reconciler.unseen.id[0] != '\0');
	assert_int_equal(cluster_holds(w->cluster), 1);
	cluster_delete(w->cluster, CLUSTER_TENANTS, STR_NONE, STR(FULL_CLUSTER_TENANT));
	assert_int_equal(cluster_holds(w->cluster), 0);
	turn(w, 0, &next);
	work_set_clear(&next);
	assert_true(w->reconciler.unseen.id[0] == '\0');
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(room_is_kept_where_an_outcome_could_not_be_written),
		TEST(an_eviction_that_was_not_answered_is_no_refusal),
		TEST(nobody_more_goes_for_a_pod_that_is_another_tenants_now),
		TEST(nobody_more_goes_for_a_pod_that_is_on_its_way_out),
		TEST(nobody_more_goes_by_what_may_be_old),
		TEST(nobody_more_goes_while_many_nodes_are_not_ready),
		TEST(of_a_tenant_that_is_gone_no_room_is_held_nor_a_receipt_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
