/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of the server: one libevent bufferevent each, with or without TLS, and a state
 * that says what may come next on it. evhttp is not used, since what had to stand before it (one
 * deadline for a whole request, limits over all connections, the certificate, answers that outlive
 * their connection) left it nothing to do.
 *
 * Every connection has one timer, which is the deadline of its state. A connection is freed in the
 * turn of one of its own callbacks or of its timer, never while the handler runs: who wants it
 * closed from there asks for a turn of its own (connection_close_soon()).
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <openssl/err.h>

#include "base/limits.h"
#include "base/mem.h"
#include "http/server_internal.h"

#define IDLE_US      (120 * USEC_PER_SEC)
#define MOST_DISCARD (64 * 1024) /* bytes that a refused connection may still send */
#define TURN         "http-server"

/* --- room */

static void release_body(struct connection *conn)
{
	conn->server->bodies -= conn->body_room;
	conn->body_room = 0;
	buf_clear(&conn->body);
}

static void release_answer(struct connection *conn)
{
	conn->server->answers -= conn->answer_length;
	conn->answer_length = 0;
}

static void unlink_connection(struct connection *conn)
{
	struct http_server *server = conn->server;

	if (!list_linked(&conn->link))
		return;
	list_unlink(&conn->link);
	if (conn->authenticated)
		server->counts.authenticated--;
	else
		server->n_strangers--;
}

/* A client whose handshake is over is told that this is the end; whether it hears it is its affair.
 */
static void say_goodbye(struct connection *conn)
{
	if (conn->ssl && conn->authenticated && SSL_is_init_finished(conn->ssl))
		SSL_shutdown(conn->ssl);
	ERR_clear_error();
}

void connection_free(struct connection *conn)
{
	unlink_connection(conn);
	release_body(conn);
	release_answer(conn);
	if (conn->later)
		answer_forget(conn->later);
	say_goodbye(conn);
	conn->server->counts.connections--;
	loop_timer_clear(&conn->timer);
	bufferevent_free(conn->bev);
	buf_clear(&conn->head_bytes);
	mem_free(conn);
}

/* The oldest that is idle, else with @or_busy the oldest. */
static struct connection *least_useful(const struct list *connections, bool or_busy)
{
	list_for_each(it, connections) {
		struct connection *conn = container_of(it, struct connection, link);

		if (conn->state == CONNECTION_IDLE)
			return conn;
	}
	return or_busy && !list_empty(connections)
		       ? container_of(list_first(connections), struct connection, link)
		       : NULL;
}

/* Whether there was one to push out. */
static bool push_out(const struct list *connections, bool or_busy)
{
	struct connection *conn = least_useful(connections, or_busy);

	if (!conn)
		return false;
	conn->server->counts.dropped++;
	connection_free(conn);
	return true;
}

/* --- states */

static void set_deadline(struct connection *conn, int64_t us)
{
	loop_timer_set(&conn->timer, loop_now(conn->server->loop) + us);
}

static void enter_idle(struct connection *conn)
{
	struct list *connections =
		conn->authenticated ? &conn->server->clients : &conn->server->strangers;

	conn->state = CONNECTION_IDLE;
	set_deadline(conn, IDLE_US);
	list_unlink(&conn->link);
	list_append(connections, &conn->link);
}

static void refuse(struct connection *conn, int status)
{
	conn->server->counts.refused++;
	buf_clear(&conn->head_bytes);
	release_body(conn);
	conn->state = CONNECTION_REFUSED;
	set_deadline(conn, LIMIT_SERVER_REQUEST_US);
	answer_refusal(conn, status);
}

void connection_writing(struct connection *conn)
{
	/* An answer that was made in the turn of its request has that one's deadline. */
	if (conn->later)
		set_deadline(conn, LIMIT_SERVER_REQUEST_US);
	conn->state = CONNECTION_WRITING;
}

void connection_wait(struct connection *conn)
{
	set_deadline(conn, LIMIT_SERVER_LATER_US);
}

void connection_close_soon(struct connection *conn)
{
	conn->state = CONNECTION_REFUSED;
	set_deadline(conn, 0);
}

/* --- a request */

/* Moves at most @most bytes of what came to the end of @buf. */
static void take_input(struct connection *conn, struct buf *buf, size_t most)
{
	struct evbuffer *input = bufferevent_get_input(conn->bev);
	size_t want = MIN(evbuffer_get_length(input), most);
	char *space = want > 0 ? buf_reserve(buf, want) : NULL;

	if (space && evbuffer_remove(input, space, want) == (int)want)
		buf_commit(buf, want);
}

static bool has_input(const struct connection *conn)
{
	return evbuffer_get_length(bufferevent_get_input(conn->bev)) > 0;
}

static void serve(struct connection *conn)
{
	conn->state = CONNECTION_BUSY;
	answer_request(conn);
	release_body(conn);
	buf_clear(&conn->head_bytes);
}

/* What has come, not what was announced: who announces much and sends little takes nothing. */
static void count_body(struct connection *conn)
{
	conn->server->bodies += conn->body.len - conn->body_room;
	conn->body_room = conn->body.len;
}

static void read_body(struct connection *conn)
{
	take_input(conn, &conn->body, conn->head.body_length - conn->body.len);
	count_body(conn);
	if (conn->server->bodies > LIMIT_SERVER_BODIES)
		refuse(conn, 503);
	else if (has_input(conn))
		refuse(conn, 400); /* more than the body */
	else if (conn->body.len == conn->head.body_length)
		serve(conn);
}

/* What came behind the head is the begin of the body. */
static void begin_body(struct connection *conn, struct str rest)
{
	struct http_server *server = conn->server;
	size_t len = conn->head.body_length;

	if (rest.len > len) {
		refuse(conn, 400);
		return;
	}
	if (server->answers > LIMIT_SERVER_ANSWERS) {
		refuse(conn, 503);
		return;
	}
	buf_init(&conn->body, len);
	buf_add_str(&conn->body, rest);
	conn->state = CONNECTION_BODY;
	read_body(conn);
}

static void read_head(struct connection *conn)
{
	struct buf *bytes = &conn->head_bytes;
	size_t len;
	int status;

	take_input(conn, bytes, LIMIT_SERVER_HEADERS + 1 - bytes->len);
	len = guard_head_length(buf_str(bytes));
	if (len == 0 || len > LIMIT_SERVER_HEADERS) {
		if (bytes->len > LIMIT_SERVER_HEADERS)
			refuse(conn, 431);
		return;
	}
	status = guard_read_head((struct str){bytes->data, len}, conn->server->max_body,
				 &conn->head);
	if (status != 0)
		refuse(conn, status);
	else
		begin_body(conn, str_skip(buf_str(bytes), len));
}

/* Past some bytes the socket fills up: who goes on sending waits until the deadline. */
static void discard(struct connection *conn)
{
	struct evbuffer *input = bufferevent_get_input(conn->bev);

	conn->discarded += evbuffer_get_length(input);
	evbuffer_drain(input, evbuffer_get_length(input));
	if (conn->discarded > MOST_DISCARD)
		bufferevent_disable(conn->bev, EV_READ);
}

static void read_input(struct connection *conn)
{
	switch (conn->state) {
	case CONNECTION_IDLE:
		set_deadline(conn, LIMIT_SERVER_REQUEST_US);
		conn->state = CONNECTION_HEAD;
		read_head(conn);
		break;
	case CONNECTION_HEAD:
		read_head(conn);
		break;
	case CONNECTION_BODY:
		read_body(conn);
		break;
	case CONNECTION_BUSY:
	case CONNECTION_WRITING:
		conn->server->counts.refused++;
		connection_free(conn); /* two answers could mix: only the end is left to say */
		break;
	case CONNECTION_HANDSHAKE:
	case CONNECTION_REFUSED:
		discard(conn);
		break;
	}
}

/* --- what libevent tells */

static void on_input(struct bufferevent *bev UNUSED, void *context)
{
	struct connection *conn = context;
	struct loop *loop = conn->server->loop;

	loop_turn_begin(loop);
	read_input(conn);
	loop_turn_end(loop, TURN);
}

static void go_on_after_answer(struct connection *conn)
{
	if (conn->state == CONNECTION_REFUSED) {
		say_goodbye(conn);
		shutdown(bufferevent_getfd(conn->bev), SHUT_WR);
	} else if (conn->state == CONNECTION_WRITING) {
		release_answer(conn);
		if (conn->close)
			connection_free(conn);
		else
			enter_idle(conn);
	}
}

/* Also called before anything was written. */
static void on_written(struct bufferevent *bev, void *context)
{
	struct connection *conn = context;
	struct loop *loop = conn->server->loop;

	if (evbuffer_get_length(bufferevent_get_output(bev)) > 0)
		return;
	loop_turn_begin(loop);
	go_on_after_answer(conn);
	loop_turn_end(loop, TURN);
}

/* The handshake is over, and OpenSSL has found the client's certificate good. */
static void welcome(struct connection *conn)
{
	struct http_server *server = conn->server;

	if (!server_tls_is_authenticated(conn->ssl)) {
		server->counts.unauthorized++;
		connection_free(conn);
		return;
	}
	if (server->counts.authenticated >= LIMIT_SERVER_CLIENTS &&
	    !push_out(&server->clients, false)) {
		server->counts.dropped++;
		connection_free(conn);
		return;
	}
	unlink_connection(conn);
	conn->authenticated = true;
	server->counts.authenticated++;
	enter_idle(conn);
}

/* A client that has said all it wants to may still wait for its answer. */
static void on_end(struct connection *conn, bool failed)
{
	if (!failed && (conn->state == CONNECTION_BUSY || conn->state == CONNECTION_WRITING)) {
		conn->close = true;
		conn->ended = true;
		bufferevent_disable(conn->bev, EV_READ);
		return;
	}
	if (conn->state == CONNECTION_HANDSHAKE)
		conn->server->counts.unauthorized++;
	connection_free(conn);
}

static void on_event(struct bufferevent *bev UNUSED, short what, void *context)
{
	struct connection *conn = context;
	struct loop *loop = conn->server->loop;

	loop_turn_begin(loop);
	if (what & BEV_EVENT_CONNECTED)
		welcome(conn);
	else
		on_end(conn, !(what & BEV_EVENT_EOF));
	ERR_clear_error();
	loop_turn_end(loop, TURN);
}

/* The deadline of the connection's state has passed. */
static void on_timer(void *context)
{
	struct connection *conn = context;

	if (conn->state != CONNECTION_IDLE && conn->state != CONNECTION_REFUSED)
		conn->server->counts.late++;
	connection_free(conn);
}

/* --- life */

static struct bufferevent *open_bufferevent(struct http_server *server, int fd, SSL **ret_ssl)
{
	struct event_base *base = loop_event_base(server->loop);
	struct bufferevent *bev;

	*ret_ssl = NULL;
	if (!server->tls)
		return bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	*ret_ssl = server_tls_begin(server->tls);
	bev = bufferevent_openssl_socket_new(base, fd, *ret_ssl, BUFFEREVENT_SSL_ACCEPTING,
					     BEV_OPT_CLOSE_ON_FREE);
	bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
	return bev;
}

void connection_new(struct http_server *server, int fd)
{
	struct connection *conn = mem_alloc(sizeof(*conn));
	const int on = 1;

	if (server->n_strangers >= LIMIT_SERVER_CONNECTIONS)
		push_out(&server->strangers, true);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	conn->server = server;
	conn->bev = open_bufferevent(server, fd, &conn->ssl);
	conn->state = conn->ssl ? CONNECTION_HANDSHAKE : CONNECTION_HEAD;
	buf_init(&conn->head_bytes, LIMIT_SERVER_HEADERS + 1);
	loop_timer_init(&conn->timer, server->loop, TURN, on_timer, conn);
	set_deadline(conn, LIMIT_SERVER_REQUEST_US);
	list_append(&server->strangers, &conn->link);
	server->n_strangers++;
	server->counts.connections++;
	server->counts.accepted++;
	bufferevent_setcb(conn->bev, on_input, on_written, on_event, conn);
	bufferevent_enable(conn->bev, EV_READ);
}
