/* SPDX-License-Identifier: Apache-2.0 */
/* The leader's label, over an API server that answers when the test says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "controller/leader_label.h"
#include "lib/fake_kube.h"

struct world {
	struct fake_kube_world kube;
	struct leader_label *label;
	int retired;
};

static int setup(void **state)
{
	struct world *w = mem_alloc(sizeof(*w));

	fake_kube_world_init(&w->kube);
	w->label = leader_label_new(w->kube.client, STR("system"), STR("me"), NULL);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	leader_label_free(w->label);
	fake_kube_world_clear(&w->kube);
	mem_free(w);
	return 0;
}

/* Answers the list that is asked for with these pods; NULL for none. */
static void answer_list(struct world *w, const char *first, const char *second)
{
	const char *const names[] = {first, second};
	char pod[128];

	assert_int_equal(fake_kube_open(w->kube.client), 1);
	assert_string_equal(fake_kube_what(fake_kube_first(w->kube.client)), "LIST pods system/");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(pod, sizeof(pod), "{\"metadata\":{\"name\":\"%s\"}}",
			 names[i] ? names[i] : "");
		if (names[i])
			assert_true(
				fake_kube_part(fake_kube_first(w->kube.client), FRAME_OBJECT, pod));
	}
	fake_kube_answer(fake_kube_first(w->kube.client), "");
	fake_kube_settle(w->kube.client);
}

static void answer_patch(struct world *w, const char *what, const char *text)
{
	struct kube_call *call = fake_kube_first(w->kube.client);

	assert_int_equal(fake_kube_open(w->kube.client), 1);
	assert_string_equal(fake_kube_what(call), what);
	if (!strstr(fake_kube_body(call), text))
		fail_msg("no %s in %s", text, fake_kube_body(call));
	fake_kube_answer(call, "{\"metadata\":{\"resourceVersion\":\"7\"}}");
	fake_kube_settle(w->kube.client);
}

#define ON  "\"gpuqos.io/role\":\"leader\""
#define OFF "\"gpuqos.io/role\":null"

static void lead(struct world *w)
{
	leader_label_lead(w->label);
	fake_kube_settle(w->kube.client);
}

static void on_retired(void *context)
{
	((struct world *)context)->retired++;
}

static void retire(struct world *w)
{
	leader_label_retire(w->label, on_retired, w);
	fake_kube_settle(w->kube.client);
}

static void a_new_leader_takes_it_off_others_before_it_takes_it(void **state)
{
	struct world *w = *state;

	lead(w);
	answer_list(w, "old", "older");
	answer_patch(w, "PATCH pods system/old", OFF);
	fake_kube_pass(&w->kube, USEC_PER_SEC);
	answer_list(w, "older", NULL);
	answer_patch(w, "PATCH pods system/older", OFF);
	fake_kube_pass(&w->kube, USEC_PER_SEC);
	answer_list(w, NULL, NULL);
	answer_patch(w, "PATCH pods system/me", ON);
	assert_int_equal(fake_kube_open(w->kube.client), 0);
}

static void one_that_has_it_looks_again_from_time_to_time(void **state)
{
	struct world *w = *state;

	lead(w);
	answer_list(w, NULL, NULL);
	answer_patch(w, "PATCH pods system/me", ON);
	fake_kube_pass(&w->kube, USEC_PER_MIN);
	answer_list(w, "me", "thief");
	answer_patch(w, "PATCH pods system/thief", OFF);
	fake_kube_pass(&w->kube, USEC_PER_SEC);
	answer_list(w, "me", NULL);
	assert_int_equal(fake_kube_open(w->kube.client), 0);
}

static void a_label_left_by_an_earlier_process_is_put_anew(void **state)
{
	struct world *w = *state;

	lead(w);
	answer_list(w, "me", NULL);
	answer_patch(w, "PATCH pods system/me", OFF);
	assert_int_equal(leader_label_version(w->label), 0);
	fake_kube_pass(&w->kube, USEC_PER_SEC);
	answer_list(w, NULL, NULL);
	answer_patch(w, "PATCH pods system/me", ON);
	assert_int_equal(leader_label_version(w->label), 7);
}

static void a_failure_is_tried_again(void **state)
{
	struct world *w = *state;

	lead(w);
	fake_kube_fail(fake_kube_first(w->kube.client), ERROR_UNAVAILABLE, 503);
	fake_kube_pass(&w->kube, 3 * USEC_PER_SEC);
	answer_list(w, NULL, NULL);
	fake_kube_fail(fake_kube_first(w->kube.client), ERROR_CONFLICT, 409);
	fake_kube_pass(&w->kube, 3 * USEC_PER_SEC);
	answer_list(w, NULL, NULL);
	answer_patch(w, "PATCH pods system/me", ON);
}

static void who_lost_the_lease_asks_and_writes_nothing(void **state)
{
	struct world *w = *state;

	lead(w);
	leader_label_lost(w->label);
	fake_kube_pass(&w->kube, 5 * USEC_PER_MIN);
	assert_int_equal(fake_kube_open(w->kube.client), 0);
	assert_int_equal(fake_kube_made(w->kube.client), 1);
}

static void a_patch_that_waits_is_refused_without_the_lease(void **state)
{
	struct world *w = *state;

	lead(w);
	w->kube.leads = false;
	answer_list(w, "old", NULL);
	assert_int_equal(fake_kube_fenced(w->kube.client), 1);
	assert_int_equal(fake_kube_open(w->kube.client), 0);
}

static void a_retiring_leader_takes_it_off_and_says_so(void **state)
{
	struct world *w = *state;

	lead(w);
	answer_list(w, NULL, NULL);
	answer_patch(w, "PATCH pods system/me", ON);
	retire(w);
	assert_int_equal(w->retired, 0);
	answer_patch(w, "PATCH pods system/me", OFF);
	assert_int_equal(w->retired, 1);
	fake_kube_pass(&w->kube, 5 * USEC_PER_MIN);
	assert_int_equal(fake_kube_open(w->kube.client), 0);
}

static void a_retirement_that_fails_says_so_too(void **state)
{
	struct world *w = *state;

	lead(w);
	retire(w);
	assert_in_range(fake_kube_timeout(fake_kube_first(w->kube.client)), 1, 3 * USEC_PER_SEC);
	fake_kube_fail(fake_kube_first(w->kube.client), ERROR_TIMEOUT, 0);
	assert_int_equal(w->retired, 1);
}

static void losing_the_lease_ends_a_retirement(void **state)
{
	struct world *w = *state;

	lead(w);
	retire(w);
	w->kube.leads = false;
	kube_client_fence(w->kube.client);
	leader_label_lost(w->label);
	fake_kube_settle(w->kube.client);
	assert_int_equal(w->retired, 1);
}

/* What leaks or is used afterwards, the sanitizers tell. */
static void it_may_be_freed_while_it_asks(void **state)
{
	struct world *w = *state;

	lead(w);
	leader_label_free(w->label);
	w->label = NULL;
	fake_kube_settle(w->kube.client);
	assert_int_equal(fake_kube_open(w->kube.client), 0);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(a_new_leader_takes_it_off_others_before_it_takes_it),
		CASE(one_that_has_it_looks_again_from_time_to_time),
		CASE(a_label_left_by_an_earlier_process_is_put_anew),
		CASE(a_failure_is_tried_again),
		CASE(who_lost_the_lease_asks_and_writes_nothing),
		CASE(a_patch_that_waits_is_refused_without_the_lease),
		CASE(a_retiring_leader_takes_it_off_and_says_so),
		CASE(a_retirement_that_fails_says_so_too),
		CASE(losing_the_lease_ends_a_retirement),
		CASE(it_may_be_freed_while_it_asks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
