/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_HTTP_SERVER_H
#define GPUQOS_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/macros.h"
#include "loop/loop.h"

/*
 * A small HTTP/1.1 server for pages that are made in one turn (/metrics, /healthz), and for calls
 * with a body over TLS from those who hold a certificate. Only whole, well-formed requests reach
 * the handler:
 *   - GET and HEAD without a body, and POST where the server has max_body: with exactly one
 * Content-Length of at most that (413, and no more of it is read), no Transfer-Encoding (501), no
 * Expect (417);
 *   - a head of at most LIMIT_SERVER_HEADERS (431), lines that end in CRLF; keep-alive; nothing
 * sent ahead of the answer (pipelining: 400, or the end once the handler has the request);
 *   - LIMIT_SERVER_REQUEST_US from the accept to the end of the TLS handshake; the same from the
 * first byte of a request, or without TLS from the accept, to the last byte of its answer;
 *   - at most LIMIT_SERVER_CONNECTIONS that are not authenticated: for another one the oldest is
 * dropped, without TLS the oldest idle first. With TLS, in a number of their own, at most
 * LIMIT_SERVER_CLIENTS that are: for another one the oldest idle is dropped, else the new one;
 *   - over all connections at most LIMIT_SERVER_BODIES bytes of bodies at a time, and nothing new
 * while more than LIMIT_SERVER_ANSWERS bytes of answers wait for their readers (503);
 *   - a few accepts a turn, and a pause between turns while there is no room left, so that each
 * connection has some time before a flood pushes it out;
 *   - TCP_NODELAY, since a header and a body written apart otherwise wait 40 ms for each other.
 *
 * With TLS (1.2 or later, no resumption) the client must show a certificate that the given CA has
 * signed; nobody else gets a byte of HTTP, not even an error page.
 */
struct http_server;
struct http_server_exchange;

enum http_server_method { HTTP_SERVER_GET, HTTP_SERVER_HEAD, HTTP_SERVER_POST };

struct http_server_request {
	enum http_server_method method;
	const char *path;                      /* decoded, without query; borrowed */
	const char *query;                     /* raw, may be NULL */
	struct str body;                       /* of a POST; borrowed until the handler returns */
	struct http_server_exchange *exchange; /* for http_later_new() */
};

struct http_server_reply {
	int status;               /* 200 by default */
	const char *content_type; /* static; "text/plain; charset=utf-8" by default */
	bool close;               /* the connection, after it: a client may find another server */
	struct buf body;          /* initialised with the page limit; released by the server */
};

/* Fills @reply, whose body has room for LIMIT_METRICS_PAGE; an overflow becomes 500. */
typedef void (*http_handle_fn)(void *context, const struct http_server_request *request,
			       struct http_server_reply *reply);

/*
 * An answer that comes in a later turn. A handler that has made one leaves its @reply alone. It is
 * owned by who made it, and ended once, by http_later_send() or http_later_free(), whatever has
 * become of the connection and the server: a client that has gone is not told. A request that has
 * no answer after LIMIT_SERVER_LATER_US is closed.
 */
struct http_later;

/* Once, from inside the handler. */
struct http_later *http_later_new(const struct http_server_request *request);
/* To be filled in. Borrowed until the end of @later. */
struct http_server_reply *http_later_reply(struct http_later *later);
/* The client has closed the connection, or its side of it: hardly anybody waits for the answer. */
bool http_later_is_left(const struct http_later *later);
void http_later_send(struct http_later *later);
/* Without an answer: the connection is closed. NULL is accepted. */
void http_later_free(struct http_later *later);

/*
 * Files in PEM, each at most LIMIT_CERTIFICATE: the server's certificate with what it is signed by,
 * its key (not encrypted; ECDSA, since each handshake with RSA takes many times as long), and the
 * CAs of clients. They are looked at every reread_us (0: LIMIT_SERVER_REREAD_US) and read again
 * when one has changed; new connections get what was read last. What cannot be used leaves the last
 * in force.
 */
struct http_server_tls {
	const char *cert_file, *key_file, *client_ca_file;
	int64_t reread_us;
	/* After every reading but the first: NULL, or why it is not used. May be NULL. */
	void (*reread)(void *context, const struct error *err);
};

struct http_server_options {
	const char *address; /* "127.0.0.1:8080", "[::1]:0", ":8080" (all interfaces). Port 0: any
			      */
	http_handle_fn handle;
	void *context;                     /* of handle and reread */
	size_t max_body;                   /* 0: no POST */
	const struct http_server_tls *tls; /* or NULL; copied, with its names */
};

/* UNAVAILABLE when the address cannot be bound; INVALID, NOT_FOUND or LIMIT when the files are of
 * no use. */
int http_server_new(struct loop *loop, const struct http_server_options *options,
		    struct http_server **ret_server, struct error *err);
/* Closes all connections. Not from inside the handler. */
void http_server_free(struct http_server *server);
uint16_t http_server_port(const struct http_server *server);

/* Now, and since the begin. */
struct http_server_counts {
	size_t connections;    /* now, all of them */
	size_t authenticated;  /* of these, those whose handshake is over (TLS) */
	uint64_t accepted;     /* connections */
	uint64_t dropped;      /* pushed out by newer ones */
	uint64_t unauthorized; /* handshakes that failed */
	uint64_t late;         /* closed since a deadline passed, idle ones not counted */
	uint64_t refused;      /* requests that did not reach the handler */
	uint64_t answered;
};

struct http_server_counts http_server_counts(const struct http_server *server);

DEFINE_CLEANUP(struct http_server *, http_server_free)
DEFINE_CLEANUP(struct http_later *, http_later_free)

#endif
