/* SPDX-License-Identifier: Apache-2.0 */
/* A list of requests, and one timer that sends the new ones and ends the cancelled ones. */
#include "lib/fake_kube.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/list.h"
#include "base/mem.h"

#define TURNS_MOST 1000

enum state { QUEUED, SENT };

struct kube_call {
	struct list link;
	struct kube_client *client;
	enum state state;
	enum error_kind stop; /* NONE, or why it ends in the next turn */
	bool abandoned, fenced;
	bool streams, begun; /* it is one of a STREAM; its answer has begun */
	struct kube_handlers handlers;
	struct buf what, body, from;
	int64_t timeout_us, sent_us;
};

struct kube_client {
	struct loop *loop;
	struct list calls;
	struct loop_timer work;
	bool (*may_send)(void *context, int64_t now_us);
	void *fence_context;
	unsigned int made, n_fenced;
};

static void end(struct kube_call *call, const struct kube_answer *answer, const struct error *err)
{
	list_unlink(&call->link);
	if (!call->abandoned)
		call->handlers.on_done(call->handlers.context, answer, err);
	buf_clear(&call->what);
	buf_clear(&call->body);
	buf_clear(&call->from);
	mem_free(call);
}

static void end_with(struct kube_call *call, enum error_kind kind, int http_status)
{
	struct error err = {0};

	error_set(&err, kind, "fake: %s", error_kind_name(kind));
	err.http_status = http_status;
	end(call, NULL, &err);
}

static struct kube_call *next_work(const struct kube_client *client)
{
	list_for_each(it, &client->calls) {
		struct kube_call *call = container_of(it, struct kube_call, link);

		if (call->state == QUEUED || call->stop != ERROR_NONE)
			return call;
	}
	return NULL;
}

static void send_or_refuse(struct kube_call *call)
{
	struct kube_client *client = call->client;
	int64_t now = clock_monotonic(loop_clock(client->loop));

	call->state = SENT;
	call->sent_us = now;
	if (!call->fenced || (client->may_send && client->may_send(client->fence_context, now)))
		return;
	client->n_fenced++;
	end_with(call, ERROR_FENCED, 0);
}

static void work(void *context)
{
	struct kube_client *client = context;
	struct kube_call *call = next_work(client);

	if (!call)
		return;
	loop_defer(&client->work);
	if (call->stop != ERROR_NONE)
		end_with(call, call->stop, 0);
	else
		send_or_refuse(call);
}

struct kube_client *fake_kube_new(struct loop *loop)
{
	struct kube_client *client = mem_alloc(sizeof(*client));

	client->loop = loop;
	list_init(&client->calls);
	loop_timer_init(&client->work, loop, "fake kube", work, client);
	return client;
}

void kube_client_free(struct kube_client *client)
{
	struct list *first;

	if (!client)
		return;
	while ((first = list_first(&client->calls)))
		end_with(container_of(first, struct kube_call, link), ERROR_CANCELLED, 0);
	loop_timer_clear(&client->work);
	mem_free(client);
}

struct loop *kube_client_loop(const struct kube_client *client)
{
	return client->loop;
}

static void describe(struct kube_call *call, const struct kube_request *request)
{
	static const char *const verbs[] = {
		[KUBE_GET] = "GET",           [KUBE_LIST] = "LIST",       [KUBE_STREAM] = "WATCH",
		[KUBE_CREATE] = "CREATE",     [KUBE_UPDATE] = "UPDATE",   [KUBE_APPLY] = "APPLY",
		[KUBE_MERGE_PATCH] = "PATCH", [KUBE_JSON_PATCH] = "JSON", [KUBE_DELETE] = "DELETE",
	};

	buf_init(&call->what, LIMIT_HTTP_URL);
	buf_init(&call->from, LIMIT_HTTP_URL);
	buf_init(&call->body, LIMIT_JSON_OUTPUT);
	buf_printf(&call->what, "%s %s%s%s %.*s/%.*s", verbs[request->verb], request->type->plural,
		   request->subresource ? "/" : "",
		   request->subresource ? request->subresource : "", STR_ARGS(request->namespace),
		   STR_ARGS(request->name));
	buf_printf(&call->from, "%s%.*s %.*s", request->send_initial_events ? "+initial " : "",
		   STR_ARGS(request->resource_version), STR_ARGS(request->continue_token));
	buf_add_str(&call->body, request->body);
}

struct kube_call *kube_send(struct kube_client *client, enum kube_channel channel UNUSED,
			    const struct kube_request *request,
			    const struct kube_handlers *handlers)
{
	struct kube_call *call = mem_alloc(sizeof(*call));

	client->made++;
	call->client = client;
	call->handlers = *handlers;
	call->fenced = request->fenced;
	call->streams = request->verb == KUBE_STREAM;
	call->timeout_us = request->timeout_us;
	describe(call, request);
	list_append(&client->calls, &call->link);
	loop_defer(&client->work);
	return call;
}

static void stop(struct kube_call *call, enum error_kind kind)
{
	if (call->stop == ERROR_NONE)
		call->stop = kind;
	loop_defer(&call->client->work);
}

void kube_cancel(struct kube_call *call)
{
	stop(call, ERROR_CANCELLED);
}

void kube_abandon(struct kube_call *call)
{
	if (!call)
		return;
	call->abandoned = true;
	stop(call, ERROR_CANCELLED);
}

void kube_client_set_fence(struct kube_client *client,
			   bool (*may_send)(void *context, int64_t now_us), void *context)
{
	client->may_send = may_send;
	client->fence_context = context;
}

void kube_client_limit_fenced(struct kube_client *client UNUSED, int64_t timeout_us UNUSED)
{
}

const struct kube_config *kube_client_config(const struct kube_client *client UNUSED)
{
	static const struct kube_config config = {0};

	return &config;
}

void kube_client_fence_at(struct kube_client *client UNUSED, int64_t at_us UNUSED)
{
}

void kube_client_fence(struct kube_client *client)
{
	list_for_each(it, &client->calls) {
		struct kube_call *call = container_of(it, struct kube_call, link);

		if (call->fenced)
			stop(call, ERROR_FENCED);
	}
}

/* --- what a test sees and does */

size_t fake_kube_open(const struct kube_client *client)
{
	size_t n = 0;

	list_for_each(it, &client->calls)
		n += container_of(it, struct kube_call, link)->state == SENT;
	return n;
}

struct kube_call *fake_kube_nth(const struct kube_client *client, size_t n)
{
	list_for_each(it, &client->calls) {
		struct kube_call *call = container_of(it, struct kube_call, link);

		if (call->state == SENT && n-- == 0)
			return call;
	}
	fail_msg("no request is waiting for an answer");
	return NULL;
}

struct kube_call *fake_kube_first(const struct kube_client *client)
{
	return fake_kube_nth(client, 0);
}

unsigned int fake_kube_made(const struct kube_client *client)
{
	return client->made;
}

unsigned int fake_kube_fenced(const struct kube_client *client)
{
	return client->n_fenced;
}

const char *fake_kube_what(const struct kube_call *call)
{
	return call->what.data;
}

const char *fake_kube_body(const struct kube_call *call)
{
	return call->body.len ? call->body.data : "";
}

const char *fake_kube_from(const struct kube_call *call)
{
	return call->from.data;
}

int64_t fake_kube_timeout(const struct kube_call *call)
{
	return call->timeout_us;
}

static void begin(struct kube_call *call)
{
	if (call->streams && !call->begun && call->handlers.on_open)
		call->handlers.on_open(call->handlers.context);
	call->begun = true;
}

void fake_kube_begin(struct kube_call *call)
{
	struct loop *loop = call->client->loop;

	loop_turn_begin(loop);
	begin(call);
	loop_turn_end(loop, "fake kube");
}

bool fake_kube_part(struct kube_call *call, enum frame_part part, const char *json)
{
	struct loop *loop = call->client->loop;
	struct error err = {0};
	int r;

	loop_turn_begin(loop);
	begin(call);
	r = call->handlers.on_part(call->handlers.context, part, str_from(json), false, &err);
	if (r < 0)
		end(call, NULL, &err);
	loop_turn_end(loop, "fake kube");
	return r == 0;
}

void fake_kube_answer(struct kube_call *call, const char *json)
{
	struct loop *loop = call->client->loop;
	struct kube_answer answer = {
		.status = 200, .body = str_from(json), .sent_us = call->sent_us};

	loop_turn_begin(loop);
	end(call, &answer, NULL);
	loop_turn_end(loop, "fake kube");
}

void fake_kube_fail(struct kube_call *call, enum error_kind kind, int http_status)
{
	struct loop *loop = call->client->loop;

	loop_turn_begin(loop);
	end_with(call, kind, http_status);
	loop_turn_end(loop, "fake kube");
}

/* The wall clock stands still in between, so that is over when nothing is due. */
void fake_kube_settle(const struct kube_client *client)
{
	for (int i = 0; i < TURNS_MOST; i++)
		loop_run_once(client->loop, 0);
}

/* --- the world of a test */

static bool world_leads(void *context, int64_t now_us)
{
	const struct fake_kube_world *world = context;

	(void)now_us;
	return world->leads;
}

void fake_kube_world_init(struct fake_kube_world *world)
{
	manual_clock_init(&world->clock, 1000 * USEC_PER_SEC, 1000 * USEC_PER_SEC);
	world->loop = loop_new(&world->clock.clock);
	world->client = fake_kube_new(world->loop);
	world->leads = true;
	kube_client_set_fence(world->client, world_leads, world);
}

void fake_kube_world_clear(struct fake_kube_world *world)
{
	kube_client_free(world->client);
	loop_free(world->loop);
}

void fake_kube_pass(struct fake_kube_world *world, int64_t us)
{
	manual_clock_advance(&world->clock, us);
	fake_kube_settle(world->client);
}

void fake_kube_reply(struct fake_kube_world *world, const char *what, const char *json)
{
	fake_kube_answer(fake_kube_expect(world, what), json);
	fake_kube_settle(world->client);
}

void fake_kube_refuse(struct fake_kube_world *world, const char *what, enum error_kind kind,
		      int http_status)
{
	fake_kube_fail(fake_kube_expect(world, what), kind, http_status);
	fake_kube_settle(world->client);
}

bool fake_kube_event(struct fake_kube_world *world, const char *watch, const char *type,
		     const char *object)
{
	struct buf text;
	bool goes_on;

	buf_init(&text, LIMIT_JSON_OUTPUT);
	assert_true(buf_printf(&text, "{\"type\":\"%s\",\"object\":%s}", type, object));
	goes_on = fake_kube_part(fake_kube_expect(world, watch), FRAME_OBJECT, text.data);
	buf_clear(&text);
	fake_kube_settle(world->client);
	return goes_on;
}

struct kube_call *fake_kube_find(struct fake_kube_world *world, const char *what)
{
	for (size_t i = 0; i < fake_kube_open(world->client); i++) {
		struct kube_call *call = fake_kube_nth(world->client, i);

		if (strncmp(fake_kube_what(call), what, strlen(what)) == 0)
			return call;
	}
	return NULL;
}

struct kube_call *fake_kube_expect(struct fake_kube_world *world, const char *what)
{
	struct kube_call *call = fake_kube_find(world, what);

	if (!call)
		fail_msg("no request %s", what);
	return call;
}
