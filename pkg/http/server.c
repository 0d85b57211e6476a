/* SPDX-License-Identifier: Apache-2.0 */
/* The server: a listening socket of our own, evhttp behind the guard, and one handler for all
 * paths. */
#include "http/server.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>

#include "base/limits.h"
#include "base/mem.h"
#include "http/server_internal.h"

#define BACKLOG          64  /* connections that one turn may have to accept */
#define EVHTTP_TIMEOUT_S 600 /* longer than all of the guard's */
#define ACCEPT_PAUSE_US  (100 * USEC_PER_MSEC)
#define MAX_HOST         64

/* --- the answer */

static void release_body(const void *data UNUSED, size_t len UNUSED, void *block)
{
	mem_free(block);
}

/* @reply's body moves into evhttp's hands; with HEAD only its length is told. */
static void send_reply(struct evhttp_request *request, struct http_server_reply *reply)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
	struct evbuffer *body = evbuffer_new();
	size_t len = reply->body.len;
	struct buf length;

	buf_init(&length, 32);
	buf_printf(&length, "%zu", len);
	evhttp_add_header(headers, "Content-Type", reply->content_type);
	evhttp_add_header(headers, "Content-Length", length.data);
	buf_clear(&length);
	if (len > 0 && evhttp_request_get_command(request) != EVHTTP_REQ_HEAD) {
		char *block = buf_take(&reply->body);

		evbuffer_add_reference(body, block, len, release_body, block);
	}
	evhttp_send_reply(request, reply->status, NULL, body);
	evbuffer_free(body);
}

static void answer(struct http_server *server, struct evhttp_request *request, const char *path)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
	struct http_server_request asked = {.path = path, .query = evhttp_uri_get_query(uri)};
	struct http_server_reply reply = {.status = 200,
					  .content_type = "text/plain; charset=utf-8"};

	buf_init(&reply.body, LIMIT_METRICS_PAGE);
	server->handle(server->context, &asked, &reply);
	if (reply.body.overflowed) {
		buf_clear(&reply.body);
		reply.status = 500;
	}
	send_reply(request, &reply);
	buf_clear(&reply.body);
}

static void on_request(struct evhttp_request *request, void *context)
{
	struct http_server *server = context;
	const char *raw = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request));
	size_t len = 0;
	char *path = evhttp_uridecode(raw ? raw : "/", 0, &len);

	loop_turn_begin(server->loop);
	evhttp_request_set_on_complete_cb(request, guard_complete, &server->guard);
	if (path && strlen(path) == len)
		answer(server, request, path);
	else
		evhttp_send_reply(request, HTTP_BADREQUEST, NULL, NULL);
	mem_free(path);
	loop_turn_end(server->loop, "http-server");
}

/* --- the listening socket */

/* "host:port" and "[host]:port"; an empty host is NULL. */
static int split_address(const char *address, char host[MAX_HOST], int64_t *ret_port)
{
	const char *colon = strrchr(address, ':');
	struct str name = {address, colon ? (size_t)(colon - address) : 0};
	int64_t port;

	if (!colon || !str_to_int64(str_from(colon + 1), 0, UINT16_MAX, &port))
		return -1;
	if (str_starts_with(name, STR("[")) && str_ends_with(name, STR("]")))
		name = (struct str){name.data + 1, name.len - 2};
	else if (name.len > 0 && memchr(name.data, ':', name.len))
		return -1;
	if (name.len >= MAX_HOST)
		return -1;
	memcpy(host, name.data, name.len);
	host[name.len] = '\0';
	*ret_port = port;
	return 0;
}

static int resolve(const char *address, struct sockaddr_storage *ret_address, socklen_t *ret_len,
		   struct error *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
	struct addrinfo *found = NULL;
	char host[MAX_HOST];
	int64_t port;

	if (split_address(address, host, &port) < 0 ||
	    getaddrinfo(host[0] ? host : "::", NULL, &hints, &found) != 0)
		return error_set(err, ERROR_INVALID,
				 "%s: not an address as 127.0.0.1:8080, [::1]:8080 or :8080",
				 address);
	memset(ret_address, 0, sizeof(*ret_address));
	memcpy(ret_address, found->ai_addr, found->ai_addrlen);
	*ret_len = found->ai_addrlen;
	freeaddrinfo(found);
	if (ret_address->ss_family == AF_INET6)
		((struct sockaddr_in6 *)ret_address)->sin6_port = htons((uint16_t)port);
	else
		((struct sockaddr_in *)ret_address)->sin_port = htons((uint16_t)port);
	return 0;
}

/* Bound, or -1 with errno. "All interfaces" is an IPv6 socket that takes IPv4 too. */
static int bind_socket(const struct sockaddr_storage *address, socklen_t len)
{
	const int on = 1, off = 0;
	int fd = socket(address->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int saved;

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0 &&
	    (address->ss_family != AF_INET6 ||
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0) &&
	    bind(fd, (const struct sockaddr *)address, len) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

/* A machine without IPv6 has no "::". */
static int open_socket(const char *address, struct error *err)
{
	struct sockaddr_storage where = {0};
	socklen_t len = 0;
	int fd;

	if (resolve(address, &where, &len, err) < 0)
		return -1;
	fd = bind_socket(&where, len);
	if (fd < 0 && address[0] == ':') {
		struct sockaddr_in any = {
			.sin_family = AF_INET,
			.sin_port = ((struct sockaddr_in6 *)&where)->sin6_port,
		};

		memset(&where, 0, sizeof(where));
		memcpy(&where, &any, sizeof(any));
		fd = bind_socket(&where, sizeof(any));
	}
	if (fd < 0) {
		error_set_errno(err, errno, "listening on %s", address);
		err->kind = ERROR_UNAVAILABLE;
	}
	return fd;
}

static uint16_t port_of(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address = {.v6 = {0}};
	socklen_t len = sizeof(address);

	if (getsockname(fd, &address.any, &len) < 0)
		return 0;
	return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port
						       : address.v4.sin_port);
}

/* libevent hands evhttp's own pointer to the callback below: this is the way from there to the
 * server. */
static struct list servers = {&servers, &servers};

/* Out of descriptors: the pending connection would wake the loop at once, and again. */
static void on_accept_failed(struct evconnlistener *listener, void *http)
{
	list_for_each(it, &servers) {
		struct http_server *server = container_of(it, struct http_server, link);

		if (server->http != http)
			continue;
		evconnlistener_disable(listener);
		loop_timer_set(&server->accept_again, loop_now(server->loop) + ACCEPT_PAUSE_US);
	}
}

static void on_accept_again(void *context)
{
	struct http_server *server = context;

	evconnlistener_enable(server->listener);
}

/* --- life */

/* size: a callback and its context are one thing in two parameters */
int http_server_new(struct loop *loop, const char *address, http_handle_fn handle, void *context,
		    struct http_server **ret_server, struct error *err)
{
	int fd = open_socket(address, err);
	struct http_server *server;

	if (fd < 0)
		return -1;
	server = mem_alloc(sizeof(*server));
	list_append(&servers, &server->link);
	server->loop = loop;
	server->handle = handle;
	server->context = context;
	server->http = evhttp_new(loop_event_base(loop));
	guard_init(&server->guard, server);
	evhttp_set_gencb(server->http, on_request, server);
	evhttp_set_allowed_methods(server->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
	evhttp_set_max_headers_size(server->http, LIMIT_SERVER_HEADERS);
	evhttp_set_max_body_size(server->http, 0);
	evhttp_set_timeout(server->http, EVHTTP_TIMEOUT_S);
	loop_timer_init(&server->accept_again, loop, "http-server", on_accept_again, server);
	server->listener =
		evconnlistener_new(loop_event_base(loop), NULL, NULL,
				   LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, BACKLOG, fd);
	if (!server->listener || !evhttp_bind_listener(server->http, server->listener)) {
		error_set(err, ERROR_UNAVAILABLE, "listening on %s failed", address);
		if (!server->listener)
			close(fd);
		http_server_free(server);
		return -1;
	}
	evconnlistener_set_error_cb(server->listener, on_accept_failed);
	server->port = port_of(fd);
	*ret_server = server;
	return 0;
}

void http_server_free(struct http_server *server)
{
	if (!server)
		return;
	list_unlink(&server->link);
	loop_timer_clear(&server->accept_again);
	evhttp_free(server->http);
	guard_clear(&server->guard);
	mem_free(server);
}

uint16_t http_server_port(const struct http_server *server)
{
	return server->port;
}

size_t http_server_connections(const struct http_server *server)
{
	return server->guard.count;
}
