/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server and its guard, talked to through raw sockets in the same thread. The clock is moved by
 * hand, so that deadlines pass at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "http/client.h"
#include "http/server.h"
#include "unit/http/raw.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: test\r\n\r\n"

struct world {
	struct manual_clock clock;
	struct loop *loop;
	struct http_server *server;
	int asked;
};

static void handle(void *context, const struct http_server_request *request,
		   struct http_server_reply *reply)
{
	struct world *w = context;

	w->asked++;
	if (strcmp(request->path, "/big") == 0) {
		for (int i = 0; i < 100000; i++)
			buf_add_cstr(&reply->body, "0123456789012345678901234567890123456789");
	} else if (strcmp(request->path, "/endless") == 0) {
		while (buf_add_cstr(&reply->body, "0123456789012345678901234567890123456789"))
			;
	} else if (strcmp(request->path, "/json") == 0) {
		reply->content_type = "application/json";
		buf_add_cstr(&reply->body, "{}");
	} else if (strcmp(request->path, "/last") == 0) {
		reply->close = true;
	} else if (strcmp(request->path, "/echo path") == 0) {
		buf_printf(&reply->body, "query %s", request->query ? request->query : "none");
	} else {
		reply->status = 404;
		buf_printf(&reply->body, "no %s", request->path);
	}
}

static int serve(struct world *w, const char *address, struct http_server **ret_server,
		 struct error *err)
{
	return http_server_new(
		w->loop,
		&(struct http_server_options){.address = address, .handle = handle, .context = w},
		ret_server, err);
}

static int setup(void **state)
{
	struct world *w = mem_alloc(sizeof(*w));
	struct error err;

	manual_clock_init(&w->clock, 1000, 0);
	w->loop = loop_new(&w->clock.clock);
	if (serve(w, "127.0.0.1:0", &w->server, &err) < 0)
		fail_msg("%s", err.message);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	http_server_free(w->server);
	loop_free(w->loop);
	mem_free(w);
	return 0;
}

static size_t connections(const struct world *w)
{
	return http_server_counts(w->server).connections;
}

static void wait_connections(struct world *w, size_t count)
{
	int64_t end = clock_monotonic(clock_system()) + RAW_PATIENCE_US;

	while (connections(w) != count && clock_monotonic(clock_system()) < end)
		loop_run_once(w->loop, 0);
	assert_int_equal(connections(w), count);
}

static void pages_are_served_on_one_connection(void **state)
{
	struct world *w = *state;
	struct raw_client c = raw_open(w->server);

	raw_say(&c, GET("/json"));
	raw_expect(w->loop, &c, "\r\n\r\n{}");
	assert_non_null(strstr(c.in.data, "HTTP/1.1 200 OK\r\n"));
	assert_non_null(strstr(c.in.data, "Content-Type: application/json\r\n"));
	assert_non_null(strstr(c.in.data, "Content-Length: 2\r\n"));
	buf_reset(&c.in);
	raw_say(&c, GET("/echo%20path?a=%20"));
	raw_expect(w->loop, &c, "query a=%20");
	raw_say(&c, GET("/no/such?x"));
	raw_expect(w->loop, &c, "\r\n\r\nno /no/such");
	assert_non_null(strstr(c.in.data, "HTTP/1.1 404 "));
	assert_false(c.closed);
	assert_int_equal(w->asked, 3);
	assert_int_equal(connections(w), 1);
	raw_close(&c);
	wait_connections(w, 0);
}

static void a_handler_may_end_the_connection_with_its_answer(void **state)
{
	struct world *w = *state;
	struct raw_client c = raw_open(w->server);

	raw_say(&c, GET("/last"));
	raw_expect(w->loop, &c, NULL);
	assert_true(c.closed);
	assert_non_null(strstr(c.in.data, "HTTP/1.1 200 OK\r\n"));
	assert_non_null(strstr(c.in.data, "Connection: close\r\n"));
	raw_close(&c);
	wait_connections(w, 0);
}

static void head_tells_the_length_without_the_body(void **state)
{
	struct world *w = *state;
	struct raw_client c = raw_open(w->server);

	raw_say(&c, "HEAD /json HTTP/1.1\r\n\r\n");
	raw_expect(w->loop, &c, "\r\n\r\n");
	raw_say(&c, "HEAD /big HTTP/1.1\r\nConnection: close\r\n\r\n");
	raw_expect(w->loop, &c, NULL);
	assert_non_null(strstr(c.in.data, "Content-Length: 2\r\n"));
	assert_non_null(strstr(c.in.data, "Content-Length: 4000000\r\n"));
	assert_null(strstr(c.in.data, "{}"));
	assert_true(c.in.len < 1000);
	raw_close(&c);
}

static void a_page_larger_than_the_socket_arrives_whole(void **state)
{
	struct world *w = *state;
	struct raw_client c = raw_open(w->server);

	raw_say(&c, "GET /big HTTP/1.1\r\nConnection: close\r\n\r\n");
	raw_expect(w->loop, &c, NULL);
	assert_true(c.in.len > 4000000);
	raw_close(&c);
	c = raw_open(w->server);
	raw_say(&c, "GET /endless HTTP/1.1\r\n\r\n");
	raw_expect(w->loop, &c, "HTTP/1.1 500 ");
	raw_close(&c);
}

static void a_head_may_come_byte_by_byte(void **state)
{
	static const char text[] = GET("/json");
	struct world *w = *state;
	struct raw_client c = raw_open(w->server);

	for (size_t i = 0; i + 1 < sizeof(text); i++) {
		assert_int_equal(w->asked, 0);
		assert_int_equal(send(c.fd, &text[i], 1, MSG_NOSIGNAL), 1);
		loop_run_once(w->loop, 0);
	}
	raw_expect(w->loop, &c, "{}");
	raw_close(&c);
}

struct refused {
	const char *status, *text;
};

static void what_the_guard_refuses_never_reaches_the_handler(void **state)
{
	static const struct refused all[] = {
		{"400", "GET / HTTP/1.1\nHost: a\n\n"},
		{"400", "GET / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n"},
		{"400", "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"},
		{"400", GET("/json") GET("/json")},
		{"405", "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"},
		{"405", "DELETE / HTTP/1.1\r\n\r\n"},
		{"413", "GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"},
		{"501", "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
		{"505", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
		{"400", "\x16\x03\x01 hello\r\n\r\n"},
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct raw_client c = raw_open(w->server);
		char line[32];

		raw_say(&c, all[i].text);
		raw_expect(w->loop, &c, NULL);
		assert_true(snprintf(line, sizeof(line), "HTTP/1.1 %s ", all[i].status) > 0);
		if (!c.in.data || strncmp(c.in.data, line, strlen(line)) != 0)
			fail_msg("\"%s\": \"%s\" instead of %s", all[i].text,
				 c.in.data ? c.in.data : "", all[i].status);
		raw_close(&c);
		wait_connections(w, 0);
	}
	assert_int_equal(w->asked, 0);
}

static void a_path_with_a_zero_byte_is_refused(void **state)
{
	struct world *w = *state;
	struct raw_client c = raw_open(w->server);

	raw_say(&c, GET("/json%00/x"));
	raw_expect(w->loop, &c, "HTTP/1.1 400 ");
	assert_int_equal(w->asked, 0);
	raw_close(&c);
}

static void a_big_head_is_refused(void **state)
{
	struct world *w = *state;
	char *filler = mem_alloc(LIMIT_SERVER_HEADERS + 1);
	struct raw_client c = raw_open(w->server);

	memset(filler, 'a', LIMIT_SERVER_HEADERS);
	raw_say(&c, "GET / HTTP/1.1\r\nX: ");
	raw_say(&c, filler);
	raw_expect(w->loop, &c, NULL);
	assert_non_null(strstr(c.in.data, "HTTP/1.1 431 "));
	raw_close(&c);
	c = raw_open(w->server); /* one that goes on for ever */
	for (int i = 0; i < 100; i++) {
		send(c.fd, filler, LIMIT_SERVER_HEADERS, MSG_NOSIGNAL | MSG_DONTWAIT);
		loop_run_once(w->loop, 0);
	}
	raw_expect(w->loop, &c, NULL);
	raw_close(&c);
	manual_clock_advance(&w->clock, LIMIT_SERVER_REQUEST_US); /* nobody reads it any more */
	wait_connections(w, 0);
	mem_free(filler);
}

/* Bytes keep coming, but the request has its time in all. */
static void a_slow_request_is_cut(void **state)
{
	struct world *w = *state;
	struct raw_client slow = raw_open(w->server), silent = raw_open(w->server);

	wait_connections(w, 2);
	loop_run_once(w->loop, 0);
	raw_say(&slow, "GET / HTTP/1.1\r\n");
	for (int i = 0; i < 4; i++) {
		manual_clock_advance(&w->clock, LIMIT_SERVER_REQUEST_US / 4 - 1);
		raw_say(&slow, "X: y\r\n");
		loop_run_once(w->loop, 0);
		loop_run_once(w->loop, 0);
		raw_listen(&slow);
		assert_false(slow.closed);
	}
	manual_clock_advance(&w->clock, 4);
	raw_expect(w->loop, &slow, NULL);
	raw_expect(w->loop, &silent, NULL);
	assert_int_equal(connections(w), 0);
	raw_close(&slow);
	raw_close(&silent);
}

static void a_reader_that_does_not_read_is_cut(void **state)
{
	struct world *w = *state;
	struct raw_client c = raw_open(w->server);

	raw_say(&c, GET("/big"));
	while (w->asked == 0)
		loop_run_once(w->loop, 0);
	loop_run_once(w->loop, 0);
	manual_clock_advance(&w->clock, LIMIT_SERVER_REQUEST_US);
	wait_connections(w, 0);
	raw_close(&c);
}

static void an_idle_connection_outlives_a_request_and_is_cut_in_the_end(void **state)
{
	struct world *w = *state;
	struct raw_client c = raw_open(w->server);

	raw_say(&c, GET("/json"));
	raw_expect(w->loop, &c, "{}");
	manual_clock_advance(&w->clock, 60 * USEC_PER_SEC);
	loop_run_once(w->loop, 0);
	buf_reset(&c.in);
	raw_say(&c, GET("/json"));
	raw_expect(w->loop, &c, "{}");
	manual_clock_advance(&w->clock, 120 * USEC_PER_SEC);
	raw_expect(w->loop, &c, NULL);
	raw_close(&c);
}

static void the_oldest_idle_connection_makes_room(void **state)
{
	struct world *w = *state;
	static struct raw_client clients[300];
	const size_t idle = 7; /* not the oldest connection, but the oldest that is idle */
	size_t closed = 0;

	for (size_t i = 0; i < LIMIT_SERVER_CONNECTIONS; i++) {
		clients[i] = raw_open(w->server);
		wait_connections(w, i + 1);
		if (i != idle)
			continue;
		raw_say(&clients[i], GET("/json"));
		raw_expect(w->loop, &clients[i], "{}");
	}
	clients[256] = raw_open(w->server);
	raw_expect(w->loop, &clients[idle], NULL);
	assert_int_equal(http_server_counts(w->server).dropped, 1);
	assert_int_equal(connections(w), LIMIT_SERVER_CONNECTIONS);
	for (size_t i = 257; i < ARRAY_SIZE(clients); i++) {
		clients[i] = raw_open(w->server);
		manual_clock_advance(&w->clock, 10 * USEC_PER_MSEC); /* it rests after a drop */
		loop_run_once(w->loop, 0);
		assert_true(connections(w) <= LIMIT_SERVER_CONNECTIONS);
	}
	raw_say(&clients[299], GET("/json"));
	raw_expect(w->loop, &clients[299], "{}");
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		raw_listen(&clients[i]);
		closed += clients[i].closed;
		raw_close(&clients[i]);
	}
	assert_int_equal(closed, 300 - LIMIT_SERVER_CONNECTIONS);
	wait_connections(w, 0);
}

static void a_burst_of_connections_stays_within_the_limit(void **state)
{
	struct world *w = *state;
	static struct raw_client clients[300];

	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		clients[i] = raw_open(w->server);
		if (i % 50 == 49)
			loop_run_once(w->loop, 0);
	}
	while (connections(w) < LIMIT_SERVER_CONNECTIONS)
		loop_run_once(w->loop, 0);
	loop_run_once(w->loop, 0);
	assert_int_equal(connections(w), LIMIT_SERVER_CONNECTIONS);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		raw_close(&clients[i]);
	wait_connections(w, 0);
}

static void connections_that_vanish_are_forgotten(void **state)
{
	const struct linger reset = {.l_onoff = 1, .l_linger = 0};
	struct world *w = *state;

	for (int i = 0; i < 20; i++) {
		struct raw_client c = raw_open(w->server);

		if (i % 3 == 1)
			wait_connections(w, 1);
		if (i % 2 == 0)
			raw_say(&c, i % 4 == 0 ? "GET / HT" : GET("/big"));
		if (i % 5 != 0)
			setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		raw_close(&c);
		loop_run_once(w->loop, 0);
		loop_run_once(w->loop, 0);
		wait_connections(w, 0);
	}
}

static void the_server_is_freed_with_connections_in_every_state(void **state)
{
	struct world *w = *state;
	struct raw_client fresh, idle = raw_open(w->server), busy = raw_open(w->server),
				 half = raw_open(w->server);

	raw_say(&idle, GET("/json"));
	raw_expect(w->loop, &idle, "{}");
	raw_say(&half, "GET /");
	raw_say(&busy, GET("/big"));
	while (w->asked < 2)
		loop_run_once(w->loop, 0);
	fresh = raw_open(w->server);
	http_server_free(TAKE(w->server));
	raw_close(&fresh);
	raw_close(&idle);
	raw_close(&busy);
	raw_close(&half);
}

/* Without descriptors the server rests, and goes on when there are some again. */
static void running_out_of_descriptors_is_survived(void **state)
{
	struct world *w = *state;
	struct raw_client c = raw_open(w->server);
	struct rlimit before, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = (rlim_t)c.fd + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (int i = 0; i < 3; i++)
		loop_run_once(w->loop, 0);
	assert_int_equal(connections(w), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	loop_run_once(w->loop, 0);
	assert_int_equal(connections(w), 0);
	manual_clock_advance(&w->clock, USEC_PER_SEC);
	raw_say(&c, GET("/json"));
	raw_expect(w->loop, &c, "{}");
	raw_close(&c);
}

static void addresses_are_read_strictly(void **state)
{
	static const char *const bad[] = {"",
					  "8080",
					  "127.0.0.1",
					  "127.0.0.1:",
					  "127.0.0.1:65536",
					  "127.0.0.1:-1",
					  "localhost:80",
					  "::1:80",
					  "[::1:80",
					  "127.0.0.1:80x"};
	static const char *const good[] = {":0", "127.0.0.1:0", "[::1]:0"};
	struct world *w = *state;
	struct http_server *server = NULL;
	struct error err;
	char taken[32];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		err = (struct error){0};
		assert_int_equal(serve(w, bad[i], &server, &err), -1);
		assert_int_equal(err.kind, ERROR_INVALID);
	}
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		if (serve(w, good[i], &server, &err) < 0) {
			assert_int_equal(good[i][0], '['); /* a machine without IPv6 */
			continue;
		}
		assert_int_not_equal(http_server_port(server), 0);
		http_server_free(TAKE(server));
	}
	assert_true(snprintf(taken, sizeof(taken), "127.0.0.1:%u", http_server_port(w->server)) >
		    0);
	assert_int_equal(serve(w, taken, &server, &err), -1);
	assert_int_equal(err.kind, ERROR_UNAVAILABLE);
	assert_non_null(strstr(err.message, taken));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pages_are_served_on_one_connection),
		TEST(a_handler_may_end_the_connection_with_its_answer),
		TEST(head_tells_the_length_without_the_body),
		TEST(a_page_larger_than_the_socket_arrives_whole),
		TEST(a_head_may_come_byte_by_byte),
		TEST(what_the_guard_refuses_never_reaches_the_handler),
		TEST(a_path_with_a_zero_byte_is_refused),
		TEST(a_big_head_is_refused),
		TEST(a_slow_request_is_cut),
		TEST(a_reader_that_does_not_read_is_cut),
		TEST(an_idle_connection_outlives_a_request_and_is_cut_in_the_end),
		TEST(the_oldest_idle_connection_makes_room),
		TEST(a_burst_of_connections_stays_within_the_limit),
		TEST(connections_that_vanish_are_forgotten),
		TEST(the_server_is_freed_with_connections_in_every_state),
		TEST(running_out_of_descriptors_is_survived),
		TEST(addresses_are_read_strictly),
	};

	http_library_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
