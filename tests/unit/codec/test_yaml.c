/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/yaml.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/macros.h"
#include "base/mem.h"
#include "codec/json_out.h"
#include "wire.h"

static const struct good {
	const char *what, *yaml, *json;
} good[] = {
	{"nothing", "", "null"},
	{"a comment", "# nothing\n", "null"},
	{"an empty document", "---\n...\n", "null"},
	{"a mapping", "a: 1\nb: x\n", "{\"a\":1,\"b\":\"x\"}"},
	{"a sequence in a mapping", "a:\n- x\n- b: z\n", "{\"a\":[\"x\",{\"b\":\"z\"}]}"},
	{"flow style", "{a: [1, {b: c}], \"d\": }", "{\"a\":[1,{\"b\":\"c\"}],\"d\":null}"},
	{"JSON", "{\"a\": [1, -2.5e3, true, null, \"\\u00e4\\n\\\"\"], \"b\": {}}",
	 "{\"a\":[1,-2.5e3,true,null,\"\xc3\xa4\\n\\\"\"],\"b\":{}}"},
	{"a byte order mark",
	 "\xef\xbb\xbf"
	 "a: b\n",
	 "{\"a\":\"b\"}"},
	{"a block of text", "a: |\n  x\n  y\nb: >-\n  x\n  y\n",
	 "{\"a\":\"x\\ny\\n\",\"b\":\"x y\"}"},
	{"the words for true", "[y, Y, yes, Yes, YES, true, True, TRUE, on, On, ON]",
	 "[true,true,true,true,true,true,true,true,true,true,true]"},
	{"the words for false", "[n, N, no, No, NO, false, False, FALSE, off, Off, OFF]",
	 "[false,false,false,false,false,false,false,false,false,false,false]"},
	{"the words for null", "[~, null, Null, NULL, ]", "[null,null,null,null]"},
	{"words that are only like these", "[yEs, tRUE, nil, es, 'y o', ye]",
	 "[\"yEs\",\"tRUE\",\"nil\",\"es\",\"y o\",\"ye\"]"},
	{"words in quotes", "['true', \"null\", '1', \"\"]", "[\"true\",\"null\",\"1\",\"\"]"},
	{"integers", "[0, -1, +1, 1_000, 0x1F, 0o17, 017, 0b101, -0x10, -0]",
	 "[0,-1,1,1000,31,15,15,5,-16,0]"},
	{"integers at the ends of 64 bits",
	 "[9223372036854775807, -9223372036854775808, 18446744073709551615]",
	 "[9223372036854775807,-9223372036854775808,18446744073709551615]"},
	{"integers beyond 64 bits", "[18446744073709551616, -9223372036854775809]",
	 "[18446744073709551616,-9223372036854775809]"},
	{"a zero before an 8", "[08, 0189]", "[8,189]"},
	{"fractions", "[0.5, .5, -.5, +1.50, 1., 1.e3, 1E+3, 00.10, 1_0.5_0, -0., -0.0, .5_0]",
	 "[0.5,0.5,-0.5,1.50,1,1e3,1e3,0.10,10.50,0,-0.0,0.50]"},
	{"what is only like a number",
	 "[1.2.3, 0x, 0b2, 1e, '.', +, 1:30, _1, ._5, .5_, .5__0, 16Gi, 1e999]",
	 "[\"1.2.3\",\"0x\",\"0b2\",\"1e\",\".\",\"+\",\"1:30\",\"_1\",\"._5\",\".5_\",\".5__0\",\"16Gi\",\"1e999\"]"},
	{"times are strings", "[2026-01-01, 2026-01-01T00:00:00Z]",
	 "[\"2026-01-01\",\"2026-01-01T00:00:00Z\"]"},
	{"tags", "[!!str 1, ! 1, !!int 7, !!int '7', !!bool yes, !!null '', !!float 1]",
	 "[\"1\",\"1\",7,7,true,null,1]"},
	{"tags of collections", "!!map {a: !!seq []}", "{\"a\":[]}"},
	{"an anchor and its aliases", "a: &x {b: [1]}\nc: *x\nd: [*x]\n",
	 "{\"a\":{\"b\":[1]},\"c\":{\"b\":[1]},\"d\":[{\"b\":[1]}]}"},
	{"an anchor that is given again", "[&x 1, *x, &x 2, *x]", "[1,1,2,2]"},
	{"an alias as a key", "a: &x k\n*x : v\n", "{\"a\":\"k\",\"k\":\"v\"}"},
	{"<< where it is no key", "[<<]", "[\"<<\"]"},
	{"a key that needs escapes", "\"a\\\"b\": 1", "{\"a\\\"b\":1}"},
	{"quoted keys that look like others", "{'1': a, \"true\": b, '': c}",
	 "{\"1\":\"a\",\"true\":\"b\",\"\":\"c\"}"},
	{"a scalar alone", "text", "\"text\""},
};

static void reads_as_kubernetes_tools_do(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		struct buf json CLEANUP(buf_clear);
		struct error err;

		buf_init(&json, LIMIT_JSON_OUTPUT);
		if (yaml_to_json(str_from(good[i].yaml), &json, &err) < 0)
			fail_msg("%s: %s", good[i].what, err.message);
		if (strcmp(json.data, good[i].json) != 0)
			fail_msg("%s: %s", good[i].what, json.data);
	}
}

static const struct bad {
	const char *what, *yaml, *message;
} bad[] = {
	{"a merge key", "a: &x {}\nb:\n  <<: *x\n", "line 3 column 3: a merge key"},
	{"a key that occurs twice", "a: 1\nb: 2\n\"a\": 3\n",
	 "line 3 column 1: a key that is there already"},
	{"a key that occurs twice by an alias", "a: &x b\nb: 1\n*x : 2\n",
	 "line 2 column 1: a key that is there already"},
	{"a number as a key", "a:\n  1: x\n", "line 2 column 3: a key that is not a string"},
	{"a truth as a key", "on: x\n", "line 1 column 1: a key that is not a string"},
	{"null as a key", "? \n: x\n", "line 1 column 2: a key that is not a string"},
	{"a mapping as a key", "{a: b}: x\n", "line 1 column 1: a key that is not a string"},
	{"a second document", "a: 1\n---\nb: 2\n", "line 2 column 1: a second document"},
	{"an alias without anchor", "a: *x\n", "line 1 column 4: an alias without its anchor"},
	{"an alias of what is behind it", "a: *x\nb: &x 1\n",
	 "line 1 column 4: an alias without its anchor"},
	{"a cycle", "a: &x [*x]\n", "line 1 column 8: an alias inside of what it stands for"},
	{"infinity", "a: .inf\n", "line 1 column 4: a number that is not finite"},
	{"no number", "a: !!float .nan\n", "line 1 column 4: a number that is not finite"},
	{"a tag of another type", "a: !!int x\n",
	 "line 1 column 4: a tag that does not fit or is not known"},
	{"a tag of bytes", "a: !!binary AAAA\n",
	 "line 1 column 4: a tag that does not fit or is not known"},
	{"a tag of one's own", "a: !x {}\n",
	 "line 1 column 4: a tag that does not fit or is not known"},
	{"a set", "!!set {a, b}\n", "line 1 column 1: a tag that does not fit or is not known"},
	{"bad indentation", "a:\n  b: 1\n c: 2\n", "line 3 column 2: did not find expected key"},
	{"an open bracket", "a: [1, 2\n", "line 2 column 1: did not find expected ',' or ']'"},
	{"an open quote", "a: \"x\n", "line 2 column 1: found unexpected end of stream"},
	{"a tab for indentation", "a:\n\tb: 1\n",
	 "line 2 column 1: found character that cannot start any token"},
	{"no UTF-8", "a: \xff\n", "byte 3: invalid leading UTF-8 octet"},
	{"a control character", "a: \x01\n", "byte 3: control characters are not allowed"},
};

static void names_the_place_of_what_is_refused(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct buf json CLEANUP(buf_clear);
		struct error err;

		buf_init(&json, LIMIT_JSON_OUTPUT);
		if (yaml_to_json(str_from(bad[i].yaml), &json, &err) == 0)
			fail_msg("%s: accepted as %s", bad[i].what, json.data);
		assert_int_equal(err.kind, ERROR_INVALID);
		if (strcmp(err.message, bad[i].message) != 0)
			fail_msg("%s: '%s'", bad[i].what, err.message);
	}
}

static void expect_limit(struct str yaml, size_t room, const char *message)
{
	struct buf json CLEANUP(buf_clear);
	struct error err;

	buf_init(&json, room);
	assert_int_equal(yaml_to_json(yaml, &json, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_string_equal(err.message, message);
}

/* Nine levels, each of nine times the one before it. */
static void a_document_cannot_grow_without_bound(void **state)
{
	struct buf yaml CLEANUP(buf_clear);
	int level, i;

	(void)state;
	buf_init(&yaml, LIMIT_YAML_DOCUMENT);
	buf_add_cstr(&yaml, "a0: &a0 lol\n");
	for (level = 1; level < 10; level++) {
		buf_printf(&yaml, "a%d: &a%d [", level, level);
		for (i = 0; i < 9; i++)
			buf_printf(&yaml, "*a%d,", level - 1);
		buf_add_cstr(&yaml, "]\n");
	}
	expect_limit(buf_str(&yaml), LIMIT_JSON_OUTPUT, "more than 65536 nodes");
}

static void nodes_depth_and_size_are_limited(void **state)
{
	struct buf yaml CLEANUP(buf_clear), json CLEANUP(buf_clear);
	char *blank CLEANUP(mem_free) = mem_alloc(LIMIT_YAML_DOCUMENT + 1);
	int i;

	(void)state;
	buf_init(&yaml, LIMIT_YAML_DOCUMENT);
	buf_init(&json, LIMIT_JSON_OUTPUT);
	for (i = 0; i < JSON_OUT_DEPTH; i++)
		buf_add_char(&yaml, '[');
	for (i = 0; i < JSON_OUT_DEPTH; i++)
		buf_add_char(&yaml, ']');
	assert_int_equal(yaml_to_json(buf_str(&yaml), &json, NULL), 0);
	assert_true(str_equal(buf_str(&json), buf_str(&yaml)));

	buf_reset(&yaml);
	for (i = 0; i <= JSON_OUT_DEPTH; i++)
		buf_add_char(&yaml, '[');
	expect_limit(buf_str(&yaml), LIMIT_JSON_OUTPUT, "nested deeper than 32");

	buf_reset(&yaml);
	buf_add_char(&yaml, '[');
	for (i = 0; i < LIMIT_YAML_NODES; i++)
		buf_add_cstr(&yaml, "a,");
	expect_limit(buf_str(&yaml), LIMIT_JSON_OUTPUT, "more than 65536 nodes");

	expect_limit(STR("a: &x [b]\nc: [*x, *x, *x]"), 16, "more than 16 bytes as JSON");
	memset(blank, ' ', LIMIT_YAML_DOCUMENT + 1);
	expect_limit((struct str){blank, LIMIT_YAML_DOCUMENT + 1}, 16, "longer than 1048576 bytes");
}

/* An alias may carry what is deep to where it is too deep. */
static void depth_is_limited_through_aliases(void **state)
{
	struct buf yaml CLEANUP(buf_clear);
	int i;

	(void)state;
	buf_init(&yaml, LIMIT_YAML_DOCUMENT);
	buf_add_cstr(&yaml, "a: &x ");
	for (i = 0; i < JSON_OUT_DEPTH / 2; i++)
		buf_add_char(&yaml, '[');
	for (i = 0; i < JSON_OUT_DEPTH / 2; i++)
		buf_add_char(&yaml, ']');
	buf_add_cstr(&yaml, "\nb: ");
	for (i = 0; i < JSON_OUT_DEPTH / 2; i++)
		buf_add_char(&yaml, '[');
	buf_add_cstr(&yaml, "*x");
	for (i = 0; i < JSON_OUT_DEPTH / 2; i++)
		buf_add_char(&yaml, ']');
	expect_limit(buf_str(&yaml), LIMIT_JSON_OUTPUT, "nested deeper than 32");
}

static void json_of_a_real_server_is_yaml(void **state)
{
	struct buf file CLEANUP(buf_clear), json CLEANUP(buf_clear), again CLEANUP(buf_clear);
	struct str text = wire_load(&file, "quota.json");
	struct error err;

	(void)state;
	buf_init(&json, LIMIT_JSON_OUTPUT);
	buf_init(&again, LIMIT_JSON_OUTPUT);
	if (yaml_to_json(text, &json, &err) < 0 || yaml_to_json(buf_str(&json), &again, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(str_equal(buf_str(&json), buf_str(&again)));
	assert_true(json.len > text.len / 3 && json.len <= text.len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_as_kubernetes_tools_do),
		cmocka_unit_test(names_the_place_of_what_is_refused),
		cmocka_unit_test(a_document_cannot_grow_without_bound),
		cmocka_unit_test(nodes_depth_and_size_are_limited),
		cmocka_unit_test(depth_is_limited_through_aliases),
		cmocka_unit_test(json_of_a_real_server_is_yaml),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
