/* SPDX-License-Identifier: Apache-2.0 */
/* Events: what is sent at once, what is counted, what is dropped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "lib/fake_kube.h"
#include "runtime/recorder.h"

struct world {
	struct fake_kube_world kube;
	struct recorder *recorder;
};

static int setup(void **state)
{
	struct world *w = mem_alloc(sizeof(*w));

	fake_kube_world_init(&w->kube);
	w->recorder = recorder_new(w->kube.client,
				   &(struct recorder_options){"gpuqos.io/controller", "me", 1});
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	recorder_free(w->recorder);
	fake_kube_world_clear(&w->kube);
	mem_free(w);
	return 0;
}

static void settle(struct world *w)
{
	fake_kube_settle(w->kube.client);
}

/* Time in steps of a minute, which is how often the recorder looks. */
static void pass(struct world *w, int minutes)
{
	while (minutes-- > 0) {
		fake_kube_pass(&w->kube, USEC_PER_MIN);
	}
}

static void record(struct world *w, const char *object, const char *note)
{
	recorder_event(w->recorder,
		       &(struct recorder_event){
			       .regarding = {STR("gpuqos.io/v1alpha1"), STR("GpuMemoryQuota"),
					     STR("a"), str_from(object), STR("uid")},
			       .type = "Warning",
			       .reason = "OverQuota",
			       .action = "Reconcile",
			       .note = str_from(note),
		       });
	settle(w);
}

static void answer(struct world *w)
{
	fake_kube_answer(fake_kube_first(w->kube.client), "{}");
	settle(w);
}

static void assert_sends(struct world *w, const char *verb, const char *text)
{
	const struct kube_call *call = fake_kube_first(w->kube.client);

	assert_int_equal(fake_kube_open(w->kube.client), 1);
	assert_memory_equal(fake_kube_what(call), verb, strlen(verb));
	if (!strstr(fake_kube_body(call), text))
		fail_msg("no %s in %s", text, fake_kube_body(call));
}

static void the_first_occurrence_is_created_with_what_it_says(void **state)
{
	struct world *w = *state;

	record(w, "q", "too much");
	assert_sends(w, "CREATE events a/", "\"too much\"");
	answer(w);
	assert_int_equal(fake_kube_open(w->kube.client), 0);
}

static void the_second_becomes_a_series_and_later_ones_are_counted(void **state)
{
	struct world *w = *state;

	record(w, "q", "x");
	answer(w);
	record(w, "q", "x");
	assert_sends(w, "PATCH events a/q.", "\"count\":2");
	answer(w);
	for (int i = 0; i < 5; i++)
		record(w, "q", "x");
	assert_int_equal(fake_kube_open(w->kube.client), 0);
}

static void a_second_occurrence_while_the_first_is_sent_is_not_lost(void **state)
{
	struct world *w = *state;

	record(w, "q", "x");
	record(w, "q", "x");
	record(w, "q", "x");
	assert_sends(w, "CREATE", "OverQuota");
	answer(w);
	assert_sends(w, "PATCH", "\"count\":3");
}

static void a_series_that_goes_on_is_told_every_half_hour(void **state)
{
	struct world *w = *state;

	record(w, "q", "x");
	answer(w);
	record(w, "q", "x");
	answer(w);
	for (int i = 0; i < 29; i++) {
		pass(w, 1);
		record(w, "q", "x");
		assert_int_equal(fake_kube_open(w->kube.client), 0);
	}
	pass(w, 1);
	assert_sends(w, "PATCH", "\"count\":31");
}

static void a_series_that_fell_silent_is_told_in_full_and_then_a_new_one_begins(void **state)
{
	struct world *w = *state;

	record(w, "q", "x");
	answer(w);
	record(w, "q", "x");
	answer(w);
	record(w, "q", "x");
	pass(w, 6);
	assert_sends(w, "PATCH", "\"count\":3");
	answer(w);
	pass(w, 1);
	record(w, "q", "x");
	assert_sends(w, "CREATE", "OverQuota");
}

static void objects_have_series_of_their_own_and_one_request_is_under_way(void **state)
{
	struct world *w = *state;

	record(w, "q1", "x");
	record(w, "q2", "x");
	record(w, "q3", "x");
	for (int i = 0; i < 3; i++) {
		assert_sends(w, "CREATE", "OverQuota");
		answer(w);
	}
	assert_int_equal(fake_kube_open(w->kube.client), 0);
}

static void what_cannot_be_sent_is_dropped_and_counted_and_the_next_is_new(void **state)
{
	struct world *w = *state;

	record(w, "q1", "x");
	record(w, "q2", "x");
	fake_kube_fail(fake_kube_first(w->kube.client), ERROR_FORBIDDEN, 403);
	settle(w);
	assert_int_equal(recorder_dropped(w->recorder), 1);
	assert_sends(w, "CREATE", "q2");
	answer(w);
	record(w, "q1", "x");
	assert_sends(w, "CREATE", "q1");
}

static void nothing_is_sent_without_the_lease(void **state)
{
	struct world *w = *state;

	w->kube.leads = false;
	record(w, "q", "x");
	assert_int_equal(fake_kube_open(w->kube.client), 0);
	assert_int_equal(fake_kube_fenced(w->kube.client), 1);
}

static void a_reset_forgets_series_also_the_one_that_is_sent(void **state)
{
	struct world *w = *state;

	record(w, "q1", "x");
	record(w, "q2", "x");
	recorder_reset(w->recorder);
	answer(w);
	assert_int_equal(fake_kube_open(w->kube.client), 0);
	record(w, "q1", "x");
	assert_sends(w, "CREATE", "q1");
}

static void more_than_the_limit_are_dropped(void **state)
{
	struct world *w = *state;
	char name[16];

	for (int i = 0; i < LIMIT_EVENT_QUEUE + 10; i++) {
		snprintf(name, sizeof(name), "q%d", i);
		recorder_event(w->recorder, &(struct recorder_event){
						    .regarding = {.name = str_from(name)},
						    .type = "Normal",
						    .reason = "R",
						    .action = "A",
					    });
	}
	assert_int_equal(recorder_dropped(w->recorder), 10);
	assert_int_equal(fake_kube_made(w->kube.client), 1);
}

static void a_long_note_is_cut_between_characters(void **state)
{
	struct world *w = *state;
	char note[2 * LIMIT_EVENT_NOTE + 2];

	/* After one byte no character of two ends at the limit. */
	note[0] = 'x';
	for (size_t i = 1; i + 2 < sizeof(note); i += 2)
		memcpy(note + i, "\xc3\xa9", 2);
	note[sizeof(note) - 1] = '\0';
	record(w, "q", note);
	assert_sends(w, "CREATE", "\xc3\xa9\"");
}

/* What leaks or is used afterwards, the sanitizers tell. */
static void it_may_be_freed_while_it_sends(void **state)
{
	struct world *w = *state;

	record(w, "q1", "x");
	record(w, "q2", "x");
	recorder_free(w->recorder);
	w->recorder = NULL;
	settle(w);
	assert_int_equal(fake_kube_open(w->kube.client), 0);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(the_first_occurrence_is_created_with_what_it_says),
		CASE(the_second_becomes_a_series_and_later_ones_are_counted),
		CASE(a_second_occurrence_while_the_first_is_sent_is_not_lost),
		CASE(a_series_that_goes_on_is_told_every_half_hour),
		CASE(a_series_that_fell_silent_is_told_in_full_and_then_a_new_one_begins),
		CASE(objects_have_series_of_their_own_and_one_request_is_under_way),
		CASE(what_cannot_be_sent_is_dropped_and_counted_and_the_next_is_new),
		CASE(nothing_is_sent_without_the_lease),
		CASE(a_reset_forgets_series_also_the_one_that_is_sent),
		CASE(more_than_the_limit_are_dropped),
		CASE(a_long_note_is_cut_between_characters),
		CASE(it_may_be_freed_while_it_sends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
