/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_HTTP_FIXTURE_H
#define GPUQOS_TESTS_HTTP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "http/client.h"

/*
 * What the tests of the client share: certificates in a folder of their own, real servers as
 * children that die with the test, a loop with a pool, and replies that are collected.
 */
#define PATIENCE_US (20 * USEC_PER_SEC)
#define REPLY_MAX   (4 * 1024 * 1024)

/* For cmocka_run_group_tests(): library, folder and certificates. */
int group_setup(void **state);
int group_teardown(void **state);

/* Borrowed until the group ends. "ca.pem" and so on. */
const char *file_path(const char *name);
struct str file_text(const char *name);

struct server {
	pid_t pid;
	uint16_t port;
};

/* tests/unit/http/server.py; with TLS when @tls, asking for a client certificate when @client_ca.
 */
struct server start_http1(bool tls, const char *client_ca);
/* nghttpd with TLS, 100 streams a connection, its log in file "nghttpd.log"; serves the folder. */
struct server start_http2(void);
void stop_server(struct server *server);

struct world {
	struct loop *loop;
	struct server server;
	struct http_pool *pool;
	char url[256]; /* of the last url() */
};

struct http_pool_options default_options(void);
void world_init(struct world *w, struct server server, const struct http_pool_options *options);
void world_clear(struct world *w);
/* scheme://127.0.0.1:port/path, borrowed until the next call */
const char *url(struct world *w, const char *scheme, const char *path);

struct reply {
	struct world *world;
	struct buf body;
	struct http_response response; /* content_type points into type */
	char type[128];
	struct error error;
	int headers, bodies, done; /* how often each handler was called */
};

void reply_init(struct reply *reply, struct world *w);
void reply_clear(struct reply *reply);
struct http_handlers reply_handlers(struct reply *reply);
struct http_request get_request(const char *address);

/* http_send() with reply's handlers; fails the test when it is refused. */
struct http_call *send_to(struct world *w, const struct http_request *request, struct reply *reply);
void wait_for(struct world *w, const int *what, int at_least);
/* Sends and waits for the end. @reply is initialised here. */
void fetch(struct world *w, const struct http_request *request, struct reply *reply);
void fetch_url(struct world *w, const char *address, struct reply *reply);
/* Asks a start_http1(false) for the number of requests it had before this one. */
int64_t requests_seen(struct world *w);

#define assert_fails(reply, wanted_kind, text)                                         \
	do {                                                                           \
		assert_int_equal((reply)->done, 1);                                    \
		assert_string_equal(error_kind_name((reply)->error.kind),              \
				    error_kind_name(wanted_kind));                     \
		if (!strstr((reply)->error.message, text))                             \
			fail_msg("no \"%s\" in \"%s\"", text, (reply)->error.message); \
	} while (0)

#define assert_answers(reply, wanted_status, text)                                       \
	do {                                                                             \
		assert_int_equal((reply)->done, 1);                                      \
		assert_string_equal((reply)->error.message, "");                         \
		assert_int_equal((reply)->response.status, wanted_status);               \
		assert_string_equal((reply)->body.data ? (reply)->body.data : "", text); \
	} while (0)

#endif
