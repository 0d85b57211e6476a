/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `effective` buys: hard values by resource, rows by resource and product. Both follow the
 * price list, so they change with entitlements and offers and never with a pod.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "base/macros.h"
#include "model/resource.h"
#include "quota/internal.h"

/* What of HAMi is bounded by two keys. */
#define HAMI_MEMORY "nvidia.com/gpumem"

int decide_no_memory(struct error *err)
{
	return error_set(err, ERROR_LIMIT, "the decision takes more memory than it may");
}

bool amounts_equal(const struct resource_amount *a, size_t n_a, const struct resource_amount *b,
		   size_t n_b)
{
	if (n_a != n_b)
		return false;
	for (size_t i = 0; i < n_a; i++)
		if (a[i].count != b[i].count || !str_equal(a[i].resource, b[i].resource))
			return false;
	return true;
}

bool name_copy(struct arena *arena, struct str name, struct str *ret_name)
{
	const char *copy = arena_strndup(arena, name.data, name.len);

	if (!copy)
		return false;
	*ret_name = (struct str){copy, name.len};
	return true;
}

struct resource_amount *amounts_copy(struct arena *arena, const struct resource_amount *amounts,
				     size_t n)
{
	struct resource_amount *copy = arena_alloc(arena, n * sizeof(*copy));

	if (!copy)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		copy[i].count = amounts[i].count;
		if (!name_copy(arena, amounts[i].resource, &copy[i].resource))
			return NULL;
	}
	if (n > 1)
		qsort(copy, n, sizeof(*copy), resource_amount_compare);
	return copy;
}

static struct str name_of(const struct quota_view *view, uint32_t handle)
{
	return str_from(view->name(view->name_context, handle));
}

/* What is to be bought, and what bounds it. */
struct purchase {
	struct str resource, product; /* product: empty where there are several */
	int64_t unit;                 /* bytes, or AMOUNT_UNKNOWN */
	bool whole;                   /* each unit is a whole card */
};

static int64_t product_bound(const struct quota_spec *spec, const struct purchase *p, int64_t count)
{
	for (size_t i = 0; i < spec->n_products; i++) {
		const struct product_cap *cap = &spec->products[i];

		if (!str_equal(cap->product, p->product))
			continue;
		if (cap->gpu_memory != AMOUNT_NONE)
			count = MIN(count, cap->gpu_memory / p->unit);
		if (cap->gpus != AMOUNT_NONE && p->whole)
			count = MIN(count, cap->gpus);
	}
	return count;
}

static int64_t units_of(const struct decision *d, const struct purchase *p)
{
	const struct quota_spec *spec = d->view->spec;
	int64_t count;

	if (!d->usable || p->unit == AMOUNT_UNKNOWN)
		return 0;
	count = d->plan.status.effective / p->unit;
	if (p->whole && d->gpus != AMOUNT_NONE)
		count = MIN(count, d->gpus);
	for (size_t i = 0; i < spec->n_caps; i++)
		if (str_equal(spec->caps[i].resource, p->resource))
			count = MIN(count, spec->caps[i].count);
	return MAX(product_bound(spec, p, count), 0);
}

/* Any unit of the resource, as ResourceQuota counts them. */
static struct purchase purchase_of(const struct quota_view *view, const struct price_list *slice,
				   struct str resource)
{
	uint32_t product = slice->rows[0].product;
	struct purchase p = {.resource = resource, .whole = true};
	bool several = false;

	for (size_t i = 0; i < slice->n_rows; i++) {
		p.whole = p.whole && slice->rows[i].sharing == DEVICE_WHOLE;
		several = several || slice->rows[i].product != product;
	}
	if (!several)
		p.product = name_of(view, product);
	p.unit = price_smallest(slice, slice->rows[0].resource, resource_memory_by_name(resource));
	return p;
}

static bool add_hard(struct decision *d, struct resource_amount *hard, struct str name,
		     int64_t count)
{
	if (!name_copy(d->arena, name, &hard[d->plan.n_hard].resource))
		return false;
	hard[d->plan.n_hard++].count = count;
	return true;
}

/* What HAMi's scheduler reads stands beside what the API server counts. */
static bool add_hard_of(struct decision *d, const struct price_list *slice,
			struct resource_amount *hard)
{
	struct str name = name_of(d->view, slice->rows[0].resource);
	struct purchase p = purchase_of(d->view, slice, name);
	int64_t count = units_of(d, &p);

	if (resource_quota_key_kind(name) == RESOURCE_KEY_NONE)
		return true;
	if (str_equal(name, STR(HAMI_MEMORY)) &&
	    !add_hard(d, hard, STR(RESOURCE_HAMI_LIMIT), count))
		return false;
	return add_hard(d, hard, name, count);
}

static bool has_key(const struct resource_amount *amounts, size_t n, struct str resource)
{
	for (size_t i = 0; i < n; i++)
		if (str_equal(amounts[i].resource, resource))
			return true;
	return false;
}

/* A class that is charged otherwise than its name tells has no key of its own. */
static bool is_listed_class(const struct quota_classes *classes, struct str name)
{
	struct str class;

	if (!resource_device_class(name, &class))
		return false;
	for (size_t i = 0; i < classes->n; i++)
		if (str_equal(classes->list[i].name, class))
			return true;
	return false;
}

/* A class of GPUs stands for it. */
static bool is_listed_row(const struct quota_classes *classes, struct str name)
{
	for (size_t i = 0; i < classes->n; i++)
		if (str_equal(classes->list[i].resource, name))
			return true;
	return false;
}

/*
 * What was counted once stays so, at nothing: else what is created while no node offers it would
 * run when one does again.
 */
static bool keep_hard(struct decision *d, struct resource_amount *hard)
{
	const struct resource_quota_view *seen = &d->view->resource_quota;

	if (!seen->ours && !d->view->managed)
		return true;
	for (size_t i = 0; i < seen->n_hard; i++) {
		struct str name = seen->hard[i].resource;

		if ((resource_is_gpu(name) || is_listed_row(&d->view->classes, name)) &&
		    !has_key(hard, d->plan.n_hard, name) &&
		    !is_listed_class(&d->view->classes, name) && !add_hard(d, hard, name, 0))
			return false;
	}
	return true;
}

int decide_hard(struct decision *d, struct error *err)
{
	const struct price_list *prices = &d->view->prices;
	size_t most = prices->n_rows + 1 + d->view->resource_quota.n_hard;
	struct resource_amount *hard = arena_alloc(d->arena, most * sizeof(*hard));

	if (!hard)
		return decide_no_memory(err);
	for (size_t i = 0; i < prices->n_rows;) {
		struct price_list slice = price_of(prices, prices->rows[i].resource);

		if (!add_hard_of(d, &slice, hard))
			return decide_no_memory(err);
		i += slice.n_rows;
	}
	if (!keep_hard(d, hard))
		return decide_no_memory(err);
	if (d->plan.n_hard > 1)
		qsort(hard, d->plan.n_hard, sizeof(*hard), resource_amount_compare);
	d->plan.hard = hard;
	return 0;
}

/* --- rows */

static int by_name(const void *a, const void *b)
{
	const struct quota_row *left = a, *right = b;
	int order = str_compare(left->resource, right->resource);

	return order != 0 ? order : str_compare(left->product, right->product);
}

static int in_use_first(const void *a, const void *b)
{
	const struct quota_row *left = a, *right = b;

	if ((left->used > 0) != (right->used > 0))
		return left->used > 0 ? -1 : 1;
	if ((left->unit_memory > 0) != (right->unit_memory > 0))
		return left->unit_memory > 0 ? -1 : 1;
	return by_name(a, b);
}

/* Uses are sorted as prices are: *@at goes through them once. */
static int64_t used_of(const struct quota_view *view, const struct price_row *price, size_t *at)
{
	for (; *at < view->n_uses; (*at)++) {
		const struct quota_use *use = &view->uses[*at];

		if (use->resource == price->resource && use->product == price->product)
			return use->count;
		if (use->resource > price->resource ||
		    (use->resource == price->resource && use->product > price->product))
			break;
	}
	return 0;
}

static void fill_row(const struct decision *d, const struct price_row *price,
		     struct quota_row *ret_row)
{
	const struct quota_view *view = d->view;
	struct purchase p = {
		.resource = name_of(view, price->resource),
		.product = name_of(view, price->product),
		.whole = price->sharing == DEVICE_WHOLE,
	};

	p.unit = price_unit(&view->prices, price->resource, price->product,
			    resource_memory_by_name(p.resource));
	*ret_row = (struct quota_row){
		.resource = p.resource,
		.product = p.product,
		.unit_memory = p.unit,
		.sharing = price->sharing,
		.hard = units_of(d, &p),
	};
}

/*
 * KAI's two follow from nvidia.com/gpu, by which the admission policy prices them: in a namespace
 * that does not use them they would be noise. Of a fraction that nothing prices there is nothing to
 * tell.
 */
static bool is_shown(const struct quota_row *row)
{
	if (row->used > 0)
		return true;
	if (resource_quota_key_kind(row->resource) == RESOURCE_KEY_NONE)
		return false;
	return row->unit_memory != AMOUNT_UNKNOWN ||
	       resource_family(row->resource) != RESOURCE_FRACTION;
}

/*
 * Whether ResourceQuota counts the resource by now. Where its status has no such key yet, as with
 * the first node that offers it, it lets in any number: until it has, the row tells no price, and
 * the admission policy refuses what it cannot price. A key that only the status has is on its way
 * out; so may be all of it, while its owner is one that is gone.
 */
static bool is_counted(const struct decision *d, struct str resource)
{
	const struct resource_quota_view *seen = &d->view->resource_quota;

	if (d->dry_run || resource_quota_key_kind(resource) == RESOURCE_KEY_NONE)
		return true;
	return seen->ours && has_key(seen->hard, seen->n_hard, resource) &&
	       has_key(seen->status_hard, seen->n_status_hard, resource);
}

/* Keeps the rows in use where there are too many. */
static size_t bound_rows(struct decision *d, struct quota_row *rows, size_t n)
{
	if (n > LIMIT_STATUS_RESOURCES) {
		qsort(rows, n, sizeof(*rows), in_use_first);
		d->rows_left_out = n - LIMIT_STATUS_RESOURCES;
		n = LIMIT_STATUS_RESOURCES;
	}
	if (n > 1)
		qsort(rows, n, sizeof(*rows), by_name);
	return n;
}

int decide_rows(struct decision *d, struct error *err)
{
	const struct price_list *prices = &d->view->prices;
	struct quota_row *rows = arena_alloc(d->arena, prices->n_rows * sizeof(*rows));
	size_t n = 0, at = 0;

	if (!rows)
		return decide_no_memory(err);
	for (size_t i = 0; i < prices->n_rows; i++) {
		const struct price_row *price = &prices->rows[i];

		fill_row(d, price, &rows[n]);
		rows[n].used = used_of(d->view, price, &at);
		if (price->sharing == DEVICE_WHOLE)
			d->plan.status.gpus_used += rows[n].used;
		if (!is_shown(&rows[n]))
			continue;
		if (!is_counted(d, rows[n].resource))
			rows[n].unit_memory = AMOUNT_UNKNOWN;
		n++;
	}
	n = bound_rows(d, rows, n);
	for (size_t i = 0; i < n; i++)
		if (!name_copy(d->arena, rows[i].resource, &rows[i].resource) ||
		    !name_copy(d->arena, rows[i].product, &rows[i].product))
			return decide_no_memory(err);
	d->plan.status.rows = rows;
	d->plan.status.n_rows = n;
	return 0;
}
