/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/json_out.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/limits.h"
#include "base/macros.h"

static void commas_stand_between_values(void **state)
{
	struct buf buf CLEANUP(buf_clear);
	struct json_out out;

	(void)state;
	buf_init(&buf, LIMIT_JSON_OUTPUT);
	json_out_init(&out, &buf);
	json_out_object(&out, NULL);
	json_out_cstring(&out, "name", "x");
	json_out_array(&out, "numbers");
	json_out_int(&out, NULL, INT64_MIN);
	json_out_int(&out, NULL, INT64_MAX);
	json_out_end_array(&out);
	json_out_object(&out, "empty");
	json_out_end(&out);
	json_out_array(&out, "list");
	json_out_object(&out, NULL);
	json_out_bool(&out, "yes", true);
	json_out_end(&out);
	json_out_array(&out, NULL);
	json_out_end_array(&out);
	json_out_end_array(&out);
	json_out_cstring(&out, "none", NULL);
	json_out_raw(&out, "raw", STR("[1]"));
	json_out_end(&out);
	assert_string_equal(buf.data, "{\"name\":\"x\",\"numbers\":[-9223372036854775808,"
				      "9223372036854775807],\"empty\":{},"
				      "\"list\":[{\"yes\":true},[]],\"none\":null,\"raw\":[1]}");
	assert_int_equal(out.depth, 0);
}

static void keys_from_outside_are_escaped(void **state)
{
	struct buf buf CLEANUP(buf_clear);
	struct json_out out;

	(void)state;
	buf_init(&buf, LIMIT_JSON_OUTPUT);
	json_out_init(&out, &buf);
	json_out_object(&out, NULL);
	json_out_pair(&out, STR("a\":{"), STR("b"));
	json_out_key(&out, STR("object"));
	json_out_object(&out, NULL);
	json_out_pair(&out, STR(""), STR(""));
	json_out_end(&out);
	json_out_key(&out, STR("number"));
	json_out_int(&out, NULL, 1);
	json_out_end(&out);
	assert_string_equal(buf.data, "{\"a\\\":{\":\"b\",\"object\":{\"\":\"\"},\"number\":1}");
}

static const struct text {
	const char *what;
	struct str value;
	const char *json;
} texts[] = {
	{"nothing", {NULL, 0}, "\"\""},
	{"quotes", {"a\"b\\c/", 6}, "\"a\\\"b\\\\c/\""},
	{"control characters",
	 {"\b\f\n\r\t\x01\x1f\0", 8},
	 "\"\\b\\f\\n\\r\\t\\u0001\\u001f\\u0000\""},
	{"UTF-8",
	 {"\xc3\xa4\xe6\x97\xa5\xf0\x9f\x98\x80", 9},
	 "\"\xc3\xa4\xe6\x97\xa5\xf0\x9f\x98\x80\""},
	{"a byte of no character",
	 {"a\xff"
	  "b",
	  3},
	 "\"a\xef\xbf\xbd"
	 "b\""},
	{"half a character at the end", {"a\xe6\x97", 3}, "\"a\xef\xbf\xbd\xef\xbf\xbd\""},
	{"an overlong quote", {"\xc0\xa2", 2}, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
	{"a surrogate", {"\xed\xa0\x80", 3}, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
};

static void text_never_becomes_structure(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		struct buf buf CLEANUP(buf_clear);
		struct json_out out;

		buf_init(&buf, LIMIT_JSON_OUTPUT);
		json_out_init(&out, &buf);
		json_out_string(&out, NULL, texts[i].value);
		if (strcmp(buf.data, texts[i].json) != 0)
			fail_msg("%s: %s", texts[i].what, buf.data);
	}
}

/* Every pair of bytes, since characters and escapes may be cut or joined by a neighbour. */
static void another_reader_finds_every_text_again(void **state)
{
	unsigned int pair;

	(void)state;
	for (pair = 0; pair < 0x10000; pair++) {
		char bytes[] = {'<', (char)(pair >> 8), (char)pair, '>'};
		struct buf buf CLEANUP(buf_clear);
		struct json_out out;
		json_t *json;

		buf_init(&buf, LIMIT_JSON_OUTPUT);
		json_out_init(&out, &buf);
		json_out_string(&out, NULL, (struct str){bytes, sizeof(bytes)});
		json = json_loadb(buf.data, buf.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		assert_non_null(json);
		if ((pair & 0x8080) == 0) {
			assert_int_equal(json_string_length(json), sizeof(bytes));
			assert_memory_equal(json_string_value(json), bytes, sizeof(bytes));
		}
		json_decref(json);
	}
}

static void times_have_the_two_forms_of_kubernetes(void **state)
{
	struct buf buf CLEANUP(buf_clear);
	struct json_out out;

	(void)state;
	buf_init(&buf, LIMIT_JSON_OUTPUT);
	json_out_init(&out, &buf);
	json_out_object(&out, NULL);
	json_out_time(&out, "t", 1767225600000001);
	json_out_micro_time(&out, "m", 1767225600000001);
	json_out_end(&out);
	assert_string_equal(buf.data, "{\"t\":\"2026-01-01T00:00:00Z\","
				      "\"m\":\"2026-01-01T00:00:00.000001Z\"}");
}

static void what_does_not_fit_is_told_at_the_end(void **state)
{
	struct buf buf CLEANUP(buf_clear);
	struct json_out out;

	(void)state;
	buf_init(&buf, 16);
	json_out_init(&out, &buf);
	json_out_array(&out, NULL);
	json_out_cstring(&out, NULL, "12345678901234567890");
	json_out_int(&out, NULL, 1);
	json_out_end_array(&out);
	assert_true(buf.overflowed);
	assert_true(buf.len <= 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_stand_between_values),
		cmocka_unit_test(keys_from_outside_are_escaped),
		cmocka_unit_test(text_never_becomes_structure),
		cmocka_unit_test(another_reader_finds_every_text_again),
		cmocka_unit_test(times_have_the_two_forms_of_kubernetes),
		cmocka_unit_test(what_does_not_fit_is_told_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
