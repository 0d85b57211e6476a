/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard's connections. evhttp has no hook for a new connection, but it takes the bufferevent
 * that we make for it. Three properties of that bufferevent let us stand between the socket and
 * evhttp:
 *
 *   - a callback of its input buffer sees bytes before evhttp's read callback does;
 *   - the low watermark keeps evhttp from being called until we have seen a whole, good head;
 *   - the argument of evhttp's callbacks is its connection, whose close callback tells us that it
 * is gone.
 *
 * The last is known only after evhttp has returned from making the connection; until a turn of our
 * own a reference keeps the bufferevent alive.
 */
#include <string.h>
#include <sys/socket.h>

#include <event2/buffer.h>

#include "base/limits.h"
#include "base/mem.h"
#include "http/guard.h"
#include "http/server_internal.h"

#define IDLE_US       (120 * USEC_PER_SEC)
#define NEVER_REACHED (LIMIT_SERVER_HEADERS * 16) /* a low watermark above all that is let in */

struct connection {
	struct list link;
	struct guard *guard;
	struct bufferevent *bev;
	struct evhttp_connection *evcon; /* NULL until adopted */
	enum guard_state state;
	struct loop_timer timer;
	struct buf head;
};

static void on_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *context);

static void connection_free(struct connection *conn)
{
	evbuffer_remove_cb(bufferevent_get_input(conn->bev), on_input, conn);
	list_unlink(&conn->link);
	conn->guard->count--;
	loop_timer_clear(&conn->timer);
	buf_clear(&conn->head);
	mem_free(conn);
}

static void on_closed(struct evhttp_connection *evcon UNUSED, void *context)
{
	connection_free(context);
}

static void enter_state(struct connection *conn, enum guard_state state)
{
	struct loop *loop = conn->guard->server->loop;
	int64_t limit = state == GUARD_IDLE ? IDLE_US : LIMIT_SERVER_REQUEST_US;

	/* A request has one deadline from its first byte on, whatever becomes of it. */
	if (state == GUARD_IDLE || state == GUARD_READING)
		loop_timer_set(&conn->timer, loop_now(loop) + limit);
	conn->state = state;
	bufferevent_setwatermark(conn->bev, EV_READ, state == GUARD_BUSY ? 0 : NEVER_REACHED, 0);
}

static const char *refusal(int status)
{
	static const struct {
		int status;
		const char *text;
	} texts[] = {
		{400, "400 Bad Request"},       {405, "405 Method Not Allowed\r\nAllow: GET, HEAD"},
		{413, "413 Content Too Large"}, {431, "431 Request Header Fields Too Large"},
		{501, "501 Not Implemented"},   {505, "505 HTTP Version Not Supported"}};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].status == status)
			return texts[i].text;
	return texts[0].text;
}

/*
 * Written past evhttp, which has nothing to say here, in one packet that the empty socket takes or
 * nobody gets. When a request was answered already (it was busy) the two answers could mix: then
 * only the end.
 */
static void refuse(struct connection *conn, int status)
{
	int fd = bufferevent_getfd(conn->bev);
	struct buf text;

	if (conn->state != GUARD_BUSY) {
		buf_init(&text, LIMIT_SERVER_HEADERS);
		buf_printf(&text, "HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
			   refusal(status));
		send(fd, text.data, text.len, MSG_NOSIGNAL | MSG_DONTWAIT);
		buf_clear(&text);
		shutdown(fd, SHUT_WR);
	} else {
		shutdown(fd, SHUT_RDWR);
	}
	buf_clear(&conn->head);
	enter_state(conn, GUARD_REFUSED);
}

/* The last @added bytes of @input, which is what came just now. */
static void take_bytes(struct connection *conn, struct evbuffer *input, size_t added)
{
	size_t room = LIMIT_SERVER_HEADERS + 1 - MIN(conn->head.len, LIMIT_SERVER_HEADERS + 1);
	size_t want = MIN(added, room);
	struct evbuffer_ptr from;
	char *space = buf_reserve(&conn->head, want);

	if (!space || evbuffer_ptr_set(input, &from, evbuffer_get_length(input) - added,
				       EVBUFFER_PTR_SET) < 0)
		return;
	if (evbuffer_copyout_from(input, &from, space, want) == (ev_ssize_t)want)
		buf_commit(&conn->head, want);
}

static void read_head(struct connection *conn, struct evbuffer *input, size_t added)
{
	size_t len;
	int status;

	take_bytes(conn, input, added);
	len = guard_head_length(buf_str(&conn->head));
	if (len == 0 || len > LIMIT_SERVER_HEADERS) {
		if (conn->head.len > LIMIT_SERVER_HEADERS)
			refuse(conn, 431);
		return;
	}
	status = guard_check_head((struct str){conn->head.data, len});
	if (status == 0 && len != evbuffer_get_length(input))
		status = 400; /* more than the head */
	if (status != 0) {
		refuse(conn, status);
		return;
	}
	buf_clear(&conn->head);
	enter_state(conn, GUARD_BUSY);
}

/* The deadline of the connection has passed. */
static void on_timer(void *context)
{
	struct connection *conn = context;

	evhttp_connection_free(conn->evcon); /* calls on_closed() */
}

/* Once evhttp has put its callbacks on the bufferevent. False when it has given the connection up.
 */
static bool adopt(struct connection *conn)
{
	void *evcon = NULL;

	if (conn->evcon)
		return true;
	bufferevent_getcb(conn->bev, NULL, NULL, NULL, &evcon);
	if (!evcon)
		return false;
	conn->evcon = evcon;
	evhttp_connection_set_closecb(conn->evcon, on_closed, conn);
	bufferevent_decref(conn->bev);
	loop_timer_clear(&conn->timer);
	loop_timer_init(&conn->timer, conn->guard->server->loop, "http-server", on_timer, conn);
	enter_state(conn, GUARD_READING);
	return true;
}

static void give_up(struct connection *conn)
{
	struct bufferevent *bev = conn->bev;

	connection_free(conn);
	bufferevent_decref(bev);
}

static void on_first_turn(void *context)
{
	if (!adopt(context))
		give_up(context);
}

static void on_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *context)
{
	struct connection *conn = context;

	if (info->n_added == 0 || !adopt(conn))
		return;
	if (conn->state == GUARD_IDLE)
		enter_state(conn, GUARD_READING);
	if (conn->state == GUARD_READING)
		read_head(conn, input, info->n_added);
	else if (conn->state == GUARD_BUSY)
		refuse(conn, 400);
	if (conn->state == GUARD_REFUSED)
		evbuffer_drain(input, evbuffer_get_length(input));
}

/* The oldest idle connection, else the oldest. */
static struct connection *least_useful(const struct guard *guard)
{
	struct connection *oldest = NULL;

	list_for_each(it, &guard->connections) {
		struct connection *conn = container_of(it, struct connection, link);

		if (!adopt(conn))
			continue;
		if (conn->state == GUARD_IDLE)
			return conn;
		oldest = oldest ? oldest : conn;
	}
	return oldest;
}

/* Called by evhttp for each connection it has accepted. */
static struct bufferevent *new_connection(struct event_base *base, void *context)
{
	struct guard *guard = context;
	struct connection *conn = mem_alloc(sizeof(*conn)), *other;
	struct loop *loop = guard->server->loop;

	if (guard->count >= LIMIT_SERVER_CONNECTIONS && (other = least_useful(guard)))
		evhttp_connection_free(other->evcon); /* calls on_closed() */
	conn->guard = guard;
	conn->bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	buf_init(&conn->head, LIMIT_SERVER_HEADERS + 1);
	evbuffer_add_cb(bufferevent_get_input(conn->bev), on_input, conn);
	bufferevent_incref(conn->bev);
	bufferevent_setwatermark(conn->bev, EV_READ, NEVER_REACHED, 0);
	loop_timer_init(&conn->timer, loop, "http-server", on_first_turn, conn);
	loop_defer(&conn->timer);
	list_append(&guard->connections, &conn->link);
	guard->count++;
	return conn->bev;
}

void guard_init(struct guard *guard, struct http_server *server)
{
	guard->server = server;
	list_init(&guard->connections);
	evhttp_set_bevcb(server->http, new_connection, guard);
}

/* evhttp has closed those that were adopted. */
void guard_clear(struct guard *guard)
{
	list_for_each_safe(it, &guard->connections)
		give_up(container_of(it, struct connection, link));
}

static struct connection *find(const struct guard *guard, const struct bufferevent *bev)
{
	list_for_each(it, &guard->connections) {
		struct connection *conn = container_of(it, struct connection, link);

		if (conn->bev == bev)
			return conn;
	}
	return NULL;
}

void guard_complete(struct evhttp_request *request, void *context)
{
	struct guard *guard = context;
	struct evhttp_connection *evcon = evhttp_request_get_connection(request);
	struct connection *conn = find(guard, evhttp_connection_get_bufferevent(evcon));

	if (!conn || conn->state != GUARD_BUSY)
		return;
	enter_state(conn, GUARD_IDLE);
	list_unlink(&conn->link);
	list_append(&guard->connections, &conn->link);
}
