/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of a protobuf watch, and the items of a protobuf list. Of a list two levels are walked
 * through field by field: the envelope, and the list that is its raw. Numbers may arrive byte by
 * byte.
 */
#include <inttypes.h>

#include "base/limits.h"
#include "codec/framer.h"
#include "codec/pb.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

enum { ENVELOPE_RAW = 2, ENVELOPE_ENCODING = 3, LIST_META = 1, LIST_ITEM = 2 };

#define VARINT_BITS 70 /* ten bytes */

static void take(struct framer *framer, struct framer_input *input, size_t len)
{
	framer_skip(input, len);
	if (framer->in_list)
		framer->list_left -= len;
}

static int too_long(struct error *err)
{
	return error_set(err, ERROR_INVALID, "a field reaches beyond its list");
}

/* The next byte of a varint. Returns 1 when it is complete in @ret_number, 0 when more must come.
 */
static int step_varint(struct framer *framer, struct framer_input *input, uint64_t *ret_number,
		       struct error *err)
{
	uint64_t byte = (unsigned char)input->rest.data[0];

	if (framer->in_list && framer->list_left == 0)
		return too_long(err);
	if (framer->shift == VARINT_BITS - 7 && byte > 1)
		return error_set(err, ERROR_INVALID, "varint of more than 64 bits");
	take(framer, input, 1);
	framer->number |= (byte & 0x7f) << framer->shift;
	framer->shift += 7;
	if (byte >= 0x80)
		return 0;
	*ret_number = framer->number;
	framer->number = 0;
	framer->shift = 0;
	return 1;
}

/* A field is complete; the list may be with it. */
static int end_field(struct framer *framer)
{
	framer->state = FRAMER_KEY;
	if (framer->list_left == 0)
		framer->in_list = false;
	return 0;
}

static int begin_bytes(struct framer *framer, enum framer_state state, uint64_t len,
		       struct error *err)
{
	if (framer->in_list && len > framer->list_left)
		return too_long(err);
	framer->left = len;
	framer->state = state;
	return len > 0 ? 0 : end_field(framer);
}

static int step_key(struct framer *framer, struct framer_input *input, struct error *err)
{
	uint64_t key;
	int rc = step_varint(framer, input, &key, err);

	if (rc <= 0)
		return rc;
	if (key > UINT32_MAX || key >> 3 == 0)
		return error_set(err, ERROR_INVALID, "bad field number %" PRIu64, key >> 3);
	framer->tag = (uint32_t)(key >> 3);
	if (framer->tag <= LIST_ITEM && (key & 7) != BYTES)
		return error_set(err, ERROR_INVALID, "list field %" PRIu32 " has wire type %u",
				 framer->tag, (unsigned int)(key & 7));
	switch (key & 7) {
	case VARINT:
		framer->state = FRAMER_NUMBER;
		return 0;
	case FIXED64:
		return begin_bytes(framer, FRAMER_SKIP, 8, err);
	case BYTES:
		framer->state = FRAMER_FIELD_SIZE;
		return 0;
	case FIXED32:
		return begin_bytes(framer, FRAMER_SKIP, 4, err);
	default:
		return error_set(err, ERROR_INVALID, "bad wire type %u", (unsigned int)(key & 7));
	}
}

static int step_number(struct framer *framer, struct framer_input *input, struct error *err)
{
	uint64_t number;
	int rc = step_varint(framer, input, &number, err);

	return rc > 0 ? end_field(framer) : rc;
}

static int begin_envelope_field(struct framer *framer, uint64_t len, struct error *err)
{
	if (framer->tag == ENVELOPE_ENCODING && len > 0)
		return error_set(err, ERROR_INVALID, "the envelope has a content encoding");
	if (framer->tag != ENVELOPE_RAW)
		return begin_bytes(framer, FRAMER_SKIP, len, err);
	if (framer->seen_items)
		return error_set(err, ERROR_INVALID, "the envelope holds two lists");
	framer->seen_items = true;
	framer->in_list = true;
	framer->list_left = len;
	return end_field(framer);
}

static int begin_part(struct framer *framer, struct framer_input *input, uint64_t len,
		      struct error *err)
{
	framer->part = framer->tag == LIST_META ? FRAME_LIST_META : FRAME_OBJECT;
	if (len > LIMIT_WATCH_FRAME)
		return error_set(err, ERROR_LIMIT, "object of more than %d bytes",
				 LIMIT_WATCH_FRAME);
	if (framer->part == FRAME_LIST_META && framer->seen_meta)
		return error_set(err, ERROR_INVALID, "the list has two metadata");
	framer->seen_meta |= framer->part == FRAME_LIST_META;
	if (len == 0 && framer_complete(framer, input, 0, err) < 0)
		return -1;
	return begin_bytes(framer, FRAMER_PART, len, err);
}

static int step_size(struct framer *framer, struct framer_input *input, struct error *err)
{
	uint64_t len;
	int rc = step_varint(framer, input, &len, err);

	if (rc <= 0)
		return rc;
	if (!framer->in_list)
		return begin_envelope_field(framer, len, err);
	if (framer->tag > LIST_ITEM)
		return begin_bytes(framer, FRAMER_SKIP, len, err);
	return begin_part(framer, input, len, err);
}

static int step_skip(struct framer *framer, struct framer_input *input)
{
	size_t len = (size_t)MIN(framer->left, input->rest.len);

	take(framer, input, len);
	framer->left -= len;
	return framer->left > 0 ? 0 : end_field(framer);
}

/* Item, metadata or frame: keeps what there is of it, or hands it on. Returns 1 when it is
 * complete. */
static int step_part(struct framer *framer, struct framer_input *input, struct error *err)
{
	size_t len = (size_t)MIN(framer->left, input->rest.len);

	framer->left -= len;
	if (framer->in_list)
		framer->list_left -= len;
	if (framer->left > 0)
		return framer_keep(framer, input, len, err);
	return framer_complete(framer, input, len, err) < 0 ? -1 : 1;
}

static int step_magic(struct framer *framer, struct framer_input *input, struct error *err)
{
	if (input->rest.data[0] != PB_MAGIC.data[framer->shift])
		return error_set(err, ERROR_INVALID, "not an object in Kubernetes' protobuf");
	framer_skip(input, 1);
	if (++framer->shift == PB_MAGIC.len) {
		framer->shift = 0;
		framer->state = FRAMER_KEY;
	}
	return 0;
}

static int step_length(struct framer *framer, struct framer_input *input, struct error *err)
{
	framer->number = framer->number << 8 | (unsigned char)input->rest.data[0];
	framer->shift += 8;
	framer_skip(input, 1);
	if (framer->shift < 32)
		return 0;
	framer->left = framer->number;
	framer->number = 0;
	framer->shift = 0;
	framer->part = FRAME_OBJECT;
	if (framer->left > LIMIT_WATCH_FRAME)
		return error_set(err, ERROR_LIMIT, "object of more than %d bytes",
				 LIMIT_WATCH_FRAME);
	if (framer->left == 0)
		return framer_complete(framer, input, 0, err);
	framer->state = FRAMER_FRAME;
	return 0;
}

int framer_step_protobuf(struct framer *framer, struct framer_input *input, struct error *err)
{
	int rc;

	if (framer->state == FRAMER_LENGTH)
		return step_length(framer, input, err);
	if (framer->state == FRAMER_MAGIC)
		return step_magic(framer, input, err);
	if (framer->state == FRAMER_KEY)
		return step_key(framer, input, err);
	if (framer->state == FRAMER_NUMBER)
		return step_number(framer, input, err);
	if (framer->state == FRAMER_FIELD_SIZE)
		return step_size(framer, input, err);
	if (framer->state == FRAMER_SKIP)
		return step_skip(framer, input);
	rc = step_part(framer, input, err);
	if (rc <= 0)
		return rc;
	if (framer->state == FRAMER_PART)
		return end_field(framer);
	framer->state = FRAMER_LENGTH;
	return 0;
}
