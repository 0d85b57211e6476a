/* SPDX-License-Identifier: Apache-2.0 */
/* The seeded generator and the kernel's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/macros.h"
#include "base/random.h"

static void the_same_seed_gives_the_same_run(void **state UNUSED)
{
	struct random a, b, c;
	int same = 0;

	random_init(&a, 42);
	random_init(&b, 42);
	random_init(&c, 43);
	for (int i = 0; i < 1000; i++) {
		uint64_t drawn = random_u64(&a);

		assert_true(drawn == random_u64(&b));
		same += drawn == random_u64(&c);
	}
	assert_int_equal(same, 0);
}

/* The first number after the state 1, 2, 3, 4 is rotl(2 * 5, 7) * 9 by the algorithm's definition.
 */
static void the_steps_are_those_of_xoshiro256_starstar(void **state UNUSED)
{
	struct random random = {{1, 2, 3, 4}};

	assert_int_equal(random_u64(&random), 11520);
	assert_int_equal(random_u64(&random), 0);
	assert_int_equal(random_u64(&random), 1509978240);
}

static void a_bound_is_kept_and_every_number_below_comes(void **state UNUSED)
{
	static const uint64_t bounds[] = {1, 2, 3, 7, 10, 64};
	struct random random;

	random_init(&random, 1);
	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++) {
		int seen[64] = {0};

		for (int n = 0; n < 6400; n++) {
			uint64_t drawn = random_below(&random, bounds[i]);

			assert_true(drawn < bounds[i]);
			seen[drawn]++;
		}
		for (uint64_t n = 0; n < bounds[i]; n++)
			assert_in_range(seen[n], 3200 / bounds[i], 12800 / bounds[i]);
	}
	assert_true(random_below(&random, UINT64_MAX) < UINT64_MAX);
}

static void units_and_jitter_keep_their_ranges(void **state UNUSED)
{
	struct random random;
	double lowest = 1, highest = 0;

	random_init(&random, 2);
	for (int i = 0; i < 10000; i++) {
		double unit = random_unit(&random);
		int64_t us = random_jitter(&random, 1000000, 0.5);

		assert_true(unit >= 0 && unit < 1);
		lowest = MIN(lowest, unit);
		highest = MAX(highest, unit);
		assert_true(us >= 1000000 && us < 1500000);
	}
	assert_true(lowest < 0.01 && highest > 0.99);
	assert_int_equal(random_jitter(&random, 0, 1), 0);
	assert_int_equal(random_jitter(&random, 777, 0), 777);
	assert_int_equal(random_jitter(&random, INT64_MAX, 1), INT64_MAX);
}

static void the_kernel_gives_as_many_bytes_as_asked(void **state UNUSED)
{
	unsigned char bytes[300], zero[300] = {0};

	memset(bytes, 0, sizeof(bytes));
	random_bytes(bytes, 0);
	assert_memory_equal(bytes, zero, sizeof(bytes));
	random_bytes(bytes, 290);
	assert_memory_not_equal(bytes, zero, 16);
	assert_memory_not_equal(bytes + 274, zero, 16);
	assert_memory_equal(bytes + 290, zero, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_seed_gives_the_same_run),
		cmocka_unit_test(the_steps_are_those_of_xoshiro256_starstar),
		cmocka_unit_test(a_bound_is_kept_and_every_number_below_comes),
		cmocka_unit_test(units_and_jitter_keep_their_ranges),
		cmocka_unit_test(the_kernel_gives_as_many_bytes_as_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
