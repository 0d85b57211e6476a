/* SPDX-License-Identifier: Apache-2.0 */
/* Which containers crash over and over, from what kubelet says of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/pack_crashes.h"
#include "api/wire.h"
#include "base/clock.h"
#include "base/macros.h"
#include "recorded.h"

#define WAITS     "'state':{'waiting':{'reason':'CrashLoopBackOff'}},"
#define PULLS     "'state':{'waiting':{'reason':'ImagePullBackOff'}},"
#define RUNS      "'state':{'running':{'startedAt':'2026-01-01T00:01:00Z'}},"
#define ENDED(as) "'state':{'terminated':{'exitCode':" as ",'finishedAt':'2026-01-01T00:00:30Z'}},"
#define BEFORE(as) \
	"'lastState':{'terminated':{'exitCode':" as ",'finishedAt':'2026-01-01T00:00:00Z'}},"
#define NEW_YEAR 1767225600

static void each_state_of_a_container(void **state)
{
	static const struct {
		const char *what, *status;
		uint32_t waiting, again;
		int64_t ended_s;
	} cases[] = {
		{"it waits to be started again", WAITS BEFORE("137") "'restartCount':4", 1, 0, 0},
		{"it waits for its image", PULLS "'restartCount':0", 0, 0, 0},
		{"it runs, and never ended", RUNS "'restartCount':0", 0, 0, 0},
		{"it runs again after one bad end", RUNS BEFORE("1") "'restartCount':1", 0, 0, 0},
		{"it runs again after two", RUNS BEFORE("137") "'restartCount':2", 0, 1, NEW_YEAR},
		{"it runs again after it ended well", RUNS BEFORE("0") "'restartCount':5", 0, 0, 0},
		{"it ended badly the second time", ENDED("137") BEFORE("137") "'restartCount':1", 0,
		 1, NEW_YEAR + 30},
		{"it ended badly once and for all", ENDED("1") "'restartCount':0", 0, 0, 0},
		{"it ended well after a bad end", ENDED("0") BEFORE("1") "'restartCount':2", 0, 1,
		 NEW_YEAR},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f CLEANUP(fixture_clear);
		struct wire_pod wire;
		struct pod_crashes crashes;
		char json[1024];

		fixture_init(&f);
		snprintf(json, sizeof(json),
			 "{'metadata':{'name':'p','namespace':'n','uid':'u'},'spec':{},'status':{"
			 "'containerStatuses':[{'name':'c',%s}]}}",
			 cases[i].status);
		sample_decode(&wire_pod_schema, json, &f.arena, &wire);
		crashes = pack_crashes(&wire.status);
		if (crashes.waiting != cases[i].waiting || crashes.again != cases[i].again ||
		    crashes.ended_us != cases[i].ended_s * USEC_PER_SEC)
			fail_msg("%s: %u %u %lld", cases[i].what, crashes.waiting, crashes.again,
				 (long long)crashes.ended_us);
	}
}

static void containers_of_all_kinds_count(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct wire_pod wire;
	struct pod_crashes crashes;

	(void)state;
	fixture_init(&f);
	sample_decode(&wire_pod_schema,
		      "{'metadata':{'name':'p','namespace':'n','uid':'u'},'spec':{},'status':{"
		      "'initContainerStatuses':[{'name':'i'," WAITS "'restartCount':3}],"
		      "'containerStatuses':[{'name':'a'," WAITS "'restartCount':3},"
		      "{'name':'b'," RUNS BEFORE("137") "'restartCount':3}]}}",
		      &f.arena, &wire);
	crashes = pack_crashes(&wire.status);
	assert_int_equal(crashes.waiting, 2);
	assert_int_equal(crashes.again, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_state_of_a_container),
		cmocka_unit_test(containers_of_all_kinds_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
