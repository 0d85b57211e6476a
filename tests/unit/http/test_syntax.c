/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of HTTP that requests and responses share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "http/syntax.h"

static void blanks_at_the_ends_are_cut(void **state UNUSED)
{
	const struct {
		struct str text, trimmed;
	} rows[] = {
		{STR("a"), STR("a")},     {STR(" \ta b\t "), STR("a b")},
		{STR(" \t "), STR("")},   {STR("\r\na\v"), STR("\r\na\v")},
		{STR(" \0 "), STR("\0")}, {STR_NONE, STR("")},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_true(str_equal(http_trim(rows[i].text), rows[i].trimmed));
}

static void names_have_no_case(void **state UNUSED)
{
	assert_true(http_name_is(STR("content-TYPE"), STR("Content-Type")));
	assert_true(http_name_is(STR_NONE, STR("")));
	assert_false(http_name_is(STR("content-type"), STR("content-typ")));
	assert_false(http_name_is(STR("content_type"), STR("content-type")));
	assert_false(http_name_is(STR("a"), STR_NONE));
}

static void tokens_are_of_the_characters_that_names_have(void **state UNUSED)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";

	for (int i = 0; i < 256; i++) {
		char c = (char)i;
		bool alone = (i >= '0' && i <= '9') || (i >= 'A' && i <= 'Z') ||
			     (i >= 'a' && i <= 'z') || (i > 0 && strchr(marks, c));

		assert_int_equal(http_is_token((struct str){&c, 1}), alone);
	}
	assert_true(http_is_token(STR("X-Remote-User")));
	assert_false(http_is_token(STR("X-Remote User")));
	assert_false(http_is_token(STR_NONE));
}

static void text_has_no_control_characters(void **state UNUSED)
{
	for (int i = 0; i < 256; i++) {
		char c = (char)i;
		bool good = i >= 0x20 && i != 0x7f;

		assert_int_equal(http_is_text((struct str){&c, 1}, false), good);
		assert_int_equal(http_is_text((struct str){&c, 1}, true), good || c == '\t');
	}
	assert_true(http_is_text(STR_NONE, false));
	assert_false(http_is_text(STR("a\nb"), true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blanks_at_the_ends_are_cut),
		cmocka_unit_test(names_have_no_case),
		cmocka_unit_test(tokens_are_of_the_characters_that_names_have),
		cmocka_unit_test(text_has_no_control_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
