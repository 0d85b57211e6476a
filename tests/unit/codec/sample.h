/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CODEC_SAMPLE_H
#define TESTS_UNIT_CODEC_SAMPLE_H

#include "base/macros.h"
#include "codec/schema.h"

/* A type with a field of every kind, once as a leaf and once in depth, for the tests of both
 * readers. */
struct sample_leaf {
	uint64_t present;
	struct str name;
	int32_t count;
};

enum { SAMPLE_LEAF_NAME, SAMPLE_LEAF_COUNT };

struct sample {
	uint64_t present;
	struct str name, bytes, quantity, raw;
	bool flag;
	int32_t small;
	int64_t big, time_us;
	struct sample_leaf leaf;
	struct wire_list strings, leaves, map, quantities;
	struct wire_list entries; /* of struct sample_entry */
	struct wire_list nested;  /* of struct sample_nest */
};

enum {
	SAMPLE_NAME,
	SAMPLE_BYTES,
	SAMPLE_FLAG,
	SAMPLE_SMALL,
	SAMPLE_BIG,
	SAMPLE_LEAF,
	SAMPLE_STRINGS,
	SAMPLE_LEAVES,
	SAMPLE_MAP,
	SAMPLE_QUANTITY,
	SAMPLE_QUANTITIES,
	SAMPLE_TIME,
	SAMPLE_RAW,
	SAMPLE_NESTED,
	SAMPLE_ENTRIES,
};

/* One entry of a map of messages. */
struct sample_entry {
	uint64_t present;
	struct str key;
	struct sample_leaf value;
};

/* A type that contains itself: input decides how deep. */
struct sample_nest {
	uint64_t present;
	struct wire_list nested;
};

static const struct field sample_leaf_fields[] = {
	FIELD(struct sample_leaf, name, "name", 1, FIELD_STRING),
	FIELD(struct sample_leaf, count, "count", 2, FIELD_INT32),
};

static const struct schema sample_leaf_schema =
	SCHEMA("Leaf", struct sample_leaf, sample_leaf_fields);

static const struct field sample_entry_fields[] = {
	FIELD(struct sample_entry, key, "key", 1, FIELD_STRING),
	FIELD_SUB(struct sample_entry, value, "value", 2, FIELD_MESSAGE, &sample_leaf_schema),
};
static const struct schema sample_entry_schema =
	SCHEMA("Entry", struct sample_entry, sample_entry_fields);

static const struct schema sample_nest_schema;
static const struct field sample_nest_fields[] = {
	FIELD_SUB(struct sample_nest, nested, "nested", 14, FIELD_MESSAGES, &sample_nest_schema),
};
static const struct schema sample_nest_schema =
	SCHEMA("Nest", struct sample_nest, sample_nest_fields);

static const struct field sample_fields[] = {
	FIELD(struct sample, name, "name", 1, FIELD_STRING),
	FIELD(struct sample, bytes, "bytes", 2, FIELD_BYTES),
	FIELD(struct sample, flag, "flag", 3, FIELD_BOOL),
	FIELD(struct sample, small, "small", 4, FIELD_INT32),
	FIELD(struct sample, big, "big", 5, FIELD_INT64),
	FIELD_SUB(struct sample, leaf, "leaf", 6, FIELD_MESSAGE, &sample_leaf_schema),
	FIELD(struct sample, strings, "strings", 7, FIELD_STRINGS),
	FIELD_SUB(struct sample, leaves, "leaves", 8, FIELD_MESSAGES, &sample_leaf_schema),
	FIELD(struct sample, map, "map", 9, FIELD_MAP),
	FIELD(struct sample, quantity, "quantity", 10, FIELD_QUANTITY),
	FIELD(struct sample, quantities, "quantities", 11, FIELD_QUANTITIES),
	FIELD(struct sample, time_us, "time", 12, FIELD_TIME),
	FIELD(struct sample, raw, "raw", 13, FIELD_RAW),
	FIELD_SUB(struct sample, nested, "nested", 14, FIELD_MESSAGES, &sample_nest_schema),
	FIELD_SUB(struct sample, entries, "entries", 15, FIELD_ENTRIES, &sample_entry_schema),
};

static const struct schema sample_schema = SCHEMA("Sample", struct sample, sample_fields);

#endif
