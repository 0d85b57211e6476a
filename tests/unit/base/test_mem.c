/* SPDX-License-Identifier: Apache-2.0 */
/* The memory policy, with children that run out of it on purpose; and the helpers of macros.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

static void fresh_memory_is_zeroed(void **state UNUSED)
{
	unsigned char *block = mem_alloc(100);
	uint32_t *array = mem_alloc_array(10, sizeof(*array));

	for (size_t i = 0; i < 100; i++)
		assert_int_equal(block[i], 0);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(array[i], 0);
	mem_free(block);
	mem_free(array);
	mem_free(NULL);
}

static void nothing_is_a_block_too(void **state UNUSED)
{
	void *a = mem_alloc(0), *b = mem_alloc_array(0, 8), *c = mem_realloc_array(NULL, 0, 8);

	assert_non_null(a);
	assert_non_null(b);
	assert_non_null(c);
	mem_free(a);
	mem_free(b);
	mem_free(c);
}

static void copies_are_terminated(void **state UNUSED)
{
	char *whole = mem_strdup("abc"), *part = mem_strndup("abcdef", 2);
	char *longer = mem_strndup("ab", 10), *none = mem_strndup(NULL, 0);

	assert_string_equal(whole, "abc");
	assert_string_equal(part, "ab");
	assert_string_equal(longer, "ab");
	assert_string_equal(none, "");
	mem_free(whole);
	mem_free(part);
	mem_free(longer);
	mem_free(none);
}

static void wiping_zeroes(void **state UNUSED)
{
	char secret[] = "token";

	mem_wipe(secret, sizeof(secret));
	for (size_t i = 0; i < sizeof(secret); i++)
		assert_int_equal(secret[i], 0);
	mem_wipe(NULL, 0);
}

/* What was released may not be read, but the kernel can say what stands there. */
static void a_secret_is_wiped_before_it_is_released(void **state UNUSED)
{
	static const char text[] = "Bearer a-token-of-some-length-behind-what-the-heap-overwrites";
	char *secret = mem_strdup(text), left[sizeof(text)] = "";
	uintptr_t address = (uintptr_t)secret;
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, left, sizeof(left), (off_t)address), sizeof(left));
	assert_string_equal(left, text);
	mem_free_secret(secret);
	assert_int_equal(pread(fd, left, sizeof(left), (off_t)address), sizeof(left));
	assert_memory_not_equal(left + 32, text + 32, sizeof(text) - 33);
	close(fd);
	mem_free_secret(NULL);
}

static void growing_doubles_and_keeps_what_was_there(void **state UNUSED)
{
	int *numbers = NULL;
	size_t capacity = 0;

	for (int i = 0; i < 1000; i++) {
		mem_grow((void **)&numbers, &capacity, (size_t)i + 1, sizeof(*numbers));
		numbers[i] = i;
	}
	assert_int_equal(capacity, 1024);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(numbers[i], i);
	mem_grow((void **)&numbers, &capacity, 5000, sizeof(*numbers));
	assert_int_equal(capacity, 8192);
	mem_free(numbers);
}

static void owners_release_and_hand_over(void **state UNUSED)
{
	char *kept;
	{
		CLEANUP(mem_free) char *released = mem_strdup("gone");
		CLEANUP(mem_free) char *moved = mem_strdup("kept");

		assert_string_equal(released, "gone");
		kept = TAKE(moved);
		assert_null(moved);
	}
	assert_string_equal(kept, "kept");
	mem_free(kept);
}

static void ask_for_a_product_that_overflows(void)
{
	mem_free(mem_alloc_array(SIZE_MAX / 2, 4));
}

static void grow_beyond_what_can_be_counted(void)
{
	void *array = NULL;
	size_t capacity = 0;

	mem_grow(&array, &capacity, SIZE_MAX - 1, 2);
}

static void asking_for_too_much_ends_the_program_with_one_line(void **state UNUSED)
{
	void (*const cases[])(void) = {
		ask_for_a_product_that_overflows,
		grow_beyond_what_can_be_counted,
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char said[100] = {0};
		int ends[2], status = 0;
		pid_t child;

		assert_int_equal(pipe(ends), 0);
		child = fork();
		if (child == 0) {
			signal(SIGABRT, SIG_DFL);
			dup2(ends[1], STDERR_FILENO);
			cases[i]();
			_exit(0);
		}
		close(ends[1]);
		assert_true(child > 0 && waitpid(child, &status, 0) == child);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
		assert_true(read(ends[0], said, sizeof(said) - 1) > 0);
		assert_string_equal(said, "gpuqos: out of memory, ending\n");
		close(ends[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fresh_memory_is_zeroed),
		cmocka_unit_test(nothing_is_a_block_too),
		cmocka_unit_test(copies_are_terminated),
		cmocka_unit_test(wiping_zeroes),
		cmocka_unit_test(a_secret_is_wiped_before_it_is_released),
		cmocka_unit_test(growing_doubles_and_keeps_what_was_there),
		cmocka_unit_test(owners_release_and_hand_over),
		cmocka_unit_test(asking_for_too_much_ends_the_program_with_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
