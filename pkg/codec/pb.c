/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf in one pass: fields come one by one from a cursor; what the table names is stored,
 * everything else costs no more than reading its length. Kubernetes writes fields in the order of
 * their tags, so the search in the table goes on where it ended.
 */
#include "codec/pb.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/macros.h"
#include "base/rfc3339.h"
#include "base/utf8.h"
#include "codec/decode.h"

enum wire_type { VARINT = 0, FIXED64 = 1, BYTES = 2, GROUP = 3, GROUP_END = 4, FIXED32 = 5 };

#define VARINT_BYTES 10

static int truncated(struct error *err)
{
	return error_set(err, ERROR_INVALID, "truncated");
}

static int take_long_varint(struct str *rest, uint64_t *ret_number, struct error *err)
{
	uint64_t number = 0;
	size_t i;

	for (i = 0; i < VARINT_BYTES; i++) {
		uint64_t byte;

		if (i == rest->len)
			return truncated(err);
		byte = (unsigned char)rest->data[i];
		if (i == VARINT_BYTES - 1 && byte > 1)
			break; /* beyond 64 bits */
		number |= (byte & 0x7f) << (7 * i);
		if (byte < 0x80) {
			*rest = str_skip(*rest, i + 1);
			*ret_number = number;
			return 0;
		}
	}
	return error_set(err, ERROR_INVALID, "varint of more than 64 bits");
}

static inline int take_varint(struct str *rest, uint64_t *ret_number, struct error *err)
{
	if (rest->len > 0 && (unsigned char)rest->data[0] < 0x80) {
		*ret_number = (unsigned char)rest->data[0];
		*rest = str_skip(*rest, 1);
		return 0;
	}
	return take_long_varint(rest, ret_number, err);
}

static int take_bytes(struct str *rest, uint64_t len, struct str *ret_bytes, struct error *err)
{
	if (len > rest->len)
		return truncated(err);
	*ret_bytes = (struct str){rest->data, (size_t)len};
	*rest = str_skip(*rest, (size_t)len);
	return 0;
}

/* A little-endian number of @len bytes. */
static int take_fixed(struct str *rest, size_t len, uint64_t *ret_number, struct error *err)
{
	uint64_t number = 0;
	size_t i;

	if (rest->len < len)
		return truncated(err);
	for (i = len; i > 0; i--)
		number = number << 8 | (unsigned char)rest->data[i - 1];
	*rest = str_skip(*rest, len);
	*ret_number = number;
	return 0;
}

static int take_key(struct str *rest, struct pb_value *value, struct error *err)
{
	uint64_t key;

	if (take_varint(rest, &key, err) < 0)
		return -1;
	if (key > UINT32_MAX || key >> 3 == 0)
		return error_set(err, ERROR_INVALID, "bad field number %" PRIu64, key >> 3);
	value->tag = (uint32_t)(key >> 3);
	value->wire_type = key & 7;
	return 0;
}

/* The value behind a key, for all wire types but those of groups. */
static inline int take_value(struct str *rest, struct pb_value *value, struct error *err)
{
	uint64_t len;

	switch (value->wire_type) {
	case VARINT:
		return take_varint(rest, &value->number, err);
	case FIXED64:
		return take_fixed(rest, 8, &value->number, err);
	case BYTES:
		if (take_varint(rest, &len, err) < 0)
			return -1;
		return take_bytes(rest, len, &value->bytes, err);
	case FIXED32:
		return take_fixed(rest, 4, &value->number, err);
	default:
		return error_set(err, ERROR_INVALID, "bad wire type %" PRIu32, value->wire_type);
	}
}

/* Skips to the end of the group @tag, whose begin was read. */
static int skip_group(struct str *rest, uint32_t tag, struct error *err)
{
	uint32_t open[LIMIT_SKIP_DEPTH] = {tag};
	struct pb_value value;
	size_t depth = 1;

	while (depth > 0) {
		if (take_key(rest, &value, err) < 0)
			return -1;
		if (value.wire_type == GROUP) {
			if (depth == LIMIT_SKIP_DEPTH)
				return error_set(err, ERROR_LIMIT, "groups nested deeper than %d",
						 LIMIT_SKIP_DEPTH);
			open[depth++] = value.tag;
		} else if (value.wire_type == GROUP_END) {
			if (open[--depth] != value.tag)
				return error_set(err, ERROR_INVALID, "group ends as another one");
		} else if (take_value(rest, &value, err) < 0) {
			return -1;
		}
	}
	return 0;
}

/*
 * The fields that nearly all are: key and number, or key and length, of one byte each. False leaves
 * all as it was, for the long way.
 */
static inline bool take_short(struct str *rest, struct pb_value *ret_value)
{
	unsigned int key, number;

	if (rest->len < 2)
		return false;
	key = (unsigned char)rest->data[0];
	number = (unsigned char)rest->data[1];
	if (((key | number) & 0x80) || key >> 3 == 0)
		return false;
	if ((key & 7) == BYTES && number <= rest->len - 2) {
		*ret_value = (struct pb_value){key >> 3, BYTES, 0, {rest->data + 2, number}};
		*rest = str_skip(*rest, 2 + number);
		return true;
	}
	if ((key & 7) == VARINT) {
		*ret_value = (struct pb_value){key >> 3, VARINT, number, {NULL, 0}};
		*rest = str_skip(*rest, 2);
		return true;
	}
	return false;
}

static int next_long(struct pb_cursor *cursor, struct pb_value *ret_value, struct error *err)
{
	struct pb_value value;

	while (cursor->rest.len > 0) {
		value = (struct pb_value){0};
		if (take_key(&cursor->rest, &value, err) < 0)
			return -1;
		if (value.wire_type != GROUP) {
			if (take_value(&cursor->rest, &value, err) < 0)
				return -1;
			*ret_value = value;
			return 1;
		}
		if (skip_group(&cursor->rest, value.tag, err) < 0)
			return -1;
	}
	return 0;
}

int pb_next(struct pb_cursor *cursor, struct pb_value *ret_value, struct error *err)
{
	return take_short(&cursor->rest, ret_value) ? 1 : next_long(cursor, ret_value, err);
}

/* --- one field into the struct */

static int read_text(struct decode *d, struct str bytes, struct str *ret_text)
{
	if (bytes.len > LIMIT_STRING)
		return error_set(d->err, ERROR_LIMIT, "longer than %d bytes", LIMIT_STRING);
	if (!utf8_valid(bytes))
		return error_set(d->err, ERROR_INVALID, "not UTF-8");
	*ret_text = bytes;
	return 0;
}

static int wrong_type(struct error *err, uint32_t wire_type)
{
	return error_set(err, ERROR_INVALID, "has wire type %" PRIu32, wire_type);
}

/* An empty message is the quantity zero. */
static int read_quantity(struct decode *d, struct str bytes, struct str *ret_text)
{
	struct pb_cursor cursor = {bytes};
	struct str text = STR("0");
	struct pb_value value;
	int more;

	while ((more = pb_next(&cursor, &value, d->err)) > 0) {
		if (value.tag != 1)
			continue;
		if (value.wire_type != BYTES)
			return wrong_type(d->err, value.wire_type);
		if (read_text(d, value.bytes, &text) < 0)
			return -1;
	}
	if (more < 0)
		return -1;
	*ret_text = text;
	return 0;
}

static int read_pair(struct decode *d, struct str bytes, bool quantity, struct wire_pair *pair)
{
	struct pb_cursor cursor = {bytes};
	struct pb_value value;
	int more;

	pair->value = quantity ? STR("0") : STR_NONE;
	while ((more = pb_next(&cursor, &value, d->err)) > 0) {
		int rc = 0;

		if (value.tag != 1 && value.tag != 2)
			continue;
		if (value.wire_type != BYTES)
			return wrong_type(d->err, value.wire_type);
		if (value.tag == 1)
			rc = read_text(d, value.bytes, &pair->key);
		else if (quantity)
			rc = read_quantity(d, value.bytes, &pair->value);
		else
			rc = read_text(d, value.bytes, &pair->value);
		if (rc < 0)
			return -1;
	}
	return more;
}

/* Key and value as they came. */
static int open_pair(struct decode *d, struct str bytes, struct wire_pair *pair)
{
	struct pb_cursor cursor = {bytes};
	struct pb_value value;
	int more;

	while ((more = pb_next(&cursor, &value, d->err)) > 0) {
		if (value.tag != 1 && value.tag != 2)
			continue;
		if (value.wire_type != BYTES)
			return wrong_type(d->err, value.wire_type);
		*(value.tag == 1 ? &pair->key : &pair->value) = value.bytes;
	}
	return more;
}

static int read_kept_pair(struct decode *d, struct decode_step *step, struct str bytes,
			  struct wire_list *list)
{
	struct wire_pair pair = {STR_NONE, STR_NONE}, *kept;

	if (open_pair(d, bytes, &pair) < 0)
		return -1;
	if (!decode_keeps(step->field, pair.key))
		return 0;
	kept = decode_append(d, step, list, sizeof(*kept));
	if (!kept)
		return -1;
	kept->key = pair.key;
	return utf8_valid(pair.value) ? read_text(d, pair.value, &kept->value) : 0;
}

static int read_time(struct decode *d, struct str bytes, int64_t *ret_us)
{
	struct pb_cursor cursor = {bytes};
	struct pb_value value;
	int64_t seconds = 0, nanos = 0;
	int more;

	while ((more = pb_next(&cursor, &value, d->err)) > 0) {
		if (value.tag != 1 && value.tag != 2)
			continue;
		if (value.wire_type != VARINT)
			return wrong_type(d->err, value.wire_type);
		*(value.tag == 1 ? &seconds : &nanos) = (int64_t)value.number;
	}
	if (more < 0)
		return -1;
	if (seconds < TIME_REAL_MIN / USEC_PER_SEC || seconds > TIME_REAL_MAX / USEC_PER_SEC ||
	    nanos < 0 || nanos >= 1000 * USEC_PER_SEC)
		return error_set(d->err, ERROR_INVALID, "time out of range");
	*ret_us = seconds * USEC_PER_SEC + nanos / 1000;
	return 0;
}

static int read_int32(struct decode *d, uint64_t number, int32_t *ret_number)
{
	int64_t wide = (int64_t)number;

	if (wide < INT32_MIN || wide > INT32_MAX)
		return error_set(d->err, ERROR_INVALID, "%" PRId64 " does not fit 32 bits", wide);
	*ret_number = (int32_t)wide;
	return 0;
}

static int read_message(struct decode *d, const struct schema *schema, struct str bytes,
			void *object);

/* One more element of a list or map. */
static int read_element(struct decode *d, struct decode_step *step, struct str bytes, void *member)
{
	const struct field *field = step->field;
	bool strings = field->kind == FIELD_STRINGS;
	size_t size = strings         ? sizeof(struct str)
		      : field->schema ? field->schema->size
				      : sizeof(struct wire_pair);
	void *element;

	if (field->keys)
		return read_kept_pair(d, step, bytes, member);
	element = decode_append(d, step, member, size);
	if (!element)
		return -1;
	if (strings)
		return read_text(d, bytes, element);
	if (field->schema)
		return read_message(d, field->schema, bytes, element);
	return read_pair(d, bytes, field->kind == FIELD_QUANTITIES, element);
}

static int read_field(struct decode *d, struct decode_step *step, const struct pb_value *value,
		      void *member)
{
	switch (step->field->kind) {
	case FIELD_STRING:
		return read_text(d, value->bytes, member);
	case FIELD_BYTES:
	case FIELD_RAW:
		*(struct str *)member = value->bytes;
		return 0;
	case FIELD_BOOL:
		*(bool *)member = value->number != 0;
		return 0;
	case FIELD_INT32:
		return read_int32(d, value->number, member);
	case FIELD_INT64:
		*(int64_t *)member = (int64_t)value->number;
		return 0;
	case FIELD_MESSAGE:
	case FIELD_INLINE:
		return read_message(d, step->field->schema, value->bytes, member);
	case FIELD_STRINGS:
	case FIELD_MESSAGES:
	case FIELD_MAP:
	case FIELD_QUANTITIES:
	case FIELD_ENTRIES:
		return read_element(d, step, value->bytes, member);
	case FIELD_QUANTITY:
		return read_quantity(d, value->bytes, member);
	case FIELD_TIME:
		return read_time(d, value->bytes, member);
	}
	return 0;
}

static bool is_number(enum field_kind kind)
{
	return kind == FIELD_BOOL || kind == FIELD_INT32 || kind == FIELD_INT64;
}

/* Searches from @*hint, where the last search ended, round the table. */
static inline const struct field *find_field(const struct schema *schema, uint32_t tag,
					     size_t *hint)
{
	size_t i;

	for (i = *hint; i < schema->n_fields; i++)
		if (schema->fields[i].tag == tag)
			return &schema->fields[*hint = i];
	for (i = 0; i < *hint; i++)
		if (schema->fields[i].tag == tag)
			return &schema->fields[*hint = i];
	return NULL;
}

static int read_message(struct decode *d, const struct schema *schema, struct str bytes,
			void *object)
{
	struct decode_step *step = decode_enter(d);
	struct pb_cursor cursor = {bytes};
	struct pb_value value;
	size_t hint = 0;
	int more;

	if (!step)
		return -1;
	while ((more = pb_next(&cursor, &value, d->err)) > 0) {
		*step = (struct decode_step){find_field(schema, value.tag, &hint), DECODE_NO_INDEX};
		if (!step->field)
			continue;
		if (value.wire_type != (is_number(step->field->kind) ? VARINT : BYTES))
			return wrong_type(d->err, value.wire_type);
		if (step->field->kind == FIELD_TIME && value.bytes.len == 0)
			continue;
		if (read_field(d, step, &value, decode_member(object, step->field)) < 0)
			return -1;
		decode_mark(schema, object, step->field);
		step->field = NULL;
	}
	if (more == 0)
		decode_leave(d);
	return more;
}

int pb_decode(const struct schema *schema, struct str bytes, struct arena *arena, void *ret_object,
	      struct error *err)
{
	struct decode decode;

	decode_init(&decode, schema, arena, err);
	memset(ret_object, 0, schema->size);
	if (read_message(&decode, schema, bytes, ret_object) < 0)
		return decode_locate(&decode);
	return 0;
}

/* --- the envelope */

static int read_type_meta(struct str bytes, struct pb_envelope *envelope, struct error *err)
{
	struct pb_cursor cursor = {bytes};
	struct pb_value value;
	int more;

	while ((more = pb_next(&cursor, &value, err)) > 0) {
		if (value.tag == 1 && value.wire_type == BYTES)
			envelope->api_version = value.bytes;
		else if (value.tag == 2 && value.wire_type == BYTES)
			envelope->kind = value.bytes;
	}
	return more;
}

static int read_envelope_field(const struct pb_value *value, struct pb_envelope *envelope,
			       struct error *err)
{
	if (value->wire_type != BYTES)
		return value->tag <= 3 ? wrong_type(err, value->wire_type) : 0;
	if (value->tag == 1)
		return read_type_meta(value->bytes, envelope, err);
	if (value->tag == 2)
		envelope->raw = value->bytes;
	if (value->tag == 3 && value->bytes.len > 0)
		return error_set(err, ERROR_INVALID, "has a content encoding");
	return 0;
}

int pb_open_envelope(struct str bytes, struct pb_envelope *ret_envelope, struct error *err)
{
	struct pb_envelope envelope = {0};
	struct pb_cursor cursor;
	struct pb_value value;
	int more;

	if (!str_starts_with(bytes, PB_MAGIC))
		return error_set(err, ERROR_INVALID, "not an object in Kubernetes' protobuf");
	cursor.rest = str_skip(bytes, PB_MAGIC.len);
	while ((more = pb_next(&cursor, &value, err)) > 0)
		if (read_envelope_field(&value, &envelope, err) < 0)
			return error_wrap(err, "envelope");
	if (more < 0)
		return error_wrap(err, "envelope");
	*ret_envelope = envelope;
	return 0;
}
