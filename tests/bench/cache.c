/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded watch events into the cluster, without a network: what the benchmarks measure of the way
 * from bytes to records.
 *
 *   cache list FILE    reads all events of FILE; cache event FILE: all, and then the last one again
 *   cache memory       reads events from its standard input
 *
 * The functions called measured_* are what callgrind is to count; the rest prepares. Hash keys are
 * fixed, so that the same input costs the same instructions each time.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/pack.h"
#include "api/watch_event.h"
#include "base/mem.h"
#include "cluster/read.h"
#include "codec/frame.h"

#define CHUNK (16 * 1024) /* about what one read from a TLS connection gives */

struct feed {
	struct cluster *cluster;
	struct framer *framer;
	struct arena arena;
	size_t events;
};

struct text {
	char *data;
	size_t len;
};

static void die(const char *what)
{
	fprintf(stderr, "cache: %s\n", what);
	exit(1);
}

static void take_dirty(struct cluster *cluster)
{
	uint32_t namespace;

	while (cluster_take_dirty(cluster, &namespace))
		;
}

static int apply(struct feed *feed, const struct api_event *event, struct error *err)
{
	struct wire_pod wire;
	struct pod_facts facts;

	if (api_decode(&wire_pod_schema, event->object, &feed->arena, &wire, err) < 0)
		return -1;
	if (event->type == API_EVENT_DELETED) {
		cluster_delete(feed->cluster, CLUSTER_PODS, wire.meta.namespace, wire.meta.name);
		return 0;
	}
	if (api_pack_pod(&wire, NULL, &feed->arena, &facts, err) < 0)
		return -1;
	return cluster_apply_pod(feed->cluster, &facts, err);
}

/* As a reflector does it, with the version that it reads of each event. */
static int on_part(void *context, enum frame_part part, struct str text, struct error *err)
{
	struct feed *feed = context;
	struct api_event event;
	struct str version;

	(void)part;
	arena_reset(&feed->arena);
	if (api_event_open((struct api_bytes){text, true}, &feed->arena, &event, err) < 0)
		return -1;
	if (event.type == API_EVENT_BOOKMARK)
		return 0;
	if (api_object_version(event.object, &feed->arena, &version, err) < 0 ||
	    apply(feed, &event, err) < 0)
		return -1;
	take_dirty(feed->cluster);
	feed->events++;
	return 0;
}

static void feed_init(struct feed *feed)
{
	static const struct hash_key fixed = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

	feed->cluster = cluster_new(&fixed);
	feed->framer = framer_new(FRAME_PROTOBUF_WATCH);
	feed->events = 0;
	arena_init(&feed->arena, LIMIT_DECODE_ARENA);
}

static void feed_clear(struct feed *feed)
{
	framer_free(feed->framer);
	cluster_free(feed->cluster);
	arena_clear(&feed->arena);
}

static void feed_bytes(struct feed *feed, const char *data, size_t len)
{
	struct error err = {0};

	for (size_t at = 0; at < len; at += CHUNK)
		if (framer_feed(feed->framer, (struct str){data + at, MIN(len - at, CHUNK)},
				on_part, feed, &err) < 0)
			die(err.message);
}

static struct text read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct text text = {NULL, 0};
	size_t capacity = 0, got;

	if (!file)
		die(path);
	do {
		mem_grow((void **)&text.data, &capacity, text.len + CHUNK, 1);
		got = fread(text.data + text.len, 1, CHUNK, file);
		text.len += got;
	} while (got > 0);
	fclose(file);
	return text;
}

/* Where the last whole frame begins. */
static size_t last_frame(const struct text *text)
{
	size_t at = 0, size = 0, last = 0;

	for (; at + 4 <= text->len; at += size) {
		const unsigned char *p = (const unsigned char *)text->data + at;

		last = at;
		size = 4 + ((size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3]);
	}
	return last;
}

static void measured_list(struct feed *feed, const struct text *text)
{
	feed_bytes(feed, text->data, text->len);
}

static void measured_event(struct feed *feed, const struct text *text)
{
	size_t last = last_frame(text);

	feed_bytes(feed, text->data + last, text->len - last);
}

/* Called through pointers, so that the compiler keeps them as functions of their own. */
static void (*volatile list_all)(struct feed *feed, const struct text *text) = measured_list;
static void (*volatile repeat_last)(struct feed *feed, const struct text *text) = measured_event;

static void count(const char *path, bool event)
{
	struct text text = read_file(path);
	struct feed feed;

	feed_init(&feed);
	if (event) {
		feed_bytes(&feed, text.data, text.len);
		repeat_last(&feed, &text);
	} else {
		list_all(&feed, &text);
	}
	printf("{\"events\": %zu}\n", feed.events);
	feed_clear(&feed);
	mem_free(text.data);
}

/* Private memory that the kernel gave, in bytes. */
static size_t anonymous(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	char line[128];
	size_t kilobytes = 0;

	if (!file)
		die("no /proc/self/smaps_rollup");
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Anonymous: %zu kB", &kilobytes) == 1)
			break;
	fclose(file);
	return kilobytes * 1024;
}

static void memory(void)
{
	static char chunk[CHUNK];
	struct cluster_stats stats;
	struct feed feed;
	size_t before, got;

	feed_init(&feed);
	before = anonymous();
	while ((got = fread(chunk, 1, sizeof(chunk), stdin)) > 0)
		feed_bytes(&feed, chunk, got);
	cluster_stats(feed.cluster, &stats);
	malloc_trim(0);
	printf("{\"events\": %zu, \"pods\": %u, \"records\": %zu, \"shared\": %zu, "
	       "\"anonymous\": %zu}\n",
	       feed.events, stats.objects[CLUSTER_PODS], stats.bytes[CLUSTER_PODS],
	       stats.shared_bytes, anonymous() - before);
	feed_clear(&feed);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "memory") == 0)
		memory();
	else if (argc == 3 && strcmp(argv[1], "list") == 0)
		count(argv[2], false);
	else if (argc == 3 && strcmp(argv[1], "event") == 0)
		count(argv[2], true);
	else
		die("usage: cache list FILE | event FILE | memory");
	return 0;
}
