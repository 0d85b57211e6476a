/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What there is too much of, and why: a cut is seen by what the last status says was allowed, since
 * that is all that a restart leaves. From the cause follows who goes, and when.
 */
#include "base/checked.h"
#include "quota/internal.h"

/* What is found while all that may be exceeded is gone through. */
struct cause {
	struct decision *d;
	bool shrunk; /* the last verdict was SHRUNK, which stays until all is within */
	bool cut;    /* what was found is a cut */
};

/* The first counts, but one that was cut before one that was not. */
static void consider(struct cause *cause, const struct quota_excess *excess, bool cut)
{
	struct decision *d = cause->d;

	if (excess->held <= excess->allowed)
		return;
	if (d->excess.kind != EXCESS_NONE && (cause->cut || !cut))
		return;
	d->excess = *excess;
	cause->cut = cut;
}

/*
 * Whether the last status let the namespace have more units than @allowed. No row's hard is above
 * what bounds its resource, so that one above @allowed proves a cut.
 */
static bool had_more(const struct decision *d, struct str resource, int64_t allowed)
{
	const struct quota_status *seen = d->view->status;

	for (size_t i = 0; seen && i < seen->n_rows; i++) {
		const struct quota_row *row = &seen->rows[i];
		bool concerned = str_empty(resource) ? row->sharing == DEVICE_WHOLE
						     : str_equal(row->resource, resource);

		if (concerned && row->hard > allowed)
			return true;
	}
	return false;
}

/*
 * What it is entitled to counts, not what it may hold at this moment: a donor that is lowered, or
 * one that waits for another, loses no pod for it.
 */
static void consider_memory(struct cause *cause)
{
	const struct quota_status *seen = cause->d->view->status, *now = &cause->d->plan.status;
	bool entitled = now->used - now->borrowed <= now->granted;
	bool fell = seen && seen->granted > now->granted;

	consider(cause, &(struct quota_excess){EXCESS_MEMORY, now->used, now->effective, STR_NONE},
		 !entitled && (fell || cause->shrunk));
}

static void consider_gpus(struct cause *cause)
{
	const struct decision *d = cause->d;
	int64_t used = d->plan.status.gpus_used;
	bool entitled = d->granted_gpus == AMOUNT_NONE || used <= d->granted_gpus;

	if (d->gpus != AMOUNT_NONE)
		consider(cause, &(struct quota_excess){EXCESS_GPUS, used, d->gpus, STR_NONE},
			 !entitled && (cause->shrunk || had_more(d, STR_NONE, d->granted_gpus)));
}

static struct str name_of(const struct quota_view *view, uint32_t handle)
{
	return str_from(view->name(view->name_context, handle));
}

/* Units of one resource, over all products. */
static int64_t units_used(const struct quota_view *view, struct str resource)
{
	int64_t sum = 0;

	for (size_t i = 0; i < view->n_uses; i++)
		if (str_equal(name_of(view, view->uses[i].resource), resource))
			sum = saturating_add(sum, view->uses[i].count);
	return sum;
}

static void consider_resources(struct cause *cause)
{
	const struct quota_view *view = cause->d->view;

	for (size_t i = 0; i < view->spec->n_caps; i++) {
		const struct resource_amount *cap = &view->spec->caps[i];

		consider(cause,
			 &(struct quota_excess){EXCESS_RESOURCE, units_used(view, cap->resource),
						cap->count, cap->resource},
			 cause->shrunk || had_more(cause->d, cap->resource, cap->count));
	}
}

/* Bytes and whole cards of one product, over all resources. */
static void product_used(const struct quota_view *view, struct str product, int64_t *ret_bytes,
			 int64_t *ret_gpus)
{
	int64_t bytes = 0, gpus = 0;

	for (size_t i = 0; i < view->n_uses; i++) {
		const struct quota_use *use = &view->uses[i];
		const struct price_row *row;

		if (!str_equal(name_of(view, use->product), product))
			continue;
		row = price_find(&view->prices, use->resource, use->product);
		bytes = saturating_add(bytes, use->bytes);
		if (row && row->sharing == DEVICE_WHOLE)
			gpus = saturating_add(gpus, use->count);
	}
	*ret_bytes = bytes;
	*ret_gpus = gpus;
}

static void consider_products(struct cause *cause)
{
	const struct quota_view *view = cause->d->view;

	for (size_t i = 0; i < view->spec->n_products; i++) {
		const struct product_cap *cap = &view->spec->products[i];
		int64_t bytes, gpus;

		product_used(view, cap->product, &bytes, &gpus);
		if (cap->gpu_memory != AMOUNT_NONE)
			consider(cause,
				 &(struct quota_excess){EXCESS_PRODUCT_MEMORY, bytes,
							cap->gpu_memory, cap->product},
				 false);
		if (cap->gpus != AMOUNT_NONE)
			consider(cause,
				 &(struct quota_excess){EXCESS_PRODUCT_GPUS, gpus, cap->gpus,
							cap->product},
				 false);
	}
}

/* The last verdict, where it was one about a cut that still stands. */
static const struct condition *seen_cut(const struct decision *d)
{
	const struct quota_status *status = d->view->status;
	const struct condition *seen = status ? &status->conditions[QUOTA_EXCEEDED] : NULL;

	if (!seen || seen->status != CONDITION_TRUE || !quota_reason_is_cut(seen->reason))
		return NULL;
	return seen;
}

static bool evicts_nobody(const struct decision *d)
{
	return !d->usable || d->dry_run || d->excess.kind == EXCESS_PRODUCT_MEMORY ||
	       d->excess.kind == EXCESS_PRODUCT_GPUS;
}

static enum quota_reason reason_of(const struct decision *d, bool cut)
{
	const struct quota_share *share = d->view->share;

	if (evicts_nobody(d))
		return QUOTA_REASON_OVER_LIMIT;
	if (cut)
		return QUOTA_REASON_SHRUNK;
	if (d->excess.kind == EXCESS_MEMORY && share && share->grant.recalled)
		return QUOTA_REASON_RECALLED;
	return QUOTA_REASON_OVER_LIMIT;
}

/* Real time from which pods go. */
static int64_t evict_from(const struct decision *d)
{
	const struct quota_spec *spec = d->view->spec;

	switch (spec->on_shrink) {
	case SHRINK_EVICT:
		return 0;
	case SHRINK_DRAIN:
		return saturating_add(d->excess_since_us, spec->shrink_deadline_us);
	case SHRINK_FREEZE:
		break;
	}
	return TIME_NEVER;
}

static void decide_eviction(struct decision *d)
{
	const struct quota_view *view = d->view;
	const struct condition *seen = seen_cut(d);
	int64_t wait_us;

	d->excess_since_us =
		seen && seen->since_us > 0 ? seen->since_us : full_second(view->now_real_us);
	d->evict_from_us = evict_from(d);
	if (d->evict_from_us == TIME_NEVER)
		return;
	wait_us = d->evict_from_us - view->now_real_us;
	if (wait_us > 0)
		decide_again(d, view->now_us + wait_us);
	else if (view->holders)
		d->plan.evict =
			quota_shrink_next(&d->excess, view->holders, view->n_holders, &d->blocked);
	else
		d->plan.needs_holders = true;
}

void decide_excess(struct decision *d)
{
	const struct condition *seen = seen_cut(d);
	struct cause cause = {.d = d, .shrunk = seen && seen->reason == QUOTA_REASON_SHRUNK};

	if (d->undecided)
		return;
	consider_memory(&cause);
	consider_gpus(&cause);
	if (d->usable) {
		consider_resources(&cause);
		consider_products(&cause);
	}
	if (d->excess.kind == EXCESS_NONE)
		return;
	d->excess_reason = reason_of(d, cause.cut);
	if (quota_reason_is_cut(d->excess_reason))
		decide_eviction(d);
}
