/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_HTTP_SERVER_INTERNAL_H
#define GPUQOS_HTTP_SERVER_INTERNAL_H

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "base/list.h"
#include "http/server.h"

/* What the server and its guard share. */

/* The state of a connection, as the guard sees it. */
enum guard_state {
	GUARD_READING, /* the head of a request, from the accept or its first byte on */
	GUARD_BUSY,    /* evhttp has the request and its answer is not written yet */
	GUARD_IDLE,    /* between two requests */
	GUARD_REFUSED, /* was told why, and is read to its end so that it can read it */
};

struct guard {
	struct http_server *server;
	struct list connections; /* oldest change to idle, or accept, first */
	size_t count;
};

struct http_server {
	struct list link;
	struct loop *loop;
	struct evhttp *http;
	struct evconnlistener *listener; /* owned by http */
	struct loop_timer accept_again;
	uint16_t port;
	http_handle_fn handle;
	void *context;
	struct guard guard;
};

/* Puts the guard before all connections of server->http. */
void guard_init(struct guard *guard, struct http_server *server);
/* After evhttp_free(). */
void guard_clear(struct guard *guard);
/* The answer to @request is written: its connection is idle. For
 * evhttp_request_set_on_complete_cb(). */
void guard_complete(struct evhttp_request *request, void *context);

#endif
