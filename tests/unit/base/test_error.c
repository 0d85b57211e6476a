/* SPDX-License-Identifier: Apache-2.0 */
/* Errors: what they say, how context is put before them, where they are cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "base/utf8.h"

static void setting_fills_the_error_and_returns_minus_one(void **state UNUSED)
{
	struct error err = {.http_status = 500, .retry_after_us = 7};

	assert_int_equal(error_set(&err, ERROR_LIMIT, "pod %s: %d bytes", "a/b", 12), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_string_equal(err.message, "pod a/b: 12 bytes");
	assert_int_equal(err.http_status, 0);
	assert_int_equal(err.retry_after_us, 0);
}

static void errno_text_is_appended(void **state UNUSED)
{
	struct error err;

	assert_int_equal(error_set_errno(&err, ENOENT, "open %s", "/none"), -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	assert_string_equal(err.message, "open /none: No such file or directory");
}

static void context_goes_before_the_message_and_keeps_the_rest(void **state UNUSED)
{
	struct error err;

	error_set(&err, ERROR_THROTTLED, "too many");
	err.http_status = 429;
	err.retry_after_us = 1000000;
	assert_int_equal(error_wrap(&err, "patch %s", "x"), -1);
	error_wrap(&err, "reconcile");
	assert_string_equal(err.message, "reconcile: patch x: too many");
	assert_int_equal(err.kind, ERROR_THROTTLED);
	assert_int_equal(err.http_status, 429);
	assert_int_equal(err.retry_after_us, 1000000);
}

static void a_message_may_be_made_of_itself(void **state UNUSED)
{
	struct error err;

	error_set(&err, ERROR_INVALID, "first");
	error_set(&err, ERROR_SYSTEM, "<%s>", err.message);
	assert_string_equal(err.message, "<first>");
	error_wrap(&err, "%s", err.message);
	assert_string_equal(err.message, "<first>: <first>");
}

static void no_error_wanted_is_fine(void **state UNUSED)
{
	assert_int_equal(error_set(NULL, ERROR_INVALID, "x"), -1);
	assert_int_equal(error_set_errno(NULL, EIO, "x"), -1);
	assert_int_equal(error_wrap(NULL, "x"), -1);
	error_clear(NULL);
}

static void long_messages_are_cut_between_characters(void **state UNUSED)
{
	char text[2 * LIMIT_ERROR_MESSAGE];
	static const char *const fillers[] = {"x", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};

	for (size_t f = 0; f < ARRAY_SIZE(fillers); f++) {
		for (size_t shift = 0; shift < 4; shift++) {
			struct error err;
			size_t width = strlen(fillers[f]), len;

			memset(text, '-', sizeof(text));
			for (len = shift; len + width < sizeof(text) - 1; len += width)
				memcpy(text + len, fillers[f], width);
			text[len] = '\0';
			error_set(&err, ERROR_INVALID, "%s", text);
			assert_true(utf8_valid(str_from(err.message)));
			assert_in_range(strlen(err.message), LIMIT_ERROR_MESSAGE - 4,
					LIMIT_ERROR_MESSAGE - 1);
			error_wrap(&err, "%s", fillers[f]);
			assert_true(utf8_valid(str_from(err.message)));
			error_set_errno(&err, EIO, "%s", text);
			assert_true(utf8_valid(str_from(err.message)));
		}
	}
}

static void a_message_that_fits_is_kept_whole(void **state UNUSED)
{
	char text[LIMIT_ERROR_MESSAGE];
	struct error err;

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	error_set(&err, ERROR_INVALID, "%s", text);
	assert_string_equal(err.message, text);
	memset(text, 0xe2, sizeof(text) - 1); /* not UTF-8, not cut: not ours to repair */
	error_set(&err, ERROR_INVALID, "%s", text);
	assert_string_equal(err.message, text);
}

static void kinds_say_their_name(void **state UNUSED)
{
	static const struct {
		enum error_kind kind;
		const char *name;
	} rows[] = {
		{ERROR_NONE, "none"},           {ERROR_INVALID, "invalid"},
		{ERROR_CONFLICT, "conflict"},   {ERROR_THROTTLED, "throttled"},
		{ERROR_FORBIDDEN, "forbidden"}, {ERROR_FENCED, "fenced"},
		{ERROR_SYSTEM, "system error"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(error_kind_name(rows[i].kind), rows[i].name);
}

static void clearing_empties(void **state UNUSED)
{
	struct error err;

	error_set(&err, ERROR_INVALID, "x");
	error_clear(&err);
	assert_int_equal(err.kind, ERROR_NONE);
	assert_string_equal(err.message, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(setting_fills_the_error_and_returns_minus_one),
		cmocka_unit_test(errno_text_is_appended),
		cmocka_unit_test(context_goes_before_the_message_and_keeps_the_rest),
		cmocka_unit_test(a_message_may_be_made_of_itself),
		cmocka_unit_test(no_error_wanted_is_fine),
		cmocka_unit_test(long_messages_are_cut_between_characters),
		cmocka_unit_test(a_message_that_fits_is_kept_whole),
		cmocka_unit_test(kinds_say_their_name),
		cmocka_unit_test(clearing_empties),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
