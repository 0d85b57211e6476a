/* SPDX-License-Identifier: Apache-2.0 */
/* PodDisruptionBudgets: whom they select and what they allow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/pack_budget.h"
#include "base/limits.h"
#include "base/macros.h"
#include "recorded.h"

static struct budget_facts facts_of(struct fixture *f, const char *spec, const char *status)
{
	struct wire_budget wire;
	struct budget_facts facts;
	struct buf json CLEANUP(buf_clear);

	buf_init(&json, LIMIT_WATCH_FRAME);
	buf_printf(&json,
		   "{'metadata':{'name':'b','namespace':'n','uid':'u','generation':3},"
		   "'spec':{%s},'status':{%s}}",
		   spec, status);
	sample_decode(&wire_budget_schema, json.data, &f->arena, &wire);
	if (api_pack_budget(&wire, &f->arena, &facts, &f->err) < 0)
		fail_msg("%s: %s", json.data, f->err.message);
	return facts;
}

static void a_selector_selects_none_some_or_all(void **state)
{
	static const struct {
		const char *what, *spec;
		enum budget_reach reach;
		size_t n;
	} cases[] = {
		{"absent", "", BUDGET_SELECTS_NONE, 0},
		{"null", "'selector':null", BUDGET_SELECTS_NONE, 0},
		{"empty", "'selector':{}", BUDGET_SELECTS_ALL, 0},
		{"labels", "'selector':{'matchLabels':{'app':'x'}}", BUDGET_SELECTS_SOME, 1},
		{"an expression",
		 "'selector':{'matchExpressions':[{'key':'a','operator':'Exists'}]}",
		 BUDGET_SELECTS_SOME, 1},
		{"an operator that is not known",
		 "'selector':{'matchExpressions':[{'key':'a','operator':'Gt','values':['1']}]}",
		 BUDGET_REACH_UNKNOWN, 0},
		{"In without values",
		 "'selector':{'matchExpressions':[{'key':'a','operator':'In'}]}",
		 BUDGET_REACH_UNKNOWN, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f CLEANUP(fixture_clear);
		struct budget_facts facts;

		fixture_init(&f);
		facts = facts_of(&f, cases[i].spec, "");
		if (facts.reach != cases[i].reach || facts.selector.n_requirements != cases[i].n)
			fail_msg("%s: %d", cases[i].what, (int)facts.reach);
	}
}

static void a_selector_too_large_is_of_unknown_reach(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct buf spec CLEANUP(buf_clear);

	(void)state;
	fixture_init(&f);
	buf_init(&spec, LIMIT_WATCH_FRAME);
	buf_add_cstr(&spec, "'selector':{'matchLabels':{");
	for (int i = 0; i <= LIMIT_SELECTOR_VALUES; i++)
		buf_printf(&spec, "%s'k%d':'v'", i ? "," : "", i);
	buf_add_cstr(&spec, "}}");
	assert_int_equal(facts_of(&f, spec.data, "").reach, BUDGET_REACH_UNKNOWN);
}

static void a_status_is_settled_when_it_saw_the_spec(void **state)
{
	static const struct {
		const char *status;
		bool settled;
		int64_t allowed;
	} cases[] = {
		{"'observedGeneration':3,'disruptionsAllowed':2", true, 2},
		{"'observedGeneration':2,'disruptionsAllowed':2", false, 2},
		{"'disruptionsAllowed':2", false, 2},
		{"'observedGeneration':3", true, 0},
		{"'observedGeneration':3,'disruptionsAllowed':-7", true, 0},
		{"", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f CLEANUP(fixture_clear);
		struct budget_facts facts;

		fixture_init(&f);
		facts = facts_of(&f, "", cases[i].status);
		assert_int_equal(facts.settled, cases[i].settled);
		assert_int_equal(facts.allowed, cases[i].allowed);
	}
}

static void an_outline_reaches_nobody_knows_whom(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct wire_object wire;
	struct budget_facts facts;

	(void)state;
	fixture_init(&f);
	sample_decode(&wire_outline_schema, "{'metadata':{'name':'b','namespace':'n','uid':'u'}}",
		      &f.arena, &wire);
	assert_int_equal(api_pack_budget_outline(&wire, &facts, &f.err), 0);
	assert_int_equal(facts.reach, BUDGET_REACH_UNKNOWN);
	assert_false(facts.settled);
	wire.meta.name = STR_NONE;
	assert_int_equal(api_pack_budget_outline(&wire, &facts, &f.err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_selector_selects_none_some_or_all),
		cmocka_unit_test(a_selector_too_large_is_of_unknown_reach),
		cmocka_unit_test(a_status_is_settled_when_it_saw_the_spec),
		cmocka_unit_test(an_outline_reaches_nobody_knows_whom),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
