/* SPDX-License-Identifier: Apache-2.0 */
/* Condition Objectives: what it names, by the states of the objectives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "quota/tenant_plan.h"

/* A tenant of some objectives, and what its condition says of them. */
struct scene {
	struct objective_spec specs[LIMIT_OBJECTIVES];
	struct objective_status now[LIMIT_OBJECTIVES];
	size_t n;
	struct arena arena;
	struct tenant_plan plan;
};

static int setup(void **state)
{
	static struct scene s;

	s = (struct scene){.n = 0};
	arena_init(&s.arena, 1 << 20);
	*state = &s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	arena_clear(&s->arena);
	return 0;
}

/* An objective whose threshold is 0.2. */
static void add(struct scene *s, const char *name, enum objective_state what,
		enum objective_reason reason, int64_t value)
{
	s->specs[s->n] = (struct objective_spec){.name = str_from(name), .threshold = 200000};
	s->now[s->n++] = (struct objective_status){str_from(name), what, reason, value, 0};
}

static void add_unknown(struct scene *s, const char *name, enum objective_reason reason)
{
	add(s, name, OBJECTIVE_UNKNOWN, reason, OBJECTIVE_NO_VALUE);
}

static const struct condition *decide(struct scene *s)
{
	const struct tenant_facts facts = {
		.name = STR("chat"),
		.uid = STR("uid-1"),
		.generation = 1,
		.spec = {.ceiling = AMOUNT_NONE,
			 .ceiling_gpus = AMOUNT_NONE,
			 .objectives = s->specs,
			 .n_objectives = s->n,
			 .pending_us = AMOUNT_NONE},
	};
	const struct tenant_plan_view view = {
		.facts = &facts,
		.objectives = s->now,
		.n_objectives = s->n,
		.now_real_us = 1700000000 * USEC_PER_SEC,
	};
	struct error err;

	assert_int_equal(tenant_plan_decide(&view, &s->arena, &s->plan, &err), 0);
	return &s->plan.status.conditions[TENANT_OBJECTIVES];
}

static void check(struct scene *s, enum condition_status status, enum quota_reason reason,
		  const char *message)
{
	const struct condition *c = decide(s);

	assert_string_equal(c->message, message);
	assert_string_equal(quota_reason_text(c->reason), quota_reason_text(reason));
	assert_int_equal(c->status, status);
}

static void test_what_is_met_is_counted(void **state)
{
	struct scene *s = *state;

	check(s, CONDITION_TRUE, QUOTA_REASON_NOT_ASKED, "The spec names no objectives.");
	add(s, "ttft", OBJECTIVE_MET, OBJECTIVE_REASON_WITHIN, 150000);
	check(s, CONDITION_TRUE, QUOTA_REASON_MET, "The one objective is met.");
	add(s, "queue", OBJECTIVE_MET, OBJECTIVE_REASON_WITHIN, 150000);
	check(s, CONDITION_TRUE, QUOTA_REASON_MET, "All 2 objectives are met.");
}

static void test_the_worst_is_told_first_and_nothing_is_kept_back(void **state)
{
	struct scene *s = *state;

	add_unknown(s, "ttft", OBJECTIVE_REASON_STALE);
	add(s, "rate", OBJECTIVE_AT_RISK, OBJECTIVE_REASON_BURNING, 40000000);
	s->specs[1].threshold = 50000000;
	s->specs[1].direction = OBJECTIVE_ABOVE;
	check(s, CONDITION_FALSE, QUOTA_REASON_AT_RISK,
	      "1 of 2 objectives is at risk: rate is 40 where at least 50 is promised. Not known: "
	      "ttft (Stale).");
	add(s, "queue", OBJECTIVE_VIOLATED, OBJECTIVE_REASON_PAST, 350000);
	add(s, "tokens", OBJECTIVE_VIOLATED, OBJECTIVE_REASON_PAST, 250000);
	check(s, CONDITION_FALSE, QUOTA_REASON_VIOLATED,
	      "2 of 4 objectives are violated: queue is 0.35 where at most 0.2 is promised, tokens "
	      "is 0.25 where at most 0.2 is promised. At risk: rate is 40 where at least 50 is "
	      "promised. Not known: ttft (Stale).");
}

static void test_all_that_are_not_known_are_named_by_their_reasons(void **state)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	struct scene *s = *state;

	for (size_t i = 0; i < 3; i++)
		add_unknown(s, names[i],
			    i % 2 == 0 ? OBJECTIVE_REASON_TIMEOUT : OBJECTIVE_REASON_ABSENT);
	check(s, CONDITION_UNKNOWN, QUOTA_REASON_NO_SIGNAL,
	      "Nothing is known of 3 of 3 objectives, and nothing is done for them: b (Absent), "
	      "a, c (Timeout). Absent: Prometheus has no such series for the tenant's pods. "
	      "Timeout: Prometheus does not answer in time.");
	for (size_t i = 3; i < LIMIT_OBJECTIVES; i++)
		add_unknown(s, names[i], OBJECTIVE_REASON_SOURCE_DOWN);
	check(s, CONDITION_UNKNOWN, QUOTA_REASON_NO_SIGNAL,
	      "Nothing is known of 8 of 8 objectives, and nothing is done for them: b (Absent), "
	      "d, e, f, g, h (SourceDown), a, c (Timeout). Absent: Prometheus has no such series "
	      "for the tenant's pods. SourceDown: Prometheus does not answer. Timeout: Prometheus "
	      "does not answer in time.");
}

/* Names are as long as they may be, and stand there whole or are counted. */
static void test_what_has_no_room_is_counted(void **state)
{
	static char names[LIMIT_OBJECTIVES][LIMIT_OBJECTIVE_NAME + 1];
	struct scene *s = *state;
	const struct condition *c;

	for (size_t i = 0; i < LIMIT_OBJECTIVES; i++) {
		memset(names[i], 'a' + (int)i, LIMIT_OBJECTIVE_NAME);
		add_unknown(s, names[i], OBJECTIVE_REASON_SOURCE_DOWN);
	}
	c = decide(s);
	assert_non_null(strstr(c->message, names[3]));
	assert_null(strstr(c->message, "ee"));
	assert_non_null(strstr(c->message, "ddd (SourceDown) and 4 more."));
	for (size_t i = 0; i < LIMIT_OBJECTIVES; i++) {
		s->now[i].state = OBJECTIVE_VIOLATED;
		s->now[i].value = 350000;
	}
	c = decide(s);
	assert_non_null(strstr(c->message, "is promised and 5 more."));
	assert_non_null(strstr(c->message, names[2]));
}

static void test_a_threshold_that_nobody_can_mean_is_told(void **state)
{
	struct scene *s = *state;

	add(s, "rate", OBJECTIVE_MET, OBJECTIVE_REASON_WITHIN, 150000);
	s->specs[0].threshold = 500 * USEC_PER_SEC; /* of a query: in whatever its unit is */
	check(s, CONDITION_TRUE, QUOTA_REASON_MET, "The one objective is met.");
	add(s, "ttft", OBJECTIVE_MET, OBJECTIVE_REASON_WITHIN, 150000);
	s->specs[1].preset = PRESET_VLLM_FIRST_TOKEN;
	s->specs[1].threshold = 200 * USEC_PER_SEC;
	check(s, CONDITION_FALSE, QUOTA_REASON_THRESHOLD_TOO_HIGH,
	      "No latency comes near the threshold of 1 of 2 objectives, and a number without ms is "
	      "seconds: ttft is 200 seconds where vllm-time-to-first-token takes 60 at most.");
	add(s, "late", OBJECTIVE_MET, OBJECTIVE_REASON_WITHIN, 150000);
	s->specs[2].preset = PRESET_VLLM_FIRST_TOKEN;
	s->specs[2].threshold = 300 * USEC_PER_SEC;
	add_unknown(s, "queue", OBJECTIVE_REASON_NO_QUERY);
	check(s, CONDITION_FALSE, QUOTA_REASON_THRESHOLD_TOO_HIGH,
	      "No latency comes near the threshold of 2 of 4 objectives, and a number without ms is "
	      "seconds: ttft is 200 seconds where vllm-time-to-first-token takes 60 at most, late is "
	      "300 seconds where vllm-time-to-first-token takes 60 at most. Not known: queue "
	      "(NoQuery).");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_is_met_is_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_the_worst_is_told_first_and_nothing_is_kept_back, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_all_that_are_not_known_are_named_by_their_reasons, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_has_no_room_is_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_threshold_that_nobody_can_mean_is_told,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
