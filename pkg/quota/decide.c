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

void decide_again(struct decision *d, int64_t at_us)
{
	d->plan.look_again_us = MIN(d->plan.look_again_us, at_us);
}

/* A spec is at least 1 GiB: a tenant that has decided granted some, or says why not. */
static bool undecided(const struct quota_share *share)
{
	return share && share->grant.outcome == GRANT_FULL && share->grant.granted == 0;
}

/*
 * A restart: what the tenant granted before is enforced and in status, and stays there as it is
 * until the tenant decides again.
 */
static bool is_known(const struct quota_view *view)
{
	return view->status && str_equal(view->status->tenant, view->share->tenant);
}

static int64_t least(int64_t a, int64_t b)
{
	if (a == AMOUNT_NONE || b == AMOUNT_NONE)
		return a == AMOUNT_NONE ? b : a;
	return MIN(a, b);
}

static void decide_grant(struct decision *d, const struct quota_share *share)
{
	struct quota_status *status = &d->plan.status;
	const struct tenant_grant *grant = &share->grant;

	status->granted = grant->granted;
	status->lent = grant->lent;
	status->borrowed = grant->borrowed;
	status->effective = d->usable ? grant->effective - grant->withheld : 0;
	if (share->any_gpus)
		return;
	status->granted_gpus = grant->granted_gpus;
	status->effective_gpus = d->usable ? grant->effective_gpus - grant->withheld_gpus : 0;
	d->granted_gpus = least(d->granted_gpus, grant->granted_gpus);
	d->gpus = least(d->gpus, grant->effective_gpus - grant->withheld_gpus);
}

static int decide_entitlement(struct decision *d, struct error *err)
{
	const struct quota_view *view = d->view;
	struct quota_status *status = &d->plan.status;

	status->observed_generation = view->generation;
	if (!d->plan.governs)
		return 0;
	if (d->usable)
		d->gpus = d->granted_gpus = view->spec->gpus;
	if (!view->share) {
		status->effective = status->granted = d->usable ? view->spec->gpu_memory : 0;
		return 0;
	}
	if (!name_copy(d->arena, view->share->tenant, &status->tenant))
		return decide_no_memory(err);
	if (!d->undecided)
		decide_grant(d, view->share);
	return 0;
}

static void decide_use(struct decision *d)
{
	const struct quota_view *view = d->view;
	struct quota_status *status = &d->plan.status;

	if (!d->plan.governs)
		return;
	status->used = view->used;
	status->live = view->live;
	status->pods = view->pods;
	status->released = view->released;
	status->released_pods = view->released_pods;
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

	if (d->dry_run) {
		d->plan.delete_resource_quota = seen->exists && (seen->ours || d->view->managed);
		return 0;
	}
	if (decide_hard(d, err) < 0)
		return -1;
	d->plan.remake_resource_quota = seen->exists && seen->scoped;
	d->plan.replace_resource_quota = seen->exists && holds_more(seen, &d->plan);
	d->plan.write_resource_quota =
		!seen->exists || !seen->ours || seen->scoped || seen->unanswered ||
		d->plan.replace_resource_quota ||
		!amounts_equal(seen->hard, seen->n_hard, d->plan.hard, d->plan.n_hard);
	return 0;
}

static int decide_limit_range(struct decision *d, struct error *err)
{
	const struct limit_range_view *seen = &d->view->limit_range;
	const struct quota_spec *spec = d->view->spec;

	if (!d->usable || d->dry_run || spec->n_defaults == 0) {
		d->plan.delete_limit_range =
			seen->exists && (seen->ours || (seen->owned && d->view->managed));
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

static int decide_classes(struct decision *d, struct error *err)
{
	const struct quota_classes *seen = &d->view->classes;
	struct quota_class *classes = arena_alloc(d->arena, seen->n * sizeof(*classes));

	if (!classes)
		return decide_no_memory(err);
	for (size_t i = 0; i < seen->n; i++)
		if (!name_copy(d->arena, seen->list[i].name, &classes[i].name) ||
		    !name_copy(d->arena, seen->list[i].resource, &classes[i].resource))
			return decide_no_memory(err);
	d->plan.status.classes = (struct quota_classes){.list = classes, .n = seen->n};
	return 0;
}

static int decide_dry_run(struct decision *d, struct error *err)
{
	const struct quota_view *view = d->view;
	struct dry_run_view looked = {
		.spec = view->spec,
		.effective = d->plan.status.effective,
		.gpus = d->gpus,
		.before = view->status ? &view->status->dry_run : NULL,
		.holders = view->holders,
		.n_holders = view->n_holders,
		.now_real_us = view->now_real_us,
	};
	int64_t again_us;

	if (!d->dry_run)
		return 0;
	d->plan.needs_holders = !view->holders;
	if (quota_dry_run(&looked, d->arena, &d->plan.status.dry_run, &again_us, err) < 0)
		return -1;
	if (again_us != TIME_NEVER)
		decide_again(d, view->now_us + again_us);
	return 0;
}

static int decide_objects(struct decision *d, struct error *err)
{
	if (decide_resource_quota(d, err) < 0)
		return -1;
	return decide_limit_range(d, err);
}

static void decide_status_write(struct decision *d)
{
	const struct quota_status *seen = d->view->status;
	bool unanswered = d->view->unanswered && d->plan.governs;

	d->plan.write_status = !seen || unanswered || !quota_status_equal(seen, &d->plan.status);
	d->plan.status_urgent = !seen || unanswered || quota_status_urgent(seen, &d->plan.status);
}

/* Whether admission prices pods by it: variable `governs` of config/admission/quota-policy.yaml. */
static bool prices_pods(const struct quota_status *status)
{
	const struct condition *accepted = &status->conditions[QUOTA_ACCEPTED];

	return accepted->status == CONDITION_TRUE ||
	       accepted->reason == QUOTA_REASON_CEILING_EXCEEDED ||
	       accepted->reason == QUOTA_REASON_INVALID;
}

static bool is_enforced(const struct decision *d)
{
	const struct resource_quota_view *seen = &d->view->resource_quota;

	return seen->exists &&
	       amounts_equal(seen->status_hard, seen->n_status_hard, d->plan.hard, d->plan.n_hard);
}

/*
 * In a dry run nothing is refused, and so nothing needs a price. The label goes only when
 * ResourceQuota holds: the API server may see that before the status.
 */
static bool is_priced(const struct decision *d)
{
	const struct quota_status *seen = d->view->status;

	if (d->dry_run)
		return true;
	if (!d->plan.governs)
		return false;
	return seen && prices_pods(seen) && prices_pods(&d->plan.status) &&
	       (!d->view->quotaless || is_enforced(d));
}

static int decide_governed(struct decision *d, struct error *err)
{
	if (decide_objects(d, err) < 0 || decide_rows(d, err) < 0 || decide_classes(d, err) < 0 ||
	    decide_dry_run(d, err) < 0)
		return -1;
	decide_excess(d);
	return 0;
}

int quota_decide(const struct quota_view *view, struct arena *arena, struct quota_plan *ret_plan,
		 struct error *err)
{
	struct decision d = {.view = view, .arena = arena};

	d.gpus = d.granted_gpus = AMOUNT_NONE;
	d.plan.governs = !view->terminating && !view->duplicate;
	d.plan.look_again_us = TIME_NEVER;
	d.evict_from_us = TIME_NEVER;
	d.usable = d.plan.governs && !view->invalid;
	d.undecided = d.usable && undecided(view->share);
	d.dry_run = d.usable && view->spec->dry_run;
	if (d.undecided && is_known(view)) {
		d.plan.status = *view->status;
		d.plan.priced = is_priced(&d);
		*ret_plan = d.plan;
		return 0;
	}

	if (decide_entitlement(&d, err) < 0)
		return -1;
	decide_use(&d);
	if (d.plan.governs && decide_governed(&d, err) < 0)
		return -1;
	decide_conditions(&d);
	decide_status_write(&d);
	d.plan.priced = is_priced(&d);
	*ret_plan = d.plan;
	return 0;
}

int quota_decide_bare(const struct quota_view *view, struct arena *arena,
		      struct quota_plan *ret_plan, struct error *err)
{
	struct decision d = {.view = view, .arena = arena};

	d.plan.governs = true;
	d.plan.look_again_us = TIME_NEVER;
	if (decide_objects(&d, err) < 0)
		return -1;
	*ret_plan = d.plan;
	return 0;
}
