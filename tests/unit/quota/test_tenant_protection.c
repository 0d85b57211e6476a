/* SPDX-License-Identifier: Apache-2.0 */
/* Condition Unprotected: what a protection is good for, by what else the spec has. */
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

#define TEXT(literal)                          \
	{                                      \
		(literal), sizeof(literal) - 1 \
	}

#define BIT(tier) (1U << TIER_##tier)
#define EVERY     UINT32_MAX
#define WAITS     (60 * USEC_PER_SEC)

static const struct objective_spec ttft = {.name = TEXT("ttft"), .threshold = 200000};

static const struct row {
	const char *name;
	enum tenant_tier tier;
	enum protection_mode mode;
	uint32_t victims;
	int64_t pending_us;
	size_t objectives;
	enum topology_mismatch mismatch;
	const char *unhelped;
	enum condition_status status;
	enum quota_reason reason;
	const char *says;
} rows[] = {
	{"without protection nothing is asked", TIER_INFERENCE, PROTECTION_OFF, EVERY, WAITS, 0,
	 MISMATCH_ALERT, "", CONDITION_FALSE, QUOTA_REASON_NOT_ASKED, "has no protection"},
	{"protection for nothing has no effect", TIER_INFERENCE, PROTECTION_ENFORCE, EVERY,
	 AMOUNT_NONE, 0, MISMATCH_ALERT, "", CONDITION_FALSE, QUOTA_REASON_NOT_ASKED,
	 "without any of pendingSeconds"},
	{"for pods that wait it has", TIER_INFERENCE, PROTECTION_ENFORCE, EVERY, WAITS, 0,
	 MISMATCH_ALERT, "", CONDITION_FALSE, QUOTA_REASON_AS_ASKED, "there is none"},
	{"for objectives it has", TIER_INFERENCE, PROTECTION_DRY_RUN, EVERY, AMOUNT_NONE, 1,
	 MISMATCH_ALERT, "", CONDITION_FALSE, QUOTA_REASON_AS_ASKED, "there is none"},
	{"for pods that are moved it has", TIER_INFERENCE, PROTECTION_ENFORCE, EVERY, AMOUNT_NONE,
	 0, MISMATCH_MIGRATE, "", CONDITION_FALSE, QUOTA_REASON_AS_ASKED, "there is none"},
	{"no tier is lower than the lowest", TIER_BEST_EFFORT, PROTECTION_ENFORCE, EVERY, WAITS, 0,
	 MISMATCH_ALERT, "", CONDITION_FALSE, QUOTA_REASON_NOT_ASKED, "its tier is BestEffort"},
	{"its own pods are moved in the lowest, too", TIER_BEST_EFFORT, PROTECTION_ENFORCE, EVERY,
	 WAITS, 0, MISMATCH_MIGRATE, "", CONDITION_FALSE, QUOTA_REASON_AS_ASKED, "there is none"},
	{"victimTiers of its own tier are not lower", TIER_TRAINING, PROTECTION_ENFORCE,
	 BIT(TRAINING), WAITS, 0, MISMATCH_ALERT, "", CONDITION_FALSE, QUOTA_REASON_NOT_ASKED,
	 "its tier is Training, and pods of no lower one"},
	{"the lowest tier is lower than the middle one", TIER_TRAINING, PROTECTION_ENFORCE,
	 BIT(BEST_EFFORT), WAITS, 0, MISMATCH_ALERT, "", CONDITION_FALSE, QUOTA_REASON_AS_ASKED,
	 "there is none"},
	{"who waits in vain is told of first", TIER_BEST_EFFORT, PROTECTION_ENFORCE, EVERY, WAITS,
	 0, MISMATCH_ALERT, "Pod a/b waits.", CONDITION_TRUE, QUOTA_REASON_NOBODY_MAY_GO,
	 "Pod a/b waits."},
};

static const struct condition *decide(const struct row *row, struct arena *arena,
				      struct tenant_plan *plan)
{
	struct objective_status seen = {.name = TEXT("ttft")};
	const struct tenant_facts facts = {
		.name = STR("chat"),
		.uid = STR("uid-1"),
		.generation = 1,
		.spec = {.tier = row->tier,
			 .ceiling = AMOUNT_NONE,
			 .ceiling_gpus = AMOUNT_NONE,
			 .topology = {TOPOLOGY_REQUIRED, LAYOUT_NUMA, row->mismatch},
			 .protection = {.mode = row->mode, .victim_tiers = row->victims},
			 .objectives = &ttft,
			 .n_objectives = row->objectives,
			 .pending_us = row->pending_us},
	};
	const struct tenant_plan_view view = {
		.facts = &facts,
		.objectives = &seen,
		.n_objectives = row->objectives,
		.unhelped = str_from(row->unhelped),
		.now_real_us = 1700000000 * USEC_PER_SEC,
	};
	struct error err;

	assert_int_equal(tenant_plan_decide(&view, arena, plan, &err), 0);
	return &plan->status.conditions[TENANT_UNPROTECTED];
}

static void test_unprotected_says_what_protection_is_good_for(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tenant_plan plan;
		struct arena arena;
		const struct condition *c;

		arena_init(&arena, 1 << 20);
		c = decide(&rows[i], &arena, &plan);
		if (c->status != rows[i].status || c->reason != rows[i].reason ||
		    !strstr(c->message, rows[i].says))
			fail_msg("%s: %s, %s", rows[i].name, quota_reason_text(c->reason),
				 c->message);
		arena_clear(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unprotected_says_what_protection_is_good_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
