/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_HTTP_INTERNAL_H
#define GPUQOS_HTTP_INTERNAL_H

#include <curl/curl.h>

#include "base/list.h"
#include "http/client.h"

/* What the files of the client share. */

#define MAX_CONNECTIONS  64L          /* of one pool: a stream on HTTP/1.1 takes one for itself */
#define MAX_CONTENT_TYPE 128          /* bytes kept of one */
#define MAX_GRPC_MESSAGE 256          /* likewise; the rest is cut off */
#define IDLE_HANDLES     32           /* easy handles kept for the next request */
#define OWN_HEADERS      3            /* Content-Type, Expect, Host */
#define WHOLE_BUFFER     (32L * 1024) /* see take_easy() */

struct http_pool {
	struct loop *loop;
	const char *name;
	CURLM *multi;
	struct curl_blob ca, cert, key;              /* owned; the key is wiped */
	char *server_name, *proxy_url, *unix_socket; /* owned, may be NULL */
	long connect_timeout_ms, receive_buffer;
	bool insecure, http1_only;
	struct cutoff *cutoff; /* borrowed, may be NULL */

	struct loop_timer curl_timer;        /* when libcurl wants to be called next */
	struct loop_timer work;              /* starts what is queued, ends what has failed */
	struct loop_timer again;             /* see on_again() */
	struct list sockets;                 /* that libcurl wants watched */
	bool fed;                            /* libcurl had something since this was cleared */
	struct list queued, running, failed; /* a call is in exactly one, until on_done */
	struct list dead; /* pool freed: on_done was called, libcurl may still hold it */
	size_t inflight;
	CURL *idle[IDLE_HANDLES];
	size_t n_idle;
	unsigned int depth; /* frames of this package above the current one */
	bool freed;         /* by its owner; goes when depth is 0 */
};

struct http_call {
	struct list link;
	struct http_pool *pool;
	CURL *easy; /* NULL while queued */
	struct loop_timer timer;
	struct http_handlers handlers;
	bool (*may_send)(void *context, int64_t now_us);
	void *fence_context;

	const char *method;
	char *url;
	struct str target;          /* host and path within url, for messages */
	struct curl_slist *headers; /* one array, linked; wiped */
	size_t n_headers;
	char *renamed_url, *connect_to; /* NULL without server_name */
	struct curl_slist connect_node;
	char *body;
	size_t body_len;

	int64_t timeout_us, silence_us; /* 0 for none */
	long buffer_size;               /* of libcurl, for this transfer */
	size_t burst;                   /* bytes of the head, or of it and the first of the body */
	int64_t begun_us, heard_us;     /* of http_send() and of the last byte */

	struct http_response response;
	char content_type[MAX_CONTENT_TYPE], grpc_message[MAX_GRPC_MESSAGE];
	size_t header_bytes;
	bool headers_done;
	bool over; /* no handler may be called any more */
	struct error error;
	char curl_message[CURL_ERROR_SIZE];
};

/* request.c: from the caller's request to what libcurl is given. */
int call_pack(struct http_call *call, const struct http_request *request, struct error *err);
void call_unpack(struct http_call *call); /* releases, wipes */

/* call.c: one transfer. */
CURL *easy_new(struct http_pool *pool);
void call_configure(struct http_call *call); /* call->easy for this request */
void call_unconfigure(struct http_call *call);
/* The message gets method, host and path before it. Only the first failure counts; returns -1. */
int call_error(struct http_call *call, enum error_kind kind, const char *format, ...)
	PRINTF_LIKE(3, 4);
/* call_error(), and the end of the request in a later turn. */
void call_fail(struct http_call *call, enum error_kind kind, const char *what);
/* What libcurl says of a transfer that is over, unless a failure was noted before. */
void call_judge(struct http_call *call, CURLcode code);

void call_received(struct http_call *call, size_t bytes);

/* pool.c: libcurl may keep bytes of a connection; it is called again in a later turn. */
void pool_read_again(struct http_pool *pool);

/* response.c: libcurl's header callback. */
size_t call_header(char *data, size_t size, size_t n, void *context);

/* tls.c */
int http_ca_check(struct str ca_pem, struct error *err);

#endif
