/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte chooses the format, the second how the rest is cut. Whole or in pieces, the framer
 * must hand on the same objects and come to the same verdict.
 */
#include <stdlib.h>

#include "codec/frame.h"
#include "unit/codec/frames.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* 0, or the kind of the error. */
static enum error_kind feed(enum frame_format format, struct str bytes, size_t piece,
			    struct frames *frames)
{
	struct framer *framer CLEANUP(framer_free) = framer_new(format);
	struct error err;

	while (bytes.len > 0) {
		size_t len = MIN(piece, bytes.len);

		if (framer_feed(framer, (struct str){bytes.data, len}, frames_note, frames, &err) <
		    0)
			return err.kind;
		bytes = (struct str){bytes.data + len, bytes.len - len};
	}
	return framer_end(framer, &err) < 0 ? err.kind : ERROR_NONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct frames whole CLEANUP(frames_clear), pieces CLEANUP(frames_clear);
	enum error_kind of_whole, of_pieces;
	enum frame_format format;
	struct str bytes;

	frames_init(&whole);
	frames_init(&pieces);
	if (size < 2)
		return 0;
	format = (enum frame_format)(data[0] % 4);
	bytes = (struct str){(const char *)data + 2, size - 2};
	of_whole = feed(format, bytes, size, &whole);
	of_pieces = feed(format, bytes, 1 + (size_t)data[1] % 64, &pieces);
	require(of_whole == of_pieces);
	require(of_whole == ERROR_NONE || of_whole == ERROR_INVALID || of_whole == ERROR_LIMIT);
	require(str_equal(buf_str(&whole.text), buf_str(&pieces.text)));
	return 0;
}
