/* SPDX-License-Identifier: Apache-2.0 */
/* What an eviction reads of a pod: recorded ones of each gang system, and odd ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/pack.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/macros.h"
#include "recorded.h"

static struct pod_exit exit_of(struct fixture *f, const char *json)
{
	struct wire_pod wire;
	struct pod_facts facts;

	sample_decode(&wire_pod_schema, json, &f->arena, &wire);
	if (api_pack_pod(&wire, NULL, &f->arena, &facts, &f->err) < 0)
		fail_msg("%s: %s", json, f->err.message);
	return facts.exit;
}

/* --- gangs */

static void recorded_pods_are_in_their_gangs(void **state)
{
	static const struct {
		const char *name;
		enum gang_kind gang;
		const char *gang_name;
	} cases[] = {
		{"pod.gang-leaderworkerset", GANG_LEADER_WORKER_SET, "deepseek-0"},
		{"pod.gang-jobset", GANG_JOB_SET, "vision"},
		{"pod.gang-pytorchjob", GANG_TRAINING, "bert"},
		{"pod.gang-volcano", GANG_VOLCANO, "pretrain-7d7e5a1c-4a7d-4d6a-9f5f-52b1d2a0c6f3"},
		{"pod.gang-coscheduling", GANG_COSCHEDULING, "rl-rollout"},
		{"pod.deployment-vllm", GANG_NONE, ""},
		{"pod.job-finetune", GANG_NONE, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f CLEANUP(fixture_clear);
		struct wire_pod wire;
		struct pod_facts facts;

		fixture_init(&f);
		recorded_decode(&wire_pod_schema, cases[i].name, &f.text, &f.arena, &wire);
		assert_int_equal(api_pack_pod(&wire, NULL, &f.arena, &facts, &f.err), 0);
		if (facts.exit.gang != cases[i].gang ||
		    !str_equal(facts.exit.gang_name, str_from(cases[i].gang_name)))
			fail_msg("%s: %d %.*s", cases[i].name, (int)facts.exit.gang,
				 STR_ARGS(facts.exit.gang_name));
	}
}

static void each_system_s_key_names_a_gang(void **state)
{
	static const struct {
		const char *what, *metadata;
		enum gang_kind gang;
		const char *name;
	} cases[] = {
		{"Kueue", "'labels':{'kueue.x-k8s.io/pod-group-name':'g'}", GANG_KUEUE, "g"},
		{"KAI", "'annotations':{'pod-group-name':'g'}", GANG_KAI, "g"},
		{"Volcano's second key", "'annotations':{'scheduling.volcano.sh/group-name':'g'}",
		 GANG_VOLCANO, "g"},
		{"Koordinator", "'annotations':{'gang.scheduling.koordinator.sh/name':'g'}",
		 GANG_KOORDINATOR, "g"},
		{"older coscheduling", "'labels':{'pod-group.scheduling.sigs.k8s.io':'g'}",
		 GANG_COSCHEDULING, "g"},
		{"the oldest coscheduling",
		 "'labels':{'pod-group.scheduling.sigs.k8s.io/name':'g'}", GANG_COSCHEDULING, "g"},
		{"who makes pods before who schedules them",
		 "'labels':{'jobset.sigs.k8s.io/jobset-name':'set'},"
		 "'annotations':{'scheduling.k8s.io/group-name':'podgroup-1'}",
		 GANG_JOB_SET, "set"},
		{"a label where the system writes an annotation", "'labels':{'pod-group-name':'g'}",
		 GANG_NONE, ""},
		{"an empty name", "'labels':{'kueue.x-k8s.io/pod-group-name':''}", GANG_NONE, ""},
		{"a LeaderWorkerSet without a group",
		 "'labels':{'leaderworkerset.sigs.k8s.io/name':'l'}", GANG_NONE, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f CLEANUP(fixture_clear);
		struct pod_exit exit;
		char json[512];

		fixture_init(&f);
		snprintf(json, sizeof(json),
			 "{'metadata':{'name':'p','namespace':'n','uid':'u',%s},'spec':{}}",
			 cases[i].metadata);
		exit = exit_of(&f, json);
		if (exit.gang != cases[i].gang ||
		    !str_equal(exit.gang_name, str_from(cases[i].name)))
			fail_msg("%s: %d %.*s", cases[i].what, (int)exit.gang,
				 STR_ARGS(exit.gang_name));
	}
}

static void a_name_that_no_object_has_names_no_gang(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct buf json CLEANUP(buf_clear);

	(void)state;
	fixture_init(&f);
	buf_init(&json, 4096);
	buf_add_cstr(&json, "{'metadata':{'name':'p','namespace':'n','uid':'u',"
			    "'annotations':{'pod-group-name':'");
	for (size_t i = 0; i <= LIMIT_NAME; i++)
		buf_add_cstr(&json, "g");
	buf_add_cstr(&json, "'}},'spec':{}}");
	assert_int_equal(exit_of(&f, json.data).gang, GANG_NONE);
}

/* --- times */

static void a_checkpoint_is_a_time_or_nothing(void **state)
{
	static const struct {
		const char *text;
		int64_t us;
	} cases[] = {
		{"2026-11-30T15:00:00Z", 1796050800 * USEC_PER_SEC},
		{"2026-11-30T16:00:00.5+01:00", 1796050800 * USEC_PER_SEC + 500000},
		{"1969-12-31T23:59:59Z", 0},
		{"", 0},
		{"yesterday", 0},
		{"1796050800", 0},
		{"2026-11-30", 0},
		{"2026-13-30T15:00:00Z", 0},
		{"9999999999-11-30T15:00:00Z", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f CLEANUP(fixture_clear);
		char json[256];
		int64_t us;

		fixture_init(&f);
		snprintf(json, sizeof(json),
			 "{'metadata':{'name':'p','namespace':'n','uid':'u',"
			 "'annotations':{'gpuqos.io/checkpoint':'%s'}},'spec':{}}",
			 cases[i].text);
		us = exit_of(&f, json).checkpoint_us;
		if (us != cases[i].us)
			fail_msg("'%s' is %lld", cases[i].text, (long long)us);
	}
}

static void a_grace_is_kubernetes_own_where_none_is_given(void **state)
{
	static const struct {
		const char *spec;
		int64_t us;
	} cases[] = {
		{"", 30 * USEC_PER_SEC},
		{"'terminationGracePeriodSeconds':0", 0},
		{"'terminationGracePeriodSeconds':600", 600 * USEC_PER_SEC},
		{"'terminationGracePeriodSeconds':-1", 0},
		{"'terminationGracePeriodSeconds':9223372036854775807", INT32_MAX * USEC_PER_SEC},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f CLEANUP(fixture_clear);
		char json[256];

		fixture_init(&f);
		snprintf(json, sizeof(json),
			 "{'metadata':{'name':'p','namespace':'n','uid':'u'},'spec':{%s},"
			 "'status':{'startTime':'2026-11-30T15:00:00Z'}}",
			 cases[i].spec);
		assert_int_equal(exit_of(&f, json).grace_us, cases[i].us);
		assert_int_equal(exit_of(&f, json).started_us, 1796050800 * USEC_PER_SEC);
	}
}

/* --- static pods */

static void only_a_node_s_pod_is_a_mirror(void **state)
{
	static const struct {
		const char *owner;
		bool mirror;
	} cases[] = {
		{"{'kind':'Node','name':'n','uid':'u','controller':true}", true},
		{"{'kind':'Job','name':'n','uid':'u','controller':true}", false},
		{"{'kind':'Node','name':'n','uid':'u'}", false},
		{"", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f CLEANUP(fixture_clear);
		char json[512];

		fixture_init(&f);
		snprintf(json, sizeof(json),
			 "{'metadata':{'name':'p','namespace':'n','uid':'u',"
			 "'annotations':{'kubernetes.io/config.mirror':'abc'},"
			 "'ownerReferences':[%s]},'spec':{}}",
			 cases[i].owner);
		assert_int_equal(exit_of(&f, json).mirror, cases[i].mirror);
	}
}

static void labels_are_given_as_they_are(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct pod_exit exit;

	(void)state;
	fixture_init(&f);
	exit = exit_of(&f, "{'metadata':{'name':'p','namespace':'n','uid':'u',"
			   "'labels':{'app':'x','tier':''}},'spec':{}}");
	assert_int_equal(exit.n_labels, 2);
	assert_true(str_equal(exit.labels[0].key, STR("app")));
	assert_true(str_equal(exit.labels[0].value, STR("x")));
	assert_true(str_empty(exit.labels[1].value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_pods_are_in_their_gangs),
		cmocka_unit_test(each_system_s_key_names_a_gang),
		cmocka_unit_test(a_name_that_no_object_has_names_no_gang),
		cmocka_unit_test(a_checkpoint_is_a_time_or_nothing),
		cmocka_unit_test(a_grace_is_kubernetes_own_where_none_is_given),
		cmocka_unit_test(only_a_node_s_pod_is_a_mirror),
		cmocka_unit_test(labels_are_given_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
