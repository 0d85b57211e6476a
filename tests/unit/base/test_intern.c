/* SPDX-License-Identifier: Apache-2.0 */
/* Interned strings: references, and the bytes that each costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/intern.h"
#include "base/limits.h"
#include "base/mem.h"

static const struct hash_key key = {1, 2};

static void equal_strings_have_equal_handles(void **state UNUSED)
{
	CLEANUP(intern_free) struct intern *intern = intern_new(&key);
	uint32_t a = intern_ref(intern, STR("team-a")), b = intern_ref(intern, STR("team-b"));

	assert_int_not_equal(a, b);
	assert_int_equal(intern_ref(intern, STR("team-a")), a);
	assert_int_equal(intern_find(intern, STR("team-b")), b);
	assert_int_equal(intern_find(intern, STR("team-c")), UINT32_MAX);
	assert_int_equal(intern_count(intern), 2);
	assert_string_equal(intern_str(intern, a).data, "team-a");
	assert_int_equal(intern_str(intern, a).len, 6);
}

static void a_string_goes_with_its_last_reference(void **state UNUSED)
{
	CLEANUP(intern_free) struct intern *intern = intern_new(&key);
	uint32_t a = intern_ref(intern, STR("pod"));

	assert_int_equal(intern_ref_handle(intern, a), a);
	intern_unref(intern, a);
	assert_int_equal(intern_find(intern, STR("pod")), a);
	intern_unref(intern, a);
	assert_int_equal(intern_find(intern, STR("pod")), UINT32_MAX);
	assert_int_equal(intern_count(intern), 0);
}

static void the_empty_string_costs_nothing(void **state UNUSED)
{
	CLEANUP(intern_free) struct intern *intern = intern_new(&key);

	assert_int_equal(intern_ref(intern, STR("")), INTERN_EMPTY);
	assert_int_equal(intern_find(intern, STR_NONE), INTERN_EMPTY);
	assert_int_equal(intern_ref_handle(intern, INTERN_EMPTY), INTERN_EMPTY);
	intern_unref(intern, INTERN_EMPTY);
	intern_unref(intern, INTERN_EMPTY);
	assert_string_equal(intern_str(intern, INTERN_EMPTY).data, "");
	assert_int_equal(intern_count(intern), 0);
	intern_free(NULL);
}

static void every_length_is_kept_exactly(void **state UNUSED)
{
	CLEANUP(intern_free) struct intern *intern = intern_new(&key);
	uint32_t handles[LIMIT_INTERNED_STRING + 1];
	char text[LIMIT_INTERNED_STRING + 1];

	memset(text, 'x', sizeof(text));
	for (size_t len = 1; len <= LIMIT_INTERNED_STRING; len++)
		handles[len] = intern_ref(intern, (struct str){text, len});
	for (size_t len = 1; len <= LIMIT_INTERNED_STRING; len++) {
		assert_true(str_equal(intern_str(intern, handles[len]), (struct str){text, len}));
		assert_int_equal(intern_str(intern, handles[len]).data[len], '\0');
	}
	assert_int_equal(intern_find(intern, (struct str){text, sizeof(text)}), UINT32_MAX);
}

static void too_many_references_keep_a_string_for_good(void **state UNUSED)
{
	CLEANUP(intern_free) struct intern *intern = intern_new(&key);
	uint32_t handle = intern_ref(intern, STR("default"));

	for (uint32_t i = 0; i < INTERN_MAX_REFS + 10; i++)
		intern_ref_handle(intern, handle);
	for (uint32_t i = 0; i < INTERN_MAX_REFS + 11; i++)
		intern_unref(intern, handle);
	assert_int_equal(intern_find(intern, STR("default")), handle);
	assert_string_equal(intern_str(intern, handle).data, "default");
}

/* @n names of @len bytes, whose first 20 number them. */
static void fill(struct intern *intern, uint32_t *handles, int n, size_t len)
{
	char text[LIMIT_INTERNED_STRING + 1];

	for (int i = 0; i < n; i++) {
		memset(text, 'p', sizeof(text));
		snprintf(text, 21, "pod-%016d", i);
		text[20] = '-';
		handles[i] = intern_ref(intern, (struct str){text, len});
	}
}

static void forty_bytes_cost_about_twelve_more(void **state UNUSED)
{
	enum { N = 100000, LEN = 40 };
	CLEANUP(intern_free) struct intern *intern = intern_new(&key);
	CLEANUP(mem_free) uint32_t *handles = mem_alloc_array(N, sizeof(*handles));
	double each;
	size_t most;

	fill(intern, handles, N, LEN);
	most = intern_bytes(intern);
	each = (double)most / N;
	print_message("%d strings of %d bytes: %.2f bytes each, %.2f of them overhead\n", N, LEN,
		      each, each - LEN);
	assert_true(each - LEN <= 13);
	for (int i = 0; i < N; i++)
		intern_unref(intern, handles[i]);
	assert_int_equal(intern_count(intern), 0);
	assert_true(intern_bytes(intern) < most / 50);
}

static void names_of_mixed_lengths_stay_cheap(void **state UNUSED)
{
	enum { N = 1000, LONGEST = 63, SHORTEST = 24 };
	CLEANUP(intern_free) struct intern *intern = intern_new(&key);
	uint32_t handles[N];
	double content = 0, overhead;
	double strings = (LONGEST - SHORTEST + 1) * (double)N;

	for (size_t len = SHORTEST; len <= LONGEST; len++) {
		fill(intern, handles, N, len);
		content += (double)len * N;
	}
	overhead = ((double)intern_bytes(intern) - content) / strings;
	print_message("%.0f strings of 24 to 63 bytes: %.2f bytes of overhead each\n", strings,
		      overhead);
	assert_true(overhead <= 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_strings_have_equal_handles),
		cmocka_unit_test(a_string_goes_with_its_last_reference),
		cmocka_unit_test(the_empty_string_costs_nothing),
		cmocka_unit_test(every_length_is_kept_exactly),
		cmocka_unit_test(too_many_references_keep_a_string_for_good),
		cmocka_unit_test(forty_bytes_cost_about_twelve_more),
		cmocka_unit_test(names_of_mixed_lengths_stay_cheap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
