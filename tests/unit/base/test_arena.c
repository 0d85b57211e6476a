/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas: alignment, limits, and what a reset keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"

static void blocks_are_zeroed_aligned_and_apart(void **state UNUSED)
{
	CLEANUP(arena_clear) struct arena arena = {0};
	unsigned char *blocks[200];

	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		size_t size = i * 7;

		blocks[i] = arena_alloc(&arena, size);
		assert_non_null(blocks[i]);
		assert_int_equal((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
		for (size_t j = 0; j < size; j++)
			assert_int_equal(blocks[i][j], 0);
		memset(blocks[i], (int)i, size);
	}
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		for (size_t j = 0; j < i * 7; j++)
			assert_int_equal(blocks[i][j], i);
}

static void memory_used_again_is_zeroed_again(void **state UNUSED)
{
	CLEANUP(arena_clear) struct arena arena = {0};
	unsigned char *block = arena_alloc(&arena, 100);

	memset(block, 0xff, 100);
	arena_reset(&arena);
	block = arena_alloc(&arena, 100);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(block[i], 0);
}

static void the_limit_refuses_and_a_reset_makes_room(void **state UNUSED)
{
	CLEANUP(arena_clear) struct arena arena;

	arena_init(&arena, 1000);
	assert_non_null(arena_alloc(&arena, 600));
	assert_null(arena_alloc(&arena, 600));
	assert_non_null(arena_alloc(&arena, 300));
	assert_null(arena_alloc(&arena, SIZE_MAX));
	assert_null(arena_alloc(&arena, SIZE_MAX / 2));
	assert_null(arena_strndup(&arena, "", SIZE_MAX));
	assert_true(arena.used <= 1000);
	arena_reset(&arena);
	assert_int_equal(arena.used, 0);
	assert_non_null(arena_alloc(&arena, 900));
}

static void a_repeated_decode_stays_in_one_chunk(void **state UNUSED)
{
	CLEANUP(arena_clear) struct arena arena = {0};
	struct arena_chunk *chunk = NULL;

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 1000; i++)
			assert_non_null(arena_alloc(&arena, 100));
		if (round > 2)
			assert_ptr_equal(arena.chunks, chunk);
		arena_reset(&arena);
		chunk = arena.chunks;
		assert_non_null(chunk);
	}
}

static void a_huge_block_is_not_kept(void **state UNUSED)
{
	CLEANUP(arena_clear) struct arena arena = {0};

	memset(arena_alloc(&arena, 10 << 20), 1, 10 << 20);
	arena_reset(&arena);
	assert_null(arena.chunks);
}

static void copies_are_terminated(void **state UNUSED)
{
	CLEANUP(arena_clear) struct arena arena = {0};

	assert_string_equal(arena_strndup(&arena, "abcdef", 3), "abc");
	assert_string_equal(arena_strndup(&arena, NULL, 0), "");
}

static void clearing_nothing_is_fine(void **state UNUSED)
{
	struct arena arena = {0};

	arena_clear(NULL);
	arena_clear(&arena);
	arena_reset(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_zeroed_aligned_and_apart),
		cmocka_unit_test(memory_used_again_is_zeroed_again),
		cmocka_unit_test(the_limit_refuses_and_a_reset_makes_room),
		cmocka_unit_test(a_repeated_decode_stays_in_one_chunk),
		cmocka_unit_test(a_huge_block_is_not_kept),
		cmocka_unit_test(copies_are_terminated),
		cmocka_unit_test(clearing_nothing_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
