/* SPDX-License-Identifier: Apache-2.0 */
/* What a namespace of a tenant gets: the grant, the ceiling's refusals, and where it has no quota.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "unit/quota/world.h"

struct verdict {
	enum condition_status status;
	enum quota_reason reason;
	const char *words; /* in the message, or NULL */
};

static const struct grant_case {
	const char *name;
	struct tenant_grant grant;
	int64_t effective;
	struct verdict accepted, ready; /* when the server has all that was written */
} grants[] = {
	{"granted in full",
	 {.granted = 320 * GIB, .granted_gpus = 21, .effective_gpus = 21, .effective = 320 * GIB},
	 320 * GIB,
	 {CONDITION_TRUE, QUOTA_REASON_ACCEPTED, NULL},
	 {CONDITION_TRUE, QUOTA_REASON_ENFORCED, "320Gi"}},
	{"granted, some of it lent",
	 {.granted = 320 * GIB,
	  .granted_gpus = 21,
	  .effective_gpus = 21,
	  .lent = 64 * GIB,
	  .effective = 256 * GIB},
	 256 * GIB,
	 {CONDITION_TRUE, QUOTA_REASON_ACCEPTED, NULL},
	 {CONDITION_TRUE, QUOTA_REASON_ENFORCED, "64Gi of what is granted are lent"}},
	{"granted, and some borrowed",
	 {.granted = 320 * GIB,
	  .granted_gpus = 21,
	  .effective_gpus = 21,
	  .borrowed = 64 * GIB,
	  .effective = 384 * GIB},
	 384 * GIB,
	 {CONDITION_TRUE, QUOTA_REASON_ACCEPTED, NULL},
	 {CONDITION_TRUE, QUOTA_REASON_ENFORCED, "64Gi of it borrowed"}},
	{"granted, but others still hold it",
	 {.outcome = GRANT_WAITS,
	  .granted = 320 * GIB,
	  .granted_gpus = 21,
	  .effective_gpus = 21,
	  .effective = 200 * GIB},
	 200 * GIB,
	 {CONDITION_TRUE, QUOTA_REASON_ACCEPTED, NULL},
	 {CONDITION_FALSE, QUOTA_REASON_PENDING, "waits for 120Gi to be let go by siblings"}},
	{"granted, but others still hold the cards",
	 {.outcome = GRANT_WAITS,
	  .granted = 320 * GIB,
	  .granted_gpus = 21,
	  .effective_gpus = 21,
	  .effective = 320 * GIB},
	 320 * GIB,
	 {CONDITION_TRUE, QUOTA_REASON_ACCEPTED, NULL},
	 {CONDITION_FALSE, QUOTA_REASON_PENDING, "waits for whole GPUs"}},
	{"refused, with what stays granted",
	 {.outcome = GRANT_NO_ROOM,
	  .granted = 256 * GIB,
	  .granted_gpus = 17,
	  .effective_gpus = 17,
	  .effective = 256 * GIB,
	  .missing = 64 * GIB},
	 256 * GIB,
	 {CONDITION_FALSE, QUOTA_REASON_CEILING_EXCEEDED, "64Gi are missing; 256Gi stay granted."},
	 {CONDITION_TRUE, QUOTA_REASON_ENFORCED, "256Gi"}},
	{"refused for its cards",
	 {.outcome = GRANT_NO_ROOM,
	  .granted = 256 * GIB,
	  .effective = 256 * GIB,
	  .missing_gpus = 3},
	 256 * GIB,
	 {CONDITION_FALSE, QUOTA_REASON_CEILING_EXCEEDED, ": 3 whole GPUs are missing"},
	 {CONDITION_TRUE, QUOTA_REASON_ENFORCED, "256Gi"}},
	{"refused for a single card",
	 {.outcome = GRANT_NO_ROOM,
	  .granted = 256 * GIB,
	  .effective = 256 * GIB,
	  .missing_gpus = 1},
	 256 * GIB,
	 {CONDITION_FALSE, QUOTA_REASON_CEILING_EXCEEDED, ": 1 whole GPU is missing"},
	 {CONDITION_TRUE, QUOTA_REASON_ENFORCED, "256Gi"}},
	{"refused for both, with nothing granted",
	 {.outcome = GRANT_NO_ROOM, .missing = 64 * GIB, .missing_gpus = 3},
	 0,
	 {CONDITION_FALSE, QUOTA_REASON_CEILING_EXCEEDED,
	  "64Gi and 3 whole GPUs are missing; nothing is granted."},
	 {CONDITION_FALSE, QUOTA_REASON_NOT_ACCEPTED, NULL}},
	{"not decided yet",
	 {0},
	 0,
	 {CONDITION_UNKNOWN, QUOTA_REASON_PENDING, "has not decided yet"},
	 {CONDITION_FALSE, QUOTA_REASON_PENDING, NULL}},
};

static void assert_verdict(const struct world *w, enum quota_condition which,
			   const struct verdict *verdict)
{
	assert_condition(w, which, verdict->status, verdict->reason);
	if (verdict->words)
		assert_says(w, which, verdict->words);
}

static void test_the_grant_is_what_holds(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(grants); i++) {
		const struct grant_case *c = &grants[i];

		print_message("%s\n", c->name);
		world_teardown(state);
		world_setup(state);
		w->share.grant = c->grant;
		w->view.share = &w->share;
		for (int k = 0; k < 3; k++) {
			world_decide(w);
			world_assert_sane(w);
			if (k == 0)
				assert_true(w->plan.governs && w->plan.write_resource_quota);
			world_settle(w);
		}
		assert_int_equal(w->plan.status.effective, c->effective);
		assert_int_equal(w->plan.status.granted, c->grant.granted);
		assert_int_equal(w->plan.status.lent, c->grant.lent);
		assert_int_equal(w->plan.status.borrowed, c->grant.borrowed);
		assert_true(str_equal(w->plan.status.tenant, STR("acme")));
		assert_int_equal(world_row(w, "nvidia.com/gpu", "NVIDIA-H100")->hard,
				 c->effective / (80 * GIB));
		assert_verdict(w, QUOTA_ACCEPTED, &c->accepted);
		assert_verdict(w, QUOTA_READY, &c->ready);
		world_converge(w);
	}
}

static void test_without_a_tenant_all_is_granted(void **state)
{
	struct world *w = *state;

	world_converge(w);
	assert_int_equal(w->plan.status.granted, 320 * GIB);
	assert_true(str_empty(w->plan.status.tenant));
}

static void test_the_fewer_of_the_specs_and_the_grants_cards_bound_hard_values(void **state)
{
	static const struct {
		int64_t spec, grant;
		bool any;
		int64_t hard;
	} cases[] = {
		{AMOUNT_NONE, 2, false, 2}, {4, 2, false, 2},           {2, 4, false, 2},
		{AMOUNT_NONE, 2, true, 21}, {4, AMOUNT_NONE, false, 4}, {4, 2, true, 4},
		{AMOUNT_NONE, 0, false, 0},
	};
	struct world *w = *state;

	w->view.share = &w->share;
	w->share.grant = (struct tenant_grant){.granted = 320 * GIB, .effective = 320 * GIB};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		w->spec.gpus = cases[i].spec;
		w->share.grant.granted_gpus = w->share.grant.effective_gpus = cases[i].grant;
		w->share.any_gpus = cases[i].any;
		world_decide(w);
		assert_int_equal(world_hard(w, "nvidia.com/gpu"), cases[i].hard);
		assert_int_equal(world_hard(w, "nvidia.com/mig-1g.10gb"), 32);
	}
}

static void test_after_a_restart_all_stays_until_the_tenant_decides(void **state)
{
	struct world *w = *state;
	const struct quota_status *before;

	w->view.share = &w->share;
	w->share.grant = (struct tenant_grant){.granted = 320 * GIB, .effective = 400 * GIB};
	world_converge(w);
	before = w->view.status;
	w->share.grant = (struct tenant_grant){0};
	w->view.used = 999 * GIB;
	w->spec.gpu_memory = GIB;
	w->view.resource_quota.exists = false;
	world_decide(w);
	assert_true(w->plan.governs);
	assert_false(w->plan.write_resource_quota || w->plan.write_status ||
		     w->plan.status_urgent || w->plan.needs_holders);
	assert_true(quota_status_equal(&w->plan.status, before));
	w->share.tenant = STR("another");
	world_decide(w);
	assert_true(w->plan.write_resource_quota && w->plan.write_status);
	assert_int_equal(w->plan.status.effective, 0);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_UNKNOWN, QUOTA_REASON_NOT_ACCEPTED);
}

static void test_an_invalid_spec_allows_nothing_and_tells_the_books(void **state)
{
	struct world *w = *state;

	w->view.share = &w->share;
	w->view.invalid = "gpuMemory is not a quantity";
	w->share.grant = (struct tenant_grant){.lent = GIB, .effective = 5 * GIB};
	world_converge(w);
	assert_int_equal(w->plan.status.effective, 0);
	assert_int_equal(w->plan.status.lent, GIB);
	assert_condition(w, QUOTA_ACCEPTED, CONDITION_FALSE, QUOTA_REASON_INVALID);
}

static void test_what_a_tenant_gives_is_urgent_news(void **state)
{
	struct world *w = *state;

	w->view.share = &w->share;
	w->share.grant = (struct tenant_grant){.granted = 320 * GIB, .effective = 320 * GIB};
	world_converge(w);
	w->share.tenant = STR("another");
	world_decide(w);
	assert_true(w->plan.status_urgent);
	world_converge(w);
	w->share.grant.granted = 321 * GIB;
	world_decide(w);
	assert_true(w->plan.status_urgent);
	world_converge(w);
	w->view.released = GIB;
	w->view.released_pods = 1;
	world_decide(w);
	assert_true(w->plan.write_status);
	assert_false(w->plan.status_urgent);
	assert_int_equal(w->plan.status.released, GIB);
	assert_int_equal(w->plan.status.released_pods, 1);
	world_converge(w);
}

static void decide_bare(struct world *w)
{
	assert_int_equal(quota_decide_bare(&w->view, &w->arena, &w->plan, NULL), 0);
}

static void test_a_namespace_without_a_quota_gets_no_gpu(void **state)
{
	struct world *w = *state;

	w->view.spec = NULL;
	w->view.share = &w->share;
	w->view.limit_range.exists = w->view.limit_range.ours = true;
	decide_bare(w);
	assert_true(w->plan.governs && w->plan.write_resource_quota && w->plan.delete_limit_range);
	assert_false(w->plan.write_status || w->plan.needs_holders);
	assert_int_equal(w->plan.n_hard, 3);
	for (size_t i = 0; i < w->plan.n_hard; i++)
		assert_int_equal(w->plan.hard[i].count, 0);
	world_settle(w);
	decide_bare(w);
	assert_false(w->plan.write_resource_quota || w->plan.delete_limit_range ||
		     w->plan.delete_resource_quota);
	w->view.resource_quota.ours = false;
	decide_bare(w);
	assert_true(w->plan.write_resource_quota);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_grant_is_what_holds),
		TEST(test_without_a_tenant_all_is_granted),
		TEST(test_the_fewer_of_the_specs_and_the_grants_cards_bound_hard_values),
		TEST(test_after_a_restart_all_stays_until_the_tenant_decides),
		TEST(test_an_invalid_spec_allows_nothing_and_tells_the_books),
		TEST(test_what_a_tenant_gives_is_urgent_news),
		TEST(test_a_namespace_without_a_quota_gets_no_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
