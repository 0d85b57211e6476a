/* SPDX-License-Identifier: Apache-2.0 */
/* Every value of an enum that is written to an object has a text of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/macros.h"
#include "model/objective.h"
#include "model/tenant.h"

static const char *shrink_text(int value)
{
	return shrink_policy_text((enum shrink_policy)value);
}

static const char *condition_text(int value)
{
	return quota_condition_text((enum quota_condition)value);
}

static const char *reason_text(int value)
{
	return quota_reason_text((enum quota_reason)value);
}

static const char *tier_text(int value)
{
	return tenant_tier_text((enum tenant_tier)value);
}

static const char *tenant_text(int value)
{
	return tenant_condition_text((enum tenant_condition)value);
}

static const char *operator_text(int value)
{
	return label_operator_text((enum label_operator)value);
}

static const char *state_text(int value)
{
	return objective_state_text((enum objective_state)value);
}

static const char *why_text(int value)
{
	return objective_reason_text((enum objective_reason)value);
}

static const char *direction_text(int value)
{
	return objective_direction_text((enum objective_direction)value);
}

static void texts_are_there_and_unlike_each_other(void **state)
{
#define X(name, ...) +1
	static const struct {
		const char *(*text)(int value);
		int count;
	} enums[] = {
		{shrink_text, 0 SHRINK_POLICIES(X)},
		{condition_text, 0 QUOTA_CONDITIONS(X)},
		{reason_text, 0 QUOTA_REASONS(X)},
		{tier_text, 0 TENANT_TIERS(X)},
		{tenant_text, 0 TENANT_CONDITIONS(X)},
		{operator_text, 0 LABEL_OPERATORS(X)},
		{state_text, 0 OBJECTIVE_STATES(X)},
		{why_text, 0 OBJECTIVE_REASONS(X)},
		{direction_text, 0 OBJECTIVE_DIRECTIONS(X)},
	};
#undef X
	size_t i;
	int a, b;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(enums); i++) {
		for (a = 0; a < enums[i].count; a++) {
			const char *text = enums[i].text(a);

			assert_non_null(text);
			assert_true(text[0] >= 'A' && text[0] <= 'Z');
			for (b = 0; b < a; b++)
				assert_string_not_equal(text, enums[i].text(b));
		}
	}
}

static void tiers_rise(void **state)
{
	(void)state;
	assert_true(TIER_BEST_EFFORT < TIER_TRAINING && TIER_TRAINING < TIER_INFERENCE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_there_and_unlike_each_other),
		cmocka_unit_test(tiers_rise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
