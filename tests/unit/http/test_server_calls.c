/* SPDX-License-Identifier: Apache-2.0 */
/* Requests with a body, and answers that are made in a later turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "base/mem.h"
#include "http/client.h"
#include "http/server.h"
#include "unit/http/raw.h"

#define MAX_BODY (1024 * 1024)
#define MAX_OPEN 16

struct world {
	struct manual_clock clock;
	struct loop *loop;
	struct http_server *server;
	int asked;
	struct http_later *later[MAX_OPEN]; /* what /later left to the test */
	size_t n_later;
};

/* Bytes and their sum: enough to see that a body is whole and in order. */
static void describe(struct str body, struct buf *out)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < body.len; i++)
		sum = sum * 31 + (unsigned char)body.data[i];
	buf_printf(out, "%zu bytes, %u.", body.len, sum);
}

static void handle(void *context, const struct http_server_request *request,
		   struct http_server_reply *reply)
{
	struct world *w = context;
	struct http_later *later;

	w->asked++;
	if (strcmp(request->path, "/later") == 0) {
		assert_true(w->n_later < MAX_OPEN);
		w->later[w->n_later++] = http_later_new(request);
	} else if (strcmp(request->path, "/at-once") == 0) {
		later = http_later_new(request);
		buf_add_cstr(&http_later_reply(later)->body, "at once.");
		http_later_send(later);
	} else if (strcmp(request->path, "/never") == 0) {
		http_later_free(http_later_new(request));
	} else {
		describe(request->body, &reply->body);
	}
}

static int setup(void **state)
{
	struct world *w = mem_alloc(sizeof(*w));
	const struct http_server_options options = {
		.address = "127.0.0.1:0", .handle = handle, .context = w, .max_body = MAX_BODY};
	struct error err;

	manual_clock_init(&w->clock, 1000, 0);
	w->loop = loop_new(&w->clock.clock);
	if (http_server_new(w->loop, &options, &w->server, &err) < 0)
		fail_msg("%s", err.message);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	http_server_free(w->server);
	for (size_t i = 0; i < w->n_later; i++)
		http_later_free(w->later[i]);
	loop_free(w->loop);
	mem_free(w);
	return 0;
}

static void wait_asked(struct world *w, int asked)
{
	int64_t end = clock_monotonic(clock_system()) + RAW_PATIENCE_US;

	while (w->asked != asked && clock_monotonic(clock_system()) < end)
		loop_run_once(w->loop, 0);
	assert_int_equal(w->asked, asked);
}

static void wait_connections(struct world *w, size_t count)
{
	int64_t end = clock_monotonic(clock_system()) + RAW_PATIENCE_US;

	while (http_server_counts(w->server).connections != count &&
	       clock_monotonic(clock_system()) < end)
		loop_run_once(w->loop, 0);
	assert_int_equal(http_server_counts(w->server).connections, count);
}

static void wait_refused(struct world *w, uint64_t count)
{
	int64_t end = clock_monotonic(clock_system()) + RAW_PATIENCE_US;

	while (http_server_counts(w->server).refused != count &&
	       clock_monotonic(clock_system()) < end)
		loop_run_once(w->loop, 0);
	assert_int_equal(http_server_counts(w->server).refused, count);
}

static void send_later(struct world *w, size_t i, const char *text)
{
	buf_add_cstr(&http_later_reply(w->later[i])->body, text);
	http_later_send(TAKE(w->later[i]));
}

/* --- bodies */

/* All of @len bytes, while the loop runs. */
static void say_long(struct world *w, const struct raw_client *c, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = send(c->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0) {
			bytes += n;
			len -= (size_t)n;
		}
		loop_run_once(w->loop, 0);
	}
}

static void a_body_arrives_whole(void **state)
{
	static const size_t sizes[] = {0, 1, 4096, 65536, MAX_BODY};
	struct world *w = *state;
	struct raw_client c = raw_open(w->server);
	char *bytes = mem_alloc(MAX_BODY);
	struct buf text;

	buf_init(&text, 1024);
	for (size_t i = 0; i < MAX_BODY; i++)
		bytes[i] = (char)(i * 7 + i / 251);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		buf_reset(&text);
		buf_printf(&text, "POST /a HTTP/1.1\r\nContent-Length: %zu\r\n\r\n", sizes[i]);
		raw_say(&c, text.data);
		say_long(w, &c, bytes, sizes[i]);
		buf_reset(&text);
		describe((struct str){bytes, sizes[i]}, &text);
		raw_expect(w->loop, &c, text.data);
	}
	assert_int_equal(w->asked, ARRAY_SIZE(sizes));
	raw_close(&c);
	buf_clear(&text);
	mem_free(bytes);
}

static void a_body_may_come_with_its_head_or_byte_by_byte(void **state)
{
	static const char text[] = "POST /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello";
	struct world *w = *state;
	struct raw_client c = raw_open(w->server);
	char one[2] = "";

	raw_say(&c, text);
	raw_expect(w->loop, &c, "5 bytes");
	buf_reset(&c.in);
	for (size_t i = 0; i + 1 < sizeof(text); i++) {
		assert_int_equal(w->asked, 1);
		one[0] = text[i];
		raw_say(&c, one);
		loop_run_once(w->loop, 0);
	}
	raw_expect(w->loop, &c, "5 bytes");
	raw_close(&c);
}

struct refused {
	const char *status, *text;
};

static void what_is_no_whole_request_never_reaches_the_handler(void **state)
{
	static const struct refused all[] = {
		{"400", "POST /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello!"},
		{"400", "POST /a HTTP/1.1\r\nContent-Length: 0\r\n\r\nGET / HTTP/1.1\r\n\r\n"},
		{"411", "POST /a HTTP/1.1\r\n\r\n"},
		{"413", "POST /a HTTP/1.1\r\nContent-Length: 314572800\r\n\r\nhello"},
		{"417", "POST /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"},
		{"501", "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"},
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct raw_client c = raw_open(w->server);

		raw_say(&c, all[i].text);
		raw_expect(w->loop, &c, NULL);
		if (!c.in.data || strncmp(c.in.data + strlen("HTTP/1.1 "), all[i].status, 3) != 0)
			fail_msg("\"%s\": \"%s\" instead of %s", all[i].text,
				 c.in.data ? c.in.data : "", all[i].status);
		raw_close(&c);
		wait_connections(w, 0);
	}
	assert_int_equal(w->asked, 0);
	assert_int_equal(http_server_counts(w->server).refused, ARRAY_SIZE(all));
}

/* It has its time in all, however often something comes of it. */
static void a_slow_body_is_cut(void **state)
{
	struct world *w = *state;
	struct raw_client c = raw_open(w->server);

	raw_say(&c, "POST /a HTTP/1.1\r\nContent-Length: 100\r\n\r\n");
	wait_connections(w, 1);
	loop_run_once(w->loop, 0);
	for (int i = 0; i < 4; i++) {
		manual_clock_advance(&w->clock, LIMIT_SERVER_REQUEST_US / 4 - 1);
		raw_say(&c, "a");
		loop_run_once(w->loop, 0);
		raw_listen(&c);
		assert_false(c.closed);
	}
	manual_clock_advance(&w->clock, 4);
	raw_expect(w->loop, &c, NULL);
	assert_int_equal(w->asked, 0);
	assert_int_equal(http_server_counts(w->server).late, 1);
	raw_close(&c);
}

/* What was announced and does not come counts for nothing. */
static void bodies_have_a_limit_over_all_connections(void **state)
{
	enum { FULL = LIMIT_SERVER_BODIES / (MAX_BODY - 1) };
	static const char head[] = "POST /a HTTP/1.1\r\nContent-Length: 1048576\r\n\r\n";
	static struct raw_client clients[FULL + 1], idle[FULL];
	struct world *w = *state;
	struct raw_client late = raw_open(w->server);
	char *bytes = mem_alloc(MAX_BODY);

	for (size_t i = 0; i < FULL; i++) {
		idle[i] = raw_open(w->server);
		raw_say(&idle[i], head);
		clients[i] = raw_open(w->server);
		raw_say(&clients[i], head);
		say_long(w, &clients[i], bytes, MAX_BODY - 1);
	}
	clients[FULL] = raw_open(w->server);
	raw_say(&clients[FULL], head);
	say_long(w, &clients[FULL], bytes, MAX_BODY - 1);
	wait_refused(w, 1); /* whoever came last */
	raw_say(&late, "POST /a HTTP/1.1\r\nContent-Length: 1\r\n\r\na");
	raw_expect(w->loop, &late, "1 bytes");
	raw_close(&late);
	for (size_t i = 0; i < FULL; i++) {
		raw_close(&clients[i]);
		raw_close(&idle[i]);
	}
	raw_close(&clients[FULL]);
	manual_clock_advance(&w->clock, LIMIT_SERVER_REQUEST_US); /* nobody reads the refused one */
	wait_connections(w, 0);
	mem_free(bytes);
}

/* --- later */

#define LATER "POST /later HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"

static void an_answer_may_come_later(void **state)
{
	struct world *w = *state;
	struct raw_client a = raw_open(w->server), b = raw_open(w->server);

	raw_say(&a, LATER);
	wait_asked(w, 1);
	raw_say(&b, LATER);
	wait_asked(w, 2);
	manual_clock_advance(&w->clock, LIMIT_SERVER_LATER_US - 1);
	loop_run_once(w->loop, 0);
	assert_false(http_later_is_left(w->later[1]));
	send_later(w, 1, "second.");
	raw_expect(w->loop, &b, "second.");
	http_later_reply(w->later[0])->status = 500;
	send_later(w, 0, "first.");
	raw_expect(w->loop, &a, "first.");
	assert_non_null(strstr(a.in.data, "HTTP/1.1 500 "));
	raw_say(&a, LATER); /* the connection goes on */
	wait_asked(w, 3);
	send_later(w, 2, "third.");
	raw_expect(w->loop, &a, "third.");
	raw_close(&a);
	raw_close(&b);
}

static void later_may_be_at_once_or_never(void **state)
{
	struct world *w = *state;
	struct raw_client c = raw_open(w->server);

	raw_say(&c, "GET /at-once HTTP/1.1\r\n\r\n");
	raw_expect(w->loop, &c, "at once.");
	raw_say(&c, "GET /never HTTP/1.1\r\n\r\n");
	raw_expect(w->loop, &c, NULL);
	raw_close(&c);
	wait_connections(w, 0);
}

static void an_answer_to_nobody_is_dropped(void **state)
{
	const struct linger reset = {.l_onoff = 1, .l_linger = 0};
	struct world *w = *state;

	for (int i = 0; i < 3; i++) {
		struct raw_client c = raw_open(w->server);

		raw_say(&c, LATER);
		wait_asked(w, i + 1);
		if (i == 0)
			setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		if (i == 1)
			manual_clock_advance(&w->clock, LIMIT_SERVER_LATER_US);
		if (i == 2)
			raw_say(&c, "more"); /* ahead of the answer: the connection is closed */
		else
			raw_close(&c);
		wait_connections(w, 0);
		assert_true(http_later_is_left(w->later[i]));
		send_later(w, (size_t)i, "nobody hears this");
		if (i == 2)
			raw_close(&c);
	}
	loop_run_once(w->loop, 0);
	assert_int_equal(http_server_counts(w->server).answered, 0);
}

/* It has said that it will say no more, and still listens. */
static void a_client_that_has_said_all_still_gets_its_answer(void **state)
{
	struct world *w = *state;
	struct raw_client c = raw_open(w->server);

	raw_say(&c, LATER);
	shutdown(c.fd, SHUT_WR);
	wait_asked(w, 1);
	while (!http_later_is_left(w->later[0]))
		loop_run_once(w->loop, RAW_PATIENCE_US);
	send_later(w, 0, "still.");
	raw_expect(w->loop, &c, "still.");
	raw_expect(w->loop, &c, NULL);
	raw_close(&c);
}

static void an_answer_outlives_its_server(void **state)
{
	struct world *w = *state;
	struct raw_client c = raw_open(w->server);

	raw_say(&c, LATER);
	wait_asked(w, 1);
	http_server_free(TAKE(w->server));
	send_later(w, 0, "nobody hears this");
	raw_close(&c);
}

static void a_reader_of_a_late_answer_has_its_time_too(void **state)
{
	struct world *w = *state;
	struct raw_client c = raw_open(w->server);

	raw_say(&c, LATER);
	wait_asked(w, 1);
	manual_clock_advance(&w->clock, LIMIT_SERVER_LATER_US - 1);
	for (int i = 0; i < 400000; i++)
		buf_add_cstr(&http_later_reply(w->later[0])->body, "0123456789");
	send_later(w, 0, "");
	manual_clock_advance(&w->clock, LIMIT_SERVER_REQUEST_US - 1);
	loop_run_once(w->loop, 0);
	assert_int_equal(http_server_counts(w->server).connections, 1);
	manual_clock_advance(&w->clock, 1);
	wait_connections(w, 0);
	raw_close(&c);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_body_arrives_whole),
		TEST(a_body_may_come_with_its_head_or_byte_by_byte),
		TEST(what_is_no_whole_request_never_reaches_the_handler),
		TEST(a_slow_body_is_cut),
		TEST(bodies_have_a_limit_over_all_connections),
		TEST(an_answer_may_come_later),
		TEST(later_may_be_at_once_or_never),
		TEST(an_answer_to_nobody_is_dropped),
		TEST(a_client_that_has_said_all_still_gets_its_answer),
		TEST(an_answer_outlives_its_server),
		TEST(a_reader_of_a_late_answer_has_its_time_too),
	};

	http_library_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
