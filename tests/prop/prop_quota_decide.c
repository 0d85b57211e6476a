/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random price lists, specs, grants and uses: hard values are the floor they claim to be, rows add
 * up to the uses to the byte, a decision that was carried out has nothing left to write, and
 * evictions end where they should.
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
#define RESOURCES 8
#define HOLDERS   12
#define PRODUCTS  5
#define MOST_ROWS (RESOURCES * PRODUCTS)

static const char *const resources[RESOURCES] = {"nvidia.com/gpu",
						 "nvidia.com/gpu.shared",
						 "nvidia.com/mig-1g.10gb",
						 "nvidia.com/mig-3g.40gb",
						 "amd.com/gpu",
						 "nvidia.com/gpumem",
						 "kai.scheduler/gpu-memory",
						 "a.deviceclass.resource.k8s.io/devices"};
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
	struct product_cap product_caps[PRODUCTS];
	struct quota_holder holders[HOLDERS];
	char names[HOLDERS][8];
	struct quota_share share;
	struct quota_spec spec;
	struct quota_view view;
};

static int64_t below(struct random *r, uint64_t bound)
{
	return (int64_t)random_below(r, bound);
}

static int64_t up_to(struct random *r, int64_t most)
{
	return below(r, (uint64_t)most + 1);
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

static size_t random_products(struct random *r, struct product_cap *ret_caps)
{
	size_t n = 0;

	for (size_t i = 1; i < PRODUCTS; i++)
		if (random_below(r, 6) == 0)
			ret_caps[n++] = (struct product_cap){
				str_from(products[i]), below(r, 300) * GIB,
				random_below(r, 2) ? AMOUNT_NONE : below(r, 9)};
	return n;
}

/* Some rows of the price list in use; what has no price is not charged. */
static void random_uses(struct random *r, struct scene *s)
{
	struct quota_view *view = &s->view;

	for (size_t i = 0; i < view->prices.n_rows; i++) {
		const struct price_row *row = &s->prices[i];
		struct quota_use use = {row->resource, row->product, 1 + below(r, 9), 0, 0};
		int64_t unit =
			price_unit(&view->prices, row->resource, row->product,
				   resource_memory_by_name(str_from(resources[row->resource])));

		if (random_below(r, 2))
			continue;
		use.count_live = below(r, 9) % (use.count + 1);
		if (unit == AMOUNT_UNKNOWN)
			view->unpriced += use.count;
		else
			use.bytes = use.count * unit;
		view->used += use.bytes;
		s->uses[view->n_uses++] = use;
	}
	view->uses = s->uses;
}

static size_t random_prices(struct random *r, struct price_row *ret_rows)
{
	size_t n = 0;

	for (uint32_t i = 0; i < RESOURCES; i++)
		for (uint32_t k = 0; k < PRODUCTS; k++)
			if (random_below(r, 3) == 0)
				ret_rows[n++] = random_row(r, i, k);
	return n;
}

static void random_share(struct random *r, struct scene *s)
{
	struct tenant_grant *grant = &s->share.grant;

	s->share = (struct quota_share){.tenant = STR("acme"), .any_gpus = random_below(r, 2)};
	if (random_below(r, 10) > 0) {
		grant->outcome = (enum grant_outcome)random_below(r, 3);
		grant->granted = (1 + below(r, 1000)) * GIB;
		grant->granted_gpus = below(r, 20);
		grant->effective_gpus = up_to(r, grant->granted_gpus);
		grant->lent = below(r, 2) * up_to(r, grant->granted);
		grant->borrowed = grant->lent ? 0 : below(r, 2) * below(r, 100 * GIB);
		grant->effective = up_to(r, grant->granted - grant->lent + grant->borrowed);
		grant->recalled = random_below(r, 2);
		grant->missing = below(r, GIB);
	}
	s->view.share = random_below(r, 2) ? &s->share : NULL;
}

static void random_holders(struct random *r, struct scene *s)
{
	struct quota_view *view = &s->view;

	for (size_t i = 0; i < HOLDERS; i++) {
		snprintf(s->names[i], sizeof(s->names[i]), "p%zu", i);
		s->holders[i] = (struct quota_holder){
			.name = str_from(s->names[i]),
			.owner_kind = STR("Job"),
			.owner_name = random_below(r, 2) ? STR("train") : STR_NONE,
			.charge = below(r, 200) * GIB,
			.gpus = below(r, 4),
			.created_us = view->now_real_us - view->now_real_us % USEC_PER_SEC +
				      (below(r, 60) - 50) * USEC_PER_SEC,
			.terminating = random_below(r, 20) == 0,
			.blocked = random_below(r, 5) == 0 ? "a budget" : NULL,
		};
	}
	view->holders = s->holders;
	view->n_holders = random_below(r, HOLDERS + 1);
}

static void random_spec(struct random *r, struct scene *s)
{
	s->spec = (struct quota_spec){
		.gpu_memory = GIB + below(r, 1000) * GIB + below(r, 2) * below(r, GIB),
		.gpus = random_below(r, 3) ? AMOUNT_NONE : below(r, 20),
		.pod_gpu_memory = random_below(r, 2) ? AMOUNT_NONE : below(r, 200) * GIB,
		.pod_gpus = AMOUNT_NONE,
		.caps = s->caps,
		.n_caps = random_amounts(r, s->caps),
		.defaults = s->defaults,
		.products = s->product_caps,
		.n_products = random_products(r, s->product_caps),
		.on_shrink = (enum shrink_policy)random_below(r, 3),
		.shrink_deadline_us = below(r, 100) * USEC_PER_SEC,
		.dry_run = random_below(r, 5) == 0,
	};
	if (random_below(r, 3) == 0)
		s->spec.n_defaults = random_amounts(r, s->defaults);
}

static void random_scene(struct random *r, struct scene *s)
{
	random_spec(r, s);
	s->view = (struct quota_view){
		.spec = &s->spec,
		.generation = 1 + below(r, 9),
		.terminating = random_below(r, 20) == 0,
		.duplicate = random_below(r, 10) == 0,
		.governing = STR("other"),
		.invalid = random_below(r, 10) == 0 ? "it is not" : NULL,
		.prices = {s->prices, random_prices(r, s->prices)},
		.name = name,
		.live = below(r, 100) * GIB,
		.pods = below(r, 100),
		.recount_drift = random_below(r, 10) == 0 ? below(r, GIB) : 0,
		.assumed = random_below(r, 5) == 0 ? below(r, GIB) : 0,
		.released = below(r, 2) * below(r, GIB),
		.now_us = 1 + below(r, 1000000 * USEC_PER_SEC),
		.now_real_us =
			(1000 + below(r, 2000000000)) * USEC_PER_SEC + below(r, USEC_PER_SEC),
	};
	random_uses(r, s);
	random_share(r, s);
	random_holders(r, s);
}

/* Whether caps, of whichever kind, may bound @resource below what memory buys. */
static bool may_be_capped(const struct quota_view *view, struct str resource)
{
	const struct quota_spec *spec = view->spec;

	if (spec->gpus != AMOUNT_NONE || (view->share && !view->share->any_gpus) ||
	    spec->n_products > 0)
		return true;
	for (size_t i = 0; i < spec->n_caps; i++)
		if (str_equal(spec->caps[i].resource, resource))
			return true;
	return false;
}

static uint32_t handle_of(struct str resource)
{
	if (str_equal(resource, STR(RESOURCE_HAMI_LIMIT)))
		resource = STR("nvidia.com/gpumem");
	for (uint32_t i = 0; i < RESOURCES; i++)
		if (str_equal(str_from(resources[i]), resource))
			return i;
	fail();
	return 0;
}

static int64_t effective_of(const struct quota_view *view, const struct quota_plan *plan)
{
	const struct tenant_grant *grant = view->share ? &view->share->grant : NULL;

	if (!plan->governs || view->invalid)
		return 0;
	return grant ? grant->effective : view->spec->gpu_memory;
}

static void check_hard(const struct quota_view *view, const struct quota_plan *plan)
{
	bool usable = plan->governs && !view->invalid;
	int64_t effective = plan->status.effective;

	assert_int_equal(effective, effective_of(view, plan));
	for (size_t i = 0; i < plan->n_hard; i++) {
		struct str resource = plan->hard[i].resource;
		int64_t hard = plan->hard[i].count;
		int64_t smallest = price_smallest(&view->prices, handle_of(resource),
						  resource_memory_by_name(resource));

		assert_true(hard >= 0);
		assert_false(str_starts_with(resource, STR("kai.scheduler/")));
		if (smallest == AMOUNT_UNKNOWN || !usable) {
			assert_int_equal(hard, 0);
			continue;
		}
		assert_true(hard * smallest <= effective);
		if (!may_be_capped(view, str_from(resources[handle_of(resource)])))
			assert_true(effective < (hard + 1) * smallest);
		for (size_t k = 0; k < view->spec->n_caps; k++)
			if (str_equal(view->spec->caps[k].resource, resource))
				assert_true(hard <= view->spec->caps[k].count);
	}
}

/* Whether the API server counts the resource, or nobody asks it to. */
static bool is_counted(const struct quota_view *view, struct str resource)
{
	const struct resource_quota_view *quota = &view->resource_quota;

	if ((view->spec->dry_run && !view->invalid) ||
	    resource_quota_key_kind(resource) == RESOURCE_KEY_NONE)
		return true;
	for (size_t i = 0; quota->exists && i < quota->n_status_hard; i++)
		for (size_t k = 0; k < quota->n_hard; k++)
			if (str_equal(quota->status_hard[i].resource, resource) &&
			    str_equal(quota->hard[k].resource, resource))
				return true;
	return false;
}

/*
 * No row promises more than the ResourceQuota lets by, none tells the price of what the API server
 * does not count, and all other use is shown, to the byte.
 */
static void check_rows(const struct quota_view *view, const struct quota_plan *plan)
{
	int64_t shown = 0, bytes = 0, used = 0;
	bool counted = true;

	for (size_t i = 0; i < plan->status.n_rows; i++) {
		const struct quota_row *row = &plan->status.rows[i];

		shown += row->used;
		if (!is_counted(view, row->resource)) {
			assert_int_equal(row->unit_memory, AMOUNT_UNKNOWN);
			counted = counted && row->used == 0;
			continue;
		}
		if (row->unit_memory == AMOUNT_UNKNOWN) {
			assert_int_equal(row->hard, 0);
			continue;
		}
		bytes += row->used * row->unit_memory;
		assert_true(row->hard <= plan->status.effective / row->unit_memory);
	}
	for (size_t i = 0; i < view->n_uses; i++)
		used += view->uses[i].count;
	assert_int_equal(shown, plan->governs ? used : 0);
	assert_int_equal(plan->status.used, plan->governs ? view->used : 0);
	if (counted)
		assert_int_equal(bytes, plan->status.used);
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
	if (plan->delete_resource_quota)
		*quota = (struct resource_quota_view){0};
	if (plan->delete_limit_range)
		*range = (struct limit_range_view){0};
	if (plan->write_status) {
		*status = plan->status;
		view->status = status;
	}
}

/* Long enough for all deadlines that a scene may have. */
#define LATER (200 * USEC_PER_SEC)

static void check_convergence(struct quota_view *view, struct arena *arena)
{
	struct quota_status statuses[3];
	struct quota_plan plan;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(quota_decide(view, arena, &plan, NULL), 0);
		assert_false(plan.needs_holders);
		settle(view, &plan, &statuses[i]);
		view->now_us += LATER;
		view->now_real_us += LATER;
	}
	assert_int_equal(quota_decide(view, arena, &plan, NULL), 0);
	assert_false(plan.write_status || plan.status_urgent || plan.write_resource_quota ||
		     plan.delete_resource_quota || plan.write_limit_range ||
		     plan.delete_limit_range);
	assert_int_equal(plan.look_again_us, TIME_NEVER);
	check_rows(view, &plan);
}

/* Namespaces where the tenant has not decided are what they were: tested case by case. */
static bool is_undecided(const struct scene *s)
{
	return s->view.share && s->share.grant.outcome == GRANT_FULL && s->share.grant.granted == 0;
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

		do
			random_scene(&random, &scene);
		while (is_undecided(&scene));
		assert_int_equal(quota_decide(&scene.view, &arena, &plan, NULL), 0);
		check_hard(&scene.view, &plan);
		check_rows(&scene.view, &plan);
		check_convergence(&scene.view, &arena);
		arena_reset(&arena);
	}
	arena_clear(&arena);
}

/* --- evictions */

static void add_up(struct quota_view *view)
{
	view->used = 0;
	for (size_t i = 0; i < view->n_holders; i++)
		view->used += view->holders[i].charge;
}

static bool is_cut(const struct quota_plan *plan)
{
	const struct condition *c = &plan->status.conditions[QUOTA_EXCEEDED];

	return c->status == CONDITION_TRUE &&
	       (c->reason == QUOTA_REASON_SHRUNK || c->reason == QUOTA_REASON_RECALLED);
}

static bool may_go(const struct quota_holder *holder)
{
	return !holder->blocked && holder->charge > 0;
}

/* The holder that the plan names, as one of the scene. */
static size_t check_choice(const struct quota_view *view, const struct quota_plan *plan)
{
	size_t chosen = (size_t)(plan->evict - view->holders);

	assert_true(chosen < view->n_holders && may_go(plan->evict));
	for (size_t i = 0; i < view->n_holders; i++) {
		assert_false(view->holders[i].terminating);
		if (may_go(&view->holders[i]))
			assert_true(view->holders[i].created_us <= plan->evict->created_us);
	}
	return chosen;
}

/* Evicts until nobody is to go; every step is decided from what the server holds. */
static void evict_all(struct scene *s, struct arena *arena, struct quota_plan *ret_plan)
{
	static struct quota_status statuses[HOLDERS + 1];

	for (int step = 0;; step++) {
		size_t chosen;

		add_up(&s->view);
		assert_int_equal(quota_decide(&s->view, arena, ret_plan, NULL), 0);
		assert_true(step <= HOLDERS);
		settle(&s->view, ret_plan, &statuses[step]);
		if (!ret_plan->evict)
			return;
		assert_true(is_cut(ret_plan));
		assert_true(s->view.used > ret_plan->status.effective);
		chosen = check_choice(&s->view, ret_plan);
		s->holders[chosen].terminating = true;
		assert_int_equal(quota_decide(&s->view, arena, ret_plan, NULL), 0);
		assert_null(ret_plan->evict);
		s->holders[chosen] = s->holders[--s->view.n_holders];
	}
}

static void cut_grant(struct tenant_grant *grant)
{
	grant->effective -= grant->granted - 1;
	grant->granted = 1;
}

/* A namespace that is within, and whose memory is then cut or called back. */
static void random_cut(struct random *r, struct scene *s, struct arena *arena,
		       struct quota_status *ret_status)
{
	bool shared = s->view.share;
	struct tenant_grant *grant = &s->share.grant;
	struct quota_plan plan;

	s->view.terminating = s->view.duplicate = false;
	s->view.invalid = NULL;
	s->view.n_uses = 0;
	s->spec.dry_run = false;
	s->spec.on_shrink = SHRINK_EVICT;
	for (size_t i = 0; i < HOLDERS; i++)
		s->holders[i].terminating = false;
	add_up(&s->view);
	s->spec.gpu_memory = s->view.used + GIB;
	*grant = (struct tenant_grant){.granted = s->view.used / 2 + GIB,
				       .borrowed = s->view.used / 2 + GIB};
	grant->effective = grant->granted + grant->borrowed;
	assert_int_equal(quota_decide(&s->view, arena, &plan, NULL), 0);
	assert_null(plan.evict);
	settle(&s->view, &plan, ret_status);
	s->spec.gpu_memory = 1 + up_to(r, s->spec.gpu_memory);
	grant->recalled = random_below(r, 2);
	if (shared && grant->recalled)
		grant->effective = grant->granted;
	else if (shared)
		cut_grant(grant);
}

static void test_evictions_end_when_all_is_within(void **state)
{
	static struct scene scene;
	struct quota_status before;
	struct arena arena;
	struct random random;
	size_t ended_within = 0;

	(void)state;
	arena_init(&arena, 0);
	random_init(&random, 20240608);
	for (int i = 0; i < ROUNDS; i++) {
		struct quota_plan plan;

		random_scene(&random, &scene);
		random_cut(&random, &scene, &arena, &before);
		evict_all(&scene, &arena, &plan);
		if (!is_cut(&plan))
			ended_within++;
		for (size_t k = 0; is_cut(&plan) && k < scene.view.n_holders; k++)
			assert_false(may_go(&scene.holders[k]));
		arena_reset(&arena);
	}
	assert_true(ended_within > ROUNDS / 4 && ended_within < ROUNDS);
	arena_clear(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decisions_are_floors_and_settle),
		cmocka_unit_test(test_evictions_end_when_all_is_within),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
