/* SPDX-License-Identifier: Apache-2.0 */
/* Selectors over labels, as Kubernetes matches them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/macros.h"
#include "model/labels.h"

static const struct str ab[] = {{"a", 1}, {"b", 1}};
static const struct label labels[] = {{{"team", 4}, {"a", 1}}, {{"empty", 5}, {"", 0}}};

static void each_operator_means_what_it_does_in_kubernetes(void **state)
{
	static const struct {
		const char *key;
		enum label_operator op;
		const struct str *values;
		size_t n_values;
		bool matches;
	} cases[] = {
		{"team", LABEL_IN, ab, 2, true},
		{"team", LABEL_IN, ab + 1, 1, false},
		{"none", LABEL_IN, ab, 2, false},
		{"empty", LABEL_IN, ab, 2, false},
		{"team", LABEL_NOT_IN, ab, 2, false},
		{"team", LABEL_NOT_IN, ab + 1, 1, true},
		{"none", LABEL_NOT_IN, ab, 2, true},
		{"team", LABEL_EXISTS, NULL, 0, true},
		{"empty", LABEL_EXISTS, NULL, 0, true},
		{"none", LABEL_EXISTS, NULL, 0, false},
		{"team", LABEL_DOES_NOT_EXIST, NULL, 0, false},
		{"none", LABEL_DOES_NOT_EXIST, NULL, 0, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct label_requirement one = {str_from(cases[i].key), cases[i].op,
						cases[i].values, cases[i].n_values};
		struct label_selector selector = {&one, 1};

		if (label_selector_matches(&selector, labels, ARRAY_SIZE(labels)) !=
		    cases[i].matches)
			fail_msg("%s %s", cases[i].key, label_operator_text(cases[i].op));
	}
}

static void all_must_hold_and_none_matches_nothing(void **state)
{
	const struct label_requirement two[] = {{STR("team"), LABEL_IN, ab, 2},
						{STR("empty"), LABEL_DOES_NOT_EXIST, NULL, 0}};
	struct label_selector selector = {two, 2};

	(void)state;
	assert_false(label_selector_matches(&selector, labels, ARRAY_SIZE(labels)));
	selector.n_requirements = 1;
	assert_true(label_selector_matches(&selector, labels, ARRAY_SIZE(labels)));
	selector.n_requirements = 0;
	assert_false(label_selector_matches(&selector, labels, ARRAY_SIZE(labels)));
}

static void selectors_are_equal_where_they_are_written_alike(void **state)
{
	const struct str again[] = {STR("a"), STR("b")};
	const struct label_requirement one = {STR("team"), LABEL_IN, ab, 2};
	const struct label_requirement others[] = {
		{STR("teams"), LABEL_IN, ab, 2},
		{STR("team"), LABEL_NOT_IN, ab, 2},
		{STR("team"), LABEL_IN, ab, 1},
		{STR("team"), LABEL_IN, ab + 1, 1},
	};
	const struct label_requirement same = {STR("team"), LABEL_IN, again, 2};
	const struct label_selector a = {&one, 1}, b = {&same, 1}, none = {NULL, 0};

	(void)state;
	assert_true(label_selector_equal(&a, &b));
	assert_true(label_selector_equal(&none, &none));
	assert_false(label_selector_equal(&a, &none));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(label_selector_equal(&a, &(struct label_selector){&others[i], 1}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_operator_means_what_it_does_in_kubernetes),
		cmocka_unit_test(all_must_hold_and_none_matches_nothing),
		cmocka_unit_test(selectors_are_equal_where_they_are_written_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
