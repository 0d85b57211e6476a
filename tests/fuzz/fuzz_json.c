/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text is given to our reader and to jansson, which must agree: on what is JSON when nothing is
 * kept, and on every value of a struct with a field of every kind when something is.
 */
#include <stdlib.h>

#include <jansson.h>

#include "base/limits.h"
#include "codec/json.h"
#include "unit/codec/sample.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool same_text(const json_t *json, struct str text)
{
	return json_is_string(json) &&
	       str_equal((struct str){json_string_value(json), json_string_length(json)}, text);
}

static void check_leaf(const json_t *json, const struct sample_leaf *leaf)
{
	if (wire_has(leaf, SAMPLE_LEAF_NAME))
		require(same_text(json_object_get(json, "name"), leaf->name));
	if (wire_has(leaf, SAMPLE_LEAF_COUNT))
		require(json_integer_value(json_object_get(json, "count")) == leaf->count);
}

static void check_lists(const json_t *json, const struct sample *object)
{
	const json_t *strings = json_object_get(json, "strings");
	const json_t *leaves = json_object_get(json, "leaves");
	const json_t *map = json_object_get(json, "map");
	struct str value;
	const char *key;
	json_t *entry;
	size_t i = 0;

	require(json_array_size(strings) == object->strings.len);
	wire_for_each(const struct str, text, object->strings)
		require(same_text(json_array_get(strings, i++), *text));
	i = 0;
	require(json_array_size(leaves) == object->leaves.len);
	wire_for_each(const struct sample_leaf, leaf, object->leaves)
		check_leaf(json_array_get(leaves, i++), leaf);
	json_object_foreach((json_t *)(uintptr_t)map, key, entry)
	{
		bool has = wire_map_get(&object->map, str_from(key), &value);

		/* Null behind a value of the same key: jansson keeps the null, we the value. */
		require(json_is_null(entry) || (has && same_text(entry, value)));
	}
}

static void check_object(const json_t *json, const struct sample *object)
{
	if (wire_has(object, SAMPLE_NAME))
		require(same_text(json_object_get(json, "name"), object->name));
	if (wire_has(object, SAMPLE_FLAG))
		require(json_is_boolean(json_object_get(json, "flag")) &&
			json_is_true(json_object_get(json, "flag")) == object->flag);
	if (wire_has(object, SAMPLE_SMALL))
		require(json_integer_value(json_object_get(json, "small")) == object->small);
	if (wire_has(object, SAMPLE_BIG))
		require(json_integer_value(json_object_get(json, "big")) == object->big);
	if (wire_has(object, SAMPLE_LEAF))
		check_leaf(json_object_get(json, "leaf"), &object->leaf);
	if (wire_has(object, SAMPLE_RAW)) {
		json_t *raw = json_loadb(object->raw.data, object->raw.len, JSON_DECODE_ANY, NULL);

		require(raw && json_equal(raw, json_object_get(json, "raw")));
		json_decref(raw);
	}
	check_lists(json, object);
}

/* Whether jansson can represent all numbers of a text that is JSON. */
static bool is_representable(const json_error_t *error)
{
	return json_error_code(error) != json_error_numeric_overflow;
}

/* Jansson passes over a zero byte behind a number, which is no JSON. */
static bool has_zero_byte(struct str text)
{
	return text.len > 0 && memchr(text.data, '\0', text.len);
}

/* Nothing is kept: both see the same texts as objects. */
static void check_syntax(struct str text, const json_t *json, const json_error_t *error)
{
	static const struct schema nothing = {"Nothing", NULL, 0, sizeof(uint64_t)};
	struct arena arena CLEANUP(arena_clear);
	struct error err;
	uint64_t present;

	arena_init(&arena, LIMIT_DECODE_ARENA);
	if (json_decode(&nothing, text, &arena, &present, &err) == 0)
		require(json_is_object(json) || !is_representable(error));
	else
		require(err.kind == ERROR_LIMIT || !json_is_object(json) || has_zero_byte(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = {(const char *)data, size};
	struct arena arena CLEANUP(arena_clear);
	struct sample object, strict;
	json_error_t error;
	json_t *json = json_loadb(text.data, text.len, 0, &error);

	check_syntax(text, json, &error);
	arena_init(&arena, LIMIT_DECODE_ARENA);
	if (json_decode(&sample_schema, text, &arena, &object, NULL) == 0 && json)
		check_object(json, &object);
	if (json_decode_strict(&sample_schema, text, &arena, &strict, NULL) == 0)
		require(strict.present == object.present);
	json_decref(json);
	return 0;
}
