/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random price lists, specs and uses: hard values are the floor they claim to be, rows add up to
 * the uses, and a decision that was carried out has nothing left to write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/macros.h"
#include "base/random.h"
#include "model/resource.h"
#include "quota/decide.h"

#define ROUNDS    4000
#define RESOURCES 6
#define PRODUCTS  5
#define MOST_ROWS (RESOURCES * PRODUCTS)

static const char *const resources[RESOURCES] = {
	"nvidia.com/gpu",         "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb",
	"nvidia.com/mig-3g.40gb", "amd.com/gpu",           "volcano.sh/vgpu-memory"};
static const char *const products[PRODUCTS] = {"", "NVIDIA-H100", "NVIDIA-A100", "Tesla-T4",
					       "AMD-MI300X"};

/* Resources are handles from 0, products from 100. */
static const char *name(const void *context, uint32_t handle)
{
	(void)context;
	return handle < RESOURCES ? resources[handle] : products[handle - 100];
}

struct scene {
	struct price_row prices[MOST_ROWS];
	struct quota_use uses[MOST_ROWS];
	struct resource_amount caps[RESOURCES], defaults[RESOURCES];
	struct quota_spec spec;
	struct quota_view view;
};

static int64_t below(struct random *r, uint64_t bound)
{
	return (int64_t)random_below(r, bound);
}

static struct price_row random_row(struct random *r, uint32_t resource, uint32_t product)
{
	struct price_row row = {.resource = resource, .product = 100 + product};

	row.nodes = 1 + (uint32_t)random_below(r, 5);
	row.unknown_nodes = random_below(r, 4) == 0 ? 1 + (uint32_t)random_below(r, row.nodes) : 0;
	row.smallest = row.largest = AMOUNT_UNKNOWN;
	if (row.unknown_nodes < row.nodes) {
		row.smallest = 1 + below(r, 100) * GIB + below(r, 3) * below(r, GIB);
		row.largest = row.smallest + below(r, 2) * below(r, 10 * GIB);
	}
	row.sharing = (enum device_sharing)random_below(r, 5);
	return row;
}

static size_t random_amounts(struct random *r, struct resource_amount *ret_amounts)
{
	size_t n = 0;

	for (size_t i = RESOURCES; i-- > 0;)
		if (random_below(r, 4) == 0)
			ret_amounts[n++] =
				(struct resource_amount){str_from(resources[i]), below(r, 20)};
	return n;
}

static void random_scene(struct random *r, struct scene *s)
{
	size_t n = 0, n_uses = 0;

	for (uint32_t i = 0; i < RESOURCES; i++)
		for (uint32_t k = 0; k < PRODUCTS; k++) {
			if (random_below(r, 3) > 0)
				continue;
			s->prices[n] = random_row(r, i, k);
			if (random_below(r, 2)) {
				int64_t count = 1 + below(r, 9);

				s->uses[n_uses++] = (struct quota_use){
					i, 100 + k, count, below(r, 9) % (count + 1), 0};
			}
			n++;
		}
	s->spec = (struct quota_spec){
		.gpu_memory = GIB + below(r, 1000) * GIB + below(r, 2) * below(r, GIB),
		.gpus = random_below(r, 3) ? AMOUNT_NONE : below(r, 20),
		.pod_gpu_memory = AMOUNT_NONE,
		.pod_gpus = AMOUNT_NONE,
		.caps = s->caps,
		.n_caps = random_amounts(r, s->caps),
		.defaults = s->defaults,
	};
	if (random_below(r, 3) == 0)
		s->spec.n_defaults = random_amounts(r, s->defaults);
	s->view = (struct quota_view){
		.spec = &s->spec,
		.generation = 1 + below(r, 9),
		.terminating = random_below(r, 20) == 0,
		.duplicate = random_below(r, 10) == 0,
		.governing = STR("other"),
		.invalid = random_below(r, 10) == 0 ? "it is not" : NULL,
		.prices = {s->prices, n},
		.name = name,
		.uses = s->uses,
		.n_uses = n_uses,
		.used = below(r, 1200) * GIB,
		.live = below(r, 100) * GIB,
		.unpriced = random_below(r, 5) == 0 ? below(r, 5) : 0,
		.pods = below(r, 100),
		.recount_drift = random_below(r, 10) == 0 ? below(r, GIB) : 0,
		.now_us = 1 + below(r, 1000000 * USEC_PER_SEC),
		.now_real_us = below(r, 2000000000) * USEC_PER_SEC + below(r, USEC_PER_SEC),
	};
}

/* Whether @spec's caps or gpus may bound @resource. */
static bool may_be_capped(const struct quota_spec *spec, struct str resource)
{
	if (spec->gpus != AMOUNT_NONE)
		return true;
	for (size_t i = 0; i < spec->n_caps; i++)
		if (str_equal(spec->caps[i].resource, resource))
			return true;
	return false;
}

static uint32_t handle_of(struct str resource)
{
	for (uint32_t i = 0; i < RESOURCES; i++)
		if (str_equal(str_from(resources[i]), resource))
			return i;
	fail();
	return 0;
}

static void check_hard(const struct quota_view *view, const struct quota_plan *plan)
{
	bool accepted = plan->governs && !view->invalid;
	int64_t effective = plan->status.effective;

	assert_int_equal(effective, accepted ? view->spec->gpu_memory : 0);
	for (size_t i = 0; i < plan->n_hard; i++) {
		struct str resource = plan->hard[i].resource;
		int64_t hard = plan->hard[i].count;
		int64_t smallest = price_smallest(&view->prices, handle_of(resource),
						  resource_memory_by_name(resource));

		assert_true(hard >= 0);
		if (smallest == AMOUNT_UNKNOWN || !accepted) {
			assert_int_equal(hard, 0);
			continue;
		}
		assert_true(hard * smallest <= effective);
		if (!may_be_capped(view->spec, resource))
			assert_true(effective < (hard + 1) * smallest);
		for (size_t k = 0; k < view->spec->n_caps; k++)
			if (str_equal(view->spec->caps[k].resource, resource))
				assert_true(hard <= view->spec->caps[k].count);
	}
}

/* No row promises more than the ResourceQuota lets by, and all use is shown. */
static void check_rows(const struct quota_view *view, const struct quota_plan *plan)
{
	int64_t shown = 0, used = 0;

	for (size_t i = 0; i < plan->status.n_rows; i++) {
		const struct quota_row *row = &plan->status.rows[i];

		shown += row->used;
		if (row->unit_memory == AMOUNT_UNKNOWN)
			assert_int_equal(row->hard, 0);
		else
			assert_true(row->hard <= plan->status.effective / row->unit_memory);
	}
	for (size_t i = 0; i < view->n_uses; i++)
		used += view->uses[i].count;
	assert_int_equal(shown, plan->governs ? used : 0);
}

/* The server after the plan was carried out. */
static void settle(struct quota_view *view, const struct quota_plan *plan,
		   struct quota_status *status)
{
	struct resource_quota_view *quota = &view->resource_quota;
	struct limit_range_view *range = &view->limit_range;

	if (plan->write_resource_quota) {
		quota->exists = quota->ours = true;
		quota->hard = quota->status_hard = plan->hard;
		quota->n_hard = quota->n_status_hard = plan->n_hard;
	}
	if (plan->write_limit_range) {
		range->exists = range->ours = true;
		range->defaults = plan->defaults;
		range->n_defaults = plan->n_defaults;
		range->other_limits = false;
	}
	if (plan->delete_limit_range)
		*range = (struct limit_range_view){0};
	if (plan->write_status) {
		*status = plan->status;
		view->status = status;
	}
}

static void check_convergence(struct quota_view *view, struct arena *arena)
{
	struct quota_status statuses[3];
	struct quota_plan plan;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(quota_decide(view, arena, &plan, NULL), 0);
		settle(view, &plan, &statuses[i]);
		view->now_us += USEC_PER_SEC;
		view->now_real_us += USEC_PER_SEC;
	}
	assert_int_equal(quota_decide(view, arena, &plan, NULL), 0);
	assert_false(plan.write_status || plan.status_urgent || plan.write_resource_quota ||
		     plan.write_limit_range || plan.delete_limit_range);
	assert_int_equal(plan.look_again_us, TIME_NEVER);
}

static void test_decisions_are_floors_and_settle(void **state)
{
	static struct scene scene;
	struct arena arena;
	struct random random;

	(void)state;
	arena_init(&arena, 0);
	random_init(&random, 20240607);
	for (int i = 0; i < ROUNDS; i++) {
		struct quota_plan plan;

		random_scene(&random, &scene);
		assert_int_equal(quota_decide(&scene.view, &arena, &plan, NULL), 0);
		check_hard(&scene.view, &plan);
		check_rows(&scene.view, &plan);
		check_convergence(&scene.view, &arena);
		arena_reset(&arena);
	}
	arena_clear(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decisions_are_floors_and_settle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
