/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conditions about what is in use: whether it is more than is allowed, with what follows, and
 * whether all of it has its true price.
 */
#include <inttypes.h>

#include "base/limits.h"
#include "base/rfc3339.h"
#include "quota/internal.h"

/* Most of a text from elsewhere that a message repeats. */
#define REPEATED 120

/* --- Exceeded */

static bool exceeded_not_measured(struct decision *d, struct condition *c)
{
	if (d->plan.governs)
		return false;
	return condition_say(c, CONDITION_UNKNOWN, QUOTA_REASON_NOT_ACCEPTED,
			     "The quota does not govern the namespace: nothing is measured against "
			     "it.");
}

static bool exceeded_undecided(struct decision *d, struct condition *c)
{
	if (!d->undecided)
		return false;
	return condition_say(c, CONDITION_UNKNOWN, QUOTA_REASON_NOT_ACCEPTED,
			     "Nothing is measured before the tenant has decided what the namespace "
			     "gets.");
}

static void say_excess(const struct quota_excess *excess, struct condition *c)
{
	int len = (int)MIN(excess->name.len, (size_t)LIMIT_NAME);

	switch (excess->kind) {
	case EXCESS_MEMORY:
		condition_say_more(c, "%s of GPU memory are held where %s are allowed",
				   amount_text(excess->held).text,
				   amount_text(excess->allowed).text);
		break;
	case EXCESS_GPUS:
		condition_say_more(c,
				   "%" PRId64 " whole GPUs are held where %" PRId64 " are allowed",
				   excess->held, excess->allowed);
		break;
	case EXCESS_RESOURCE:
		condition_say_more(c, "%" PRId64 " of %.*s are held where %" PRId64 " are allowed",
				   excess->held, len, excess->name.data, excess->allowed);
		break;
	case EXCESS_PRODUCT_MEMORY:
		condition_say_more(c, "%s of GPU memory are held on %.*s, where %s are allowed",
				   amount_text(excess->held).text, len, excess->name.data,
				   amount_text(excess->allowed).text);
		break;
	case EXCESS_PRODUCT_GPUS:
		condition_say_more(
			c, "%" PRId64 " whole GPUs of %.*s are held where %" PRId64 " are allowed",
			excess->held, len, excess->name.data, excess->allowed);
		break;
	case EXCESS_NONE:
		break;
	}
}

static void say_cause(const struct decision *d, struct condition *c)
{
	if (d->excess_reason == QUOTA_REASON_SHRUNK)
		condition_say_more(c, ", since the spec or the tenant's ceiling was cut");
	else if (d->excess_reason == QUOTA_REASON_RECALLED)
		condition_say_more(c, ", since borrowed memory is called back");
}

static void say_blocked(const struct decision *d, struct condition *c)
{
	const struct quota_blocked *blocked = &d->blocked;
	struct str why;

	if (!blocked->first)
		return;
	why = str_from(blocked->first->blocked);
	if (str_ends_with(why, STR(".")))
		why.len--;
	condition_say_more(c, " The eviction of %.*s was refused (%.*s)",
			   (int)MIN(blocked->first->name.len, (size_t)REPEATED),
			   blocked->first->name.data, (int)MIN(why.len, (size_t)REPEATED),
			   why.data);
	if (blocked->n > 1)
		condition_say_more(c, ", as of %zu more", blocked->n - 1);
	condition_say_more(c, ": they are passed over.");
}

#define UNTIL "nothing new is admitted until pods finish or are deleted."

static void say_what_follows(const struct decision *d, struct condition *c)
{
	char from[TIME_TEXT_SIZE];

	if (d->dry_run)
		condition_say_more(c, "nothing follows, since enforcement is DryRun.");
	else if (d->excess.kind == EXCESS_PRODUCT_MEMORY || d->excess.kind == EXCESS_PRODUCT_GPUS)
		condition_say_more(c, "it falls when such pods finish or are deleted; a cap on a "
				      "product evicts nobody.");
	else if (d->evict_from_us == TIME_NEVER)
		condition_say_more(c, UNTIL);
	else if (d->evict_from_us > d->view->now_real_us) {
		time_format(d->evict_from_us, false, from);
		condition_say_more(c,
				   "nothing new is admitted, and from %s on pods are evicted, the "
				   "youngest first.",
				   from);
	} else {
		condition_say_more(c, "nothing new is admitted, and pods are evicted one by one, "
				      "the youngest first.");
		say_blocked(d, c);
	}
}

static bool exceeded(struct decision *d, struct condition *c)
{
	if (d->excess.kind == EXCESS_NONE)
		return false;
	condition_say(c, CONDITION_TRUE, d->excess_reason, "%s", "");
	say_excess(&d->excess, c);
	say_cause(d, c);
	condition_say_more(c, ": ");
	say_what_follows(d, c);
	return true;
}

static bool exceeded_unknown(struct decision *d, struct condition *c)
{
	const struct quota_status *status = &d->plan.status;

	if (d->view->unpriced <= 0)
		return false;
	return condition_say(c, CONDITION_UNKNOWN, QUOTA_REASON_UNKNOWN_MEMORY,
			     "Pods of the namespace ask for %" PRId64
			     " units of GPU resources whose memory no node's labels tell; what is "
			     "known comes to %s of %s.",
			     d->view->unpriced, amount_text(status->used).text,
			     amount_text(status->effective).text);
}

bool decide_exceeded(struct decision *d, struct condition *c)
{
	if (exceeded_not_measured(d, c) || exceeded_undecided(d, c) || exceeded(d, c) ||
	    exceeded_unknown(d, c))
		return true;
	return condition_say(c, CONDITION_FALSE, QUOTA_REASON_WITHIN_LIMIT,
			     "What the namespace holds is within what is allowed.");
}

/* --- Priced */

static bool priced_not_measured(struct decision *d, struct condition *c)
{
	if (d->plan.governs)
		return false;
	return condition_say(c, CONDITION_UNKNOWN, QUOTA_REASON_NOT_ACCEPTED,
			     "The quota does not govern the namespace: nothing is charged to it.");
}

static bool priced_unknown(struct decision *d, struct condition *c)
{
	if (d->view->unpriced <= 0)
		return false;
	return condition_say(c, CONDITION_FALSE, QUOTA_REASON_UNKNOWN_MEMORY,
			     "Nothing tells the memory of %" PRId64
			     " units that pods of the namespace ask for: they are not among what "
			     "is used, and nothing more is admitted until they are.",
			     d->view->unpriced);
}

static bool priced_assumed(struct decision *d, struct condition *c)
{
	if (d->view->assumed <= 0)
		return false;
	return condition_say(c, CONDITION_FALSE, QUOTA_REASON_MEMORY_ASSUMED,
			     "%s of what is used are assumed: the nodes do not tell the memory of "
			     "these devices, so each is charged as the dearest there is.",
			     amount_text(d->view->assumed).text);
}

static bool priced_disagreement(struct decision *d, struct condition *c)
{
	struct str what = d->view->disagreement;

	if (str_empty(what))
		return false;
	if (str_ends_with(what, STR(".")))
		what.len--;
	return condition_say(c, CONDITION_FALSE, QUOTA_REASON_SOURCES_DISAGREE,
			     "Two sources tell different memory for devices in use: %.*s. The "
			     "first of them in the order of truth counts.",
			     (int)MIN(what.len, (size_t)LIMIT_NAME), what.data);
}

bool decide_priced(struct decision *d, struct condition *c)
{
	if (priced_not_measured(d, c) || priced_unknown(d, c) || priced_assumed(d, c) ||
	    priced_disagreement(d, c))
		return true;
	return condition_say(c, CONDITION_TRUE, QUOTA_REASON_ALL_PRICED,
			     "Every device in use is charged at what its node says it is.");
}
