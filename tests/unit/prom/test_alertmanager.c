/* SPDX-License-Identifier: Apache-2.0 */
/* What is posted to Alertmanager, over virtual time, by a server that takes it or does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "http/client.h"
#include "http/server.h"
#include "prom/alertmanager.h"

#define REAL_US 1767225600000000LL /* 2026-01-01T00:00:00Z */
#define TURNS   200
#define WAIT_US (USEC_PER_SEC / 20)

struct world {
	struct manual_clock clock;
	struct loop *loop;
	struct http_server *server;
	struct alertmanager *alerts;
	int status; /* that is answered */
	unsigned int posts;
	struct buf body; /* of the last */
};

static void take(void *context, const struct http_server_request *request,
		 struct http_server_reply *reply)
{
	struct world *w = context;

	assert_int_equal(request->method, HTTP_SERVER_POST);
	assert_string_equal(request->path, "/am/api/v2/alerts");
	buf_reset(&w->body);
	buf_add_str(&w->body, request->body);
	w->posts++;
	reply->status = w->status;
}

static int setup(void **state)
{
	static struct world w;
	struct error err;
	char url[64];

	http_library_init();
	w = (struct world){.status = 200};
	manual_clock_init(&w.clock, USEC_PER_SEC, REAL_US);
	w.loop = loop_new(&w.clock.clock);
	buf_init(&w.body, 1 << 20);
	assert_int_equal(http_server_new(w.loop,
					 &(struct http_server_options){.address = "127.0.0.1:0",
								       .handle = take,
								       .context = &w,
								       .max_body = 1 << 20},
					 &w.server, &err),
			 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/am/", http_server_port(w.server));
	assert_int_equal(
		alertmanager_new(w.loop,
				 &(struct alertmanager_options){{.url = url}, 5 * USEC_PER_SEC},
				 &w.alerts, &err),
		0);
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	alertmanager_free(w->alerts);
	http_server_free(w->server);
	loop_free(w->loop);
	buf_clear(&w->body);
	return 0;
}

static uint64_t answered(const struct world *w)
{
	struct alertmanager_counts counts = alertmanager_counts(w->alerts);

	return counts.posts + counts.failed;
}

/* Time passes; then until so many posts are answered, 0: and none is. */
static void pass(struct world *w, int64_t us, unsigned int posts)
{
	uint64_t before = answered(w);

	manual_clock_advance(&w->clock, us);
	for (int i = 0; i < TURNS && (posts == 0 ? i < 3 : answered(w) < before + posts); i++)
		loop_run_once(w->loop, WAIT_US);
	assert_int_equal(answered(w), before + posts);
}

static void tell(struct world *w, const char *name, bool firing, const char *summary)
{
	alertmanager_tell(
		w->alerts,
		&(struct alert){str_from(name), STR("vision"), STR("warning"), str_from(summary)},
		firing);
}

static void assert_posted(const struct world *w, const char *text)
{
	if (!strstr(w->body.data, text))
		fail_msg("%s is not in %s", text, w->body.data);
}

static void test_an_alert_is_posted_with_an_end_ahead_and_again(void **state)
{
	struct world *w = *state;

	tell(w, "A", true, "it \"burns\"");
	pass(w, USEC_PER_SEC, 1);
	assert_string_equal(w->body.data,
			    "[{\"labels\":{\"alertname\":\"A\",\"tenant\":\"vision\",\"severity\":"
			    "\"warning\"},\"annotations\":{\"summary\":\"it \\\"burns\\\"\"},"
			    "\"startsAt\":\"2026-01-01T00:00:00.000000Z\","
			    "\"endsAt\":\"2026-01-01T00:05:01.000000Z\"}]");
	tell(w, "A", true, "it \"burns\"");
	pass(w, 30 * USEC_PER_SEC, 0);
	pass(w, 30 * USEC_PER_SEC, 1);
	assert_posted(w, "\"endsAt\":\"2026-01-01T00:06:01.000000Z\"");
}

static void test_one_that_stops_is_posted_with_its_end_once(void **state)
{
	struct world *w = *state;

	tell(w, "A", true, "x");
	pass(w, USEC_PER_SEC, 1);
	tell(w, "A", false, "");
	pass(w, USEC_PER_SEC, 1);
	assert_posted(w, "\"endsAt\":\"2026-01-01T00:00:01.000000Z\"");
	pass(w, 10 * USEC_PER_MIN, 0);
	assert_int_equal(alertmanager_counts(w->alerts).firing, 0);
}

static void test_what_changes_while_it_is_down_is_told_as_it_is_then(void **state)
{
	struct world *w = *state;

	w->status = 503;
	tell(w, "A", true, "x");
	tell(w, "B", true, "y");
	pass(w, USEC_PER_SEC, 1);
	assert_true(str_equal(alertmanager_counts(w->alerts).error, STR("HTTP 503")));
	pass(w, USEC_PER_SEC, 1);
	tell(w, "A", false, "");
	pass(w, 2 * USEC_PER_SEC, 1);
	w->status = 200;
	pass(w, 4 * USEC_PER_SEC, 1);
	assert_posted(w, "\"endsAt\":\"2026-01-01T00:00:02.000000Z\"");
	assert_posted(w, "\"endsAt\":\"2026-01-01T00:05:08.000000Z\"");
	assert_true(str_empty(alertmanager_counts(w->alerts).error));
	pass(w, USEC_PER_MIN, 1);
	assert_null(strstr(w->body.data, "\"A\""));
	assert_posted(w, "\"B\"");
}

static void test_a_failing_server_is_asked_less_and_less(void **state)
{
	struct world *w = *state;

	w->status = 500;
	tell(w, "A", true, "x");
	pass(w, USEC_PER_SEC, 1);
	for (int64_t wait_us = USEC_PER_SEC; wait_us < ALERTS_REPEAT_US; wait_us *= 2) {
		tell(w, "B", wait_us % (2 * USEC_PER_SEC) == 0, "news do not hasten it");
		pass(w, wait_us - 1000, 0);
		pass(w, 1000, 1);
	}
	pass(w, ALERTS_REPEAT_US, 1);
}

static void test_who_leads_no_more_posts_nothing(void **state)
{
	struct world *w = *state;

	tell(w, "A", true, "x");
	pass(w, USEC_PER_SEC, 1);
	alertmanager_forget(w->alerts);
	pass(w, 10 * USEC_PER_MIN, 0);
}

static void test_there_is_a_bound(void **state)
{
	struct world *w = *state;
	char name[24];

	for (int i = 0; i < ALERTS_MOST + 3; i++) {
		snprintf(name, sizeof(name), "alert-%d", i);
		tell(w, name, true, "x");
	}
	assert_int_equal(alertmanager_counts(w->alerts).firing, ALERTS_MOST);
	assert_int_equal(alertmanager_counts(w->alerts).dropped, 3);
	pass(w, USEC_PER_SEC, 1);
	assert_posted(w, "\"alert-1023\"");
}

static void test_an_url_is_one_of_http(void **state)
{
	struct world *w = *state;
	struct alertmanager *alerts;
	struct error err;

	assert_int_equal(alertmanager_new(w->loop,
					  &(struct alertmanager_options){{.url = "alerts:9093"}, 1},
					  &alerts, &err),
			 -1);
	assert_int_equal(err.kind, ERROR_INVALID);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_alert_is_posted_with_an_end_ahead_and_again),
		TEST(test_one_that_stops_is_posted_with_its_end_once),
		TEST(test_what_changes_while_it_is_down_is_told_as_it_is_then),
		TEST(test_a_failing_server_is_asked_less_and_less),
		TEST(test_who_leads_no_more_posts_nothing),
		TEST(test_there_is_a_bound),
		TEST(test_an_url_is_one_of_http),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
