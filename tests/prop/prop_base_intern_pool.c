/* SPDX-License-Identifier: Apache-2.0 */
/* Random strings in and out of the pool, with the chains between its chunks checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/intern_pool.h"
#include "base/macros.h"
#include "base/random.h"

#define STRINGS 3000

struct model {
	uint32_t handle[STRINGS]; /* 0: not in the pool */
	uint32_t live;
};

/* The chunks with room of a class: each linked both ways, of the class, not full. Returns how many.
 */
static size_t check_class(const struct pool *pool, size_t class_index)
{
	size_t n = 0;
	uint32_t before = 0;

	for (uint32_t at = pool->room[class_index]; at; at = pool->chunks[at].next) {
		const struct pool_chunk *chunk = &pool->chunks[at];

		assert_non_null(chunk->slots);
		assert_int_equal(chunk->prev, before);
		assert_int_equal(chunk->class_index, class_index);
		assert_true(chunk->live < POOL_CHUNK_SLOTS);
		before = at;
		n++;
	}
	return n;
}

static void assert_sane(const struct pool *pool, const struct model *model)
{
	size_t with_room = 0, chained = 0, unused = 0, bytes = 0;
	uint32_t live = 0;

	for (size_t i = 0; i < POOL_CLASSES; i++)
		chained += check_class(pool, i);
	for (size_t i = 1; i < pool->end; i++) {
		const struct pool_chunk *chunk = &pool->chunks[i];

		unused += !chunk->slots;
		with_room += chunk->slots && chunk->live < POOL_CHUNK_SLOTS;
		bytes += (size_t)chunk->slot_size * POOL_CHUNK_SLOTS;
		live += chunk->live;
		if (chunk->live == 0 && chunk->slots) /* an empty one only as the last with room */
			assert_true(!chunk->next && !chunk->prev);
	}
	for (uint32_t at = pool->free_number; at; at = pool->chunks[at].next)
		unused--;
	assert_int_equal(unused, 0);
	assert_int_equal(chained, with_room);
	assert_int_equal(pool->bytes, bytes);
	assert_int_equal(live, model->live);
}

/* String @i: one of a few lengths, so that each class has many chunks. */
static struct str text_of(size_t i, char (*text)[64])
{
	memset(*text, (int)('a' + i % 26), sizeof(*text));
	(*text)[0] = (char)i;
	(*text)[1] = (char)(i >> 8);
	return (struct str){*text, 20 + i % 3 * 7};
}

static void check_texts(const struct pool *pool, const struct model *model)
{
	char text[64];

	for (size_t i = 0; i < STRINGS; i++) {
		if (!model->handle[i])
			continue;
		assert_true(str_equal(pool_str(pool, model->handle[i]), text_of(i, &text)));
		assert_int_equal(pool_refs(pool, model->handle[i]), 1);
	}
}

static void run(uint64_t seed)
{
	struct pool pool = {0};
	struct model model = {0};
	struct random random;
	char text[64];

	random_init(&random, seed);
	for (int turn = 0; turn < 40; turn++) {
		uint64_t bias = turn % 2 == 0 ? 8 : random_below(&random, 6);

		for (int i = 0; i < 1500; i++) {
			size_t at = (size_t)random_below(&random, STRINGS);
			bool in = random_below(&random, 10) < bias;

			if (in && !model.handle[at]) {
				model.handle[at] = pool_add(&pool, text_of(at, &text));
				model.live++;
			} else if (!in && model.handle[at]) {
				pool_remove(&pool, model.handle[at]);
				model.handle[at] = 0;
				model.live--;
			}
		}
		assert_sane(&pool, &model);
		check_texts(&pool, &model);
	}
	pool_clear(&pool);
}

static void the_pool_keeps_its_chains(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 10; seed++)
		run(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_pool_keeps_its_chains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
