/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision: what is allowed and used, what the namespace's objects should hold, what status
 * says about it, and which of these the server does not have yet.
 */
#include "quota/decide.h"

#include "base/clock.h"
#include "base/macros.h"
#include "quota/internal.h"

/* Rounded up, so that 100 is shown only when all is used, and more only when it is more. */
static int64_t percent_of(int64_t used, int64_t effective)
{
	int64_t whole, rest, percent;

	if (used <= 0)
		return 0;
	if (effective <= 0 || used / effective > QUOTA_PERCENT_MOST / 100)
		return QUOTA_PERCENT_MOST;
	whole = used / effective * 100;
	rest = used % effective;
	/* Where a hundredfold does not fit, a hundredth is exact enough. */
	if (rest > INT64_MAX / 100)
		effective /= 100;
	else
		rest *= 100;
	percent = rest / effective + (rest % effective != 0);
	return MIN(whole + percent, QUOTA_PERCENT_MOST);
}

static void decide_amounts(struct decision *d)
{
	const struct quota_view *view = d->view;
	struct quota_status *status = &d->plan.status;

	status->observed_generation = view->generation;
	if (!d->plan.governs)
		return;
	status->effective = d->accepted ? view->spec->gpu_memory : 0;
	status->used = view->used;
	status->live = view->live;
	status->pods = view->pods;
	status->used_percent = percent_of(status->used, status->effective);
}

/* Whether what was seen has a key that is not wanted. Both are sorted by name. */
static bool holds_more(const struct resource_quota_view *seen, const struct quota_plan *plan)
{
	size_t wanted = 0;

	for (size_t i = 0; i < seen->n_hard; i++) {
		while (wanted < plan->n_hard &&
		       str_compare(plan->hard[wanted].resource, seen->hard[i].resource) < 0)
			wanted++;
		if (wanted == plan->n_hard ||
		    !str_equal(plan->hard[wanted].resource, seen->hard[i].resource))
			return true;
	}
	return seen->other_keys;
}

static int decide_resource_quota(struct decision *d, struct error *err)
{
	const struct resource_quota_view *seen = &d->view->resource_quota;

	if (!d->plan.governs)
		return 0;
	if (decide_hard(d, err) < 0 || decide_rows(d, err) < 0)
		return -1;
	d->plan.remake_resource_quota = seen->exists && seen->scoped;
	d->plan.replace_resource_quota = seen->exists && holds_more(seen, &d->plan);
	d->plan.write_resource_quota =
		!seen->exists || !seen->ours || seen->scoped || d->plan.replace_resource_quota ||
		!amounts_equal(seen->hard, seen->n_hard, d->plan.hard, d->plan.n_hard);
	return 0;
}

static int decide_limit_range(struct decision *d, struct error *err)
{
	const struct limit_range_view *seen = &d->view->limit_range;
	const struct quota_spec *spec = d->view->spec;

	if (!d->plan.governs)
		return 0;
	if (!d->accepted || spec->n_defaults == 0) {
		d->plan.delete_limit_range = seen->exists && seen->ours;
		return 0;
	}
	d->plan.defaults = amounts_copy(d->arena, spec->defaults, spec->n_defaults);
	if (!d->plan.defaults)
		return decide_no_memory(err);
	d->plan.n_defaults = spec->n_defaults;
	d->plan.write_limit_range = !seen->exists || !seen->ours || seen->other_limits ||
				    !amounts_equal(seen->defaults, seen->n_defaults,
						   d->plan.defaults, d->plan.n_defaults);
	return 0;
}

static void decide_status_write(struct decision *d)
{
	const struct quota_status *seen = d->view->status;

	d->plan.write_status = !seen || !quota_status_equal(seen, &d->plan.status);
	d->plan.status_urgent = !seen || quota_status_urgent(seen, &d->plan.status);
}

int quota_decide(const struct quota_view *view, struct arena *arena, struct quota_plan *ret_plan,
		 struct error *err)
{
	struct decision d = {.view = view, .arena = arena};

	d.plan.governs = !view->terminating && !view->duplicate;
	d.plan.look_again_us = TIME_NEVER;
	d.accepted = d.plan.governs && !view->invalid;

	decide_amounts(&d);
	if (decide_resource_quota(&d, err) < 0 || decide_limit_range(&d, err) < 0)
		return -1;
	decide_conditions(&d);
	decide_status_write(&d);
	*ret_plan = d.plan;
	return 0;
}
