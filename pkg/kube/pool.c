/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which connections a request travels on. Credentials of TLS belong to a connection, so new ones
 * mean a new pool: old requests end on the old pool, old streams are ended one by one, spread so
 * that they do not all connect at once.
 *
 * A connection can die without a word (a host that vanished, a NAT that forgot it). Over HTTP/2
 * many requests share it, and each would wait for its own time-out: a request that heard nothing
 * for its whole time takes its pool out of use, and while a stream is open a small GET looks after
 * the connection every 15 s. Over HTTP/1.1 each stream has a connection of its own, that no other
 * request can look after: there TCP's keep-alive finds a host that is gone (pkg/http), and only the
 * time of the watch one that holds the line and says nothing.
 */
#include "base/mem.h"
#include "kube/internal.h"

#define PROBE_EVERY_US   (15 * USEC_PER_SEC)
#define PROBE_TIMEOUT_US (10 * USEC_PER_SEC)
#define DRAIN_US         (10 * USEC_PER_SEC)

static const struct {
	const char *name, *probe_name;
	size_t receive_buffer; /* small where it would stretch a turn */
} channels[KUBE_CHANNEL_COUNT] = {
	[KUBE_LEASE] = {"lease", "lease probe", 4 * 1024},
	[KUBE_WRITE] = {"write", "write probe", 16 * 1024},
	[KUBE_WATCH] = {"watch", "watch probe", 2 * 1024},
};

static const char credentials_replaced[] = "the credentials were replaced: connect again";

static void send_probe(struct kube_pool *pool);

static bool is_open_stream(const struct kube_call *call)
{
	return call->verb == KUBE_STREAM && call->due_us == TIME_NEVER;
}

void kube_pool_retire(struct kube_pool *pool, const char *why)
{
	struct kube_client *client = pool->client;

	if (pool->retired)
		return;
	pool->retired = why;
	if (client->current[pool->channel] == pool)
		client->current[pool->channel] = NULL;
	loop_timer_clear(&pool->probe_timer);
	if (pool->probe)
		http_cancel(pool->probe);
	loop_defer(&client->reap_timer);
}

static void retire_gently(struct kube_pool *pool, const char *why)
{
	struct kube_client *client = pool->client;

	if (pool->retired)
		return;
	kube_pool_retire(pool, why);
	list_for_each(it, &pool->calls) {
		struct kube_call *call = container_of(it, struct kube_call, entry);
		int64_t wait_us = (int64_t)random_below(&client->random, DRAIN_US);

		if (is_open_stream(call) && call->stop.kind == ERROR_NONE)
			loop_timer_set(&call->timer, loop_now(client->loop) + wait_us);
	}
}

/* Nothing comes any more: what is under way will not end by itself. */
static void give_up(struct kube_pool *pool, const char *why)
{
	kube_pool_retire(pool, why);
	list_for_each(it, &pool->calls)
		kube_call_stop(container_of(it, struct kube_call, entry), ERROR_UNAVAILABLE, why);
}

static void on_probe_done(void *context, const struct http_response *response,
			  const struct error *err)
{
	struct kube_pool *pool = context;
	bool is_answered = response->status != 0;
	bool is_heard = pool->heard_us > pool->probe_sent_us;

	pool->probe = NULL;
	if (pool->retired) {
		loop_defer(&pool->client->reap_timer);
		return;
	}
	if (is_answered || (err && err->kind == ERROR_CANCELLED)) {
		pool->missed = false;
		loop_timer_set(&pool->probe_timer, loop_now(pool->client->loop) + PROBE_EVERY_US);
	} else if (is_heard && !pool->missed) {
		/* It may have stood behind a long list: once more, at once. */
		pool->missed = true;
		send_probe(pool);
	} else {
		give_up(pool, "the connection is dead: the API server did not answer a probe");
	}
}

static int request_probe(struct kube_pool *pool, const char *authorization)
{
	struct kube_client *client = pool->client;
	const struct http_header headers[] = {
		{"User-Agent", client->user_agent, false},
		{"Authorization", authorization, true},
	};
	const struct http_handlers handlers = {.on_done = on_probe_done, .context = pool};
	struct buf url;
	int r;

	buf_init(&url, LIMIT_HTTP_URL);
	buf_printf(&url, "%s/version", client->config->server);
	r = http_send(pool->http,
		      &(struct http_request){
			      .method = "GET",
			      .url = url.data,
			      .headers = headers,
			      .n_headers = authorization ? 2 : 1,
			      .timeout_us = PROBE_TIMEOUT_US,
		      },
		      &handlers, &pool->probe, NULL);
	buf_clear(&url);
	return r;
}

/* Also what notices new credentials where nothing is sent for long. */
static void send_probe(struct kube_pool *pool)
{
	struct kube_identity identity = {.generation = pool->generation};

	/* Without a token the answer is 401, and as good. */
	kube_credentials_get(pool->client->credentials, &identity, NULL);
	if (identity.generation != pool->generation) {
		retire_gently(pool, credentials_replaced);
		return;
	}
	pool->probe_sent_us = loop_now(pool->client->loop);
	if (request_probe(pool, identity.authorization))
		loop_timer_set(&pool->probe_timer, pool->probe_sent_us + PROBE_EVERY_US);
}

static void on_probe_timer(void *context)
{
	struct kube_pool *pool = context;

	list_for_each(it, &pool->calls) {
		if (is_open_stream(container_of(it, struct kube_call, entry))) {
			send_probe(pool);
			return;
		}
	}
}

void kube_pool_watch(struct kube_pool *pool)
{
	if (pool->retired || pool->probe || loop_timer_armed(&pool->probe_timer))
		return;
	loop_timer_set(&pool->probe_timer, loop_now(pool->client->loop) + PROBE_EVERY_US);
}

void kube_pool_heard(struct kube_pool *pool)
{
	pool->heard_us = loop_now(pool->client->loop);
}

void kube_pool_suspect(struct kube_pool *pool, int64_t begin_us)
{
	if (pool->heard_us < begin_us)
		retire_gently(pool, "a request on the same connection had no answer in time");
}

void kube_pool_add(struct kube_pool *pool, struct kube_call *call)
{
	call->pool = pool;
	list_append(&pool->calls, &call->entry);
}

void kube_pool_remove(struct kube_pool *pool, struct kube_call *call)
{
	list_unlink(&call->entry);
	call->pool = NULL;
	if (pool->retired)
		loop_defer(&pool->client->reap_timer);
}

void kube_pool_free(struct kube_pool *pool)
{
	/* Its calls finish within, and unlink themselves. */
	http_pool_free(pool->http);
	loop_timer_clear(&pool->probe_timer);
	list_unlink(&pool->entry);
	mem_free(pool);
}

void kube_pool_reap(void *context)
{
	struct kube_client *client = context;

	list_for_each_safe(it, &client->pools) {
		struct kube_pool *pool = container_of(it, struct kube_pool, entry);

		if (pool->retired && list_empty(&pool->calls) && !pool->probe)
			kube_pool_free(pool);
	}
}

static struct kube_pool *pool_new(struct kube_client *client, enum kube_channel channel,
				  const struct kube_identity *identity, struct error *err)
{
	struct kube_pool *pool = mem_alloc(sizeof(*pool));
	const struct http_pool_options options = {
		.name = channels[channel].name,
		.tls = identity->tls,
		.proxy_url = client->config->proxy_url,
		.connect_timeout_us = 10 * USEC_PER_SEC,
		.receive_buffer = channels[channel].receive_buffer,
		.cutoff = channel == KUBE_WRITE ? client->cutoff : NULL,
	};

	if (http_pool_new(client->loop, &options, &pool->http, err) < 0) {
		mem_free(pool);
		return NULL;
	}
	pool->client = client;
	pool->channel = channel;
	pool->generation = identity->generation;
	list_init(&pool->calls);
	loop_timer_init(&pool->probe_timer, client->loop, channels[channel].probe_name,
			on_probe_timer, pool);
	list_append(&client->pools, &pool->entry);
	return pool;
}

struct kube_pool *kube_pool_get(struct kube_client *client, enum kube_channel channel,
				const struct kube_identity *identity, struct error *err)
{
	list_for_each(it, &client->pools) {
		struct kube_pool *pool = container_of(it, struct kube_pool, entry);

		if (pool->generation != identity->generation)
			retire_gently(pool, credentials_replaced);
	}
	if (!client->current[channel])
		client->current[channel] = pool_new(client, channel, identity, err);
	return client->current[channel];
}
