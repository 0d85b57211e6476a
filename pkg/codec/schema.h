/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CODEC_SCHEMA_H
#define GPUQOS_CODEC_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/*
 * One table per type says which fields we keep, what they are called in JSON, which tag they have
 * in protobuf and where they lie in a transient C struct. Both readers (codec/pb.h, codec/json.h)
 * fill the same struct from the same table; what the table does not name is skipped. The struct
 * belongs to the caller; what it points to lies in the arena of the decode or, for strings, in the
 * bytes that were decoded: both must stay as long as it is used.
 *
 * Every struct that a schema describes starts with `uint64_t present`: bit i is set when field i of
 * the table was in the input, which tells an absent number from a zero. JSON null is absence, and
 * so is protobuf's empty message for a time, which is how Go writes its zero time. A schema has at
 * most 64 fields; the readers are fastest when the table is in the order of the tags.
 *
 * Labels and annotations are as many and as odd as the API server lets through. A FIELD_MAP whose
 * row has keys keeps those alone. Nothing else in it is looked at, so that nothing else can make
 * the object unreadable; a value of theirs that is no UTF-8, which protobuf may carry, is empty.
 */
enum field_kind {
	FIELD_STRING,     /* struct str, valid UTF-8 of at most LIMIT_STRING bytes */
	FIELD_BYTES,      /* struct str; base64 in JSON */
	FIELD_BOOL,       /* bool */
	FIELD_INT32,      /* int32_t */
	FIELD_INT64,      /* int64_t */
	FIELD_MESSAGE,    /* the struct itself, embedded */
	FIELD_INLINE,     /* likewise; in JSON its fields are among those of the struct around it,
			     which are looked for first */
	FIELD_STRINGS,    /* struct wire_list of struct str */
	FIELD_MESSAGES,   /* struct wire_list of the sub-schema's struct */
	FIELD_MAP,        /* struct wire_list of struct wire_pair: map<string, string> */
	FIELD_QUANTITY,   /* struct str: its text (protobuf: message Quantity { string string = 1 })
			   */
	FIELD_QUANTITIES, /* struct wire_list of struct wire_pair: map<string, Quantity> */
	FIELD_ENTRIES,    /* struct wire_list of the sub-schema's struct: map<string, anything>. Its
			     fields are "key", a FIELD_STRING of tag 1, and "value", of tag 2 */
	FIELD_TIME, /* int64_t µs since 1970: RFC 3339, or message { seconds = 1, nanos = 2 } */
	FIELD_RAW,  /* struct str: the undecoded value (bytes of the field, or text of the value) */
};

struct schema;

/* Sorted or not; few. */
struct field_keys {
	const struct str *keys;
	size_t len;
};

struct field {
	const char *name;              /* JSON key */
	const struct schema *schema;   /* of MESSAGE, MESSAGES, ENTRIES, else NULL */
	const struct field_keys *keys; /* of a MAP that keeps these alone, else NULL */
	uint32_t tag;                  /* protobuf field number; 0 for a field that only JSON has */
	uint32_t offset;
	enum field_kind kind;
};

struct schema {
	const char *name; /* for error messages: "Pod" */
	const struct field *fields;
	size_t n_fields;
	size_t size; /* of the struct */
};

struct wire_list {
	void *items; /* in the arena; NULL when empty */
	size_t len;
};

struct wire_pair {
	struct str key, value;
};

#define FIELD(type, member, key, number, kind_)                                                   \
	{                                                                                         \
		.name = (key), .tag = (number), .offset = offsetof(type, member), .kind = (kind_) \
	}
#define FIELD_SUB(type, member, key, number, kind_, sub)                                           \
	{                                                                                          \
		.name = (key), .tag = (number), .offset = offsetof(type, member), .kind = (kind_), \
		.schema = (sub)                                                                    \
	}
#define FIELD_MAP_OF(type, member, key, number, keys_)                            \
	{                                                                         \
		.name = (key), .tag = (number), .offset = offsetof(type, member), \
		.kind = FIELD_MAP, .keys = (keys_)                                \
	}
#define SCHEMA(name_, type, table)                                                 \
	{                                                                          \
		.name = (name_), .fields = (table), .n_fields = ARRAY_SIZE(table), \
		.size = sizeof(type)                                               \
	}

static inline bool wire_has(const void *object, unsigned int field_index)
{
	return (*(const uint64_t *)object >> field_index) & 1;
}

#define wire_for_each(type, it, list) \
	for (type *it = (list).items, *it##_end = it ? it + (list).len : it; it != it##_end; it++)

/*
 * The value of @key in a list of struct wire_pair. Maps are kept as they came: where a key occurs
 * twice the last one counts, as in Go. False leaves @ret_value untouched.
 */
bool wire_map_get(const struct wire_list *map, struct str key, struct str *ret_value);

/*
 * Whether a schema and all it refers to can be decoded into: names and tags unique, `present`
 * first, members inside the struct, aligned and apart. For tests of tables; INVALID names the
 * field.
 */
int schema_check(const struct schema *schema, struct error *err);

#endif
