/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions Abnormal, Throttled and IdleGPUs of a TenantQoS. */
#include <inttypes.h>

#include "base/rfc3339.h"
#include "quota/internal.h"
#include "quota/tenant_planning.h"

/* --- Abnormal */

static bool abnormal_not_measured(struct planning *p, struct condition *c)
{
	if (p->in_force)
		return false;
	return condition_say(c, CONDITION_UNKNOWN, QUOTA_REASON_NOT_ACCEPTED,
			     "The spec is not in force: nothing is measured against it.");
}

static bool abnormal_not_asked(struct planning *p, struct condition *c)
{
	if (p->view->facts->spec.feedback.mode != FEEDBACK_OFF)
		return false;
	return condition_say(c, CONDITION_FALSE, QUOTA_REASON_NOT_ASKED,
			     "feedback.mode is Off: nobody looks.");
}

/* What is given back after its cause was gone is normal use again; after no effect it is not. */
static bool abnormal(struct planning *p, struct condition *c)
{
	const struct throttle *throttle = &p->view->throttle;
	char cause[THROTTLE_CAUSE_SIZE];

	if (throttle->signals == 0 || (throttle->step == THROTTLE_RELEASE && throttle->futile == 0))
		return false;
	throttle_cause(throttle->signals, cause);
	condition_say(c, CONDITION_TRUE, QUOTA_REASON_ABNORMAL_USE,
		      "Seen for graceSeconds at least: %s.", cause);
	if (!str_empty(p->view->offender))
		condition_say_more(c, " Pod %.*s/%.*s is proven to be at fault.",
				   STR_ARGS(p->view->offender_namespace),
				   STR_ARGS(p->view->offender));
	if (!str_empty(p->view->offender) && !str_empty(p->view->kept))
		condition_say_more(c, " It is not evicted: %.*s.", STR_ARGS(p->view->kept));
	return true;
}

static bool abnormal_unknown(struct planning *p, struct condition *c)
{
	const uint32_t use = FEEDBACK_BIT(FEEDBACK_MEMORY) | FEEDBACK_BIT(FEEDBACK_UTILISATION) |
			     FEEDBACK_BIT(FEEDBACK_PCIE);
	uint32_t asked = isolation_asks(&p->view->facts->spec.isolation) & use;

	if ((p->view->unseen & asked) != asked)
		return false;
	return condition_say(
		c, CONDITION_UNKNOWN, QUOTA_REASON_SIGNALS_UNKNOWN,
		"Nothing tells how its pods use GPUs, and so nobody is turned down for "
		"it: are agents running, with config/agent/devices?");
}

static bool abnormal_not(struct planning *p, struct condition *c)
{
	uint32_t unknown = p->view->unseen & isolation_asks(&p->view->facts->spec.isolation);
	const char *before = " Not known: ";

	condition_say(c, CONDITION_FALSE, QUOTA_REASON_NORMAL_USE,
		      "Nothing that is seen of its use is abnormal.");
	for (unsigned i = 0; i < FEEDBACK_SIGNAL_COUNT; i++)
		if (unknown & FEEDBACK_BIT(i)) {
			condition_say_more(c, "%s%s", before,
					   feedback_signal_text((enum feedback_signal)i));
			before = ", ";
		}
	if (unknown != 0)
		condition_say_more(c, ".");
	return true;
}

/* --- Throttled */

static void say_until(const struct throttle *throttle, struct condition *c)
{
	char until[TIME_TEXT_SIZE];

	if (throttle->until_us <= 0)
		return;
	time_format(throttle->until_us, false, until);
	condition_say_more(c, " until %s", until);
}

static bool throttled_by_hand(struct planning *p, struct condition *c)
{
	const struct throttle *throttle = &p->view->throttle;

	if (throttle->step != THROTTLE_OVERRIDE)
		return false;
	condition_say(c, throttle->percent < THROTTLE_WHOLE ? CONDITION_TRUE : CONDITION_FALSE,
		      QUOTA_REASON_OVERRIDDEN,
		      "feedback.override leaves %" PRId64 " %% of what its quotas allow",
		      throttle->percent);
	say_until(throttle, c);
	condition_say_more(c, ", whatever is seen.");
	return true;
}

static bool throttled(struct planning *p, struct condition *c)
{
	const struct throttle *throttle = &p->view->throttle;

	if (throttle->step == THROTTLE_NONE || throttle->percent >= THROTTLE_WHOLE)
		return false;
	condition_say(c, CONDITION_TRUE, QUOTA_REASON_THROTTLED,
		      "%" PRId64 " %% of what its quotas allow are left for new pods",
		      throttle->percent);
	say_until(throttle, c);
	condition_say_more(c, throttle->step == THROTTLE_RELEASE
				      ? ", when more is given back. What runs stays."
				      : "; see condition Abnormal. What runs stays.");
	return true;
}

static bool throttled_not(struct planning *p, struct condition *c)
{
	const struct throttle *throttle = &p->view->throttle;

	condition_say(c, CONDITION_FALSE, QUOTA_REASON_NOT_THROTTLED,
		      "Nothing is held back of what its quotas allow.");
	if (throttle->step == THROTTLE_REST) {
		condition_say_more(c, " Holding back had no effect, and is not tried again");
		say_until(throttle, c);
		condition_say_more(c, ".");
	}
	return true;
}

/* --- IdleGPUs */

static bool idle_not_measured(struct planning *p, struct condition *c)
{
	if (p->in_force)
		return false;
	return condition_say(c, CONDITION_UNKNOWN, QUOTA_REASON_NOT_ACCEPTED,
			     "The spec is not in force: nothing is measured against it.");
}

static bool idle(struct planning *p, struct condition *c)
{
	const struct tenant_idle *idle = &p->view->idle;

	if (idle->idle == 0)
		return false;
	condition_say(c, CONDITION_TRUE, QUOTA_REASON_IDLE_GPUS,
		      "%" PRId64 " of its pods %s done nothing with their GPUs for %" PRId64
		      " seconds or more: %.*s/%.*s%s.",
		      idle->idle, idle->idle == 1 ? "has" : "have",
		      (int64_t)(idle->idle_us / USEC_PER_SEC), STR_ARGS(idle->namespace),
		      STR_ARGS(idle->name), idle->idle == 1 ? "" : " is one of them");
	return true;
}

static bool idle_unknown(struct planning *p, struct condition *c)
{
	if (p->view->idle.pods == 0 || p->view->idle.told > 0)
		return false;
	return condition_say(c, CONDITION_UNKNOWN, QUOTA_REASON_SIGNALS_UNKNOWN,
			     "Nothing tells what its pods do with their GPUs: are agents running, "
			     "with config/agent/devices?");
}

static bool idle_not(struct planning *p UNUSED, struct condition *c)
{
	return condition_say(c, CONDITION_FALSE, QUOTA_REASON_IN_USE,
			     "None of its pods is known to have done nothing for too long.");
}

/* --- all */

static void first_of(struct planning *p, struct condition *c,
		     bool (*const checks[])(struct planning *, struct condition *))
{
	size_t i = 0;

	while (!checks[i](p, c))
		i++;
}

bool tenant_say_abnormal(struct planning *p, struct condition *c)
{
	static bool (*const checks[])(struct planning *, struct condition *) = {
		abnormal_not_measured, abnormal_not_asked, abnormal, abnormal_unknown, abnormal_not,
	};

	first_of(p, c, checks);
	return true;
}

bool tenant_say_idle(struct planning *p, struct condition *c)
{
	static bool (*const checks[])(struct planning *, struct condition *) = {
		idle_not_measured,
		idle,
		idle_unknown,
		idle_not,
	};

	first_of(p, c, checks);
	return true;
}

bool tenant_say_throttled(struct planning *p, struct condition *c)
{
	static bool (*const checks[])(struct planning *, struct condition *) = {
		throttled_by_hand,
		throttled,
		throttled_not,
	};

	first_of(p, c, checks);
	return true;
}
