/* SPDX-License-Identifier: Apache-2.0 */
/* Flat tables: handles, the free list, clones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/table.h"

struct record {
	int64_t memory;
	uint16_t devices;
};

static uint32_t add(struct table *table, int64_t memory)
{
	uint32_t handle = table_add(table);

	((struct record *)table_at(table, handle))->memory = memory;
	return handle;
}

static int64_t memory_at(const struct table *table, uint32_t handle)
{
	return ((const struct record *)table_at(table, handle))->memory;
}

static void freed_handles_come_back_newest_first_and_zeroed(void **state UNUSED)
{
	CLEANUP(table_clear) struct table table;

	table_init(&table, sizeof(struct record));
	for (int64_t i = 0; i < 5; i++)
		assert_int_equal(add(&table, 100 + i), i);
	table_remove(&table, 1);
	table_remove(&table, 3);
	assert_false(table_has(&table, 3));
	assert_false(table_has(&table, 99));
	assert_false(table_has(&table, TABLE_NONE));
	assert_int_equal(table.count, 3);
	assert_int_equal(table_add(&table), 3);
	assert_int_equal(memory_at(&table, 3), 0);
	assert_int_equal(table_add(&table), 1);
	assert_int_equal(table_add(&table), 5);
	assert_int_equal(memory_at(&table, 4), 104);
}

static void walking_meets_the_records_in_use(void **state UNUSED)
{
	CLEANUP(table_clear) struct table table;
	int64_t sum = 0;

	table_init(&table, sizeof(struct record));
	assert_int_equal(table_next(&table, 0), TABLE_NONE);
	for (int64_t i = 0; i < 100; i++)
		add(&table, i);
	for (uint32_t i = 0; i < 100; i += 3)
		table_remove(&table, i);
	for (uint32_t h = table_next(&table, 0); h != TABLE_NONE; h = table_next(&table, h + 1)) {
		assert_true(h % 3 != 0);
		sum += memory_at(&table, h);
	}
	assert_int_equal(sum, 4950 - 1683);
}

static void a_clone_lives_its_own_life(void **state UNUSED)
{
	CLEANUP(table_clear) struct table table;
	CLEANUP(table_clear) struct table copy = {0};
	void *memory;

	table_init(&table, sizeof(struct record));
	table_clone(&table, &copy);
	assert_int_equal(copy.count, 0);
	for (int64_t i = 0; i < 100; i++)
		add(&table, i);
	table_remove(&table, 50);
	table_clone(&table, &copy);
	assert_int_equal(copy.count, 99);
	assert_int_equal(table_add(&copy), 50);
	assert_false(table_has(&table, 50));
	((struct record *)table_at(&copy, 7))->memory = -1;
	assert_int_equal(memory_at(&table, 7), 7);
	memory = copy.records;
	table_clone(&table, &copy);
	assert_ptr_equal(copy.records, memory);
	assert_int_equal(memory_at(&copy, 7), 7);
	assert_false(table_has(&copy, 50));
	assert_int_equal(add(&copy, 1), 50);
	assert_int_equal(add(&copy, 1), 100);
}

static void a_clone_is_as_large_as_what_it_holds(void **state UNUSED)
{
	CLEANUP(table_clear) struct table table;
	CLEANUP(table_clear) struct table copy = {0};

	table_init(&table, 32);
	for (int i = 0; i < 1000; i++)
		table_add(&table);
	table_clone(&table, &copy);
	assert_int_equal(table_bytes(&copy), 1000 * (32 + 4));
}

static void clearing_leaves_a_usable_table(void **state UNUSED)
{
	struct table table, zeroed = {0};

	table_init(&table, sizeof(struct record));
	add(&table, 1);
	table_clear(&table);
	assert_int_equal(table.count, 0);
	assert_int_equal(add(&table, 2), 0);
	table_clear(&table);
	table_clear(&zeroed);
	table_clear(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(freed_handles_come_back_newest_first_and_zeroed),
		cmocka_unit_test(walking_meets_the_records_in_use),
		cmocka_unit_test(a_clone_lives_its_own_life),
		cmocka_unit_test(a_clone_is_as_large_as_what_it_holds),
		cmocka_unit_test(clearing_leaves_a_usable_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
