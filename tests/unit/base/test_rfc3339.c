/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rfc3339.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/macros.h"

#define UNTOUCHED 4711

struct good {
	const char *what, *text;
	int64_t real_us;
};

static const struct good good[] = {
	{"the epoch", "1970-01-01T00:00:00Z", 0},
	{"seconds", "2026-01-01T00:00:00Z", 1767225600000000},
	{"six digits of fraction", "2026-01-01T00:00:00.000001Z", 1767225600000001},
	{"one digit of fraction", "1970-01-01T00:00:00.5Z", 500000},
	{"nine digits are cut", "1970-01-01T00:00:00.123456789Z", 123456},
	{"before the epoch", "1969-12-31T23:59:59.999999Z", -1},
	{"an offset east of UTC", "1970-01-01T02:00:00+02:00", 0},
	{"an offset west of UTC", "1969-12-31T16:30:00-07:30", 0},
	{"a leap day", "2024-02-29T12:00:00Z", 1709208000000000},
	{"a leap day of a century", "2000-02-29T00:00:00Z", 951782400000000},
	{"the first moment", "0000-01-01T00:00:00Z", TIME_REAL_MIN},
	{"the last moment", "9999-12-31T23:59:59.999999Z", TIME_REAL_MAX},
};

static void reads_what_kubernetes_writes(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		int64_t real_us = UNTOUCHED;

		if (!time_parse(str_from(good[i].text), &real_us) || real_us != good[i].real_us)
			fail_msg("%s: %s", good[i].what, good[i].text);
	}
}

static void refuses_everything_else(void **state)
{
	static const char *const bad[] = {
		"",
		"2026-01-01",
		"2026-01-01T00:00:00",
		"2026-01-01 00:00:00Z",
		"2026-01-01t00:00:00z",
		"2026-01-01T00:00:00.Z",
		"2026-01-01T00:00:00ZZ",
		"2026-01-01T24:00:00Z",
		"2026-01-01T00:60:00Z",
		"2026-01-01T00:00:60Z",
		"2026-13-01T00:00:00Z",
		"2026-00-01T00:00:00Z",
		"2026-01-00T00:00:00Z",
		"2026-04-31T00:00:00Z",
		"2026-02-29T00:00:00Z",
		"1900-02-29T00:00:00Z",
		"+026-01-01T00:00:00Z",
		"2026-01-01T00:00:00+2:00",
		"2026-01-01T00:00:00+24:00",
		"2026-01-01T00:00:00*02:00",
		"0000-01-01T00:00:00+00:01",
		"9999-12-31T23:59:59-00:01",
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		int64_t real_us = UNTOUCHED;

		if (time_parse(str_from(bad[i]), &real_us) || real_us != UNTOUCHED)
			fail_msg("accepted %s", bad[i]);
	}
}

static void writes_seconds_and_microseconds(void **state)
{
	char text[TIME_TEXT_SIZE];

	(void)state;
	assert_int_equal(time_format(1767225600123456, false, text), 20);
	assert_string_equal(text, "2026-01-01T00:00:00Z");
	assert_int_equal(time_format(1767225600123456, true, text), 27);
	assert_string_equal(text, "2026-01-01T00:00:00.123456Z");
	time_format(-1, false, text);
	assert_string_equal(text, "1969-12-31T23:59:59Z");
}

static void writes_the_ends_for_what_lies_beyond(void **state)
{
	char text[TIME_TEXT_SIZE];

	(void)state;
	time_format(INT64_MIN, true, text);
	assert_string_equal(text, "0000-01-01T00:00:00.000000Z");
	time_format(INT64_MAX, true, text);
	assert_string_equal(text, "9999-12-31T23:59:59.999999Z");
}

/* Steps of a prime number of seconds visit every day of the range's months and many hours. */
static void reads_back_what_it_writes(void **state)
{
	char text[TIME_TEXT_SIZE];
	int64_t t, back;

	(void)state;
	for (t = TIME_REAL_MIN; t < TIME_REAL_MAX; t += 1299709LL * 1000003) {
		size_t len = time_format(t, true, text);

		assert_true(time_parse((struct str){text, len}, &back));
		assert_int_equal(back, t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_kubernetes_writes),
		cmocka_unit_test(refuses_everything_else),
		cmocka_unit_test(writes_seconds_and_microseconds),
		cmocka_unit_test(writes_the_ends_for_what_lies_beyond),
		cmocka_unit_test(reads_back_what_it_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
