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

static bool copy_name(struct arena *arena, struct str name, struct str *ret_name)
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
		if (!copy_name(arena, amounts[i].resource, &copy[i].resource))
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

/* The least of @count, the spec's cap for @resource, and, for whole cards, the spec's gpus. */
static int64_t cap(const struct quota_spec *spec, struct str resource, bool whole, int64_t count)
{
	if (whole && spec->gpus != AMOUNT_NONE)
		count = MIN(count, spec->gpus);
	for (size_t i = 0; i < spec->n_caps; i++)
		if (str_equal(spec->caps[i].resource, resource))
			count = MIN(count, spec->caps[i].count);
	return MAX(count, 0);
}

static int64_t units_of(const struct decision *d, struct str resource, bool whole, int64_t unit)
{
	if (!d->accepted || unit == AMOUNT_UNKNOWN)
		return 0;
	return cap(d->view->spec, resource, whole, d->plan.status.effective / unit);
}

static bool all_whole(const struct price_list *slice)
{
	for (size_t i = 0; i < slice->n_rows; i++)
		if (slice->rows[i].sharing != DEVICE_WHOLE)
			return false;
	return true;
}

int decide_hard(struct decision *d, struct error *err)
{
	const struct price_list *prices = &d->view->prices;
	struct resource_amount *hard = arena_alloc(d->arena, prices->n_rows * sizeof(*hard));
	size_t n = 0;

	if (!hard)
		return decide_no_memory(err);
	for (size_t i = 0; i < prices->n_rows; n++) {
		uint32_t resource = prices->rows[i].resource;
		struct price_list slice = price_of(prices, resource);
		struct str name = name_of(d->view, resource);
		int64_t smallest = price_smallest(prices, resource, resource_memory_by_name(name));

		if (!copy_name(d->arena, name, &hard[n].resource))
			return decide_no_memory(err);
		hard[n].count = units_of(d, name, all_whole(&slice), smallest);
		i += slice.n_rows;
	}
	if (n > 1)
		qsort(hard, n, sizeof(*hard), resource_amount_compare);
	d->plan.hard = hard;
	d->plan.n_hard = n;
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
	struct quota_row *row = ret_row;

	row->resource = name_of(view, price->resource);
	row->product = name_of(view, price->product);
	row->sharing = price->sharing;
	row->unit_memory = price_unit(&view->prices, price->resource, price->product,
				      resource_memory_by_name(row->resource));
	row->hard = units_of(d, row->resource, price->sharing == DEVICE_WHOLE, row->unit_memory);
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
		int64_t used = used_of(d->view, price, &at);

		if (resource_family(name_of(d->view, price->resource)) == RESOURCE_FRACTION)
			continue;
		fill_row(d, price, &rows[n]);
		rows[n].used = used;
		if (price->sharing == DEVICE_WHOLE)
			d->plan.status.gpus_used += used;
		n++;
	}
	n = bound_rows(d, rows, n);
	for (size_t i = 0; i < n; i++)
		if (!copy_name(d->arena, rows[i].resource, &rows[i].resource) ||
		    !copy_name(d->arena, rows[i].product, &rows[i].product))
			return decide_no_memory(err);
	d->plan.status.rows = rows;
	d->plan.status.n_rows = n;
	return 0;
}
