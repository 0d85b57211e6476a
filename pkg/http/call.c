/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One transfer: libcurl's options and its callbacks. The callbacks hand on to the owner's handlers,
 * who may cancel the call or free the pool meanwhile: `over` is looked at after each.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "http/internal.h"
#include "loop/cutoff.h"

static bool is_http2(const struct http_call *call)
{
	long version = 0;

	curl_easy_getinfo(call->easy, CURLINFO_HTTP_VERSION, &version);
	return version == CURL_HTTP_VERSION_2_0;
}

/*
 * Over HTTP/2 libcurl 7.88 puts the head of an answer and its body into one buffer, and hands on at
 * most CURL_MAX_WRITE_SIZE of it at a time. When they fill it there may be more, also for other
 * streams of the connection, that libcurl keeps for itself: see on_again().
 */
void call_received(struct http_call *call, size_t bytes)
{
	size_t full = (size_t)MIN(call->buffer_size, (long)CURL_MAX_WRITE_SIZE);

	call->heard_us = loop_now(call->pool->loop);
	call->pool->fed = true;
	call->burst += bytes;
	if (call->burst >= full && is_http2(call))
		pool_read_again(call->pool);
	if (call->headers_done)
		call->burst = 0;
}

static size_t on_body(char *data, size_t size, size_t n, void *context)
{
	struct http_call *call = context;
	struct str bytes = {data, size * n};
	struct error err = {0};

	if (call->over)
		return CURL_WRITEFUNC_ERROR;
	call_received(call, bytes.len);
	if (call->handlers.on_body &&
	    call->handlers.on_body(call->handlers.context, bytes, &err) != 0)
		call_error(call, err.kind, "%s", err.message);
	return call->over ? CURL_WRITEFUNC_ERROR : bytes.len;
}

/* libcurl asks in its DO state, for each request, be the connection new, reused or shared. */
static int on_ready(void *context, char *to UNUSED, char *from UNUSED, int to_port UNUSED,
		    int from_port UNUSED)
{
	struct http_call *call = context;
	int64_t now = clock_monotonic(loop_clock(call->pool->loop));

	if (call->over)
		return CURL_PREREQFUNC_ABORT;
	call->response.sent_us = now;
	if (call->may_send && !call->may_send(call->fence_context, now))
		call_error(call, ERROR_FENCED, "not sent");
	return call->over ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static const struct {
	CURLoption option;
	long value;
} constants[] = {
	{CURLOPT_NOSIGNAL, 1},
	{CURLOPT_NOPROGRESS, 1},
	{CURLOPT_FOLLOWLOCATION, 0},
	{CURLOPT_DISALLOW_USERNAME_IN_URL, 1},
	{CURLOPT_PATH_AS_IS, 1},
	{CURLOPT_HTTP09_ALLOWED, 0},
	{CURLOPT_SUPPRESS_CONNECT_HEADERS, 1},
	{CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
	{CURLOPT_SSL_SESSIONID_CACHE, 0},
	{CURLOPT_UPLOAD_BUFFERSIZE, 16L * 1024},
	{CURLOPT_TCP_KEEPALIVE, 1},
	{CURLOPT_TCP_KEEPIDLE, 15},
	{CURLOPT_TCP_KEEPINTVL, 5},
};

/* The system's certificates are trusted only where no CA is given: libcurl would add its folder of
 * them. */
static void set_tls(CURL *easy, const struct http_pool *pool)
{
	if (pool->ca.len > 0) {
		curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &pool->ca);
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
	if (pool->cert.len > 0) {
		curl_easy_setopt(easy, CURLOPT_SSLCERT_BLOB, &pool->cert);
		curl_easy_setopt(easy, CURLOPT_SSLCERTTYPE, "PEM");
		curl_easy_setopt(easy, CURLOPT_SSLKEY_BLOB, &pool->key);
		curl_easy_setopt(easy, CURLOPT_SSLKEYTYPE, "PEM");
	}
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, pool->insecure ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, pool->insecure ? 0L : 2L);
}

/* With keep-alive: a peer that acknowledges nothing for so long is gone (tcp(7)). */
#define UNACKNOWLEDGED_MS (20 * 1000)

static int on_socket_made(void *context, curl_socket_t fd, curlsocktype purpose UNUSED)
{
	const struct http_pool *pool = context;
	unsigned int most_ms = UNACKNOWLEDGED_MS;

	/* Where the kernel has no such option its own patience holds. */
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &most_ms, sizeof(most_ms));
	if (!pool->cutoff)
		return CURL_SOCKOPT_OK;
	return cutoff_add(pool->cutoff, fd) ? CURL_SOCKOPT_OK : CURL_SOCKOPT_ERROR;
}

static int on_socket_over(void *context, curl_socket_t fd)
{
	cutoff_remove(context, fd);
	return close(fd);
}

static void set_socket(CURL *easy, struct http_pool *pool)
{
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket_made);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, pool);
	if (!pool->cutoff)
		return;
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_socket_over);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, pool->cutoff);
}

static long version_of(const struct http_pool *pool)
{
	if (pool->unix_socket)
		return CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
	return pool->http1_only ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS;
}

CURL *easy_new(struct http_pool *pool)
{
	CURL *easy = curl_easy_init();

	for (size_t i = 0; i < ARRAY_SIZE(constants); i++)
		curl_easy_setopt(easy, constants[i].option, constants[i].value);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_PROXY, pool->proxy_url ? pool->proxy_url : "");
	curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, pool->connect_timeout_ms);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, version_of(pool));
	curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, pool->unix_socket);
	/* libcurl 7.88 begins HTTP/2 anew on such a connection that it uses again. */
	curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, pool->unix_socket ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, call_header);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_ready);
	set_tls(easy, pool);
	set_socket(easy, pool);
	return easy;
}

/* A body, also an empty one where the method expects one, goes as POSTFIELDS; CUSTOMREQUEST names
 * the method. */
static void set_method(const struct http_call *call)
{
	bool has_body = call->body_len > 0 || call->method[0] == 'P';

	if (has_body) {
		curl_easy_setopt(call->easy, CURLOPT_POSTFIELDS, call->body ? call->body : "");
		curl_easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE_LARGE,
				 (curl_off_t)call->body_len);
	} else {
		curl_easy_setopt(call->easy, CURLOPT_HTTPGET, 1L);
	}
	curl_easy_setopt(call->easy, CURLOPT_CUSTOMREQUEST, call->method);
}

void call_configure(struct http_call *call)
{
	CURL *easy = call->easy;
	bool may_multiplex = !call->pool->http1_only && strncmp(call->url, "https:", 6) == 0;

	set_method(call);
	/* Else a request would wait for the first one's answer to learn that the connection is not
	 * shared. */
	curl_easy_setopt(easy, CURLOPT_PIPEWAIT, may_multiplex ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_URL, call->renamed_url ? call->renamed_url : call->url);
	curl_easy_setopt(easy, CURLOPT_CONNECT_TO, call->connect_to ? &call->connect_node : NULL);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->headers);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, call);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->curl_message);
}

void call_unconfigure(struct http_call *call)
{
	CURL *easy = call->easy;

	curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDS, NULL);
	curl_easy_setopt(easy, CURLOPT_CONNECT_TO, NULL);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, NULL);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, NULL);
}

int call_error(struct http_call *call, enum error_kind kind, const char *format, ...)
{
	char what[LIMIT_ERROR_MESSAGE];
	va_list args;

	call->over = true;
	if (call->error.kind != ERROR_NONE)
		return -1;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return error_set(&call->error, kind != ERROR_NONE ? kind : ERROR_INVALID, "%s %.*s: %s",
			 call->method, STR_ARGS(call->target), what);
}

void call_fail(struct http_call *call, enum error_kind kind, const char *what)
{
	if (call->over)
		return;
	call_error(call, kind, "%s", what);
	list_unlink(&call->link);
	list_append(&call->pool->failed, &call->link);
	loop_defer(&call->pool->work);
}

/* libcurl says "out of memory" also of a header larger than it takes; true lack of memory ends the
 * program. */
static enum error_kind kind_of(CURLcode code)
{
	static const struct {
		CURLcode code;
		enum error_kind kind;
	} kinds[] = {
		{CURLE_OPERATION_TIMEDOUT, ERROR_TIMEOUT},
		{CURLE_OUT_OF_MEMORY, ERROR_LIMIT},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].code == code)
			return kinds[i].kind;
	return ERROR_UNAVAILABLE;
}

/* libcurl asks for the peer's name first when a connection is there, and says so when it is gone
 * again. */
static const char *text_of(const struct http_call *call, CURLcode code)
{
	const char *message = call->curl_message;

	if (strncmp(message, "getpeername()", strlen("getpeername()")) == 0)
		return "the server reset the connection at once";
	return message[0] ? message : curl_easy_strerror(code);
}

void call_judge(struct http_call *call, CURLcode code)
{
	if (code != CURLE_OK && call->error.kind == ERROR_NONE)
		call_error(call, kind_of(code), "%s", text_of(call, code));
	call->over = true;
}
