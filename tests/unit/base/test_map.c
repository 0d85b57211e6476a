/* SPDX-License-Identifier: Apache-2.0 */
/* The index from hashes to handles: collisions, wrapping, growing, shrinking. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/map.h"

/* Records are their own keys here. */
static bool is_key(const void *context UNUSED, uint32_t handle, const void *key)
{
	return handle == *(const uint32_t *)key;
}

static uint32_t find(const struct map *map, uint32_t hash, uint32_t key)
{
	return map_find(map, hash, is_key, NULL, &key);
}

static void an_empty_map_finds_and_removes_nothing(void **state UNUSED)
{
	struct map map = {0};

	assert_int_equal(find(&map, 1, 1), MAP_NONE);
	assert_false(map_remove(&map, 1, 1));
	assert_int_equal(map_bytes(&map), 0);
	map_clear(&map);
	map_clear(NULL);
}

static void equal_hashes_are_told_apart_by_key(void **state UNUSED)
{
	CLEANUP(map_clear) struct map map = {0};

	for (uint32_t i = 0; i < 20; i++)
		map_insert(&map, 7, i);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(find(&map, 7, i), i);
	assert_int_equal(find(&map, 7, 20), MAP_NONE);
	assert_true(map_remove(&map, 7, 3));
	assert_false(map_remove(&map, 7, 3));
	assert_int_equal(find(&map, 7, 3), MAP_NONE);
	assert_int_equal(find(&map, 7, 19), 19);
}

static void a_run_may_wrap_around_the_end(void **state UNUSED)
{
	CLEANUP(map_clear) struct map map = {0};

	map_insert(&map, 7, 0); /* the last of eight slots */
	map_insert(&map, 7, 1); /* the first */
	map_insert(&map, 6, 2); /* at home */
	map_insert(&map, 0, 3); /* pushed on by the second */
	assert_int_equal(map.capacity, 8);
	assert_true(map_remove(&map, 7, 0));
	assert_int_equal(find(&map, 7, 1), 1);
	assert_int_equal(find(&map, 6, 2), 2);
	assert_int_equal(find(&map, 0, 3), 3);
	assert_int_equal(map.slots[7].handle, 1);
	assert_int_equal(map.slots[0].handle, 3);
}

static void it_takes_eight_bytes_a_slot_and_shrinks_again(void **state UNUSED)
{
	CLEANUP(map_clear) struct map map = {0};

	for (uint32_t i = 0; i < 114688; i++)
		map_insert(&map, i * 2654435761u, i);
	assert_int_equal(map_bytes(&map), 131072 * 8); /* exactly 7/8 full */
	map_insert(&map, 114688 * 2654435761u, 114688);
	assert_int_equal(map_bytes(&map), 262144 * 8);
	for (uint32_t i = 0; i <= 114688; i++)
		assert_true(map_remove(&map, i * 2654435761u, i));
	assert_int_equal(map.count, 0);
	assert_true(map_bytes(&map) <= 128);
}

static void a_clone_lives_its_own_life(void **state UNUSED)
{
	CLEANUP(map_clear) struct map map = {0};
	CLEANUP(map_clear) struct map copy = {0};

	map_clone(&map, &copy);
	assert_int_equal(copy.count, 0);
	for (uint32_t i = 0; i < 100; i++)
		map_insert(&map, i, i);
	map_clone(&map, &copy);
	assert_true(map_remove(&map, 5, 5));
	assert_int_equal(find(&copy, 5, 5), 5);
	map_clone(&map, &copy);
	assert_int_equal(find(&copy, 5, 5), MAP_NONE);
	assert_int_equal(copy.count, 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_map_finds_and_removes_nothing),
		cmocka_unit_test(equal_hashes_are_told_apart_by_key),
		cmocka_unit_test(a_run_may_wrap_around_the_end),
		cmocka_unit_test(it_takes_eight_bytes_a_slot_and_shrinks_again),
		cmocka_unit_test(a_clone_lives_its_own_life),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
