/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conditions: `checks`, at the end of this file, lists what is looked at, in order. The first
 * check of a condition that applies fills it; the last one of each always does.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/macros.h"
#include "base/rfc3339.h"
#include "base/utf8.h"
#include "model/observed.h"
#include "quota/internal.h"

/* A name, for "%.*s": those from outside are no longer than names may be. */
#define NAME_ARGS(s) (int)MIN((s).len, (size_t)LIMIT_NAME), (s).data

#define OURS "ResourceQuota " OWNED_OBJECT_NAME

/* Prints at @used bytes of the message; where that is too long, its end is cut. */
PRINTF_LIKE(3, 0)
static void print(struct condition *c, size_t used, const char *format, va_list args)
{
	size_t room = sizeof(c->message) - used;
	int len = vsnprintf(c->message + used, room, format, args);

	if (len >= 0 && (size_t)len >= room)
		c->message[utf8_whole(str_from(c->message)).len] = '\0';
}

bool condition_say(struct condition *c, enum condition_status status, enum quota_reason reason,
		   const char *format, ...)
{
	va_list args;

	c->status = status;
	c->reason = reason;
	va_start(args, format);
	print(c, 0, format, args);
	va_end(args);
	return true;
}

void condition_say_more(struct condition *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(c, strlen(c->message), format, args);
	va_end(args);
}

/* --- Accepted */

static bool accepted_terminating(struct decision *d, struct condition *c)
{
	if (!d->view->terminating)
		return false;
	condition_say(c, CONDITION_FALSE, QUOTA_REASON_TERMINATING,
		      "This quota is being deleted and no longer governs the namespace");
	if (str_empty(d->view->governing))
		condition_say_more(c, ".");
	else
		condition_say_more(c, "; GpuMemoryQuota %.*s does.", STR_ARGS(d->view->governing));
	return true;
}

static bool accepted_duplicate(struct decision *d, struct condition *c)
{
	if (!d->view->duplicate)
		return false;
	return condition_say(
		c, CONDITION_FALSE, QUOTA_REASON_DUPLICATE,
		"The older GpuMemoryQuota %.*s governs this namespace, which has only one: "
		"change that one, or delete it.",
		STR_ARGS(d->view->governing));
}

static bool accepted_invalid(struct decision *d, struct condition *c)
{
	if (!d->view->invalid)
		return false;
	return condition_say(c, CONDITION_FALSE, QUOTA_REASON_INVALID,
			     "No GPU is allowed in the namespace until the spec is corrected: %s.",
			     d->view->invalid);
}

static bool accepted_undecided(struct decision *d, struct condition *c)
{
	if (!d->undecided)
		return false;
	return condition_say(c, CONDITION_UNKNOWN, QUOTA_REASON_PENDING,
			     "TenantQoS %.*s has not decided yet what the namespace gets.",
			     NAME_ARGS(d->view->share->tenant));
}

/* Either may be missing alone. */
static void say_missing(const struct tenant_grant *grant, struct condition *c)
{
	if (grant->missing > 0)
		condition_say_more(c, "%s", amount_text(grant->missing).text);
	if (grant->missing_gpus > 0)
		condition_say_more(c, "%s%" PRId64 " whole GPU%s",
				   grant->missing > 0 ? " and " : "", grant->missing_gpus,
				   grant->missing_gpus == 1 ? "" : "s");
	condition_say_more(c, grant->missing <= 0 && grant->missing_gpus == 1 ? " is missing"
									      : " are missing");
}

static bool accepted_no_room(struct decision *d, struct condition *c)
{
	const struct quota_share *share = d->view->share;

	if (!share || share->grant.outcome != GRANT_NO_ROOM)
		return false;
	condition_say(c, CONDITION_FALSE, QUOTA_REASON_CEILING_EXCEEDED,
		      "The ceiling of TenantQoS %.*s has no room for %s: ",
		      NAME_ARGS(share->tenant), amount_text(d->view->spec->gpu_memory).text);
	say_missing(&share->grant, c);
	if (d->plan.status.granted > 0)
		condition_say_more(c, "; %s stay granted.",
				   amount_text(d->plan.status.granted).text);
	else
		condition_say_more(c, "; nothing is granted.");
	return true;
}

/* By either name of a row of the price list. */
static bool is_listed(const struct quota_view *view, struct str name, bool product)
{
	for (size_t i = 0; i < view->prices.n_rows; i++) {
		const struct price_row *row = &view->prices.rows[i];
		uint32_t handle = product ? row->product : row->resource;

		if (row->nodes > 0 &&
		    str_equal(str_from(view->name(view->name_context, handle)), name))
			return true;
	}
	return false;
}

/* A cap on what nobody has may be a misspelt one: the first of each kind is named. */
static void say_idle_caps(const struct quota_view *view, struct condition *c)
{
	const struct quota_spec *spec = view->spec;
	size_t i = 0, k = 0;

	while (i < spec->n_caps && is_listed(view, spec->caps[i].resource, false))
		i++;
	while (k < spec->n_products && is_listed(view, spec->products[k].product, true))
		k++;
	if (i < spec->n_caps)
		condition_say_more(c,
				   " No node offers %.*s: the cap on it in spec.resources bounds "
				   "nothing now.",
				   NAME_ARGS(spec->caps[i].resource));
	if (k < spec->n_products)
		condition_say_more(c,
				   " No node has cards of product %.*s: its cap in spec.products "
				   "bounds nothing now; status.resources lists what there is.",
				   NAME_ARGS(spec->products[k].product));
}

static bool accepted(struct decision *d, struct condition *c)
{
	condition_say(c, CONDITION_TRUE, QUOTA_REASON_ACCEPTED, "The quota governs its namespace.");
	if (d->plan.n_defaults > 0)
		condition_say_more(c, " By containerDefaults every container of the namespace that "
				      "asks for no amount of these resources gets one, whether it "
				      "needs it or not.");
	say_idle_caps(d->view, c);
	return true;
}

/* --- Ready */

/* What stays granted in spite of a refusal is in force, and Ready tells of that. */
static bool ready_not_accepted(struct decision *d, struct condition *c)
{
	const struct quota_share *share = d->view->share;
	bool refused =
		share && share->grant.outcome == GRANT_NO_ROOM && d->plan.status.effective == 0;

	if (d->usable && !refused)
		return false;
	return condition_say(c, CONDITION_FALSE, QUOTA_REASON_NOT_ACCEPTED,
			     "The spec is not in force: see condition Accepted.");
}

static bool ready_undecided(struct decision *d, struct condition *c)
{
	if (!d->undecided)
		return false;
	return condition_say(c, CONDITION_FALSE, QUOTA_REASON_PENDING,
			     "No GPU is allowed before the tenant has decided.");
}

static bool ready_dry_run(struct decision *d, struct condition *c)
{
	if (!d->dry_run)
		return false;
	if (d->plan.delete_resource_quota)
		return condition_say(c, CONDITION_FALSE, QUOTA_REASON_PENDING,
				     OURS " is about to be deleted, since enforcement is DryRun.");
	return condition_say(
		c, CONDITION_TRUE, QUOTA_REASON_DRY_RUN,
		"Nothing is enforced, as the spec says: status.dryRun tells what would "
		"have been refused.");
}

static bool ready_to_be_written(struct decision *d, struct condition *c)
{
	if (!d->plan.write_resource_quota)
		return false;
	return condition_say(c, CONDITION_FALSE, QUOTA_REASON_PENDING,
			     OURS " is about to be written with the hard values that follow from "
				  "the spec.");
}

static bool ready_not_shown(struct decision *d, struct condition *c)
{
	const struct resource_quota_view *seen = &d->view->resource_quota;
	int64_t since = seen->differs_since_us ? seen->differs_since_us : d->view->now_us;

	if (amounts_equal(seen->status_hard, seen->n_status_hard, d->plan.hard, d->plan.n_hard))
		return false;
	if (d->view->now_us - since >= QUOTA_STATUS_STALE_US)
		return condition_say(c, CONDITION_FALSE, QUOTA_REASON_STATUS_STALE,
				     OURS
				     " has not shown its hard values in its status for over a "
				     "minute, and the API server enforces those of the status: "
				     "see whether kube-controller-manager is running.");
	decide_again(d, since + QUOTA_STATUS_STALE_US);
	return condition_say(c, CONDITION_FALSE, QUOTA_REASON_PENDING,
			     OURS " is written; its status, which is what the API server enforces, "
				  "does not show the hard values yet.");
}

/* The amount still to come is of the spec, or of what it gets back from those that it lent to. */
static bool ready_waits(struct decision *d, struct condition *c)
{
	const struct quota_share *share = d->view->share;
	const struct quota_status *status = &d->plan.status;
	int64_t whole, waits;

	if (!share || share->grant.outcome != GRANT_WAITS)
		return false;
	whole = status->granted - status->lent + status->borrowed;
	waits = MAX(d->view->spec->gpu_memory - status->granted, whole - share->grant.effective);
	if (waits > 0)
		condition_say(c, CONDITION_FALSE, QUOTA_REASON_PENDING,
			      "%s are enforced; it waits for %s to be let go by siblings.",
			      amount_text(status->effective).text, amount_text(waits).text);
	else
		condition_say(c, CONDITION_FALSE, QUOTA_REASON_PENDING,
			      "%s are enforced; it waits for whole GPUs to be let go by siblings.",
			      amount_text(status->effective).text);
	return true;
}

static bool ready(struct decision *d, struct condition *c)
{
	const struct quota_status *status = &d->plan.status;

	condition_say(c, CONDITION_TRUE, QUOTA_REASON_ENFORCED,
		      "The API server enforces %s of GPU memory for the namespace",
		      amount_text(status->effective).text);
	if (status->borrowed > 0)
		condition_say_more(c, ", %s of it borrowed from siblings.",
				   amount_text(status->borrowed).text);
	else if (status->lent > 0)
		condition_say_more(c, "; %s of what is granted are lent to siblings.",
				   amount_text(status->lent).text);
	else
		condition_say_more(c, ".");
	if (d->rows_left_out > 0)
		condition_say_more(c,
				   " Of the devices that the cluster offers, %zu kinds are left "
				   "out of status.resources, which holds %d: those in use come "
				   "first.",
				   d->rows_left_out, LIMIT_STATUS_RESOURCES);
	if (d->view->classes.left_out > 0)
		condition_say_more(c,
				   " Of the DeviceClasses, %zu are left out of "
				   "status.deviceClasses, which holds %d: claims of these cost the "
				   "dearest device there is.",
				   d->view->classes.left_out, LIMIT_STATUS_CLASSES);
	return true;
}

/* --- Throttled */

#define RUNS_ON "What runs stays."

static const struct quota_share *throttled_share(const struct decision *d)
{
	const struct quota_share *share = d->view->share;

	return d->usable && !d->undecided && share && share->throttle.percent < THROTTLE_WHOLE &&
			       share->throttle.step != THROTTLE_NONE
		       ? share
		       : NULL;
}

static void say_withheld(const struct quota_share *share, struct condition *c)
{
	condition_say_more(c, ": %s of GPU memory are held back from new pods. " RUNS_ON,
			   amount_text(share->grant.withheld).text);
}

static bool throttled_by_hand(struct decision *d, struct condition *c)
{
	const struct quota_share *share = throttled_share(d);
	char until[TIME_TEXT_SIZE];

	if (!share || share->throttle.step != THROTTLE_OVERRIDE)
		return false;
	condition_say(c, CONDITION_TRUE, QUOTA_REASON_OVERRIDDEN,
		      "The platform has set its tenant %.*s to %" PRId64
		      " %% of what it would have",
		      STR_ARGS(share->tenant), share->throttle.percent);
	if (share->throttle.until_us > 0) {
		time_format(share->throttle.until_us, false, until);
		condition_say_more(c, " until %s", until);
	}
	say_withheld(share, c);
	return true;
}

static bool throttled(struct decision *d, struct condition *c)
{
	const struct quota_share *share = throttled_share(d);
	char cause[THROTTLE_CAUSE_SIZE];

	if (!share)
		return false;
	throttle_cause(share->throttle.signals, cause);
	condition_say(c, CONDITION_TRUE, QUOTA_REASON_THROTTLED,
		      "Its tenant %.*s has %" PRId64 " %% of what it would have, %s",
		      STR_ARGS(share->tenant), share->throttle.percent,
		      share->throttle.step == THROTTLE_RELEASE ? "and is given more each minute"
							       : "since its use is abnormal");
	say_withheld(share, c);
	condition_say_more(c, " Seen: %s.", cause);
	return true;
}

static bool throttled_not(struct decision *d, struct condition *c)
{
	(void)d;
	return condition_say(c, CONDITION_FALSE, QUOTA_REASON_NOT_THROTTLED,
			     "Nothing is taken off what the spec allows.");
}

/* --- Drifted */

static bool drifted_not_watched(struct decision *d, struct condition *c)
{
	if (d->plan.governs)
		return false;
	return condition_say(c, CONDITION_UNKNOWN, QUOTA_REASON_NOT_ACCEPTED,
			     "The quota does not govern the namespace: it owns no objects.");
}

static bool drifted_ledger(struct decision *d, struct condition *c)
{
	if (d->view->recount_drift == 0)
		return false;
	return condition_say(
		c, CONDITION_TRUE, QUOTA_REASON_LEDGER_DIFFERS,
		"The last recount of the namespace's pods differed from the ledger by %s and "
		"corrected it: please report this with the controller's log.",
		amount_text(d->view->recount_drift).text);
}

static bool foreign(struct condition *c, const char *object, struct str manager)
{
	return condition_say(c, CONDITION_TRUE, QUOTA_REASON_FOREIGN_WRITER,
			     "Field manager \"%.*s\" wrote into the spec of %s " OWNED_OBJECT_NAME
			     ", which is ours; our values are put back.",
			     (int)MIN(manager.len, (size_t)LIMIT_NAME), manager.data, object);
}

/* What is not ours to write may say what it likes. */
static bool drifted_dry_run(struct decision *d, struct condition *c)
{
	if (!d->dry_run)
		return false;
	return condition_say(c, CONDITION_FALSE, QUOTA_REASON_IN_SYNC,
			     "Enforcement is DryRun: there is nothing of ours to differ, and the "
			     "last recount found the same sums.");
}

static bool drifted_resource_quota(struct decision *d, struct condition *c)
{
	const struct resource_quota_view *seen = &d->view->resource_quota;

	if (!seen->exists || str_empty(seen->foreign_manager))
		return false;
	return foreign(c, "ResourceQuota", seen->foreign_manager);
}

static bool drifted_other_keys(struct decision *d, struct condition *c)
{
	if (!d->view->resource_quota.exists || !d->view->resource_quota.other_keys)
		return false;
	return condition_say(
		c, CONDITION_TRUE, QUOTA_REASON_FOREIGN_WRITER,
		OURS " had hard values that are not ours; they are taken off: they belong in a "
		     "ResourceQuota of another name.");
}

static bool drifted_limit_range(struct decision *d, struct condition *c)
{
	const struct limit_range_view *seen = &d->view->limit_range;
	bool concerned = seen->exists && (seen->ours || d->plan.n_defaults > 0);

	if (!concerned || str_empty(seen->foreign_manager))
		return false;
	return foreign(c, "LimitRange", seen->foreign_manager);
}

/* It is put right within a second: without this nobody would ever see it. */
static bool drifted_lately(struct decision *d, struct condition *c)
{
	const struct quota_status *status = d->view->status;
	const struct condition *seen = status ? &status->conditions[QUOTA_DRIFTED] : NULL;
	int64_t age_us;

	if (!seen || seen->status != CONDITION_TRUE || seen->reason != QUOTA_REASON_FOREIGN_WRITER)
		return false;
	age_us = d->view->now_real_us - seen->since_us;
	if (age_us < 0 || age_us >= QUOTA_DRIFT_SHOWN_US)
		return false;
	*c = *seen;
	decide_again(d, d->view->now_us + QUOTA_DRIFT_SHOWN_US - age_us);
	return true;
}

static bool drifted_not(struct decision *d, struct condition *c)
{
	(void)d;
	return condition_say(
		c, CONDITION_FALSE, QUOTA_REASON_IN_SYNC,
		"Nobody else wrote what is ours, and the last recount found the same sums.");
}

/* --- all of them */

static const struct check {
	enum quota_condition condition;
	bool (*applies)(struct decision *d, struct condition *c); /* fills @c where it does */
} checks[] = {
	{QUOTA_ACCEPTED, accepted_terminating},
	{QUOTA_ACCEPTED, accepted_duplicate},
	{QUOTA_ACCEPTED, accepted_invalid},
	{QUOTA_ACCEPTED, accepted_undecided},
	{QUOTA_ACCEPTED, accepted_no_room},
	{QUOTA_ACCEPTED, accepted},
	{QUOTA_READY, ready_not_accepted},
	{QUOTA_READY, ready_undecided},
	{QUOTA_READY, ready_dry_run},
	{QUOTA_READY, ready_to_be_written},
	{QUOTA_READY, ready_not_shown},
	{QUOTA_READY, ready_waits},
	{QUOTA_READY, ready},
	{QUOTA_EXCEEDED, decide_exceeded},
	{QUOTA_THROTTLED, throttled_by_hand},
	{QUOTA_THROTTLED, throttled},
	{QUOTA_THROTTLED, throttled_not},
	{QUOTA_DRIFTED, drifted_not_watched},
	{QUOTA_DRIFTED, drifted_ledger},
	{QUOTA_DRIFTED, drifted_dry_run},
	{QUOTA_DRIFTED, drifted_resource_quota},
	{QUOTA_DRIFTED, drifted_limit_range},
	{QUOTA_DRIFTED, drifted_other_keys},
	{QUOTA_DRIFTED, drifted_lately},
	{QUOTA_DRIFTED, drifted_not},
	{QUOTA_PRICED, decide_priced},
};

/*
 * A transition is a change of the condition's status, not of its reason. But where a cut comes to
 * what was exceeded already, its time is the cut's: the deadline for draining counts from there.
 */
static int64_t since(const struct decision *d, enum quota_condition which,
		     const struct condition *now)
{
	const struct quota_view *view = d->view;
	const struct condition *seen = view->status ? &view->status->conditions[which] : NULL;

	if (which == QUOTA_EXCEEDED && d->excess.kind != EXCESS_NONE &&
	    quota_reason_is_cut(now->reason))
		return d->excess_since_us;
	if (seen && seen->status == now->status && seen->since_us > 0)
		return seen->since_us;
	return full_second(view->now_real_us);
}

void decide_conditions(struct decision *d)
{
	bool filled[QUOTA_CONDITION_COUNT] = {false};

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		enum quota_condition which = checks[i].condition;
		struct condition *c = &d->plan.status.conditions[which];

		if (filled[which] || !checks[i].applies(d, c))
			continue;
		filled[which] = true;
		c->since_us = since(d, which, c);
	}
}
