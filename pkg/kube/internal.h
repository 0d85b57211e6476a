/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_KUBE_INTERNAL_H
#define GPUQOS_KUBE_INTERNAL_H

#include "base/list.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/credentials.h"

/*
 * How the client is made. A call waits for credentials, then belongs to the pool it was sent on,
 * then is finished; a pool is the connections of one channel under one set of TLS credentials.
 *
 *   client.c  what is sent: the public functions, headers, the wait for credentials
 *   call.c    what comes back: framing, errors, the end
 *   pool.c    which connections: rotation, and probes that find dead ones
 */
struct kube_pool {
	struct list entry; /* in client->pools */
	struct kube_client *client;
	enum kube_channel channel;
	struct http_pool *http;
	uint64_t generation; /* of the credentials */
	struct list calls;
	int64_t heard_us; /* monotonic: when the server last sent anything */
	/* NULL, or why no new request goes here and streams end; freed after the last call. Static.
	 */
	const char *retired;

	/* Of the watch channel, over HTTP/2. */
	struct loop_timer probe_timer;
	struct http_call *probe;
	int64_t probe_sent_us;
	bool missed; /* the last probe got no answer, yet something else came meanwhile */
};

struct kube_client {
	struct loop *loop;
	struct kube_config *config;
	struct kube_credentials *credentials;
	char *user_agent;
	struct kube_client_options options; /* but for the user agent */
	bool (*may_send)(void *context, int64_t now_us);
	void *fence_context;
	int64_t fenced_timeout_us; /* 0: no limit */
	struct cutoff *cutoff;     /* of the write channel; NULL where nobody leads by a lease */
	struct random random;
	struct list pools;
	struct kube_pool *current[KUBE_CHANNEL_COUNT];
	struct list waiting; /* calls without a pool */
	struct loop_timer reap_timer;
};

struct kube_call {
	struct list entry; /* in client->waiting or pool->calls */
	struct kube_client *client;
	enum kube_channel channel;
	enum kube_verb verb;
	const struct api_type *type;
	struct kube_handlers handlers;
	char *path;      /* with query; NULL where it could not be built */
	struct buf body; /* of the request */
	bool fenced, abandoned;
	int64_t silence_us;       /* of a STREAM: without a byte for so long it is over */
	int64_t begin_us, due_us; /* due_us: TIME_NEVER for a STREAM with headers */
	struct loop_timer timer;
	struct error stop; /* of a kind when the call must end: wins over what http says */

	struct kube_pool *pool;
	struct http_call *http;
	uint64_t serial; /* of the credentials */
	int status;
	bool protobuf;
	struct framer *framer; /* of a LIST or STREAM that succeeded */
	struct buf answer;
};

/* call.c */
const char *kube_verb_method(enum kube_verb verb);
extern const struct http_handlers kube_call_handlers; /* without the context */
/* Ends the call with an error, in a later turn. The first reason counts. */
void kube_call_stop(struct kube_call *call, enum error_kind kind, const char *why);
/* Unlinks, tells the owner, frees. @response NULL: it was never sent. */
void kube_call_finish(struct kube_call *call, const struct http_response *response,
		      const struct error *err);
/* The call's timer: it waited too long, or something has stopped it. */
void kube_call_timer(void *context);

/* pool.c */
/* The pool for new requests of @channel; retires all of other credentials. NULL with @err. */
struct kube_pool *kube_pool_get(struct kube_client *client, enum kube_channel channel,
				const struct kube_identity *identity, struct error *err);
void kube_pool_add(struct kube_pool *pool, struct kube_call *call);
void kube_pool_remove(struct kube_pool *pool, struct kube_call *call);
/* Something came: the connection lives. */
void kube_pool_heard(struct kube_pool *pool);
/* A stream over HTTP/2 is open: its connection is probed from now on. */
void kube_pool_watch(struct kube_pool *pool);
/* A request that began at @begin_us had no answer in time: connections that were silent since then
 * are not trusted with another. */
void kube_pool_suspect(struct kube_pool *pool, int64_t begin_us);
/* Takes no new request; its connections are closed as soon as its last one is over. */
void kube_pool_retire(struct kube_pool *pool, const char *why);
void kube_pool_free(struct kube_pool *pool);
/* Frees retired pools that nobody uses; the context is the client. */
void kube_pool_reap(void *context);

#endif
