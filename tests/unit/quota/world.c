/* SPDX-License-Identifier: Apache-2.0 */
/* The one namespace of the tests of quota_decide(). */
#include "unit/quota/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"

static const char *const names[WORLD_NAMES] = {
	[NONE] = "",
	[GPU] = "nvidia.com/gpu",
	[MIG] = "nvidia.com/mig-1g.10gb",
	[OTHER] = "amd.com/gpu",
	[FRACTION] = "nvidia.com/gpumem",
	[KAI] = "kai.scheduler/gpu-memory",
	[CLASS] = "gpu.example.com.deviceclass.resource.k8s.io/devices",
	[H100] = "NVIDIA-H100",
	[T4] = "Tesla-T4",
	[A100] = "NVIDIA-A100",
};

static const char *name(const void *context, uint32_t handle)
{
	(void)context;
	return handle < WORLD_NAMES ? names[handle] : "nvidia.com/mig-many";
}

static const struct price_row prices[] = {
	{GPU, H100, 80 * GIB, 80 * GIB, DEVICE_WHOLE, 2, 0, 0},
	{GPU, T4, 15 * GIB, 15 * GIB, DEVICE_WHOLE, 2, 0, 1},
	{MIG, A100, 9984 * MIB, 9984 * MIB, DEVICE_MIG, 1, 0, 0},
	{OTHER, NONE, AMOUNT_UNKNOWN, AMOUNT_UNKNOWN, DEVICE_WHOLE, 1, 1, 0},
};

void world_decide(struct world *w)
{
	struct error err;

	assert_int_equal(quota_decide(&w->view, &w->arena, &w->plan, &err), 0);
}

static void settle_resource_quota(struct world *w)
{
	struct resource_quota_view *quota = &w->view.resource_quota;

	if (w->plan.delete_resource_quota)
		*quota = (struct resource_quota_view){0};
	if (w->plan.write_resource_quota)
		*quota = (struct resource_quota_view){
			.exists = true,
			.ours = true,
			.hard = w->plan.hard,
			.n_hard = w->plan.n_hard,
			.status_hard = w->plan.hard,
			.n_status_hard = w->plan.n_hard,
		};
	if (quota->exists && quota->ours) {
		quota->status_hard = quota->hard;
		quota->n_status_hard = quota->n_hard;
		quota->foreign_manager = STR_NONE;
	}
}

static void settle_limit_range(struct world *w)
{
	struct limit_range_view *range = &w->view.limit_range;

	if (w->plan.delete_limit_range)
		*range = (struct limit_range_view){0};
	if (w->plan.write_limit_range)
		*range = (struct limit_range_view){
			.exists = true,
			.ours = true,
			.defaults = w->plan.defaults,
			.n_defaults = w->plan.n_defaults,
		};
}

void world_settle(struct world *w)
{
	struct quota_status *status;

	settle_resource_quota(w);
	settle_limit_range(w);
	if (!w->plan.write_status)
		return;
	status = arena_alloc(&w->arena, sizeof(*status));
	assert_non_null(status);
	*status = w->plan.status;
	w->view.status = status;
}

void world_converge(struct world *w)
{
	for (int i = 0; i < 3; i++) {
		world_decide(w);
		world_settle(w);
	}
	world_decide(w);
	assert_false(w->plan.write_resource_quota || w->plan.delete_resource_quota ||
		     w->plan.write_limit_range || w->plan.delete_limit_range ||
		     w->plan.write_status || w->plan.status_urgent);
}

void world_wait(struct world *w, int64_t us)
{
	w->view.now_us += us;
	w->view.now_real_us += us;
}

int world_setup(void **state)
{
	static struct world w;

	w = (struct world){
		.spec =
			{
				.gpu_memory = 320 * GIB,
				.gpus = AMOUNT_NONE,
				.pod_gpu_memory = AMOUNT_NONE,
				.pod_gpus = AMOUNT_NONE,
			},
		.share = {.tenant = STR("acme"), .any_gpus = true},
		.view =
			{
				.generation = 3,
				.prices = {prices, ARRAY_SIZE(prices)},
				.name = name,
				.now_us = 1000 * USEC_PER_SEC,
				.now_real_us = WORLD_NOW_REAL_US + 5,
			},
	};
	w.view.spec = &w.spec;
	*state = &w;
	return 0;
}

int world_teardown(void **state)
{
	struct world *w = *state;

	arena_clear(&w->arena);
	return 0;
}

int64_t world_hard(const struct world *w, const char *resource)
{
	for (size_t i = 0; i < w->plan.n_hard; i++)
		if (str_equal(w->plan.hard[i].resource, str_from(resource)))
			return w->plan.hard[i].count;
	return -1;
}

bool world_has_row(const struct world *w, const char *resource)
{
	for (size_t i = 0; i < w->plan.status.n_rows; i++)
		if (str_equal(w->plan.status.rows[i].resource, str_from(resource)))
			return true;
	return false;
}

const struct quota_row *world_row(const struct world *w, const char *resource, const char *product)
{
	for (size_t i = 0; i < w->plan.status.n_rows; i++)
		if (str_equal(w->plan.status.rows[i].resource, str_from(resource)) &&
		    str_equal(w->plan.status.rows[i].product, str_from(product)))
			return &w->plan.status.rows[i];
	fail_msg("no row %s on %s", resource, product);
	return NULL;
}

void assert_condition(const struct world *w, enum quota_condition which,
		      enum condition_status status, enum quota_reason reason)
{
	const struct condition *c = &w->plan.status.conditions[which];

	if (c->status != status || c->reason != reason)
		fail_msg("%s is %s, %s: %s", quota_condition_text(which),
			 condition_status_text(c->status), quota_reason_text(c->reason),
			 c->message);
}

void assert_says(const struct world *w, enum quota_condition which, const char *words)
{
	const char *message = w->plan.status.conditions[which].message;

	if (!strstr(message, words))
		fail_msg("\"%s\" is not in: %s", words, message);
}

void world_assert_sane(const struct world *w)
{
	for (int i = 0; i < QUOTA_CONDITION_COUNT; i++) {
		struct str s = str_from(w->plan.status.conditions[i].message);

		assert_true(s.len > 20 && s.len < QUOTA_MESSAGE_SIZE);
		assert_true(str_ends_with(s, STR(".")));
		assert_int_equal(w->plan.status.conditions[i].since_us % USEC_PER_SEC, 0);
	}
	for (size_t i = 1; i < w->plan.n_hard; i++)
		assert_true(resource_amount_compare(&w->plan.hard[i - 1], &w->plan.hard[i]) < 0);
}
