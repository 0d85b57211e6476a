/* SPDX-License-Identifier: Apache-2.0 */
/* The server: which verb, whether this replica answers, and how long it took. */
#include "extender/extender.h"

#include "base/mem.h"
#include "cluster/placing/assume.h"
#include "extender/internal.h"

#define JSON "application/json"

static const double latency_buckets[] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05};

/* --- verbs */

static void fail(struct http_server_reply *reply, int status, const char *message)
{
	reply->status = status;
	buf_reset(&reply->body);
	buf_add_cstr(&reply->body, message);
}

bool extender_answers(const struct extender *extender, struct http_server_reply *reply)
{
	if (extender->options.may_answer(extender->options.context))
		return true;
	/* A Service sends new connections alone to who leads. */
	reply->close = true;
	fail(reply, 503, "this replica does not lead, or has not seen all yet\n");
	return false;
}

static void answer_filter(struct extender *extender, const struct http_server_request *request,
			  struct http_server_reply *reply)
{
	verb_filter(extender, request->body, &reply->body);
}

static void answer_prioritize(struct extender *extender, const struct http_server_request *request,
			      struct http_server_reply *reply)
{
	struct error err = {0};

	if (verb_prioritize(extender, request->body, &reply->body, &err) < 0)
		fail(reply, 400, err.message);
}

static void answer_preempt(struct extender *extender, const struct http_server_request *request,
			   struct http_server_reply *reply)
{
	struct error err = {0};

	if (verb_preempt(extender, request->body, &reply->body, &err) < 0)
		fail(reply, 400, err.message);
}

static const struct verb {
	const char *path, *name;
	void (*answer)(struct extender *extender, const struct http_server_request *request,
		       struct http_server_reply *reply);
} verbs[] = {
	{"/filter", "filter", answer_filter},
	{"/prioritize", "prioritize", answer_prioritize},
	{"/preempt", "preempt", answer_preempt},
	{"/bind", "bind", verb_bind},
};

static const struct verb *verb_of(const struct http_server_request *request)
{
	if (request->method != HTTP_SERVER_POST)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (strcmp(request->path, verbs[i].path) == 0)
			return &verbs[i];
	return NULL;
}

static void handle(void *context, const struct http_server_request *request,
		   struct http_server_reply *reply)
{
	struct extender *extender = context;
	const struct verb *verb = verb_of(request);
	int64_t began_us = clock_monotonic(loop_clock(extender->loop));

	if (!verb) {
		fail(reply, 404, "POST /filter, /prioritize, /preempt or /bind\n");
		return;
	}
	if (!extender_answers(extender, reply)) {
		metric_add(extender->calls, (const char *[]){verb->name, "503"}, 1);
		return;
	}
	reply->content_type = JSON;
	verb->answer(extender, request, reply);
	metric_add(extender->calls,
		   (const char *[]){verb->name, reply->status == 200 ? "200" : "400"}, 1);
	metric_observe(extender->latency, (const char *[]){verb->name},
		       (double)(clock_monotonic(loop_clock(extender->loop)) - began_us) /
			       USEC_PER_SEC);
}

/* --- life */

static void expire(void *context)
{
	struct extender *extender = context;
	int64_t next_us;

	cluster_expire_assumptions(extender->options.cluster, loop_now(extender->loop), &next_us);
	loop_timer_set(&extender->expiry, next_us);
	extender->options.touched(extender->options.context);
}

static void reread(void *context, const struct error *err)
{
	const struct extender *extender = context;

	if (err)
		log_error(extender->options.log, "the extender's certificates cannot be read again",
			  LOG_CSTR("error", err->message));
	else
		log_info(extender->options.log, "the extender's certificates were read again");
}

static void register_metrics(struct extender *extender)
{
	struct metrics *metrics = extender->options.metrics;

	if (!metrics)
		return;
	extender->calls = metrics_counter(metrics, "gpuqos_extender_calls_total",
					  "Calls of kube-scheduler, by verb and HTTP status.",
					  (const char *[]){"verb", "code", NULL});
	extender->latency = metrics_histogram(
		metrics, "gpuqos_extender_call_seconds",
		"From the last byte read to the answer queued; of bind, to the Binding sent or "
		"put off.",
		(const char *[]){"verb", NULL}, latency_buckets, ARRAY_SIZE(latency_buckets));
	extender->refusals = metrics_counter(
		metrics, "gpuqos_extender_refusals_total",
		"Calls of filter that no node passed, by each reason that some node had.",
		(const char *[]){"reason", NULL});
}

int extender_new(const struct extender_options *options, struct extender **ret_extender,
		 struct error *err)
{
	CLEANUP(extender_free) struct extender *extender = mem_alloc(sizeof(*extender));
	const struct http_server_tls tls = {.cert_file = options->cert_file,
					    .key_file = options->key_file,
					    .client_ca_file = options->client_ca_file,
					    .reread = reread};

	extender->options = *options;
	extender->loop = kube_client_loop(options->client);
	arena_init(&extender->arena, LIMIT_DECODE_ARENA);
	loop_timer_init(&extender->expiry, extender->loop, "assumptions", expire, extender);
	bindings_init(&extender->bindings, extender, options->metrics);
	register_metrics(extender);
	if (http_server_new(extender->loop,
			    &(struct http_server_options){
				    .address = options->address,
				    .handle = handle,
				    .context = extender,
				    .max_body = LIMIT_EXTENDER_BODY,
				    .tls = &tls,
			    },
			    &extender->server, err) < 0)
		return error_wrap(err, "extender");
	*ret_extender = TAKE(extender);
	return 0;
}

void extender_free(struct extender *extender)
{
	if (!extender)
		return;
	bindings_clear(&extender->bindings);
	http_server_free(extender->server);
	loop_timer_clear(&extender->expiry);
	arena_clear(&extender->arena);
	place_memory_clear(&extender->memory);
	mem_free(extender);
}

void extender_look_again(struct extender *extender)
{
	bindings_look_again(&extender->bindings);
}

uint16_t extender_port(const struct extender *extender)
{
	return http_server_port(extender->server);
}
