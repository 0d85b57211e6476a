/* SPDX-License-Identifier: Apache-2.0 */
/* Random additions to a buffer, and blocks of an arena, against fixed arrays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/random.h"

#define MOST 4096

struct model {
	char data[MOST];
	size_t len, max;
	bool overflowed;
};

static void assert_sane(const struct buf *buf, const struct model *model)
{
	assert_int_equal(buf->len, model->len);
	assert_int_equal(buf->overflowed, model->overflowed);
	assert_true(buf->len <= buf->max && buf->capacity <= buf->max + 1);
	if (!buf->data) {
		assert_int_equal(buf->len, 0);
		return;
	}
	assert_true(buf->len < buf->capacity);
	assert_memory_equal(buf->data, model->data, model->len);
	assert_int_equal(buf->data[buf->len], '\0');
}

static bool model_add(struct model *model, const char *data, size_t len)
{
	if (model->overflowed || len > model->max - model->len) {
		model->overflowed = true;
		return false;
	}
	memcpy(model->data + model->len, data, len);
	model->len += len;
	return true;
}

static void add(struct buf *buf, struct model *model, struct random *random)
{
	char bytes[256];
	size_t len = (size_t)random_below(random, sizeof(bytes));
	bool expected;

	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(random_below(random, 255) + 1);
	bytes[len] = '\0';
	expected = model_add(model, bytes, len);
	switch (random_below(random, 4)) {
	case 0:
		assert_int_equal(buf_add(buf, bytes, len), expected);
		break;
	case 1:
		assert_int_equal(buf_add_cstr(buf, bytes), expected);
		break;
	case 2:
		assert_int_equal(buf_printf(buf, "%s", bytes), expected);
		break;
	default: {
		char *room = buf_reserve(buf, len);

		assert_int_equal(room != NULL, expected);
		if (room) {
			memcpy(room, bytes, len);
			buf_commit(buf, len);
		}
	}
	}
}

static void drop(struct buf *buf, struct model *model, struct random *random)
{
	size_t len = (size_t)random_below(random, model->max + 10);

	buf_consume(buf, len);
	len = MIN(len, model->len);
	model->len -= len;
	memmove(model->data, model->data + len, model->len);
}

static void empty(struct buf *buf, struct model *model, struct random *random)
{
	switch (random_below(random, 3)) {
	case 0:
		buf_reset(buf);
		break;
	case 1:
		buf_clear(buf);
		break;
	default: {
		CLEANUP(mem_free) char *bytes = buf_take(buf);

		assert_memory_equal(bytes, model->data, model->len);
		assert_int_equal(bytes[model->len], '\0');
	}
	}
	model->len = 0;
	model->overflowed = false;
}

static void a_buffer_is_an_array_with_an_end(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 200; seed++) {
		CLEANUP(buf_clear) struct buf buf;
		struct random random;
		struct model model = {0};

		random_init(&random, seed);
		model.max = (size_t)random_below(&random, MOST);
		buf_init(&buf, model.max);
		for (int step = 0; step < 200; step++) {
			uint64_t choice = random_below(&random, 20);

			if (choice == 0)
				empty(&buf, &model, &random);
			else if (choice < 4)
				drop(&buf, &model, &random);
			else
				add(&buf, &model, &random);
			assert_sane(&buf, &model);
		}
	}
}

/* Blocks keep what is written to them until the reset, whatever is allocated beside. */
static void an_arenas_blocks_do_not_meet(void **state UNUSED)
{
	enum { BLOCKS = 300 };
	CLEANUP(arena_clear) struct arena arena = {0};
	struct random random;

	random_init(&random, 5);
	for (int round = 0; round < 30; round++) {
		unsigned char *blocks[BLOCKS];
		size_t sizes[BLOCKS], used = 0;

		for (size_t i = 0; i < BLOCKS; i++) {
			uint64_t most = 1u << random_below(&random, 14);

			sizes[i] = (size_t)random_below(&random, most);
			used += sizes[i];
			blocks[i] = arena_alloc(&arena, sizes[i]);
			assert_non_null(blocks[i]);
			memset(blocks[i], (int)(i & 255), sizes[i]);
		}
		for (size_t i = 0; i < BLOCKS; i++)
			for (size_t j = 0; j < sizes[i]; j++)
				assert_true(blocks[i][j] == (i & 255));
		assert_true(arena.used >= used);
		arena_reset(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_buffer_is_an_array_with_an_end),
		cmocka_unit_test(an_arenas_blocks_do_not_meet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
