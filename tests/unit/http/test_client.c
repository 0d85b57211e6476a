/* SPDX-License-Identifier: Apache-2.0 */
/* The client against an HTTP/1.1 server that misbehaves on request. */
#include "unit/http/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

static int setup(void **state)
{
	struct world *w = mem_alloc(sizeof(*w));
	struct http_pool_options options = {.name = "test", .connect_timeout_us = PATIENCE_US};

	world_init(w, start_http1(false, NULL), &options);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	world_clear(*state);
	mem_free(*state);
	return 0;
}

static void an_answer_comes_with_status_type_and_body(void **state)
{
	struct world *w = *state;
	struct reply reply;
	int64_t before = loop_now(w->loop);

	fetch_url(w, url(w, "http", "ok?watch=1"), &reply);
	assert_answers(&reply, 200, "hello");
	assert_string_equal(reply.type, "application/json");
	assert_false(reply.response.http2);
	assert_true(reply.response.sent_us >= before);
	assert_int_equal(reply.response.retry_after_us, 0);
	assert_int_equal(http_pool_inflight(w->pool), 0);
	reply_clear(&reply);
}

static void a_status_of_failure_is_an_answer(void **state)
{
	struct world *w = *state;
	struct reply reply;

	fetch_url(w, url(w, "http", "status/503"), &reply);
	assert_answers(&reply, 503, "no");
	assert_int_equal(reply.response.retry_after_us, 7 * USEC_PER_SEC);
	reply_clear(&reply);
}

static void redirects_are_not_followed(void **state)
{
	struct world *w = *state;
	struct reply reply;

	fetch_url(w, url(w, "http", "redirect"), &reply);
	assert_answers(&reply, 302, "");
	assert_int_equal(requests_seen(w), 1);
	reply_clear(&reply);
}

static void an_answer_without_body_is_whole(void **state)
{
	struct world *w = *state;
	struct reply reply;

	fetch_url(w, url(w, "http", "empty"), &reply);
	assert_answers(&reply, 204, "");
	assert_int_equal(reply.headers, 1);
	reply_clear(&reply);
}

static void interim_answers_are_passed_over(void **state)
{
	struct world *w = *state;
	struct reply reply;

	fetch_url(w, url(w, "http", "interim"), &reply);
	assert_answers(&reply, 200, "late");
	assert_int_equal(reply.headers, 1);
	assert_int_equal(reply.response.retry_after_us, 0);
	assert_string_equal(reply.type, "");
	reply_clear(&reply);
}

static void methods_headers_and_bodies_arrive(void **state)
{
	static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		const struct http_header headers[] = {{"Authorization", "Bearer tell-nobody", true},
						      {"Content-Type", "application/json", false},
						      {"X-Empty", "", false}};
		struct http_request request = get_request(url(w, "http", "echo"));
		struct reply reply;

		request.method = methods[i];
		request.headers = headers;
		request.n_headers = ARRAY_SIZE(headers);
		request.body = i > 0 ? STR("{\"a\": 1}") : STR_NONE;
		fetch(w, &request, &reply);
		assert_int_equal(reply.response.status, 200);
		assert_int_equal(strncmp(reply.body.data, methods[i], strlen(methods[i])), 0);
		assert_non_null(strstr(reply.body.data, "Authorization: Bearer tell-nobody\n"));
		assert_non_null(strstr(reply.body.data, "Content-Type: application/json\n"));
		assert_non_null(strstr(reply.body.data, "X-Empty: \n"));
		assert_null(strstr(reply.body.data, "Expect"));
		assert_int_equal(i > 0, str_ends_with(buf_str(&reply.body), STR("{\"a\": 1}")));
		reply_clear(&reply);
	}
}

static void a_post_without_body_has_length_0_and_no_type(void **state)
{
	struct world *w = *state;
	struct http_request request = get_request(url(w, "http", "echo"));
	struct reply reply;

	request.method = "POST";
	fetch(w, &request, &reply);
	assert_non_null(strstr(reply.body.data, "Content-Length: 0"));
	assert_null(strstr(reply.body.data, "Content-Type"));
	reply_clear(&reply);
}

static void a_big_body_comes_in_many_pieces(void **state)
{
	struct world *w = *state;
	struct reply reply;

	fetch_url(w, url(w, "http", "big/3000000"), &reply);
	assert_int_equal(reply.response.status, 200);
	assert_int_equal(reply.body.len, 3000000);
	assert_true(reply.bodies > 100);
	reply_clear(&reply);
}

static void a_body_sent_is_whole_at_any_size(void **state)
{
	struct world *w = *state;
	struct http_request request = get_request(url(w, "http", "echo"));
	const size_t size = 2 * 1024 * 1024;
	char *body = mem_alloc(size);
	struct reply reply;

	memset(body, 'b', size);
	request.method = "PUT";
	request.body = (struct str){body, size};
	fetch(w, &request, &reply);
	assert_int_equal(reply.response.status, 200);
	assert_true(reply.body.len > size);
	assert_memory_equal(reply.body.data + reply.body.len - size, body, size);
	reply_clear(&reply);
	mem_free(body);
}

struct failure {
	const char *what, *path, *text;
	enum error_kind kind;
	int64_t timeout_us, silence_us;
};

static void what_goes_wrong_has_a_kind_and_a_sentence(void **state)
{
	static const struct failure failures[] = {
		{"no answer in time", "never", "/never: no complete answer in time", ERROR_TIMEOUT,
		 50000, 0},
		{"a stream falls silent", "silent", "/silent: the server has fallen silent",
		 ERROR_TIMEOUT, 0, 100000},
		{"the query is not told", "never?token=a", "/never: no", ERROR_TIMEOUT, 1000, 0},
		{"cut within the body", "cut", "/cut: ", ERROR_UNAVAILABLE, PATIENCE_US, 0},
		{"cut between chunks", "cutchunk", "/cutchunk: ", ERROR_UNAVAILABLE, PATIENCE_US,
		 0},
		{"closed before an answer", "nothing", "Empty reply", ERROR_UNAVAILABLE,
		 PATIENCE_US, 0},
		{"not HTTP", "garbage", "/garbage: ", ERROR_UNAVAILABLE, PATIENCE_US, 0},
		{"many headers", "headers/70000", "more than 65536 bytes of headers", ERROR_LIMIT,
		 PATIENCE_US, 0},
		{"a long header", "line/70000", "more than 65536 bytes of headers", ERROR_LIMIT,
		 PATIENCE_US, 0},
		{"an endless header", "line/2000000", "/line/2000000: ", ERROR_LIMIT, PATIENCE_US,
		 0},
		{"a long type", "longtype", "content type of more than 128", ERROR_LIMIT,
		 PATIENCE_US, 0},
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		struct http_request request = get_request(url(w, "http", failures[i].path));
		struct reply reply;

		request.timeout_us = failures[i].timeout_us;
		request.silence_us = failures[i].silence_us;
		fetch(w, &request, &reply);
		assert_fails(&reply, failures[i].kind, failures[i].text);
		assert_true(strncmp(reply.error.message, "GET 127.0.0.1:", 14) == 0);
		assert_null(strstr(reply.error.message, "token"));
		reply_clear(&reply);
	}
	assert_int_equal(http_pool_inflight(w->pool), 0);
}

static void the_pool_connects_again_after_a_cut(void **state)
{
	static const char *const paths[] = {"ok", "cut", "ok", "close", "ok", "nothing", "ok"};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct reply reply;

		fetch_url(w, url(w, "http", paths[i]), &reply);
		if (strcmp(paths[i], "ok") == 0)
			assert_answers(&reply, 200, "hello");
		reply_clear(&reply);
	}
}

static void a_server_that_is_gone_is_unavailable(void **state)
{
	struct world *w = *state;
	struct reply reply;

	fetch_url(w, url(w, "http", "ok"), &reply);
	reply_clear(&reply);
	stop_server(&w->server);
	fetch_url(w, url(w, "http", "ok"), &reply);
	assert_fails(&reply, ERROR_UNAVAILABLE, "/ok: Failed to connect");
	reply_clear(&reply);
}

static void bad_requests_are_refused_at_once(void **state)
{
	static const struct http_header split = {"X", "a\r\nHost: b", false};
	static const struct http_header spaced = {"X Y", "a", false};
	static const struct http_header nameless = {"", "a", false};
	static const struct http_request requests[] = {
		{.method = "GET", .url = "ftp://127.0.0.1/", .timeout_us = 1},
		{.method = "GET", .url = "file:///etc/passwd", .timeout_us = 1},
		{.method = "GET", .url = "http://user:pass@127.0.0.1/", .timeout_us = 1},
		{.method = "GET", .url = "http://127.0.0.1:99999/", .timeout_us = 1},
		{.method = "GET", .url = "http://127.0.0.1/a b\r\n", .timeout_us = 1},
		{.method = "GET", .url = "127.0.0.1/", .timeout_us = 1},
		{.method = "GET", .url = "", .timeout_us = 1},
		{.method = "GET", .url = NULL, .timeout_us = 1},
		{.method = "TRACE", .url = "http://127.0.0.1/", .timeout_us = 1},
		{.method = NULL, .url = "http://127.0.0.1/", .timeout_us = 1},
		{.method = "GET", .url = "http://127.0.0.1/"},
		{.method = "GET",
		 .url = "http://127.0.0.1/",
		 .timeout_us = 1,
		 .headers = &split,
		 .n_headers = 1},
		{.method = "GET",
		 .url = "http://127.0.0.1/",
		 .timeout_us = 1,
		 .headers = &spaced,
		 .n_headers = 1},
		{.method = "GET",
		 .url = "http://127.0.0.1/",
		 .timeout_us = 1,
		 .headers = &nameless,
		 .n_headers = 1},
	};
	struct world *w = *state;
	struct reply reply;
	struct http_handlers handlers = reply_handlers(&reply);

	reply_init(&reply, w);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		struct error err = {0};

		assert_int_equal(http_send(w->pool, &requests[i], &handlers, NULL, &err), -1);
		assert_int_equal(err.kind, ERROR_INVALID);
		assert_null(strstr(err.message, "pass@"));
	}
	assert_int_equal(http_pool_inflight(w->pool), 0);
	assert_int_equal(requests_seen(w), 0);
	assert_int_equal(reply.done, 0);
}

static void a_pool_has_a_limit_of_requests(void **state)
{
	struct world *w = *state;
	struct http_request request = get_request(url(w, "http", "ok"));
	struct reply reply;
	struct http_handlers handlers = reply_handlers(&reply);
	struct error err = {0};

	handlers.on_body = NULL;
	handlers.on_headers = NULL;
	reply_init(&reply, w);
	for (int i = 0; i < LIMIT_HTTP_INFLIGHT; i++)
		assert_int_equal(http_send(w->pool, &request, &handlers, NULL, &err), 0);
	assert_int_equal(http_send(w->pool, &request, &handlers, NULL, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	wait_for(w, &reply.done, LIMIT_HTTP_INFLIGHT);
	assert_int_equal(reply.error.kind, ERROR_NONE);
	assert_int_equal(http_send(w->pool, &request, &handlers, NULL, &err), 0);
	wait_for(w, &reply.done, LIMIT_HTTP_INFLIGHT + 1);
	assert_int_equal(requests_seen(w), LIMIT_HTTP_INFLIGHT + 1);
}

static void the_environment_names_no_proxy(void **state)
{
	struct world *w = *state;
	struct reply reply;

	setenv("http_proxy", "http://127.0.0.1:1", 1);
	setenv("all_proxy", "http://127.0.0.1:1", 1);
	fetch_url(w, url(w, "http", "ok"), &reply);
	assert_answers(&reply, 200, "hello");
	reply_clear(&reply);
	unsetenv("http_proxy");
	unsetenv("all_proxy");
}

static void a_proxy_that_is_given_is_used(void **state)
{
	struct world *w = *state;
	struct http_pool_options options = {.name = "proxy", .connect_timeout_us = PATIENCE_US};
	struct reply reply;
	char proxy[64];
	struct error err;

	options.proxy_url = "gopher://127.0.0.1";
	assert_int_equal(http_pool_new(w->loop, &options, &w->pool, &err), -1);
	assert_int_equal(err.kind, ERROR_INVALID);
	http_pool_free(TAKE(w->pool));
	assert_true(snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%u", w->server.port) > 0);
	options.proxy_url = proxy;
	assert_int_equal(http_pool_new(w->loop, &options, &w->pool, &err), 0);
	setenv("no_proxy", "*", 1);
	fetch_url(w, "http://elsewhere.test:99/echo", &reply);
	unsetenv("no_proxy");
	/* The server splits paths in its own way: it was reached, which is the point. */
	assert_int_equal(reply.done, 1);
	assert_string_equal(error_kind_name(reply.error.kind), "unavailable");
	assert_non_null(strstr(reply.error.message, "Empty reply"));
	reply_clear(&reply);
	assert_int_equal(http_pool_inflight(w->pool), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_answer_comes_with_status_type_and_body),
		TEST(a_status_of_failure_is_an_answer),
		TEST(redirects_are_not_followed),
		TEST(an_answer_without_body_is_whole),
		TEST(interim_answers_are_passed_over),
		TEST(methods_headers_and_bodies_arrive),
		TEST(a_post_without_body_has_length_0_and_no_type),
		TEST(a_big_body_comes_in_many_pieces),
		TEST(a_body_sent_is_whole_at_any_size),
		TEST(what_goes_wrong_has_a_kind_and_a_sentence),
		TEST(the_pool_connects_again_after_a_cut),
		TEST(a_server_that_is_gone_is_unavailable),
		TEST(bad_requests_are_refused_at_once),
		TEST(a_pool_has_a_limit_of_requests),
		TEST(the_environment_names_no_proxy),
		TEST(a_proxy_that_is_given_is_used),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
