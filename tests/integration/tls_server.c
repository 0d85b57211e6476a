/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server with TLS and bodies, as the extender's, whose handler only counts. Driven by
 * test_server_attack.py.
 *
 *   tls_server CERT KEY CLIENT-CA
 *
 * Prints its port, then serves until SIGTERM:
 *
 *   POST /count   {"bytes": N}
 *   POST /later   the same, 5 ms later
 *   GET /stats    what the server has counted, how often certificates were read again, and by how
 * many µs at most a timer has been late since the last GET
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>

#include "base/mem.h"
#include "codec/json_out.h"
#include "http/client.h"
#include "http/server.h"

#define MAX_BODY  (3 * 1024 * 1024)
#define LATER_US  (5 * USEC_PER_MSEC)
#define TICK_US   (5 * USEC_PER_MSEC)
#define REREAD_US (300 * USEC_PER_MSEC)
#define MAX_STATS 4096

struct program {
	struct loop *loop;
	struct http_server *server;
	struct loop_timer tick; /* tells how late timers are */
	int64_t due_us, lag_us;
	int64_t n_reread, n_bad;
};

struct waiting {
	struct loop_timer timer;
	struct http_later *later;
	size_t bytes;
};

static void write_count(struct buf *body, size_t bytes)
{
	struct json_out out;

	json_out_init(&out, body);
	json_out_object(&out, NULL);
	json_out_int(&out, "bytes", (int64_t)bytes);
	json_out_end(&out);
}

static void write_stats(struct program *program, struct buf *body)
{
	struct http_server_counts counts = http_server_counts(program->server);
	struct json_out out;

	json_out_init(&out, body);
	json_out_object(&out, NULL);
	json_out_int(&out, "connections", (int64_t)counts.connections);
	json_out_int(&out, "authenticated", (int64_t)counts.authenticated);
	json_out_int(&out, "accepted", (int64_t)counts.accepted);
	json_out_int(&out, "dropped", (int64_t)counts.dropped);
	json_out_int(&out, "unauthorized", (int64_t)counts.unauthorized);
	json_out_int(&out, "late", (int64_t)counts.late);
	json_out_int(&out, "refused", (int64_t)counts.refused);
	json_out_int(&out, "answered", (int64_t)counts.answered);
	json_out_int(&out, "reread", program->n_reread);
	json_out_int(&out, "bad", program->n_bad);
	json_out_int(&out, "lag", program->lag_us);
	json_out_end(&out);
}

static void answer_later(void *context)
{
	struct waiting *waiting = context;

	write_count(&http_later_reply(waiting->later)->body, waiting->bytes);
	http_later_send(waiting->later);
	loop_timer_clear(&waiting->timer);
	mem_free(waiting);
}

static void handle(void *context, const struct http_server_request *request,
		   struct http_server_reply *reply)
{
	struct program *program = context;
	struct waiting *waiting;

	if (strcmp(request->path, "/count") == 0) {
		write_count(&reply->body, request->body.len);
	} else if (strcmp(request->path, "/later") == 0) {
		waiting = mem_alloc(sizeof(*waiting));
		waiting->later = http_later_new(request);
		waiting->bytes = request->body.len;
		loop_timer_init(&waiting->timer, program->loop, "later", answer_later, waiting);
		loop_timer_set(&waiting->timer, loop_now(program->loop) + LATER_US);
	} else if (strcmp(request->path, "/stats") == 0) {
		if (request->query)
			program->lag_us = 0;
		write_stats(program, &reply->body);
	} else {
		reply->status = 404;
	}
}

static void reread(void *context, const struct error *err)
{
	struct program *program = context;

	if (!err) {
		program->n_reread++;
		return;
	}
	program->n_bad++;
	fprintf(stderr, "%s\n", err->message);
}

static void on_tick(void *context)
{
	struct program *program = context;
	int64_t now = loop_now(program->loop);

	if (program->due_us > 0)
		program->lag_us = MAX(program->lag_us, now - program->due_us);
	program->due_us = now + TICK_US;
	loop_timer_set(&program->tick, program->due_us);
}

static void stop(void *context)
{
	loop_stop(context);
}

int main(int argc, char **argv)
{
	struct program program = {0};
	struct http_server_tls tls = {.reread = reread, .reread_us = REREAD_US};
	struct http_server_options options = {.address = "127.0.0.1:0",
					      .handle = handle,
					      .context = &program,
					      .max_body = MAX_BODY,
					      .tls = &tls};
	struct error err;

	if (argc != 4)
		return 2;
	tls.cert_file = argv[1];
	tls.key_file = argv[2];
	tls.client_ca_file = argv[3];
	http_library_init();
	program.loop = loop_new(clock_system());
	if (http_server_new(program.loop, &options, &program.server, &err) < 0) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	printf("%u\n", http_server_port(program.server));
	fflush(stdout);
	loop_timer_init(&program.tick, program.loop, "tick", on_tick, &program);
	on_tick(&program);
	loop_on_signal(program.loop, SIGTERM, stop, program.loop);
	loop_run(program.loop);
	loop_timer_clear(&program.tick);
	http_server_free(program.server);
	loop_free(program.loop);
	return 0;
}
