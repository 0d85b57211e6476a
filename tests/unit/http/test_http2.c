/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 against nghttpd: negotiation, many requests on one connection, and the fence on a shared
 * one. */
#include "unit/http/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

static int setup(void **state)
{
	struct world *w = mem_alloc(sizeof(*w));
	struct http_pool_options options = default_options();
	FILE *file = fopen(file_path("page"), "we");

	assert_non_null(file);
	assert_true(fputs("hello", file) >= 0);
	fclose(file);
	world_init(w, start_http2(), &options);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	world_clear(*state);
	mem_free(*state);
	return 0;
}

/* How often a line of the server's log has @text. */
static int logged(const char *text)
{
	FILE *file = fopen(file_path("nghttpd.log"), "re");
	char line[4096];
	int count = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		count += strstr(line, text) != NULL;
	fclose(file);
	return count;
}

static void http2_is_negotiated(void **state)
{
	struct world *w = *state;
	struct reply reply;

	fetch_url(w, url(w, "https", "page"), &reply);
	assert_answers(&reply, 200, "hello");
	assert_true(reply.response.http2);
	reply_clear(&reply);
}

static void http1_is_spoken_where_asked_for(void **state)
{
	struct world *w = *state;
	struct http_pool_options options = default_options();
	struct reply reply;

	http_pool_free(TAKE(w->pool));
	options.http1_only = true;
	stop_server(&w->server);
	w->server = start_http1(true, NULL);
	assert_int_equal(http_pool_new(w->loop, &options, &w->pool, NULL), 0);
	fetch_url(w, url(w, "https", "ok"), &reply);
	assert_answers(&reply, 200, "hello");
	assert_false(reply.response.http2);
	reply_clear(&reply);
}

static void http1_is_what_remains_with_an_old_server(void **state)
{
	struct world *w = *state;
	struct http_request request;
	struct reply replies[8];

	stop_server(&w->server);
	w->server = start_http1(true, NULL);
	request = get_request(url(w, "https", "never"));
	for (size_t i = 0; i < ARRAY_SIZE(replies); i++) {
		reply_init(&replies[i], w);
		if (i + 1 == ARRAY_SIZE(replies))
			request.url = url(w, "https", "ok");
		send_to(w, &request, &replies[i]);
	}
	wait_for(w, &replies[7].done, 1);
	assert_answers(&replies[7], 200, "hello");
	http_pool_free(TAKE(w->pool)); /* the other replies live here */
	reply_clear(&replies[7]);
}

static void a_server_name_works_with_http2(void **state)
{
	struct world *w = *state;
	struct http_pool_options options = default_options();
	struct reply reply;

	http_pool_free(TAKE(w->pool));
	options.tls.server_name = STR("api.test");
	assert_int_equal(http_pool_new(w->loop, &options, &w->pool, NULL), 0);
	fetch_url(w, url(w, "https", "page"), &reply);
	assert_answers(&reply, 200, "hello");
	assert_true(reply.response.http2);
	assert_int_equal(logged(":authority: 127.0.0.1"), 1);
	reply_clear(&reply);
}

static void a_thousand_requests_share_a_few_connections(void **state)
{
	struct world *w = *state;
	struct http_request request = get_request(url(w, "https", "page"));
	struct reply reply;
	struct http_handlers handlers = reply_handlers(&reply);

	handlers.on_headers = NULL;
	handlers.on_body = NULL;
	reply_init(&reply, w);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(http_send(w->pool, &request, &handlers, NULL, NULL), 0);
	wait_for(w, &reply.done, 1000);
	assert_int_equal(reply.error.kind, ERROR_NONE);
	assert_int_equal(http_pool_inflight(w->pool), 0);
	assert_int_equal(logged(":path: /page"), 1000);
	assert_true(logged("negotiated protocol") <= 64); /* MAX_CONNECTIONS; 100 streams each */
}

static bool allowed;
static int asked;

static bool gate(void *context UNUSED, int64_t now_us UNUSED)
{
	asked++;
	return allowed;
}

/* One request keeps the connection busy, so that all others share it. */
static void the_fence_is_asked_for_each_request_of_a_shared_connection(void **state)
{
	struct world *w = *state;
	struct http_request request = get_request(url(w, "https", "page"));
	struct reply open, fenced;
	struct http_handlers handlers = reply_handlers(&fenced);

	fetch(w, &request, &open);
	reply_clear(&open);
	request.may_send = gate;
	allowed = false;
	asked = 0;
	handlers.on_headers = NULL;
	handlers.on_body = NULL;
	reply_init(&fenced, w);
	request.method = "PUT";
	for (int i = 0; i < 50; i++)
		assert_int_equal(http_send(w->pool, &request, &handlers, NULL, NULL), 0);
	request.method = "GET";
	allowed = false;
	reply_init(&open, w);
	request.may_send = NULL;
	send_to(w, &request, &open);
	wait_for(w, &fenced.done, 50);
	wait_for(w, &open.done, 1);
	assert_string_equal(error_kind_name(fenced.error.kind), "fenced");
	assert_answers(&open, 200, "hello");
	assert_int_equal(asked, 50);
	assert_int_equal(logged(":method: PUT"), 0);
	assert_int_equal(logged(":method: GET"), 2);
	assert_int_equal(logged("negotiated protocol"), 1);
	reply_clear(&open);
}

static struct http_call *victim;

static int cancel_victim(void *context, struct str bytes UNUSED, struct error *err UNUSED)
{
	struct reply *reply = context;

	reply->bodies++;
	http_cancel(victim);
	return 0;
}

static void a_cancelled_stream_leaves_the_connection_to_the_others(void **state)
{
	struct world *w = *state;
	FILE *file = fopen(file_path("large"), "we");
	struct http_request request;
	struct reply cancelled, open;
	struct http_handlers handlers = reply_handlers(&cancelled);

	assert_non_null(file);
	for (int i = 0; i < 100000; i++)
		assert_true(fputs("0123456789012345678901234567890123456789", file) >= 0);
	fclose(file);
	request = get_request(url(w, "https", "large"));
	reply_init(&cancelled, w);
	reply_init(&open, w);
	handlers.on_body = cancel_victim;
	assert_int_equal(http_send(w->pool, &request, &handlers, &victim, NULL), 0);
	send_to(w, &request, &open);
	wait_for(w, &open.done, 1);
	wait_for(w, &cancelled.done, 1);
	assert_fails(&cancelled, ERROR_CANCELLED, "/large: cancelled");
	assert_int_equal(cancelled.bodies, 1);
	assert_int_equal(open.error.kind, ERROR_NONE);
	assert_int_equal(open.body.len, 4000000);
	assert_int_equal(logged("negotiated protocol"), 1);
	reply_clear(&open);
}

static void write_file(const char *name, size_t size)
{
	FILE *file = fopen(file_path(name), "we");

	assert_non_null(file);
	for (size_t i = 0; i < size; i++)
		assert_true(fputc('x', file) != EOF);
	fclose(file);
}

/* libcurl must not keep what its buffer did not take, nor the end, until the server says more. */
static void answers_of_any_size_end_with_the_smallest_buffer(void **state)
{
	static const size_t sizes[] = {0,    1,     1023,  1024,  1025,  2048,
				       2049, 16384, 16385, 65536, 300000};
	struct world *w = *state;
	struct http_pool_options options = default_options();

	http_pool_free(TAKE(w->pool));
	options.receive_buffer = 1024;
	assert_int_equal(http_pool_new(w->loop, &options, &w->pool, NULL), 0);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		size_t size = sizes[i / 2];
		struct http_request request;
		struct reply replies[3];
		char name[32];

		assert_true(snprintf(name, sizeof(name), "size-%zu", size) > 0);
		write_file(name, size);
		request = get_request(url(w, "https", name));
		if (i % 2 == 1) { /* a stream */
			request.silence_us = request.timeout_us;
			request.timeout_us = 0;
		}
		for (size_t j = 0; j < ARRAY_SIZE(replies); j++) {
			reply_init(&replies[j], w);
			send_to(w, &request, &replies[j]);
		}
		for (size_t j = 0; j < ARRAY_SIZE(replies); j++) {
			wait_for(w, &replies[j].done, 1);
			assert_string_equal(replies[j].error.message, "");
			assert_int_equal(replies[j].body.len, size);
			reply_clear(&replies[j]);
		}
	}
}

static void a_server_that_comes_back_is_used_again(void **state)
{
	struct world *w = *state;
	struct reply reply;

	fetch_url(w, url(w, "https", "page"), &reply);
	reply_clear(&reply);
	stop_server(&w->server);
	fetch_url(w, url(w, "https", "page"), &reply);
	assert_fails(&reply, ERROR_UNAVAILABLE, "/page: ");
	reply_clear(&reply);
	w->server = start_http2();
	fetch_url(w, url(w, "https", "page"), &reply);
	assert_answers(&reply, 200, "hello");
	reply_clear(&reply);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(http2_is_negotiated),
		TEST(http1_is_spoken_where_asked_for),
		TEST(http1_is_what_remains_with_an_old_server),
		TEST(a_server_name_works_with_http2),
		TEST(a_thousand_requests_share_a_few_connections),
		TEST(the_fence_is_asked_for_each_request_of_a_shared_connection),
		TEST(a_cancelled_stream_leaves_the_connection_to_the_others),
		TEST(answers_of_any_size_end_with_the_smallest_buffer),
		TEST(a_server_that_comes_back_is_used_again),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
