/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers are those that Go's math/rand gave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/macros.h"
#include "sim/gorand.h"

static struct gorand_table table;

static int make_table(void **state)
{
	(void)state;
	gorand_table_init(&table);
	return 0;
}

static void the_first_numbers_and_one_far_on_are_those_of_go(void **state)
{
	static const struct {
		int64_t seed, first, second, number_2002;
	} rows[] = {
		{42, 3440579354231278675, 608747136543856411, 5283352849930190979},
		{0, 8717895732742165505, 2259404117704393152, 1734908616416684771},
		{-7, 747107023976529931, 7084732931963018726, 8094349679042617359},
		{INT64_C(1) << 40, 5470237361722394362, 6322525149314491254, 7519685367640953748},
	};
	struct gorand rand;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		gorand_init(&rand, &table, rows[i].seed);
		assert_int_equal(gorand_int63(&rand), rows[i].first);
		assert_int_equal(gorand_int63(&rand), rows[i].second);
		for (int n = 3; n < 2002; n++)
			(void)gorand_int63(&rand);
		assert_int_equal(gorand_int63(&rand), rows[i].number_2002);
	}
}

static void bounds_of_all_sizes_are_drawn_as_by_intn(void **state)
{
	static const uint32_t rows[][2] = {
		{1, 0},
		{2, 1},
		{7, 4},
		{64, 62},
		{1000, 423},
		{1u << 30, 822901345},
		{2147483647, 1745640357},
	};
	struct gorand rand;

	(void)state;
	gorand_init(&rand, &table, 42);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(gorand_below(&rand, rows[i][0]), rows[i][1]);
}

static void order_is_drawn_as_by_perm_and_shuffle(void **state)
{
	static const uint32_t permuted[] = {7, 5, 8, 9, 2, 1, 6, 0, 3, 4};
	static const uint32_t shuffled[] = {6, 8, 5, 4, 9, 3, 0, 2, 1, 7};
	uint32_t items[10] = {0};
	struct gorand rand;

	(void)state;
	gorand_init(&rand, &table, 42);
	gorand_permute(&rand, items, 10);
	assert_memory_equal(items, permuted, sizeof(items));
	for (uint32_t i = 0; i < 10; i++)
		items[i] = i;
	gorand_shuffle(&rand, items, 10);
	assert_memory_equal(items, shuffled, sizeof(items));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_numbers_and_one_far_on_are_those_of_go),
		cmocka_unit_test(bounds_of_all_sizes_are_drawn_as_by_intn),
		cmocka_unit_test(order_is_drawn_as_by_perm_and_shuffle),
	};

	return cmocka_run_group_tests(tests, make_table, NULL);
}
