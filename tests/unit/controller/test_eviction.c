/* SPDX-License-Identifier: Apache-2.0 */
/* The turns of the evictor, of a cluster whose cards are all taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/type.h"
#include "cluster/ledger/holders.h"
#include "cluster/looks.h"
#include "cluster/placing/reserve.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "eviction_world.h"

/* kube-scheduler's questions come between them, and no time need pass. */
static void a_search_goes_on_at_once_until_there_is_a_receipt(void **state)
{
	struct world *w = *state;
	struct work_set set;
	int turns = decide(w, &set);

	assert_ptr_equal(set.writes[0].type, &api_tenants);
	work_set_clear(&set);
	assert_in_range(turns, 2, TURNS - 1);
}

static void room_of_a_receipt_whose_write_was_lost_is_let_go(void **state)
{
	struct world *w = *state;
	struct error lost = {.kind = ERROR_UNAVAILABLE};
	struct work_set set;

	assert_in_range(decide(w, &set), 1, TURNS - 1);
	assert_int_equal(cluster_holds(w->cluster), 1);
	eviction_written(&w->reconciler, w->tenant, &set.writes[0], NULL, &lost);
	work_set_clear(&set);
	assert_int_equal(cluster_holds(w->cluster), 1);
	turn(w, 3 * USEC_PER_SEC, &set);
	work_set_clear(&set);
	assert_int_equal(cluster_holds(w->cluster), 0);
}

/* --- what is known in a moment */

/* As @facts says, the first pod of each node. */
static void tell_first_pods(struct world *w, const struct pod_facts *facts)
{
	for (uint32_t node = cluster_node_next(w->cluster, 0); node != TABLE_NONE;
	     node = cluster_node_next(w->cluster, node + 1)) {
		struct cluster_pod_name name =
			cluster_pod_name(w->cluster, cluster_node_pod(w->cluster, node));
		struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), 1);
		struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
		struct pod_facts told = *facts;
		char uid[UID_TEXT_SIZE];

		uid_text(name.uid, uid);
		told.namespace = name.namespace;
		told.name = name.name;
		told.uid = str_from(uid);
		told.node = name.node;
		told.created_us = name.created_us;
		told.containers = &container;
		told.n_containers = 1;
		assert_int_equal(cluster_apply_pod(w->cluster, &told, NULL), 0);
	}
}

/* Until there is a receipt, or nothing is looked at any more for a while. Of that, when it is. */
static int64_t search(struct world *w, struct work_set *ret_set)
{
	for (int i = 0; i < TURNS; i++) {
		turn(w, 0, ret_set);
		if (ret_set->n_writes > 0 || ret_set->look_again_us > loop_now(w->kube.loop))
			return ret_set->look_again_us - loop_now(w->kube.loop);
		work_set_clear(ret_set);
	}
	fail_msg("it is looked for too long");
	return 0;
}

static void a_pod_that_is_about_to_leave_room_is_waited_for(void **state)
{
	struct world *w = *state;
	const struct pod_facts ends = {.phase = POD_RUNNING,
				       .terminating = true,
				       .deletion_us = FULL_CLUSTER_NOW_US + 20 * USEC_PER_SEC};
	int64_t waited_us = 0, next_us;
	struct work_set set;

	tell_first_pods(w, &ends);
	for (;;) {
		next_us = search(w, &set);
		if (set.n_writes > 0)
			break;
		assert_in_range(next_us, 1, USEC_PER_SEC);
		assert_in_range(waited_us, 0, 10 * USEC_PER_SEC);
		work_set_clear(&set);
		w->kube.clock.monotonic_us += next_us;
		w->kube.clock.real_us += next_us;
		waited_us += next_us;
	}
	/* It has not left it in all that time. */
	assert_in_range(waited_us, 10 * USEC_PER_SEC, 11 * USEC_PER_SEC);
	work_set_clear(&set);
}

static void once_it_has_left_it_nobody_goes(void **state)
{
	struct world *w = *state;
	struct pod_facts ends = {.phase = POD_RUNNING,
				 .terminating = true,
				 .deletion_us = FULL_CLUSTER_NOW_US + 20 * USEC_PER_SEC};
	struct work_set set;

	tell_first_pods(w, &ends);
	search(w, &set);
	work_set_clear(&set);
	ends.phase = POD_SUCCEEDED;
	tell_first_pods(w, &ends);
	for (int i = 0; i < 5; i++) {
		turn(w, 10 * USEC_PER_SEC, &set);
		assert_int_equal(set.n_writes, 0);
		work_set_clear(&set);
	}
}

/* --- what may be old */

static void end_initial_events(struct world *w, const char *watch)
{
	assert_true(fake_kube_event(&w->kube, watch, "BOOKMARK",
				    "{\"metadata\":{\"resourceVersion\":\"15\",\"annotations\":{"
				    "\"k8s.io/initial-events-end\":\"true\"}}}"));
}

static void nobody_goes_before_every_watch_is_back(void **state)
{
	struct world *w = *state;
	struct work_set set;

	caches_start(w->caches);
	fake_kube_settle(w->kube.client);
	end_initial_events(w, "WATCH jobs");
	fake_kube_pass(&w->kube, USEC_PER_SEC);
	assert_true(str_empty(caches_behind(w->caches)));
	fake_kube_refuse(&w->kube, "WATCH jobs", ERROR_UNAVAILABLE, 0);
	assert_true(str_equal(caches_behind(w->caches), STR("jobs")));
	for (int i = 0; i < TURNS; i++) {
		turn(w, 0, &set);
		assert_int_equal(set.n_writes, 0);
		assert_true(set.look_again_us < loop_now(w->kube.loop) + USEC_PER_SEC);
		work_set_clear(&set);
	}
	fake_kube_pass(&w->kube, 10 * USEC_PER_SEC); /* its back-off is over */
	assert_true(str_equal(caches_behind(w->caches), STR("jobs")));
	fake_kube_begin(fake_kube_expect(&w->kube, "WATCH jobs"));
	assert_true(str_equal(caches_behind(w->caches), STR("jobs"))); /* what was missed comes */
	fake_kube_pass(&w->kube, USEC_PER_SEC);
	assert_true(str_empty(caches_behind(w->caches)));
	assert_in_range(decide(w, &set), 1, TURNS - 1);
	work_set_clear(&set);
}

static void one_watch_that_is_back_brings_the_others_back(void **state)
{
	struct world *w = *state;

	caches_start(w->caches);
	fake_kube_settle(w->kube.client);
	for (int i = 0; i < 6; i++) {
		fake_kube_refuse(&w->kube, "WATCH jobs", ERROR_UNAVAILABLE, 0);
		if (i < 5)
			fake_kube_pass(&w->kube, USEC_PER_MIN);
	}
	fake_kube_pass(&w->kube, 2 * USEC_PER_SEC);
	assert_null(fake_kube_find(&w->kube, "WATCH jobs")); /* it waits */
	fake_kube_begin(fake_kube_expect(&w->kube, "WATCH nodes"));
	fake_kube_pass(&w->kube, USEC_PER_SEC);
	assert_non_null(fake_kube_find(&w->kube, "WATCH jobs"));
}

/* The API server may take its time, and the evictions follow its answer. */
static void others_wait_for_a_receipt_while_its_write_is_under_way(void **state)
{
	static const bool leads_anew[] = {false, true};
	struct error lost = {.kind = ERROR_TIMEOUT};
	struct world *w = *state;
	uint32_t own = w->tenant, other = add_other(w);
	struct work_set set, next;

	for (size_t i = 0; i < ARRAY_SIZE(leads_anew); i++) {
		w->tenant = own;
		assert_in_range(decide(w, &set), 1, TURNS - 1);
		w->tenant = other;
		for (int k = 0; k < 3; k++) {
			turn(w, 10 * USEC_PER_SEC, &next);
			assert_true(next.look_again_us < TIME_NEVER);
			assert_int_equal(cluster_holds(w->cluster), 1);
		}
		if (leads_anew[i])
			eviction_reconciler_lead(&w->reconciler);
		else
			eviction_written(&w->reconciler, own, &set.writes[0], NULL, &lost);
		work_set_clear(&set);
		turn(w, 3 * USEC_PER_SEC, &next);
		assert_int_equal(cluster_holds(w->cluster), 0);
	}
}

/* Another write of its set was in the way, and failed. */
static void a_receipt_that_was_not_even_sent_is_given_up(void **state)
{
	struct error busy = {.kind = ERROR_THROTTLED, .http_status = 429};
	struct world *w = *state;
	struct work_write again = {.type = &api_pods, .subresource = "eviction"};
	struct work_set set;

	assert_in_range(decide(w, &set), 1, TURNS - 1);
	work_set_clear(&set);
	eviction_written(&w->reconciler, w->tenant, &again, NULL, &busy);
	turn(w, 0, &set);
	assert_int_equal(cluster_holds(w->cluster), 0);
	work_set_clear(&set);
}

/* Its victims may be gone by then. */
static void room_of_a_receipt_that_was_written_is_kept_while_its_watch_is_cut(void **state)
{
	struct world *w = *state;
	struct work_set set;

	assert_in_range(decide(w, &set), 1, TURNS - 1);
	eviction_written(&w->reconciler, w->tenant, &set.writes[0], NULL, NULL);
	work_set_clear(&set);
	for (int i = 0; i < 4; i++) {
		turn(w, 10 * USEC_PER_SEC, &set);
		work_set_clear(&set);
		assert_int_equal(cluster_holds(w->cluster), 1);
	}
}

/* --- the clock */

static void who_waits_in_vain_does_not_wait_for_a_clock_that_was_set_back(void **state)
{
	struct world *w = *state;
	struct receipt_pod self = {.namespace = STR("chat"), .name = STR("web-1")};
	struct work_set set = {.look_again_us = TIME_NEVER};
	struct eviction_turn turn = {.reconciler = &w->reconciler,
				     .tenant = w->tenant,
				     .set = &set,
				     .now_real_us = FULL_CLUSTER_NOW_US};

	for (int i = 0; i < 10; i++) {
		eviction_in_vain(&turn, w->pod, &self, STR("which waits: why"));
		assert_true(eviction_waits_in_vain(&turn, w->pod));
	}
	turn.now_real_us -= 600 * USEC_PER_SEC;
	assert_false(eviction_waits_in_vain(&turn, w->pod));
	eviction_in_vain(&turn, w->pod, &self, STR("which waits: why"));
	assert_true(eviction_waits_in_vain(&turn, w->pod));
}

/* How many receipts were told as Issued. */
static int told(struct world *w)
{
	struct buf page CLEANUP(buf_clear);
	const char *found;

	buf_init(&page, LIMIT_JSON_OUTPUT);
	metrics_write(w->metrics, &page);
	buf_add_char(&page, '\0');
	found = strstr(page.data, "outcome=\"Issued\"} ");
	return found ? (int)strtol(strchr(found, '}') + 2, NULL, 10) : 0;
}

static void a_receipt_is_told_when_it_is_written(void **state)
{
	struct world *w = *state;
	struct work_set set;

	assert_in_range(decide(w, &set), 1, TURNS - 1);
	assert_int_equal(told(w), 0);
	eviction_written(&w->reconciler, w->tenant, &set.writes[0], NULL, NULL);
	assert_int_equal(told(w), 1);
	work_set_clear(&set);
}

static void a_receipt_whose_write_was_not_answered_is_told_once_it_is_seen(void **state)
{
	struct error lost = {.kind = ERROR_UNAVAILABLE};
	struct world *w = *state;
	struct work_set set, next;

	assert_in_range(decide(w, &set), 1, TURNS - 1);
	for (int i = 0; i < 2; i++) {
		eviction_written(&w->reconciler, w->tenant, &set.writes[0], NULL, &lost);
		assert_int_equal(told(w), i);
		turn(w, 0, &next); /* its watch is not that fast */
		work_set_clear(&next);
		assert_int_equal(told(w), i);
		show_receipt(w, &set.writes[set.n_writes - 1], str_from(set.writes[0].uid));
		turn(w, 0, &next);
		work_set_clear(&next);
		assert_int_equal(told(w), 1); /* and no second time */
	}
	work_set_clear(&set);
}

static void a_receipt_that_was_never_written_is_not_told(void **state)
{
	struct error lost = {.kind = ERROR_UNAVAILABLE};
	struct world *w = *state;
	struct work_set set;

	assert_in_range(decide(w, &set), 1, TURNS - 1);
	eviction_written(&w->reconciler, w->tenant, &set.writes[0], NULL, &lost);
	work_set_clear(&set);
	turn(w, 3 * USEC_PER_SEC, &set);
	work_set_clear(&set);
	assert_int_equal(told(w), 0);
}

/* While help is under way nobody needs to go: the Event waits for what comes of it, and comes once.
 */
static void nobody_may_go_is_no_event_while_a_receipt_is_open(void **state)
{
	struct world *w = *state;
	struct receipt_pod self = {.namespace = STR("chat"),
				   .name = STR("web-1"),
				   .uid = STR("web-1"),
				   .owner = STR("ReplicaSet/web")};
	struct receipt open = {.outcome = RECEIPT_ISSUED, .beneficiary = self};
	struct work_set set = {.look_again_us = TIME_NEVER};
	struct eviction_turn turn = {.reconciler = &w->reconciler,
				     .tenant = w->tenant,
				     .limits = {.own = &open, .n_own = 1},
				     .set = &set,
				     .now_real_us = FULL_CLUSTER_NOW_US};

	open.beneficiary.name = open.beneficiary.uid = STR("web-0"); /* another replica */
	eviction_in_vain(&turn, w->pod, &self, STR("which waits: why"));
	eviction_in_vain(&turn, w->pod, &self, STR("which waits: why"));
	fake_kube_settle(w->kube.client);
	assert_int_equal(fake_kube_made(w->kube.client), 0);
	open.outcome = RECEIPT_INEFFECTIVE;
	eviction_in_vain(&turn, w->pod, &self, STR("which waits: why"));
	eviction_in_vain(&turn, w->pod, &self, STR("which waits: why"));
	fake_kube_settle(w->kube.client);
	assert_int_equal(fake_kube_made(w->kube.client), 1);
	assert_non_null(strstr(fake_kube_body(fake_kube_first(w->kube.client)), "NobodyMayGo"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_search_goes_on_at_once_until_there_is_a_receipt),
		TEST(a_pod_that_is_about_to_leave_room_is_waited_for),
		TEST(once_it_has_left_it_nobody_goes),
		TEST(nobody_goes_before_every_watch_is_back),
		TEST(one_watch_that_is_back_brings_the_others_back),
		TEST(room_of_a_receipt_whose_write_was_lost_is_let_go),
		TEST(others_wait_for_a_receipt_while_its_write_is_under_way),
		TEST(a_receipt_that_was_not_even_sent_is_given_up),
		TEST(room_of_a_receipt_that_was_written_is_kept_while_its_watch_is_cut),
		TEST(who_waits_in_vain_does_not_wait_for_a_clock_that_was_set_back),
		TEST(a_receipt_is_told_when_it_is_written),
		TEST(a_receipt_whose_write_was_not_answered_is_told_once_it_is_seen),
		TEST(a_receipt_that_was_never_written_is_not_told),
		TEST(nobody_may_go_is_no_event_while_a_receipt_is_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
