/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of the server: made by the handler in the turn of the request, or later by who holds a
 * struct http_later. That and its connection know of each other, and whichever goes first tells the
 * other.
 */
#include <assert.h>
#include <time.h>

#include <event2/buffer.h>
#include <event2/http.h>

#include "base/limits.h"
#include "base/mem.h"
#include "http/server_internal.h"

#define SMALL_BODY                                                                    \
	8192 /* bytes that are sooner copied behind the head than sent for themselves \
	      */

#define HEAD_ROOM 256 /* more than a head needs */

/* What http_later_new() finds its connection by. */
struct http_server_exchange {
	struct connection *conn;
};

struct http_later {
	struct connection *conn; /* NULL when it has gone */
	struct http_server_reply reply;
};

static const char *phrase(int status)
{
	static const struct {
		int status;
		const char *text;
	} phrases[] = {
		{200, "OK"},
		{400, "Bad Request"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{411, "Length Required"},
		{413, "Content Too Large"},
		{417, "Expectation Failed"},
		{431, "Request Header Fields Too Large"},
		{500, "Internal Server Error"},
		{501, "Not Implemented"},
		{503, "Service Unavailable"},
		{505, "HTTP Version Not Supported"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(phrases); i++)
		if (phrases[i].status == status)
			return phrases[i].text;
	return "Other";
}

static void add_date(const struct connection *conn, struct evbuffer *output)
{
	time_t now = (time_t)(clock_real(loop_clock(conn->server->loop)) / USEC_PER_SEC);
	char text[64];
	struct tm tm;

	if (gmtime_r(&now, &tm) && strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm))
		evbuffer_add_printf(output, "Date: %s\r\n", text);
}

void answer_refusal(struct connection *conn, int status)
{
	struct evbuffer *output = bufferevent_get_output(conn->bev);

	evbuffer_add_printf(output, "HTTP/1.1 %d %s\r\n", status, phrase(status));
	add_date(conn, output);
	if (status == 405)
		evbuffer_add_printf(output, "Allow: GET, HEAD%s\r\n",
				    conn->server->max_body > 0 ? ", POST" : "");
	evbuffer_add_printf(output, "Connection: close\r\nContent-Length: 0\r\n\r\n");
}

/* --- what the handler said */

static void init_reply(struct http_server_reply *reply)
{
	*reply = (struct http_server_reply){.status = 200,
					    .content_type = "text/plain; charset=utf-8"};
	buf_init(&reply->body, LIMIT_METRICS_PAGE);
}

static void free_block(const void *data UNUSED, size_t len UNUSED, void *block)
{
	mem_free(block);
}

/* The body moves into libevent's hands; with HEAD only its length is told. */
static void send_reply(struct connection *conn, struct http_server_reply *reply)
{
	struct evbuffer *output = bufferevent_get_output(conn->bev);
	size_t len;

	if (reply->body.overflowed) {
		buf_clear(&reply->body);
		reply->status = 500;
	}
	conn->close = conn->close || reply->close;
	len = reply->body.len;
	if (len <= SMALL_BODY) /* one piece, which TLS sends as one record */
		evbuffer_expand(output, HEAD_ROOM + len);
	evbuffer_add_printf(output, "HTTP/1.1 %d %s\r\n", reply->status, phrase(reply->status));
	add_date(conn, output);
	evbuffer_add_printf(output, "Content-Type: %s\r\nContent-Length: %zu\r\n%s\r\n",
			    reply->content_type, len, conn->close ? "Connection: close\r\n" : "");
	if (conn->head.method != HTTP_SERVER_HEAD && len > SMALL_BODY) {
		char *block = buf_take(&reply->body);

		evbuffer_add_reference(output, block, len, free_block, block);
	} else if (conn->head.method != HTTP_SERVER_HEAD && len > 0) {
		evbuffer_add(output, reply->body.data, len);
	}
	conn->answer_length = evbuffer_get_length(output);
	conn->server->answers += conn->answer_length;
	conn->server->counts.answered++;
	connection_writing(conn);
}

static char *decode_path(struct str raw)
{
	char *text = mem_strndup(raw.data, raw.len);
	size_t len = 0;
	char *path = evhttp_uridecode(text, 0, &len);

	mem_free(text);
	if (path && strlen(path) == len)
		return path;
	mem_free(path);
	return NULL;
}

static void ask(struct connection *conn, const char *path, const char *query)
{
	struct http_server *server = conn->server;
	struct http_server_exchange exchange = {conn};
	struct http_server_request request = {.method = conn->head.method,
					      .path = path,
					      .query = query,
					      .body = buf_str(&conn->body),
					      .exchange = &exchange};
	struct http_server_reply reply;

	init_reply(&reply);
	server->handle(server->context, &request, &reply);
	/* Otherwise it was taken by a struct http_later, which may even have been sent by now. */
	if (exchange.conn)
		send_reply(conn, &reply);
	buf_clear(&reply.body);
}

void answer_request(struct connection *conn)
{
	struct str raw_query = conn->head.query;
	bool has_query = raw_query.data != NULL;
	char *path = decode_path(conn->head.path);
	char *query = has_query ? mem_strndup(raw_query.data, raw_query.len) : NULL;
	struct http_server_reply bad;

	conn->close = conn->head.close;
	if (path) {
		ask(conn, path, query);
	} else {
		init_reply(&bad);
		bad.status = 400;
		send_reply(conn, &bad);
	}
	mem_free(path);
	mem_free(query);
}

/* --- later */

struct http_later *http_later_new(const struct http_server_request *request)
{
	struct http_later *later = mem_alloc(sizeof(*later));

	assert(request->exchange->conn); /* there is none yet */
	later->conn = request->exchange->conn;
	request->exchange->conn = NULL;
	later->conn->later = later;
	init_reply(&later->reply);
	connection_wait(later->conn);
	return later;
}

struct http_server_reply *http_later_reply(struct http_later *later)
{
	return &later->reply;
}

static void later_free(struct http_later *later)
{
	if (later->conn)
		later->conn->later = NULL;
	buf_clear(&later->reply.body);
	mem_free(later);
}

bool http_later_is_left(const struct http_later *later)
{
	return !later->conn || later->conn->ended;
}

void http_later_send(struct http_later *later)
{
	if (later->conn)
		send_reply(later->conn, &later->reply);
	later_free(later);
}

void http_later_free(struct http_later *later)
{
	if (!later)
		return;
	if (later->conn)
		connection_close_soon(later->conn);
	later_free(later);
}

void answer_forget(struct http_later *later)
{
	later->conn = NULL;
}
