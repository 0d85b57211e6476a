/* SPDX-License-Identifier: Apache-2.0 */
/* The reconcile loop over an API server that answers when the test says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "lib/fake_kube.h"
#include "runtime/work.h"

#define KEYS 40

struct world {
	struct fake_kube_world kube;
	struct work *work;

	/* What the reconciler is to do, and what it was asked. */
	size_t n_writes;
	bool fails, missing_is_fine, may_fail, required, unawaited;
	int64_t look_again_us;
	int reconciled[KEYS];
	int written, refused;
};

static int reconcile(void *context, uint32_t key, struct work_set *set, struct error *err)
{
	struct world *w = context;
	char name[40];

	w->reconciled[key]++;
	set->look_again_us = w->look_again_us;
	if (w->fails)
		return error_set(err, ERROR_INVALID, "as the test wished");
	for (size_t i = 0; i < w->n_writes; i++) {
		snprintf(name, sizeof(name), "%u-%zu", key, i);
		struct work_write *write = work_set_add(set, KUBE_APPLY, &api_resource_quotas,
							STR("a"), str_from(name));

		write->body = mem_strdup("{}");
		write->body_len = 2;
		write->missing_is_fine = w->missing_is_fine;
		write->exists_is_fine = w->missing_is_fine;
		write->may_fail = w->may_fail;
		write->required = w->required;
		write->unawaited = w->unawaited && i == 0;
	}
	return 0;
}

static void written(void *context, uint32_t key UNUSED, const struct work_write *write UNUSED,
		    const struct kube_answer *answer, const struct error *err)
{
	struct world *w = context;

	assert_false(answer && err);
	if (err)
		w->refused++;
	else
		w->written++;
}

static int setup(void **state)
{
	struct world *w = mem_alloc(sizeof(*w));

	fake_kube_world_init(&w->kube);
	w->n_writes = 1;
	w->look_again_us = TIME_NEVER;
	w->work = work_new(w->kube.client, &(struct work_options){
						   .name = "test",
						   .reconcile = reconcile,
						   .written = written,
						   .context = w,
					   });
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	work_free(w->work);
	fake_kube_world_clear(&w->kube);
	mem_free(w);
	return 0;
}

static void settle(struct world *w)
{
	fake_kube_settle(w->kube.client);
}

static void add_and_settle(struct world *w, uint32_t key)
{
	work_add(w->work, key);
	settle(w);
}

static void nothing_is_reconciled_before_the_start(void **state)
{
	struct world *w = *state;

	add_and_settle(w, 1);
	assert_int_equal(w->reconciled[1], 0);
	work_start(w->work);
	settle(w);
	assert_int_equal(w->reconciled[1], 1);
}

static void writes_of_a_set_go_one_after_another(void **state)
{
	struct world *w = *state;

	w->n_writes = 3;
	work_start(w->work);
	add_and_settle(w, 1);
	for (int i = 0; i < 3; i++) {
		char wanted[64];

		snprintf(wanted, sizeof(wanted), "APPLY resourcequotas a/1-%d", i);
		assert_int_equal(fake_kube_open(w->kube.client), 1);
		assert_string_equal(fake_kube_what(fake_kube_first(w->kube.client)), wanted);
		fake_kube_answer(fake_kube_first(w->kube.client), "{}");
		settle(w);
	}
	assert_int_equal(fake_kube_open(w->kube.client), 0);
	assert_int_equal(w->written, 3);
	assert_int_equal(w->reconciled[1], 1);
	assert_int_equal(work_depth(w->work), 0);
}

static void a_key_added_while_its_set_is_in_flight_comes_again_and_not_before(void **state)
{
	struct world *w = *state;

	work_start(w->work);
	add_and_settle(w, 1);
	add_and_settle(w, 1);
	add_and_settle(w, 1);
	assert_int_equal(w->reconciled[1], 1);
	assert_int_equal(fake_kube_open(w->kube.client), 1);
	fake_kube_answer(fake_kube_first(w->kube.client), "{}");
	settle(w);
	assert_int_equal(w->reconciled[1], 2);
}

static void a_failed_write_ends_the_set_and_backs_off(void **state)
{
	struct world *w = *state;

	w->n_writes = 2;
	work_start(w->work);
	add_and_settle(w, 1);
	fake_kube_fail(fake_kube_first(w->kube.client), ERROR_UNAVAILABLE, 503);
	settle(w);
	assert_int_equal(fake_kube_open(w->kube.client), 0);
	assert_int_equal(w->refused, 1);
	assert_int_equal(w->reconciled[1], 1);
	fake_kube_pass(&w->kube, 10 * USEC_PER_MSEC);
	assert_int_equal(w->reconciled[1], 2);
}

static void a_refused_write_does_not_hold_up_those_behind_it(void **state)
{
	static const enum error_kind kinds[] = {ERROR_INVALID, ERROR_FORBIDDEN};
	struct world *w = *state;

	w->n_writes = 2;
	work_start(w->work);
	for (int i = 0; i < (int)ARRAY_SIZE(kinds); i++) {
		uint32_t key = (uint32_t)(1 + i);

		add_and_settle(w, key);
		fake_kube_fail(fake_kube_first(w->kube.client), kinds[i], 422);
		settle(w);
		assert_int_equal(fake_kube_open(w->kube.client), 1);
		fake_kube_answer(fake_kube_first(w->kube.client), "{}");
		settle(w);
		assert_int_equal(w->written, i + 1);
		assert_int_equal(w->reconciled[key], 1);
		/* It is a failure all the same: tried again. */
		w->n_writes = 0;
		fake_kube_pass(&w->kube, 10 * USEC_PER_MSEC);
		assert_int_equal(w->reconciled[key], 2);
		w->n_writes = 2;
	}
}

/* As a receipt is for the evictions behind it. */
static void a_refused_write_that_is_required_ends_the_set(void **state)
{
	static const enum error_kind kinds[] = {ERROR_INVALID, ERROR_FORBIDDEN, ERROR_CONFLICT};
	struct world *w = *state;

	w->n_writes = 2;
	w->required = true;
	work_start(w->work);
	for (int i = 0; i < (int)ARRAY_SIZE(kinds); i++) {
		add_and_settle(w, (uint32_t)(1 + i));
		fake_kube_fail(fake_kube_first(w->kube.client), kinds[i], 422);
		settle(w);
		assert_int_equal(fake_kube_open(w->kube.client), 0);
		assert_int_equal(w->written, 0);
	}
}

/* As evictions do: 6.3 of the API's habits, from "a budget allows none" to "replaced". */
static void a_write_that_may_fail_holds_up_nothing_and_fails_no_key(void **state)
{
	static const struct {
		enum error_kind kind;
		int status;
	} answers[] = {{ERROR_BUDGET, 429},    {ERROR_BUDGET, 500},      {ERROR_CONFLICT, 409},
		       {ERROR_FORBIDDEN, 403}, {ERROR_UNAVAILABLE, 500}, {ERROR_TIMEOUT, 504}};
	struct world *w = *state;

	w->n_writes = 2;
	w->may_fail = true;
	work_start(w->work);
	for (int i = 0; i < (int)ARRAY_SIZE(answers); i++) {
		uint32_t key = (uint32_t)(1 + i);

		add_and_settle(w, key);
		fake_kube_fail(fake_kube_first(w->kube.client), answers[i].kind, answers[i].status);
		settle(w);
		fake_kube_answer(fake_kube_first(w->kube.client), "{}");
		fake_kube_pass(&w->kube, 60 * USEC_PER_SEC);
		assert_int_equal(w->refused, i + 1);
		assert_int_equal(w->written, i + 1);
		assert_int_equal(w->reconciled[key], 1);
	}
}

static void a_server_that_does_not_answer_fails_also_what_may_fail(void **state)
{
	static const struct {
		enum error_kind kind;
		int status;
	} answers[] = {{ERROR_UNAVAILABLE, 0}, {ERROR_UNAVAILABLE, 503}, {ERROR_THROTTLED, 429}};
	struct world *w = *state;

	w->n_writes = 2;
	w->may_fail = true;
	work_start(w->work);
	for (int i = 0; i < (int)ARRAY_SIZE(answers); i++) {
		uint32_t key = (uint32_t)(1 + i);

		add_and_settle(w, key);
		fake_kube_fail(fake_kube_first(w->kube.client), answers[i].kind, answers[i].status);
		settle(w);
		assert_int_equal(fake_kube_open(w->kube.client), 0);
		fake_kube_pass(&w->kube, 10 * USEC_PER_MSEC);
		assert_int_equal(w->reconciled[key], 2);
		work_drop(w->work, key);
		fake_kube_answer(fake_kube_first(w->kube.client), "{}");
		settle(w);
		fake_kube_answer(fake_kube_first(w->kube.client), "{}");
		settle(w);
	}
}

static void behind_an_unawaited_write_the_next_is_sent_at_once_and_no_more(void **state)
{
	struct world *w = *state;

	w->n_writes = 3;
	w->unawaited = true;
	work_start(w->work);
	add_and_settle(w, 1);
	assert_int_equal(fake_kube_open(w->kube.client), 2);
	fake_kube_answer(fake_kube_nth(w->kube.client, 1), "{}"); /* the later one first */
	settle(w);
	assert_int_equal(fake_kube_open(w->kube.client), 2);
	assert_string_equal(fake_kube_what(fake_kube_nth(w->kube.client, 1)),
			    "APPLY resourcequotas a/1-2");
	fake_kube_answer(fake_kube_nth(w->kube.client, 1), "{}");
	settle(w);
	assert_int_equal(work_depth(w->work), 0);
	assert_true(work_due(w->work)); /* the first is not answered: it is not over */
	fake_kube_answer(fake_kube_first(w->kube.client), "{}");
	settle(w);
	assert_false(work_due(w->work));
	assert_int_equal(w->written, 3);
	assert_int_equal(w->reconciled[1], 1);
}

static void a_failure_beside_an_unawaited_write_ends_the_set_when_all_are_answered(void **state)
{
	struct world *w = *state;

	w->n_writes = 3;
	w->unawaited = true;
	work_start(w->work);
	add_and_settle(w, 1);
	fake_kube_fail(fake_kube_first(w->kube.client), ERROR_UNAVAILABLE, 0);
	settle(w);
	fake_kube_pass(&w->kube, USEC_PER_SEC);
	assert_int_equal(w->reconciled[1], 1); /* not again while one is under way */
	fake_kube_answer(fake_kube_first(w->kube.client), "{}");
	settle(w);
	assert_int_equal(fake_kube_open(w->kube.client), 0); /* the third is not sent */
	assert_int_equal(w->written, 1);
	fake_kube_pass(&w->kube, USEC_PER_SEC);
	assert_int_equal(w->reconciled[1], 2);
}

static void a_stop_lets_go_of_all_that_a_set_has_sent(void **state)
{
	struct world *w = *state;

	w->n_writes = 3;
	w->unawaited = true;
	work_start(w->work);
	add_and_settle(w, 1);
	assert_int_equal(fake_kube_open(w->kube.client), 2);
	work_stop(w->work);
	settle(w);
	assert_int_equal(fake_kube_open(w->kube.client), 0);
	assert_int_equal(w->written + w->refused, 0);
}

/* Two queues, one page: each family once, a sample for each. */
static void several_queues_share_the_metrics(void **state)
{
	CLEANUP(metrics_free) struct metrics *metrics = metrics_new();
	struct world *w = *state;
	struct work_options options = {.reconcile = reconcile, .context = w, .metrics = metrics};
	struct buf page;

	options.name = "one";
	CLEANUP(work_free) struct work *one = work_new(w->kube.client, &options);
	options.name = "two";
	CLEANUP(work_free) struct work *two = work_new(w->kube.client, &options);

	work_add(one, 1);
	work_add(two, 1);
	work_add(two, 2);
	buf_init(&page, 1 << 20);
	metrics_write(metrics, &page);
	assert_non_null(strstr(page.data, "gpuqos_workqueue_depth{controller=\"one\"} 1\n"));
	assert_non_null(strstr(page.data, "gpuqos_workqueue_depth{controller=\"two\"} 2\n"));
	const char *help = strstr(page.data, "# HELP gpuqos_workqueue_depth");

	assert_non_null(help);
	assert_null(strstr(help + 1, "# HELP gpuqos_workqueue_depth"));
	work_start(two);
	settle(w);
	buf_reset(&page);
	metrics_write(metrics, &page);
	assert_non_null(strstr(page.data, "gpuqos_workqueue_depth{controller=\"two\"} 0\n"));
	assert_non_null(strstr(page.data, "gpuqos_workqueue_in_flight{controller=\"two\"} 2\n"));
	buf_clear(&page);
}

static void failures_back_off_longer_and_longer_and_success_forgets(void **state)
{
	struct world *w = *state;

	w->fails = true;
	work_start(w->work);
	add_and_settle(w, 1);
	for (int i = 0; i < 6; i++)
		fake_kube_pass(&w->kube, 10 * USEC_PER_MSEC);
	assert_in_range(w->reconciled[1], 2, 5);
	w->fails = false;
	w->n_writes = 0;
	fake_kube_pass(&w->kube, 60 * USEC_PER_SEC);
	int before = w->reconciled[1];

	w->fails = true;
	add_and_settle(w, 1);
	fake_kube_pass(&w->kube, 10 * USEC_PER_MSEC);
	assert_int_equal(w->reconciled[1], before + 2);
}

static void what_is_gone_or_there_counts_as_done_where_that_is_fine(void **state)
{
	struct world *w = *state;

	w->missing_is_fine = true;
	work_start(w->work);
	add_and_settle(w, 1);
	fake_kube_fail(fake_kube_first(w->kube.client), ERROR_NOT_FOUND, 404);
	add_and_settle(w, 2);
	fake_kube_fail(fake_kube_first(w->kube.client), ERROR_EXISTS, 409);
	fake_kube_pass(&w->kube, 60 * USEC_PER_SEC);
	assert_int_equal(w->refused, 0);
	assert_int_equal(w->written, 2);
	assert_int_equal(w->reconciled[1], 1);
	assert_int_equal(w->reconciled[2], 1);
}

static void a_decision_is_looked_at_again_when_it_wished(void **state)
{
	struct world *w = *state;

	w->n_writes = 0;
	w->look_again_us = loop_now(w->kube.loop) + 4 * USEC_PER_SEC;
	work_start(w->work);
	add_and_settle(w, 1);
	w->look_again_us = TIME_NEVER;
	fake_kube_pass(&w->kube, 3 * USEC_PER_SEC);
	assert_int_equal(w->reconciled[1], 1);
	fake_kube_pass(&w->kube, USEC_PER_SEC);
	assert_int_equal(w->reconciled[1], 2);
	fake_kube_pass(&w->kube, 60 * USEC_PER_SEC);
	assert_int_equal(w->reconciled[1], 2);
}

static void a_bounded_number_of_sets_is_in_flight(void **state)
{
	struct world *w = *state;
	int reconciled = 0;

	work_start(w->work);
	for (uint32_t key = 0; key < KEYS; key++)
		work_add(w->work, key);
	settle(w);
	assert_int_equal(fake_kube_open(w->kube.client), 32);
	while (fake_kube_open(w->kube.client)) {
		assert_true(fake_kube_open(w->kube.client) <= 32);
		fake_kube_answer(fake_kube_first(w->kube.client), "{}");
		settle(w);
	}
	for (uint32_t key = 0; key < KEYS; key++)
		reconciled += w->reconciled[key];
	assert_int_equal(reconciled, KEYS);
}

static void a_write_that_the_fence_refuses_keeps_its_key(void **state)
{
	struct world *w = *state;

	work_start(w->work);
	w->kube.leads = false;
	add_and_settle(w, 1);
	assert_int_equal(fake_kube_open(w->kube.client), 0);
	assert_int_equal(fake_kube_fenced(w->kube.client), 1);
	work_stop(w->work);
	w->kube.leads = true;
	work_start(w->work);
	fake_kube_pass(&w->kube, USEC_PER_SEC);
	assert_int_equal(fake_kube_open(w->kube.client), 1);
}

static void a_stop_lets_go_of_sets_and_nothing_of_them_is_written_any_more(void **state)
{
	struct world *w = *state;

	w->n_writes = 3;
	work_start(w->work);
	add_and_settle(w, 1);
	add_and_settle(w, 2);
	work_stop(w->work);
	fake_kube_pass(&w->kube, 60 * USEC_PER_SEC);
	assert_int_equal(fake_kube_open(w->kube.client), 0);
	assert_int_equal(fake_kube_made(w->kube.client), 2);
	assert_int_equal(w->written + w->refused, 0);
}

static void a_start_after_a_stop_takes_the_same_keys_again(void **state)
{
	struct world *w = *state;

	work_start(w->work);
	add_and_settle(w, 1);
	work_stop(w->work);
	work_start(w->work); /* before the cancelled request has ended */
	add_and_settle(w, 1);
	assert_int_equal(w->reconciled[1], 2);
	assert_int_equal(fake_kube_open(w->kube.client), 1);
	fake_kube_answer(fake_kube_first(w->kube.client), "{}");
	settle(w);
	assert_int_equal(w->written, 1);
}

/* What leaks or is used afterwards, the sanitizers tell. */
static void it_may_be_freed_with_sets_in_flight(void **state)
{
	struct world *w = *state;

	work_start(w->work);
	add_and_settle(w, 1);
	add_and_settle(w, 2);
	work_free(w->work);
	w->work = NULL;
	settle(w);
	assert_int_equal(fake_kube_open(w->kube.client), 0);
}

static void a_dropped_key_does_not_come_again(void **state)
{
	struct world *w = *state;

	work_start(w->work);
	add_and_settle(w, 1);
	work_drop(w->work, 1);
	fake_kube_fail(fake_kube_first(w->kube.client), ERROR_UNAVAILABLE, 0);
	fake_kube_pass(&w->kube, 60 * USEC_PER_SEC);
	assert_int_equal(w->reconciled[1], 1);
	assert_int_equal(work_depth(w->work), 0);
}

static void idle_time_is_no_lack_of_progress(void **state)
{
	struct world *w = *state;
	int64_t now;

	work_start(w->work);
	fake_kube_pass(&w->kube, 3600 * USEC_PER_SEC);
	assert_false(work_due(w->work));
	work_add(w->work, 1);
	now = loop_now(w->kube.loop);
	assert_true(work_due(w->work));
	assert_int_equal(work_last_progress_us(w->work), now);
	settle(w);
	fake_kube_pass(&w->kube, 10 * USEC_PER_SEC);
	work_add(w->work, 1);
	assert_true(work_due(w->work));
	assert_int_equal(work_last_progress_us(w->work), now);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(nothing_is_reconciled_before_the_start),
		CASE(writes_of_a_set_go_one_after_another),
		CASE(a_key_added_while_its_set_is_in_flight_comes_again_and_not_before),
		CASE(a_failed_write_ends_the_set_and_backs_off),
		CASE(a_refused_write_does_not_hold_up_those_behind_it),
		CASE(a_refused_write_that_is_required_ends_the_set),
		CASE(a_write_that_may_fail_holds_up_nothing_and_fails_no_key),
		CASE(a_server_that_does_not_answer_fails_also_what_may_fail),
		CASE(behind_an_unawaited_write_the_next_is_sent_at_once_and_no_more),
		CASE(a_failure_beside_an_unawaited_write_ends_the_set_when_all_are_answered),
		CASE(a_stop_lets_go_of_all_that_a_set_has_sent),
		CASE(several_queues_share_the_metrics),
		CASE(failures_back_off_longer_and_longer_and_success_forgets),
		CASE(what_is_gone_or_there_counts_as_done_where_that_is_fine),
		CASE(a_decision_is_looked_at_again_when_it_wished),
		CASE(a_bounded_number_of_sets_is_in_flight),
		CASE(a_write_that_the_fence_refuses_keeps_its_key),
		CASE(a_stop_lets_go_of_sets_and_nothing_of_them_is_written_any_more),
		CASE(a_start_after_a_stop_takes_the_same_keys_again),
		CASE(it_may_be_freed_with_sets_in_flight),
		CASE(a_dropped_key_does_not_come_again),
		CASE(idle_time_is_no_lack_of_progress),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
