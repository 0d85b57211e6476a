/* SPDX-License-Identifier: Apache-2.0 */
/* Cancelling, fencing, and handlers that interfere with what calls them. */
#include "unit/http/fixture.h"

#include <string.h>

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

static void a_request_is_cancelled_at_any_time(void **state)
{
	struct world *w = *state;
	struct http_request request = get_request(url(w, "http", "silent"));
	struct reply early, late;
	struct http_call *call;

	reply_init(&early, w);
	reply_init(&late, w);
	call = send_to(w, &request, &late);
	wait_for(w, &late.bodies, 1);
	http_cancel(call);
	http_cancel(call);
	assert_int_equal(late.done, 0);
	call = send_to(w, &request, &early);
	http_cancel(call);
	assert_int_equal(early.done, 0);
	wait_for(w, &late.done, 1);
	wait_for(w, &early.done, 1);
	assert_fails(&late, ERROR_CANCELLED, "/silent: cancelled");
	assert_fails(&early, ERROR_CANCELLED, "/silent: cancelled");
	assert_int_equal(late.response.status, 200);
	assert_int_equal(early.response.status, 0);
	http_cancel(NULL);
	assert_int_equal(requests_seen(w), 1);
	reply_clear(&late);
}

/* --- handlers that interfere */

struct meddler {
	struct reply reply;
	struct http_call *call;
	struct world *world;
	int again; /* requests still to be sent from on_done */
};

static int cancel_in_body(void *context, struct str bytes UNUSED, struct error *err UNUSED)
{
	struct meddler *m = context;

	m->reply.bodies++;
	http_cancel(m->call);
	assert_int_equal(m->reply.done, 0);
	return 0;
}

static int refuse_body(void *context, struct str bytes UNUSED, struct error *err)
{
	struct meddler *m = context;

	m->reply.bodies++;
	return error_set(err, ERROR_CONFLICT, "do not like it");
}

static int refuse_headers(void *context, const struct http_response *response, struct error *err)
{
	struct meddler *m = context;

	m->reply.headers++;
	return error_set(err, ERROR_EXPIRED, "status %d", response->status);
}

static int free_pool_in_body(void *context, struct str bytes UNUSED, struct error *err UNUSED)
{
	struct meddler *m = context;

	m->reply.bodies++;
	http_pool_free(TAKE(m->world->pool));
	assert_int_equal(m->reply.done, 1);
	return 0;
}

static void note_done(void *context, const struct http_response *response UNUSED,
		      const struct error *err)
{
	struct meddler *m = context;

	m->reply.done++;
	if (err)
		m->reply.error = *err;
}

static void free_pool_in_done(void *context, const struct http_response *response,
			      const struct error *err)
{
	struct meddler *m = context;

	note_done(context, response, err);
	http_cancel(m->call);
	http_pool_free(TAKE(m->world->pool));
}

static void send_again_in_done(void *context, const struct http_response *response,
			       const struct error *err)
{
	struct meddler *m = context;
	struct http_request request = get_request(url(m->world, "http", "ok"));
	struct http_handlers handlers = {.on_done = send_again_in_done, .context = m};

	note_done(context, response, err);
	if (m->again-- > 0)
		assert_int_equal(http_send(m->world->pool, &request, &handlers, NULL, NULL), 0);
}

static void begin(struct world *w, struct meddler *m, const char *path,
		  const struct http_handlers *handlers)
{
	struct http_request request = get_request(url(w, "http", path));
	struct http_handlers mine = *handlers;

	mine.context = m;
	m->world = w;
	assert_int_equal(http_send(w->pool, &request, &mine, &m->call, NULL), 0);
}

static void a_handler_cancels_its_own_request(void **state)
{
	struct world *w = *state;
	struct meddler m = {0};

	begin(w, &m, "stream/1000",
	      &(struct http_handlers){.on_body = cancel_in_body, .on_done = note_done});
	wait_for(w, &m.reply.done, 1);
	assert_int_equal(m.reply.bodies, 1);
	assert_fails(&m.reply, ERROR_CANCELLED, "cancelled");
}

static void a_handler_refuses_what_it_gets(void **state)
{
	struct world *w = *state;
	struct meddler m = {0}, n = {0};

	begin(w, &m, "stream/1000",
	      &(struct http_handlers){.on_body = refuse_body, .on_done = note_done});
	wait_for(w, &m.reply.done, 1);
	assert_int_equal(m.reply.bodies, 1);
	assert_fails(&m.reply, ERROR_CONFLICT, "/stream/1000: do not like it");
	begin(w, &n, "status/410",
	      &(struct http_handlers){refuse_headers, refuse_body, note_done, NULL});
	wait_for(w, &n.reply.done, 1);
	assert_int_equal(n.reply.headers, 1);
	assert_int_equal(n.reply.bodies, 0);
	assert_fails(&n.reply, ERROR_EXPIRED, "/status/410: status 410");
	assert_int_equal(n.reply.error.http_status, 410);
}

static void a_handler_frees_the_pool(void **state)
{
	struct world *w = *state;
	struct meddler m = {0}, other = {0};

	begin(w, &other, "never", &(struct http_handlers){.on_done = note_done});
	begin(w, &m, "stream/1000",
	      &(struct http_handlers){.on_body = free_pool_in_body, .on_done = note_done});
	wait_for(w, &m.reply.done, 1);
	assert_int_equal(m.reply.bodies, 1);
	assert_fails(&m.reply, ERROR_CANCELLED, "the connection pool is closed");
	assert_fails(&other.reply, ERROR_CANCELLED, "the connection pool is closed");
	loop_run_once(w->loop, 0);
	assert_int_equal(m.reply.done, 1);
}

static void the_last_handler_frees_the_pool(void **state)
{
	struct world *w = *state;
	struct meddler m = {0}, other = {0};

	begin(w, &other, "never", &(struct http_handlers){.on_done = note_done});
	begin(w, &m, "ok", &(struct http_handlers){.on_done = free_pool_in_done});
	wait_for(w, &m.reply.done, 1);
	assert_int_equal(m.reply.done, 1);
	assert_int_equal(m.reply.error.kind, ERROR_NONE);
	assert_fails(&other.reply, ERROR_CANCELLED, "closed");
}

static void the_last_handler_sends_the_next_request(void **state)
{
	struct world *w = *state;
	struct meddler m = {.again = 200};

	begin(w, &m, "ok", &(struct http_handlers){.on_done = send_again_in_done});
	wait_for(w, &m.reply.done, 201);
	assert_int_equal(m.reply.error.kind, ERROR_NONE);
	assert_int_equal(requests_seen(w), 201);
}

static void a_freed_pool_cancels_what_waits(void **state)
{
	struct world *w = *state;
	struct meddler m[3] = {{.again = 5}, {.again = 0}, {.again = 0}};

	begin(w, &m[0], "never", &(struct http_handlers){.on_done = send_again_in_done});
	for (int i = 0; i < 5; i++)
		loop_run_once(w->loop, 0);
	begin(w, &m[1], "never", &(struct http_handlers){.on_done = note_done});
	begin(w, &m[2], "never", &(struct http_handlers){.on_done = note_done});
	http_cancel(m[2].call);
	m[0].again = 0;
	http_pool_free(TAKE(w->pool));
	for (size_t i = 0; i < ARRAY_SIZE(m); i++)
		assert_fails(&m[i].reply, ERROR_CANCELLED, "");
}

/* --- the fence */

static bool allowed, asked;

static bool gate(void *context UNUSED, int64_t now_us)
{
	asked = true;
	assert_true(now_us > 0);
	return allowed;
}

static void what_the_fence_refuses_never_reaches_the_server(void **state)
{
	struct world *w = *state;
	struct http_request request = get_request(url(w, "http", "ok"));
	struct reply reply;

	request.may_send = gate;
	allowed = asked = false;
	fetch(w, &request, &reply);
	assert_fails(&reply, ERROR_FENCED, "/ok: not sent");
	assert_true(asked);
	reply_clear(&reply);
	fetch(w, &request, &reply); /* now on a connection that is open */
	assert_fails(&reply, ERROR_FENCED, "not sent");
	reply_clear(&reply);
	assert_int_equal(requests_seen(w), 0);
	allowed = true;
	request = get_request(url(w, "http", "ok"));
	request.may_send = gate;
	fetch(w, &request, &reply);
	assert_answers(&reply, 200, "hello");
	reply_clear(&reply);
}

static void fencing_the_pool_ends_only_requests_with_a_fence(void **state)
{
	struct world *w = *state;
	struct http_request request = get_request(url(w, "http", "silent"));
	struct reply free_one, fenced[3];

	allowed = true;
	reply_init(&free_one, w);
	send_to(w, &request, &free_one);
	request.may_send = gate;
	for (size_t i = 0; i < 2; i++) {
		reply_init(&fenced[i], w);
		send_to(w, &request, &fenced[i]);
		wait_for(w, &fenced[i].bodies, 1);
	}
	wait_for(w, &free_one.bodies, 1);
	reply_init(&fenced[2], w);
	send_to(w, &request, &fenced[2]); /* still queued */
	http_pool_fence(w->pool);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(fenced[i].done, 0);
	for (size_t i = 0; i < 3; i++) {
		wait_for(w, &fenced[i].done, 1);
		assert_fails(&fenced[i], ERROR_FENCED, "given up under way");
		reply_clear(&fenced[i]);
	}
	assert_int_equal(free_one.done, 0);
	assert_int_equal(http_pool_inflight(w->pool), 1);
	http_pool_free(TAKE(w->pool));
	assert_fails(&free_one, ERROR_CANCELLED, "");
	reply_clear(&free_one);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_request_is_cancelled_at_any_time),
		TEST(a_handler_cancels_its_own_request),
		TEST(a_handler_refuses_what_it_gets),
		TEST(a_handler_frees_the_pool),
		TEST(the_last_handler_frees_the_pool),
		TEST(the_last_handler_sends_the_next_request),
		TEST(a_freed_pool_cancels_what_waits),
		TEST(what_the_fence_refuses_never_reaches_the_server),
		TEST(fencing_the_pool_ends_only_requests_with_a_fence),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
