/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_HTTP_CLIENT_H
#define GPUQOS_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "loop/loop.h"

/*
 * HTTP requests over libcurl on the event loop: HTTP/2 where the server speaks it, kept-alive
 * connections, one pool per channel so that a small request never waits behind a big body. Bodies
 * are handed on as they arrive; nothing here buffers a response. Every request has a deadline.
 * Receive buffers are small (2 KiB on the watch channel) to keep turns short; transfers are never
 * paused.
 *
 * Only this package includes curl's and OpenSSL's headers.
 */

/* Credentials of a connection, as bytes in memory. All borrowed for the call of http_pool_new(),
 * which copies what it needs. */
struct http_tls {
	struct str ca_pem;            /* empty: the system's */
	struct str cert_pem, key_pem; /* client certificate; both or none */
	struct str server_name;       /* SNI and verification; empty: the URL's host */
	bool insecure;                /* a kubeconfig's insecure-skip-tls-verify and nothing else */
};

struct http_pool_options {
	const char *name; /* for metrics and turn names: "lease", "write", "watch"; static */
	struct http_tls tls;
	const char *proxy_url; /* http, https, socks5; NULL: none, the environment is not read */
	int64_t connect_timeout_us; /* TCP and TLS */
	size_t receive_buffer; /* of streams: bytes, 1 KiB to 512 KiB; 0 for 16 KiB. Whole answers
				  take at least 32 KiB */
	bool http1_only;
	/* Where to connect instead of the URL's host; a path; NULL: there. HTTP/2 from the first
	 * byte, without TLS, as gRPC speaks it locally, each request on a connection of its own;
	 * the URL is then an http one. */
	const char *unix_socket;
	struct cutoff *cutoff; /* of all its sockets; borrowed for life; NULL: none */
};

struct http_pool;

int http_pool_new(struct loop *loop, const struct http_pool_options *options,
		  struct http_pool **ret_pool, struct error *err);
/*
 * Cancels what is under way and closes the connections: each on_done is called with CANCELLED
 * before this returns, and no handler afterwards. Allowed inside handlers.
 */
void http_pool_free(struct http_pool *pool);

struct http_header {
	const char *name;
	const char *value; /* wiped after use when `secret` */
	bool secret;
};

struct http_request {
	const char *method; /* "GET", "POST", "PUT", "PATCH", "DELETE" */
	const char *url;    /* http or https; nothing else is ever followed, redirects are not */
	const struct http_header *headers;
	size_t n_headers;
	struct str body;    /* copied; empty for none */
	int64_t timeout_us; /* from http_send() to the last byte; 0 for a stream, which then needs
			       silence_us */
	int64_t silence_us; /* no byte for this long is TIMEOUT; 0: not watched */
	/*
	 * The fence: asked when a connection is ready and the request is about to go out, at the
	 * last moment before its first byte, with the clock read then. False ends it with FENCED.
	 * NULL: always. Asked again when libcurl repeats a request because the server had closed a
	 * kept-alive connection before it answered anything. `sent_us` of the response is the time
	 * of the last question.
	 */
	bool (*may_send)(void *context, int64_t now_us);
	void *fence_context;
};

struct http_response {
	int status;              /* 100 to 599 */
	struct str content_type; /* without parameters, lower case; borrowed for the callback */
	int64_t retry_after_us;  /* of Retry-After in seconds, else 0 */
	int64_t sent_us;         /* monotonic */
	bool http2;
	int grpc_status;         /* of gRPC, behind the body as well; -1: not told */
	struct str grpc_message; /* as it was sent; borrowed for the callback */
};

struct http_handlers {
	/* The headers are complete. Non-zero (with @err) ends the request. May be NULL. */
	int (*on_headers)(void *context, const struct http_response *response, struct error *err);
	/* Body bytes, borrowed. Non-zero (with @err) ends the request. May be NULL. */
	int (*on_body)(void *context, struct str bytes, struct error *err);
	/*
	 * The last call, exactly once, never from inside http_send() or http_cancel(). @err is NULL
	 * when an answer came whole, of whatever status; else UNAVAILABLE, TIMEOUT, FENCED, LIMIT,
	 * CANCELLED, or what a handler returned, with method, host and path in its message.
	 * @response->status is 0 when no headers came.
	 */
	void (*on_done)(void *context, const struct http_response *response,
			const struct error *err);
	void *context;
};

struct http_call; /* borrowed from the pool until on_done */

/*
 * The request is copied and goes out in a later turn. LIMIT when LIMIT_HTTP_INFLIGHT is reached,
 * INVALID for a bad URL, method or header, or a request without any time limit. @ret_call may be
 * NULL.
 */
int http_send(struct http_pool *pool, const struct http_request *request,
	      const struct http_handlers *handlers, struct http_call **ret_call, struct error *err);
/*
 * No other handler is called from here on; on_done comes with CANCELLED once the callback that
 * cancels is over. Nothing when @call has failed already or is NULL.
 */
void http_cancel(struct http_call *call);

/* Ends, with FENCED, every request of this pool that has a fence: the lease is lost. Requests
 * without one go on. */
void http_pool_fence(struct http_pool *pool);

size_t http_pool_inflight(const struct http_pool *pool);
DEFINE_CLEANUP(struct http_pool *, http_pool_free)

/*
 * Once, before anything else of this package and before threads: aborting allocators, library
 * initialisation. More calls do nothing.
 */
void http_library_init(void);

/*
 * The notBefore and notAfter of the first certificate in a PEM text, in real µs, and whether the
 * PEM can be read and the key fits it. For checking credentials before they are used, with an error
 * that names what is wrong.
 */
int http_certificate_check(struct str cert_pem, struct str key_pem, int64_t *ret_not_before_us,
			   int64_t *ret_not_after_us, struct error *err);

#endif
