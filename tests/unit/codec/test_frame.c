/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/frame.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "frames.h"
#include "pb_out.h"
#include "wire.h"

#define S(literal)                           \
	{                                    \
		literal, sizeof(literal) - 1 \
	}

/* Feeds @bytes in pieces of @size. Returns 0 when the body is whole. */
static int feed(enum frame_format format, struct str bytes, size_t size, struct frames *frames,
		struct error *err)
{
	struct framer *framer CLEANUP(framer_free) = framer_new(format);

	while (bytes.len > 0) {
		struct str piece = {bytes.data, MIN(size, bytes.len)};

		if (framer_feed(framer, piece, frames_note, frames, err) < 0)
			return -1;
		bytes = (struct str){bytes.data + piece.len, bytes.len - piece.len};
	}
	return framer_end(framer, err);
}

static const struct recorded {
	const char *name;
	enum frame_format format;
	size_t objects, metas;
} recorded[] = {
	{"pods.list.pb", FRAME_PROTOBUF_LIST, 3, 1},   {"pods.list.json", FRAME_JSON_LIST, 3, 1},
	{"nodes.list.pb", FRAME_PROTOBUF_LIST, 2, 1},  {"nodes.list.json", FRAME_JSON_LIST, 2, 1},
	{"empty.list.pb", FRAME_PROTOBUF_LIST, 0, 1},  {"empty.list.json", FRAME_JSON_LIST, 0, 1},
	{"pods.watch.pb", FRAME_PROTOBUF_WATCH, 6, 0}, {"pods.watch.json", FRAME_JSON_WATCH, 4, 0},
};

static void cuts_what_a_real_server_sent(void **state)
{
	static const size_t sizes[] = {1, 7, 4096, 1024 * 1024};
	size_t i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(recorded); i++) {
		struct buf file CLEANUP(buf_clear);
		struct str bytes = wire_load(&file, recorded[i].name);

		for (k = 0; k < ARRAY_SIZE(sizes); k++) {
			struct frames frames CLEANUP(frames_clear);
			struct error err;

			frames_init(&frames);
			if (feed(recorded[i].format, bytes, sizes[k], &frames, &err) < 0)
				fail_msg("%s by %zu: %s", recorded[i].name, sizes[k], err.message);
			assert_int_equal(frames.objects, recorded[i].objects);
			assert_int_equal(frames.metas, recorded[i].metas);
		}
	}
}

static const struct good {
	const char *what;
	enum frame_format format;
	struct str body;
	const char *frames;
} good[] = {
	{"no events", FRAME_JSON_WATCH, S(""), ""},
	{"no frames", FRAME_PROTOBUF_WATCH, S(""), ""},
	{"an empty frame", FRAME_PROTOBUF_WATCH, S("\0\0\0\0\0\0\0\1x"), "object 0 \nobject 1 x\n"},
	{"events in lines", FRAME_JSON_WATCH, S("{\"a\":1}\n{\"b\":[2]}\r\n"),
	 "object 7 {\"a\":1}\nobject 9 {\"b\":[2]}\n"},
	{"events without anything between them", FRAME_JSON_WATCH, S("{}{\"a\":{}}{}"),
	 "object 2 {}\nobject 8 {\"a\":{}}\nobject 2 {}\n"},
	{"brackets and quotes in strings", FRAME_JSON_WATCH, S("{\"}\\\"]\\\\\":\"{[\"} {}"),
	 "object 15 {\"}\\\"]\\\\\":\"{[\"}\nobject 2 {}\n"},
	{"metadata before the items", FRAME_JSON_LIST,
	 S("{\"metadata\":{\"a\":{}},\"items\":[{},{\"b\":1}]}"),
	 "meta 8 {\"a\":{}}\nobject 2 {}\nobject 7 {\"b\":1}\n"},
	{"metadata after the items", FRAME_JSON_LIST, S("{\"items\":[{}],\"metadata\":{}}"),
	 "object 2 {}\nmeta 2 {}\n"},
	{"white space wherever it may be", FRAME_JSON_LIST,
	 S(" { \"x\" : 1 ,\n\"items\"\t: [ { } , { } ] , \"y\" : \"z\" } \n"),
	 "object 3 { }\nobject 3 { }\n"},
	{"values of other keys, whatever they hold", FRAME_JSON_LIST,
	 S("{\"a\":{\"items\":[{}]},\"b\":[{},[\"]\"]],\"c\":\"}\\\"\",\"d\":-1.5E+3,\"e\":null,"
	   "\"items\":[]}"),
	 ""},
	{"null for no items", FRAME_JSON_LIST, S("{\"items\":null,\"metadata\":null}"), ""},
	{"a list without trailing fields", FRAME_PROTOBUF_LIST, S("k8s\0\x12\x04\x0a\x00\x12\x00"),
	 "meta 0 \nobject 0 \n"},
	{"metadata after the items, in protobuf", FRAME_PROTOBUF_LIST,
	 S("k8s\0\x12\x06\x12\x01i\x0a\x01m"), "object 1 i\nmeta 1 m\n"},
	{"unknown fields everywhere", FRAME_PROTOBUF_LIST,
	 S("k8s\0\x28\x80\x01\x12\x17\x19"
	   "12345678\x25"
	   "1234\x28\x80\x01\x1a\x01z\x12\x01i"
	   "\x1a\x00\x22\x03xyz\x2d"
	   "1234\x31"
	   "12345678"),
	 "object 1 i\n"},
};

static void accepts_every_form_of_the_formats(void **state)
{
	size_t i, size;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		for (size = 1; size <= good[i].body.len + 1; size++) {
			struct frames frames CLEANUP(frames_clear);
			struct error err;

			frames_init(&frames);
			buf_add(&frames.text, "", 0);
			if (feed(good[i].format, good[i].body, size, &frames, &err) < 0)
				fail_msg("%s by %zu: %s", good[i].what, size, err.message);
			if (!str_equal(buf_str(&frames.text), str_from(good[i].frames)))
				fail_msg("%s by %zu: %s", good[i].what, size, frames.text.data);
		}
	}
}

static const struct bad {
	const char *what;
	enum frame_format format;
	struct str body;
	const char *message;
} bad[] = {
	{"half a length", FRAME_PROTOBUF_WATCH, S("\0\0\0"), "the body is truncated"},
	{"a length alone", FRAME_PROTOBUF_WATCH, S("\0\0\0\1"), "the body is truncated"},
	{"half a frame", FRAME_PROTOBUF_WATCH, S("\0\0\0\2x"), "the body is truncated"},
	{"half an event", FRAME_JSON_WATCH, S("{}{"), "the body is truncated"},
	{"an event cut in a string", FRAME_JSON_WATCH, S("{\"}"), "the body is truncated"},
	{"an event that is a number", FRAME_JSON_WATCH, S("{}1"),
	 "byte 0x31 where an object must come"},
	{"nothing for a list", FRAME_JSON_LIST, S(""), "the body is truncated"},
	{"nothing for a list, in protobuf", FRAME_PROTOBUF_LIST, S(""), "the body is truncated"},
	{"a list cut after an item", FRAME_JSON_LIST, S("{\"items\":[{}"), "the body is truncated"},
	{"a list cut after its items", FRAME_JSON_LIST, S("{\"items\":[{}]"),
	 "the body is truncated"},
	{"a list without items", FRAME_JSON_LIST, S("{\"metadata\":{}}"), "the body holds no list"},
	{"an object without items", FRAME_JSON_LIST, S("{}"), "the body holds no list"},
	{"items in a string", FRAME_JSON_LIST, S("{\"items\":\"[]\"}"),
	 "byte 0x22 where items must come"},
	{"items in an object", FRAME_JSON_LIST, S("{\"items\":{}}"),
	 "byte 0x7b where items must come"},
	{"a word for items", FRAME_JSON_LIST, S("{\"items\":nil}"), "a word for the list's items"},
	{"metadata in a list", FRAME_JSON_LIST, S("{\"metadata\":[]}"),
	 "byte 0x5b where metadata must come"},
	{"items twice", FRAME_JSON_LIST, S("{\"items\":[],\"items\":[]}"),
	 "the list has items twice"},
	{"metadata twice", FRAME_JSON_LIST, S("{\"metadata\":{},\"metadata\":{}}"),
	 "the list has metadata twice"},
	{"an item that is a string", FRAME_JSON_LIST, S("{\"items\":[\"\"]}"),
	 "byte 0x22 where an item must come"},
	{"a comma before the items' end", FRAME_JSON_LIST, S("{\"items\":[{},]}"),
	 "byte 0x5d where an item must come"},
	{"no comma between items", FRAME_JSON_LIST, S("{\"items\":[{}{}]}"),
	 "byte 0x7b where a comma or the items' end must come"},
	{"a comma before the list's end", FRAME_JSON_LIST, S("{\"items\":[],}"),
	 "byte 0x7d where a key must come"},
	{"no comma between keys", FRAME_JSON_LIST, S("{\"items\":[]\"a\":1}"),
	 "byte 0x22 where a comma or the list's end must come"},
	{"no colon", FRAME_JSON_LIST, S("{\"items\"[]}"), "byte 0x5b where a colon must come"},
	{"no value", FRAME_JSON_LIST, S("{\"a\":,}"), "byte 0x2c where a value must come"},
	{"something behind the list", FRAME_JSON_LIST, S("{\"items\":[]}{"),
	 "byte 0x7b where nothing more must come"},
	{"a list in JSON for one in protobuf", FRAME_PROTOBUF_LIST, S("{\"items\":[]}"),
	 "not an object in Kubernetes' protobuf"},
	{"an envelope without raw", FRAME_PROTOBUF_LIST, S("k8s\0\x0a\x00\x1a\x00"),
	 "the body holds no list"},
	{"an envelope cut in its raw", FRAME_PROTOBUF_LIST, S("k8s\0\x12\x05\x12\x01i"),
	 "the body is truncated"},
	{"an envelope cut in a key", FRAME_PROTOBUF_LIST, S("k8s\0\x12\x00\x80"),
	 "the body is truncated"},
	{"an item beyond the list", FRAME_PROTOBUF_LIST, S("k8s\0\x12\x02\x12\x01i"),
	 "a field reaches beyond its list"},
	{"a fixed64 beyond the list", FRAME_PROTOBUF_LIST,
	 S("k8s\0\x12\x02\x19"
	   "12345678"),
	 "a field reaches beyond its list"},
	{"a varint beyond the list", FRAME_PROTOBUF_LIST, S("k8s\0\x12\x02\x18\x80\x01"),
	 "a field reaches beyond its list"},
	{"two lists", FRAME_PROTOBUF_LIST, S("k8s\0\x12\x00\x12\x00"),
	 "the envelope holds two lists"},
	{"two metadata", FRAME_PROTOBUF_LIST, S("k8s\0\x12\x04\x0a\x00\x0a\x00"),
	 "the list has two metadata"},
	{"a content encoding", FRAME_PROTOBUF_LIST, S("k8s\0\x1a\x04gzip\x12\x00"),
	 "the envelope has a content encoding"},
	{"an item that is a number", FRAME_PROTOBUF_LIST, S("k8s\0\x12\x02\x10\x01"),
	 "list field 2 has wire type 0"},
	{"a group", FRAME_PROTOBUF_LIST, S("k8s\0\x12\x02\x1b\x1c"), "bad wire type 3"},
	{"field number 0", FRAME_PROTOBUF_LIST, S("k8s\0\x02\x00"), "bad field number 0"},
	{"a varint without end", FRAME_PROTOBUF_LIST,
	 S("k8s\0\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), "varint of more than 64 bits"},
};

static void refuses_what_is_malformed_or_truncated(void **state)
{
	size_t i, size;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		for (size = 1; size <= bad[i].body.len + 1; size++) {
			struct frames frames CLEANUP(frames_clear);
			struct error err;

			frames_init(&frames);
			if (feed(bad[i].format, bad[i].body, size, &frames, &err) == 0)
				fail_msg("%s by %zu: accepted", bad[i].what, size);
			assert_int_equal(err.kind, ERROR_INVALID);
			if (strcmp(err.message, bad[i].message) != 0)
				fail_msg("%s by %zu: %s", bad[i].what, size, err.message);
		}
	}
}

/* A body with one object of @len bytes. */
static void write_body(struct buf *body, enum frame_format format, size_t len)
{
	char *blank CLEANUP(mem_free) = mem_alloc(len);
	struct str object = {blank, len};

	memset(blank, ' ', len);
	blank[0] = '{';
	blank[len - 1] = '}';
	if (format == FRAME_PROTOBUF_WATCH) {
		char length[] = {(char)(len >> 24), (char)(len >> 16), (char)(len >> 8), (char)len};

		buf_add(body, length, sizeof(length));
		buf_add_str(body, object);
	} else if (format == FRAME_PROTOBUF_LIST) {
		struct buf list CLEANUP(buf_clear);

		buf_init(&list, len + 16);
		pb_out_bytes(&list, 2, object);
		buf_add(body, "k8s", 4);
		pb_out_bytes(body, 2, buf_str(&list));
	} else if (format == FRAME_JSON_LIST) {
		buf_add_str(body, STR("{\"items\":["));
		buf_add_str(body, object);
		buf_add_str(body, STR("]}"));
	} else {
		buf_add_str(body, object);
	}
}

static void the_size_of_an_object_is_limited(void **state)
{
	static const enum frame_format formats[] = {FRAME_PROTOBUF_WATCH, FRAME_JSON_WATCH,
						    FRAME_PROTOBUF_LIST, FRAME_JSON_LIST};
	static const size_t sizes[] = {64 * 1024, (size_t)2 * LIMIT_WATCH_FRAME};
	size_t i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		for (k = 0; k < ARRAY_SIZE(sizes); k++) {
			struct frames frames CLEANUP(frames_clear);
			struct buf body CLEANUP(buf_clear);
			struct error err;

			frames_init(&frames);
			buf_init(&body, (size_t)2 * LIMIT_WATCH_FRAME);
			write_body(&body, formats[i], LIMIT_WATCH_FRAME);
			assert_int_equal(feed(formats[i], buf_str(&body), sizes[k], &frames, &err),
					 0);
			assert_int_equal(frames.objects, 1);
			buf_reset(&body);
			write_body(&body, formats[i], LIMIT_WATCH_FRAME + 1);
			assert_int_equal(feed(formats[i], buf_str(&body), sizes[k], &frames, &err),
					 -1);
			assert_int_equal(err.kind, ERROR_LIMIT);
			assert_int_equal(frames.objects, 1);
		}
	}
}

static void a_length_that_was_only_claimed_takes_no_memory(void **state)
{
	struct framer *framer CLEANUP(framer_free) = framer_new(FRAME_PROTOBUF_WATCH);
	struct frames frames CLEANUP(frames_clear);
	struct error err;

	(void)state;
	frames_init(&frames);
	assert_int_equal(framer_feed(framer, STR("\xff\xff\xff\xff"), frames_note, &frames, &err),
			 -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static int note_address(void *context, enum frame_part part, struct str bytes, struct error *err)
{
	(void)part, (void)err;
	*(const char **)context = bytes.data;
	return 0;
}

static void an_object_inside_one_chunk_is_not_copied(void **state)
{
	static const struct {
		enum frame_format format;
		struct str body;
		size_t offset;
	} bodies[] = {
		{FRAME_PROTOBUF_WATCH, S("\0\0\0\1x"), 4},
		{FRAME_JSON_WATCH, S(" {}"), 1},
		{FRAME_PROTOBUF_LIST, S("k8s\0\x12\x03\x12\x01i"), 8},
		{FRAME_JSON_LIST, S("{\"items\":[{}"), 10},
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bodies); i++) {
		struct framer *framer CLEANUP(framer_free) = framer_new(bodies[i].format);
		const char *address = NULL;

		assert_int_equal(framer_feed(framer, bodies[i].body, note_address, &address, NULL),
				 0);
		assert_ptr_equal(address, bodies[i].body.data + bodies[i].offset);
	}
}

static int refuse(void *context, enum frame_part part, struct str bytes, struct error *err)
{
	(void)part, (void)bytes;
	++*(int *)context;
	return error_set(err, ERROR_CONFLICT, "enough");
}

static void the_receiver_can_stop_the_stream(void **state)
{
	struct framer *framer CLEANUP(framer_free) = framer_new(FRAME_JSON_WATCH);
	struct error err;
	int calls = 0;

	(void)state;
	assert_int_equal(framer_feed(framer, STR("{}{}"), refuse, &calls, &err), -1);
	assert_int_equal(err.kind, ERROR_CONFLICT);
	assert_int_equal(calls, 1);
	assert_int_equal(framer_feed(framer, STR("{}"), refuse, &calls, &err), -1);
	assert_int_equal(err.kind, ERROR_INVALID);
	assert_int_equal(framer_end(framer, &err), -1);
	assert_int_equal(calls, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts_what_a_real_server_sent),
		cmocka_unit_test(accepts_every_form_of_the_formats),
		cmocka_unit_test(refuses_what_is_malformed_or_truncated),
		cmocka_unit_test(the_size_of_an_object_is_limited),
		cmocka_unit_test(a_length_that_was_only_claimed_takes_no_memory),
		cmocka_unit_test(an_object_inside_one_chunk_is_not_copied),
		cmocka_unit_test(the_receiver_can_stop_the_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
