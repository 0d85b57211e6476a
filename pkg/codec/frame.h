/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CODEC_FRAME_H
#define GPUQOS_CODEC_FRAME_H

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"

/*
 * Cuts a response body into objects as its bytes arrive, so that a list of 10,000 pods never lies
 * in memory whole. At most one object (LIMIT_WATCH_FRAME bytes) is buffered; an object that arrives
 * inside one chunk is handed on without a copy. How the body was cut into chunks makes no
 * difference.
 *
 *   PROTOBUF_WATCH  frames of a 4-byte big-endian length and a message (apimachinery's
 *                   LengthDelimitedFramer)
 *   JSON_WATCH      JSON objects one after another, with or without white space between them
 *   PROTOBUF_LIST   an envelope (codec/pb.h) around XList { metadata = 1, items = 2 repeated }
 *   JSON_LIST       { "metadata": {...}, "items": [{...}, ...], ... } in any order of keys
 *
 * A framer finds where objects begin and end; whether an object is well-formed in itself its reader
 * finds out.
 */
enum frame_format { FRAME_PROTOBUF_WATCH, FRAME_JSON_WATCH, FRAME_PROTOBUF_LIST, FRAME_JSON_LIST };

enum frame_part {
	/*
	 * Of a watch one event, of a list one item. In protobuf both are bare messages: the event's
	 * object is an envelope, an item is the Pod itself.
	 */
	FRAME_OBJECT,
	/* The list's metadata, protobuf message or JSON text. May come after the items. */
	FRAME_LIST_META,
};

/* Returns 0, or -1 with @err set to stop the stream. @bytes are borrowed for the call. */
typedef int (*frame_fn)(void *context, enum frame_part part, struct str bytes, struct error *err);

struct framer; /* opaque */

struct framer *framer_new(enum frame_format format); /* never NULL */
void framer_free(struct framer *framer);

/*
 * Errors: INVALID (not this format), LIMIT (object too big), or what @fn returned. After an error
 * the framer only accepts free. @fn must not call the framer.
 */
int framer_feed(struct framer *framer, struct str bytes, frame_fn fn, void *context,
		struct error *err);

/*
 * The body ended. INVALID when that is in the middle of something, or a list had no items at all
 * (an empty list has them, as []): a truncated list must not pass for a short one.
 */
int framer_end(struct framer *framer, struct error *err);

DEFINE_CLEANUP(struct framer *, framer_free)

#endif
