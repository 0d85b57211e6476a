/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/json_pull.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/macros.h"

#define assert_str(s, literal) assert_true(str_equal((s), STR(literal)))

static int sum(struct json_pull *pull, int64_t *ret_sum, struct error *err)
{
	int64_t number, total = 0;
	int more;

	if (json_pull_array(pull, err) < 0)
		return -1;
	while ((more = json_pull_element(pull, err)) > 0) {
		if (json_pull_int(pull, 0, 100, &number, err) < 0)
			return -1;
		total += number;
	}
	*ret_sum = total;
	return more;
}

static void reads_a_document_that_no_struct_describes(void **state)
{
	struct arena arena CLEANUP(arena_clear) = {0};
	struct json_pull pull;
	struct str key, text = STR_NONE;
	int64_t total = 0;
	int more, keys = 0;

	(void)state;
	json_pull_init(&pull,
		       STR(" {\"a\": [1, 2,\n3], \"skip\": {\"a\": []}, \"text\": \"\\u0041\"} "),
		       &arena);
	assert_int_equal(json_pull_object(&pull, NULL), 0);
	while ((more = json_pull_key(&pull, &key, NULL)) > 0) {
		keys++;
		if (str_equal(key, STR("a")))
			assert_int_equal(sum(&pull, &total, NULL), 0);
		else if (str_equal(key, STR("text")))
			assert_int_equal(json_pull_string(&pull, &text, NULL), 0);
		else
			assert_int_equal(json_pull_skip(&pull, NULL, NULL), 0);
	}
	assert_int_equal(more, 0);
	assert_int_equal(json_pull_end(&pull, NULL), 0);
	assert_int_equal(keys, 3);
	assert_int_equal(total, 6);
	assert_str(text, "A");
	assert_int_equal(pull.depth, 0);
}

static void tells_what_comes_next(void **state)
{
	static const struct {
		const char *text;
		enum json_pull_type type;
	} table[] = {
		{" {", JSON_PULL_OBJECT}, {"\t[", JSON_PULL_ARRAY},  {"\"", JSON_PULL_STRING},
		{"-", JSON_PULL_NUMBER},  {"7", JSON_PULL_NUMBER},   {"t", JSON_PULL_BOOL},
		{"f", JSON_PULL_BOOL},    {"\r\nn", JSON_PULL_NULL},
	};
	enum json_pull_type type;
	struct json_pull pull;
	struct error err;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		json_pull_init(&pull, str_from(table[i].text), NULL);
		assert_int_equal(json_pull_peek(&pull, &type, NULL), 0);
		assert_int_equal(type, table[i].type);
	}
	json_pull_init(&pull, STR_NONE, NULL);
	assert_int_equal(json_pull_peek(&pull, &type, &err), -1);
	assert_string_equal(err.message, "truncated: expected a value at byte 0");
}

static void hands_out_the_text_of_numbers_and_of_values(void **state)
{
	struct json_pull pull;
	struct str text;
	bool flag = true;

	(void)state;
	json_pull_init(&pull, STR("[ -0.50e+07 , {\"a\" : [ ] } , false, null ]"), NULL);
	assert_int_equal(json_pull_array(&pull, NULL), 0);
	assert_int_equal(json_pull_element(&pull, NULL), 1);
	assert_int_equal(json_pull_number(&pull, &text, NULL), 0);
	assert_str(text, "-0.50e+07");
	assert_int_equal(json_pull_element(&pull, NULL), 1);
	assert_int_equal(json_pull_skip(&pull, &text, NULL), 0);
	assert_str(text, "{\"a\" : [ ] }");
	assert_int_equal(json_pull_element(&pull, NULL), 1);
	assert_int_equal(json_pull_bool(&pull, &flag, NULL), 0);
	assert_false(flag);
	assert_int_equal(json_pull_element(&pull, NULL), 1);
	assert_int_equal(json_pull_null(&pull, NULL), 0);
	assert_int_equal(json_pull_element(&pull, NULL), 0);
	assert_int_equal(json_pull_end(&pull, NULL), 0);
	assert_int_equal(json_pull_offset(&pull), 42);
}

static void an_unexpected_value_is_an_error(void **state)
{
	struct json_pull pull;
	struct error err;
	struct str text;
	int64_t number = 7;

	(void)state;
	json_pull_init(&pull, STR(" 101"), NULL);
	assert_int_equal(json_pull_int(&pull, 0, 100, &number, &err), -1);
	assert_string_equal(err.message, "number out of range at byte 1");
	assert_int_equal(number, 7);
	json_pull_init(&pull, STR(" {}"), NULL);
	assert_int_equal(json_pull_string(&pull, &text, &err), -1);
	assert_string_equal(err.message, "expected a string at byte 1");
	assert_int_equal(json_pull_array(&pull, &err), -1);
	assert_string_equal(err.message, "expected an array at byte 1");
}

static void depth_is_limited_where_values_are_kept(void **state)
{
	struct json_pull pull;
	struct error err;
	char text[LIMIT_DECODE_DEPTH + 1];
	unsigned int i;

	(void)state;
	memset(text, '[', sizeof(text));
	json_pull_init(&pull, (struct str){text, sizeof(text)}, NULL);
	for (i = 0; i < LIMIT_DECODE_DEPTH; i++) {
		assert_int_equal(json_pull_array(&pull, &err), 0);
		assert_int_equal(json_pull_element(&pull, &err), 1);
	}
	assert_int_equal(json_pull_array(&pull, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_document_that_no_struct_describes),
		cmocka_unit_test(tells_what_comes_next),
		cmocka_unit_test(hands_out_the_text_of_numbers_and_of_values),
		cmocka_unit_test(an_unexpected_value_is_an_error),
		cmocka_unit_test(depth_is_limited_where_values_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
