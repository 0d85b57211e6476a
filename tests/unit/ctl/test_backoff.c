/* SPDX-License-Identifier: Apache-2.0 */
/* The back-off: its curve, its bounds, and when it starts over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "ctl/backoff.h"

#define MS USEC_PER_MSEC

static void test_curve(void **state)
{
	static const struct {
		const char *name;
		int64_t base_us, cap_us;
		unsigned int failures;
		int64_t delay_us;
	} cases[] = {
		{"the first failure waits the base", 5, 100, 1, 5},
		{"no failure counts as the first", 5, 100, 0, 5},
		{"the second waits twice that", 5, 100, 2, 10},
		{"the fifth is under the cap", 5, 100, 5, 80},
		{"the sixth is cut to the cap", 5, 100, 6, 100},
		{"the cap is met exactly", 25, 100, 3, 100},
		{"no number of failures overflows", 5, INT64_MAX, 4000000000u, INT64_MAX},
		{"the 62nd doubling overflows no sign", 1, INT64_MAX, 63, INT64_C(1) << 62},
		{"the 63rd doubling is the cap", 1, INT64_MAX, 64, INT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t delay_us =
			backoff_delay(cases[i].base_us, cases[i].cap_us, cases[i].failures);

		if (delay_us != cases[i].delay_us)
			fail_msg("%s: %lld", cases[i].name, (long long)delay_us);
	}
}

/* The delays of failures at given moments, without jitter. */
static void test_memory(void **state)
{
	static const struct {
		const char *name;
		int64_t failures_ms[4], delays_ms[4];
	} cases[] = {
		{"failures in a row double up to the cap",
		 {0, 1000, 3000, 6000},
		 {800, 1600, 3000, 3000}},
		{"a failure at the first moment of time is remembered",
		 {0, 0, 0, 0},
		 {800, 1600, 3000, 3000}},
		{"a quiet time starts over", {10, 20, 10021, 10022}, {800, 1600, 800, 1600}},
		{"a time that is just not long enough does not",
		 {10, 20, 10020, 10021},
		 {800, 1600, 3000, 3000}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct backoff backoff;
		struct random random;

		random_init(&random, 1);
		backoff_init(&backoff, 800 * MS, 3000 * MS, 0, 10000 * MS);
		for (size_t k = 0; k < 4; k++) {
			int64_t now_us = cases[i].failures_ms[k] * MS;
			int64_t delay_us = backoff_fail(&backoff, now_us, &random);

			if (delay_us != cases[i].delays_ms[k] * MS)
				fail_msg("%s: failure %zu waits %lld", cases[i].name, k,
					 (long long)delay_us);
		}
	}
}

static void test_jitter_spreads_upwards_only(void **state)
{
	struct backoff backoff;
	struct random random;
	int64_t least = INT64_MAX, most = 0;

	(void)state;
	random_init(&random, 1);
	backoff_init(&backoff, 1000, 1000, 1.0, 10);
	for (int64_t i = 0; i < 1000; i++) {
		int64_t delay_us = backoff_fail(&backoff, i, &random);

		least = MIN(least, delay_us);
		most = MAX(most, delay_us);
	}
	assert_in_range(least, 1000, 1050);
	assert_in_range(most, 1950, 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_curve),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_jitter_spreads_upwards_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
