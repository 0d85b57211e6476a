/* SPDX-License-Identifier: Apache-2.0 */
/* Random operations on a map against an array that says which handle is in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/map.h"
#include "base/random.h"

#define HANDLES 300

struct model {
	bool in[HANDLES];
	uint32_t hash[HANDLES];
};

static bool is_key(const void *context UNUSED, uint32_t handle, const void *key)
{
	return handle == *(const uint32_t *)key;
}

/* Every entry can be reached from its home without a gap, the count is right, and it is not too
 * full. */
static void assert_sane(const struct map *map, const struct model *model)
{
	uint32_t mask = map->capacity - 1, count = 0;

	assert_int_equal(map->capacity & (map->capacity - (map->capacity > 0)), 0);
	for (uint32_t i = 0; i < map->capacity; i++) {
		const struct map_slot *slot = &map->slots[i];

		if (slot->handle == MAP_NONE)
			continue;
		count++;
		assert_true(slot->handle < HANDLES && model->in[slot->handle]);
		assert_int_equal(slot->hash, model->hash[slot->handle]);
		for (uint32_t at = slot->hash & mask; at != i; at = (at + 1) & mask)
			assert_int_not_equal(map->slots[at].handle, MAP_NONE);
	}
	assert_int_equal(map->count, count);
	assert_true(count <= map->capacity - map->capacity / 8);
}

static void check_lookups(const struct map *map, const struct model *model)
{
	for (uint32_t i = 0; i < HANDLES; i++) {
		uint32_t found = map_find(map, model->hash[i], is_key, NULL, &i);

		assert_int_equal(found, model->in[i] ? i : MAP_NONE);
	}
}

/* @bits: of the hashes; few of them make long runs and many collisions. */
static void run(uint64_t seed, uint32_t bits)
{
	CLEANUP(map_clear) struct map map = {0};
	CLEANUP(map_clear) struct map copy = {0};
	struct model model = {0};
	struct random random;
	uint64_t bias = 0;

	random_init(&random, seed);
	for (uint32_t i = 0; i < HANDLES; i++)
		model.hash[i] = (uint32_t)random_u64(&random) >> (32 - bits);
	for (int step = 0; step < 3000; step++) {
		uint32_t handle = (uint32_t)random_below(&random, HANDLES);
		uint32_t hash = model.hash[handle];

		if (step % 500 == 0) /* growing and shrinking by turns */
			bias = random_below(&random, 10);
		if (random_below(&random, 10) >= bias) {
			assert_int_equal(map_remove(&map, hash, handle), model.in[handle]);
			model.in[handle] = false;
		} else if (!model.in[handle]) {
			map_insert(&map, hash, handle);
			model.in[handle] = true;
		}
		if (step % 16 == 0)
			assert_sane(&map, &model);
		if (step % 100 == 0) {
			check_lookups(&map, &model);
			map_clone(&map, &copy);
			assert_sane(&copy, &model);
		}
	}
	check_lookups(&map, &model);
}

static void a_map_is_a_set_of_handles(void **state UNUSED)
{
	static const uint32_t bits[] = {1, 3, 6, 9, 32};

	for (uint64_t seed = 0; seed < 8; seed++)
		for (size_t i = 0; i < ARRAY_SIZE(bits); i++)
			run(seed, bits[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_map_is_a_set_of_handles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
