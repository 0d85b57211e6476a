/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_HTTP_SERVER_INTERNAL_H
#define GPUQOS_HTTP_SERVER_INTERNAL_H

#include <event2/bufferevent.h>
#include <openssl/ssl.h>

#include "base/list.h"
#include "http/guard.h"
#include "http/server.h"

/* What the files of the server share. */

struct server_tls;

struct http_server {
	struct loop *loop;
	int fd; /* that listens, or -1 */
	struct loop_fd *listener;
	struct loop_timer accept_again;
	uint16_t port;
	http_handle_fn handle;
	void *context;
	size_t max_body;
	struct server_tls *tls; /* NULL without TLS */
	/* Of connections; the oldest accept, or change to idle, first. */
	struct list strangers; /* without TLS, or before the end of the handshake */
	struct list clients;
	size_t n_strangers;
	size_t bodies, answers; /* bytes of requests that are read, of answers that are written */
	struct http_server_counts counts;
};

enum connection_state {
	CONNECTION_HANDSHAKE,
	CONNECTION_HEAD,    /* from the accept or the first byte of a request on */
	CONNECTION_BODY,    /* the head is whole and good */
	CONNECTION_BUSY,    /* the handler has the request, or who makes its answer later */
	CONNECTION_WRITING, /* the answer is queued */
	CONNECTION_IDLE,    /* between two requests */
	CONNECTION_REFUSED, /* was told why, and is read on a little so that it can read it */
};

struct connection {
	struct list link;
	struct http_server *server;
	struct bufferevent *bev;
	SSL *ssl; /* of bev, NULL without TLS */
	enum connection_state state;
	bool authenticated;
	struct loop_timer timer;
	struct buf head_bytes, body;
	struct guard_head head;   /* borrowed from head_bytes */
	struct http_later *later; /* NULL, or who has the request */
	size_t body_room;         /* its part of server->bodies */
	size_t answer_length;     /* its part of server->answers */
	size_t discarded;         /* bytes read since it was refused */
	bool close;               /* after the answer */
	bool ended;               /* the client sends nothing more */
};

/* connection.c: takes @fd. May push out another connection. */
void connection_new(struct http_server *server, int fd);
void connection_free(struct connection *conn);
/* Its answer is queued: it has that long to read it. */
void connection_writing(struct connection *conn);
/* In a turn of its own. */
void connection_close_soon(struct connection *conn);
/* From now on the answer is made in a later turn. */
void connection_wait(struct connection *conn);

/* server_answer.c: a whole request to the handler, and what it says to the connection. */
void answer_request(struct connection *conn);
void answer_refusal(struct connection *conn, int status);
/* The connection has gone. */
void answer_forget(struct http_later *later);

/* server_tls.c */
int server_tls_new(struct loop *loop, const struct http_server_options *options,
		   struct server_tls **ret_tls, struct error *err);
void server_tls_free(struct server_tls *tls);
/* A new handshake with what was read last; owned by the caller. */
SSL *server_tls_begin(struct server_tls *tls);
/* Whether the handshake of @ssl, which is over, has shown a good certificate. */
bool server_tls_is_authenticated(SSL *ssl);

#endif
