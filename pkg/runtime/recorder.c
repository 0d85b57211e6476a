/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events out, one request at a time. A series is what the header says; its Event's name is what the
 * first occurrence was created under, so that later ones can be patched in.
 */
#include "runtime/recorder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/utf8.h"

#define SERIES_FLUSH_US   (30 * USEC_PER_MIN)
#define SERIES_SILENCE_US (6 * USEC_PER_MIN)
#define TICK_US           USEC_PER_MIN
#define NAME_SIZE         320 /* object name, a dot and 16 hex digits */

/* One (type, action, reason, regarding): the first Event and how often it came since. */
struct series {
	struct list link;      /* all series, oldest use first */
	struct list send_link; /* waits to be sent */
	uint64_t key;
	char *namespace, *name; /* of the Event */
	char *body;             /* of the create, until it was sent */
	size_t body_len;
	int32_t count, sent_count;
	int64_t last_us, last_real_us, sent_us;
};

struct recorder {
	struct kube_client *client;
	struct loop *loop;
	struct recorder_options options;
	struct hash_key hash_key;
	struct random random;
	struct list series, queue;
	size_t n_series;
	struct series *sending; /* NULL: none; also NULL when its series was forgotten meanwhile */
	int32_t sending_count;
	struct kube_call *call;
	struct loop_timer tick;
	uint64_t dropped;
};

static void send_next(struct recorder *recorder);

static void series_free(struct recorder *recorder, struct series *series)
{
	if (recorder->sending == series)
		recorder->sending = NULL;
	list_unlink(&series->link);
	list_unlink(&series->send_link);
	mem_free(series->namespace);
	mem_free(series->name);
	mem_free(series->body);
	mem_free(series);
	recorder->n_series--;
}

static uint64_t event_key(const struct recorder *recorder, const struct recorder_event *event)
{
	const struct body_reference *regarding = &event->regarding;
	const struct str parts[] = {
		str_from(event->type), str_from(event->reason), str_from(event->action),
		regarding->kind,       regarding->namespace,    regarding->name,
		regarding->uid,
	};
	uint64_t key = 0;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		key = hash_u64_pair(&recorder->hash_key, key,
				    hash_bytes(&recorder->hash_key, parts[i].data, parts[i].len));
	return key;
}

static struct series *find(struct recorder *recorder, uint64_t key)
{
	list_for_each(it, &recorder->series) {
		struct series *series = container_of(it, struct series, link);

		if (series->key == key)
			return series;
	}
	return NULL;
}

static void write_first(struct recorder *recorder, struct series *series,
			const struct recorder_event *event)
{
	struct buf body;
	struct body_event out = {
		.namespace = str_from(series->namespace),
		.name = str_from(series->name),
		.regarding = event->regarding,
		.type = str_from(event->type),
		.reason = str_from(event->reason),
		.action = str_from(event->action),
		.note = event->note,
		.controller = str_from(recorder->options.controller),
		.instance = str_from(recorder->options.instance),
		.event_us = series->last_real_us,
	};

	buf_init(&body, LIMIT_JSON_OUTPUT);
	api_body_event(&body, &out);
	series->body_len = body.len;
	series->body = buf_take(&body);
}

static struct series *series_new(struct recorder *recorder, uint64_t key,
				 const struct recorder_event *event)
{
	struct series *series = mem_alloc(sizeof(*series));
	struct str namespace =
		event->regarding.namespace.len ? event->regarding.namespace : STR("default");
	char name[NAME_SIZE];

	snprintf(name, sizeof(name), "%.*s.%016" PRIx64,
		 STR_ARGS(utf8_prefix(event->regarding.name, LIMIT_NAME - 17)),
		 random_u64(&recorder->random));
	series->key = key;
	series->namespace = mem_strndup(namespace.data, namespace.len);
	series->name = mem_strdup(name);
	list_append(&recorder->series, &series->link);
	recorder->n_series++;
	return series;
}

static void enqueue(struct recorder *recorder, struct series *series)
{
	if (!list_linked(&series->send_link) && recorder->sending != series)
		list_append(&recorder->queue, &series->send_link);
	send_next(recorder);
}

void recorder_event(struct recorder *recorder, const struct recorder_event *event)
{
	uint64_t key = event_key(recorder, event);
	struct series *series = find(recorder, key);

	if (!series && recorder->n_series >= LIMIT_EVENT_QUEUE) {
		recorder->dropped++;
		return;
	}
	bool first = !series;

	if (first)
		series = series_new(recorder, key, event);
	series->count++;
	series->last_us = loop_now(recorder->loop);
	series->last_real_us = clock_real(loop_clock(recorder->loop));
	if (first)
		write_first(recorder, series, event);
	if (series->count <= 2)
		enqueue(recorder, series);
}

/* An Event that could not be sent is gone: it is a courtesy. A missing one (its hour is over) ends
 * its series. */
static void on_sent(void *context, const struct kube_answer *answer, const struct error *err)
{
	struct recorder *recorder = context;
	struct series *series = recorder->sending;

	(void)answer;
	recorder->call = NULL;
	recorder->sending = NULL;
	if (series && err) {
		recorder->dropped++;
		series_free(recorder, series);
	} else if (series) {
		series->sent_count = recorder->sending_count;
		series->sent_us = loop_now(recorder->loop);
		if (series->sent_count == 1 && series->count > 1)
			list_append(&recorder->queue, &series->send_link);
	}
	send_next(recorder);
}

static void send_next(struct recorder *recorder)
{
	struct list *entry;
	struct buf body;

	if (recorder->call || !(entry = list_pop(&recorder->queue)))
		return;
	struct series *series = container_of(entry, struct series, send_link);
	bool create = series->body != NULL;
	struct kube_request request = {
		.verb = create ? KUBE_CREATE : KUBE_MERGE_PATCH,
		.type = &api_events,
		.namespace = str_from(series->namespace),
		.name = create ? STR_NONE : str_from(series->name),
		.fenced = true,
	};
	struct kube_handlers handlers = {.on_done = on_sent, .context = recorder};

	buf_init(&body, LIMIT_JSON_OUTPUT);
	if (create)
		buf_add(&body, series->body, series->body_len);
	else
		api_body_event_series(&body, series->count, series->last_real_us);
	request.body = buf_str(&body);
	recorder->sending = series;
	recorder->sending_count = create ? 1 : series->count;
	mem_free(TAKE(series->body));
	recorder->call = kube_send(recorder->client, KUBE_WRITE, &request, &handlers);
	buf_clear(&body);
}

static void tick(void *context)
{
	struct recorder *recorder = context;
	int64_t now = loop_now(recorder->loop);

	list_for_each_safe(it, &recorder->series) {
		struct series *series = container_of(it, struct series, link);
		bool silent = now - series->last_us >= SERIES_SILENCE_US;
		bool behind = series->count > series->sent_count && series->sent_count > 0;

		if (behind && (silent || now - series->sent_us >= SERIES_FLUSH_US))
			enqueue(recorder, series);
		else if (silent && !list_linked(&series->send_link) && recorder->sending != series)
			series_free(recorder, series);
	}
	loop_timer_set(&recorder->tick, now + TICK_US);
}

struct recorder *recorder_new(struct kube_client *client, const struct recorder_options *options)
{
	struct recorder *recorder = mem_alloc(sizeof(*recorder));

	recorder->client = client;
	recorder->loop = kube_client_loop(client);
	recorder->options = *options;
	hash_key_init(&recorder->hash_key);
	random_init(&recorder->random, options->seed);
	list_init(&recorder->series);
	list_init(&recorder->queue);
	loop_timer_init(&recorder->tick, recorder->loop, "recorder", tick, recorder);
	loop_timer_set(&recorder->tick, loop_now(recorder->loop) + TICK_US);
	return recorder;
}

void recorder_reset(struct recorder *recorder)
{
	list_for_each_safe(it, &recorder->series)
		series_free(recorder, container_of(it, struct series, link));
}

void recorder_free(struct recorder *recorder)
{
	if (!recorder)
		return;
	loop_timer_clear(&recorder->tick);
	kube_abandon(recorder->call);
	recorder_reset(recorder);
	mem_free(recorder);
}

uint64_t recorder_dropped(const struct recorder *recorder)
{
	return recorder->dropped;
}
