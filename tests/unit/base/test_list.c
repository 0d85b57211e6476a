/* SPDX-License-Identifier: Apache-2.0 */
/* Intrusive lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/list.h"

struct item {
	int number;
	struct list link;
};

/* Every link is answered by the link back; the items' numbers are the digits of @expected. */
static void assert_sane(struct list *head, int expected)
{
	struct list *before = head;
	int digits = 0;

	for (struct list *it = head->next; it != head; it = it->next) {
		assert_ptr_equal(it->prev, before);
		digits = 10 * digits + container_of(it, struct item, link)->number;
		before = it;
	}
	assert_ptr_equal(head->prev, before);
	assert_int_equal(digits, expected);
}

static void items_stay_in_order(void **state UNUSED)
{
	struct item items[] = {{.number = 1}, {.number = 2}, {.number = 3}};
	struct list head;
	int sum = 0;

	list_init(&head);
	assert_true(list_empty(&head));
	assert_null(list_pop(&head));
	for (size_t i = 0; i < 3; i++)
		list_append(&head, &items[i].link);
	assert_sane(&head, 123);
	list_for_each(it, &head)
		sum += container_of(it, struct item, link)->number;
	assert_int_equal(sum, 6);
	list_unlink(&items[1].link);
	assert_sane(&head, 13);
	assert_false(list_linked(&items[1].link));
	assert_ptr_equal(list_pop(&head), &items[0].link);
	assert_sane(&head, 3);
	assert_ptr_equal(list_first(&head), &items[2].link);
}

static void a_body_may_unlink_what_it_stands_on(void **state UNUSED)
{
	struct item items[] = {{.number = 1}, {.number = 2}, {.number = 3}};
	struct list head;

	list_init(&head);
	for (size_t i = 0; i < 3; i++)
		list_append(&head, &items[i].link);
	list_for_each_safe(it, &head)
		if (container_of(it, struct item, link)->number != 2)
			list_unlink(it);
	assert_sane(&head, 2);
}

static void what_is_not_linked_can_be_unlinked(void **state UNUSED)
{
	struct list zeroed = {0};

	list_unlink(&zeroed);
	assert_false(list_linked(&zeroed));
	assert_true(list_empty(&zeroed));
	assert_null(list_first(&zeroed));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_stay_in_order),
		cmocka_unit_test(a_body_may_unlink_what_it_stands_on),
		cmocka_unit_test(what_is_not_linked_can_be_unlinked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
