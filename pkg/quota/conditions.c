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
#include "base/utf8.h"
#include "model/observed.h"
#include "model/resource.h"
#include "quota/internal.h"

#define OURS "ResourceQuota " OWNED_OBJECT_NAME

static void look_again(struct decision *d, int64_t at_us)
{
	d->plan.look_again_us = MIN(d->plan.look_again_us, at_us);
}

/* Prints at @used bytes of the message; where that is too long, its end is cut. */
PRINTF_LIKE(3, 0)
static void print(struct condition *c, size_t used, const char *format, va_list args)
{
	size_t room = sizeof(c->message) - used;
	int len = vsnprintf(c->message + used, room, format, args);

	if (len >= 0 && (size_t)len >= room)
		c->message[utf8_whole(str_from(c->message)).len] = '\0';
}

PRINTF_LIKE(4, 5)
static bool say(struct condition *c, enum condition_status status, enum quota_reason reason,
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

PRINTF_LIKE(2, 3)
static void say_more(struct condition *c, const char *format, ...)
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
	say(c, CONDITION_FALSE, QUOTA_REASON_TERMINATING,
	    "This quota is being deleted and no longer governs the namespace");
	if (str_empty(d->view->governing))
		say_more(c, ".");
	else
		say_more(c, "; GpuMemoryQuota %.*s does.", STR_ARGS(d->view->governing));
	return true;
}

static bool accepted_duplicate(struct decision *d, struct condition *c)
{
	if (!d->view->duplicate)
		return false;
	return say(c, CONDITION_FALSE, QUOTA_REASON_DUPLICATE,
		   "The older GpuMemoryQuota %.*s governs this namespace, which has only one: "
		   "change that one, or delete it.",
		   STR_ARGS(d->view->governing));
}

static bool accepted_invalid(struct decision *d, struct condition *c)
{
	if (!d->view->invalid)
		return false;
	return say(c, CONDITION_FALSE, QUOTA_REASON_INVALID,
		   "No GPU is allowed in the namespace until the spec is corrected: %s.",
		   d->view->invalid);
}

static bool accepted(struct decision *d, struct condition *c)
{
	say(c, CONDITION_TRUE, QUOTA_REASON_ACCEPTED, "The quota governs its namespace.");
	if (d->plan.n_defaults > 0)
		say_more(c, " By containerDefaults every container of the namespace that asks for "
			    "no amount of these resources gets one, whether it needs it or not.");
	return true;
}

/* --- Ready */

static bool ready_not_accepted(struct decision *d, struct condition *c)
{
	if (d->accepted)
		return false;
	return say(c, CONDITION_FALSE, QUOTA_REASON_NOT_ACCEPTED,
		   "The spec is not in force: see condition Accepted.");
}

static bool ready_to_be_written(struct decision *d, struct condition *c)
{
	if (!d->plan.write_resource_quota)
		return false;
	return say(c, CONDITION_FALSE, QUOTA_REASON_PENDING,
		   OURS " is about to be written with the hard values that follow from the spec.");
}

static bool ready_not_shown(struct decision *d, struct condition *c)
{
	const struct resource_quota_view *seen = &d->view->resource_quota;
	int64_t since = seen->differs_since_us ? seen->differs_since_us : d->view->now_us;

	if (amounts_equal(seen->status_hard, seen->n_status_hard, d->plan.hard, d->plan.n_hard))
		return false;
	if (d->view->now_us - since >= QUOTA_STATUS_STALE_US)
		return say(c, CONDITION_FALSE, QUOTA_REASON_STATUS_STALE,
			   OURS " has not shown its hard values in its status for over a minute, "
				"and the API server enforces those of the status: see whether "
				"kube-controller-manager is running.");
	look_again(d, since + QUOTA_STATUS_STALE_US);
	return say(c, CONDITION_FALSE, QUOTA_REASON_PENDING,
		   OURS " is written; its status, which is what the API server enforces, does not "
			"show the hard values yet.");
}

static bool ready(struct decision *d, struct condition *c)
{
	say(c, CONDITION_TRUE, QUOTA_REASON_ENFORCED,
	    "The API server enforces %s of GPU memory for the namespace.",
	    amount_text(d->plan.status.effective).text);
	if (d->rows_left_out > 0)
		say_more(c,
			 " Of the devices that the cluster offers, %zu kinds are left out of "
			 "status.resources, which holds %d: those in use come first.",
			 d->rows_left_out, LIMIT_STATUS_RESOURCES);
	return true;
}

/* --- Exceeded */

static bool exceeded_not_measured(struct decision *d, struct condition *c)
{
	if (d->plan.governs)
		return false;
	return say(c, CONDITION_UNKNOWN, QUOTA_REASON_NOT_ACCEPTED,
		   "The quota does not govern the namespace: nothing is measured against it.");
}

static bool exceeded_unknown(struct decision *d, struct condition *c)
{
	const struct quota_status *status = &d->plan.status;

	if (d->view->unpriced <= 0)
		return false;
	return say(c, CONDITION_UNKNOWN, QUOTA_REASON_UNKNOWN_MEMORY,
		   "Pods of the namespace ask for %" PRId64
		   " units of GPU resources whose memory no "
		   "node's labels tell; what is known comes to %s of %s.",
		   d->view->unpriced, amount_text(status->used).text,
		   amount_text(status->effective).text);
}

#define UNTIL "nothing new is admitted until pods finish or are deleted."

static bool exceeded_memory(struct decision *d, struct condition *c)
{
	const struct quota_status *status = &d->plan.status;

	if (status->used <= status->effective)
		return false;
	return say(c, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT,
		   "%s of GPU memory are held where %s are allowed: " UNTIL,
		   amount_text(status->used).text, amount_text(status->effective).text);
}

static bool exceeded_gpus(struct decision *d, struct condition *c)
{
	int64_t gpus = d->view->spec->gpus;

	if (!d->accepted || gpus == AMOUNT_NONE || d->plan.status.gpus_used <= gpus)
		return false;
	return say(c, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT,
		   "%" PRId64 " whole GPUs are held where %" PRId64 " are allowed: " UNTIL,
		   d->plan.status.gpus_used, gpus);
}

/* Units of one resource, over all products. */
static int64_t units_used(const struct quota_view *view, struct str resource)
{
	int64_t sum = 0;

	for (size_t i = 0; i < view->n_uses; i++)
		if (str_equal(str_from(view->name(view->name_context, view->uses[i].resource)),
			      resource))
			sum += view->uses[i].count;
	return sum;
}

static bool exceeded_cap(struct decision *d, struct condition *c)
{
	const struct quota_spec *spec = d->view->spec;

	for (size_t i = 0; d->accepted && i < spec->n_caps; i++) {
		const struct resource_amount *cap = &spec->caps[i];
		int64_t used = units_used(d->view, cap->resource);

		if (used > cap->count)
			return say(c, CONDITION_TRUE, QUOTA_REASON_OVER_LIMIT,
				   "%" PRId64 " of %.*s are held where %" PRId64
				   " are allowed: " UNTIL,
				   used, (int)MIN(cap->resource.len, (size_t)LIMIT_NAME),
				   cap->resource.data, cap->count);
	}
	return false;
}

static bool exceeded_not(struct decision *d, struct condition *c)
{
	(void)d;
	return say(c, CONDITION_FALSE, QUOTA_REASON_WITHIN_LIMIT,
		   "What the namespace holds is within what is allowed.");
}

/* --- Throttled */

static bool throttled_not(struct decision *d, struct condition *c)
{
	(void)d;
	return say(c, CONDITION_FALSE, QUOTA_REASON_NOT_THROTTLED,
		   "Nothing is taken off what the spec allows.");
}

/* --- Drifted */

static bool drifted_not_watched(struct decision *d, struct condition *c)
{
	if (d->plan.governs)
		return false;
	return say(c, CONDITION_UNKNOWN, QUOTA_REASON_NOT_ACCEPTED,
		   "The quota does not govern the namespace: it owns no objects.");
}

static bool drifted_ledger(struct decision *d, struct condition *c)
{
	if (d->view->recount_drift == 0)
		return false;
	return say(c, CONDITION_TRUE, QUOTA_REASON_LEDGER_DIFFERS,
		   "The last recount of the namespace's pods differed from the ledger by %s and "
		   "corrected it: please report this with the controller's log.",
		   amount_text(d->view->recount_drift).text);
}

static bool foreign(struct condition *c, const char *object, struct str manager)
{
	return say(c, CONDITION_TRUE, QUOTA_REASON_FOREIGN_WRITER,
		   "Field manager \"%.*s\" wrote into the spec of %s " OWNED_OBJECT_NAME
		   ", which is ours; our values are put back.",
		   (int)MIN(manager.len, (size_t)LIMIT_NAME), manager.data, object);
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
	return say(c, CONDITION_TRUE, QUOTA_REASON_FOREIGN_WRITER,
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
	look_again(d, d->view->now_us + QUOTA_DRIFT_SHOWN_US - age_us);
	return true;
}

static bool drifted_not(struct decision *d, struct condition *c)
{
	(void)d;
	return say(c, CONDITION_FALSE, QUOTA_REASON_IN_SYNC,
		   "Nobody else wrote what is ours, and the last recount found the same sums.");
}

/* --- all of them */

static const struct check {
	enum quota_condition condition;
	bool (*applies)(struct decision *d, struct condition *c); /* fills @c where it does */
} checks[] = {
	{QUOTA_ACCEPTED, accepted_terminating},  {QUOTA_ACCEPTED, accepted_duplicate},
	{QUOTA_ACCEPTED, accepted_invalid},      {QUOTA_ACCEPTED, accepted},
	{QUOTA_READY, ready_not_accepted},       {QUOTA_READY, ready_to_be_written},
	{QUOTA_READY, ready_not_shown},          {QUOTA_READY, ready},
	{QUOTA_EXCEEDED, exceeded_not_measured}, {QUOTA_EXCEEDED, exceeded_unknown},
	{QUOTA_EXCEEDED, exceeded_memory},       {QUOTA_EXCEEDED, exceeded_gpus},
	{QUOTA_EXCEEDED, exceeded_cap},          {QUOTA_EXCEEDED, exceeded_not},
	{QUOTA_THROTTLED, throttled_not},        {QUOTA_DRIFTED, drifted_not_watched},
	{QUOTA_DRIFTED, drifted_ledger},         {QUOTA_DRIFTED, drifted_resource_quota},
	{QUOTA_DRIFTED, drifted_limit_range},    {QUOTA_DRIFTED, drifted_other_keys},
	{QUOTA_DRIFTED, drifted_lately},         {QUOTA_DRIFTED, drifted_not},
};

/* A transition is a change of the condition's status, not of its reason. */
static int64_t since(const struct quota_view *view, enum quota_condition which,
		     enum condition_status status)
{
	const struct condition *seen = view->status ? &view->status->conditions[which] : NULL;

	if (seen && seen->status == status && seen->since_us > 0)
		return seen->since_us;
	return view->now_real_us - view->now_real_us % USEC_PER_SEC;
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
		c->since_us = since(d->view, which, c->status);
	}
}
