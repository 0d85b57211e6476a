/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes into a struct with a field of every kind. Beside surviving: text that was kept is UTF-8
 * and lies in the input, and as the format wants it, two messages one behind the other are their
 * merger.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "codec/pb.h"
#include "unit/codec/sample.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_text(struct str input, struct str text)
{
	require(utf8_valid(text));
	if (text.len > 0 && !str_equal(text, STR("0"))) {
		require(text.data >= input.data);
		require(text.data + text.len <= input.data + input.len);
	}
}

static void check_object(struct str input, const struct sample *object)
{
	check_text(input, object->name);
	check_text(input, object->leaf.name);
	check_text(input, object->quantity);
	wire_for_each(const struct str, text, object->strings)
		check_text(input, *text);
	wire_for_each(const struct sample_leaf, leaf, object->leaves)
		check_text(input, leaf->name);
	wire_for_each(const struct wire_pair, pair, object->quantities) {
		check_text(input, pair->key);
		check_text(input, pair->value);
	}
}

static bool decode(struct str bytes, struct arena *arena, struct sample *object)
{
	struct error err;

	if (pb_decode(&sample_schema, bytes, arena, object, &err) < 0) {
		require(err.kind == ERROR_INVALID || err.kind == ERROR_LIMIT);
		return false;
	}
	check_object(bytes, object);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str bytes = {(const char *)data, size}, rest;
	struct sample whole, head, tail;
	struct pb_envelope envelope;
	struct arena arena CLEANUP(arena_clear);
	size_t cut = size / 2;
	bool both, all;

	arena_init(&arena, LIMIT_DECODE_ARENA);
	all = decode(bytes, &arena, &whole);
	rest = (struct str){bytes.data + cut, size - cut};
	both = decode((struct str){bytes.data, cut}, &arena, &head) && decode(rest, &arena, &tail);
	if (both) {
		require(all);
		require(whole.present == (head.present | tail.present));
		require(whole.strings.len == head.strings.len + tail.strings.len);
		require(whole.nested.len == head.nested.len + tail.nested.len);
	}
	if (pb_open_envelope(bytes, &envelope, NULL) == 0)
		decode(envelope.raw, &arena, &whole);
	return 0;
}
