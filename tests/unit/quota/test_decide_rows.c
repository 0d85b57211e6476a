/* SPDX-License-Identifier: Apache-2.0 */
/* Hard values and rows of every kind of resource, and whether what is in use has its true price. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/macros.h"
#include "unit/quota/world.h"

/* All sources at once. */
static const struct price_row all[] = {
	{GPU, H100, 80 * GIB, 80 * GIB, DEVICE_WHOLE, 2, 0, 0},
	{MIG, A100, 9984 * MIB, 9984 * MIB, DEVICE_MIG, 1, 0, 0},
	{FRACTION, H100, MIB, MIB, DEVICE_OTHER, 1, 0, 0},
	{KAI, H100, MIB, MIB, DEVICE_OTHER, 2, 0, 0},
	{CLASS, H100, 80 * GIB, 80 * GIB, DEVICE_WHOLE, 1, 0, 0},
};

static void offer_all(struct world *w)
{
	w->view.prices = (struct price_list){all, ARRAY_SIZE(all)};
}

static void test_each_source_is_bounded_by_its_key(void **state)
{
	struct world *w = *state;

	offer_all(w);
	world_converge(w);
	world_assert_sane(w);
	assert_int_equal(w->plan.n_hard, 5);
	assert_int_equal(world_hard(w, "nvidia.com/gpu"), 4);
	assert_int_equal(world_hard(w, "nvidia.com/gpumem"), 320 * 1024);
	assert_int_equal(world_hard(w, "limits.nvidia.com/gpumem"), 320 * 1024);
	assert_int_equal(world_hard(w, "gpu.example.com.deviceclass.resource.k8s.io/devices"), 4);
	assert_int_equal(world_hard(w, "kai.scheduler/gpu-memory"), -1);
}

static void test_a_cap_bounds_both_keys_of_a_resource(void **state)
{
	const struct resource_amount cap = {STR("nvidia.com/gpumem"), 1000};
	struct world *w = *state;

	offer_all(w);
	w->spec.caps = &cap;
	w->spec.n_caps = 1;
	world_decide(w);
	assert_int_equal(world_hard(w, "nvidia.com/gpumem"), 1000);
	assert_int_equal(world_hard(w, "limits.nvidia.com/gpumem"), 1000);
}

/* Until its key is in the status, ResourceQuota lets in any number. */
static void test_what_is_not_counted_yet_has_no_price(void **state)
{
	struct world *w = *state;

	offer_all(w);
	world_decide(w);
	assert_int_equal(world_row(w, "nvidia.com/gpu", "NVIDIA-H100")->unit_memory,
			 AMOUNT_UNKNOWN);
	assert_true(world_row(w, "nvidia.com/gpu", "NVIDIA-H100")->hard > 0);
	world_converge(w);
	assert_true(world_row(w, "nvidia.com/gpu", "NVIDIA-H100")->unit_memory > 0);
	w->view.resource_quota.n_status_hard = 0;
	world_decide(w);
	assert_int_equal(world_row(w, "nvidia.com/gpu", "NVIDIA-H100")->unit_memory,
			 AMOUNT_UNKNOWN);
	w->spec.dry_run = true;
	world_decide(w);
	assert_true(world_row(w, "nvidia.com/gpu", "NVIDIA-H100")->unit_memory > 0);
}

static void test_kai_is_shown_while_it_is_used(void **state)
{
	const struct quota_use use = {KAI, H100, 1024, 1024, GIB};
	struct world *w = *state;

	offer_all(w);
	world_decide(w);
	assert_false(world_has_row(w, "kai.scheduler/gpu-memory"));
	assert_int_equal(w->plan.status.n_rows, 4);
	w->view.uses = &use;
	w->view.n_uses = 1;
	w->view.used = GIB;
	world_converge(w);
	assert_int_equal(world_row(w, "kai.scheduler/gpu-memory", "NVIDIA-H100")->used, 1024);
	assert_int_equal(world_row(w, "kai.scheduler/gpu-memory", "NVIDIA-H100")->hard, 320 * 1024);
}

static void test_a_fraction_that_nothing_prices_is_bounded_and_not_shown(void **state)
{
	const struct price_row unknown = {
		FRACTION, H100, AMOUNT_UNKNOWN, AMOUNT_UNKNOWN, DEVICE_OTHER, 1, 1, 0};
	struct world *w = *state;

	w->view.prices = (struct price_list){&unknown, 1};
	world_converge(w);
	assert_int_equal(world_hard(w, "nvidia.com/gpumem"), 0);
	assert_false(world_has_row(w, "nvidia.com/gpumem"));
}

static void test_a_products_cap_bounds_its_rows_and_resources_of_its_own(void **state)
{
	static const struct {
		const char *name, *product;
		int64_t memory, gpus;
		int64_t gpu, mig, h100, t4; /* hard: of two resources, and of two rows */
	} cases[] = {
		{"memory of one of several products", "NVIDIA-H100", 160 * GIB, AMOUNT_NONE, 21, 32,
		 2, 21},
		{"cards of one of several products", "NVIDIA-H100", AMOUNT_NONE, 1, 21, 32, 1, 21},
		{"both", "Tesla-T4", 30 * GIB, 1, 21, 32, 4, 1},
		{"memory of the only product", "NVIDIA-A100", 40 * GIB, AMOUNT_NONE, 21, 4, 4, 21},
		{"cards of a product of slices", "NVIDIA-A100", AMOUNT_NONE, 1, 21, 32, 4, 21},
		{"none", "NVIDIA-A100", 0, AMOUNT_NONE, 21, 0, 4, 21},
		{"a product that nobody has", "NVIDIA-B200", 0, 0, 21, 32, 4, 21},
	};
	struct product_cap cap;
	struct world *w = *state;

	w->spec.products = &cap;
	w->spec.n_products = 1;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].name);
		cap = (struct product_cap){str_from(cases[i].product), cases[i].memory,
					   cases[i].gpus};
		world_decide(w);
		assert_int_equal(world_hard(w, "nvidia.com/gpu"), cases[i].gpu);
		assert_int_equal(world_hard(w, "nvidia.com/mig-1g.10gb"), cases[i].mig);
		assert_int_equal(world_row(w, "nvidia.com/gpu", "NVIDIA-H100")->hard,
				 cases[i].h100);
		assert_int_equal(world_row(w, "nvidia.com/gpu", "Tesla-T4")->hard, cases[i].t4);
	}
}

static void test_the_least_unit_bounds_hard_values(void **state)
{
	const struct price_row split = {GPU, H100, MIB, 80 * GIB, DEVICE_OTHER, 1, 0, 0};
	struct world *w = *state;

	w->view.prices = (struct price_list){&split, 1};
	w->spec.gpus = 2;
	world_decide(w);
	assert_int_equal(world_hard(w, "nvidia.com/gpu"), 320 * 1024);
	assert_int_equal(world_row(w, "nvidia.com/gpu", "NVIDIA-H100")->hard, 4);
}

static void test_priced_names_the_worst(void **state)
{
	static const struct {
		int64_t unpriced, assumed;
		const char *disagreement;
		enum condition_status status;
		enum quota_reason reason;
		const char *words;
	} cases[] = {
		{0, 0, "", CONDITION_TRUE, QUOTA_REASON_ALL_PRICED, "what its node says"},
		{2, 0, "", CONDITION_FALSE, QUOTA_REASON_UNKNOWN_MEMORY, "of 2 units"},
		{0, 80 * GIB, "", CONDITION_FALSE, QUOTA_REASON_MEMORY_ASSUMED, "80Gi of what"},
		{0, 0, "on node a the label says 80Gi, HAMi 79Gi.", CONDITION_FALSE,
		 QUOTA_REASON_SOURCES_DISAGREE, "HAMi 79Gi. The first"},
		{2, GIB, "x", CONDITION_FALSE, QUOTA_REASON_UNKNOWN_MEMORY, "of 2 units"},
		{0, GIB, "x", CONDITION_FALSE, QUOTA_REASON_MEMORY_ASSUMED, "1Gi of what"},
	};
	struct world *w = *state;

	w->view.used = 100 * GIB;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		w->view.unpriced = cases[i].unpriced;
		w->view.assumed = cases[i].assumed;
		w->view.disagreement = str_from(cases[i].disagreement);
		world_converge(w);
		world_assert_sane(w);
		assert_condition(w, QUOTA_PRICED, cases[i].status, cases[i].reason);
		assert_says(w, QUOTA_PRICED, cases[i].words);
	}
	w->view.assumed = 2 * GIB;
	world_decide(w);
	assert_true(w->plan.write_status);
	assert_false(w->plan.status_urgent);
	w->view.duplicate = true;
	world_decide(w);
	assert_condition(w, QUOTA_PRICED, CONDITION_UNKNOWN, QUOTA_REASON_NOT_ACCEPTED);
}

static void test_what_a_device_class_is_charged_as_is_published_at_once(void **state)
{
	struct quota_class classes[] = {{STR("gpu"), STR("nvidia.com/gpu")}, {STR("nic"), STR("")}};
	struct world *w = *state;

	world_converge(w);
	assert_int_equal(w->plan.status.classes.n, 0);
	w->view.classes = (struct quota_classes){classes, 1, 0};
	world_decide(w);
	assert_true(w->plan.write_status && w->plan.status_urgent);
	world_converge(w);
	assert_int_equal(w->plan.status.classes.n, 1);
	assert_true(str_equal(w->plan.status.classes.list[0].name, STR("gpu")));
	/* its own copies */
	assert_ptr_not_equal(w->plan.status.classes.list[0].name.data, classes[0].name.data);
	classes[0].resource = STR("amd.com/gpu");
	world_decide(w);
	assert_true(w->plan.write_status && w->plan.status_urgent);
	world_converge(w);
	w->view.classes.n = 2;
	world_decide(w);
	assert_true(w->plan.status_urgent);
	world_converge(w);
	classes[1].name = STR("nic-2");
	world_decide(w);
	assert_true(w->plan.status_urgent);
	w->view.duplicate = true;
	world_decide(w);
	assert_int_equal(w->plan.status.classes.n, 0);
}

static void test_ready_says_how_many_device_classes_are_left_out(void **state)
{
	struct world *w = *state;

	world_converge(w);
	w->view.classes.left_out = 3;
	world_converge(w);
	world_assert_sane(w);
	assert_condition(w, QUOTA_READY, CONDITION_TRUE, QUOTA_REASON_ENFORCED);
	assert_says(w, QUOTA_READY, "3 are left out of status.deviceClasses, which holds 64");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_each_source_is_bounded_by_its_key),
		TEST(test_a_cap_bounds_both_keys_of_a_resource),
		TEST(test_what_is_not_counted_yet_has_no_price),
		TEST(test_kai_is_shown_while_it_is_used),
		TEST(test_a_fraction_that_nothing_prices_is_bounded_and_not_shown),
		TEST(test_a_products_cap_bounds_its_rows_and_resources_of_its_own),
		TEST(test_the_least_unit_bounds_hard_values),
		TEST(test_priced_names_the_worst),
		TEST(test_what_a_device_class_is_charged_as_is_published_at_once),
		TEST(test_ready_says_how_many_device_classes_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
