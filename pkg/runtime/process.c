/* SPDX-License-Identifier: Apache-2.0 */
/* The log is flushed after each turn: the one place that knows that a turn may have logged. */
#include "runtime/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"

#define STOP_US (4 * USEC_PER_SEC) /* of the 5 s in which a stop must be over */

static void on_request(void *context, const char *verb, const struct api_type *type, int status,
		       int64_t took_us)
{
	struct process *process = context;
	char code[16];

	(void)took_us;
	snprintf(code, sizeof(code), "%d", status);
	metric_add(process->requests, (const char *const[]){verb, type->plural, code}, 1);
}

/* What stderr does not take now is tried again a little later. */
static void flush_log(void *context)
{
	struct process *process = context;

	if (!log_flush(process->log))
		loop_timer_set(&process->log_timer, loop_now(process->loop) + 100 * USEC_PER_MSEC);
}

static void on_turn(void *context, const char *name, int64_t took_us)
{
	struct process *process = context;

	metric_observe(process->turns, (const char *const[]){name}, (double)took_us / USEC_PER_SEC);
	flush_log(process);
}

static void stopped(void *context)
{
	struct process *process = context;

	loop_stop(process->loop);
}

static void stop_timed_out(void *context)
{
	struct process *process = context;

	log_warning(process->log, "stopping without an answer from the API server",
		    LOG_CSTR("identity", process->identity));
	loop_stop(process->loop);
}

static void on_stop_signal(void *context)
{
	struct process *process = context;

	if (process->stopping)
		return;
	process->stopping = true;
	log_info(process->log, "stopping", LOG_CSTR("identity", process->identity));
	loop_timer_set(&process->stop_timer, loop_now(process->loop) + STOP_US);
	if (process->hooks.stop)
		process->hooks.stop(process->hooks.context, stopped, process);
	else
		stopped(process);
}

static void serve_metrics(void *context, const struct http_server_request *request,
			  struct http_server_reply *reply)
{
	struct process *process = context;

	if (strcmp(request->path, "/metrics") != 0) {
		reply->status = 404;
		return;
	}
	reply->content_type = "text/plain; version=0.0.4; charset=utf-8";
	metrics_write(process->metrics, &reply->body);
}

static void serve_health(void *context, const struct http_server_request *request,
			 struct http_server_reply *reply)
{
	struct process *process = context;
	const struct process_hooks *hooks = &process->hooks;

	if (strcmp(request->path, "/healthz") == 0)
		reply->status = hooks->healthy(hooks->context, &reply->body) ? 200 : 500;
	else if (strcmp(request->path, "/readyz") == 0)
		reply->status = hooks->ready(hooks->context, &reply->body) ? 200 : 503;
	else
		reply->status = 404;
}

static int serve(struct process *process, const char *address, http_handle_fn handle,
		 struct http_server **ret_server, struct error *err)
{
	if (strcmp(address, "0") == 0)
		return 0;
	return http_server_new(process->loop,
			       &(struct http_server_options){
				       .address = address, .handle = handle, .context = process},
			       ret_server, err);
}

static void make_identity(struct process *process)
{
	const char *pod = getenv("POD_NAME");
	char host[128] = "localhost";
	uint64_t unique;

	gethostname(host, sizeof(host) - 1);
	random_bytes(&unique, sizeof(unique));
	snprintf(process->identity, sizeof(process->identity), "%.200s_%016llx",
		 pod && *pod ? pod : host, (unsigned long long)unique);
}

static void make_metrics(struct process *process)
{
	static const char *const by_request[] = {"verb", "resource", "code", NULL};
	static const char *const by_source[] = {"source", NULL};
	static const char *const by_version[] = {"version", NULL};
	static const double turn_seconds[] = {0.00003, 0.0001, 0.0003, 0.001, 0.003,
					      0.01,    0.03,   0.1,    0.3};

	process->metrics = metrics_new();
	process->requests =
		metrics_counter(process->metrics, "gpuqos_api_requests_total",
				"Requests to the API server; code 0: no answer.", by_request);
	process->turns = metrics_histogram(process->metrics, "gpuqos_loop_turn_seconds",
					   "How long turns of the event loop took.", by_source,
					   turn_seconds, ARRAY_SIZE(turn_seconds));
	metric_set(metrics_gauge(process->metrics, "gpuqos_build_info", "Always 1.", by_version),
		   (const char *const[]){process->version}, 1);
}

static int make_client(struct process *process, struct error *err)
{
	struct kube_config_options options;
	struct kube_config *config = NULL;
	char user_agent[96];

	kube_config_options_from_env(&options);
	if (process->settings.kubeconfig)
		options.path = process->settings.kubeconfig;
	options.context = process->settings.context;
	if (kube_config_load(&options, &config, err) < 0)
		return -1;
	snprintf(user_agent, sizeof(user_agent), "%s/%s", process->name, process->version);
	process->client = kube_client_new(process->loop, config,
					  &(struct kube_client_options){.seed = process->seed,
									.user_agent = user_agent,
									.on_request = on_request,
									.context = process});
	return 0;
}

int process_init(struct process *process, struct error *err)
{
	process->log = log_new(STDERR_FILENO, process->settings.format, process->settings.level,
			       clock_system());
	http_library_init();
	process->loop = loop_new(clock_system());
	random_bytes(&process->seed, sizeof(process->seed));
	make_identity(process);
	make_metrics(process);
	loop_timer_init(&process->log_timer, process->loop, "log", flush_log, process);
	loop_timer_init(&process->stop_timer, process->loop, "stop", stop_timed_out, process);
	loop_observe_turns(process->loop, on_turn, process);
	return make_client(process, err);
}

int process_serve(struct process *process, struct error *err)
{
	const struct process_settings *settings = &process->settings;

	if (serve(process, settings->metrics_address, serve_metrics, &process->metrics_server,
		  err) < 0 ||
	    serve(process, settings->health_address, serve_health, &process->health_server, err) <
		    0)
		return -1;
	loop_on_signal(process->loop, SIGTERM, on_stop_signal, process);
	loop_on_signal(process->loop, SIGINT, on_stop_signal, process);
	log_info(process->log, process->name, LOG_CSTR("version", process->version),
		 LOG_CSTR("identity", process->identity),
		 LOG_CSTR("server", kube_client_config(process->client)->server));
	return 0;
}

void process_run(struct process *process)
{
	loop_run(process->loop);
}

void process_close(struct process *process)
{
	http_server_free(process->metrics_server);
	http_server_free(process->health_server);
	process->metrics_server = process->health_server = NULL;
}

void process_clear(struct process *process)
{
	process_close(process);
	kube_client_free(process->client);
	loop_timer_clear(&process->log_timer);
	loop_timer_clear(&process->stop_timer);
	loop_free(process->loop);
	metrics_free(process->metrics);
	log_free(process->log);
}
