/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_HTTP_SERVER_H
#define GPUQOS_HTTP_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"
#include "loop/loop.h"

/*
 * A small HTTP/1.1 server (evhttp) for pages that are made in one turn: /metrics, /healthz,
 * /readyz. evhttp has no limits of its own, so the guard of this file gives it some: TCP_NODELAY,
 * at most LIMIT_SERVER_CONNECTIONS connections with the oldest idle one dropped first,
 * LIMIT_SERVER_REQUEST_US for a whole request, header and body caps, GET and HEAD only, keep-alive.
 * Duplicate or malformed Content-Length and any Transfer-Encoding are refused.
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

typedef void (*http_handle_fn)(void *context, const struct http_server_request *request,
			       struct http_server_reply *reply);

/* @address: "127.0.0.1:8080", "[::1]:0", ":8080" (all interfaces). Port 0 picks one. UNAVAILABLE
 * when it cannot be bound. */
int http_server_new(struct loop *loop, const char *address, http_handle_fn handle, void *context,
		    struct http_server **ret_server, struct error *err);
void http_server_free(struct http_server *server);
uint16_t http_server_port(const struct http_server *server);
DEFINE_CLEANUP(struct http_server *, http_server_free)

#endif
