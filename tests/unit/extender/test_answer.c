/* SPDX-License-Identifier: Apache-2.0 */
/* Answers, byte for byte as Go's json.Marshal() writes the same structs of extender/v1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "extender/answer.h"

#define ROOM (64 * 1024)

static void assert_written(struct buf *buf, const char *expected)
{
	assert_false(buf->overflowed);
	assert_string_equal(buf->data, expected);
	buf_reset(buf);
}

static const struct str names[] = {
	{"node-a", 6}, {"node-b", 6}, {"node-c", 6}, {"node-d", 6}, {"a\"b\xff", 4},
};
static const struct extender_reason reasons[] = {
	{{"lacks 2 free H100", 17}, false},
	{{"has no \"layout\"", 15}, true},
};

static void a_filter_sorts_names_by_their_verdicts(void **state UNUSED)
{
	static const uint16_t verdicts[] = {0, 1, 2, 0, 1};
	struct buf buf CLEANUP(buf_clear);

	buf_init(&buf, ROOM);
	extender_write_filter(&buf, &(struct extender_filter){names, verdicts, ARRAY_SIZE(names),
							      reasons, ARRAY_SIZE(reasons)});
	assert_written(&buf, "{\"Nodes\":null,\"NodeNames\":[\"node-a\",\"node-d\"],"
			     "\"FailedNodes\":{\"node-b\":\"lacks 2 free H100\","
			     "\"a\\\"b\xef\xbf\xbd\":\"lacks 2 free H100\"},"
			     "\"FailedAndUnresolvableNodes\":{\"node-c\":\"has no "
			     "\\\"layout\\\"\"},\"Error\":\"\"}");
}

static void nothing_passes_and_nothing_fails_in_an_empty_list(void **state UNUSED)
{
	struct buf buf CLEANUP(buf_clear);

	buf_init(&buf, ROOM);
	extender_write_filter(&buf, &(struct extender_filter){0});
	assert_written(&buf, "{\"Nodes\":null,\"NodeNames\":[],\"FailedNodes\":{},"
			     "\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}");
}

static void an_unread_list_goes_back_as_it_came(void **state UNUSED)
{
	struct buf buf CLEANUP(buf_clear);

	buf_init(&buf, ROOM);
	extender_write_filter_text(&buf, STR("[\"n\\u006fde\", 1]"));
	assert_written(&buf,
		       "{\"Nodes\":null,\"NodeNames\":[\"n\\u006fde\", 1],"
		       "\"FailedNodes\":{},\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}");
}

static void an_error_is_no_list(void **state UNUSED)
{
	struct buf buf CLEANUP(buf_clear);

	buf_init(&buf, ROOM);
	extender_write_filter_error(&buf, STR("not \"ready\"\n"));
	assert_written(&buf,
		       "{\"Nodes\":null,\"NodeNames\":null,\"FailedNodes\":{},"
		       "\"FailedAndUnresolvableNodes\":{},\"Error\":\"not \\\"ready\\\"\\n\"}");
}

static void scores_are_of_hosts(void **state UNUSED)
{
	static const uint8_t scores[] = {0, 10, 7, 1, 2};
	struct buf buf CLEANUP(buf_clear);

	buf_init(&buf, ROOM);
	extender_write_scores(&buf, names, scores, 3);
	assert_written(&buf, "[{\"Host\":\"node-a\",\"Score\":0},{\"Host\":\"node-b\",\"Score\":10}"
			     ",{\"Host\":\"node-c\",\"Score\":7}]");
	extender_write_scores(&buf, &names[4], scores, 1);
	assert_written(&buf, "[{\"Host\":\"a\\\"b\xef\xbf\xbd\",\"Score\":0}]");
	extender_write_scores(&buf, NULL, NULL, 0);
	assert_written(&buf, "[]");
}

static void bind_and_preempt_are_short(void **state UNUSED)
{
	struct buf buf CLEANUP(buf_clear);

	buf_init(&buf, ROOM);
	extender_write_bind(&buf, STR(""));
	assert_written(&buf, "{\"Error\":\"\"}");
	extender_write_bind(&buf, STR("node-a has no room"));
	assert_written(&buf, "{\"Error\":\"node-a has no room\"}");
	extender_write_preempt(&buf, STR("{}"));
	assert_written(&buf, "{\"NodeNameToMetaVictims\":{}}");
}

/* An answer is whole or known not to be, whatever room there is. */
static void no_room_shows_at_the_end(void **state UNUSED)
{
	static const uint16_t verdicts[] = {0, 1, 2, 0, 1};
	const struct extender_filter filter = {names, verdicts, ARRAY_SIZE(names), reasons,
					       ARRAY_SIZE(reasons)};
	struct buf whole CLEANUP(buf_clear);

	buf_init(&whole, ROOM);
	extender_write_filter(&whole, &filter);
	for (size_t room = 0; room <= whole.len; room++) {
		struct buf buf CLEANUP(buf_clear);

		buf_init(&buf, room);
		extender_write_filter(&buf, &filter);
		assert_int_equal(buf.overflowed, room < whole.len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_filter_sorts_names_by_their_verdicts),
		cmocka_unit_test(nothing_passes_and_nothing_fails_in_an_empty_list),
		cmocka_unit_test(an_unread_list_goes_back_as_it_came),
		cmocka_unit_test(an_error_is_no_list),
		cmocka_unit_test(scores_are_of_hosts),
		cmocka_unit_test(bind_and_preempt_are_short),
		cmocka_unit_test(no_room_shows_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
