/* SPDX-License-Identifier: Apache-2.0 */
/* The server: its listening socket, which lets in a few connections a turn, and its life. */
#define _GNU_SOURCE /* accept4() */
#include "http/server.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "http/server_internal.h"

#define BACKLOG          512 /* connections that wait to be accepted */
#define ACCEPTS_PER_TURN 8
#define ACCEPT_PAUSE_US  (100 * USEC_PER_MSEC) /* when there are no descriptors */
/*
 * When others were pushed out. So each of LIMIT_SERVER_CONNECTIONS has at least 160 ms, whoever
 * comes at whatever rate.
 */
#define FLOOD_PAUSE_US (5 * USEC_PER_MSEC)
#define MAX_HOST       64
#define TURN           "http-server"

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
	    bind(fd, (const struct sockaddr *)address, len) == 0 && listen(fd, BACKLOG) == 0)
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

/* A connection that waits would wake the loop at once, and again. */
static void rest(struct http_server *server, int64_t us)
{
	loop_fd_update(server->listener, 0);
	loop_timer_set(&server->accept_again, loop_now(server->loop) + us);
}

static void on_accept_again(void *context)
{
	struct http_server *server = context;

	loop_fd_update(server->listener, LOOP_READ);
}

/* Whether a failed accept() says something about its connection alone. */
static bool is_passing(int errnum)
{
	return errnum == ECONNABORTED || errnum == EINTR || errnum == EPROTO;
}

static void on_acceptable(void *context, int listening, unsigned int events UNUSED)
{
	struct http_server *server = context;
	uint64_t dropped = server->counts.dropped;
	int fd;

	for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
		fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			connection_new(server, fd);
		else if (errno == EAGAIN)
			break;
		else if (!is_passing(errno)) {
			rest(server, ACCEPT_PAUSE_US);
			return;
		}
	}
	if (server->counts.dropped != dropped)
		rest(server, FLOOD_PAUSE_US);
}

/* --- life */

int http_server_new(struct loop *loop, const struct http_server_options *options,
		    struct http_server **ret_server, struct error *err)
{
	struct server_tls *tls = NULL;
	int fd = open_socket(options->address, err);
	struct http_server *server;

	if (fd < 0)
		return -1;
	if (options->tls && server_tls_new(loop, options, &tls, err) < 0) {
		close(fd);
		return -1;
	}
	server = mem_alloc(sizeof(*server));
	server->loop = loop;
	server->fd = fd;
	server->port = port_of(fd);
	server->handle = options->handle;
	server->context = options->context;
	server->max_body = options->max_body;
	server->tls = tls;
	list_init(&server->strangers);
	list_init(&server->clients);
	loop_timer_init(&server->accept_again, loop, TURN, on_accept_again, server);
	server->listener = loop_fd_new(loop, TURN, fd, on_acceptable, server);
	loop_fd_update(server->listener, LOOP_READ);
	*ret_server = server;
	return 0;
}

static void free_connections(struct list *connections)
{
	list_for_each_safe(it, connections)
		connection_free(container_of(it, struct connection, link));
}

void http_server_free(struct http_server *server)
{
	if (!server)
		return;
	loop_timer_clear(&server->accept_again);
	loop_fd_free(server->listener);
	close(server->fd);
	free_connections(&server->strangers);
	free_connections(&server->clients);
	server_tls_free(server->tls);
	mem_free(server);
}

uint16_t http_server_port(const struct http_server *server)
{
	return server->port;
}

struct http_server_counts http_server_counts(const struct http_server *server)
{
	return server->counts;
}
