/* SPDX-License-Identifier: Apache-2.0 */
/* Each reason for which a pod is no victim, alone and in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "plan/plan.h"

#define NOW  (1000000 * USEC_PER_SEC)
#define SELF 7
#define POD  8

static struct plan_ask ask_of(void)
{
	return (struct plan_ask){
		.pod = SELF,
		.tier = TIER_INFERENCE,
		.protection = PROTECTION_DEFAULT,
		.most = 16,
		.now_us = NOW,
		.now_real_us = NOW,
	};
}

/* Of a tenant of Training, running for an hour. */
static struct cluster_victim victim_of(void)
{
	return (struct cluster_victim){
		.namespace = 3,
		.tenant = 1,
		.node = 1,
		.gang = TABLE_NONE,
		.owner = 11,
		.budget_of = TABLE_NONE,
		.tier = TIER_TRAINING,
		.started_us = NOW - 3600 * USEC_PER_SEC,
		.running = true,
		.busy = AMOUNT_UNKNOWN,
		.preemptible = PREEMPTIBLE_DEFAULT,
	};
}

static void a_pod_of_a_lower_tier_may_go(void **state)
{
	struct plan_ask ask = ask_of();
	struct cluster_victim victim = victim_of();

	(void)state;
	assert_int_equal(plan_exempt(&ask, POD, &victim), PLAN_NONE);
	victim.budget = BUDGET_ALLOWS;
	victim.running = false; /* it holds its cards all the same */
	assert_int_equal(plan_exempt(&ask, POD, &victim), PLAN_NONE);
}

/* In the order of the checks: each is told by what comes first. */
static enum plan_exemption only(enum plan_exemption expected)
{
	struct plan_ask ask = ask_of();
	struct cluster_victim victim = victim_of();
	uint32_t pod = POD;
	const struct plan_workload alone[] = {{2, 11}, {3, 10}, {3, 11}, {3, 12}};

	switch ((int)expected) {
	case PLAN_SELF:
		pod = SELF;
		break;
	case PLAN_FINISHED:
		victim.finished = true;
		break;
	case PLAN_GOING:
		victim.terminating = true;
		break;
	case PLAN_NO_TENANT:
		victim.tenant = TABLE_NONE;
		break;
	case PLAN_TIER:
		victim.tier = TIER_INFERENCE;
		break;
	case PLAN_TIER_SPARED:
		ask.protection.victim_tiers = 1u << TIER_BEST_EFFORT;
		break;
	case PLAN_DAEMON:
		victim.daemon = true;
		break;
	case PLAN_MIRROR:
		victim.mirror = true;
		break;
	case PLAN_YOUNG:
		victim.started_us = NOW - 59 * USEC_PER_SEC;
		break;
	case PLAN_BUDGET:
		victim.budget = BUDGET_FORBIDS;
		break;
	case PLAN_BUDGETS:
		victim.budget = BUDGET_SEVERAL;
		break;
	case PLAN_REFUSED:
		victim.refused = "the API server said no";
		break;
	default:
		ask.left_alone.workloads = alone;
		ask.left_alone.n_workloads = ARRAY_SIZE(alone);
	}
	return plan_exempt(&ask, pod, &victim);
}

static void each_reason_alone_exempts(void **state)
{
	(void)state;
	for (unsigned int i = PLAN_SELF; i <= PLAN_BACKED_OFF; i++) {
		assert_int_equal(only((enum plan_exemption)i), i);
		assert_true(strlen(plan_exemption_text((enum plan_exemption)i)) > 0);
	}
}

static void whom_an_open_receipt_has_go_is_going(void **state)
{
	static const uint32_t pods[] = {POD - 1, POD, POD + 7};
	struct plan_ask ask = ask_of();
	struct cluster_victim victim = victim_of();

	(void)state;
	ask.left_alone = (struct plan_left_alone){.pods = pods, .n_pods = ARRAY_SIZE(pods)};
	assert_int_equal(plan_exempt(&ask, POD, &victim), PLAN_GOING);
	assert_int_equal(plan_exempt(&ask, POD + 1, &victim), PLAN_NONE);
}

static void the_first_reason_is_told(void **state)
{
	struct plan_ask ask = ask_of();
	struct cluster_victim victim = victim_of();

	(void)state;
	victim.budget = BUDGET_FORBIDS;
	victim.refused = "no";
	victim.started_us = NOW;
	assert_int_equal(plan_exempt(&ask, POD, &victim), PLAN_YOUNG);
	victim.daemon = true;
	assert_int_equal(plan_exempt(&ask, POD, &victim), PLAN_DAEMON);
	victim.tier = TIER_INFERENCE;
	assert_int_equal(plan_exempt(&ask, POD, &victim), PLAN_TIER);
}

static void the_longer_minimum_run_counts(void **state)
{
	struct plan_ask ask = ask_of();
	struct cluster_victim victim = victim_of();

	(void)state;
	victim.started_us = NOW - 100 * USEC_PER_SEC;
	assert_int_equal(plan_exempt(&ask, POD, &victim), PLAN_NONE);
	victim.preemptible.min_run_us = 101 * USEC_PER_SEC;
	assert_int_equal(plan_exempt(&ask, POD, &victim), PLAN_YOUNG);
	victim.preemptible.min_run_us = 0;
	ask.protection.min_run_us = 100 * USEC_PER_SEC;
	assert_int_equal(plan_exempt(&ask, POD, &victim), PLAN_NONE);
	ask.protection.min_run_us++;
	assert_int_equal(plan_exempt(&ask, POD, &victim), PLAN_YOUNG);
	victim.started_us = NOW + 100 * USEC_PER_SEC; /* clocks differ */
	assert_int_equal(plan_exempt(&ask, POD, &victim), PLAN_YOUNG);
}

static void best_effort_gives_way_to_training(void **state)
{
	struct plan_ask ask = ask_of();
	struct cluster_victim victim = victim_of();

	(void)state;
	ask.tier = TIER_TRAINING;
	assert_int_equal(plan_exempt(&ask, POD, &victim), PLAN_TIER);
	victim.tier = TIER_BEST_EFFORT;
	assert_int_equal(plan_exempt(&ask, POD, &victim), PLAN_NONE);
	ask.tier = TIER_BEST_EFFORT;
	assert_int_equal(plan_exempt(&ask, POD, &victim), PLAN_TIER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_of_a_lower_tier_may_go),
		cmocka_unit_test(each_reason_alone_exempts),
		cmocka_unit_test(whom_an_open_receipt_has_go_is_going),
		cmocka_unit_test(the_first_reason_is_told),
		cmocka_unit_test(the_longer_minimum_run_counts),
		cmocka_unit_test(best_effort_gives_way_to_training),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
