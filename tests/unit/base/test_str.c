/* SPDX-License-Identifier: Apache-2.0 */
/* Borrowed text: comparing, cutting, numbers; and what UTF-8 is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/str.h"
#include "base/utf8.h"

static void the_order_is_that_of_bytes(void **state UNUSED)
{
	static const char *const ordered[] = {"", "a", "aa", "ab", "b", "\xc3\xa4"};

	for (size_t i = 0; i < ARRAY_SIZE(ordered); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(ordered); j++) {
			struct str a = str_from(ordered[i]), b = str_from(ordered[j]);
			int order = str_compare(a, b);

			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
			assert_int_equal(str_equal(a, b), i == j);
		}
	}
	assert_true(str_equal(STR_NONE, STR("")));
	assert_int_equal(str_compare(STR_NONE, STR("")), 0);
	assert_true(str_empty(str_from(NULL)));
	assert_false(str_equal(STR("a\0b"), STR("a\0c")));
}

static void prefixes_and_suffixes(void **state UNUSED)
{
	assert_true(str_starts_with(STR("nvidia.com/gpu"), STR("nvidia.com/")));
	assert_false(str_starts_with(STR("nvidia"), STR("nvidia.com/")));
	assert_true(str_starts_with(STR("x"), STR_NONE));
	assert_true(str_starts_with(STR_NONE, STR_NONE));
	assert_true(str_ends_with(STR("gpu.shared"), STR(".shared")));
	assert_false(str_ends_with(STR("shared"), STR(".shared")));
	assert_true(str_ends_with(STR_NONE, STR("")));
}

static void splitting_cuts_at_the_first_separator(void **state UNUSED)
{
	static const struct {
		const char *text, *head, *tail;
		bool found;
	} rows[] = {
		{"a/b/c", "a", "b/c", true}, {"/b", "", "b", true}, {"a/", "a", "", true},
		{"abc", "abc", "", false},   {"", "", "", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct str head, tail;

		assert_int_equal(str_split(str_from(rows[i].text), '/', &head, &tail),
				 rows[i].found);
		assert_true(str_equal(head, str_from(rows[i].head)));
		assert_true(str_equal(tail, str_from(rows[i].tail)));
	}
}

static void integers_are_read_whole_or_not_at_all(void **state UNUSED)
{
	static const struct {
		const char *text;
		int64_t min, max, value;
		bool good;
	} rows[] = {
		{"0", 0, 0, 0, true},
		{"-0", 0, 0, 0, true},
		{"42", 0, 100, 42, true},
		{"007", 0, 100, 7, true},
		{"9223372036854775807", INT64_MIN, INT64_MAX, INT64_MAX, true},
		{"-9223372036854775808", INT64_MIN, INT64_MAX, INT64_MIN, true},
		{"9223372036854775808", INT64_MIN, INT64_MAX, 0, false},
		{"-9223372036854775809", INT64_MIN, INT64_MAX, 0, false},
		{"99999999999999999999999999", INT64_MIN, INT64_MAX, 0, false},
		{"101", 0, 100, 0, false},
		{"-1", 0, 100, 0, false},
		{"", 0, 100, 0, false},
		{"-", -100, 100, 0, false},
		{"+1", 0, 100, 0, false},
		{" 1", 0, 100, 0, false},
		{"1 ", 0, 100, 0, false},
		{"1.0", 0, 100, 0, false},
		{"--1", -100, 100, 0, false},
		{"0x10", 0, 100, 0, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t value = -77;

		assert_int_equal(
			str_to_int64(str_from(rows[i].text), rows[i].min, rows[i].max, &value),
			rows[i].good);
		assert_int_equal(value, rows[i].good ? rows[i].value : -77);
	}
}

static void hexadecimal_digits_have_their_value(void **state UNUSED)
{
	static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";

	for (int i = 0; i < 256; i++) {
		char c = (char)i;
		const char *at = i > 0 ? strchr(lower, c) : NULL;
		int value = at ? (int)(at - lower) : -1;

		at = i > 0 ? strchr(upper, c) : NULL;
		assert_int_equal(str_hex_digit(c), at ? (int)(at - upper) : value);
	}
}

static void characters_have_their_length(void **state UNUSED)
{
	static const struct {
		const char *what, *bytes;
		size_t length;
	} rows[] = {
		{"a letter", "a", 1},
		{"two bytes", "\xc3\xa4x", 2},
		{"the first of three bytes", "\xe0\xa0\x80", 3},
		{"the last before surrogates", "\xed\x9f\xbf", 3},
		{"the first of four bytes", "\xf0\x90\x80\x80", 4},
		{"U+10FFFF", "\xf4\x8f\xbf\xbf", 4},
		{"a tail byte alone", "\x80", 0},
		{"overlong slash", "\xc0\xaf", 0},
		{"overlong in three bytes", "\xe0\x9f\xbf", 0},
		{"overlong in four bytes", "\xf0\x8f\xbf\xbf", 0},
		{"a surrogate", "\xed\xa0\x80", 0},
		{"above U+10FFFF", "\xf4\x90\x80\x80", 0},
		{"F5 never occurs", "\xf5\x80\x80\x80", 0},
		{"a cut sequence", "\xe2\x82", 0},
		{"a broken sequence", "\xe2\x82x", 0},
		{"nothing", "", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t length = utf8_length(str_from(rows[i].bytes));

		if (length != rows[i].length)
			fail_msg("%s: %zu", rows[i].what, length);
	}
	assert_int_equal(utf8_length(STR("\0")), 1);
	assert_true(utf8_valid(STR("a\xc3\xa4\xf0\x9f\x98\x80")));
	assert_false(utf8_valid(STR("a\xc3\xa4\xf0\x9f\x98")));
	assert_true(utf8_valid(STR_NONE));
	assert_true(utf8_valid(STR("eight bytes and more \xc3\xa4")));
	assert_false(utf8_valid(STR("eight bytes and more \xa4")));
}

static void a_cut_leaves_whole_characters(void **state UNUSED)
{
	static const char text[] = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80";
	static const size_t lengths[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};

	for (size_t max = 0; max < ARRAY_SIZE(lengths); max++) {
		size_t cut = MIN(max, sizeof(text) - 1);

		assert_int_equal(utf8_prefix(STR(text), max).len, lengths[max]);
		assert_int_equal(utf8_whole((struct str){text, cut}).len, lengths[max]);
	}
	assert_int_equal(utf8_whole(STR("a\xa4")).len, 2);
	assert_int_equal(utf8_whole(STR_NONE).len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_order_is_that_of_bytes),
		cmocka_unit_test(prefixes_and_suffixes),
		cmocka_unit_test(splitting_cuts_at_the_first_separator),
		cmocka_unit_test(integers_are_read_whole_or_not_at_all),
		cmocka_unit_test(hexadecimal_digits_have_their_value),
		cmocka_unit_test(characters_have_their_length),
		cmocka_unit_test(a_cut_leaves_whole_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
