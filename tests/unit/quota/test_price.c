/* SPDX-License-Identifier: Apache-2.0 */
/* What a unit costs, by what nodes offer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "quota/price.h"

#define UNKNOWN AMOUNT_UNKNOWN

enum { GPU = 10, MIG = 20, NEW = 30, NOBODY = 40 };
enum { T4 = 1, A100 = 2, H100 = 3, ODD = 4 };

static const struct price_row rows[] = {
	{GPU, T4, 15 * GIB, 15 * GIB, DEVICE_WHOLE, 4, 0, 0},
	{GPU, A100, 40 * GIB, 80 * GIB, DEVICE_WHOLE, 9, 0, 0},
	{GPU, H100, 79 * GIB, 79 * GIB, DEVICE_WHOLE, 2, 0, 0},
	{GPU, ODD, 12 * GIB, 12 * GIB, DEVICE_WHOLE, 3, 1, 0},
	{MIG, H100, UNKNOWN, UNKNOWN, DEVICE_MIG, 1, 1, 0},
};
static const struct price_list list = {rows, ARRAY_SIZE(rows)};

static void test_units_are_priced(void **state)
{
	static const struct {
		const char *sentence;
		uint32_t resource, product;
		int64_t by_name, want;
		const struct price_row *charged;
	} cases[] = {
		{"a product's own price", GPU, T4, UNKNOWN, 15 * GIB, &rows[0]},
		{"the dearest of a product's nodes", GPU, A100, UNKNOWN, 80 * GIB, &rows[1]},
		{"any product is the dearest", GPU, PRODUCT_ANY, UNKNOWN, 80 * GIB, &rows[1]},
		{"a product that no node has is any", GPU, 99, UNKNOWN, 80 * GIB, &rows[1]},
		{"a node that does not tell may be the dearest", GPU, ODD, UNKNOWN, 80 * GIB,
		 &rows[3]},
		{"a name counts where no node tells", MIG, H100, 10 * GIB, 10 * GIB, &rows[4]},
		{"... for any product too", MIG, PRODUCT_ANY, 10 * GIB, 10 * GIB, &rows[4]},
		{"nothing is known", MIG, H100, UNKNOWN, UNKNOWN, &rows[4]},
		{"a name does not count where nodes tell", GPU, T4, 999 * GIB, 15 * GIB, &rows[0]},
		{"nobody offers it, the name is all there is", NOBODY, PRODUCT_ANY, 5 * GIB,
		 5 * GIB, NULL},
		{"nobody offers it", NOBODY, T4, UNKNOWN, UNKNOWN, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (price_unit(&list, cases[i].resource, cases[i].product, cases[i].by_name) !=
		    cases[i].want)
			fail_msg("price: %s", cases[i].sentence);
		if (price_row_charged(&list, cases[i].resource, cases[i].product) !=
		    cases[i].charged)
			fail_msg("row: %s", cases[i].sentence);
	}
}

static void test_the_smallest_unit_bounds_hard_values(void **state)
{
	(void)state;
	assert_int_equal(price_smallest(&list, GPU, UNKNOWN), 12 * GIB);
	assert_int_equal(price_smallest(&list, MIG, 10 * GIB), 10 * GIB);
	assert_int_equal(price_smallest(&list, MIG, UNKNOWN), UNKNOWN);
	assert_int_equal(price_smallest(&list, NOBODY, UNKNOWN), UNKNOWN);
}

static void test_slices_are_found(void **state)
{
	struct price_list none = {NULL, 0};

	(void)state;
	assert_ptr_equal(price_of(&list, GPU).rows, rows);
	assert_int_equal(price_of(&list, GPU).n_rows, 4);
	assert_int_equal(price_of(&list, MIG).n_rows, 1);
	assert_int_equal(price_of(&list, NEW).n_rows, 0);
	assert_int_equal(price_of(&none, GPU).n_rows, 0);
	assert_ptr_equal(price_find(&list, GPU, H100), &rows[2]);
	assert_null(price_find(&list, GPU, 99));
	assert_null(price_find(&list, MIG, T4));
	assert_null(price_find(&none, MIG, T4));
	assert_int_equal(price_unit(&none, GPU, T4, UNKNOWN), UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_units_are_priced),
		cmocka_unit_test(test_the_smallest_unit_bounds_hard_values),
		cmocka_unit_test(test_slices_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
