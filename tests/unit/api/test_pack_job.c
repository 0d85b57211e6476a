/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that end with the eviction of a pod, and those that do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/pack_job.h"
#include "base/macros.h"
#include "recorded.h"

#define RULE(action, type, status)                                                              \
	"'podFailurePolicy':{'rules':[{'action':'" action "','onPodConditions':[{'type':'" type \
	"','status':'" status "'"                                                               \
	"}]}]}"

static void a_job_ends_where_one_more_pod_is_too_many(void **state)
{
	static const struct {
		const char *what, *spec, *status;
		bool final;
	} cases[] = {
		{"no retries", "'backoffLimit':0", "", true},
		{"one retry, none used", "'backoffLimit':1", "", false},
		{"one retry, used", "'backoffLimit':1", "'failed':1", true},
		{"six by default, five used", "", "'failed':5", false},
		{"six by default, all used", "", "'failed':6", true},
		{"no retries of an index", "'backoffLimitPerIndex':0,'backoffLimit':2147483647", "",
		 true},
		{"one retry of an index", "'backoffLimitPerIndex':1,'backoffLimit':2147483647",
		 "'failed':9", false},
		{"no retries, evictions are ignored",
		 "'backoffLimit':0," RULE("Ignore", "DisruptionTarget", "True"), "", false},
		{"retries, evictions fail it",
		 "'backoffLimit':6," RULE("FailJob", "DisruptionTarget", "True"), "", true},
		{"retries, evictions fail the index",
		 "'backoffLimit':6," RULE("FailIndex", "DisruptionTarget", "True"), "", true},
		{"no retries, evictions are counted",
		 "'backoffLimit':0," RULE("Count", "DisruptionTarget", "True"), "", true},
		{"a rule for another condition",
		 "'backoffLimit':6," RULE("FailJob", "ConfigIssue", "True"), "", false},
		{"a rule for pods that are not evicted",
		 "'backoffLimit':6," RULE("FailJob", "DisruptionTarget", "False"), "", false},
		{"an action that is not known",
		 "'backoffLimit':6," RULE("Explode", "DisruptionTarget", "True"), "", false},
		{"a count below zero", "'backoffLimit':0", "'failed':-1", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f CLEANUP(fixture_clear);
		struct wire_job wire;
		struct job_facts facts;
		char json[512];

		fixture_init(&f);
		snprintf(json, sizeof(json),
			 "{'metadata':{'name':'j','namespace':'n','uid':'u'},'spec':{%s},"
			 "'status':{%s}}",
			 cases[i].spec, cases[i].status);
		sample_decode(&wire_job_schema, json, &f.arena, &wire);
		assert_int_equal(api_pack_job(&wire, &facts, &f.err), 0);
		if (facts.final != cases[i].final)
			fail_msg("%s: %d", cases[i].what, facts.final);
	}
}

static void the_recorded_one_ignores_evictions(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct wire_job wire;
	struct job_facts facts;

	(void)state;
	fixture_init(&f);
	recorded_decode(&wire_job_schema, "job.failed", &f.text, &f.arena, &wire);
	assert_int_equal(api_pack_job(&wire, &facts, &f.err), 0);
	assert_int_equal(wire.status.failed, 1);
	assert_int_equal(wire.spec.backoff_limit, 4);
	assert_false(facts.final);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_ends_where_one_more_pod_is_too_many),
		cmocka_unit_test(the_recorded_one_ignores_evictions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
