/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request to the API server of $KUBECONFIG, told as JSON lines: each part as it comes, then how
 * it ended. Driven by test_kube_client.py.
 *
 *   kube_client VERB TYPE [OPTION VALUE]...
 *
 * Verbs and options are in the tables below. --json 1 reads a built-in type as JSON, --parts N
 * takes back a watch after N parts, --streams N holds N watches open and counts connections.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "api/watch_event.h"
#include "api/wire.h"
#include "base/buf.h"
#include "base/limits.h"
#include "codec/json_out.h"
#include "codec/pb.h"
#include "kube/client.h"

struct options {
	const char *namespace, *name, *subresource, *body, *label_selector, *field_selector;
	const char *resource_version, *continue_token, *limit, *initial, *seconds, *json, *parts;
	const char *streams;
};

struct run {
	struct loop *loop;
	struct kube_call *call; /* NULL when it has ended */
	const struct kube_request *request;
	int64_t parts, most; /* most: taken back after so many, 0 for never */
};

static const char *const verbs[] = {
	[KUBE_GET] = "get",
	[KUBE_LIST] = "list",
	[KUBE_STREAM] = "watch",
	[KUBE_CREATE] = "create",
	[KUBE_UPDATE] = "update",
	[KUBE_APPLY] = "apply",
	[KUBE_MERGE_PATCH] = "merge-patch",
	[KUBE_JSON_PATCH] = "json-patch",
	[KUBE_DELETE] = "delete",
};

static const struct api_type *const types[] = {
	&api_pods,         &api_nodes,  &api_namespaces,        &api_resource_quotas,
	&api_limit_ranges, &api_leases, &api_gpu_memory_quotas, &api_events,
};

static const char *const event_names[] = {
	[API_EVENT_ADDED] = "ADDED",     [API_EVENT_MODIFIED] = "MODIFIED",
	[API_EVENT_DELETED] = "DELETED", [API_EVENT_BOOKMARK] = "BOOKMARK",
	[API_EVENT_ERROR] = "ERROR",
};

static void print_line(struct buf *line)
{
	puts(line->overflowed ? "{\"overflowed\":true}" : line->data);
	fflush(stdout);
}

static void add_error(struct json_out *out, const struct error *err)
{
	json_out_cstring(out, "error", error_kind_name(err->kind));
	json_out_cstring(out, "message", err->message);
	json_out_int(out, "http_status", err->http_status);
	json_out_int(out, "retry_after_us", err->retry_after_us);
}

/* What names an object of any kind, and what a bookmark would say. */
static int add_object(struct json_out *out, struct api_bytes object, struct arena *arena,
		      struct error *err)
{
	struct api_identity identity;
	struct api_bookmark bookmark;

	if (api_identity_read(object, arena, &identity, err) ||
	    api_bookmark_read(object, arena, &bookmark, err))
		return -1;
	json_out_string(out, "name", identity.name);
	json_out_string(out, "namespace", identity.namespace);
	json_out_string(out, "version", bookmark.resource_version);
	json_out_bool(out, "initial_events_end", bookmark.initial_events_end);
	return 0;
}

static int add_event(struct json_out *out, struct api_bytes bytes, struct arena *arena,
		     struct error *err)
{
	struct api_event event;
	struct wire_status status;
	struct error told;

	if (api_event_open(bytes, arena, &event, err))
		return -1;
	json_out_cstring(out, "event", event_names[event.type]);
	if (event.type != API_EVENT_ERROR)
		return add_object(out, event.object, arena, err);
	if (api_decode(&wire_status_schema, event.object, arena, &status, err))
		return -1;
	kube_status_fill_error(&status, &told);
	add_error(out, &told);
	return 0;
}

static int add_list_meta(struct json_out *out, struct api_bytes bytes, struct arena *arena,
			 struct error *err)
{
	struct wire_list_meta meta;

	if (api_decode(&wire_list_meta_schema, bytes, arena, &meta, err))
		return -1;
	json_out_string(out, "version", meta.resource_version);
	json_out_string(out, "continue", meta.continue_token);
	return 0;
}

static int add_part(const struct run *run, struct json_out *out, enum frame_part part,
		    struct api_bytes bytes, struct error *err)
{
	CLEANUP(arena_clear) struct arena arena;

	arena_init(&arena, LIMIT_DECODE_ARENA);
	if (part == FRAME_LIST_META)
		return add_list_meta(out, bytes, &arena, err);
	if (run->request->verb == KUBE_STREAM)
		return add_event(out, bytes, &arena, err);
	return add_object(out, bytes, &arena, err);
}

static int on_part(void *context, enum frame_part part, struct str bytes, bool protobuf,
		   struct error *err)
{
	struct run *run = context;
	CLEANUP(buf_clear) struct buf line;
	struct json_out out;
	int result;

	buf_init(&line, LIMIT_JSON_OUTPUT);
	json_out_init(&out, &line);
	json_out_object(&out, NULL);
	json_out_cstring(&out, "part", part == FRAME_LIST_META ? "meta" : "object");
	json_out_bool(&out, "protobuf", protobuf);
	result = add_part(run, &out, part, (struct api_bytes){bytes, protobuf}, err);
	json_out_end(&out);
	if (result)
		return -1;
	print_line(&line);
	if (++run->parts == run->most)
		kube_cancel(run->call);
	return 0;
}

/* The body of an answer as JSON, or the names in it where it is protobuf. */
static void add_body(struct json_out *out, const struct kube_answer *answer)
{
	CLEANUP(arena_clear) struct arena arena = {0};
	struct pb_envelope envelope;
	struct str body = answer->body;
	struct error err = {0};

	json_out_bool(out, "protobuf", answer->protobuf);
	json_out_int(out, "status", answer->status);
	/* One line of JSON must stay one line. */
	while (body.len && body.data[body.len - 1] == '\n')
		body.len--;
	if (body.len == 0)
		return;
	if (!answer->protobuf) {
		json_out_raw(out, "body", body);
		return;
	}
	if (pb_open_envelope(answer->body, &envelope, &err)) {
		add_error(out, &err);
		return;
	}
	json_out_string(out, "kind", envelope.kind);
	if (!str_equal(envelope.kind, STR("Status")) &&
	    add_object(out, (struct api_bytes){envelope.raw, true}, &arena, &err))
		add_error(out, &err);
}

static void on_done(void *context, const struct kube_answer *answer, const struct error *err)
{
	struct run *run = context;
	CLEANUP(buf_clear) struct buf line;
	struct json_out out;

	buf_init(&line, LIMIT_HTTP_BODY);
	json_out_init(&out, &line);
	json_out_object(&out, NULL);
	json_out_bool(&out, "done", true);
	if (err)
		add_error(&out, err);
	else
		add_body(&out, answer);
	json_out_end(&out);
	print_line(&line);
	run->call = NULL;
	loop_stop(run->loop);
}

static int64_t number(const char *text)
{
	int64_t value = 0;

	str_to_int64(str_from(text), 0, INT32_MAX, &value);
	return value;
}

static int parse_options(struct options *options, char **argv)
{
	const struct {
		const char *name, **value;
	} table[] = {
		{"--namespace", &options->namespace},
		{"--name", &options->name},
		{"--subresource", &options->subresource},
		{"--body", &options->body},
		{"--label-selector", &options->label_selector},
		{"--field-selector", &options->field_selector},
		{"--resource-version", &options->resource_version},
		{"--continue", &options->continue_token},
		{"--limit", &options->limit},
		{"--initial-events", &options->initial},
		{"--seconds", &options->seconds},
		{"--json", &options->json},
		{"--parts", &options->parts},
		{"--streams", &options->streams},
	};

	for (; argv[0] && argv[1]; argv += 2) {
		size_t i = 0;

		while (i < ARRAY_SIZE(table) && strcmp(table[i].name, argv[0]) != 0)
			i++;
		if (i == ARRAY_SIZE(table))
			return -1;
		*table[i].value = argv[1];
	}
	return argv[0] ? -1 : 0;
}

/* @type: a copy of the one that is meant, for --json. */
static int make_request(struct kube_request *request, struct api_type *type, char **argv,
			const struct options *options)
{
	size_t verb = 0, kind = 0;

	while (verb < ARRAY_SIZE(verbs) && strcmp(verbs[verb], argv[0]) != 0)
		verb++;
	while (kind < ARRAY_SIZE(types) && strcmp(types[kind]->plural, argv[1]) != 0)
		kind++;
	if (verb == ARRAY_SIZE(verbs) || kind == ARRAY_SIZE(types))
		return -1;
	*type = *types[kind];
	type->protobuf &= !number(options->json);
	*request = (struct kube_request){
		.verb = (enum kube_verb)verb,
		.type = type,
		.namespace = str_from(options->namespace),
		.name = str_from(options->name),
		.subresource = options->subresource,
		.body = str_from(options->body),
		.label_selector = str_from(options->label_selector),
		.field_selector = str_from(options->field_selector),
		.resource_version = str_from(options->resource_version),
		.continue_token = str_from(options->continue_token),
		.limit = (uint32_t)number(options->limit),
		.send_initial_events = number(options->initial) > 0,
		.watch_timeout_us = number(options->seconds) * USEC_PER_SEC,
	};
	return 0;
}

/* --- --streams */

#define STREAMS_MOST 16

struct streams {
	struct loop *loop;
	struct kube_call *calls[STREAMS_MOST];
	int64_t open, wanted;
};

static int count_connections(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int n = 0;

	if (!dir)
		return -1;
	while ((entry = readdir(dir))) {
		struct sockaddr_storage peer;
		socklen_t len = sizeof(peer);
		int64_t fd = -1;

		str_to_int64(str_from(entry->d_name), 0, INT32_MAX, &fd);
		if (getpeername((int)fd, (struct sockaddr *)&peer, &len) == 0 &&
		    peer.ss_family == AF_INET)
			n++;
	}
	closedir(dir);
	return n;
}

static int on_stream_part(void *context, enum frame_part part UNUSED, struct str bytes UNUSED,
			  bool protobuf UNUSED, struct error *err UNUSED)
{
	struct streams *streams = context;

	streams->open++;
	loop_stop(streams->loop);
	return 0;
}

static void on_stream_done(void *context, const struct kube_answer *answer UNUSED,
			   const struct error *err)
{
	struct streams *streams = context;

	fprintf(stderr, "a stream ended: %s\n", err ? err->message : "no error");
	streams->wanted = 0;
	loop_stop(streams->loop);
}

/* One after the other; each watch has at least one event. */
static void run_streams(struct kube_client *client, const struct kube_request *request,
			int64_t wanted)
{
	struct streams streams = {.loop = kube_client_loop(client), .wanted = wanted};
	struct kube_handlers handlers = {
		.on_part = on_stream_part, .on_done = on_stream_done, .context = &streams};

	for (int64_t i = 0; i < MIN(streams.wanted, STREAMS_MOST); i++) {
		int64_t before = streams.open;

		streams.calls[i] = kube_send(client, KUBE_WATCH, request, &handlers);
		while (streams.open == before && streams.wanted)
			loop_run(streams.loop);
	}
	printf("{\"streams\":%d,\"connections\":%d}\n", (int)streams.wanted, count_connections());
	fflush(stdout);
	for (int64_t i = 0; i < streams.wanted; i++)
		kube_abandon(streams.calls[i]);
}

static struct kube_client *connect_client(struct loop *loop)
{
	struct kube_config_options from;
	struct kube_config *config;
	struct error err = {0};

	kube_config_options_from_env(&from);
	if (kube_config_load(&from, &config, &err)) {
		fprintf(stderr, "%s\n", err.message);
		exit(2);
	}
	return kube_client_new(loop, config,
			       &(struct kube_client_options){.user_agent = "gpuqos-test"});
}

int main(int argc, char **argv)
{
	struct options options = {0};
	struct kube_request request;
	struct api_type type;

	if (argc < 3 || parse_options(&options, argv + 3) ||
	    make_request(&request, &type, argv + 1, &options)) {
		fprintf(stderr, "usage: kube_client VERB TYPE [OPTION VALUE]...\n");
		return 2;
	}
	http_library_init();
	CLEANUP(loop_free) struct loop *loop = loop_new(clock_system());
	CLEANUP(kube_client_free) struct kube_client *client = connect_client(loop);
	struct run run = {loop, NULL, &request, 0, number(options.parts)};
	struct kube_handlers handlers = {.on_part = on_part, .on_done = on_done, .context = &run};

	if (options.streams) {
		run_streams(client, &request, number(options.streams));
		return 0;
	}
	run.call = kube_send(client, request.verb == KUBE_STREAM ? KUBE_WATCH : KUBE_WRITE,
			     &request, &handlers);
	loop_run(loop);
	return 0;
}
