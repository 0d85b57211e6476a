/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs whose fields are, in JSON, among those of the struct around them, as Kubernetes writes a
 * volume's source; in protobuf they are messages like others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/macros.h"
#include "codec/json.h"
#include "codec/pb.h"
#include "pb_out.h"

struct inner {
	uint64_t present;
	struct str name, claim;
	int64_t size;
};

struct outer {
	uint64_t present;
	struct str name;
	struct inner inner, second;
};

enum { INNER_NAME, INNER_CLAIM, INNER_SIZE };
enum { OUTER_NAME, OUTER_INNER, OUTER_SECOND };

static const struct field inner_fields[] = {
	FIELD(struct inner, name, "name", 1, FIELD_STRING),
	FIELD(struct inner, claim, "claim", 2, FIELD_STRING),
	FIELD(struct inner, size, "size", 3, FIELD_INT64),
};
static const struct schema inner_schema = SCHEMA("Inner", struct inner, inner_fields);

static const struct field second_fields[] = {
	FIELD(struct inner, size, "second", 3, FIELD_INT64),
};
static const struct schema second_schema = SCHEMA("Second", struct inner, second_fields);

static const struct field outer_fields[] = {
	FIELD(struct outer, name, "name", 1, FIELD_STRING),
	FIELD_SUB(struct outer, inner, "inner", 2, FIELD_INLINE, &inner_schema),
	FIELD_SUB(struct outer, second, "other", 3, FIELD_INLINE, &second_schema),
};
static const struct schema outer_schema = SCHEMA("Outer", struct outer, outer_fields);

struct fixture {
	struct arena arena;
	struct outer outer;
	struct error err;
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){0};
	arena_init(&f.arena, LIMIT_DECODE_ARENA);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	arena_clear(&f->arena);
	return 0;
}

static void decode(struct fixture *f, const char *json)
{
	f->outer = (struct outer){0};
	if (json_decode(&outer_schema, str_from(json), &f->arena, &f->outer, &f->err) < 0)
		fail_msg("%s: %s", json, f->err.message);
}

static void the_table_is_a_good_one(void **state)
{
	(void)state;
	assert_int_equal(schema_check(&outer_schema, NULL), 0);
}

static void fields_stand_among_those_of_the_struct_around(void **state)
{
	struct fixture *f = *state;

	decode(f, "{\"claim\":\"c\",\"name\":\"n\",\"second\":7,\"size\":5}");
	assert_true(str_equal(f->outer.name, STR("n")));
	assert_true(str_equal(f->outer.inner.claim, STR("c")));
	assert_int_equal(f->outer.inner.size, 5);
	assert_int_equal(f->outer.second.size, 7);
	assert_int_equal(f->outer.present,
			 1U << OUTER_NAME | 1U << OUTER_INNER | 1U << OUTER_SECOND);
	assert_int_equal(f->outer.inner.present, 1U << INNER_CLAIM | 1U << INNER_SIZE);
}

/* A name of both is the outer one's. */
static void the_struct_around_comes_first(void **state)
{
	struct fixture *f = *state;

	decode(f, "{\"name\":\"n\"}");
	assert_true(str_equal(f->outer.name, STR("n")));
	assert_true(str_empty(f->outer.inner.name));
	assert_int_equal(f->outer.present, 1U << OUTER_NAME);
	assert_int_equal(f->outer.inner.present, 0);
}

static void what_is_null_or_not_of_it_leaves_nothing(void **state)
{
	struct fixture *f = *state;

	decode(f, "{\"claim\":null,\"inner\":{\"claim\":\"c\"},\"what\":[1],\"size\":0}");
	assert_true(str_empty(f->outer.inner.claim));
	assert_int_equal(f->outer.inner.present, 1U << INNER_SIZE);
	assert_int_equal(f->outer.second.present, 0);
}

static void the_strict_reader_knows_its_names(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(json_decode_strict(&outer_schema, STR("{\"claim\":\"c\"}"), &f->arena,
					    &f->outer, &f->err),
			 0);
	assert_int_equal(json_decode_strict(&outer_schema, STR("{\"inner\":{}}"), &f->arena,
					    &f->outer, &f->err),
			 -1);
	assert_non_null(strstr(f->err.message, "unknown field \"inner\""));
}

static void what_is_malformed_is_named(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(
		json_decode(&outer_schema, STR("{\"size\":\"x\"}"), &f->arena, &f->outer, &f->err),
		-1);
	assert_non_null(strstr(f->err.message, "size"));
}

static void in_protobuf_it_is_a_message(void **state)
{
	struct buf inner CLEANUP(buf_clear), outer CLEANUP(buf_clear);
	struct fixture *f = *state;

	buf_init(&inner, 64);
	buf_init(&outer, 64);
	pb_out_bytes(&inner, 1, STR("i"));
	pb_out_number(&inner, 3, 5);
	pb_out_bytes(&outer, 1, STR("n"));
	pb_out_bytes(&outer, 2, buf_str(&inner));
	assert_int_equal(pb_decode(&outer_schema, buf_str(&outer), &f->arena, &f->outer, &f->err),
			 0);
	assert_true(str_equal(f->outer.name, STR("n")));
	assert_true(str_equal(f->outer.inner.name, STR("i")));
	assert_int_equal(f->outer.inner.size, 5);
	assert_int_equal(f->outer.present, 1U << OUTER_NAME | 1U << OUTER_INNER);
	assert_int_equal(f->outer.inner.present, 1U << INNER_NAME | 1U << INNER_SIZE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_table_is_a_good_one),
		TEST(fields_stand_among_those_of_the_struct_around),
		TEST(the_struct_around_comes_first),
		TEST(what_is_null_or_not_of_it_leaves_nothing),
		TEST(the_strict_reader_knows_its_names),
		TEST(what_is_malformed_is_named),
		TEST(in_protobuf_it_is_a_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
