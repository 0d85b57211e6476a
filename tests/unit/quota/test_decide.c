/* SPDX-License-Identifier: Apache-2.0 */
/* What a GpuMemoryQuota means, case by case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/macros.h"
#include "model/resource.h"
#include "unit/quota/world.h"

static void test_hard_values_follow_the_smallest_unit(void **state)
{
	struct world *w = *state;

	world_decide(w);
	world_assert_sane(w);
	assert_true(w->plan.governs && w->plan.write_resource_quota && w->plan.write_status);
	assert_int_equal(w->plan.n_hard, 3);
	assert_int_equal(world_hard(w, "nvidia.com/gpu"), 320 / 15);
	assert_int_equal(world_hard(w, "nvidia.com/mig-1g.10gb"), 32);
	assert_int_equal(world_hard(w, "amd.com/gpu"), 0);
	assert_int_equal(world_row(w, "nvidia.com/gpu", "NVIDIA-H100")->hard, 4);
	assert_int_equal(world_row(w, "nvidia.com/gpu", "Tesla-T4")->hard, 21);
	assert_int_equal(world_row(w, "amd.com/gpu", "")->unit_memory, AMOUNT_UNKNOWN);
	assert_int_equal(w->plan.status.observed_generation, 3);
	assert_int_equal(w->plan.status.effective, 320 * GIB);
}

static void test_caps_bound_hard_values(void **state)
{
	const struct resource_amount caps[] = {{STR("nvidia.com/mig-1g.10gb"), 7},
					       {STR("nvidia.com/gpu"), 100}};
	struct world *w = *state;

	w->spec.caps = caps;
	w->spec.n_caps = ARRAY_SIZE(caps);
	w->spec.gpus = 2;
	world_decide(w);
	assert_int_equal(world_hard(w, "nvidia.com/gpu"), 2);
	assert_int_equal(world_hard(w, "nvidia.com/mig-1g.10gb"), 7);
	assert_int_equal(world_row(w, "nvidia.com/gpu", "Tesla-T4")->hard, 2);
	assert_int_equal(world_row(w, "nvidia.com/mig-1g.10gb", "NVIDIA-A100")->hard, 7);
}

static void test_a_cap_on_what_nobody_has_is_named(void **state)
{
	const struct resource_amount caps[] = {{STR("nvidia.com/gpu"), 100},
					       {STR("nvidia.com/mig-1g.10gbb"), 7}};
	const struct product_cap products[] = {{STR("NVIDIA-H100"), 80 * GIB, AMOUNT_NONE},
					       {STR("h100"), 80 * GIB, AMOUNT_NONE}};
	struct world *w = *state;

	w->spec.caps = caps;
	w->spec.n_caps = 1;
	w->spec.products = products;
	w->spec.n_products = 1;
	world_decide(w);
	assert_condition(w, QUOTA_ACCEPTED, CONDITION_TRUE, QUOTA_REASON_ACCEPTED);
	assert_null(strstr(w->plan.status.conditions[QUOTA_ACCEPTED].message, "nothing now"));
	w->spec.n_caps = 2;
	w->spec.n_products = 2;
	world_decide(w);
	assert_says(w, QUOTA_ACCEPTED, "No node offers nvidia.com/mig-1g.10gbb");
	assert_says(w, QUOTA_ACCEPTED, "No node has cards of product h100");
}

static void test_gpus_does_not_bound_a_resource_that_is_shared_somewhere(void **state)
{
	struct price_row mixed[] = {{GPU, H100, 80 * GIB, 80 * GIB, DEVICE_WHOLE, 2, 0, 0},
				    {GPU, T4, 5 * GIB, 5 * GIB, DEVICE_TIME_SLICED, 2, 0, 0}};
	struct world *w = *state;

	w->view.prices = (struct price_list){mixed, 2};
	w->spec.gpus = 2;
	world_decide(w);
	assert_int_equal(world_hard(w, "nvidia.com/gpu"), 64);
	assert_int_equal(world_row(w, "nvidia.com/gpu", "NVIDIA-H100")->hard, 2);
	assert_int_equal(world_row(w, "nvidia.com/gpu", "Tesla-T4")->hard, 64);
}

static void test_ready_waits_for_the_status_of_the_resource_quota(void **state)
{
	struct world *w = *state;

	world_decide(w);
	assert_condition(w, QUOTA_READY, CONDITION_FALSE, QUOTA_REASON_PENDING);
	assert_int_equal(w->plan.look_again_us, TIME_NEVER);
	world_settle(w);
	w->view.resource_quota.n_status_hard = 0;
	w->view.resource_quota.differs_since_us = w->view.now_us - 10 * USEC_PER_SEC;
	world_decide(w);
	assert_condition(w, QUOTA_READY, CONDITION_FALSE, QUOTA_REASON_PENDING);
	assert_int_equal(w->plan.look_again_us, w->view.now_us + 50 * USEC_PER_SEC);
	w->view.now_us += 50 * USEC_PER_SEC;
	world_decide(w);
	assert_condition(w, QUOTA_READY, CONDITION_FALSE, QUOTA_REASON_STATUS_STALE);
	assert_int_equal(w->plan.look_again_us, TIME_NEVER);
	assert_true(w->plan.write_status && w->plan.status_urgent);
	assert_false(w->plan.write_resource_quota);
	world_converge(w);
	assert_condition(w, QUOTA_READY, CONDITION_TRUE, QUOTA_REASON_ENFORCED);
	assert_condition(w, QUOTA_ACCEPTED, CONDITION_TRUE, QUOTA_REASON_ACCEPTED);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_FALSE, QUOTA_REASON_WITHIN_LIMIT);
	assert_condition(w, QUOTA_DRIFTED, CONDITION_FALSE, QUOTA_REASON_IN_SYNC);
	assert_condition(w, QUOTA_THROTTLED, CONDITION_FALSE, QUOTA_REASON_NOT_THROTTLED);
}

static void test_a_resource_quota_of_another_owner_or_value_is_written(void **state)
{
	struct resource_amount more[] = {{STR("amd.com/gpu"), 0},
					 {STR("nvidia.com/gpu"), 1000},
					 {STR("nvidia.com/mig-1g.10gb"), 32}};
	struct world *w = *state;

	world_converge(w);
	w->view.resource_quota.ours = false;
	world_decide(w);
	assert_true(w->plan.write_resource_quota);
	w->view.resource_quota.ours = true;
	w->view.resource_quota.hard = more;
	world_decide(w);
	assert_true(w->plan.write_resource_quota);
}

static void test_what_was_never_answered_is_written_again(void **state)
{
	struct world *w = *state;

	world_converge(w);
	w->view.resource_quota.unanswered = true;
	world_decide(w);
	assert_true(w->plan.write_resource_quota);
	assert_condition(w, QUOTA_READY, CONDITION_FALSE, QUOTA_REASON_PENDING);
	w->view.resource_quota.unanswered = false;
	w->view.unanswered = true;
	world_decide(w);
	assert_true(w->plan.write_status && w->plan.status_urgent);
	assert_false(w->plan.write_resource_quota);
}

/* What admission goes by is the status that the server has. */
static void test_pods_are_priced_from_when_the_status_is_there(void **state)
{
	struct world *w = *state;

	world_decide(w);
	assert_true(w->plan.governs && !w->plan.priced);
	world_settle(w);
	world_decide(w);
	assert_true(w->plan.priced);
	w->view.quotaless = true;
	w->view.resource_quota.n_status_hard = 0;
	world_decide(w);
	assert_false(w->plan.priced);
	w->view.quotaless = false;
	world_decide(w);
	assert_true(w->plan.priced);
	w->view.invalid = "it is";
	world_decide(w);
	assert_true(w->plan.priced);
	w->view.invalid = NULL;
	w->view.duplicate = true;
	world_decide(w);
	assert_false(w->plan.priced);
	world_settle(w);
	w->view.duplicate = false;
	world_decide(w);
	assert_false(w->plan.priced);
	w->spec.dry_run = true;
	world_decide(w);
	assert_true(w->plan.priced);
}

/* The last node that offers it may be back at any time. */
static void test_what_was_counted_once_is_counted_on_at_nothing(void **state)
{
	struct world *w = *state;

	world_converge(w);
	assert_true(world_hard(w, "nvidia.com/mig-1g.10gb") > 0);
	w->view.managed = true;
	w->view.prices.n_rows = 0;
	world_decide(w);
	assert_int_equal(world_hard(w, "nvidia.com/mig-1g.10gb"), 0);
	assert_int_equal(world_hard(w, "nvidia.com/gpu"), 0);
	assert_false(w->plan.replace_resource_quota);
	world_converge(w);
	assert_int_equal(world_hard(w, "nvidia.com/gpu"), 0);
}

static void test_a_class_that_is_charged_otherwise_has_no_key_of_its_own(void **state)
{
	static const char *const key = "nic.example.com" RESOURCE_CLASS_SUFFIX;
	const struct quota_class nic = {STR("nic.example.com"), STR("")};
	struct resource_amount hard[] = {{str_from(key), 0}, {STR("nvidia.com/gpu"), 4}};
	struct world *w = *state;

	world_converge(w);
	w->view.managed = true;
	w->view.resource_quota.hard = hard;
	w->view.resource_quota.n_hard = ARRAY_SIZE(hard);
	world_decide(w);
	assert_int_equal(world_hard(w, key), 0);
	w->view.classes = (struct quota_classes){.list = &nic, .n = 1};
	world_decide(w);
	assert_int_equal(world_hard(w, key), -1);
	assert_true(w->plan.replace_resource_quota);
}

static void test_a_change_of_use_alone_is_not_urgent(void **state)
{
	const struct quota_use use = {GPU, H100, 1, 1, 80 * GIB};
	struct world *w = *state;

	world_converge(w);
	w->view.uses = &use;
	w->view.n_uses = 1;
	w->view.used = w->view.live = 80 * GIB;
	w->view.pods = 1;
	world_decide(w);
	assert_true(w->plan.write_status);
	assert_false(w->plan.status_urgent || w->plan.write_resource_quota);
	assert_int_equal(w->plan.status.used_percent, 25);
	assert_int_equal(w->plan.status.gpus_used, 1);
	assert_int_equal(world_row(w, "nvidia.com/gpu", "NVIDIA-H100")->used, 1);
	world_converge(w);
	w->view.used = 400 * GIB;
	world_decide(w);
	assert_true(w->plan.status_urgent);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT);
	assert_non_null(strstr(w->plan.status.conditions[QUOTA_EXCEEDED].message, "400Gi"));
	assert_non_null(strstr(w->plan.status.conditions[QUOTA_EXCEEDED].message, "320Gi"));
	world_converge(w);
	w->view.used = 480 * GIB;
	world_decide(w);
	assert_true(w->plan.write_status);
	assert_false(w->plan.status_urgent);
}

static void test_percent_is_rounded_up_and_bounded(void **state)
{
	static const struct {
		int64_t used, effective, percent;
	} cases[] = {
		{0, 320 * GIB, 0},
		{1, 320 * GIB, 1},
		{320 * GIB - 1, 320 * GIB, 100},
		{320 * GIB, 320 * GIB, 100},
		{320 * GIB + 1, 320 * GIB, 101},
		{99 * GIB, GIB, 9900},
		{100 * GIB, GIB, QUOTA_PERCENT_MOST},
		{INT64_MAX, GIB, QUOTA_PERCENT_MOST},
		{INT64_MAX, INT64_MAX, 100},
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		w->spec.gpu_memory = cases[i].effective;
		w->view.used = cases[i].used;
		world_decide(w);
		assert_int_equal(w->plan.status.used_percent, cases[i].percent);
	}
}

static void test_more_whole_gpus_or_units_than_allowed_is_over_limit(void **state)
{
	const struct resource_amount caps[] = {{STR("nvidia.com/mig-1g.10gb"), 2}};
	const struct quota_use uses[] = {{GPU, T4, 3, 0, 45 * GIB}, {MIG, A100, 3, 3, 30 * GIB}};
	struct world *w = *state;

	w->view.uses = uses;
	w->view.n_uses = 2;
	w->view.used = 75 * GIB;
	w->spec.gpus = 2;
	world_decide(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT);
	assert_int_equal(w->plan.status.gpus_used, 3);
	w->spec.gpus = 3;
	world_decide(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_FALSE, QUOTA_REASON_WITHIN_LIMIT);
	w->spec.caps = caps;
	w->spec.n_caps = 1;
	world_decide(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT);
	world_assert_sane(w);
}

static void test_unknown_memory_in_use_is_said(void **state)
{
	struct world *w = *state;

	w->view.unpriced = 2;
	w->view.used = 320 * GIB;
	world_decide(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_UNKNOWN, QUOTA_REASON_UNKNOWN_MEMORY);
	world_assert_sane(w);
	w->view.used = 321 * GIB;
	world_decide(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT);
}

static void test_a_duplicate_writes_status_only(void **state)
{
	struct world *w = *state;

	w->view.duplicate = true;
	w->view.governing = STR("older");
	w->view.used = 80 * GIB;
	world_decide(w);
	world_assert_sane(w);
	assert_false(w->plan.governs || w->plan.write_resource_quota || w->plan.write_limit_range);
	assert_true(w->plan.write_status);
	assert_int_equal(w->plan.status.effective, 0);
	assert_int_equal(w->plan.status.used, 0);
	assert_int_equal(w->plan.status.n_rows, 0);
	assert_condition(w, QUOTA_ACCEPTED, CONDITION_FALSE, QUOTA_REASON_DUPLICATE);
	assert_condition(w, QUOTA_READY, CONDITION_FALSE, QUOTA_REASON_NOT_ACCEPTED);
	assert_non_null(strstr(w->plan.status.conditions[QUOTA_ACCEPTED].message, "older"));
	world_converge(w);
}

static void test_a_terminating_quota_governs_no_more(void **state)
{
	struct world *w = *state;

	w->view.terminating = true;
	world_decide(w);
	world_assert_sane(w);
	assert_false(w->plan.governs || w->plan.write_resource_quota);
	assert_condition(w, QUOTA_ACCEPTED, CONDITION_FALSE, QUOTA_REASON_TERMINATING);
	w->view.governing = STR("younger");
	world_decide(w);
	world_assert_sane(w);
	assert_non_null(strstr(w->plan.status.conditions[QUOTA_ACCEPTED].message, "younger"));
}

static void test_an_invalid_quota_that_governs_allows_nothing(void **state)
{
	struct world *w = *state;

	w->view.invalid = "gpuMemory is not a quantity";
	w->view.used = GIB;
	world_decide(w);
	world_assert_sane(w);
	assert_true(w->plan.governs && w->plan.write_resource_quota);
	assert_int_equal(w->plan.n_hard, 3);
	for (size_t i = 0; i < w->plan.n_hard; i++)
		assert_int_equal(w->plan.hard[i].count, 0);
	assert_int_equal(w->plan.status.effective, 0);
	assert_int_equal(w->plan.status.used_percent, QUOTA_PERCENT_MOST);
	assert_condition(w, QUOTA_ACCEPTED, CONDITION_FALSE, QUOTA_REASON_INVALID);
	assert_condition(w, QUOTA_READY, CONDITION_FALSE, QUOTA_REASON_NOT_ACCEPTED);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT);
	world_converge(w);
}

static void test_defaults_become_a_limit_range_only_when_asked_for(void **state)
{
	const struct resource_amount defaults[] = {{STR("nvidia.com/mig-1g.10gb"), 1},
						   {STR("nvidia.com/gpu"), 1}};
	struct world *w = *state;

	world_decide(w);
	assert_false(w->plan.write_limit_range || w->plan.delete_limit_range);
	w->spec.defaults = defaults;
	w->spec.n_defaults = 2;
	world_decide(w);
	assert_true(w->plan.write_limit_range);
	assert_string_equal(w->plan.defaults[0].resource.data, "nvidia.com/gpu");
	assert_non_null(
		strstr(w->plan.status.conditions[QUOTA_ACCEPTED].message, "every container"));
	world_converge(w);
	w->view.limit_range.other_limits = true;
	world_decide(w);
	assert_true(w->plan.write_limit_range);
	world_converge(w);
	w->spec.n_defaults = 0;
	world_decide(w);
	assert_true(w->plan.delete_limit_range);
	w->view.limit_range.ours = false;
	w->view.managed = true;
	world_decide(w);
	assert_false(w->plan.delete_limit_range || w->plan.write_limit_range);
	w->view.limit_range.owned = true;
	world_decide(w);
	assert_true(w->plan.delete_limit_range);
}

static void test_other_writers_and_wrong_sums_are_named(void **state)
{
	struct world *w = *state;

	world_converge(w);
	w->view.resource_quota.foreign_manager = STR("kubectl-edit");
	world_decide(w);
	world_assert_sane(w);
	assert_condition(w, QUOTA_DRIFTED, CONDITION_TRUE, QUOTA_REASON_FOREIGN_WRITER);
	assert_non_null(strstr(w->plan.status.conditions[QUOTA_DRIFTED].message, "kubectl-edit"));
	w->view.recount_drift = 80 * GIB;
	world_decide(w);
	world_assert_sane(w);
	assert_condition(w, QUOTA_DRIFTED, CONDITION_TRUE, QUOTA_REASON_LEDGER_DIFFERS);
	w->view.recount_drift = 0;
	w->view.resource_quota.foreign_manager = STR_NONE;
	w->view.resource_quota.other_keys = true;
	world_decide(w);
	assert_condition(w, QUOTA_DRIFTED, CONDITION_TRUE, QUOTA_REASON_FOREIGN_WRITER);
	assert_true(w->plan.write_resource_quota);
	assert_true(w->plan.replace_resource_quota);
	assert_false(w->plan.remake_resource_quota);
	w->view.resource_quota.other_keys = false;
	w->view.resource_quota.scoped = true;
	world_decide(w);
	assert_true(w->plan.write_resource_quota);
	assert_true(w->plan.remake_resource_quota);
	assert_condition(w, QUOTA_READY, CONDITION_FALSE, QUOTA_REASON_PENDING);
	w->view.resource_quota.scoped = false;
	w->view.limit_range.exists = true;
	w->view.limit_range.foreign_manager = STR("kubectl-edit");
	world_decide(w);
	assert_condition(w, QUOTA_DRIFTED, CONDITION_FALSE, QUOTA_REASON_IN_SYNC);
}

static void test_another_writer_stays_named_for_a_while(void **state)
{
	struct world *w = *state;
	struct quota_status shown;

	world_converge(w);
	w->view.resource_quota.foreign_manager = STR("kubectl-edit");
	world_decide(w);
	shown = w->plan.status;
	w->view.status = &shown;
	w->view.resource_quota.foreign_manager = STR_NONE;
	w->view.now_us += 10 * USEC_PER_SEC;
	w->view.now_real_us += 10 * USEC_PER_SEC;
	world_decide(w);
	assert_condition(w, QUOTA_DRIFTED, CONDITION_TRUE, QUOTA_REASON_FOREIGN_WRITER);
	assert_non_null(strstr(w->plan.status.conditions[QUOTA_DRIFTED].message, "kubectl-edit"));
	assert_true(w->plan.look_again_us <= w->view.now_us + QUOTA_DRIFT_SHOWN_US);
	w->view.now_real_us += QUOTA_DRIFT_SHOWN_US;
	world_decide(w);
	assert_condition(w, QUOTA_DRIFTED, CONDITION_FALSE, QUOTA_REASON_IN_SYNC);
	assert_true(w->plan.look_again_us == TIME_NEVER);
}

static void test_transition_times_move_with_the_verdict_only(void **state)
{
	struct world *w = *state;
	int64_t first;

	world_converge(w);
	first = w->plan.status.conditions[QUOTA_EXCEEDED].since_us;
	assert_int_equal(first, 1700000000 * USEC_PER_SEC);
	w->view.now_real_us += 100 * USEC_PER_SEC;
	world_decide(w);
	assert_int_equal(w->plan.status.conditions[QUOTA_EXCEEDED].since_us, first);
	assert_false(w->plan.write_status);
	w->view.used = 999 * GIB;
	world_decide(w);
	assert_int_equal(w->plan.status.conditions[QUOTA_EXCEEDED].since_us,
			 first + 100 * USEC_PER_SEC);
	assert_int_equal(w->plan.status.conditions[QUOTA_READY].since_us, first);
}

static void test_rows_in_use_stay_when_there_are_too_many(void **state)
{
	static struct price_row many[LIMIT_STATUS_RESOURCES + 10];
	struct quota_use use = {MIG, 2000, 5, 5, 5 * GIB};
	struct world *w = *state;
	size_t in_use = 0;

	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = (struct price_row){MIG, (uint32_t)(1000 + i), GIB, GIB, DEVICE_MIG, 1, 0,
					     0};
	use.product = 1000 + ARRAY_SIZE(many) - 1;
	w->view.prices = (struct price_list){many, ARRAY_SIZE(many)};
	w->view.uses = &use;
	w->view.n_uses = 1;
	world_converge(w);
	assert_int_equal(w->plan.status.n_rows, LIMIT_STATUS_RESOURCES);
	for (size_t i = 0; i < w->plan.status.n_rows; i++)
		in_use += w->plan.status.rows[i].used == 5;
	assert_int_equal(in_use, 1);
	assert_non_null(strstr(w->plan.status.conditions[QUOTA_READY].message, "10 kinds"));
}

static void test_long_words_are_cut_between_characters(void **state)
{
	static char long_reason[1000];
	struct world *w = *state;

	for (size_t i = 0; i + 1 < sizeof(long_reason); i += 2) {
		long_reason[i] = (char)0xc3;
		long_reason[i + 1] = (char)0xa4;
	}
	long_reason[sizeof(long_reason) - 1] = '\0';
	for (int shift = 0; shift < 2; shift++) {
		struct str s;

		w->view.invalid = long_reason + 2 * shift;
		long_reason[2] = shift ? 'a' : (char)0xc3;
		long_reason[3] = shift ? 'b' : (char)0xa4;
		long_reason[4] = shift ? 'c' : (char)0xc3;
		world_decide(w);
		s = str_from(w->plan.status.conditions[QUOTA_ACCEPTED].message);
		assert_true(s.len >= QUOTA_MESSAGE_SIZE - 4);
		assert_int_equal((unsigned char)s.data[s.len - 1], 0xa4);
	}
}

static void test_a_full_arena_is_an_error(void **state)
{
	struct world *w = *state;
	struct error err = {0};

	arena_init(&w->arena, 64);
	assert_int_equal(quota_decide(&w->view, &w->arena, &w->plan, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

/* Of an older release, which did not write what the columns show. */
static void test_a_status_without_what_is_shown_is_written_once(void **state)
{
	struct world *w = *state;
	struct quota_status older;

	world_converge(w);
	older = *w->view.status;
	older.unshown = true;
	w->view.status = &older;
	world_decide(w);
	assert_true(w->plan.write_status && !w->plan.status_urgent);
	assert_false(w->plan.status.unshown);
	world_settle(w);
	world_decide(w);
	assert_false(w->plan.write_status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_hard_values_follow_the_smallest_unit),
		TEST(test_caps_bound_hard_values),
		TEST(test_a_cap_on_what_nobody_has_is_named),
		TEST(test_gpus_does_not_bound_a_resource_that_is_shared_somewhere),
		TEST(test_ready_waits_for_the_status_of_the_resource_quota),
		TEST(test_a_resource_quota_of_another_owner_or_value_is_written),
		TEST(test_what_was_never_answered_is_written_again),
		TEST(test_pods_are_priced_from_when_the_status_is_there),
		TEST(test_what_was_counted_once_is_counted_on_at_nothing),
		TEST(test_a_class_that_is_charged_otherwise_has_no_key_of_its_own),
		TEST(test_a_change_of_use_alone_is_not_urgent),
		TEST(test_percent_is_rounded_up_and_bounded),
		TEST(test_more_whole_gpus_or_units_than_allowed_is_over_limit),
		TEST(test_unknown_memory_in_use_is_said),
		TEST(test_a_duplicate_writes_status_only),
		TEST(test_a_terminating_quota_governs_no_more),
		TEST(test_an_invalid_quota_that_governs_allows_nothing),
		TEST(test_defaults_become_a_limit_range_only_when_asked_for),
		TEST(test_other_writers_and_wrong_sums_are_named),
		TEST(test_another_writer_stays_named_for_a_while),
		TEST(test_transition_times_move_with_the_verdict_only),
		TEST(test_a_status_without_what_is_shown_is_written_once),
		TEST(test_rows_in_use_stay_when_there_are_too_many),
		TEST(test_long_words_are_cut_between_characters),
		TEST(test_a_full_arena_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
