/* SPDX-License-Identifier: Apache-2.0 */
/* Which Events say that a pod was refused because of us, how often, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/pack_event.h"
#include "base/clock.h"
#include "base/macros.h"
#include "recorded.h"

#define QUOTA "Error creating: pods w-1 is forbidden: exceeded quota: gpuqos, requested: x=1"
#define BY    "'reason':'FailedCreate','source':{'component':'replicaset-controller'},"

static void only_what_we_refused_is_ours(void **state)
{
	static const struct {
		const char *what, *event;
		bool ours;
	} cases[] = {
		{"the quota refused it", BY "'message':'" QUOTA "'", true},
		{"a policy refused it",
		 BY "'message':'ValidatingAdmissionPolicy \\u0027gpuqos-price\\u0027 with binding'",
		 true},
		{"another quota refused it", BY "'message':'exceeded quota: gpuqos-2, requested'",
		 false},
		{"somebody else's policy",
		 BY "'message':'ValidatingAdmissionPolicy \\u0027gp\\u0027'", false},
		{"there is no message", BY "'count':3", false},
		{"another reason",
		 "'reason':'FailedMount','source':{'component':'job-controller'},'message':'" QUOTA
		 "'",
		 false},
		{"somebody else tells",
		 "'reason':'FailedCreate','source':{'component':'me'},'message':'" QUOTA "'",
		 false},
		{"by its reporter",
		 "'reason':'FailedCreate','reportingComponent':'job-controller','message':'" QUOTA
		 "'",
		 true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f CLEANUP(fixture_clear);
		struct wire_event wire;
		struct refusal_facts facts;
		char json[1024];

		fixture_init(&f);
		snprintf(json, sizeof(json),
			 "{'metadata':{'name':'e','namespace':'n','uid':'u'},%s}", cases[i].event);
		sample_decode(&wire_event_schema, json, &f.arena, &wire);
		assert_int_equal(api_pack_refusal(&wire, &facts, &f.err), 0);
		if (facts.ours != cases[i].ours)
			fail_msg("%s: %d", cases[i].what, facts.ours);
	}
}

static void a_recorded_one_is(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct wire_event wire;
	struct refusal_facts facts;

	(void)state;
	fixture_init(&f);
	recorded_decode(&wire_event_schema, "event.refused", &f.text, &f.arena, &wire);
	assert_int_equal(api_pack_refusal(&wire, &facts, &f.err), 0);
	assert_true(facts.ours);
	assert_true(str_equal(facts.namespace, STR("recorded")));
	assert_int_equal(facts.count, wire.count);
	assert_true(facts.last_us > 0);
}

static void counts_and_times_come_in_either_form(void **state)
{
	static const struct {
		const char *event;
		int64_t count, last_s;
	} cases[] = {
		{"'count':7,'lastTimestamp':'2026-01-01T00:00:09Z'", 7, 1767225609},
		{"'eventTime':'2026-01-01T00:00:01.000000Z','series':{'count':12,"
		 "'lastObservedTime':'2026-01-01T00:00:30.000000Z'}",
		 12, 1767225630},
		{"'eventTime':'2026-01-01T00:00:01.000000Z'", 1, 1767225601},
		{"'count':-4", 1, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f CLEANUP(fixture_clear);
		struct wire_event wire;
		struct refusal_facts facts;
		char json[512];

		fixture_init(&f);
		snprintf(json, sizeof(json),
			 "{'metadata':{'name':'e','namespace':'n','uid':'u'},%s}", cases[i].event);
		sample_decode(&wire_event_schema, json, &f.arena, &wire);
		assert_int_equal(api_pack_refusal(&wire, &facts, &f.err), 0);
		assert_int_equal(facts.count, cases[i].count);
		assert_int_equal(facts.last_us, cases[i].last_s * USEC_PER_SEC);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_we_refused_is_ours),
		cmocka_unit_test(a_recorded_one_is),
		cmocka_unit_test(counts_and_times_come_in_either_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
