/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two annotations are equal where their bytes are: what we would write is written, with the
 * generation that the Node has, and compared. So another spelling of the same layout is another
 * one, which costs one write and spares a second reader.
 */
#include "agent/publish.h"

#include "api/layout.h"
#include "base/clock.h"

#define BACKOFF_US       USEC_PER_SEC
#define BACKOFF_MOST_US  (60 * USEC_PER_SEC)
#define BACKOFF_RESET_US (5 * USEC_PER_MIN)
#define READ_JITTER      0.2

#define READING_MEMORY (4 * 1024 * 1024)

void publish_init(struct publish *publish, const struct publish_options *options, int64_t now_us)
{
	*publish = (struct publish){.options = *options};
	random_init(&publish->random, options->seed);
	backoff_init(&publish->backoff, BACKOFF_US, BACKOFF_MOST_US, 1.0, BACKOFF_RESET_US);
	buf_init(&publish->seen, LIMIT_LAYOUT);
	publish->read_us =
		now_us + (int64_t)random_below(&publish->random, (uint64_t)options->spread_us + 1);
	publish->write_us = now_us;
}

void publish_clear(struct publish *publish)
{
	buf_clear(&publish->seen);
}

/* 0 where it has none. */
static uint64_t generation_of(struct str annotation)
{
	CLEANUP(arena_clear) struct arena arena;
	struct layout layout;

	arena_init(&arena, READING_MEMORY);
	if (str_empty(annotation) || api_read_layout(annotation, &arena, &layout, NULL) < 0)
		return 0;
	return layout.generation;
}

static void compare(struct publish *publish)
{
	struct layout layout;
	struct buf text;

	if (!publish->wanted || !publish->has_seen)
		return;
	layout = *publish->wanted;
	layout.generation = generation_of(buf_str(&publish->seen));
	buf_init(&text, LIMIT_LAYOUT);
	api_body_layout(&text, &layout);
	publish->differs = !str_equal(buf_str(&text), buf_str(&publish->seen));
	buf_clear(&text);
}

void publish_want(struct publish *publish, const struct layout *layout)
{
	publish->wanted = layout;
	compare(publish);
}

/* One that is too long is as good as none: it is not ours. */
static void see(struct publish *publish, struct str annotation, int64_t now_us)
{
	uint64_t generation = generation_of(annotation);

	buf_reset(&publish->seen);
	buf_add_str(&publish->seen, annotation);
	publish->has_seen = true;
	if (generation <= PUBLISH_GENERATION_MAX)
		publish->generation = MAX(publish->generation, generation);
	publish->read_us = now_us + random_jitter(&publish->random,
						  publish->options.read_interval_us, READ_JITTER);
	compare(publish);
}

void publish_on_read(struct publish *publish, struct str annotation, int64_t now_us)
{
	see(publish, annotation, now_us);
}

/* Stored, and yet not as we said: whoever changes it will do so again. */
void publish_on_written(struct publish *publish, struct str annotation, int64_t now_us)
{
	see(publish, annotation, now_us);
	if (publish->differs)
		publish->write_us =
			MAX(publish->write_us,
			    now_us + backoff_fail(&publish->backoff, now_us, &publish->random));
}

void publish_on_failed(struct publish *publish, const struct error *err, int64_t now_us)
{
	int64_t delay_us = backoff_fail(&publish->backoff, now_us, &publish->random);

	if (err->kind == ERROR_NOT_FOUND)
		publish->has_seen = false;
	publish->read_us = now_us + MAX(delay_us, err->retry_after_us);
	publish->write_us = MAX(publish->write_us, publish->read_us);
}

struct publish_step publish_next(struct publish *publish, int64_t now_us)
{
	bool wants_write = publish->has_seen && publish->wanted && publish->differs;

	if (now_us >= publish->read_us)
		return (struct publish_step){.action = PUBLISH_READ};
	if (wants_write && now_us >= publish->write_us) {
		publish->write_us = now_us + publish->options.write_interval_us;
		publish->generation = publish->generation % PUBLISH_GENERATION_MAX + 1;
		return (struct publish_step){.action = PUBLISH_WRITE,
					     .generation = publish->generation};
	}
	return (struct publish_step){
		.action = PUBLISH_WAIT,
		.until_us =
			wants_write ? MIN(publish->read_us, publish->write_us) : publish->read_us,
	};
}

bool publish_done(const struct publish *publish)
{
	return publish->has_seen && publish->wanted && !publish->differs;
}
