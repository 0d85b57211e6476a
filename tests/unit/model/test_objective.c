/* SPDX-License-Identifier: Apache-2.0 */
/* Values of objectives as people read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "model/objective.h"

static void values_are_rounded_to_three_digits(void **state)
{
	static const struct {
		int64_t value, rounded;
		const char *text;
	} cases[] = {
		{0, 0, "0"},
		{1, 1, "0.000001"},
		{999, 999, "0.000999"},
		{1234, 1230, "0.00123"},
		{212999, 213000, "0.213"},
		{999999, 1000000, "1"},
		{1500000, 1500000, "1.5"},
		{-212999, -213000, "-0.213"},
		{123456789, 123000000, "123"},
		{INT64_MAX, INT64_C(9220000000000000000), "9220000000000"},
		{OBJECTIVE_NO_VALUE, OBJECTIVE_NO_VALUE, "unknown"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(objective_round(cases[i].value), cases[i].rounded);
		assert_string_equal(objective_value_text(cases[i].rounded).text, cases[i].text);
	}
}

static void specs_are_equal_in_every_field(void **state)
{
	const struct objective_spec spec = {STR("a"), PRESET_TGI_QUEUE, 95, STR(""),
					    1,        OBJECTIVE_BELOW,  2};
	struct objective_spec other[7];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(other); i++)
		other[i] = spec;
	other[0].name = STR("b");
	other[1].preset = PRESET_TGI_REQUEST;
	other[2].percentile = 50;
	other[3].query = STR("up");
	other[4].threshold = 2;
	other[5].direction = OBJECTIVE_ABOVE;
	other[6].for_us = 3;
	assert_true(objective_spec_equal(&spec, &spec));
	for (size_t i = 0; i < ARRAY_SIZE(other); i++)
		assert_false(objective_spec_equal(&spec, &other[i]));
}

static void a_threshold_is_plausible_up_to_what_its_preset_takes(void **state)
{
	static const struct {
		enum objective_preset preset;
		int64_t threshold_s;
		bool plausible;
	} cases[] = {
		{PRESET_VLLM_FIRST_TOKEN, 60, true},   {PRESET_VLLM_FIRST_TOKEN, 61, false},
		{PRESET_VLLM_FIRST_TOKEN, 200, false}, {PRESET_TGI_INTER_TOKEN, 61, false},
		{PRESET_TRITON_QUEUE, 61, false},      {PRESET_SGLANG_REQUEST, 3600, true},
		{PRESET_SGLANG_REQUEST, 3601, false},  {PRESET_TRITON_REQUEST, 3601, false},
		{PRESET_NONE, 1000000000, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct objective_spec spec = {.preset = cases[i].preset,
						    .threshold = cases[i].threshold_s * 1000000};

		assert_int_equal(objective_spec_plausible(&spec), cases[i].plausible);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_rounded_to_three_digits),
		cmocka_unit_test(specs_are_equal_in_every_field),
		cmocka_unit_test(a_threshold_is_plausible_up_to_what_its_preset_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
