/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/json.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "kept.h"
#include "sample.h"
#include "wire.h"

struct fixture {
	struct arena arena;
	struct buf out;
	struct sample sample;
	struct error err;
};

static int set_up(void **state)
{
	struct fixture *f = mem_alloc(sizeof(*f));

	arena_init(&f->arena, LIMIT_DECODE_ARENA);
	buf_init(&f->out, (size_t)16 * 1024 * 1024);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	arena_clear(&f->arena);
	buf_clear(&f->out);
	mem_free(f);
	return 0;
}

static void decode(struct fixture *f, struct str text)
{
	if (json_decode(&sample_schema, text, &f->arena, &f->sample, &f->err) < 0)
		fail_msg("%s", f->err.message);
}

static void expect_error(struct fixture *f, const char *what, struct str text, enum error_kind kind,
			 const char *message)
{
	error_clear(&f->err);
	if (json_decode(&sample_schema, text, &f->arena, &f->sample, &f->err) == 0)
		fail_msg("%s: accepted", what);
	if (f->err.kind != kind || strcmp(f->err.message, message) != 0)
		fail_msg("%s: '%s'", what, f->err.message);
}

#define assert_str(s, literal) assert_true(str_equal((s), STR(literal)))

static void reads_text_and_numbers(void **state)
{
	struct fixture *f = *state;

	decode(f, STR("{\"name\":\"gr\xc3\xb6\xc3\x9f\x65\",\"bytes\":\"AP8=\",\"flag\":true,"
		      "\"small\":-2147483648,\"big\":-9223372036854775808,\"raw\":[1, {}] }"));
	assert_str(f->sample.name, "gr\xc3\xb6\xc3\x9f\x65");
	assert_str(f->sample.bytes, "\x00\xff");
	assert_true(f->sample.flag);
	assert_int_equal(f->sample.small, INT32_MIN);
	assert_true(f->sample.big == INT64_MIN);
	assert_str(f->sample.raw, "[1, {}]");
	assert_int_equal(f->sample.present, 1u << SAMPLE_NAME | 1u << SAMPLE_BYTES |
						    1u << SAMPLE_FLAG | 1u << SAMPLE_SMALL |
						    1u << SAMPLE_BIG | 1u << SAMPLE_RAW);
}

static void text_without_escapes_points_into_the_input(void **state)
{
	struct fixture *f = *state;
	struct str text = STR("{\"name\":\"x\"}");

	decode(f, text);
	assert_ptr_equal(f->sample.name.data, text.data + 9);
	assert_int_equal(f->arena.used, 0);
}

static void escapes_are_undone(void **state)
{
	struct fixture *f = *state;

	decode(f, STR("{\"n\\u0061me\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e4\\u65E5\\ud83d"
		      "\\ude00 and more\"}"));
	assert_str(f->sample.name,
		   "\"\\/\b\f\n\r\t\x41\xc3\xa4\xe6\x97\xa5\xf0\x9f\x98\x80 and more");
}

static void reads_lists_maps_and_messages(void **state)
{
	struct fixture *f = *state;
	const struct sample_leaf *leaves;
	const struct str *strings;
	struct str value;

	decode(f, STR("{\"leaf\":{\"name\":\"n\",\"count\":7},\"strings\":[\"a\",\"\"],"
		      "\"leaves\":[{\"name\":\"x\"},{\"count\":9}],\"map\":{\"k\":\"v\",\"n\":null,"
		      "\"k\":\"w\"},\"quantity\":2.50,\"quantities\":{\"cpu\":1e3,\"m\":\"1Gi\"},"
		      "\"time\":\"1970-01-01T00:00:02.000001Z\"}"));
	assert_str(f->sample.leaf.name, "n");
	assert_int_equal(f->sample.leaf.count, 7);
	strings = f->sample.strings.items;
	assert_int_equal(f->sample.strings.len, 2);
	assert_str(strings[0], "a");
	leaves = f->sample.leaves.items;
	assert_int_equal(f->sample.leaves.len, 2);
	assert_false(wire_has(&leaves[0], SAMPLE_LEAF_COUNT));
	assert_int_equal(leaves[1].count, 9);
	assert_true(wire_map_get(&f->sample.map, STR("k"), &value));
	assert_str(value, "w");
	assert_false(wire_map_get(&f->sample.map, STR("n"), &value));
	assert_str(f->sample.quantity, "2.50");
	assert_true(wire_map_get(&f->sample.quantities, STR("cpu"), &value));
	assert_str(value, "1e3");
	assert_int_equal(f->sample.time_us, 2000001);
}

static void reads_maps_of_messages(void **state)
{
	struct fixture *f = *state;
	const struct sample_entry *entries;

	decode(f, STR("{\"entries\":{\"k\":{\"name\":\"n\",\"count\":7,\"other\":[1]},"
		      "\"l\":null,\"m\":{}}}"));
	entries = f->sample.entries.items;
	assert_int_equal(f->sample.entries.len, 3);
	assert_str(entries[0].key, "k");
	assert_str(entries[0].value.name, "n");
	assert_int_equal(entries[0].value.count, 7);
	assert_str(entries[1].key, "l");
	assert_int_equal(entries[1].value.present, 0);
	assert_str(entries[2].key, "m");
}

static void null_and_unknown_keys_leave_nothing(void **state)
{
	struct fixture *f = *state;

	decode(f,
	       STR(" { \"name\" : null , \"raw\" : null, \"leaf\":null,\"leaves\":null,\"other\" :"
		   " {\"a\":[true,false,null,-0.5e-3,\"\\u0041\"]} , \"nam\":1,\"names\":2,"
		   "\"\":3} \n"));
	assert_int_equal(f->sample.present, 0);
	assert_int_equal(f->sample.leaves.len, 0);
}

static const struct malformed {
	const char *what, *text, *message;
} malformed[] = {
	{"a map's value of a wrong type", "{\"entries\":{\"k\":{\"count\":\"7\"}}}",
	 "Sample: entries[0].value.count: expected a number at byte 25"},
	{"a map that is a list", "{\"entries\":[]}",
	 "Sample: entries: expected an object at byte 11"},
	{"nothing", "", "Sample: truncated: expected an object at byte 0"},
	{"no object", "[]", "Sample: expected an object at byte 0"},
	{"no object but null", "null", "Sample: expected an object at byte 0"},
	{"an object without end", "{", "Sample: truncated: expected a string at byte 1"},
	{"a comma too many", "{\"a\":1,}", "Sample: expected a string at byte 7"},
	{"a comma missing", "{\"a\":1\"b\":2}",
	 "Sample: expected a comma or the object's end at byte 6"},
	{"a colon missing", "{\"a\"1}", "Sample: expected a colon at byte 4"},
	{"a value missing", "{\"a\":}", "Sample: expected a value at byte 5"},
	{"a key without quotes", "{a:1}", "Sample: expected a string at byte 1"},
	{"something behind it", "{} x", "Sample: expected the end at byte 3"},
	{"a byte order mark", "\xef\xbb\xbf{}", "Sample: expected an object at byte 0"},
	{"a comment", "{/**/}", "Sample: expected a string at byte 1"},
	{"a leading zero", "{\"a\":01}", "Sample: expected a comma or the object's end at byte 6"},
	{"a plus", "{\"a\":+1}", "Sample: expected a value at byte 5"},
	{"a minus alone", "{\"a\":-}", "Sample: expected a number at byte 6"},
	{"a point without digits", "{\"a\":1.}", "Sample: expected a digit at byte 7"},
	{"an exponent without digits", "{\"a\":1e+}", "Sample: expected a digit at byte 8"},
	{"a word", "{\"a\":nul}", "Sample: expected null at byte 5"},
	{"a word that goes on", "{\"a\":truer}",
	 "Sample: expected a comma or the object's end at byte 9"},
	{"an array closed as an object", "{\"a\":[}}", "Sample: expected a value at byte 6"},
	{"an array with a comma too many", "{\"a\":[1,]}", "Sample: expected a value at byte 8"},
	{"a string without end", "{\"a\":\"x",
	 "Sample: truncated: expected a string to go on or end at byte 7"},
	{"a line break in a string", "{\"a\":\"x\n\"}",
	 "Sample: expected a string to go on or end at byte 7"},
	{"an unknown escape", "{\"a\":\"\\x41\"}",
	 "Sample: expected a string to go on or end at byte 6"},
	{"an escape of three digits", "{\"a\":\"\\u041\"}",
	 "Sample: expected a string to go on or end at byte 6"},
	{"U+0000", "{\"a\":\"\\u0000\"}", "Sample: expected a string to go on or end at byte 6"},
	{"a high surrogate alone", "{\"a\":\"\\ud83d\"}",
	 "Sample: expected a string to go on or end at byte 6"},
	{"a low surrogate alone", "{\"a\":\"\\ude00\"}",
	 "Sample: expected a string to go on or end at byte 6"},
	{"two high surrogates", "{\"a\":\"\\ud83d\\ud83d\"}",
	 "Sample: expected a string to go on or end at byte 6"},
	{"no UTF-8", "{\"a\":\"12345678\xc0\x80\"}",
	 "Sample: expected a string to go on or end at byte 14"},
	{"a number for text", "{\"name\":1}", "Sample: name: expected a string at byte 8"},
	{"text for a number", "{\"small\":\"1\"}", "Sample: small: expected a number at byte 9"},
	{"a fraction for an integer", "{\"small\":1.0}",
	 "Sample: small: number out of range at byte 9"},
	{"an integer of 33 bits", "{\"small\":2147483648}",
	 "Sample: small: number out of range at byte 9"},
	{"an integer of 65 bits", "{\"big\":9223372036854775808}",
	 "Sample: big: number out of range at byte 7"},
	{"a number for a truth", "{\"flag\":1}", "Sample: flag: expected true or false at byte 8"},
	{"an object for a list", "{\"strings\":{}}",
	 "Sample: strings: expected an array at byte 11"},
	{"a list for a map", "{\"map\":[]}", "Sample: map: expected an object at byte 7"},
	{"null in a list", "{\"strings\":[\"a\",null]}",
	 "Sample: strings[1]: expected a string at byte 16"},
	{"null in a list of objects", "{\"leaves\":[null]}",
	 "Sample: leaves[0]: expected an object at byte 11"},
	{"a bad value in a map", "{\"map\":{\"a\":\"b\",\"c\":1}}",
	 "Sample: map[1]: expected a string at byte 20"},
	{"a bad name in a leaf", "{\"leaves\":[{},{\"name\":1}]}",
	 "Sample: leaves[1].name: expected a string at byte 22"},
	{"a known key twice", "{\"name\":null,\"name\":\"x\"}",
	 "Sample: name: occurs twice at byte 20"},
	{"a truth for a quantity", "{\"quantity\":true}",
	 "Sample: quantity: expected a string at byte 12"},
	{"a date for a time", "{\"time\":\"2026-01-01\"}",
	 "Sample: time: not a time of RFC 3339 at byte 20"},
	{"base64 of three letters", "{\"bytes\":\"AAA\"}", "Sample: bytes: not base64 at byte 14"},
	{"base64 behind padding", "{\"bytes\":\"AA==AAAA\"}",
	 "Sample: bytes: not base64 at byte 19"},
	{"base64 with padding alone", "{\"bytes\":\"A===\"}",
	 "Sample: bytes: not base64 at byte 15"},
	{"base64 of URLs", "{\"bytes\":\"AA-_\"}", "Sample: bytes: not base64 at byte 15"},
};

static void names_the_place_of_what_is_malformed(void **state)
{
	struct fixture *f = *state;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(malformed); i++)
		expect_error(f, malformed[i].what, str_from(malformed[i].text), ERROR_INVALID,
			     malformed[i].message);
}

static void base64_has_every_length(void **state)
{
	static const struct {
		const char *text;
		struct str bytes;
	} table[] = {
		{"", {"", 0}},
		{"Zg==", {"f", 1}},
		{"Zm8=", {"fo", 2}},
		{"Zm9v", {"foo", 3}},
		{"Zm9vYmE=", {"fooba", 5}},
		{"Zm9v\\nYmFy\\r\\n", {"foobar", 6}},
		{"+/+/", {"\xfb\xff\xbf", 3}},
	};
	struct fixture *f = *state;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		buf_reset(&f->out);
		buf_printf(&f->out, "{\"bytes\":\"%s\"}", table[i].text);
		decode(f, buf_str(&f->out));
		assert_true(wire_has(&f->sample, SAMPLE_BYTES));
		assert_true(str_equal(f->sample.bytes, table[i].bytes));
	}
}

static void the_strict_reader_refuses_unknown_keys(void **state)
{
	static const struct {
		const char *text, *message;
	} table[] = {
		{"{\"nme\":1}", "Sample: unknown field \"nme\" at byte 7"},
		{"{\"leaf\":{\"x\":{}}}", "Sample: leaf: unknown field \"x\" at byte 13"},
		{"{\"0123456789012345678901234567890123456789012345678901234567890123456789\":1}",
		 "Sample: unknown field \"0123456789012345678901234567890123456789012345678901234567890"
		 "123\" at byte 74"},
		{"{\"012345678901234567890123456789012345678901234567890123456789012\xc3\xa4\":1}",
		 "Sample: unknown field \"01234567890123456789012345678901234567890123456789012345678901"
		 "2\" at byte 69"},
	};
	struct fixture *f = *state;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		assert_int_equal(json_decode_strict(&sample_schema, str_from(table[i].text),
						    &f->arena, &f->sample, &f->err),
				 -1);
		assert_int_equal(f->err.kind, ERROR_INVALID);
		assert_string_equal(f->err.message, table[i].message);
	}
	assert_int_equal(json_decode_strict(&sample_schema,
					    STR("{\"map\":{\"any\":\"x\"},\"raw\":{\"y\":1}}"),
					    &f->arena, &f->sample, &f->err),
			 0);
}

/* @depth arrays in each other under @key. */
static void nest(struct buf *out, const char *key, unsigned int depth, const char *open,
		 const char *close)
{
	unsigned int i;

	buf_reset(out);
	buf_printf(out, "{\"%s\":", key);
	for (i = 0; i < depth; i++)
		buf_add_cstr(out, open);
	buf_add_cstr(out, "[]");
	for (i = 0; i < depth; i++)
		buf_add_cstr(out, close);
	buf_add_char(out, '}');
}

static void depth_is_limited(void **state)
{
	struct fixture *f = *state;

	nest(&f->out, "skipped", LIMIT_SKIP_DEPTH - 1, "[", "]");
	decode(f, buf_str(&f->out));
	nest(&f->out, "skipped", LIMIT_SKIP_DEPTH, "[", "]");
	expect_error(f, "a deep value that is skipped", buf_str(&f->out), ERROR_LIMIT,
		     "Sample: nested deeper than 129 at byte 140");
	nest(&f->out, "nested", LIMIT_DECODE_DEPTH / 2 - 1, "[{\"nested\":", "}]");
	decode(f, buf_str(&f->out));
	nest(&f->out, "nested", LIMIT_DECODE_DEPTH / 2, "[{\"nested\":", "}]");
	assert_int_equal(
		json_decode(&sample_schema, buf_str(&f->out), &f->arena, &f->sample, &f->err), -1);
	assert_int_equal(f->err.kind, ERROR_LIMIT);
}

/* --- maps of which some keys are kept */

static void other_keys_of_a_map_are_not_looked_at(void **state)
{
	struct fixture *f = *state;
	const struct wire_pair *pairs;
	struct kept_map map;

	buf_add_cstr(&f->out, "{\"map\":{\"odd\":[{}],\"b/c\":null,");
	for (size_t i = 0; i <= LIMIT_DECODE_ITEMS; i++)
		buf_add_cstr(&f->out, "\"k\":0,");
	buf_add_cstr(&f->out, "\"a\":\"1\"}}");
	assert_int_equal(json_decode(&kept_schema, buf_str(&f->out), &f->arena, &map, &f->err), 0);
	assert_int_equal(map.map.len, 1);
	pairs = map.map.items;
	assert_true(str_equal(pairs[0].key, STR("a")) && str_equal(pairs[0].value, STR("1")));
	assert_true(f->arena.used < 1024);
}

static void length_and_memory_are_limited(void **state)
{
	struct fixture *f = *state;
	struct arena small CLEANUP(arena_clear);
	size_t i;

	arena_init(&small, 1000);
	buf_add_cstr(&f->out, "{\"strings\":[\"\"");
	for (i = 1; i < LIMIT_DECODE_ITEMS; i++)
		buf_add_cstr(&f->out, ",\"\"");
	buf_add_cstr(&f->out, "]}");
	decode(f, buf_str(&f->out));
	assert_int_equal(f->sample.strings.len, LIMIT_DECODE_ITEMS);
	assert_int_equal(json_decode(&sample_schema, buf_str(&f->out), &small, &f->sample, &f->err),
			 -1);
	assert_int_equal(f->err.kind, ERROR_LIMIT);
	assert_string_equal(f->err.message,
			    "Sample: strings[32]: takes more than 1000 bytes of memory");
	f->out.len -= 2;
	buf_add_cstr(&f->out, ",\"\"]}");
	expect_error(f, "one element too many", buf_str(&f->out), ERROR_LIMIT,
		     "Sample: strings[524288]: more than 524288 elements");
	buf_reset(&f->out);
	buf_add_cstr(&f->out, "{\"name\":\"");
	for (i = 0; i <= LIMIT_STRING; i++)
		buf_add_char(&f->out, 'x');
	buf_add_cstr(&f->out, "\"}");
	expect_error(f, "long text", buf_str(&f->out), ERROR_LIMIT,
		     "Sample: name: longer than 1048576 bytes");
	assert_int_equal(
		json_decode(&sample_schema, STR("{\"name\":\"\\n\"}"), &small, &f->sample, NULL),
		0);
}

/* What the API server wrote is cut short at every byte: always refused, and nothing is read beyond
 * it. */
static void no_prefix_of_an_object_is_an_object(void **state)
{
	struct fixture *f = *state;
	struct buf file CLEANUP(buf_clear);
	struct str text = wire_load(&file, "quota.json");
	size_t len;

	while (text.data[text.len - 1] == '\n')
		text.len--;
	decode(f, text);
	for (len = 0; len < text.len; len++) {
		char *copy CLEANUP(mem_free) = mem_alloc(len);

		memcpy(copy, text.data, len);
		assert_int_equal(json_decode(&sample_schema, (struct str){copy, len}, &f->arena,
					     &f->sample, &f->err),
				 -1);
		assert_int_equal(f->err.kind, ERROR_INVALID);
	}
}

/* Each byte of a document is replaced by each of some that matter: jansson must agree on what is
 * JSON. */
static void agrees_with_jansson_on_damaged_documents(void **state)
{
	static const char bytes[] = "\"\\{}[]:,0-.eEu +tn/\x01\x80\xc3\xff\n";
	static const char document[] =
		"{\"a\":[1,-20.5e+3,\"x\\u00e4\\n\xc3\xa4\",true,null],\"b\":{\"c\":false}}";
	static const struct schema nothing = {"Nothing", NULL, 0, sizeof(uint64_t)};
	struct fixture *f = *state;
	size_t at, i;

	for (at = 0; at < sizeof(document) - 1; at++) {
		for (i = 0; i < sizeof(bytes) - 1; i++) {
			char damaged[sizeof(document)];
			uint64_t present;
			json_t *json;
			bool ours;

			memcpy(damaged, document, sizeof(document));
			damaged[at] = bytes[i];
			json = json_loadb(damaged, sizeof(document) - 1, 0, NULL);
			ours = json_decode(&nothing, str_from(damaged), &f->arena, &present,
					   NULL) == 0;
			if (ours != json_is_object(json))
				fail_msg("%s: %s", ours ? "accepted" : "refused", damaged);
			json_decref(json);
		}
	}
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(reads_text_and_numbers),
		test(text_without_escapes_points_into_the_input),
		test(escapes_are_undone),
		test(reads_lists_maps_and_messages),
		test(reads_maps_of_messages),
		test(null_and_unknown_keys_leave_nothing),
		test(names_the_place_of_what_is_malformed),
		test(base64_has_every_length),
		test(the_strict_reader_refuses_unknown_keys),
		test(depth_is_limited),
		test(other_keys_of_a_map_are_not_looked_at),
		test(length_and_memory_are_limited),
		test(no_prefix_of_an_object_is_an_object),
		test(agrees_with_jansson_on_damaged_documents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
