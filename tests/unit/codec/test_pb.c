/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/pb.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "kept.h"
#include "pb_out.h"
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
	buf_init(&f->out, (size_t)64 * 1024 * 1024);
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

static void decode(struct fixture *f, struct str bytes)
{
	if (pb_decode(&sample_schema, bytes, &f->arena, &f->sample, &f->err) < 0)
		fail_msg("%s", f->err.message);
}

static void expect_error(struct fixture *f, const char *what, struct str bytes,
			 enum error_kind kind, const char *message)
{
	error_clear(&f->err);
	if (pb_decode(&sample_schema, bytes, &f->arena, &f->sample, &f->err) == 0)
		fail_msg("%s: accepted", what);
	if (f->err.kind != kind || strcmp(f->err.message, message) != 0)
		fail_msg("%s: '%s'", what, f->err.message);
}

#define assert_str(s, literal) assert_true(str_equal((s), STR(literal)))

static void reads_text_and_numbers(void **state)
{
	struct fixture *f = *state;

	pb_out_bytes(&f->out, 1, STR("gr\xc3\xb6\xc3\x9f\x65 of more than eight bytes"));
	pb_out_bytes(&f->out, 2, STR("\xff\x00"));
	pb_out_number(&f->out, 3, 1);
	pb_out_number(&f->out, 4, -2);
	pb_out_number(&f->out, 5, INT64_MIN);
	pb_out_bytes(&f->out, 13, STR("\x08"));
	decode(f, buf_str(&f->out));
	assert_str(f->sample.name, "gr\xc3\xb6\xc3\x9f\x65 of more than eight bytes");
	assert_str(f->sample.bytes, "\xff\x00");
	assert_true(f->sample.flag);
	assert_int_equal(f->sample.small, -2);
	assert_true(f->sample.big == INT64_MIN);
	assert_str(f->sample.raw, "\x08");
	assert_int_equal(f->sample.present, 1u << SAMPLE_NAME | 1u << SAMPLE_BYTES |
						    1u << SAMPLE_FLAG | 1u << SAMPLE_SMALL |
						    1u << SAMPLE_BIG | 1u << SAMPLE_RAW);
}

static void text_points_into_the_input(void **state)
{
	struct fixture *f = *state;

	pb_out_bytes(&f->out, 1, STR("name"));
	decode(f, buf_str(&f->out));
	assert_ptr_equal(f->sample.name.data, f->out.data + 2);
	assert_int_equal(f->arena.used, 0);
}

static void reads_lists_and_messages(void **state)
{
	struct fixture *f = *state;
	const struct str *strings;
	const struct sample_leaf *leaves;

	pb_out_bytes(&f->out, 8, STR("\x0a\x01x"));
	pb_out_bytes(&f->out, 7, STR("a"));
	pb_out_bytes(&f->out, 6, STR("\x0a\x01n\x10\x07"));
	pb_out_bytes(&f->out, 7, STR(""));
	pb_out_bytes(&f->out, 8, STR("\x10\x09"));
	decode(f, buf_str(&f->out));
	assert_str(f->sample.leaf.name, "n");
	assert_int_equal(f->sample.leaf.count, 7);
	strings = f->sample.strings.items;
	assert_int_equal(f->sample.strings.len, 2);
	assert_str(strings[0], "a");
	assert_str(strings[1], "");
	leaves = f->sample.leaves.items;
	assert_int_equal(f->sample.leaves.len, 2);
	assert_true(wire_has(&leaves[0], SAMPLE_LEAF_NAME));
	assert_false(wire_has(&leaves[0], SAMPLE_LEAF_COUNT));
	assert_int_equal(leaves[1].count, 9);
}

static void reads_maps_and_quantities(void **state)
{
	struct fixture *f = *state;
	struct str value;

	pb_out_bytes(&f->out, 9, STR("\x0a\x01k\x12\x01v"));
	pb_out_bytes(&f->out, 9,
		     STR("\x0a\x05"
			 "empty"));
	pb_out_bytes(&f->out, 10,
		     STR("\x0a\x04"
			 "16Gi"));
	pb_out_bytes(&f->out, 11,
		     STR("\x0a\x03"
			 "cpu"
			 "\x12\x06\x0a\x04"
			 "500m"));
	pb_out_bytes(&f->out, 11,
		     STR("\x0a\x04"
			 "zero"
			 "\x12\x00"));
	decode(f, buf_str(&f->out));
	assert_true(wire_map_get(&f->sample.map, STR("k"), &value));
	assert_str(value, "v");
	assert_true(wire_map_get(&f->sample.map, STR("empty"), &value));
	assert_str(value, "");
	assert_str(f->sample.quantity, "16Gi");
	assert_true(wire_map_get(&f->sample.quantities, STR("cpu"), &value));
	assert_str(value, "500m");
	assert_true(wire_map_get(&f->sample.quantities, STR("zero"), &value));
	assert_str(value, "0");
}

static void reads_maps_of_messages(void **state)
{
	struct fixture *f = *state;
	const struct sample_entry *entries;

	pb_out_bytes(&f->out, 15, STR("\x0a\x01k\x12\x05\x0a\x01n\x10\x07"));
	pb_out_bytes(&f->out, 15, STR("\x0a\x01l"));
	decode(f, buf_str(&f->out));
	entries = f->sample.entries.items;
	assert_int_equal(f->sample.entries.len, 2);
	assert_str(entries[0].key, "k");
	assert_str(entries[0].value.name, "n");
	assert_int_equal(entries[0].value.count, 7);
	assert_str(entries[1].key, "l");
	assert_int_equal(entries[1].value.present, 0);
}

static void an_empty_time_is_absent_and_the_epoch_is_not(void **state)
{
	struct fixture *f = *state;

	decode(f, STR("\x62\x00"));
	assert_false(wire_has(&f->sample, SAMPLE_TIME));
	decode(f, STR("\x62\x04\x08\x00\x10\x00"));
	assert_true(wire_has(&f->sample, SAMPLE_TIME));
	assert_int_equal(f->sample.time_us, 0);
	decode(f, STR("\x62\x05\x08\x02\x10\xe8\x07"));
	assert_int_equal(f->sample.time_us, 2000001);
}

static void later_values_replace_and_messages_merge(void **state)
{
	struct fixture *f = *state;

	pb_out_bytes(&f->out, 1, STR("old"));
	pb_out_bytes(&f->out, 6, STR("\x0a\x01n"));
	pb_out_bytes(&f->out, 1, STR("new"));
	pb_out_bytes(&f->out, 6, STR("\x10\x07"));
	decode(f, buf_str(&f->out));
	assert_str(f->sample.name, "new");
	assert_str(f->sample.leaf.name, "n");
	assert_int_equal(f->sample.leaf.count, 7);
}

static void skips_what_the_table_does_not_name(void **state)
{
	struct fixture *f = *state;

	pb_out_number(&f->out, 100, -1);
	buf_add_str(&f->out, STR("\xa9\x06"
				 "12345678")); /* fixed64 */
	buf_add_str(&f->out, STR("\xad\x06"
				 "1234"));                     /* fixed32 */
	pb_out_bytes(&f->out, 101, STR("\xff\xff\xff\xff"));   /* no message, no text */
	buf_add_str(&f->out, STR("\xa3\x06\x0b\x0c\xa4\x06")); /* groups in each other */
	pb_out_bytes(&f->out, 1, STR("name"));
	decode(f, buf_str(&f->out));
	assert_str(f->sample.name, "name");
	assert_int_equal(f->sample.present, 1u << SAMPLE_NAME);
}

static void nothing_at_all_is_an_empty_object(void **state)
{
	struct fixture *f = *state;

	memset(&f->sample, 0xff, sizeof(f->sample));
	decode(f, STR_NONE);
	assert_int_equal(f->sample.present, 0);
	assert_int_equal(f->sample.leaves.len, 0);
}

static const struct malformed {
	const char *what;
	struct str bytes;
	const char *message;
} malformed[] = {
	{"a key without its value", {"\x0a", 1}, "Sample: truncated"},
	{"a length beyond the end",
	 {"\x0a\x05"
	  "four",
	  6},
	 "Sample: truncated"},
	{"a length near 2^64",
	 {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11},
	 "Sample: truncated"},
	{"half a key", {"\x80", 1}, "Sample: truncated"},
	{"half a fixed64",
	 {"\xa9\x06"
	  "1234",
	  6},
	 "Sample: truncated"},
	{"a varint of eleven bytes",
	 {"\x28\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 12},
	 "Sample: varint of more than 64 bits"},
	{"a varint of 65 bits",
	 {"\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11},
	 "Sample: varint of more than 64 bits"},
	{"field number 0", {"\x02\x00", 2}, "Sample: bad field number 0"},
	{"a field number of 30 bits",
	 {"\x80\x80\x80\x80\x10\x00", 6},
	 "Sample: bad field number 536870912"},
	{"wire type 7", {"\x0f\x00", 2}, "Sample: bad wire type 7"},
	{"the end of no group", {"\x0c", 1}, "Sample: bad wire type 4"},
	{"a group that ends as another one",
	 {"\xa3\x06\x0c", 3},
	 "Sample: group ends as another one"},
	{"a group without end", {"\xa3\x06", 2}, "Sample: truncated"},
	{"a number for text", {"\x08\x01", 2}, "Sample: name: has wire type 0"},
	{"text for a number", {"\x22\x00", 2}, "Sample: small: has wire type 2"},
	{"text that is not UTF-8",
	 {"\x0a\x0a"
	  "12345678\xc0\x80",
	  12},
	 "Sample: name: not UTF-8"},
	{"text with half a character", {"\x0a\x02x\xc3", 4}, "Sample: name: not UTF-8"},
	{"a number of 33 bits",
	 {"\x20\x80\x80\x80\x80\x10", 6},
	 "Sample: small: 4294967296 does not fit 32 bits"},
	{"nanoseconds of more than a second",
	 {"\x62\x06\x10\x80\x94\xeb\xdc\x03", 8},
	 "Sample: time: time out of range"},
	{"a year beyond 9999",
	 {"\x62\x07\x08\xff\xff\xff\xff\xff\x7f", 9},
	 "Sample: time: time out of range"},
	{"a bad key in a map", {"\x4a\x03\x0a\x01\xff", 5}, "Sample: map[0]: not UTF-8"},
	{"a bad name in the second leaf",
	 {"\x42\x00\x42\x03\x0a\x01\xff", 7},
	 "Sample: leaves[1].name: not UTF-8"},
	{"a truncated leaf", {"\x32\x01\x0a", 3}, "Sample: leaf: truncated"},
};

static void names_the_place_of_what_is_malformed(void **state)
{
	struct fixture *f = *state;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(malformed); i++) {
		expect_error(f, malformed[i].what, malformed[i].bytes, ERROR_INVALID,
			     malformed[i].message);
	}
}

/* Messages in each other, made from the inside out. */
static void nest(struct buf *out, unsigned int depth)
{
	struct buf inner CLEANUP(buf_clear);
	unsigned int i;

	buf_init(&inner, LIMIT_STRING);
	for (i = 0; i < depth; i++) {
		buf_reset(out);
		pb_out_bytes(out, 14, buf_str(&inner));
		buf_reset(&inner);
		buf_add_str(&inner, buf_str(out));
	}
}

static void depth_is_limited(void **state)
{
	struct fixture *f = *state;

	nest(&f->out, LIMIT_DECODE_DEPTH - 1);
	decode(f, buf_str(&f->out));
	nest(&f->out, LIMIT_DECODE_DEPTH);
	assert_int_equal(
		pb_decode(&sample_schema, buf_str(&f->out), &f->arena, &f->sample, &f->err), -1);
	assert_int_equal(f->err.kind, ERROR_LIMIT);
}

static void depth_of_skipped_groups_is_limited(void **state)
{
	struct fixture *f = *state;
	unsigned int i, limit = LIMIT_SKIP_DEPTH;

	for (i = 0; i < limit; i++)
		buf_add_str(&f->out, STR("\xa3\x06"));
	for (i = 0; i < limit; i++)
		buf_add_str(&f->out, STR("\xa4\x06"));
	decode(f, buf_str(&f->out));
	buf_reset(&f->out);
	for (i = 0; i <= limit; i++)
		buf_add_str(&f->out, STR("\xa3\x06"));
	expect_error(f, "deep groups", buf_str(&f->out), ERROR_LIMIT,
		     "Sample: groups nested deeper than 128");
}

/* --- maps of which some keys are kept */

static void add_pair(struct buf *out, struct str key, struct str value)
{
	struct buf pair CLEANUP(buf_clear);

	buf_init(&pair, 1024);
	pb_out_bytes(&pair, 1, key);
	pb_out_bytes(&pair, 2, value);
	pb_out_bytes(out, 9, buf_str(&pair));
}

static void other_keys_of_a_map_are_not_looked_at(void **state)
{
	struct fixture *f = *state;
	const struct wire_pair *pairs;
	struct kept_map map;

	for (size_t i = 0; i <= LIMIT_DECODE_ITEMS; i++)
		add_pair(&f->out, STR("k"), STR(""));
	add_pair(&f->out, STR("\xff"), STR("\xfe"));
	add_pair(&f->out, STR("a"), STR("1"));
	add_pair(&f->out, STR("b/c"), STR("\xfe"));
	assert_int_equal(pb_decode(&kept_schema, buf_str(&f->out), &f->arena, &map, &f->err), 0);
	assert_int_equal(map.map.len, 2);
	assert_true(wire_has(&map, 0));
	pairs = map.map.items;
	assert_true(str_equal(pairs[0].key, STR("a")) && str_equal(pairs[0].value, STR("1")));
	assert_true(str_equal(pairs[1].key, STR("b/c")) && str_empty(pairs[1].value));
	assert_true(f->arena.used < 1024);
	pb_out_bytes(&f->out, 9, STR("\x0a\x05"));
	assert_int_equal(pb_decode(&kept_schema, buf_str(&f->out), &f->arena, &map, &f->err), -1);
	assert_int_equal(f->err.kind, ERROR_INVALID);
}

static void length_of_lists_and_text_is_limited(void **state)
{
	struct fixture *f = *state;
	char *text CLEANUP(mem_free) = mem_alloc(LIMIT_STRING + 1);
	const struct str *strings;
	size_t i;

	for (i = 0; i < LIMIT_DECODE_ITEMS; i++)
		pb_out_bytes(&f->out, 7, STR("x"));
	decode(f, buf_str(&f->out));
	assert_int_equal(f->sample.strings.len, LIMIT_DECODE_ITEMS);
	strings = f->sample.strings.items;
	for (i = 0; i < LIMIT_DECODE_ITEMS; i++)
		assert_ptr_equal(strings[i].data, f->out.data + 3 * i + 2);
	pb_out_bytes(&f->out, 7, STR("x"));
	expect_error(f, "one element too many", buf_str(&f->out), ERROR_LIMIT,
		     "Sample: strings[524288]: more than 524288 elements");
	buf_reset(&f->out);
	pb_out_bytes(&f->out, 1, (struct str){text, LIMIT_STRING});
	decode(f, buf_str(&f->out));
	buf_reset(&f->out);
	pb_out_bytes(&f->out, 1, (struct str){text, LIMIT_STRING + 1});
	expect_error(f, "one byte too many", buf_str(&f->out), ERROR_LIMIT,
		     "Sample: name: longer than 1048576 bytes");
}

static void memory_is_limited(void **state)
{
	struct fixture *f = *state;
	struct arena small CLEANUP(arena_clear);

	arena_init(&small, 1000);
	for (int i = 0; i < 100; i++)
		pb_out_bytes(&f->out, 7, STR(""));
	assert_int_equal(pb_decode(&sample_schema, buf_str(&f->out), &small, &f->sample, &f->err),
			 -1);
	assert_int_equal(f->err.kind, ERROR_LIMIT);
	assert_string_equal(f->err.message,
			    "Sample: strings[32]: takes more than 1000 bytes of memory");
}

/* Every prefix is either refused or, cut between two fields, a shorter object; and nothing is read
 * beyond it. */
static void a_cut_anywhere_is_safe(void **state)
{
	struct fixture *f = *state;
	size_t len;

	pb_out_bytes(&f->out, 9, STR("\x0a\x01k\x12\x01v"));
	pb_out_bytes(&f->out, 8,
		     STR("\x0a\x03"
			 "abc\x10\x80\x01"));
	pb_out_bytes(&f->out, 12, STR("\x08\x02\x10\xe8\x07"));
	for (len = 0; len < f->out.len; len++) {
		char *copy CLEANUP(mem_free) = mem_alloc(len);
		bool between = len == 0 || len == 8 || len == 18;

		memcpy(copy, f->out.data, len);
		assert_int_equal(pb_decode(&sample_schema, (struct str){copy, len}, &f->arena,
					   &f->sample, &f->err),
				 between ? 0 : -1);
	}
}

static void opens_the_envelope_of_a_recorded_list(void **state)
{
	struct buf file CLEANUP(buf_clear);
	struct str bytes = wire_load(&file, "pods.list.pb");
	struct pb_envelope envelope;
	struct error err;

	(void)state;
	assert_int_equal(pb_open_envelope(bytes, &envelope, &err), 0);
	assert_str(envelope.api_version, "v1");
	assert_str(envelope.kind, "PodList");
	assert_true(envelope.raw.len > bytes.len - 40);
}

static void refuses_what_is_no_envelope(void **state)
{
	static const struct {
		struct str bytes;
		const char *message;
	} bad[] = {
		{{"", 0}, "not an object in Kubernetes' protobuf"},
		{{"k8s", 3}, "not an object in Kubernetes' protobuf"},
		{{"{\"kind\":\"Pod\"}", 14}, "not an object in Kubernetes' protobuf"},
		{{"k8s\0\x12\x05", 6}, "envelope: truncated"},
		{{"k8s\0\x10\x05", 6}, "envelope: has wire type 0"},
		{{"k8s\0\x12\x01x\x1a\x04gzip", 13}, "envelope: has a content encoding"},
	};
	struct pb_envelope envelope = {.kind = STR("untouched")};
	struct error err;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(pb_open_envelope(bad[i].bytes, &envelope, &err), -1);
		assert_int_equal(err.kind, ERROR_INVALID);
		assert_string_equal(err.message, bad[i].message);
		assert_str(envelope.kind, "untouched");
	}
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(reads_text_and_numbers),
		test(text_points_into_the_input),
		test(reads_lists_and_messages),
		test(reads_maps_and_quantities),
		test(reads_maps_of_messages),
		test(an_empty_time_is_absent_and_the_epoch_is_not),
		test(later_values_replace_and_messages_merge),
		test(skips_what_the_table_does_not_name),
		test(nothing_at_all_is_an_empty_object),
		test(names_the_place_of_what_is_malformed),
		test(depth_is_limited),
		test(depth_of_skipped_groups_is_limited),
		test(other_keys_of_a_map_are_not_looked_at),
		test(length_of_lists_and_text_is_limited),
		test(memory_is_limited),
		test(a_cut_anywhere_is_safe),
		test(opens_the_envelope_of_a_recorded_list),
		test(refuses_what_is_no_envelope),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
