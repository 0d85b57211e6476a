/* SPDX-License-Identifier: Apache-2.0 */
/* What matches what, case by case, as kube-scheduler has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/macros.h"
#include "model/terms.h"

/* --- node affinity */

static void requirements_hold_as_in_kubernetes(void **state)
{
	static const struct {
		const char *what;
		enum node_operator op;
		const char *values[2], *value; /* value NULL: the node has no such label */
		bool holds;
	} cases[] = {
		{"In, one of them", NODE_IN, {"a", "b"}, "b", true},
		{"In, none of them", NODE_IN, {"a", "b"}, "c", false},
		{"In, without the label", NODE_IN, {"a"}, NULL, false},
		{"In, the empty value", NODE_IN, {""}, "", true},
		{"NotIn, one of them", NODE_NOT_IN, {"a", "b"}, "a", false},
		{"NotIn, none of them", NODE_NOT_IN, {"a", "b"}, "c", true},
		{"NotIn, without the label", NODE_NOT_IN, {"a"}, NULL, true},
		{"Exists", NODE_EXISTS, {0}, "", true},
		{"Exists, without the label", NODE_EXISTS, {0}, NULL, false},
		{"DoesNotExist", NODE_DOES_NOT_EXIST, {0}, "x", false},
		{"DoesNotExist, without the label", NODE_DOES_NOT_EXIST, {0}, NULL, true},
		{"Gt, more", NODE_GREATER, {"8"}, "9", true},
		{"Gt, as much", NODE_GREATER, {"8"}, "8", false},
		{"Gt, less as a word but more as a number", NODE_GREATER, {"9"}, "10", true},
		{"Gt, negative", NODE_GREATER, {"-5"}, "-4", true},
		{"Gt, with a plus", NODE_GREATER, {"8"}, "+9", true},
		{"Gt, no number", NODE_GREATER, {"8"}, "many", false},
		{"Gt, of no number", NODE_GREATER, {"few"}, "9", false},
		{"Gt, a fraction", NODE_GREATER, {"8"}, "9.5", false},
		{"Gt, beyond 64 bits", NODE_GREATER, {"8"}, "9223372036854775808", false},
		{"Gt, without the label", NODE_GREATER, {"-1"}, NULL, false},
		{"Gt, two values", NODE_GREATER, {"1", "2"}, "9", false},
		{"Lt, less", NODE_LESS, {"8"}, "7", true},
		{"Lt, as much", NODE_LESS, {"8"}, "8", false},
		{"Lt, without the label", NODE_LESS, {"8"}, NULL, false},
		{"Lt, the empty value", NODE_LESS, {"8"}, "", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct str values[2], value = STR_NONE;
		struct node_requirement requirement = {STR("k"), cases[i].op, values, 0};

		for (size_t k = 0; k < 2 && cases[i].values[k]; k++)
			values[requirement.n_values++] = str_from(cases[i].values[k]);
		if (cases[i].value)
			value = str_from(cases[i].value);
		if (node_requirement_holds(&requirement, cases[i].value ? &value : NULL) !=
		    cases[i].holds)
			fail_msg("%s", cases[i].what);
	}
}

/* --- taints */

static void tolerations_hold_as_in_kubernetes(void **state)
{
	static const struct {
		const char *what;
		const char *key, *value;
		bool exists;
		enum taint_effect effect;
		bool holds; /* of dedicated=chat:NoSchedule */
	} cases[] = {
		{"equal", "dedicated", "chat", false, TAINT_NO_SCHEDULE, true},
		{"of all effects", "dedicated", "chat", false, TAINT_ANY, true},
		{"of another effect", "dedicated", "chat", false, TAINT_NO_EXECUTE, false},
		{"of another value", "dedicated", "batch", false, TAINT_NO_SCHEDULE, false},
		{"of no value", "dedicated", "", false, TAINT_NO_SCHEDULE, false},
		{"of another key", "other", "chat", false, TAINT_NO_SCHEDULE, false},
		{"whatever the value", "dedicated", "", true, TAINT_NO_SCHEDULE, true},
		{"whatever the value, another key", "other", "", true, TAINT_ANY, false},
		{"of everything", "", "", true, TAINT_ANY, true},
		{"of all keys, another effect", "", "", true, TAINT_NO_EXECUTE, false},
		{"of all keys, of this value", "", "chat", false, TAINT_ANY, true},
	};
	static const struct taint taint = {{"dedicated", 9}, {"chat", 4}, TAINT_NO_SCHEDULE};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct toleration toleration = {str_from(cases[i].key), str_from(cases[i].value),
						cases[i].exists, cases[i].effect};

		if (toleration_holds(&toleration, &taint) != cases[i].holds)
			fail_msg("%s", cases[i].what);
	}
}

static void every_taint_that_keeps_away_is_to_be_tolerated(void **state)
{
	static const struct taint taints[] = {
		{{"soft", 4}, {"", 0}, TAINT_PREFER},
		{{"one", 3}, {"", 0}, TAINT_NO_SCHEDULE},
		{{"two", 3}, {"", 0}, TAINT_NO_EXECUTE},
	};
	static const struct toleration one = {{"one", 3}, {"", 0}, true, TAINT_ANY};
	static const struct toleration both[] = {
		{{"one", 3}, {"", 0}, true, TAINT_ANY},
		{{"two", 3}, {"", 0}, true, TAINT_NO_EXECUTE},
	};

	(void)state;
	assert_true(taints_tolerated(taints, 1, NULL, 0));
	assert_false(taints_tolerated(taints, 3, NULL, 0));
	assert_true(taints_tolerated(taints, 2, &one, 1));
	assert_false(taints_tolerated(taints, 3, &one, 1));
	assert_true(taints_tolerated(taints, 3, both, 2));
}

/* --- anti-affinity of others */

static void a_pod_keeps_away_whom_it_selects(void **state)
{
	static const struct str web = {"web", 3}, there[] = {{"x", 1}, {"chat", 4}};
	static const struct label_requirement is_web = {{"app", 3}, LABEL_IN, &web, 1};
	static const struct label labels[] = {{{"app", 3}, {"web", 3}}};
	static const struct label others[] = {{{"app", 3}, {"db", 2}}};
	struct pod_repel repel = {.selector = {&is_web, 1}};
	struct str own = STR("train"), chat = STR("chat");

	(void)state;
	assert_false(pod_repel_holds(&repel, own, chat, labels, 1)); /* another namespace */
	assert_true(pod_repel_holds(&repel, own, own, labels, 1));
	assert_false(pod_repel_holds(&repel, own, own, others, 1));
	assert_true(pod_repel_holds(&repel, own, own, NULL, 0)); /* nobody knows its labels */
	repel.namespaces = there;
	repel.n_namespaces = 2;
	assert_true(pod_repel_holds(&repel, own, chat, labels, 1));
	assert_false(pod_repel_holds(&repel, own, own, labels, 1));
	repel.everywhere = true;
	assert_true(pod_repel_holds(&repel, own, own, labels, 1));
	repel.anybody = true;
	assert_true(pod_repel_holds(&repel, own, own, others, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requirements_hold_as_in_kubernetes),
		cmocka_unit_test(tolerations_hold_as_in_kubernetes),
		cmocka_unit_test(every_taint_that_keeps_away_is_to_be_tolerated),
		cmocka_unit_test(a_pod_keeps_away_whom_it_selects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
