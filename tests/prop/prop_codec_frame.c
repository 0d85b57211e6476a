/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a body arrives makes no difference: cut in two at every position, or into random pieces, the
 * same objects come out. And a body that ends early is never taken for a whole one that is shorter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "codec/frame.h"
#include "lib/files.h"
#include "unit/codec/frames.h"

#define ROUNDS 200
#define FOLDER "tests/data/wire/"

static const struct body {
	const char *path;
	enum frame_format format;
	size_t stride; /* every how many positions to cut: the work grows with the square of the
			  size */
} bodies[] = {
	{FOLDER "empty.list.pb", FRAME_PROTOBUF_LIST, 1},
	{FOLDER "empty.list.json", FRAME_JSON_LIST, 1},
	{FOLDER "pods.list.pb", FRAME_PROTOBUF_LIST, 1},
	{FOLDER "pods.watch.pb", FRAME_PROTOBUF_WATCH, 1},
	{FOLDER "pods.watch.json", FRAME_JSON_WATCH, 3},
	{FOLDER "pods.list.json", FRAME_JSON_LIST, 13},
	{FOLDER "nodes.list.pb", FRAME_PROTOBUF_LIST, 5},
	{FOLDER "nodes.list.json", FRAME_JSON_LIST, 17},
	{FOLDER "history.watch.pb", FRAME_PROTOBUF_WATCH, 7},
	{FOLDER "history.watch.json", FRAME_JSON_WATCH, 19},
};

static void load(const char *path, struct buf *ret_file)
{
	buf_init(ret_file, (size_t)1024 * 1024);
	file_read(path, ret_file);
}

static void must_feed(struct framer *framer, struct str piece, struct frames *frames)
{
	struct error err;

	if (framer_feed(framer, piece, frames_note, frames, &err) < 0)
		fail_msg("%s", err.message);
}

static struct str part(struct str whole, size_t from, size_t to)
{
	return (struct str){whole.data + from, to - from};
}

/* What comes out of the whole body at once. */
static void reference(const struct body *body, struct str bytes, struct frames *frames)
{
	struct framer *framer CLEANUP(framer_free) = framer_new(body->format);

	frames_init(frames);
	must_feed(framer, bytes, frames);
	assert_int_equal(framer_end(framer, NULL), 0);
}

static void assert_same(const struct frames *a, const struct frames *b)
{
	assert_true(str_equal(buf_str(&a->text), buf_str(&b->text)));
}

/* Cuts at @at, and looks at what would be were this the end. */
static void check_cut(const struct body *body, struct str bytes, size_t at,
		      const struct frames *expected)
{
	struct framer *framer CLEANUP(framer_free) = framer_new(body->format);
	struct frames frames CLEANUP(frames_clear);
	bool list = body->format == FRAME_PROTOBUF_LIST || body->format == FRAME_JSON_LIST;

	frames_init(&frames);
	must_feed(framer, part(bytes, 0, at), &frames);
	if (framer_end(framer, NULL) == 0) {
		/* A list was whole; a watch ended between two events. */
		if (list)
			assert_same(&frames, expected);
		else
			assert_true(
				str_starts_with(buf_str(&expected->text), buf_str(&frames.text)));
	}
	must_feed(framer, part(bytes, at, bytes.len), &frames);
	assert_int_equal(framer_end(framer, NULL), 0);
	assert_same(&frames, expected);
}

static void every_cut_in_two_gives_the_same_objects(void **state)
{
	size_t i, at;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bodies); i++) {
		struct frames expected CLEANUP(frames_clear);
		struct buf file CLEANUP(buf_clear);

		load(bodies[i].path, &file);
		reference(&bodies[i], buf_str(&file), &expected);
		for (at = 0; at <= file.len; at += bodies[i].stride)
			check_cut(&bodies[i], buf_str(&file), at, &expected);
	}
}

static void check_pieces(const struct body *body, struct str bytes, struct random *random,
			 const struct frames *expected)
{
	struct framer *framer CLEANUP(framer_free) = framer_new(body->format);
	struct frames frames CLEANUP(frames_clear);
	uint64_t longest = 1 + random_below(random, 3000);

	frames_init(&frames);
	while (bytes.len > 0) {
		size_t len = (size_t)random_below(random, longest + 1);

		len = MIN(len, bytes.len);
		must_feed(framer, part(bytes, 0, len), &frames);
		bytes = part(bytes, len, bytes.len);
	}
	assert_int_equal(framer_end(framer, NULL), 0);
	assert_same(&frames, expected);
}

static void random_pieces_give_the_same_objects(void **state)
{
	struct random random;
	size_t i, round;

	(void)state;
	random_init(&random, 20260101);
	for (i = 0; i < ARRAY_SIZE(bodies); i++) {
		struct frames expected CLEANUP(frames_clear);
		struct buf file CLEANUP(buf_clear);

		load(bodies[i].path, &file);
		reference(&bodies[i], buf_str(&file), &expected);
		for (round = 0; round < ROUNDS; round++)
			check_pieces(&bodies[i], buf_str(&file), &random, &expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cut_in_two_gives_the_same_objects),
		cmocka_unit_test(random_pieces_give_the_same_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
