/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/heap.h"

static void the_earliest_is_first_and_ties_keep_their_order(void **state UNUSED)
{
	struct heap_entry entries[6] = {0};
	static const int64_t due[] = {30, 10, 20, 10, 30, 10};
	static const size_t order[] = {1, 3, 5, 2, 0, 4};
	CLEANUP(heap_clear) struct heap heap = {0};

	assert_null(heap_first(&heap));
	for (size_t i = 0; i < ARRAY_SIZE(due); i++)
		heap_set(&heap, &entries[i], due[i]);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		struct heap_entry *first = heap_first(&heap);

		assert_ptr_equal(first, &entries[order[i]]);
		heap_remove(&heap, first);
		assert_false(heap_contains(first));
	}
	assert_null(heap_first(&heap));
}

static void an_entry_moves_both_ways(void **state UNUSED)
{
	struct heap_entry a = {0}, b = {0}, c = {0};
	CLEANUP(heap_clear) struct heap heap = {0};

	heap_set(&heap, &a, 10);
	heap_set(&heap, &b, 20);
	heap_set(&heap, &c, 30);
	heap_set(&heap, &c, 5);
	assert_ptr_equal(heap_first(&heap), &c);
	heap_set(&heap, &c, 40);
	assert_ptr_equal(heap_first(&heap), &a);
	heap_set(&heap, &a, 10); /* now it is the later of two at 10 */
	heap_set(&heap, &b, 10);
	assert_ptr_equal(heap_first(&heap), &a);
	assert_int_equal(heap.len, 3);
}

static void removing_what_is_not_there_does_nothing(void **state UNUSED)
{
	struct heap_entry entry = {0};
	struct heap heap = {0};

	heap_remove(&heap, &entry);
	assert_false(heap_contains(&entry));
	heap_clear(&heap);
	heap_clear(NULL);
}

static void clearing_unlinks_the_entries(void **state UNUSED)
{
	struct heap_entry entries[3] = {0};
	struct heap heap = {0};

	for (size_t i = 0; i < 3; i++)
		heap_set(&heap, &entries[i], 1);
	heap_clear(&heap);
	for (size_t i = 0; i < 3; i++)
		assert_false(heap_contains(&entries[i]));
	heap_set(&heap, &entries[0], 1);
	assert_ptr_equal(heap_first(&heap), &entries[0]);
	heap_clear(&heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_earliest_is_first_and_ties_keep_their_order),
		cmocka_unit_test(an_entry_moves_both_ways),
		cmocka_unit_test(removing_what_is_not_there_does_nothing),
		cmocka_unit_test(clearing_unlinks_the_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
