/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and lists for the readers. */
#include "codec/decode.h"

#include <stdio.h>

#include "base/buf.h"

#define SMALL_ELEMENT 64 /* lists of elements up to this size begin with room for four */

struct decode_step *decode_enter(struct decode *decode)
{
	struct decode_step *step;

	if (decode->depth == LIMIT_DECODE_DEPTH) {
		error_set(decode->err, ERROR_LIMIT, "nested deeper than %d", LIMIT_DECODE_DEPTH);
		return NULL;
	}
	step = &decode->steps[decode->depth++];
	*step = (struct decode_step){NULL, DECODE_NO_INDEX};
	return step;
}

static void add_step(struct buf *path, const struct decode_step *step)
{
	if (!step->field)
		return;
	if (path->len > 0)
		buf_add_char(path, '.');
	buf_add_cstr(path, step->field->name);
	if (step->index != DECODE_NO_INDEX)
		buf_printf(path, "[%zu]", step->index);
}

int decode_locate(const struct decode *decode)
{
	struct buf path CLEANUP(buf_clear);
	unsigned int i;

	buf_init(&path, LIMIT_ERROR_MESSAGE);
	for (i = 0; i < decode->depth; i++)
		add_step(&path, &decode->steps[i]);
	if (path.len == 0)
		return error_wrap(decode->err, "%s", decode->schema->name);
	return error_wrap(decode->err, "%s: %s", decode->schema->name, path.data);
}

int decode_no_memory(const struct decode *decode)
{
	return error_set(decode->err, ERROR_LIMIT, "takes more than %zu bytes of memory",
			 decode->arena->limit);
}

bool decode_keeps(const struct field *field, struct str key)
{
	const struct field_keys *keys = field->keys;

	if (!keys)
		return true;
	for (size_t i = 0; i < keys->len; i++)
		if (str_equal(keys->keys[i], key))
			return true;
	return false;
}

/* The room of a list of @len elements is full at its first size and at each power of two from
 * there. */
static bool is_full(size_t len, size_t first)
{
	return len == 0 || (len >= first && (len & (len - 1)) == 0);
}

void *decode_append(struct decode *decode, struct decode_step *step, struct wire_list *list,
		    size_t size)
{
	size_t first = size <= SMALL_ELEMENT ? 4 : 1;

	step->index = list->len;
	if (list->len == LIMIT_DECODE_ITEMS) {
		error_set(decode->err, ERROR_LIMIT, "more than %d elements", LIMIT_DECODE_ITEMS);
		return NULL;
	}
	if (is_full(list->len, first)) {
		void *items =
			arena_alloc(decode->arena, (list->len > 0 ? 2 * list->len : first) * size);

		if (!items) {
			decode_no_memory(decode);
			return NULL;
		}
		if (list->len > 0)
			memcpy(items, list->items, list->len * size);
		list->items = items;
	}
	return (char *)list->items + list->len++ * size;
}
