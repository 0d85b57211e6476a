/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CODEC_FRAMES_H
#define TESTS_UNIT_CODEC_FRAMES_H

#include "base/buf.h"
#include "codec/frame.h"

/* Writes down what a framer hands on: "object 17 <17 bytes>\n" or "meta ...\n". */
struct frames {
	struct buf text;
	size_t objects, metas;
};

static inline int frames_note(void *context, enum frame_part part, struct str bytes,
			      struct error *err)
{
	struct frames *frames = context;

	(void)err;
	frames->objects += part == FRAME_OBJECT;
	frames->metas += part == FRAME_LIST_META;
	buf_printf(&frames->text, "%s %zu ", part == FRAME_OBJECT ? "object" : "meta", bytes.len);
	buf_add_str(&frames->text, bytes);
	buf_add_char(&frames->text, '\n');
	return 0;
}

static inline void frames_init(struct frames *frames)
{
	*frames = (struct frames){0};
	buf_init(&frames->text, (size_t)16 * 1024 * 1024);
}

static inline void frames_clear(struct frames *frames)
{
	buf_clear(&frames->text);
}

DEFINE_CLEAR(struct frames, frames_clear)

#endif
