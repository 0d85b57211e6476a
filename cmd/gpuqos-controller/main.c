/* SPDX-License-Identifier: Apache-2.0 */
/* gpuqos-controller: flags, wiring, exit code. 0 after an orderly stop, 1 when it could not start,
 * 2 for wrong usage. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/random.h"
#include "controller/controller.h"
#include "flags.h"
#include "http/server.h"

#ifndef GPUQOS_VERSION
#define GPUQOS_VERSION "0.1.0-dev"
#endif

#define STOP_US (4 * USEC_PER_SEC) /* of the 5 s in which a stop must be over */

struct program {
	struct flags flags;
	struct log *log;
	struct metrics *metrics;
	struct metric_family *requests, *turns;
	struct loop *loop;
	struct kube_client *client;
	struct controller *controller;
	struct http_server *metrics_server, *health_server;
	struct loop_timer log_timer, stop_timer;
	char identity[LIMIT_NAME + 1];
	uint64_t seed; /* of all jitter in this process */
	bool stopping;
};

static void on_request(void *context, const char *verb, const struct api_type *type, int status,
		       int64_t took_us)
{
	struct program *program = context;
	char code[16];

	(void)took_us;
	snprintf(code, sizeof(code), "%d", status);
	metric_add(program->requests, (const char *const[]){verb, type->plural, code}, 1);
}

/* What stderr does not take now is tried again a little later. */
static void flush_log(void *context)
{
	struct program *program = context;

	if (!log_flush(program->log))
		loop_timer_set(&program->log_timer, loop_now(program->loop) + 100 * USEC_PER_MSEC);
}

/* After every turn: the one place that knows that a turn may have logged. */
static void on_turn(void *context, const char *name, int64_t took_us)
{
	struct program *program = context;

	metric_observe(program->turns, (const char *const[]){name}, (double)took_us / USEC_PER_SEC);
	flush_log(program);
}

static void stopped(void *context)
{
	struct program *program = context;

	loop_stop(program->loop);
}

static void stop_timed_out(void *context)
{
	struct program *program = context;

	log_warning(program->log, "stopping without an answer from the API server",
		    LOG_CSTR("identity", program->identity));
	loop_stop(program->loop);
}

static void on_stop_signal(void *context)
{
	struct program *program = context;

	if (program->stopping)
		return;
	program->stopping = true;
	log_info(program->log, "stopping", LOG_CSTR("identity", program->identity));
	loop_timer_set(&program->stop_timer, loop_now(program->loop) + STOP_US);
	controller_stop(program->controller, stopped, program);
}

static void serve_metrics(void *context, const struct http_server_request *request,
			  struct http_server_reply *reply)
{
	struct program *program = context;

	if (strcmp(request->path, "/metrics") != 0) {
		reply->status = 404;
		return;
	}
	reply->content_type = "text/plain; version=0.0.4; charset=utf-8";
	metrics_write(program->metrics, &reply->body);
}

static void serve_health(void *context, const struct http_server_request *request,
			 struct http_server_reply *reply)
{
	struct program *program = context;

	if (strcmp(request->path, "/healthz") == 0)
		reply->status = controller_healthy(program->controller, &reply->body) ? 200 : 500;
	else if (strcmp(request->path, "/readyz") == 0)
		reply->status = controller_ready(program->controller, &reply->body) ? 200 : 503;
	else
		reply->status = 404;
}

static int serve(struct program *program, const char *address, http_handle_fn handle,
		 struct http_server **ret_server, struct error *err)
{
	if (strcmp(address, "0") == 0)
		return 0;
	return http_server_new(program->loop, address, handle, program, ret_server, err);
}

static void make_identity(struct program *program)
{
	const char *pod = getenv("POD_NAME");
	char host[128] = "localhost";
	uint64_t unique;

	gethostname(host, sizeof(host) - 1);
	random_bytes(&unique, sizeof(unique));
	snprintf(program->identity, sizeof(program->identity), "%.200s_%016llx",
		 pod && *pod ? pod : host, (unsigned long long)unique);
}

static void make_metrics(struct program *program)
{
	static const char *const by_request[] = {"verb", "resource", "code", NULL};
	static const char *const by_source[] = {"source", NULL};
	static const char *const by_version[] = {"version", NULL};
	static const double turn_seconds[] = {0.00003, 0.0001, 0.0003, 0.001, 0.003,
					      0.01,    0.03,   0.1,    0.3};

	program->metrics = metrics_new();
	program->requests =
		metrics_counter(program->metrics, "gpuqos_api_requests_total",
				"Requests to the API server; code 0: no answer.", by_request);
	program->turns = metrics_histogram(program->metrics, "gpuqos_loop_turn_seconds",
					   "How long turns of the event loop took.", by_source,
					   turn_seconds, ARRAY_SIZE(turn_seconds));
	metric_set(metrics_gauge(program->metrics, "gpuqos_build_info", "Always 1.", by_version),
		   (const char *const[]){GPUQOS_VERSION}, 1);
}

static int make_client(struct program *program, struct error *err)
{
	struct kube_config_options options;
	struct kube_config *config = NULL;

	kube_config_options_from_env(&options);
	if (program->flags.kubeconfig)
		options.path = program->flags.kubeconfig;
	options.context = program->flags.context;
	if (kube_config_load(&options, &config, err) < 0)
		return -1;
	program->client = kube_client_new(program->loop, config,
					  &(struct kube_client_options){
						  .seed = program->seed,
						  .user_agent = "gpuqos-controller/" GPUQOS_VERSION,
						  .on_request = on_request,
						  .context = program,
					  });
	return 0;
}

static struct str lease_namespace(const struct program *program)
{
	const char *pod_namespace = getenv("POD_NAMESPACE");

	if (program->flags.lease_namespace)
		return str_from(program->flags.lease_namespace);
	if (pod_namespace && *pod_namespace)
		return str_from(pod_namespace);
	return str_from(kube_client_config(program->client)->namespace);
}

static int make_controller(struct program *program, struct error *err)
{
	return controller_new(program->client,
			      &(struct controller_options){
				      .config = &program->flags.config,
				      .identity = program->identity,
				      .leader_elect = program->flags.leader_elect,
				      .lease_namespace = lease_namespace(program),
				      .pod_namespace = str_from(getenv("POD_NAMESPACE")),
				      .pod_name = str_from(getenv("POD_NAME")),
				      .log = program->log,
				      .metrics = program->metrics,
				      .seed = program->seed + 1,
			      },
			      &program->controller, err);
}

static int start(struct program *program, struct error *err)
{
	program->log =
		log_new(STDERR_FILENO, program->flags.format, program->flags.level, clock_system());
	http_library_init();
	program->loop = loop_new(clock_system());
	random_bytes(&program->seed, sizeof(program->seed));
	make_identity(program);
	make_metrics(program);
	loop_timer_init(&program->log_timer, program->loop, "log", flush_log, program);
	loop_timer_init(&program->stop_timer, program->loop, "stop", stop_timed_out, program);
	loop_observe_turns(program->loop, on_turn, program);
	if (make_client(program, err) < 0 || make_controller(program, err) < 0 ||
	    serve(program, program->flags.metrics_address, serve_metrics, &program->metrics_server,
		  err) < 0 ||
	    serve(program, program->flags.health_address, serve_health, &program->health_server,
		  err) < 0)
		return -1;
	loop_on_signal(program->loop, SIGTERM, on_stop_signal, program);
	loop_on_signal(program->loop, SIGINT, on_stop_signal, program);
	log_info(program->log, "gpuqos-controller " GPUQOS_VERSION,
		 LOG_CSTR("identity", program->identity),
		 LOG_CSTR("server", kube_client_config(program->client)->server));
	controller_start(program->controller);
	return 0;
}

static void finish(struct program *program)
{
	http_server_free(program->metrics_server);
	http_server_free(program->health_server);
	controller_free(program->controller);
	kube_client_free(program->client);
	loop_timer_clear(&program->log_timer);
	loop_timer_clear(&program->stop_timer);
	loop_free(program->loop);
	metrics_free(program->metrics);
	log_free(program->log);
	controller_config_clear(&program->flags.config);
}

int main(int argc, char **argv)
{
	struct program program = {0};
	struct error err = {0};
	enum flags_outcome outcome;

	if (flags_parse(argc, argv, &program.flags, &outcome, &err) < 0) {
		fprintf(stderr, "gpuqos-controller: %s\n", err.message);
		return 2;
	}
	if (outcome == FLAGS_SHOW_VERSION)
		puts("gpuqos-controller " GPUQOS_VERSION);
	if (outcome == FLAGS_SHOW_HELP)
		flags_print_help(stdout);
	if (outcome != FLAGS_RUN)
		return 0;
	if (start(&program, &err) < 0) {
		fprintf(stderr, "gpuqos-controller: %s\n", err.message);
		finish(&program);
		return 1;
	}
	loop_run(program.loop);
	finish(&program);
	return 0;
}
