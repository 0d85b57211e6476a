/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_HTTP_SERVER_H
#define GPUQOS_HTTP_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macros.h"
#include "loop/loop.h"

/*
 * A small HTTP/1.1 server (evhttp) for pages that are made in one turn: /metrics, /healthz,
 * /readyz. evhttp has no limits of its own, so a guard stands before it, which lets only whole,
 * well-formed request heads through:
 *   - GET and HEAD only, keep-alive, no bodies (413), nothing sent ahead of the answer
 * (pipelining);
 *   - a head of at most LIMIT_SERVER_HEADERS (431), lines that end in CRLF, one Content-Length of 0
 * at most, no Transfer-Encoding;
 *   - LIMIT_SERVER_REQUEST_US from the first byte of a request, or from the accept, to the last
 * byte of its answer;
 *   - at most LIMIT_SERVER_CONNECTIONS; for another one the oldest idle is dropped, else the
 * oldest;
 *   - TCP_NODELAY, since a header and a body written apart otherwise wait 40 ms for each other.
 */
struct http_server;

struct http_server_request {
	const char *path;  /* decoded, without query; borrowed */
	const char *query; /* raw, may be NULL */
};

struct http_server_reply {
	int status;               /* 200 by default */
	const char *content_type; /* static; "text/plain; charset=utf-8" by default */
	struct buf body;          /* initialised with the page limit; released by the server */
};

/* Fills @reply, whose body has room for LIMIT_METRICS_PAGE; an overflow becomes 500. */
typedef void (*http_handle_fn)(void *context, const struct http_server_request *request,
			       struct http_server_reply *reply);

/* @address: "127.0.0.1:8080", "[::1]:0", ":8080" (all interfaces). Port 0 picks one. UNAVAILABLE
 * when it cannot be bound. */
int http_server_new(struct loop *loop, const char *address, http_handle_fn handle, void *context,
		    struct http_server **ret_server, struct error *err);
/* Closes all connections. Not from inside the handler. */
void http_server_free(struct http_server *server);
size_t http_server_connections(const struct http_server *server);
uint16_t http_server_port(const struct http_server *server);
DEFINE_CLEANUP(struct http_server *, http_server_free)

#endif
