/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, and arithmetic that notices its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/macros.h"

static void the_system_clock_goes_on(void **state UNUSED)
{
	int64_t before = clock_monotonic(clock_system());

	assert_true(before > 0);
	assert_true(clock_monotonic(clock_system()) >= before);
	assert_true(clock_real(clock_system()) > 1700000000LL * USEC_PER_SEC);
}

static void a_manual_clock_moves_only_when_told(void **state UNUSED)
{
	struct manual_clock manual;

	manual_clock_init(&manual, 10, 1000);
	assert_int_equal(clock_monotonic(&manual.clock), 10);
	assert_int_equal(clock_real(&manual.clock), 1000);
	manual_clock_advance(&manual, 5);
	assert_int_equal(clock_monotonic(&manual.clock), 15);
	assert_int_equal(clock_real(&manual.clock), 1005);
	manual.real_us -= 500; /* the wall clock is set back */
	assert_int_equal(clock_monotonic(&manual.clock), 15);
	assert_int_equal(clock_real(&manual.clock), 505);
}

static void sums_stop_where_int64_does(void **state UNUSED)
{
	static const struct {
		int64_t a, b, sum, difference, product;
	} rows[] = {
		{1, 2, 3, -1, 2},
		{INT64_MAX, 1, INT64_MAX, INT64_MAX - 1, INT64_MAX},
		{INT64_MIN, 1, INT64_MIN + 1, INT64_MIN, INT64_MIN},
		{INT64_MIN, -1, INT64_MIN, INT64_MIN + 1, INT64_MAX},
		{INT64_MAX, -1, INT64_MAX - 1, INT64_MAX, -INT64_MAX},
		{INT64_MAX, -2, INT64_MAX - 2, INT64_MAX, INT64_MIN},
		{0, INT64_MIN, INT64_MIN, INT64_MAX, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t a = rows[i].a, b = rows[i].b;

		assert_int_equal(saturating_add(a, b), rows[i].sum);
		assert_int_equal(saturating_sub(a, b), rows[i].difference);
		assert_int_equal(saturating_mul(a, b), rows[i].product);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_system_clock_goes_on),
		cmocka_unit_test(a_manual_clock_moves_only_when_told),
		cmocka_unit_test(sums_stop_where_int64_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
