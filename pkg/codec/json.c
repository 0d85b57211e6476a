/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON through field tables, on the pull reader. Keys mostly come in the order of the table or of
 * their names, so the search goes on where it ended.
 */
#include "codec/json.h"

#include <sys/types.h>

#include "base/macros.h"
#include "base/rfc3339.h"
#include "base/utf8.h"
#include "codec/decode.h"
#include "codec/json_pull.h"

#define SHOWN_KEY 64 /* bytes of a key from outside in a message */

struct reader {
	struct decode decode;
	struct json_pull pull;
	bool strict;
};

static int invalid(struct reader *r, const char *what)
{
	return error_set(r->decode.err, ERROR_INVALID, "%s at byte %zu", what,
			 json_pull_offset(&r->pull));
}

/* --- single values */

static int read_text(struct reader *r, struct str *ret_text)
{
	struct str text;

	if (json_pull_string(&r->pull, &text, r->decode.err) < 0)
		return -1;
	if (text.len > LIMIT_STRING)
		return error_set(r->decode.err, ERROR_LIMIT, "longer than %d bytes", LIMIT_STRING);
	*ret_text = text;
	return 0;
}

/* The six bits of a letter, or -1. */
static int base64_bits(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes into @bytes, which has room for 3/4 of the text. Returns the length, or -1. */
static ssize_t base64_decode(struct str text, char *bytes)
{
	size_t i, len = 0, letters = 0, padding = 0;
	uint32_t group = 0;

	for (i = 0; i < text.len; i++) {
		int bits = base64_bits(text.data[i]);

		if (text.data[i] == '\r' || text.data[i] == '\n')
			continue;
		if (text.data[i] == '=')
			padding++;
		if (padding > 2 || (text.data[i] != '=' && (bits < 0 || padding > 0)))
			return -1;
		group = group << 6 | (uint32_t)(bits < 0 ? 0 : bits);
		if (++letters % 4 > 0)
			continue;
		bytes[len++] = (char)(group >> 16);
		if (padding < 2)
			bytes[len++] = (char)(group >> 8);
		if (padding < 1)
			bytes[len++] = (char)group;
	}
	return letters % 4 == 0 ? (ssize_t)len : -1;
}

static int read_bytes(struct reader *r, struct str *ret_bytes)
{
	struct str text;
	ssize_t len;
	char *bytes;

	if (read_text(r, &text) < 0)
		return -1;
	bytes = arena_alloc(r->decode.arena, text.len / 4 * 3);
	if (!bytes)
		return decode_no_memory(&r->decode);
	len = base64_decode(text, bytes);
	if (len < 0)
		return invalid(r, "not base64");
	*ret_bytes = (struct str){bytes, (size_t)len};
	return 0;
}

static int read_int32(struct reader *r, int32_t *ret_number)
{
	int64_t number;

	if (json_pull_int(&r->pull, INT32_MIN, INT32_MAX, &number, r->decode.err) < 0)
		return -1;
	*ret_number = (int32_t)number;
	return 0;
}

static int read_time(struct reader *r, int64_t *ret_us)
{
	struct str text;

	if (read_text(r, &text) < 0)
		return -1;
	return time_parse(text, ret_us) ? 0 : invalid(r, "not a time of RFC 3339");
}

static int read_quantity(struct reader *r, struct str *ret_text)
{
	enum json_pull_type type;

	if (json_pull_peek(&r->pull, &type, r->decode.err) < 0)
		return -1;
	if (type == JSON_PULL_NUMBER)
		return json_pull_number(&r->pull, ret_text, r->decode.err);
	return read_text(r, ret_text);
}

/* 1 when a null was passed. */
static int take_null(struct reader *r)
{
	enum json_pull_type type;

	if (json_pull_peek(&r->pull, &type, r->decode.err) < 0)
		return -1;
	if (type != JSON_PULL_NULL)
		return 0;
	return json_pull_null(&r->pull, r->decode.err) < 0 ? -1 : 1;
}

/* --- lists and objects */

static int read_object(struct reader *r, const struct schema *schema, void *object);

static int read_list(struct reader *r, struct decode_step *step, struct wire_list *list)
{
	const struct schema *schema = step->field->schema;
	size_t size = schema ? schema->size : sizeof(struct str);
	int more;

	if (json_pull_array(&r->pull, r->decode.err) < 0)
		return -1;
	while ((more = json_pull_element(&r->pull, r->decode.err)) > 0) {
		void *element = decode_append(&r->decode, step, list, size);

		if (!element)
			return -1;
		if (schema ? read_object(r, schema, element) < 0 : read_text(r, element) < 0)
			return -1;
	}
	return more;
}

static int read_map(struct reader *r, struct decode_step *step, struct wire_list *list)
{
	bool quantities = step->field->kind == FIELD_QUANTITIES;
	struct wire_pair pair;
	struct wire_pair *entry;
	int more, null;

	if (json_pull_object(&r->pull, r->decode.err) < 0)
		return -1;
	while ((more = json_pull_key(&r->pull, &pair.key, r->decode.err)) > 0) {
		step->index = list->len;
		if (!decode_keeps(step->field, pair.key)) {
			if (json_pull_skip(&r->pull, NULL, r->decode.err) < 0)
				return -1;
			continue;
		}
		null = take_null(r);
		if (null > 0)
			continue;
		if (null < 0 || (quantities ? read_quantity(r, &pair.value) < 0
					    : read_text(r, &pair.value) < 0))
			return -1;
		entry = decode_append(&r->decode, step, list, sizeof(pair));
		if (!entry)
			return -1;
		*entry = pair;
	}
	return more;
}

static int read_known(struct reader *r, struct decode_step *step, const struct schema *schema,
		      void *object);

/* A message whose first field is the key, and whose second is what stands under it. */
static int read_entry(struct reader *r, const struct schema *schema, struct str key, void *entry)
{
	struct decode_step *step = decode_enter(&r->decode);

	if (!step)
		return -1;
	*(struct str *)decode_member(entry, &schema->fields[0]) = key;
	decode_mark(schema, entry, &schema->fields[0]);
	*step = (struct decode_step){&schema->fields[1], DECODE_NO_INDEX};
	if (read_known(r, step, schema, entry) < 0)
		return -1;
	decode_leave(&r->decode);
	return 0;
}

static int read_entries(struct reader *r, struct decode_step *step, struct wire_list *list)
{
	const struct schema *schema = step->field->schema;
	struct str key;
	int more;

	if (json_pull_object(&r->pull, r->decode.err) < 0)
		return -1;
	while ((more = json_pull_key(&r->pull, &key, r->decode.err)) > 0) {
		void *entry = decode_append(&r->decode, step, list, schema->size);

		if (!entry)
			return -1;
		if (read_entry(r, schema, key, entry) < 0)
			return -1;
	}
	return more;
}

static int read_field(struct reader *r, struct decode_step *step, void *member)
{
	switch (step->field->kind) {
	case FIELD_STRING:
		return read_text(r, member);
	case FIELD_BYTES:
		return read_bytes(r, member);
	case FIELD_BOOL:
		return json_pull_bool(&r->pull, member, r->decode.err);
	case FIELD_INT32:
		return read_int32(r, member);
	case FIELD_INT64:
		return json_pull_int(&r->pull, INT64_MIN, INT64_MAX, member, r->decode.err);
	case FIELD_MESSAGE:
	case FIELD_INLINE:
		return read_object(r, step->field->schema, member);
	case FIELD_STRINGS:
	case FIELD_MESSAGES:
		return read_list(r, step, member);
	case FIELD_MAP:
	case FIELD_QUANTITIES:
		return read_map(r, step, member);
	case FIELD_ENTRIES:
		return read_entries(r, step, member);
	case FIELD_QUANTITY:
		return read_quantity(r, member);
	case FIELD_TIME:
		return read_time(r, member);
	case FIELD_RAW:
		break;
	}
	return json_pull_skip(&r->pull, member, r->decode.err);
}

/* What is inline has no key of its own. */
static bool is_called(const struct field *field, struct str key)
{
	return strncmp(field->name, key.data, key.len) == 0 && field->name[key.len] == '\0' &&
	       field->kind != FIELD_INLINE;
}

static const struct field *find_field(const struct schema *schema, struct str key, size_t *hint)
{
	size_t i;

	if (memchr(key.data, '\0', key.len))
		return NULL;
	for (i = *hint; i < schema->n_fields; i++)
		if (is_called(&schema->fields[i], key))
			return &schema->fields[*hint = i];
	for (i = 0; i < *hint; i++)
		if (is_called(&schema->fields[i], key))
			return &schema->fields[*hint = i];
	return NULL;
}

static int read_unknown(struct reader *r, struct str key)
{
	if (!r->strict)
		return json_pull_skip(&r->pull, NULL, r->decode.err);
	key = utf8_prefix(key, SHOWN_KEY);
	return error_set(r->decode.err, ERROR_INVALID, "unknown field \"%.*s\" at byte %zu",
			 STR_ARGS(key), json_pull_offset(&r->pull));
}

/* The field of the step, whose key was read; null leaves it absent. */
static int read_known(struct reader *r, struct decode_step *step, const struct schema *schema,
		      void *object)
{
	int null = take_null(r);

	if (null != 0)
		return null < 0 ? -1 : 0;
	if (read_field(r, step, decode_member(object, step->field)) < 0)
		return -1;
	decode_mark(schema, object, step->field);
	return 0;
}

/* A key that is none of the object's own: of the struct within it, or unknown. */
static int read_within(struct reader *r, struct decode_step *step, const struct schema *schema,
		       void *object, struct str key)
{
	for (size_t i = 0; i < schema->n_fields; i++) {
		const struct field *outer = &schema->fields[i];
		size_t hint = 0;

		if (outer->kind != FIELD_INLINE)
			continue;
		step->field = find_field(outer->schema, key, &hint);
		if (!step->field)
			continue;
		decode_mark(schema, object, outer);
		return read_known(r, step, outer->schema, decode_member(object, outer));
	}
	return read_unknown(r, key);
}

static int read_object(struct reader *r, const struct schema *schema, void *object)
{
	struct decode_step *step = decode_enter(&r->decode);
	uint64_t seen = 0;
	size_t hint = 0;
	struct str key;
	int more;

	if (!step || json_pull_object(&r->pull, r->decode.err) < 0)
		return -1;
	while ((more = json_pull_key(&r->pull, &key, r->decode.err)) > 0) {
		*step = (struct decode_step){find_field(schema, key, &hint), DECODE_NO_INDEX};
		if (!step->field) {
			if (read_within(r, step, schema, object, key) < 0)
				return -1;
			step->field = NULL;
			continue;
		}
		if (seen >> hint & 1)
			return invalid(r, "occurs twice");
		seen |= UINT64_C(1) << hint;
		if (read_known(r, step, schema, object) < 0)
			return -1;
		step->field = NULL;
	}
	if (more == 0)
		decode_leave(&r->decode);
	return more;
}

static int decode(struct reader *r, const struct schema *schema, void *ret_object)
{
	memset(ret_object, 0, schema->size);
	if (read_object(r, schema, ret_object) < 0 || json_pull_end(&r->pull, r->decode.err) < 0)
		return decode_locate(&r->decode);
	return 0;
}

int json_decode(const struct schema *schema, struct str text, struct arena *arena, void *ret_object,
		struct error *err)
{
	struct reader r;

	decode_init(&r.decode, schema, arena, err);
	json_pull_init(&r.pull, text, arena);
	r.strict = false;
	return decode(&r, schema, ret_object);
}

int json_decode_strict(const struct schema *schema, struct str text, struct arena *arena,
		       void *ret_object, struct error *err)
{
	struct reader r;

	decode_init(&r.decode, schema, arena, err);
	json_pull_init(&r.pull, text, arena);
	r.strict = true;
	return decode(&r, schema, ret_object);
}
