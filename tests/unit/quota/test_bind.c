/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a pod may be bound to a node now, case by case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "quota/bind.h"

/* STR() for what is static. */
#define TEXT(literal)                          \
	{                                      \
		(literal), sizeof(literal) - 1 \
	}

#define GPU  TEXT("nvidia.com/gpu")
#define MIG  TEXT("nvidia.com/mig-1g.10gb")
#define H100 TEXT("NVIDIA-H100")
#define A100 TEXT("NVIDIA-A100")

static const struct bind_row cards_held[] = {
	{GPU, H100, 2, 160 * GIB, 2}, {GPU, A100, 1, 40 * GIB, 1}, {MIG, A100, 4, 40 * GIB, 0}};
static const struct bind_row one_h100[] = {{GPU, H100, 1, 80 * GIB, 1}};
static const struct bind_row two_slices[] = {{MIG, A100, 1, 10 * GIB, 0},
					     {MIG, A100, 1, 10 * GIB, 0}};
static const struct bind_row unknown[] = {
	{GPU, H100, 1, 80 * GIB, 1}, {TEXT("example.com/npu"), TEXT(""), 2, AMOUNT_UNKNOWN, 0}};

static const struct resource_amount slice_cap[] = {{MIG, 5}}, card_cap[] = {{GPU, 4}};
static const struct product_cap h100_memory[] = {{H100, 239 * GIB, AMOUNT_NONE}};
static const struct product_cap h100_gpus[] = {{A100, 0, 0}, {H100, AMOUNT_NONE, 2}};

static const struct quota_spec open_spec = {.gpu_memory = 320 * GIB,
					    .gpus = AMOUNT_NONE,
					    .pod_gpu_memory = AMOUNT_NONE,
					    .pod_gpus = AMOUNT_NONE};
static const struct bind_tenant roomy = {TEXT("vision"), AMOUNT_NONE, AMOUNT_NONE, {999 * GIB, 99}};

struct world {
	struct quota_spec spec;
	struct bind_tenant tenant;
	struct bind_view view;
	struct bind_decision decision;
};

static int setup(void **state)
{
	static struct world w;

	w = (struct world){.spec = open_spec,
			   .tenant = roomy,
			   .view = {.asks = one_h100,
				    .n_asks = 1,
				    .effective = 320 * GIB,
				    .effective_gpus = AMOUNT_NONE,
				    .held = cards_held,
				    .n_held = ARRAY_SIZE(cards_held)}};
	w.view.spec = &w.spec;
	w.view.tenant = &w.tenant;
	*state = &w;
	return 0;
}

static void check(struct world *w, enum bind_verdict verdict, const char *message)
{
	bind_decide(&w->view, &w->decision);
	assert_string_equal(w->decision.message, message);
	assert_string_equal(bind_verdict_text(w->decision.verdict), bind_verdict_text(verdict));
	assert_true(w->decision.enforced);
}

static void test_what_fits_to_the_byte_is_allowed(void **state)
{
	struct world *w = *state;

	check(w, BIND_ALLOWED, "");
}

static void test_one_byte_more_than_effective_is_not(void **state)
{
	struct world *w = *state;

	w->view.effective--;
	check(w, BIND_NAMESPACE_MEMORY,
	      "The pod asks for 80Gi of GPU memory in its namespace, of which 240Gi of ~320.0Gi are "
	      "held.");
	w->view.effective = 300 * GIB;
	check(w, BIND_NAMESPACE_MEMORY,
	      "The pod asks for 80Gi of GPU memory in its namespace, of which 240Gi of 300Gi are "
	      "held.");
}

static void test_nothing_more_where_what_is_held_is_unknown(void **state)
{
	struct world *w = *state;

	w->view.held = unknown;
	w->view.n_held = 2;
	check(w, BIND_HELD_UNPRICED,
	      "The namespace holds 2 of example.com/npu, and nothing tells how much memory one has: "
	      "it is not known what is free for the 80Gi that the pod asks for.");
	w->view.spec = NULL;
	w->view.tenant = NULL;
	check(w, BIND_ALLOWED, "");
}

static void test_who_asks_for_nothing_is_allowed_where_nothing_is(void **state)
{
	struct world *w = *state;

	w->view.n_asks = 0;
	w->view.effective = 0;
	w->view.reconfiguring = true;
	check(w, BIND_ALLOWED, "");
}

static void test_whole_cards_are_bounded(void **state)
{
	struct world *w = *state;

	w->view.effective_gpus = 3;
	check(w, BIND_NAMESPACE_GPUS,
	      "The pod asks for 1 whole GPUs in its namespace, of which 3 of 3 are held.");
	/* Slices are none. */
	w->view.asks = two_slices;
	w->view.n_asks = 2;
	check(w, BIND_ALLOWED, "");
}

static void test_a_pod_has_its_own_cap(void **state)
{
	struct world *w = *state;

	w->spec.pod_gpu_memory = 79 * GIB;
	check(w, BIND_POD_MEMORY, "The pod asks for 80Gi of GPU memory, and perPod allows 79Gi.");
	w->spec.pod_gpu_memory = 80 * GIB;
	w->spec.pod_gpus = 0;
	check(w, BIND_POD_GPUS, "The pod asks for 1 whole GPUs, and perPod allows 0.");
	w->spec.pod_gpus = 1;
	check(w, BIND_ALLOWED, "");
}

static void test_caps_by_resource_count_rows_of_all_products(void **state)
{
	struct world *w = *state;

	w->spec.caps = slice_cap;
	w->spec.n_caps = 1;
	check(w, BIND_ALLOWED, "");
	w->view.asks = two_slices;
	w->view.n_asks = 2;
	check(w, BIND_RESOURCE,
	      "The pod asks for 2 of nvidia.com/mig-1g.10gb, of which 4 of 5 are held.");
	w->view.n_asks = 1;
	check(w, BIND_ALLOWED, "");
	w->spec.caps = card_cap;
	w->view.asks = one_h100;
	check(w, BIND_ALLOWED, "");
}

static void test_caps_by_product_count_what_is_on_it(void **state)
{
	struct world *w = *state;

	w->spec.products = h100_memory;
	w->spec.n_products = 1;
	check(w, BIND_PRODUCT_MEMORY,
	      "The pod asks for 80Gi of GPU memory on NVIDIA-H100, of which 160Gi of 239Gi are "
	      "held.");
	w->spec.products = h100_gpus;
	w->spec.n_products = 2;
	check(w, BIND_PRODUCT_GPUS,
	      "The pod asks for 1 whole GPUs of NVIDIA-H100, of which 2 of 2 are held.");
	w->view.asks = two_slices;
	check(w, BIND_PRODUCT_MEMORY,
	      "The pod asks for 10Gi of GPU memory on NVIDIA-A100, of which 80Gi of 0 are held.");
}

static void test_the_ceiling_of_the_tenant_counts_all_of_its_namespaces(void **state)
{
	struct world *w = *state;

	w->tenant.ceiling = 1078 * GIB;
	check(w, BIND_TENANT_MEMORY,
	      "The pod asks for 80Gi of GPU memory of TenantQoS vision, of which 999Gi of 1078Gi are "
	      "held.");
	w->tenant.ceiling++;
	w->tenant.held.bytes -= GIB;
	w->tenant.ceiling_gpus = 99;
	check(w, BIND_TENANT_GPUS,
	      "The pod asks for 1 whole GPUs of TenantQoS vision, of which 99 of 99 are held.");
}

static void test_a_tenants_namespace_without_a_quota_is_allowed_nothing(void **state)
{
	struct world *w = *state;

	w->view.spec = NULL;
	check(w, BIND_NO_QUOTA,
	      "The pod asks for 80Gi of GPU memory, and 0 are allowed: its namespace belongs to "
	      "TenantQoS vision and has no GpuMemoryQuota that governs.");
	w->view.tenant = NULL;
	check(w, BIND_ALLOWED, "");
}

static void test_an_unpriced_device_is_never_free(void **state)
{
	struct world *w = *state;

	w->view.asks = unknown;
	w->view.n_asks = 2;
	check(w, BIND_UNPRICED,
	      "The pod asks for 2 of example.com/npu, and nothing tells how much memory one has on "
	      "the node: no device is free of charge.");
	w->view.spec = NULL;
	w->view.tenant = NULL;
	check(w, BIND_ALLOWED, "");
}

static void test_a_node_that_is_partitioned_anew_takes_nobody(void **state)
{
	struct world *w = *state;

	w->view.reconfiguring = true;
	w->view.spec = NULL;
	w->view.tenant = NULL;
	check(w, BIND_RECONFIGURING,
	      "The node's cards are being partitioned anew: it takes pods when its label "
	      "nvidia.com/mig.config.state is success.");
}

static void test_a_dry_run_tells_and_does_not_refuse(void **state)
{
	struct world *w = *state;

	w->spec.dry_run = true;
	w->view.effective = 0;
	bind_decide(&w->view, &w->decision);
	assert_int_equal(w->decision.verdict, BIND_NAMESPACE_MEMORY);
	assert_false(w->decision.enforced);
	w->view.reconfiguring = true;
	bind_decide(&w->view, &w->decision);
	assert_int_equal(w->decision.verdict, BIND_RECONFIGURING);
	assert_true(w->decision.enforced);
}

static void test_sums_that_have_no_number_exceed_every_limit(void **state)
{
	static const struct bind_row most[] = {{GPU, H100, INT64_MAX, INT64_MAX, INT64_MAX}};
	struct world *w = *state;

	w->view.held = most;
	w->view.n_held = 1;
	w->view.effective = INT64_MAX - 1;
	bind_decide(&w->view, &w->decision);
	assert_int_equal(w->decision.verdict, BIND_NAMESPACE_MEMORY);
}

static void test_a_long_name_cuts_the_end_of_the_sentence(void **state)
{
	static char name[2 * QUOTA_MESSAGE_SIZE];
	struct world *w = *state;

	/* Two bytes each: the cut falls within one. */
	for (size_t i = 0; i < sizeof(name); i += 2) {
		name[i] = (char)0xc3;
		name[i + 1] = (char)0xa4;
	}
	w->tenant.name = (struct str){name, sizeof(name)};
	w->tenant.ceiling = 0;
	bind_decide(&w->view, &w->decision);
	assert_in_range(strlen(w->decision.message), QUOTA_MESSAGE_SIZE - 3,
			QUOTA_MESSAGE_SIZE - 1);
	assert_int_equal((unsigned char)w->decision.message[strlen(w->decision.message) - 1], 0xa4);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_fits_to_the_byte_is_allowed),
		TEST(test_one_byte_more_than_effective_is_not),
		TEST(test_nothing_more_where_what_is_held_is_unknown),
		TEST(test_who_asks_for_nothing_is_allowed_where_nothing_is),
		TEST(test_whole_cards_are_bounded),
		TEST(test_a_pod_has_its_own_cap),
		TEST(test_caps_by_resource_count_rows_of_all_products),
		TEST(test_caps_by_product_count_what_is_on_it),
		TEST(test_the_ceiling_of_the_tenant_counts_all_of_its_namespaces),
		TEST(test_a_tenants_namespace_without_a_quota_is_allowed_nothing),
		TEST(test_an_unpriced_device_is_never_free),
		TEST(test_a_node_that_is_partitioned_anew_takes_nobody),
		TEST(test_a_dry_run_tells_and_does_not_refuse),
		TEST(test_sums_that_have_no_number_exceed_every_limit),
		TEST(test_a_long_name_cuts_the_end_of_the_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
