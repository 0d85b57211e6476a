/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a framer that all formats share: what was begun and not completed is kept, everything
 * else is handed on where it lies. The formats are state machines over single steps, in frame_pb.c
 * and frame_json.c.
 */
#include "codec/framer.h"

#include "base/limits.h"
#include "base/mem.h"

#define KEPT_CAPACITY ((size_t)128 * 1024) /* memory that an idle framer may hold on to */

struct framer *framer_new(enum frame_format format)
{
	static const enum framer_state first[] = {
		[FRAME_PROTOBUF_WATCH] = FRAMER_LENGTH,
		[FRAME_JSON_WATCH] = FRAMER_BETWEEN,
		[FRAME_PROTOBUF_LIST] = FRAMER_MAGIC,
		[FRAME_JSON_LIST] = FRAMER_LIST_BEGIN,
	};
	struct framer *framer = mem_alloc(sizeof(*framer));

	framer->format = format;
	framer->state = first[format];
	buf_init(&framer->partial, LIMIT_WATCH_FRAME);
	return framer;
}

void framer_free(struct framer *framer)
{
	if (!framer)
		return;
	buf_clear(&framer->partial);
	mem_free(framer);
}

int framer_keep(struct framer *framer, struct framer_input *input, size_t len, struct error *err)
{
	if (!buf_add(&framer->partial, input->rest.data, len))
		return error_set(err, ERROR_LIMIT, "object of more than %d bytes",
				 LIMIT_WATCH_FRAME);
	framer_skip(input, len);
	return 0;
}

void framer_forget(struct framer *framer)
{
	if (framer->partial.capacity > KEPT_CAPACITY)
		buf_clear(&framer->partial);
	else
		buf_reset(&framer->partial);
}

int framer_take(struct framer *framer, struct framer_input *input, size_t len,
		struct str *ret_whole, struct error *err)
{
	struct str bytes = {input->rest.data, len};

	if (framer->partial.len > 0 || len > LIMIT_WATCH_FRAME) {
		if (framer_keep(framer, input, len, err) < 0)
			return -1;
		bytes = buf_str(&framer->partial);
	} else {
		framer_skip(input, len);
	}
	*ret_whole = bytes;
	return 0;
}

int framer_complete(struct framer *framer, struct framer_input *input, size_t len,
		    struct error *err)
{
	struct str whole;

	if (framer_take(framer, input, len, &whole, err) < 0 ||
	    input->fn(input->context, framer->part, whole, err) < 0)
		return -1;
	framer_forget(framer);
	return 0;
}

static bool is_protobuf(const struct framer *framer)
{
	return framer->format == FRAME_PROTOBUF_WATCH || framer->format == FRAME_PROTOBUF_LIST;
}

int framer_feed(struct framer *framer, struct str bytes, frame_fn fn, void *context,
		struct error *err)
{
	struct framer_input input = {bytes, fn, context};

	if (framer->failed)
		return error_set(err, ERROR_INVALID, "the stream failed before");
	framer->failed = true;
	while (input.rest.len > 0) {
		if (is_protobuf(framer) ? framer_step_protobuf(framer, &input, err) < 0
					: framer_step_json(framer, &input, err) < 0)
			return -1;
	}
	framer->failed = false;
	return 0;
}

/* Whether the body may end here. */
static bool is_complete(const struct framer *framer)
{
	switch (framer->format) {
	case FRAME_PROTOBUF_WATCH:
		return framer->state == FRAMER_LENGTH && framer->shift == 0;
	case FRAME_JSON_WATCH:
		return framer->state == FRAMER_BETWEEN;
	case FRAME_PROTOBUF_LIST:
		return framer->state == FRAMER_KEY && framer->shift == 0 && !framer->in_list;
	case FRAME_JSON_LIST:
		break;
	}
	return framer->state == FRAMER_DONE;
}

int framer_end(struct framer *framer, struct error *err)
{
	bool list = framer->format == FRAME_PROTOBUF_LIST || framer->format == FRAME_JSON_LIST;

	if (framer->failed)
		return error_set(err, ERROR_INVALID, "the stream failed before");
	if (!is_complete(framer))
		return error_set(err, ERROR_INVALID, "the body is truncated");
	if (list && !framer->seen_items)
		return error_set(err, ERROR_INVALID, "the body holds no list");
	return 0;
}
