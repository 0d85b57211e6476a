/* SPDX-License-Identifier: Apache-2.0 */
/* A server that only hands over what the test says. */
#include "served.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"

struct http_server {
	struct http_server_options options;
};

struct http_later {
	struct served *served;
};

/* What a request hands to http_later_new(). */
struct http_server_exchange {
	struct served *served;
	struct http_later *later;
};

int http_server_new(struct loop *loop UNUSED, const struct http_server_options *options,
		    struct http_server **ret_server, struct error *err UNUSED)
{
	struct http_server *server = mem_alloc(sizeof(*server));

	server->options = *options;
	server->options.tls = NULL; /* it is on its maker's stack */
	*ret_server = server;
	return 0;
}

void http_server_free(struct http_server *server)
{
	mem_free(server);
}

uint16_t http_server_port(const struct http_server *server UNUSED)
{
	return 9443;
}

struct http_later *http_later_new(const struct http_server_request *request)
{
	struct http_later *later = mem_alloc(sizeof(*later));

	assert_null(request->exchange->later);
	later->served = request->exchange->served;
	request->exchange->later = later;
	return later;
}

struct http_server_reply *http_later_reply(struct http_later *later)
{
	return &later->served->reply;
}

bool http_later_is_left(const struct http_later *later)
{
	return later->served->left;
}

void http_later_send(struct http_later *later)
{
	assert_int_equal(later->served->state, SERVED_WAITS);
	later->served->state = SERVED_ANSWERED;
	mem_free(later);
}

void http_later_free(struct http_later *later)
{
	if (!later)
		return;
	later->served->state = SERVED_CLOSED;
	mem_free(later);
}

struct served *served_call(struct http_server *server, const char *path, const char *body)
{
	struct served *served = mem_alloc(sizeof(*served));
	struct http_server_exchange exchange = {.served = served};
	struct http_server_request request = {
		.method = body ? HTTP_SERVER_POST : HTTP_SERVER_GET,
		.path = path,
		.body = body ? str_from(body) : STR_NONE,
		.exchange = &exchange,
	};

	served->reply.status = 200;
	buf_init(&served->reply.body, LIMIT_METRICS_PAGE);
	server->options.handle(server->options.context, &request, &served->reply);
	served->state = exchange.later ? SERVED_WAITS : SERVED_ANSWERED;
	return served;
}

const char *served_text(struct served *served)
{
	assert_int_equal(served->state, SERVED_ANSWERED);
	assert_false(served->reply.body.overflowed);
	buf_add(&served->reply.body, "", 1);
	return served->reply.body.data;
}

void served_free(struct served *served)
{
	if (!served)
		return;
	assert_int_not_equal(served->state, SERVED_WAITS);
	buf_clear(&served->reply.body);
	mem_free(served);
}
