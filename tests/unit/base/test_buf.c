/* SPDX-License-Identifier: Apache-2.0 */
/* Growing buffers: what they hold, and what happens at the maximum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

static void additions_follow_each_other(void **state UNUSED)
{
	CLEANUP(buf_clear) struct buf buf;

	buf_init(&buf, 1000);
	assert_true(buf_add(&buf, "ab\0", 3));
	assert_true(buf_add_cstr(&buf, "cd"));
	assert_true(buf_add_str(&buf, STR("ef")));
	assert_true(buf_add_char(&buf, 'g'));
	assert_true(buf_printf(&buf, "%d-%s", 12, "h"));
	assert_int_equal(buf.len, 12);
	assert_memory_equal(buf.data, "ab\0cdefg12-h", 13);
	assert_true(str_equal(buf_str(&buf), STR("ab\0cdefg12-h")));
}

static void an_addition_of_nothing_is_fine(void **state UNUSED)
{
	CLEANUP(buf_clear) struct buf buf;

	buf_init(&buf, 0);
	assert_true(buf_add(&buf, NULL, 0));
	assert_true(buf_printf(&buf, "%s", ""));
	assert_int_equal(buf.len, 0);
	assert_false(buf_add_char(&buf, 'x'));
	assert_true(buf.overflowed);
}

static void exactly_the_maximum_fits(void **state UNUSED)
{
	CLEANUP(buf_clear) struct buf buf;

	buf_init(&buf, 5);
	assert_true(buf_add_cstr(&buf, "12"));
	assert_true(buf_printf(&buf, "%d", 345));
	assert_string_equal(buf.data, "12345");
	assert_true(buf.capacity <= 6);
}

static void an_overflow_keeps_what_was_there_and_refuses_the_rest(void **state UNUSED)
{
	CLEANUP(buf_clear) struct buf buf;

	buf_init(&buf, 5);
	assert_true(buf_add_cstr(&buf, "123"));
	assert_false(buf_printf(&buf, "%d", 456));
	assert_string_equal(buf.data, "123");
	assert_int_equal(buf.len, 3);
	assert_false(buf_add_char(&buf, '4'));
	assert_false(buf_printf(&buf, "4"));
	assert_null(buf_reserve(&buf, 1));
	buf_reset(&buf);
	assert_true(buf_add_cstr(&buf, "again"));
	assert_false(buf.overflowed);
	assert_false(buf_add(&buf, "x", SIZE_MAX));
}

static void printing_grows_the_buffer(void **state UNUSED)
{
	CLEANUP(buf_clear) struct buf buf;

	buf_init(&buf, 10000);
	assert_true(buf_printf(&buf, "%*d", 5000, 7));
	assert_int_equal(buf.len, 5000);
	assert_int_equal(buf.data[4999], '7');
	assert_int_equal(buf.data[5000], '\0');
}

static void reserved_room_is_committed(void **state UNUSED)
{
	CLEANUP(buf_clear) struct buf buf;
	char *room;

	buf_init(&buf, 100);
	room = buf_reserve(&buf, 100);
	assert_non_null(room);
	memset(room, 'x', 60);
	buf_commit(&buf, 60);
	assert_int_equal(buf.len, 60);
	assert_int_equal(strlen(buf.data), 60);
	buf_commit(&buf, 0);
	assert_int_equal(buf.len, 60);
}

static void consuming_drops_the_front(void **state UNUSED)
{
	CLEANUP(buf_clear) struct buf buf;

	buf_init(&buf, 100);
	buf_consume(&buf, 5);
	buf_add_cstr(&buf, "abcdef");
	buf_consume(&buf, 2);
	assert_string_equal(buf.data, "cdef");
	buf_consume(&buf, 100);
	assert_string_equal(buf.data, "");
	assert_int_equal(buf.len, 0);
}

static void taken_bytes_are_the_callers(void **state UNUSED)
{
	CLEANUP(buf_clear) struct buf buf;
	char *bytes;

	buf_init(&buf, 100);
	bytes = buf_take(&buf);
	assert_string_equal(bytes, "");
	mem_free(bytes);
	buf_add_cstr(&buf, "abc");
	bytes = buf_take(&buf);
	assert_string_equal(bytes, "abc");
	mem_free(bytes);
	assert_int_equal(buf.len, 0);
	assert_true(buf_add_cstr(&buf, "more"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(additions_follow_each_other),
		cmocka_unit_test(an_addition_of_nothing_is_fine),
		cmocka_unit_test(exactly_the_maximum_fits),
		cmocka_unit_test(an_overflow_keeps_what_was_there_and_refuses_the_rest),
		cmocka_unit_test(printing_grows_the_buffer),
		cmocka_unit_test(reserved_room_is_committed),
		cmocka_unit_test(consuming_drops_the_front),
		cmocka_unit_test(taken_bytes_are_the_callers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
