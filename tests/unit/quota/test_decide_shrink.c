/* SPDX-License-Identifier: Apache-2.0 */
/* What follows where more is held than is allowed: by its cause, by onShrink, and by who is left.
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

#define SOON (600 * USEC_PER_SEC)

static const struct resource_amount one_slice[] = {{{"nvidia.com/mig-1g.10gb", 22}, 1}};

static const struct quota_use uses[] = {{GPU, H100, 3, 3, 240 * GIB},
					{MIG, A100, 2, 2, 2 * 9984 * MIB}};

/* Two cards, an older one, and two slices, of which the first by name is younger. */
static const struct quota_holder holders[] = {
	{.name = {"old", 3}, .charge = 80 * GIB, .gpus = 1, .created_us = 100 * USEC_PER_SEC},
	{.name = {"b", 1}, .charge = 80 * GIB, .gpus = 1, .created_us = 300 * USEC_PER_SEC},
	{.name = {"a", 1}, .charge = 80 * GIB, .gpus = 1, .created_us = 300 * USEC_PER_SEC},
	{.name = {"slice", 5},
	 .charge = 9984 * MIB,
	 .units = one_slice,
	 .n_units = 1,
	 .created_us = 200 * USEC_PER_SEC},
	{.name = {"young", 5},
	 .charge = 9984 * MIB,
	 .units = one_slice,
	 .n_units = 1,
	 .created_us = 400 * USEC_PER_SEC},
	{.name = {"free", 4}, .created_us = 500 * USEC_PER_SEC},
};

static void use(struct world *w)
{
	w->view.uses = uses;
	w->view.n_uses = ARRAY_SIZE(uses);
	w->view.used = 240 * GIB + 2 * 9984 * MIB;
}

static void give_holders(struct world *w, struct quota_holder *copy)
{
	memcpy(copy, holders, sizeof(holders));
	w->view.holders = copy;
	w->view.n_holders = ARRAY_SIZE(holders);
}

static void assert_evicts(const struct world *w, const char *name)
{
	if (!name) {
		assert_null(w->plan.evict);
		return;
	}
	assert_non_null(w->plan.evict);
	assert_string_equal(w->plan.evict->name.data, name);
}

static void test_more_than_allowed_without_a_cut_evicts_nobody(void **state)
{
	struct quota_holder copy[ARRAY_SIZE(holders)];
	struct world *w = *state;

	w->spec.on_shrink = SHRINK_EVICT;
	w->spec.gpu_memory = 200 * GIB;
	use(w);
	give_holders(w, copy);
	world_decide(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT);
	assert_evicts(w, NULL);
	world_converge(w);
	assert_evicts(w, NULL);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT);
}

static void test_a_cut_is_shrunk_until_all_is_within(void **state)
{
	struct world *w = *state;

	use(w);
	world_converge(w);
	w->spec.gpu_memory = 200 * GIB;
	world_decide(w);
	world_assert_sane(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_SHRUNK);
	assert_says(w, QUOTA_EXCEEDED, "was cut");
	assert_says(w, QUOTA_EXCEEDED, "until pods finish");
	assert_false(w->plan.needs_holders);
	world_converge(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_SHRUNK);
	w->spec.gpu_memory = 220 * GIB;
	world_converge(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_SHRUNK);
	w->view.used = 220 * GIB;
	world_converge(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_FALSE, QUOTA_REASON_WITHIN_LIMIT);
	w->view.used = 230 * GIB;
	world_converge(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT);
}

static void test_evict_asks_for_the_holders_and_takes_the_youngest(void **state)
{
	struct quota_holder copy[ARRAY_SIZE(holders)];
	struct world *w = *state;

	w->spec.on_shrink = SHRINK_EVICT;
	use(w);
	world_converge(w);
	w->spec.gpu_memory = 240 * GIB;
	world_decide(w);
	assert_true(w->plan.needs_holders);
	assert_evicts(w, NULL);
	give_holders(w, copy);
	world_decide(w);
	world_assert_sane(w);
	assert_false(w->plan.needs_holders);
	assert_evicts(w, "young");
	assert_says(w, QUOTA_EXCEEDED, "one by one, the youngest first");
	copy[4].terminating = true;
	world_decide(w);
	assert_evicts(w, NULL);
	w->view.used -= 9984 * MIB;
	w->view.n_holders = 3;
	world_decide(w);
	assert_evicts(w, "a");
	w->view.used = 240 * GIB;
	world_decide(w);
	assert_evicts(w, NULL);
}

static void test_who_is_blocked_is_passed_over_and_named(void **state)
{
	struct quota_holder copy[ARRAY_SIZE(holders)];
	struct world *w = *state;

	w->spec.on_shrink = SHRINK_EVICT;
	use(w);
	world_converge(w);
	w->spec.gpu_memory = 160 * GIB;
	give_holders(w, copy);
	copy[0].blocked = "kept, but older than who goes";
	copy[4].blocked = "Cannot evict pod as it would violate the pod's disruption budget.";
	world_decide(w);
	world_assert_sane(w);
	assert_evicts(w, "a");
	assert_says(w, QUOTA_EXCEEDED, "The eviction of young was refused (Cannot evict pod as");
	assert_says(w, QUOTA_EXCEEDED, "budget): they are passed over");
	copy[2].blocked = "likewise";
	world_decide(w);
	assert_evicts(w, "b");
	assert_says(w, QUOTA_EXCEEDED, ", as of 1 more");
	for (size_t i = 0; i < ARRAY_SIZE(copy); i++)
		copy[i].blocked = "no";
	world_decide(w);
	assert_evicts(w, NULL);
	world_converge(w);
}

static void test_drain_evicts_when_its_time_has_come(void **state)
{
	struct quota_holder copy[ARRAY_SIZE(holders)];
	struct world *w = *state;

	w->spec.on_shrink = SHRINK_DRAIN;
	w->spec.shrink_deadline_us = SOON;
	use(w);
	world_converge(w);
	w->spec.gpu_memory = 200 * GIB;
	world_converge(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_SHRUNK);
	assert_says(w, QUOTA_EXCEEDED, "from 2023-11-14T22:23:20Z on pods are evicted");
	assert_false(w->plan.needs_holders);
	assert_int_equal(w->plan.look_again_us, w->view.now_us + SOON - 5);
	give_holders(w, copy);
	world_decide(w);
	assert_evicts(w, NULL);
	world_wait(w, SOON - 6);
	world_decide(w);
	assert_evicts(w, NULL);
	world_wait(w, 1);
	world_decide(w);
	assert_evicts(w, "young");
	assert_true(w->plan.write_status);
}

static void test_the_time_to_drain_counts_from_the_cut(void **state)
{
	struct world *w = *state;

	w->spec.on_shrink = SHRINK_DRAIN;
	w->spec.shrink_deadline_us = SOON;
	w->spec.gpu_memory = 250 * GIB;
	use(w);
	world_converge(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT);
	world_wait(w, 2 * SOON);
	w->spec.gpu_memory = 200 * GIB;
	world_decide(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_SHRUNK);
	assert_false(w->plan.needs_holders);
	assert_int_equal(w->plan.status.conditions[QUOTA_EXCEEDED].since_us,
			 WORLD_NOW_REAL_US + 2 * SOON);
	world_converge(w);
	world_wait(w, SOON);
	world_decide(w);
	assert_true(w->plan.needs_holders);
	assert_int_equal(w->plan.status.conditions[QUOTA_EXCEEDED].since_us,
			 WORLD_NOW_REAL_US + 2 * SOON);
}

static void lend(struct world *w, struct tenant_grant grant)
{
	w->view.share = &w->share;
	w->share.grant = grant;
}

static void test_borrowed_memory_that_is_called_back_goes_like_a_cut(void **state)
{
	struct quota_holder copy[ARRAY_SIZE(holders)];
	struct world *w = *state;

	w->spec.on_shrink = SHRINK_EVICT;
	use(w);
	lend(w, (struct tenant_grant){
			.granted = 200 * GIB, .borrowed = 64 * GIB, .effective = 264 * GIB});
	world_converge(w);
	w->share.grant.effective = 200 * GIB;
	w->share.grant.recalled = true;
	give_holders(w, copy);
	world_decide(w);
	world_assert_sane(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_RECALLED);
	assert_says(w, QUOTA_EXCEEDED, "called back");
	assert_evicts(w, "young");
	w->view.used = 200 * GIB;
	world_decide(w);
	assert_evicts(w, NULL);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_FALSE, QUOTA_REASON_WITHIN_LIMIT);
}

static void test_nobody_goes_for_what_its_namespace_is_entitled_to(void **state)
{
	static const struct {
		const char *name;
		struct tenant_grant before, after;
	} cases[] = {
		{"a donor that is lowered below its use",
		 {.granted = 320 * GIB, .effective = 320 * GIB},
		 {.granted = 320 * GIB, .lent = 100 * GIB, .effective = 220 * GIB}},
		{"a donor that is cut, and its loan not back",
		 {.granted = 320 * GIB, .lent = 50 * GIB, .effective = 270 * GIB},
		 {.granted = 270 * GIB, .lent = 50 * GIB, .effective = 220 * GIB}},
		{"one that waits for its own",
		 {.granted = 320 * GIB, .effective = 320 * GIB},
		 {.outcome = GRANT_WAITS, .granted = 300 * GIB, .effective = 220 * GIB}},
	};
	struct world *w = *state;

	w->spec.on_shrink = SHRINK_EVICT;
	use(w);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].name);
		w->view.status = NULL;
		lend(w, cases[i].before);
		world_converge(w);
		lend(w, cases[i].after);
		world_converge(w);
		assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT);
		assert_false(w->plan.needs_holders);
	}
}

static void test_a_cut_of_the_ceiling_is_one(void **state)
{
	struct world *w = *state;

	use(w);
	lend(w, (struct tenant_grant){.granted = 320 * GIB, .effective = 320 * GIB});
	world_converge(w);
	lend(w, (struct tenant_grant){.outcome = GRANT_NO_ROOM,
				      .granted = 200 * GIB,
				      .effective = 200 * GIB,
				      .missing = 120 * GIB});
	world_converge(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_SHRUNK);
	w->share.grant = (struct tenant_grant){0};
	world_decide(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_SHRUNK);
	lend(w, (struct tenant_grant){.outcome = GRANT_NO_ROOM,
				      .granted = 200 * GIB,
				      .effective = 200 * GIB,
				      .missing = 120 * GIB});
	world_decide(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_SHRUNK);
}

static void test_a_cut_of_cards_takes_who_has_cards(void **state)
{
	struct quota_holder copy[ARRAY_SIZE(holders)];
	struct world *w = *state;

	w->spec.on_shrink = SHRINK_EVICT;
	w->spec.gpus = 3;
	use(w);
	world_converge(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_FALSE, QUOTA_REASON_WITHIN_LIMIT);
	w->spec.gpus = 2;
	give_holders(w, copy);
	world_decide(w);
	world_assert_sane(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_SHRUNK);
	assert_says(w, QUOTA_EXCEEDED, "3 whole GPUs are held where 2 are allowed");
	assert_evicts(w, "a");
	world_converge(w);
	assert_evicts(w, "a");
}

static void test_a_cut_of_a_resource_takes_who_has_some(void **state)
{
	struct resource_amount cap = {STR("nvidia.com/mig-1g.10gb"), 2};
	struct quota_holder copy[ARRAY_SIZE(holders)];
	struct world *w = *state;

	w->spec.on_shrink = SHRINK_EVICT;
	w->spec.caps = &cap;
	w->spec.n_caps = 1;
	use(w);
	world_converge(w);
	cap.count = 1;
	give_holders(w, copy);
	copy[4].blocked = "no";
	world_decide(w);
	world_assert_sane(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_SHRUNK);
	assert_says(w, QUOTA_EXCEEDED, "2 of nvidia.com/mig-1g.10gb are held where 1");
	assert_evicts(w, "slice");
}

static void test_what_was_cut_goes_before_what_merely_is_too_much(void **state)
{
	struct quota_holder copy[ARRAY_SIZE(holders)];
	struct world *w = *state;

	w->spec.on_shrink = SHRINK_EVICT;
	w->spec.gpus = 4;
	use(w);
	world_converge(w);
	w->view.used = 330 * GIB;
	world_converge(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT);
	w->spec.gpus = 2;
	give_holders(w, copy);
	world_decide(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_SHRUNK);
	assert_evicts(w, "a");
}

static void test_a_products_cap_is_named_and_evicts_nobody(void **state)
{
	struct product_cap cap = {STR("NVIDIA-H100"), 400 * GIB, AMOUNT_NONE};
	struct quota_holder copy[ARRAY_SIZE(holders)];
	struct world *w = *state;

	w->spec.on_shrink = SHRINK_EVICT;
	w->spec.products = &cap;
	w->spec.n_products = 1;
	use(w);
	give_holders(w, copy);
	world_converge(w);
	cap.gpu_memory = 160 * GIB;
	world_decide(w);
	world_assert_sane(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT);
	assert_says(w, QUOTA_EXCEEDED, "240Gi of GPU memory are held on NVIDIA-H100, where 160Gi");
	assert_evicts(w, NULL);
	cap = (struct product_cap){STR("NVIDIA-H100"), AMOUNT_NONE, 2};
	world_decide(w);
	world_assert_sane(w);
	assert_says(w, QUOTA_EXCEEDED, "3 whole GPUs of NVIDIA-H100 are held where 2");
	assert_evicts(w, NULL);
}

static void test_an_invalid_spec_evicts_nobody(void **state)
{
	struct world *w = *state;

	w->spec.on_shrink = SHRINK_EVICT;
	use(w);
	world_converge(w);
	w->view.invalid = "it cannot be read";
	world_decide(w);
	assert_condition(w, QUOTA_EXCEEDED, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT);
	assert_false(w->plan.needs_holders);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_more_than_allowed_without_a_cut_evicts_nobody),
		TEST(test_a_cut_is_shrunk_until_all_is_within),
		TEST(test_evict_asks_for_the_holders_and_takes_the_youngest),
		TEST(test_who_is_blocked_is_passed_over_and_named),
		TEST(test_drain_evicts_when_its_time_has_come),
		TEST(test_the_time_to_drain_counts_from_the_cut),
		TEST(test_borrowed_memory_that_is_called_back_goes_like_a_cut),
		TEST(test_nobody_goes_for_what_its_namespace_is_entitled_to),
		TEST(test_a_cut_of_the_ceiling_is_one),
		TEST(test_a_cut_of_cards_takes_who_has_cards),
		TEST(test_a_cut_of_a_resource_takes_who_has_some),
		TEST(test_what_was_cut_goes_before_what_merely_is_too_much),
		TEST(test_a_products_cap_is_named_and_evicts_nobody),
		TEST(test_an_invalid_spec_evicts_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
