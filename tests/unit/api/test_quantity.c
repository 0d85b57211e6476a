/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities. For positive numbers Go's resource.ParseQuantity(text).Value() gives the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "api/quantity.h"
#include "base/macros.h"

#define UNTOUCHED 4711

static void reads_what_kubernetes_reads(void **state)
{
	static const struct {
		const char *text;
		int64_t value;
	} good[] = {
		{"0", 0},
		{"-0", 0},
		{"+4", 4},
		{"4", 4},
		{"007", 7},
		{"320Gi", 320LL << 30},
		{"81559Mi", 81559LL << 20},
		{"1.5Gi", 3LL << 29},
		{".5Gi", 1LL << 29},
		{"1.", 1},
		{"1.Gi", 1LL << 30},
		{"0.1Ki", 103},
		{"0.0000000000000000000000000001Ei", 1},
		{"1k", 1000},
		{"1M", 1000000},
		{"1T", 1000000000000},
		{"1P", 1000000000000000},
		{"9E", 9000000000000000000},
		{"7Ei", 7LL << 60},
		{"8191Pi", 8191LL << 50},
		{"1e3", 1000},
		{"1E3", 1000},
		{"1E+3", 1000},
		{"12e-1", 2},
		{"1e-1000000000000000000", 1},
		{"0e999999999999999999999", 0},
		{"1.5e3", 1500},
		{"0.0015e3", 2},
		{"500m", 1},
		{"1500m", 2},
		{"-1500m", -2},
		{"2000m", 2},
		{"1n", 1},
		{"1000000000n", 1},
		{"1000001u", 2},
		{"-1.5Gi", -(3LL << 29)},
		{"9223372036854775807", INT64_MAX},
		{"-9223372036854775808", INT64_MIN},
		{"-8Ei", INT64_MIN},
		{"0000000000000000000000000000000000000000000001Gi", 1LL << 30},
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		int64_t value = UNTOUCHED;

		if (!quantity_parse(str_from(good[i].text), &value))
			fail_msg("refused %s", good[i].text);
		if (value != good[i].value)
			fail_msg("%s: %lld", good[i].text, (long long)value);
	}
}

static const char *const no_quantities[] = {
	"",
	" ",
	" 1",
	"1 ",
	"1 Gi",
	"Gi",
	".",
	"+",
	"-",
	"--1",
	"1..5",
	"1.5.5",
	"1gi",
	"1GI",
	"1Gib",
	"1GiB",
	"1K",
	"1ki",
	"1mi",
	"1e",
	"1e+",
	"1ee3",
	"1e3.5",
	"1e3k",
	"1k3",
	"0x10",
	"1,5",
	"\xd9\xa1",
	"NaN",
	"inf",
	"1i",
	"1Gi1",
	"e3",
	"9.3E",
	"8Ei",
	"10E",
	"1e19",
	"-9Ei",
	"1e999",
	"-9.3e18",
	"1e99999999999999999999",
};

static void refuses_everything_else(void **state)
{
	static const char long_zero[QUANTITY_TEXT_MAX + 1] = {0};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(no_quantities); i++) {
		int64_t value = UNTOUCHED;

		if (quantity_parse(str_from(no_quantities[i]), &value) || value != UNTOUCHED)
			fail_msg("accepted %s", no_quantities[i]);
	}
	assert_false(quantity_parse((struct str){long_zero, sizeof(long_zero)}, &(int64_t){0}));
	assert_false(quantity_parse((struct str){"1\0", 2}, &(int64_t){0}));
	assert_false(quantity_parse(STR_NONE, &(int64_t){0}));
	assert_false(quantity_parse(STR("9223372036854775808"), &(int64_t){0}));
	assert_false(quantity_parse(STR("9223372036854775807.1"), &(int64_t){0}));
	assert_false(quantity_parse(STR("-9223372036854775809"), &(int64_t){0}));
}

static void takes_as_many_digits_as_it_says(void **state)
{
	char text[QUANTITY_TEXT_MAX + 1];
	int64_t value;

	(void)state;
	memset(text, '0', sizeof(text));
	text[QUANTITY_TEXT_MAX - 1] = '9';
	assert_true(quantity_parse((struct str){text, QUANTITY_TEXT_MAX}, &value));
	assert_int_equal(value, 9);
	assert_false(quantity_parse((struct str){text, QUANTITY_TEXT_MAX + 1}, &value));

	/* The smallest fraction still counts. */
	text[1] = '.';
	text[QUANTITY_TEXT_MAX - 3] = '1';
	text[QUANTITY_TEXT_MAX - 2] = 'E';
	text[QUANTITY_TEXT_MAX - 1] = 'i';
	assert_true(quantity_parse((struct str){text, QUANTITY_TEXT_MAX}, &value));
	assert_int_equal(value, 1);
}

static void writes_the_largest_suffix_that_is_exact(void **state)
{
	static const struct {
		int64_t bytes;
		const char *text;
	} cases[] = {
		{0, "0"},
		{1, "1"},
		{1023, "1023"},
		{1024, "1Ki"},
		{320LL << 30, "320Gi"},
		{81559LL << 20, "81559Mi"},
		{1LL << 40, "1Ti"},
		{7LL << 60, "7Ei"},
		{INT64_MAX, "9223372036854775807"},
		{INT64_MIN, "-8Ei"},
		{-1024, "-1Ki"},
	};
	char text[QUANTITY_TEXT_SIZE];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = quantity_format_bytes(cases[i].bytes, text);
		int64_t back;

		assert_string_equal(text, cases[i].text);
		assert_int_equal(len, strlen(text));
		assert_true(quantity_parse((struct str){text, len}, &back));
		assert_int_equal(back, cases[i].bytes);
	}
	assert_int_equal(quantity_format_count(1024, text), 4);
	assert_string_equal(text, "1024");
}

static void shows_whole_mebibytes(void **state)
{
	static const struct {
		int64_t bytes;
		const char *down, *up;
	} cases[] = {
		{0, "0", "0"},
		{1, "0", "1Mi"},
		{1 << 20, "1Mi", "1Mi"},
		{(81559LL << 20) - 1, "81558Mi", "81559Mi"},
		{12271335629, "11702Mi", "11703Mi"}, /* a seventh of 80Gi */
		{(80LL << 30) + 1024, "80Gi", "81921Mi"},
		{(80LL << 30) - 1024, "81919Mi", "80Gi"},
		{INT64_MAX, "8796093022207Mi", "8796093022207Mi"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[QUANTITY_TEXT_SIZE];

		quantity_format_shown(cases[i].bytes, false, text);
		assert_string_equal(text, cases[i].down);
		quantity_format_shown(cases[i].bytes, true, text);
		assert_string_equal(text, cases[i].up);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_kubernetes_reads),
		cmocka_unit_test(refuses_everything_else),
		cmocka_unit_test(takes_as_many_digits_as_it_says),
		cmocka_unit_test(writes_the_largest_suffix_that_is_exact),
		cmocka_unit_test(shows_whole_mebibytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
