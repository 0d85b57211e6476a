/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does what ctl/watch.h says and tells it what came of it. There is at most one request or stream
 * open. A step that ends the open one while its bytes are being handled is kept in `pending` and
 * taken when the request is over.
 */
#include "runtime/reflector.h"

#include <string.h>

#include "api/watch_event.h"
#include "api/wire.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "ctl/watch.h"

struct reflector {
	struct kube_client *client;
	struct reflector_options options;
	struct loop *loop;
	struct watch *watch;
	struct loop_timer timer;
	struct kube_call *call;
	struct arena arena;
	void *object; /* scratch of the type's struct size */

	enum watch_action action; /* what the open request is for */
	struct watch_step pending;
	bool has_pending;
	bool synced;                /* the sink was told */
	bool open, replacing;       /* a stream was taken; a full state is under way */
	int64_t current_us;         /* as in struct reflector_stats */
	struct error pending_error; /* an ERROR event, until its stream is over */
	char page_version[LIMIT_NAME + 1];
	struct buf page_continue;
	uint64_t objects, unreadable;
	struct error last_error;
};

static void take_step(struct reflector *reflector, const struct watch_step *step);

static int64_t now_us(const struct reflector *reflector)
{
	return loop_now(reflector->loop);
}

static void set_open(struct reflector *reflector, bool open)
{
	bool current = open && !reflector->replacing;

	reflector->open = open;
	if (!current)
		reflector->current_us = 0;
	else if (reflector->current_us == 0)
		reflector->current_us = now_us(reflector);
}

static void set_replacing(struct reflector *reflector, bool replacing)
{
	reflector->replacing = replacing;
	set_open(reflector, reflector->open);
}

static void apply_effect(struct reflector *reflector, enum watch_effect effect)
{
	const struct reflector_sink *sink = &reflector->options.sink;

	switch (effect) {
	case WATCH_EFFECT_BEGIN_REPLACE:
		set_replacing(reflector, true);
		sink->begin_replace(sink->context);
		break;
	case WATCH_EFFECT_END_REPLACE:
		set_replacing(reflector, false);
		sink->end_replace(sink->context);
		if (!reflector->synced && sink->synced)
			sink->synced(sink->context);
		reflector->synced = true;
		break;
	case WATCH_EFFECT_ABORT_REPLACE:
		set_replacing(reflector, false);
		sink->abort_replace(sink->context);
		break;
	case WATCH_EFFECT_NONE:
		break;
	}
}

/* An object that cannot be read is counted and named; the others must not suffer for it. */
static void note_unreadable(struct reflector *reflector, struct api_bytes object,
			    const struct error *err)
{
	struct api_identity id = {0};

	reflector->unreadable++;
	api_identity_read(object, &reflector->arena, &id, NULL);
	log_warning(reflector->options.log, "object cannot be read whole: it counts as unknown",
		    LOG_CSTR("kind", reflector->options.type->kind),
		    LOG_STR("namespace", id.namespace), LOG_STR("name", id.name),
		    LOG_CSTR("error", err->message));
}

/* Only what the outline has is set. */
static int read_outline(struct reflector *reflector, const struct schema *outline,
			struct api_bytes object, struct error *err)
{
	arena_reset(&reflector->arena);
	memset(reflector->object, 0, reflector->options.type->schema->size);
	return api_decode(outline, object, &reflector->arena, reflector->object, err);
}

static void keep_outline(struct reflector *reflector, struct api_bytes object,
			 const struct error *why)
{
	const struct reflector_sink *sink = &reflector->options.sink;
	struct error err = {0};

	note_unreadable(reflector, object, why);
	if (!sink->outline)
		return;
	if (read_outline(reflector, reflector->options.type->outline, object, &err) < 0 ||
	    sink->outline(sink->context, reflector->object, why->message, &reflector->arena, &err) <
		    0)
		log_warning(reflector->options.log, "object is left out",
			    LOG_CSTR("kind", reflector->options.type->kind),
			    LOG_CSTR("error", err.message));
}

static void apply_object(struct reflector *reflector, struct api_bytes object)
{
	const struct reflector_sink *sink = &reflector->options.sink;
	const struct schema *schema = reflector->options.type->schema;
	struct error err = {0};

	if (api_decode(schema, object, &reflector->arena, reflector->object, &err) < 0 ||
	    sink->apply(sink->context, reflector->object, &reflector->arena, &err) < 0)
		keep_outline(reflector, object, &err);
	else
		reflector->objects++;
}

static void remove_object(struct reflector *reflector, struct api_bytes object)
{
	const struct reflector_sink *sink = &reflector->options.sink;
	struct error err = {0};

	if (read_outline(reflector, &wire_outline_schema, object, &err) < 0 ||
	    sink->remove(sink->context, reflector->object, &reflector->arena, &err) < 0)
		note_unreadable(reflector, object, &err);
	else
		reflector->objects++;
}

/* The stream is to end here: its on_done takes the step. */
static int supersede(struct reflector *reflector, const struct watch_step *step, struct error *err)
{
	reflector->pending = *step;
	reflector->has_pending = true;
	return error_set(err, ERROR_CANCELLED, "superseded");
}

static int on_error_event(struct reflector *reflector, struct api_bytes object, struct error *err)
{
	struct wire_status status;

	if (api_decode(&wire_status_schema, object, &reflector->arena, &status, err) < 0)
		return error_wrap(err, "ERROR event");
	kube_status_fill_error(&status, &reflector->pending_error);
	return error_set(err, ERROR_CANCELLED, "ERROR event");
}

static int copy_version(struct str version, char ret_text[LIMIT_NAME + 1], struct error *err)
{
	if (version.len > LIMIT_NAME)
		return error_set(err, ERROR_LIMIT, "resourceVersion of %zu bytes", version.len);
	if (version.len)
		memcpy(ret_text, version.data, version.len);
	ret_text[version.len] = '\0';
	return 0;
}

/* The version of an event's object, and for a bookmark whether it ends the initial events. */
static int read_mark(struct reflector *reflector, const struct api_event *event,
		     struct api_bookmark *mark, struct error *err)
{
	if (event->type == API_EVENT_BOOKMARK)
		return api_bookmark_read(event->object, &reflector->arena, mark, err);
	*mark = (struct api_bookmark){0};
	return api_object_version(event->object, &reflector->arena, &mark->resource_version, err);
}

static int on_event(struct reflector *reflector, const struct api_event *event, struct error *err)
{
	static const enum watch_event_type types[] = {
		[API_EVENT_ADDED] = WATCH_ADDED,     [API_EVENT_MODIFIED] = WATCH_MODIFIED,
		[API_EVENT_DELETED] = WATCH_DELETED, [API_EVENT_BOOKMARK] = WATCH_BOOKMARK,
		[API_EVENT_ERROR] = WATCH_ERROR,
	};
	struct api_bookmark mark;
	struct watch_step step;
	char version[LIMIT_NAME + 1];

	if (event->type == API_EVENT_ERROR)
		return on_error_event(reflector, event->object, err);
	if (read_mark(reflector, event, &mark, err) < 0 ||
	    copy_version(mark.resource_version, version, err) < 0)
		return -1;
	watch_on_event(reflector->watch, types[event->type], version, mark.initial_events_end,
		       now_us(reflector), &step);
	if (step.action != WATCH_CONTINUE)
		return supersede(reflector, &step, err);
	reflector->last_error.kind = ERROR_NONE;
	if (event->type == API_EVENT_DELETED)
		remove_object(reflector, event->object);
	else if (event->type != API_EVENT_BOOKMARK)
		apply_object(reflector, event->object);
	apply_effect(reflector, step.effect);
	return 0;
}

static int on_list_meta(struct reflector *reflector, struct api_bytes bytes, struct error *err)
{
	struct wire_list_meta meta;

	if (api_decode(&wire_list_meta_schema, bytes, &reflector->arena, &meta, err) < 0)
		return error_wrap(err, "list metadata");
	if (copy_version(meta.resource_version, reflector->page_version, err) < 0)
		return -1;
	buf_reset(&reflector->page_continue);
	if (!buf_add_str(&reflector->page_continue, meta.continue_token))
		return error_set(err, ERROR_LIMIT, "continue token of %zu bytes",
				 meta.continue_token.len);
	return 0;
}

static int on_part(void *context, enum frame_part part, struct str text, bool protobuf,
		   struct error *err)
{
	struct reflector *reflector = context;
	struct api_bytes bytes = {text, protobuf};
	struct api_event event;

	if (reflector->has_pending || reflector->pending_error.kind != ERROR_NONE)
		return error_set(err, ERROR_CANCELLED, "superseded");
	arena_reset(&reflector->arena);
	if (part == FRAME_LIST_META)
		return on_list_meta(reflector, bytes, err);
	if (reflector->action == WATCH_LIST_PAGE) {
		apply_object(reflector, bytes);
		return 0;
	}
	if (api_event_open(bytes, &reflector->arena, &event, err) < 0)
		return -1;
	return on_event(reflector, &event, err);
}

/* Says what is wrong once per kind of failure, not at every try. */
static void note_failure(struct reflector *reflector, const struct error *err)
{
	bool news = reflector->last_error.kind != err->kind;

	reflector->last_error = *err;
	if (news && err->kind != ERROR_EXPIRED)
		log_warning(reflector->options.log, "watch failed, will try again",
			    LOG_CSTR("resource", reflector->options.type->plural),
			    LOG_CSTR("error", err->message));
}

/* Of a type that may be absent, that it is (or came) is no failure, and said once. */
static void on_failed(struct reflector *reflector, const struct error *err,
		      struct watch_step *ret_step)
{
	bool was_absent = watch_absent(reflector->watch);

	watch_on_failed(reflector->watch, err, now_us(reflector), ret_step);
	if (!watch_absent(reflector->watch) || ret_step->effect != WATCH_EFFECT_END_REPLACE) {
		note_failure(reflector, err);
		return;
	}
	reflector->last_error.kind = ERROR_NONE;
	if (!was_absent)
		log_info(reflector->options.log,
			 "the API server does not know this type: it counts as empty until it does",
			 LOG_CSTR("resource", reflector->options.type->plural));
}

static void on_open(void *context)
{
	struct reflector *reflector = context;

	set_open(reflector, true);
	if (reflector->options.sink.opened)
		reflector->options.sink.opened(reflector->options.sink.context);
}

static void on_done(void *context, const struct kube_answer *answer, const struct error *err)
{
	struct reflector *reflector = context;
	struct watch_step step;

	(void)answer;
	reflector->call = NULL;
	set_open(reflector, false);
	if (reflector->has_pending) {
		step = reflector->pending;
		reflector->has_pending = false;
	} else if (reflector->pending_error.kind != ERROR_NONE) {
		on_failed(reflector, &reflector->pending_error, &step);
		error_clear(&reflector->pending_error);
	} else if (err) {
		on_failed(reflector, err, &step);
	} else if (reflector->action == WATCH_LIST_PAGE) {
		reflector->last_error.kind = ERROR_NONE;
		watch_on_page(reflector->watch, reflector->page_version,
			      reflector->page_continue.data, now_us(reflector), &step);
	} else {
		watch_on_ended(reflector->watch, now_us(reflector), &step);
	}
	take_step(reflector, &step);
}

static void send(struct reflector *reflector, const struct watch_step *step)
{
	struct kube_request request = {
		.verb = step->action == WATCH_LIST_PAGE ? KUBE_LIST : KUBE_STREAM,
		.type = reflector->options.type,
		.namespace = reflector->options.namespace,
		.field_selector = str_from(reflector->options.field_selector),
		.label_selector = str_from(reflector->options.label_selector),
		.resource_version = str_from(step->resource_version),
		.continue_token = str_from(step->continue_token),
		.limit = LIMIT_LIST_PAGE_ITEMS,
		.watch_timeout_us = step->timeout_us,
		.send_initial_events = step->action == WATCH_STREAM_LIST,
	};
	struct kube_handlers handlers = {
		.on_open = on_open, .on_part = on_part, .on_done = on_done, .context = reflector};

	/* What the page before said must not pass for what this one says. */
	reflector->page_version[0] = '\0';
	buf_reset(&reflector->page_continue);
	reflector->call = kube_send(reflector->client, KUBE_WATCH, &request, &handlers);
}

static void take_step(struct reflector *reflector, const struct watch_step *step)
{
	reflector->action = step->action;
	apply_effect(reflector, step->effect);
	switch (step->action) {
	case WATCH_STREAM_LIST:
	case WATCH_LIST_PAGE:
	case WATCH_WATCH:
		send(reflector, step);
		break;
	case WATCH_WAIT:
		loop_timer_set(&reflector->timer, step->wait_until_us);
		break;
	case WATCH_CONTINUE:
		break;
	}
}

static void proceed(void *context)
{
	struct reflector *reflector = context;
	struct watch_step step;

	watch_next(reflector->watch, now_us(reflector), &step);
	take_step(reflector, &step);
}

struct reflector *reflector_new(struct kube_client *client, const struct reflector_options *options)
{
	struct reflector *reflector = mem_alloc(sizeof(*reflector));

	reflector->client = client;
	reflector->options = *options;
	reflector->loop = kube_client_loop(client);
	reflector->watch = watch_new(options->seed);
	if (options->optional)
		watch_set_optional(reflector->watch);
	reflector->object = mem_alloc(options->type->schema->size);
	arena_init(&reflector->arena, LIMIT_DECODE_ARENA);
	buf_init(&reflector->page_continue, LIMIT_HTTP_URL);
	loop_timer_init(&reflector->timer, reflector->loop, "reflector", proceed, reflector);
	return reflector;
}

void reflector_free(struct reflector *reflector)
{
	if (!reflector)
		return;
	loop_timer_clear(&reflector->timer);
	kube_abandon(reflector->call);
	watch_free(reflector->watch);
	arena_clear(&reflector->arena);
	buf_clear(&reflector->page_continue);
	mem_free(reflector->object);
	mem_free(reflector);
}

void reflector_start(struct reflector *reflector)
{
	loop_defer(&reflector->timer);
}

/* Ends what is under way. */
static void turn_to(struct reflector *reflector, const struct watch_step *step)
{
	kube_abandon(reflector->call);
	reflector->call = NULL;
	set_open(reflector, false);
	error_clear(&reflector->pending_error);
	take_step(reflector, step);
}

void reflector_relist(struct reflector *reflector)
{
	struct watch_step step;

	if (watch_relist(reflector->watch, now_us(reflector), &step))
		turn_to(reflector, &step);
}

void reflector_read_anew(struct reflector *reflector)
{
	struct watch_step step;

	if (watch_read_anew(reflector->watch, now_us(reflector), &step))
		turn_to(reflector, &step);
}

void reflector_hurry(struct reflector *reflector)
{
	struct watch_step step;

	if (watch_hurry(reflector->watch, now_us(reflector), &step))
		take_step(reflector, &step);
}

void reflector_stats(const struct reflector *reflector, struct reflector_stats *ret_stats)
{
	*ret_stats = (struct reflector_stats){
		.synced = watch_synced(reflector->watch),
		.absent = watch_absent(reflector->watch),
		.last_heard_us = watch_last_heard_us(reflector->watch),
		.current_us = reflector->current_us,
		.restarts = watch_restarts(reflector->watch),
		.relists = watch_relists(reflector->watch),
		.objects = reflector->objects,
		.unreadable = reflector->unreadable,
		.last_error = reflector->last_error,
	};
}

const struct api_type *reflector_type(const struct reflector *reflector)
{
	return reflector->options.type;
}
