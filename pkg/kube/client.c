/* SPDX-License-Identifier: Apache-2.0 */
/* What is sent: requests as they leave, once there are credentials for them. */
#include "kube/client.h"

#include "base/mem.h"
#include "kube/internal.h"
#include "loop/cutoff.h"

#define TIMEOUT_US (30 * USEC_PER_SEC)
/*
 * A watch may be silent: of an idle resource the API server sends no bookmark for minutes. But it
 * ends by itself when its time is over, and the server ends those without one within an hour; so
 * much later nobody is there. That the line is dead shows much sooner, by the probe or by TCP.
 */
#define WATCH_MOST_US    (3600 * USEC_PER_SEC)
#define WATCH_OVERDUE_US (30 * USEC_PER_SEC)

#define HEADERS_MOST 6 /* beside impersonated groups */

static const char *content_type(enum kube_verb verb)
{
	switch (verb) {
	case KUBE_APPLY:
		return "application/apply-patch+yaml";
	case KUBE_MERGE_PATCH:
		return "application/merge-patch+json";
	case KUBE_JSON_PATCH:
		return "application/json-patch+json";
	case KUBE_GET:
	case KUBE_LIST:
	case KUBE_STREAM:
	case KUBE_CREATE:
	case KUBE_UPDATE:
	case KUBE_DELETE:
		break;
	}
	return "application/json";
}

static const char *accept(const struct kube_call *call)
{
	if (!call->type->protobuf)
		return "application/json";
	if (call->verb == KUBE_STREAM)
		return "application/vnd.kubernetes.protobuf;stream=watch,application/json";
	return "application/vnd.kubernetes.protobuf,application/json";
}

static void add_header(struct http_header *headers, size_t *n, const char *name, const char *value)
{
	if (value)
		headers[(*n)++] = (struct http_header){.name = name, .value = value};
}

/* The headers of a request, borrowed from @call, @authorization and the client; to be released. */
static struct http_header *headers_of(const struct kube_client *client,
				      const struct kube_call *call, const char *authorization,
				      size_t *ret_len)
{
	const struct kube_config *config = client->config;
	struct http_header *headers =
		mem_alloc_array(HEADERS_MOST + config->n_as_groups, sizeof(*headers));
	size_t n = 0;

	add_header(headers, &n, "Accept", accept(call));
	add_header(headers, &n, "User-Agent", client->user_agent);
	if (call->body.len)
		add_header(headers, &n, "Content-Type", content_type(call->verb));
	add_header(headers, &n, "Impersonate-User", config->as);
	add_header(headers, &n, "Impersonate-Uid", config->as_uid);
	for (size_t i = 0; i < config->n_as_groups; i++)
		add_header(headers, &n, "Impersonate-Group", config->as_groups[i]);
	if (authorization)
		headers[n++] = (struct http_header){"Authorization", authorization, true};
	*ret_len = n;
	return headers;
}

/* The fence: the last question before a write's first byte. */
static bool call_may_send(void *context, int64_t now_us)
{
	const struct kube_call *call = context;
	const struct kube_client *client = call->client;

	return client->may_send && client->may_send(client->fence_context, now_us);
}

static int call_send(struct kube_call *call, const struct kube_identity *identity,
		     struct error *err)
{
	struct kube_client *client = call->client;
	CLEANUP(buf_clear) struct buf url;
	CLEANUP(mem_free) struct http_header *headers = NULL;
	struct http_handlers handlers = kube_call_handlers;
	struct http_request request = {
		.method = kube_verb_method(call->verb),
		.body = buf_str(&call->body),
		.may_send = call->fenced ? call_may_send : NULL,
		.fence_context = call,
	};

	buf_init(&url, LIMIT_HTTP_URL);
	buf_add_cstr(&url, client->config->server);
	buf_add_cstr(&url, call->path);
	if (url.overflowed)
		return error_set(err, ERROR_LIMIT, "URL of more than %d bytes", LIMIT_HTTP_URL);
	headers = headers_of(client, call, identity->authorization, &request.n_headers);
	request.url = url.data;
	request.headers = headers;
	if (call->verb == KUBE_STREAM)
		request.silence_us = call->silence_us;
	else
		request.timeout_us = MAX(call->due_us - loop_now(client->loop), USEC_PER_MSEC);
	handlers.context = call;
	call->serial = identity->serial;
	return http_send(call->pool->http, &request, &handlers, &call->http, err);
}

/* With credentials: onto a pool. Without: it stays among the waiting, or fails. */
static int dispatch(struct kube_call *call, struct error *err)
{
	struct kube_client *client = call->client;
	struct kube_identity identity;
	struct kube_pool *pool;

	switch (kube_credentials_get(client->credentials, &identity, err)) {
	case KUBE_CREDENTIALS_PENDING:
		loop_timer_set(&call->timer, call->due_us);
		return 0;
	case KUBE_CREDENTIALS_FAILED:
		return -1;
	case KUBE_CREDENTIALS_READY:
		break;
	}
	pool = kube_pool_get(client, call->channel, &identity, err);
	if (!pool)
		return -1;
	list_unlink(&call->entry);
	kube_pool_add(pool, call);
	if (call_send(call, &identity, err) < 0)
		return -1;
	/* http has its own deadline for all but streams, of which it knows only silence. */
	if (call->verb == KUBE_STREAM)
		loop_timer_set(&call->timer, call->due_us);
	else
		loop_timer_clear(&call->timer);
	return 0;
}

/* The least of what was asked for and what is allowed. */
static int64_t timeout_of(const struct kube_client *client, const struct kube_request *request)
{
	int64_t most_us = request->fenced ? client->fenced_timeout_us : 0;

	if (most_us > 0 && (request->timeout_us == 0 || request->timeout_us > most_us))
		return most_us;
	return request->timeout_us;
}

static void fail_later(struct kube_call *call, const struct error *err)
{
	call->stop = *err;
	loop_defer(&call->timer);
}

static void on_credentials(void *context)
{
	struct kube_client *client = context;
	struct error err = {0};

	list_for_each_safe(it, &client->waiting) {
		struct kube_call *call = container_of(it, struct kube_call, entry);

		if (call->stop.kind == ERROR_NONE && dispatch(call, &err) < 0)
			fail_later(call, &err);
	}
}

static int prepare(struct kube_call *call, const struct kube_request *request, struct error *err)
{
	CLEANUP(buf_clear) struct buf path;

	buf_init(&path, LIMIT_HTTP_URL);
	if (kube_request_path(request, &path, err) < 0)
		return -1;
	call->path = buf_take(&path);
	buf_init(&call->body, LIMIT_JSON_OUTPUT);
	if (!buf_add_str(&call->body, request->body))
		return error_set(err, ERROR_LIMIT, "body of more than %d bytes", LIMIT_JSON_OUTPUT);
	return 0;
}

struct kube_call *kube_send(struct kube_client *client, enum kube_channel channel,
			    const struct kube_request *request,
			    const struct kube_handlers *handlers)
{
	struct kube_call *call = mem_alloc(sizeof(*call));
	struct kube_request limited = *request;
	int64_t timeout_us;
	struct error err = {0};

	limited.timeout_us = timeout_us = timeout_of(client, request);
	if (timeout_us == 0 || request->verb == KUBE_STREAM)
		timeout_us = TIMEOUT_US;
	call->client = client;
	call->channel = channel;
	call->verb = request->verb;
	call->type = request->type;
	call->handlers = *handlers;
	call->fenced = request->fenced;
	call->silence_us =
		WATCH_OVERDUE_US +
		(request->watch_timeout_us > 0 ? request->watch_timeout_us : WATCH_MOST_US);
	call->begin_us = loop_now(client->loop);
	call->due_us = call->begin_us + timeout_us;
	loop_timer_init(&call->timer, client->loop, "kube call", kube_call_timer, call);
	list_append(&client->waiting, &call->entry);
	if (prepare(call, &limited, &err) < 0 || dispatch(call, &err) < 0)
		fail_later(call, &err);
	return call;
}

void kube_cancel(struct kube_call *call)
{
	kube_call_stop(call, ERROR_CANCELLED, "cancelled");
}

void kube_abandon(struct kube_call *call)
{
	if (!call)
		return;
	call->abandoned = true;
	kube_cancel(call);
}

void kube_client_set_fence(struct kube_client *client,
			   bool (*may_send)(void *context, int64_t now_us), void *context)
{
	client->may_send = may_send;
	client->fence_context = context;
}

void kube_client_limit_fenced(struct kube_client *client, int64_t timeout_us)
{
	client->fenced_timeout_us = timeout_us;
	if (!client->cutoff)
		client->cutoff = cutoff_new();
}

void kube_client_fence_at(struct kube_client *client, int64_t at_us)
{
	cutoff_set(client->cutoff, at_us);
}

/*
 * A cancelled request's RST_STREAM stays with libcurl 7.88 until something else is sent on the same
 * connection, which may be never: only a connection that closes tells the server for sure.
 */
void kube_client_fence(struct kube_client *client)
{
	static const char lost[] = "this replica does not lead any more";

	list_for_each_safe(it, &client->waiting) {
		struct kube_call *call = container_of(it, struct kube_call, entry);

		if (call->fenced)
			kube_call_stop(call, ERROR_FENCED, lost);
	}
	list_for_each(it, &client->pools) {
		struct kube_pool *pool = container_of(it, struct kube_pool, entry);

		http_pool_fence(pool->http);
		if (pool->channel == KUBE_WRITE)
			kube_pool_retire(pool, lost);
	}
	if (client->cutoff)
		cutoff_now(client->cutoff);
}

struct kube_client *kube_client_new(struct loop *loop, struct kube_config *config,
				    const struct kube_client_options *options)
{
	struct kube_client *client = mem_alloc(sizeof(*client));

	client->loop = loop;
	client->config = config;
	client->options = *options;
	client->user_agent = mem_strdup(options->user_agent ? options->user_agent : "gpuqos");
	client->options.user_agent = NULL;
	client->credentials = kube_credentials_new(loop, config);
	kube_credentials_on_change(client->credentials, on_credentials, client);
	random_init(&client->random, options->seed);
	list_init(&client->pools);
	list_init(&client->waiting);
	loop_timer_init(&client->reap_timer, loop, "kube pools", kube_pool_reap, client);
	return client;
}

static void cancel_waiting(struct kube_client *client)
{
	struct list *entry;

	while ((entry = list_first(&client->waiting))) {
		struct kube_call *call = container_of(entry, struct kube_call, entry);

		kube_cancel(call);
		kube_call_finish(call, NULL, &call->stop);
	}
}

/* Calls that could not be sent belong to a pool, and not to http. */
static void cancel_unsent(struct kube_pool *pool)
{
	list_for_each_safe(it, &pool->calls) {
		struct kube_call *call = container_of(it, struct kube_call, entry);

		if (!call->http)
			kube_call_finish(call, NULL, &call->stop);
	}
}

void kube_client_free(struct kube_client *client)
{
	if (!client)
		return;
	cancel_waiting(client);
	list_for_each_safe(it, &client->pools) {
		struct kube_pool *pool = container_of(it, struct kube_pool, entry);

		cancel_unsent(pool);
		kube_pool_free(pool);
	}
	loop_timer_clear(&client->reap_timer);
	cutoff_free(client->cutoff);
	kube_credentials_free(client->credentials);
	kube_config_free(client->config);
	mem_free(client->user_agent);
	mem_free(client);
}

const struct kube_config *kube_client_config(const struct kube_client *client)
{
	return client->config;
}

struct loop *kube_client_loop(const struct kube_client *client)
{
	return client->loop;
}
