/* SPDX-License-Identifier: Apache-2.0 */
/* Request heads, good and bad, as pure text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "http/guard.h"

struct head {
	int status;
	const char *text;
};

static const struct head heads[] = {
	{0, "GET / HTTP/1.1\r\n\r\n"},
	{0, "HEAD /metrics?a=b HTTP/1.0\r\nHost: a\r\n\r\n"},
	{0, "GET / HTTP/1.1\r\nContent-Length: 0\r\nX-Tab: a\tb\r\nEmpty:\r\n\r\n"},
	{400, ""},
	{400, "\r\n\r\n"},
	{400, "GET /\r\n\r\n"},
	{400, "GET  / HTTP/1.1\r\n\r\n"},
	{505, "GET / HTTP/1.1 \r\n\r\n"},
	{400, "GET /a b HTTP/1.1\r\n\r\n"},
	{400, "GET a HTTP/1.1\r\n\r\n"},
	{400, "GET //host/a HTTP/1.1\r\n\r\n"},
	{400, "GET http://host/ HTTP/1.1\r\n\r\n"},
	{400, "GET /#a HTTP/1.1\r\n\r\n"},
	{400, "GET /\x7f HTTP/1.1\r\n\r\n"},
	{400, "GET / HTTP/1.1\n\n"},
	{400, "GET / HTTP/1.1\r\nHost: a\n\r\n"},
	{400, "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\nHost : a\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n: a\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\nno colon\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\nHost: \x01\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\nContent-Length: +0\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\nContent-Length: 0, 0\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\nContent-Length:\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\nHost: a\r\n"},
	{400, "GET / HTTP/1.1\r\n\r\nmore"},
	{405, "POST / HTTP/1.1\r\n\r\n"},
	{405, "get / HTTP/1.1\r\n\r\n"},
	{413, "GET / HTTP/1.1\r\ncontent-length: 5\r\n\r\n"},
	{413, "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n"},
	{417, "GET / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n"},
	{501, "GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"},
	{501, "GET / HTTP/1.1\r\nContent-Length: 0\r\nTransfer-Encoding: identity\r\n\r\n"},
	{505, "GET / HTTP/2.0\r\n\r\n"},
	{505, "GET / HTTP/1.1x\r\n\r\n"},
};

/* For a server without bodies. */
static int check(struct str bytes)
{
	struct guard_head head;

	return guard_read_head(bytes, 0, &head);
}

static void heads_are_read_strictly(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
		if (check(str_from(heads[i].text)) != heads[i].status)
			fail_msg("%d instead of %d for \"%s\"", check(str_from(heads[i].text)),
				 heads[i].status, heads[i].text);
}

#define MAX_BODY 1000

/* For a server that takes bodies of at most MAX_BODY bytes. */
static const struct head posts[] = {
	{0, "POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n"},
	{0, "POST / HTTP/1.1\r\nContent-Length: 1000\r\n\r\n"},
	{0, "GET / HTTP/1.1\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\nContent-Length: 5,5\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\nContent-Length: 0x5\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\nContent-Length:\r\n\r\n"},
	{405, "PUT / HTTP/1.1\r\nContent-Length: 5\r\n\r\n"},
	{411, "POST / HTTP/1.1\r\n\r\n"},
	{413, "POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n"},
	{413, "POST / HTTP/1.1\r\nContent-Length: 314572800\r\n\r\n"},
	{413, "POST / HTTP/1.1\r\nContent-Length: 18446744073709551616\r\n\r\n"},
	{413, "GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n"},
	{417, "POST / HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"},
	{501, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"},
	{501, "POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"},
};

static void bodies_have_one_length_within_the_limit(void **state UNUSED)
{
	struct guard_head head;

	for (size_t i = 0; i < ARRAY_SIZE(posts); i++)
		if (guard_read_head(str_from(posts[i].text), MAX_BODY, &head) != posts[i].status)
			fail_msg("%d instead of %d for \"%s\"",
				 guard_read_head(str_from(posts[i].text), MAX_BODY, &head),
				 posts[i].status, posts[i].text);
}

static void assert_text(struct str text, const char *expected)
{
	assert_true(str_equal(text, str_from(expected)));
}

static void what_a_head_says_is_kept(void **state UNUSED)
{
	struct guard_head head;

	assert_int_equal(guard_read_head(STR("POST /a?b?c HTTP/1.1\r\nContent-Length: 12\r\n\r\n"),
					 MAX_BODY, &head),
			 0);
	assert_int_equal(head.method, HTTP_SERVER_POST);
	assert_text(head.path, "/a");
	assert_text(head.query, "b?c");
	assert_int_equal(head.body_length, 12);
	assert_false(head.close);
	assert_int_equal(guard_read_head(STR("HEAD /a HTTP/1.0\r\n\r\n"), MAX_BODY, &head), 0);
	assert_int_equal(head.method, HTTP_SERVER_HEAD);
	assert_null(head.query.data);
	assert_int_equal(head.body_length, 0);
	assert_true(head.close);
	assert_int_equal(guard_read_head(STR("GET / HTTP/1.1\r\nConnection: a, Close\r\n\r\n"),
					 MAX_BODY, &head),
			 0);
	assert_true(head.close);
}

static void a_zero_byte_is_no_text(void **state UNUSED)
{
	assert_int_equal(check(STR("GET /\0 HTTP/1.1\r\n\r\n")), 400);
	assert_int_equal(check(STR("GET / HTTP/1.1\r\nA\0: b\r\n\r\n")), 400);
	assert_int_equal(check(STR("GET / HTTP/1.1\r\nA: \0\r\n\r\n")), 400);
}

static void a_head_ends_at_its_empty_line(void **state UNUSED)
{
	assert_int_equal(guard_head_length(STR("")), 0);
	assert_int_equal(guard_head_length(STR("GET / HTTP/1.1\r\n")), 0);
	assert_int_equal(guard_head_length(STR("GET / HTTP/1.1\r\n\r")), 0);
	assert_int_equal(guard_head_length(STR("a\r\n\r\n")), 5);
	assert_int_equal(guard_head_length(STR("a\r\n\r\nb\r\n\r\n")), 5);
	assert_int_equal(guard_head_length(STR("a\n\nb")), 3);
	assert_int_equal(guard_head_length(STR("\r\n\r\n")), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_are_read_strictly),
		cmocka_unit_test(bodies_have_one_length_within_the_limit),
		cmocka_unit_test(what_a_head_says_is_kept),
		cmocka_unit_test(a_zero_byte_is_no_text),
		cmocka_unit_test(a_head_ends_at_its_empty_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
