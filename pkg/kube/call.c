/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes back. A LIST or STREAM that succeeds is cut into parts as it arrives; every other body
 * is kept whole, within a limit, and becomes the answer or the error.
 */
#include "base/mem.h"
#include "kube/internal.h"

#define PROTOBUF_TYPE STR("application/vnd.kubernetes.protobuf")
#define JSON_TYPE     STR("application/json")

const char *kube_verb_method(enum kube_verb verb)
{
	switch (verb) {
	case KUBE_GET:
	case KUBE_LIST:
	case KUBE_STREAM:
		return "GET";
	case KUBE_CREATE:
		return "POST";
	case KUBE_UPDATE:
		return "PUT";
	case KUBE_APPLY:
	case KUBE_MERGE_PATCH:
	case KUBE_JSON_PATCH:
		return "PATCH";
	case KUBE_DELETE:
		return "DELETE";
	}
	return "GET";
}

/* As the API server's own metrics name them. */
static const char *verb_text(enum kube_verb verb)
{
	switch (verb) {
	case KUBE_LIST:
		return "LIST";
	case KUBE_STREAM:
		return "WATCH";
	case KUBE_APPLY:
		return "APPLY";
	case KUBE_GET:
	case KUBE_CREATE:
	case KUBE_UPDATE:
	case KUBE_MERGE_PATCH:
	case KUBE_JSON_PATCH:
	case KUBE_DELETE:
		break;
	}
	return kube_verb_method(verb);
}

static bool is_success(int status)
{
	return status >= 200 && status < 300;
}

static struct framer *make_framer(enum kube_verb verb, bool protobuf)
{
	if (verb == KUBE_STREAM)
		return framer_new(protobuf ? FRAME_PROTOBUF_WATCH : FRAME_JSON_WATCH);
	if (verb == KUBE_LIST)
		return framer_new(protobuf ? FRAME_PROTOBUF_LIST : FRAME_JSON_LIST);
	return NULL;
}

static int on_headers(void *context, const struct http_response *response, struct error *err)
{
	struct kube_call *call = context;
	bool is_json = str_equal(response->content_type, JSON_TYPE);

	kube_pool_heard(call->pool);
	call->status = response->status;
	call->protobuf = str_equal(response->content_type, PROTOBUF_TYPE);
	if (!is_success(response->status)) {
		buf_init(&call->answer, LIMIT_HTTP_ERROR_BODY);
		return 0;
	}
	if (!is_json && !call->protobuf && !str_empty(response->content_type))
		return error_set(err, ERROR_INVALID,
				 "answer of type \"%.*s\": is this a Kubernetes API server?",
				 STR_ARGS(response->content_type));
	buf_init(&call->answer, LIMIT_HTTP_BODY);
	call->framer = make_framer(call->verb, call->protobuf);
	if (call->verb == KUBE_STREAM) {
		call->due_us = TIME_NEVER;
		if (!call->pool->retired)
			loop_timer_clear(&call->timer);
		if (response->http2)
			kube_pool_watch(call->pool);
		if (call->handlers.on_open && call->stop.kind == ERROR_NONE)
			call->handlers.on_open(call->handlers.context);
	}
	return 0;
}

static int on_part(void *context, enum frame_part part, struct str bytes, struct error *err)
{
	struct kube_call *call = context;

	if (call->stop.kind != ERROR_NONE)
		return error_set(err, call->stop.kind, "%s", call->stop.message);
	return call->handlers.on_part(call->handlers.context, part, bytes, call->protobuf, err);
}

static int on_body(void *context, struct str bytes, struct error *err)
{
	struct kube_call *call = context;

	kube_pool_heard(call->pool);
	if (call->framer)
		return framer_feed(call->framer, bytes, on_part, call, err);
	if (is_success(call->status)) {
		if (buf_add_str(&call->answer, bytes))
			return 0;
		return error_set(err, ERROR_LIMIT, "answer of more than %d bytes", LIMIT_HTTP_BODY);
	}
	/* Of an error the beginning is enough. */
	bytes.len = MIN(bytes.len, call->answer.max - call->answer.len);
	buf_add_str(&call->answer, bytes);
	return 0;
}

/* "METHOD path: why", without the query; http's own errors are located already. */
static void locate(const struct kube_call *call, struct error *err)
{
	size_t len = call->path ? strcspn(call->path, "?") : 0;

	if (len)
		error_wrap(err, "%s %.*s", kube_verb_method(call->verb), (int)len, call->path);
}

/* The outcome of an exchange that http calls complete. */
static int judge(struct kube_call *call, const struct http_response *response, struct error *err)
{
	if (is_success(response->status))
		return call->framer ? framer_end(call->framer, err) : 0;
	if (response->status == 401)
		kube_credentials_refused(call->client->credentials, call->serial);
	kube_status_error(response->status, buf_str(&call->answer), call->protobuf,
			  response->retry_after_us, err);
	return -1;
}

static void on_done(void *context, const struct http_response *response, const struct error *err)
{
	struct kube_call *call = context;
	struct error own = {0};

	call->http = NULL;
	if (err)
		own = *err;
	else if (call->stop.kind == ERROR_NONE && judge(call, response, &own))
		locate(call, &own);
	if (call->stop.kind != ERROR_NONE)
		own = call->stop;
	if (own.kind == ERROR_TIMEOUT && call->status == 0)
		kube_pool_suspect(call->pool, call->begin_us);
	kube_call_finish(call, response, own.kind != ERROR_NONE ? &own : NULL);
}

const struct http_handlers kube_call_handlers = {
	.on_headers = on_headers,
	.on_body = on_body,
	.on_done = on_done,
};

void kube_call_stop(struct kube_call *call, enum error_kind kind, const char *why)
{
	if (call->stop.kind != ERROR_NONE)
		return;
	error_set(&call->stop, kind, "%s", why);
	locate(call, &call->stop);
	if (call->http)
		http_cancel(call->http);
	else
		loop_defer(&call->timer);
}

void kube_call_timer(void *context)
{
	struct kube_call *call = context;

	if (call->http && call->pool->retired && call->due_us == TIME_NEVER) {
		kube_call_stop(call, ERROR_UNAVAILABLE, call->pool->retired);
	} else if (call->http) {
		kube_call_stop(call, ERROR_TIMEOUT, "no answer in time");
	} else {
		kube_call_stop(call, ERROR_TIMEOUT, "no credentials in time");
		kube_call_finish(call, NULL, &call->stop);
	}
}

static void call_free(struct kube_call *call)
{
	loop_timer_clear(&call->timer);
	framer_free(call->framer);
	buf_clear(&call->answer);
	buf_clear(&call->body);
	mem_free(call->path);
	mem_free(call);
}

static void tell_owner(struct kube_call *call, int64_t sent_us, const struct error *err)
{
	struct kube_answer answer = {.status = call->status, .protobuf = call->protobuf};

	if (err) {
		call->handlers.on_done(call->handlers.context, NULL, err);
		return;
	}
	answer.body = buf_str(&call->answer);
	answer.sent_us = sent_us;
	call->handlers.on_done(call->handlers.context, &answer, NULL);
}

void kube_call_finish(struct kube_call *call, const struct http_response *response,
		      const struct error *err)
{
	struct kube_client *client = call->client;

	loop_timer_clear(&call->timer);
	if (call->pool)
		kube_pool_remove(call->pool, call);
	else
		list_unlink(&call->entry);
	if (response && client->options.on_request)
		client->options.on_request(client->options.context, verb_text(call->verb),
					   call->type, response->status,
					   clock_monotonic(loop_clock(client->loop)) -
						   call->begin_us);
	if (!call->abandoned)
		tell_owner(call, response ? response->sent_us : 0, err);
	call_free(call);
}
