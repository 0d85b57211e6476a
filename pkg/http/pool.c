/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool: one multi handle of libcurl, driven by the loop. libcurl may not be entered from its own
 * callbacks, so http_send() and http_cancel() only put calls on lists; a turn of its own adds them
 * to the multi handle or takes them out. A pool freed from inside a handler goes when the frames
 * above are gone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "http/internal.h"

#define DEFAULT_BUFFER (16 * 1024)
#define STEPS_PER_TURN 8 /* calls started or ended, each some tens of µs */

struct socket_watch {
	struct list link;
	curl_socket_t fd;
	struct loop_fd *watch;
	bool again; /* libcurl may keep bytes from it */
};

static struct http_call *first_of(const struct list *calls)
{
	struct list *first = list_first(calls);

	return first ? container_of(first, struct http_call, link) : NULL;
}

static void call_free(struct http_call *call)
{
	loop_timer_clear(&call->timer);
	call_unpack(call);
	mem_free(call);
}

/* Takes the easy handle back, for the next request where there is room. */
static void release_easy(struct http_call *call)
{
	struct http_pool *pool = call->pool;

	if (!call->easy)
		return;
	curl_multi_remove_handle(pool->multi, call->easy);
	call_unconfigure(call);
	if (pool->n_idle < IDLE_HANDLES)
		pool->idle[pool->n_idle++] = call->easy;
	else
		curl_easy_cleanup(call->easy);
	call->easy = NULL;
}

static void say_done(struct http_call *call)
{
	bool failed = call->error.kind != ERROR_NONE;

	call->pool->inflight--;
	loop_timer_clear(&call->timer);
	call->error.http_status = failed ? call->response.status : 0;
	call->handlers.on_done(call->handlers.context, &call->response,
			       failed ? &call->error : NULL);
}

static void finish(struct http_call *call)
{
	list_unlink(&call->link);
	release_easy(call);
	say_done(call);
	call_free(call);
}

static void pool_destroy(struct http_pool *pool)
{
	struct list *it;

	while ((it = list_pop(&pool->dead))) {
		struct http_call *call = container_of(it, struct http_call, link);

		release_easy(call);
		call_free(call);
	}
	for (size_t i = 0; i < pool->n_idle; i++)
		curl_easy_cleanup(pool->idle[i]);
	curl_multi_cleanup(pool->multi);
	loop_timer_clear(&pool->curl_timer);
	loop_timer_clear(&pool->work);
	loop_timer_clear(&pool->again);
	if (pool->key.data)
		mem_wipe(pool->key.data, pool->key.len);
	mem_free(pool->ca.data);
	mem_free(pool->cert.data);
	mem_free(pool->key.data);
	mem_free(pool->server_name);
	mem_free(pool->unix_socket);
	mem_free_secret(pool->proxy_url);
	mem_free(pool);
}

static void enter(struct http_pool *pool)
{
	pool->depth++;
}

static void leave(struct http_pool *pool)
{
	if (--pool->depth == 0 && pool->freed)
		pool_destroy(pool);
}

/* --- libcurl in, libcurl out */

static void collect(struct http_pool *pool)
{
	CURLMsg *message;
	int left;

	while (!pool->freed && (message = curl_multi_info_read(pool->multi, &left))) {
		CURLcode code = message->data.result;
		struct http_call *call = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
		call_judge(call, code);
		finish(call);
	}
}

static void act(struct http_pool *pool, curl_socket_t fd, int mask)
{
	int running;

	enter(pool);
	curl_multi_socket_action(pool->multi, fd, mask, &running);
	collect(pool);
	leave(pool);
}

static struct socket_watch *find_socket(const struct http_pool *pool, curl_socket_t fd)
{
	list_for_each(it, &pool->sockets) {
		struct socket_watch *watch = container_of(it, struct socket_watch, link);

		if (watch->fd == fd)
			return watch;
	}
	return NULL;
}

/* All connections, mostly one: libcurl does not tell of a running call on which it is. */
void pool_read_again(struct http_pool *pool)
{
	list_for_each(it, &pool->sockets)
		container_of(it, struct socket_watch, link)->again = true;
	loop_defer(&pool->again);
}

static struct socket_watch *first_again(const struct http_pool *pool)
{
	list_for_each(it, &pool->sockets) {
		struct socket_watch *watch = container_of(it, struct socket_watch, link);

		if (watch->again)
			return watch;
	}
	return NULL;
}

/*
 * Over HTTP/2 libcurl may keep bytes that did not fit into the receive buffer, and says so neither
 * by a timer nor by the socket, which it has emptied: without another call they would lie there
 * until the server sends more. So it is called until nothing comes.
 */
static void on_again(void *context)
{
	struct http_pool *pool = context;
	struct socket_watch *watch = first_again(pool);
	curl_socket_t fd;

	if (!watch)
		return;
	fd = watch->fd;
	watch->again = pool->fed = false;
	enter(pool);
	act(pool, fd, CURL_CSELECT_IN);
	watch = find_socket(pool, fd);
	if (watch && pool->fed)
		watch->again = true;
	if (!pool->freed && first_again(pool))
		loop_defer(&pool->again);
	leave(pool);
}

static void on_curl_timer(void *context)
{
	act(context, CURL_SOCKET_TIMEOUT, 0);
}

static void on_socket(void *context, int fd, unsigned int events)
{
	int mask = (events & LOOP_READ ? CURL_CSELECT_IN : 0) |
		   (events & LOOP_WRITE ? CURL_CSELECT_OUT : 0);

	act(context, fd, mask);
}

static int curl_wants_timer(CURLM *multi UNUSED, long wait_ms, void *context)
{
	struct http_pool *pool = context;

	if (wait_ms < 0)
		loop_timer_clear(&pool->curl_timer);
	else
		loop_timer_set(&pool->curl_timer, loop_now(pool->loop) + wait_ms * USEC_PER_MSEC);
	return 0;
}

static struct socket_watch *socket_new(struct http_pool *pool, curl_socket_t fd)
{
	struct socket_watch *watch = mem_alloc(sizeof(*watch));

	watch->fd = fd;
	watch->watch = loop_fd_new(pool->loop, pool->name, fd, on_socket, pool);
	list_append(&pool->sockets, &watch->link);
	curl_multi_assign(pool->multi, fd, watch);
	return watch;
}

static void socket_free(struct socket_watch *watch)
{
	if (!watch)
		return;
	list_unlink(&watch->link);
	loop_fd_free(watch->watch);
	mem_free(watch);
}

static int curl_wants_socket(CURL *easy UNUSED, curl_socket_t fd, int what, void *context,
			     void *watch_context)
{
	struct http_pool *pool = context;
	struct socket_watch *watch = watch_context;

	if (what == CURL_POLL_REMOVE) {
		curl_multi_assign(pool->multi, fd, NULL);
		socket_free(watch);
		return 0;
	}
	if (!watch)
		watch = socket_new(pool, fd);
	loop_fd_update(watch->watch, (what & CURL_POLL_IN ? LOOP_READ : 0) |
					     (what & CURL_POLL_OUT ? LOOP_WRITE : 0));
	return 0;
}

/* --- the pool's own turn */

/*
 * Small for a stream, where it bounds a turn; an answer that ends soon is better taken at once.
 * libcurl refuses another size as long as a handle still has its old buffer.
 */
static void take_easy(struct http_call *call)
{
	struct http_pool *pool = call->pool;
	long size = pool->receive_buffer;

	call->buffer_size = call->timeout_us > 0 ? MAX(size, WHOLE_BUFFER) : size;
	call->easy = pool->n_idle > 0 ? pool->idle[--pool->n_idle] : easy_new(pool);
	if (curl_easy_setopt(call->easy, CURLOPT_BUFFERSIZE, call->buffer_size) == CURLE_OK)
		return;
	curl_easy_cleanup(call->easy);
	call->easy = easy_new(pool);
	curl_easy_setopt(call->easy, CURLOPT_BUFFERSIZE, call->buffer_size);
}

static void start(struct http_call *call)
{
	struct http_pool *pool = call->pool;

	list_unlink(&call->link);
	list_append(&pool->running, &call->link);
	take_easy(call);
	call_configure(call);
	curl_multi_add_handle(pool->multi, call->easy);
}

static void on_work(void *context)
{
	struct http_pool *pool = context;
	struct http_call *call;

	enter(pool);
	for (int steps = STEPS_PER_TURN; steps > 0 && !pool->freed; steps--) {
		if ((call = first_of(&pool->failed)))
			finish(call);
		else if ((call = first_of(&pool->queued)))
			start(call);
	}
	if (!list_empty(&pool->failed) || !list_empty(&pool->queued))
		loop_defer(&pool->work);
	leave(pool);
}

/* --- making one */

static struct curl_blob copy_blob(struct str pem)
{
	struct curl_blob blob = {.len = pem.len, .flags = CURL_BLOB_NOCOPY};

	if (!str_empty(pem)) {
		blob.data = mem_alloc(pem.len);
		memcpy(blob.data, pem.data, pem.len);
	}
	return blob;
}

/*
 * Names are resolved by a SOCKS proxy, as Go's client does it: libcurl calls that socks5h. A copy,
 * or NULL for a scheme that is not supported.
 */
static char *copy_proxy(const char *url)
{
	static const char *const schemes[] = {"http://", "https://", "socks5h://"};
	const size_t socks = strlen("socks5://");

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (strncmp(url, schemes[i], strlen(schemes[i])) == 0)
			return mem_strdup(url);
	if (strncmp(url, "socks5://", socks) == 0) {
		size_t rest = strlen(url + socks), scheme = strlen(schemes[2]);
		char *copy = mem_alloc(scheme + rest + 1);

		memcpy(copy, schemes[2], scheme);
		memcpy(copy + scheme, url + socks, rest);
		return copy;
	}
	return NULL;
}

static int check_tls(const struct http_tls *tls, struct error *err)
{
	int64_t not_before, not_after;

	if (!str_empty(tls->ca_pem) && http_ca_check(tls->ca_pem, err) < 0)
		return -1;
	if (str_empty(tls->cert_pem) && str_empty(tls->key_pem))
		return 0;
	return http_certificate_check(tls->cert_pem, tls->key_pem, &not_before, &not_after, err);
}

static CURLM *multi_new(struct http_pool *pool)
{
	CURLM *multi = curl_multi_init();

	if (!multi)
		abort(); /* allocation does not fail: a library that was not initialised */
	curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, curl_wants_socket);
	curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, pool);
	curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, curl_wants_timer);
	curl_multi_setopt(multi, CURLMOPT_TIMERDATA, pool);
	curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
	curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)LIMIT_HTTP_INFLIGHT);
	curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, MAX_CONNECTIONS);
	curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, MAX_CONNECTIONS);
	return multi;
}

static void copy_options(struct http_pool *pool, const struct http_pool_options *options)
{
	const struct http_tls *tls = &options->tls;
	size_t buffer = options->receive_buffer > 0 ? options->receive_buffer : DEFAULT_BUFFER;

	pool->name = options->name;
	pool->ca = copy_blob(tls->ca_pem);
	pool->cert = copy_blob(tls->cert_pem);
	pool->key = copy_blob(tls->key_pem);
	if (!str_empty(tls->server_name))
		pool->server_name = mem_strndup(tls->server_name.data, tls->server_name.len);
	if (options->unix_socket)
		pool->unix_socket = mem_strdup(options->unix_socket);
	pool->insecure = tls->insecure;
	pool->http1_only = options->http1_only;
	pool->cutoff = options->cutoff;
	pool->receive_buffer = (long)MIN(MAX(buffer, 1024), CURL_MAX_READ_SIZE);
	pool->connect_timeout_ms = (long)MAX(options->connect_timeout_us / USEC_PER_MSEC, 1);
}

int http_pool_new(struct loop *loop, const struct http_pool_options *options,
		  struct http_pool **ret_pool, struct error *err)
{
	char *proxy = options->proxy_url ? copy_proxy(options->proxy_url) : NULL;
	struct http_pool *pool;

	if (options->proxy_url && !proxy)
		return error_set(err, ERROR_INVALID, "proxy URL: neither http, https nor socks5");
	if (check_tls(&options->tls, err) < 0) {
		mem_free(proxy);
		return -1;
	}
	pool = mem_alloc(sizeof(*pool));
	pool->loop = loop;
	pool->proxy_url = proxy;
	copy_options(pool, options);
	list_init(&pool->queued);
	list_init(&pool->running);
	list_init(&pool->failed);
	list_init(&pool->dead);
	list_init(&pool->sockets);
	loop_timer_init(&pool->curl_timer, loop, options->name, on_curl_timer, pool);
	loop_timer_init(&pool->work, loop, options->name, on_work, pool);
	loop_timer_init(&pool->again, loop, options->name, on_again, pool);
	pool->multi = multi_new(pool);
	*ret_pool = pool;
	return 0;
}

static struct http_call *any_of(const struct http_pool *pool)
{
	struct http_call *call = first_of(&pool->failed);

	if (!call)
		call = first_of(&pool->running);
	return call ? call : first_of(&pool->queued);
}

/* Handlers may move calls from list to list meanwhile. */
void http_pool_free(struct http_pool *pool)
{
	struct http_call *call;

	if (!pool || pool->freed)
		return;
	pool->freed = true;
	enter(pool);
	while ((call = any_of(pool))) {
		call_error(call, ERROR_CANCELLED, "the connection pool is closed");
		list_unlink(&call->link);
		list_append(&pool->dead, &call->link);
		say_done(call);
	}
	leave(pool);
}

/* --- requests */

/* Set again only when it rings: a byte received costs one assignment. */
static void on_call_timer(void *context)
{
	struct http_call *call = context;
	int64_t now = loop_now(call->pool->loop);
	int64_t end = call->timeout_us ? call->begun_us + call->timeout_us : TIME_NEVER;
	int64_t silent = call->silence_us ? call->heard_us + call->silence_us : TIME_NEVER;

	if (end <= now)
		call_fail(call, ERROR_TIMEOUT, "no complete answer in time");
	else if (silent <= now)
		call_fail(call, ERROR_TIMEOUT, "the server has fallen silent");
	else
		loop_timer_set(&call->timer, MIN(end, silent));
}

int http_send(struct http_pool *pool, const struct http_request *request,
	      const struct http_handlers *handlers, struct http_call **ret_call, struct error *err)
{
	struct http_call *call;

	if (pool->freed)
		return error_set(err, ERROR_CANCELLED, "the connection pool is closed");
	if (pool->inflight >= LIMIT_HTTP_INFLIGHT)
		return error_set(err, ERROR_LIMIT, "%s: more than %d requests under way",
				 pool->name, LIMIT_HTTP_INFLIGHT);
	call = mem_alloc(sizeof(*call));
	call->pool = pool;
	call->handlers = *handlers;
	call->response.grpc_status = -1;
	call->begun_us = call->heard_us = loop_now(pool->loop);
	loop_timer_init(&call->timer, pool->loop, pool->name, on_call_timer, call);
	if (call_pack(call, request, err) < 0) {
		call_free(call);
		return -1;
	}
	pool->inflight++;
	list_append(&pool->queued, &call->link);
	on_call_timer(call);
	loop_defer(&pool->work);
	if (ret_call)
		*ret_call = call;
	return 0;
}

void http_cancel(struct http_call *call)
{
	if (call)
		call_fail(call, ERROR_CANCELLED, "cancelled");
}

static void fence(struct list *calls)
{
	list_for_each_safe(it, calls) {
		struct http_call *call = container_of(it, struct http_call, link);

		if (call->may_send)
			call_fail(call, ERROR_FENCED, "given up under way");
	}
}

void http_pool_fence(struct http_pool *pool)
{
	fence(&pool->queued);
	fence(&pool->running);
}

size_t http_pool_inflight(const struct http_pool *pool)
{
	return pool->inflight;
}
