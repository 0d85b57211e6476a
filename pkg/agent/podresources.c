/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two questions, one after the other, on a connection that lives as long as they take. A gRPC call
 * is a POST whose body is a message behind five bytes: a flag for compression, which is not asked
 * for, and the length. Its outcome stands in grpc-status behind the body
 * (github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md).
 */
#include "agent/podresources.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "ctl/backoff.h"
#include "http/client.h"

#define TIMEOUT_US       (10 * USEC_PER_SEC)
#define BACKOFF_US       USEC_PER_SEC
#define BACKOFF_MOST_US  (60 * USEC_PER_SEC)
#define BACKOFF_RESET_US (5 * USEC_PER_MIN)

#define FRAME_HEAD         5
#define GRPC_UNIMPLEMENTED 12

/* Of a message, its wire structs and what is kept of them; a full node takes a tenth of it. */
#define HELD_MEMORY (16 * 1024 * 1024)

enum question { QUESTION_PODS, QUESTION_ALLOCATABLE, QUESTIONS };

static const char *const methods[QUESTIONS] = {
	[QUESTION_PODS] = "List",
	[QUESTION_ALLOCATABLE] = "GetAllocatableResources",
};

/* An answer, with all that it borrows from. */
struct told {
	struct buf answers[QUESTIONS];
	struct arena arena;
	struct held held;
};

struct podresources {
	struct loop *loop;
	struct podresources_options options;
	struct loop_timer timer;
	struct random random;
	struct backoff backoff;
	struct http_pool *pool; /* while a question is under way */
	enum question question;
	struct buf answers[QUESTIONS];
	struct told *last; /* NULL: nothing yet */
};

static void told_free(struct told *told)
{
	if (!told)
		return;
	for (int i = 0; i < QUESTIONS; i++)
		buf_clear(&told->answers[i]);
	arena_clear(&told->arena);
	mem_free(told);
}

static void forget(struct podresources *podresources)
{
	http_pool_free(TAKE(podresources->pool));
	for (int i = 0; i < QUESTIONS; i++)
		buf_clear(&podresources->answers[i]);
}

static void failed(struct podresources *podresources, const struct error *err)
{
	int64_t now_us = loop_now(podresources->loop);

	forget(podresources);
	loop_timer_set(&podresources->timer, now_us + backoff_fail(&podresources->backoff, now_us,
								   &podresources->random));
	podresources->options.on_answer(podresources->options.context, NULL, err);
}

/* The message in a body: exactly one frame, not compressed. Empty where there is no body. */
static int open_frame(const struct buf *body, struct str *ret_message, struct error *err)
{
	const unsigned char *head = (const unsigned char *)body->data;
	size_t len;

	if (body->overflowed)
		return error_set(err, ERROR_LIMIT, "an answer of more than %d bytes",
				 LIMIT_HELD_MESSAGE);
	if (body->len == 0) {
		*ret_message = STR_NONE;
		return 0;
	}
	if (body->len < FRAME_HEAD || head[0] != 0)
		return error_set(err, ERROR_INVALID, "no plain gRPC message");
	len = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
	if (len != body->len - FRAME_HEAD)
		return error_set(err, ERROR_INVALID, "a gRPC message of %zu bytes, in %zu", len,
				 body->len - FRAME_HEAD);
	*ret_message = (struct str){body->data + FRAME_HEAD, len};
	return 0;
}

static int read_answers(struct told *told, struct error *err)
{
	struct str message;

	if (open_frame(&told->answers[QUESTION_PODS], &message, err) < 0 ||
	    held_read_pods(message, &told->arena, &told->held, err) < 0 ||
	    open_frame(&told->answers[QUESTION_ALLOCATABLE], &message, err) < 0 ||
	    held_read_allocatable(message, &told->arena, &told->held, err) < 0)
		return -1;
	return 0;
}

/* The answers' bytes move with what is read of them. */
static struct told *told_new(struct podresources *podresources)
{
	struct told *told = mem_alloc(sizeof(*told));

	arena_init(&told->arena, HELD_MEMORY);
	for (int i = 0; i < QUESTIONS; i++) {
		told->answers[i] = podresources->answers[i];
		buf_init(&podresources->answers[i], FRAME_HEAD + LIMIT_HELD_MESSAGE);
	}
	return told;
}

static void conclude(struct podresources *podresources)
{
	struct told *told = told_new(podresources), *before = podresources->last;
	struct error err = {0};

	if (read_answers(told, &err) < 0) {
		told_free(told);
		error_wrap(&err, "kubelet at %s", podresources->options.socket);
		failed(podresources, &err);
		return;
	}
	forget(podresources);
	podresources->last = told;
	loop_timer_set(&podresources->timer,
		       loop_now(podresources->loop) + podresources->options.every_us);
	podresources->options.on_answer(podresources->options.context, &told->held, NULL);
	told_free(before);
}

static int judge(const struct podresources *podresources, const struct http_response *response,
		 struct error *err)
{
	int status = response->grpc_status;

	if (status == 0 ||
	    (status == GRPC_UNIMPLEMENTED && podresources->question == QUESTION_ALLOCATABLE))
		return 0;
	if (response->status != 200 || status < 0)
		return error_set(err, ERROR_UNAVAILABLE, "kubelet at %s does not speak gRPC: %d",
				 podresources->options.socket, response->status);
	return error_set(err, ERROR_UNAVAILABLE, "kubelet at %s: %s: gRPC status %d: %.*s",
			 podresources->options.socket, methods[podresources->question], status,
			 STR_ARGS(response->grpc_message));
}

static void send(struct podresources *podresources);

static void on_done(void *context, const struct http_response *response, const struct error *err)
{
	struct podresources *podresources = context;
	struct error bad = {0};

	if (err && err->kind == ERROR_CANCELLED)
		return; /* by forget() */
	if (err)
		bad = *err;
	if (err || judge(podresources, response, &bad) < 0) {
		failed(podresources, &bad);
	} else if (++podresources->question < QUESTIONS) {
		send(podresources);
	} else {
		conclude(podresources);
	}
}

static int on_body(void *context, struct str bytes, struct error *err)
{
	struct podresources *podresources = context;
	struct buf *answer = &podresources->answers[podresources->question];

	if (buf_add_str(answer, bytes))
		return 0;
	return error_set(err, ERROR_LIMIT, "an answer of more than %d bytes", LIMIT_HELD_MESSAGE);
}

static void send(struct podresources *podresources)
{
	static const struct http_header headers[] = {
		{"Content-Type", "application/grpc", false},
		{"TE", "trailers", false},
	};
	static const char nothing[FRAME_HEAD] = {0};
	const struct http_handlers handlers = {
		.on_body = on_body, .on_done = on_done, .context = podresources};
	char url[128];
	struct error err = {0};

	snprintf(url, sizeof(url), "http://localhost/v1.PodResourcesLister/%s",
		 methods[podresources->question]);
	if (http_send(podresources->pool,
		      &(struct http_request){.method = "POST",
					     .url = url,
					     .headers = headers,
					     .n_headers = ARRAY_SIZE(headers),
					     .body = {nothing, sizeof(nothing)},
					     .timeout_us = TIMEOUT_US},
		      &handlers, NULL, &err) < 0)
		failed(podresources, &err);
}

/* Said before libcurl would say that it could not connect. */
static int check_socket(const char *path, struct error *err)
{
	if (access(path, R_OK | W_OK) == 0)
		return 0;
	if (errno == ENOENT)
		return error_set(err, ERROR_NOT_FOUND,
				 "%s: kubelet's socket is not there; mount its folder into the pod",
				 path);
	return error_set(err, ERROR_FORBIDDEN,
			 "%s: kubelet's socket may not be used (%s); run as the user who owns it",
			 path, strerror(errno));
}

static void ask(void *context)
{
	struct podresources *podresources = context;
	struct http_pool_options options = {
		.name = "pod-resources",
		.connect_timeout_us = TIMEOUT_US,
		.unix_socket = podresources->options.socket,
	};
	struct error err = {0};

	if (podresources->pool)
		return;
	if (check_socket(podresources->options.socket, &err) < 0 ||
	    http_pool_new(podresources->loop, &options, &podresources->pool, &err) < 0) {
		failed(podresources, &err);
		return;
	}
	podresources->question = QUESTION_PODS;
	send(podresources);
}

struct podresources *podresources_new(struct loop *loop, const struct podresources_options *options)
{
	struct podresources *podresources = mem_alloc(sizeof(*podresources));

	podresources->loop = loop;
	podresources->options = *options;
	random_init(&podresources->random, options->seed);
	backoff_init(&podresources->backoff, BACKOFF_US, BACKOFF_MOST_US, 1.0, BACKOFF_RESET_US);
	for (int i = 0; i < QUESTIONS; i++)
		buf_init(&podresources->answers[i], FRAME_HEAD + LIMIT_HELD_MESSAGE);
	loop_timer_init(&podresources->timer, loop, "pod resources", ask, podresources);
	return podresources;
}

void podresources_start(struct podresources *podresources)
{
	loop_defer(&podresources->timer);
}

void podresources_free(struct podresources *podresources)
{
	if (!podresources)
		return;
	loop_timer_clear(&podresources->timer);
	forget(podresources);
	told_free(podresources->last);
	mem_free(podresources);
}
