/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_KUBE_CLIENT_H
#define GPUQOS_KUBE_CLIENT_H

#include "api/type.h"
#include "base/buf.h"
#include "codec/frame.h"
#include "http/client.h"
#include "kube/config.h"

/*
 * Requests to a Kubernetes API server. Three channels, each with connections of its own: a Lease
 * renewal never waits behind a list, a write never behind a watch. One try per request: what to do
 * after a failure is decided by who asked (the work queue, the watch and the lease machine each
 * have their back-off), from the typed error and its retry_after_us.
 *
 * Reads of built-in types ask for protobuf, of ours for JSON; all writes send JSON. A non-2xx
 * answer becomes an error whose kind comes from the HTTP status and the Status object's reason, and
 * whose message is "METHOD path: server's message".
 */
struct kube_client;

enum kube_channel { KUBE_LEASE, KUBE_WRITE, KUBE_WATCH, KUBE_CHANNEL_COUNT };
enum kube_verb {
	KUBE_GET,
	KUBE_LIST,
	KUBE_STREAM,
	KUBE_CREATE,
	KUBE_UPDATE,
	KUBE_APPLY,
	KUBE_MERGE_PATCH,
	KUBE_JSON_PATCH,
	KUBE_DELETE
};

struct kube_request {
	enum kube_verb verb;
	const struct api_type *type;
	/* name: empty for LIST, STREAM, and a CREATE that is of no subresource */
	struct str namespace, name;
	const char *subresource; /* "status", "eviction", ...; NULL for none */
	struct str body;         /* JSON; copied */
	int64_t timeout_us;      /* 0: 30 s; ignored for STREAM */
	bool fenced;             /* a write that needs the lease */
	/* Of a write; static. NULL: API_FIELD_MANAGER, the controller's */
	const char *field_manager;

	/* LIST and STREAM (a watch) */
	struct str label_selector, field_selector, resource_version, continue_token;
	uint32_t limit;           /* of LIST, 0 for none */
	int64_t watch_timeout_us; /* of STREAM: asked of the server */
	bool send_initial_events;
};

struct kube_answer {
	int status;      /* 2xx */
	struct str body; /* protobuf envelope or JSON; at most LIMIT_HTTP_BODY; empty for LIST and
			    STREAM, whose parts came before */
	bool protobuf;
	int64_t sent_us; /* monotonic: when the request left */
};

struct kube_handlers {
	/* STREAM: the server takes it, and what it has to say comes next. May be NULL. */
	void (*on_open)(void *context);
	/* LIST and STREAM: each item, event or list metadata as it arrives. Non-zero ends the call
	 * with @err. */
	int (*on_part)(void *context, enum frame_part part, struct str bytes, bool protobuf,
		       struct error *err);
	/* Exactly once, never from inside kube_send(); @err NULL: @answer is set. A STREAM that the
	 * server ended is no error. */
	void (*on_done)(void *context, const struct kube_answer *answer, const struct error *err);
	void *context;
};

struct kube_client_options {
	const char *user_agent;
	/* Told of each finished request, for metrics: verb text ("GET", "APPLY", "WATCH"),
	 * resource, HTTP status or 0. May be NULL. */
	void (*on_request)(void *context, const char *verb, const struct api_type *type, int status,
			   int64_t took_us);
	void *context;
	uint64_t seed; /* spreads reconnects after credentials changed */
};

/* @config is taken. */
struct kube_client *kube_client_new(struct loop *loop, struct kube_config *config,
				    const struct kube_client_options *options);
/* Cancels what is under way: handlers get CANCELLED and must not send again. Not from a handler. */
void kube_client_free(struct kube_client *client);

struct kube_call; /* borrowed until on_done */

/* Never fails directly: a bad request, missing credentials or a full channel come through on_done.
 */
struct kube_call *kube_send(struct kube_client *client, enum kube_channel channel,
			    const struct kube_request *request,
			    const struct kube_handlers *handlers);
void kube_cancel(struct kube_call *call); /* on_done comes with CANCELLED */
/* As kube_cancel(), and no handler is called any more: for an owner that is going away. Accepts
 * NULL. */
void kube_abandon(struct kube_call *call);

/* Asked at the last moment before the first byte of each fenced request. @may_send NULL: nothing
 * fenced is ever sent. */
void kube_client_set_fence(struct kube_client *client,
			   bool (*may_send)(void *context, int64_t now_us), void *context);
/* For who leads by a lease, before the first request. No fenced request lasts longer than this,
 * here and at the server: what an old leader sent must be over when a new one begins. */
void kube_client_limit_fenced(struct kube_client *client, int64_t timeout_us);
/* And until when the lease holds, in monotonic µs, each time that is known anew: nothing leaves the
 * write channel after it, whatever was asked before (loop/cutoff.h). */
void kube_client_fence_at(struct kube_client *client, int64_t at_us);
/* The lease is lost: ends every fenced request under way with FENCED, and closes the connections of
 * the write channel, so that the server gives up what it has not done yet. */
void kube_client_fence(struct kube_client *client);

/* Builds the path and query of a request; for tests and messages. INVALID for names that are no
 * path segments. */
int kube_request_path(const struct kube_request *request, struct buf *ret_path, struct error *err);
/* The typed error of a non-2xx answer: Status object in JSON or protobuf, or plain text. */
void kube_status_error(int status, struct str body, bool protobuf, int64_t retry_after_us,
		       struct error *ret_err);
/* The same from a Status that was decoded already: the object of a watch's ERROR event. */
struct wire_status;
void kube_status_fill_error(const struct wire_status *status, struct error *ret_err);

const struct kube_config *kube_client_config(const struct kube_client *client);
struct loop *kube_client_loop(const struct kube_client *client);
DEFINE_CLEANUP(struct kube_client *, kube_client_free)

#endif
