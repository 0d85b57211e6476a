/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/schema.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "sample.h"

struct thing {
	uint64_t present;
	struct str name, other;
	int64_t number;
};

#define TABLE(...) ((const struct field[]){__VA_ARGS__})
#define NAME       FIELD(struct thing, name, "name", 1, FIELD_STRING)

static const struct schema leaf = {"Leaf", NULL, 0, sizeof(uint64_t)};

static const struct field_keys keys = {NULL, 0};

static const struct bad {
	const char *message; /* a part of it */
	const struct field *fields;
	size_t n_fields;
} bad[] = {
	{"has a name that occurs twice",
	 TABLE(NAME, FIELD(struct thing, other, "name", 2, FIELD_STRING)), 2},
	{"has a tag that occurs twice",
	 TABLE(NAME, FIELD(struct thing, other, "other", 1, FIELD_STRING)), 2},
	{"overlaps another field", TABLE(NAME, FIELD(struct thing, name, "other", 2, FIELD_STRING)),
	 2},
	{"overlaps `present`", TABLE(FIELD(struct thing, present, "name", 1, FIELD_INT64)), 1},
	{"reaches beyond the struct",
	 TABLE({.name = "far", .tag = 1, .offset = sizeof(struct thing) - 8, .kind = FIELD_STRING}),
	 1},
	{"is not aligned", TABLE({.name = "odd", .tag = 1, .offset = 12, .kind = FIELD_INT64}), 1},
	{"has no sub-schema", TABLE(FIELD(struct thing, name, "name", 1, FIELD_MESSAGES)), 1},
	{"is a map of what is no key and value",
	 TABLE(FIELD_SUB(struct thing, name, "name", 1, FIELD_ENTRIES, &leaf)), 1},
	{"has a sub-schema", TABLE(FIELD_SUB(struct thing, name, "name", 1, FIELD_STRING, &leaf)),
	 1},
	{"has keys and is no map of strings",
	 TABLE({.name = "keyed", .tag = 1, .offset = 8, .kind = FIELD_QUANTITIES, .keys = &keys}),
	 1},
	{"has no valid tag", TABLE(FIELD(struct thing, name, "name", 1u << 29, FIELD_STRING)), 1},
	{"has no name", TABLE({.tag = 1, .offset = 8, .kind = FIELD_STRING}), 1},
};

static void finds_each_mistake_in_a_table(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct schema schema = {"Thing", bad[i].fields, bad[i].n_fields,
					sizeof(struct thing)};
		struct error err;

		assert_int_equal(schema_check(&schema, &err), -1);
		assert_int_equal(err.kind, ERROR_INVALID);
		if (!strstr(err.message, bad[i].message))
			fail_msg("'%s' instead of '%s'", err.message, bad[i].message);
	}
}

static void accepts_a_good_table(void **state)
{
	const struct field fields[] = {NAME, FIELD(struct thing, number, "n", 0, FIELD_TIME),
				       FIELD(struct thing, other, "o", 0, FIELD_RAW)};
	struct schema schema = SCHEMA("Thing", struct thing, fields);

	(void)state;
	assert_int_equal(schema_check(&schema, NULL), 0);
	assert_int_equal(schema_check(&sample_leaf_schema, NULL), 0);
}

static void refuses_a_type_that_contains_itself(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(schema_check(&sample_nest_schema, &err), -1);
	assert_non_null(strstr(err.message, "nested too deep"));
	assert_int_equal(schema_check(&sample_schema, &err), -1);
}

static void the_last_of_equal_keys_in_a_map_counts(void **state)
{
	struct wire_pair pairs[] = {
		{STR("a"), STR("1")}, {STR("b"), STR("2")}, {STR("a"), STR("3")}};
	struct wire_list map = {pairs, ARRAY_SIZE(pairs)}, empty = {0};
	struct str value = STR("untouched");

	(void)state;
	assert_false(wire_map_get(&map, STR("c"), &value));
	assert_false(wire_map_get(&empty, STR("a"), &value));
	assert_true(str_equal(value, STR("untouched")));
	assert_true(wire_map_get(&map, STR("a"), &value));
	assert_true(str_equal(value, STR("3")));
}

static void for_each_visits_every_element_of_a_list(void **state)
{
	struct wire_pair pairs[] = {{STR("a"), STR("1")}, {STR("b"), STR("2")}};
	struct wire_list list = {pairs, ARRAY_SIZE(pairs)}, empty = {0};
	size_t n = 0;

	(void)state;
	wire_for_each(const struct wire_pair, pair, list)
		assert_ptr_equal(pair, &pairs[n++]);
	wire_for_each(const struct wire_pair, pair, empty)
		fail_msg("an empty list has an element %p", (const void *)pair);
	assert_int_equal(n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_each_mistake_in_a_table),
		cmocka_unit_test(accepts_a_good_table),
		cmocka_unit_test(refuses_a_type_that_contains_itself),
		cmocka_unit_test(the_last_of_equal_keys_in_a_map_counts),
		cmocka_unit_test(for_each_visits_every_element_of_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
