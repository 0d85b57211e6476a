/* SPDX-License-Identifier: Apache-2.0 */
/* Byte amounts for people, and the texts of the domain's words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "model/amount.h"
#include "model/node.h"
#include "model/quota.h"

static void test_amounts_read_as_people_write_them(void **state)
{
	static const struct {
		int64_t bytes;
		const char *text;
	} cases[] = {
		{0, "0"},
		{AMOUNT_UNKNOWN, "unknown"},
		{AMOUNT_NONE, "none"},
		{1, "1"},
		{1023, "1023"},
		{1024, "1Ki"},
		{320 * GIB, "320Gi"},
		{1024 * GIB, "1Ti"},
		{1025 * GIB, "1025Gi"},
		{9984 * MIB, "9984Mi"},
		{81559 * MIB, "~79.6Gi"},
		{81408 * MIB, "79.5Gi"},
		{143771 * MIB, "~140.4Gi"},
		{320 * GIB - 1, "~320.0Gi"},
		{320 * GIB + 1, "~320.0Gi"},
		{GIB - 1, "~1024.0Mi"},
		{10001, "~9.8Ki"},
		{INT64_MAX, "~8.0Ei"},
		{INT64_MAX & ~((1LL << 50) - 1), "8191Pi"},
		{(1LL << 62) + (1LL << 61) / 2 + 1024, "~5.0Ei"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(amount_text(cases[i].bytes).text, cases[i].text);
}

static void test_lists_sort_by_name(void **state)
{
	struct resource_amount a = {STR("nvidia.com/gpu"), 2},
			       b = {STR("nvidia.com/gpu.shared"), 1};

	(void)state;
	assert_true(resource_amount_compare(&a, &b) < 0);
	assert_true(resource_amount_compare(&b, &a) > 0);
	assert_int_equal(resource_amount_compare(&a, &a), 0);
}

static void test_words_have_texts(void **state)
{
	(void)state;
	assert_string_equal(device_sharing_text(DEVICE_TIME_SLICED), "TimeSlicing");
	assert_string_equal(quota_condition_text(QUOTA_EXCEEDED), "Exceeded");
	assert_string_equal(quota_reason_text(QUOTA_REASON_STATUS_STALE), "QuotaStatusStale");
	assert_string_equal(condition_status_text(CONDITION_UNKNOWN), "Unknown");
	assert_string_equal(condition_status_text(CONDITION_FALSE), "False");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_amounts_read_as_people_write_them),
		cmocka_unit_test(test_lists_sort_by_name),
		cmocka_unit_test(test_words_have_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
