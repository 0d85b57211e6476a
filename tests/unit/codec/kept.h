/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CODEC_KEPT_H
#define TESTS_UNIT_CODEC_KEPT_H

#include "base/macros.h"
#include "codec/schema.h"

/* A message with a map of which two keys are kept, for the readers of both encodings. */
static const struct str kept_keys[] = {{"a", 1}, {"b/c", 3}};
static const struct field_keys kept = {kept_keys, ARRAY_SIZE(kept_keys)};

struct kept_map {
	uint64_t present;
	struct wire_list map;
};

static const struct field kept_fields[] = {
	FIELD_MAP_OF(struct kept_map, map, "map", 9, &kept),
};
static const struct schema kept_schema = SCHEMA("Kept", struct kept_map, kept_fields);

#endif
