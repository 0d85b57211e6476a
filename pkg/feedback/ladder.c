/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of the header, one function each: what becomes of a throttle that stands on it. */
#include "feedback/ladder.h"

#include "base/macros.h"

struct climb {
	struct throttle at; /* what becomes the answer */
	const struct feedback_spec *spec;
	const struct feedback_pace *pace;
	const struct feedback_verdict *verdict;
	int64_t now_us; /* full seconds, as status has them */
};

/* --- moves */

static void move_to(struct climb *c, enum throttle_step step, int64_t for_us)
{
	c->at.step = step;
	c->at.since_us = c->now_us;
	c->at.until_us = c->now_us + for_us;
}

static void end(struct climb *c)
{
	c->at = THROTTLE_NOTHING;
}

static void lower(struct climb *c)
{
	int64_t percent = throttle_part(c->at.percent, THROTTLE_WHOLE - c->spec->decrease);

	if (c->at.step != THROTTLE_NO_NEW_GRANTS)
		move_to(c, THROTTLE_NO_NEW_GRANTS, 0);
	c->at.percent = MAX(percent, c->spec->floor);
	c->at.signals = c->verdict->bad;
	c->at.until_us =
		c->now_us + (c->at.percent > c->spec->floor ? c->pace->step_us : c->pace->floor_us);
}

static int64_t rest_us(const struct climb *c)
{
	int64_t times = 1;

	for (int64_t i = 1; i < c->at.futile && times < FEEDBACK_REST_TIMES; i++)
		times *= 2;
	return times * c->pace->rest_us;
}

static void reach_top(struct climb *c)
{
	if (c->at.futile == 0) {
		end(c);
		return;
	}
	c->at.percent = THROTTLE_WHOLE;
	move_to(c, THROTTLE_REST, rest_us(c));
}

static void release(struct climb *c)
{
	move_to(c, THROTTLE_RELEASE, c->pace->recover_us);
	if (c->at.percent >= THROTTLE_WHOLE)
		reach_top(c);
}

static void give_up(struct climb *c)
{
	c->at.futile = MIN(c->at.futile + 1, THROTTLE_TRIES_MOST);
	release(c);
}

/* --- what is asked */

static bool is_abnormal(const struct climb *c)
{
	return c->verdict->outcome == FEEDBACK_ABNORMAL;
}

static bool is_due(const struct climb *c)
{
	return c->now_us >= c->at.until_us;
}

/* Nothing was seen for as long as it takes: nobody knows whether it is over. */
static bool is_early(const struct climb *c)
{
	return c->verdict->fresh && !is_abnormal(c);
}

/* The cause is gone, or must not throttle any more. */
static bool is_over(const struct climb *c)
{
	return c->verdict->outcome == FEEDBACK_NORMAL || c->spec->mode != FEEDBACK_THROTTLE;
}

/* --- steps */

static void alert(struct climb *c)
{
	c->at.signals = c->verdict->bad;
	move_to(c, THROTTLE_ALERT, c->pace->alert_us);
}

/* False: it is on its way up, or its time here is not over. */
static bool must_go_on(struct climb *c)
{
	if (is_over(c)) {
		c->at.futile = 0;
		release(c);
		return false;
	}
	return is_due(c) && !is_early(c);
}

static void at_none(struct climb *c)
{
	if (c->spec->mode == FEEDBACK_OFF || !is_abnormal(c))
		end(c);
	else
		alert(c);
}

static void at_alert(struct climb *c)
{
	if (c->spec->mode == FEEDBACK_OFF || c->verdict->outcome == FEEDBACK_NORMAL)
		end(c);
	else if (!is_due(c) || is_early(c))
		return;
	else if (!is_abnormal(c))
		end(c);
	else if (c->spec->mode == FEEDBACK_THROTTLE)
		lower(c);
}

static void at_no_new_grants(struct climb *c)
{
	if (!must_go_on(c))
		return;
	if (!is_abnormal(c))
		release(c);
	else if (c->at.percent > c->spec->floor)
		lower(c);
	else if (c->spec->evict_offender && c->verdict->has_offender)
		move_to(c, THROTTLE_EVICT_OFFENDER, c->pace->floor_us);
	else
		give_up(c);
}

static void at_evict_offender(struct climb *c)
{
	if (!must_go_on(c))
		return;
	if (is_abnormal(c))
		give_up(c);
	else
		release(c);
}

/* Not before it has risen once, so that no flicker of verdicts holds it where it is. */
static bool may_fall_again(const struct climb *c)
{
	return c->at.futile == 0 && c->spec->mode == FEEDBACK_THROTTLE &&
	       c->at.until_us > c->at.since_us + c->pace->recover_us;
}

/* After a try without effect it goes up whatever is seen. */
static void at_release(struct climb *c)
{
	int64_t times;

	if (is_abnormal(c) && may_fall_again(c)) {
		lower(c);
		return;
	}
	if (!is_due(c))
		return;
	times = (c->now_us - c->at.until_us) / c->pace->recover_us + 1;
	c->at.percent =
		MIN(c->at.percent + MIN(times, THROTTLE_WHOLE) * c->spec->recover, THROTTLE_WHOLE);
	c->at.until_us += times * c->pace->recover_us;
	if (c->at.percent >= THROTTLE_WHOLE)
		reach_top(c);
}

static void at_rest(struct climb *c)
{
	if (c->spec->mode == FEEDBACK_OFF)
		end(c);
	else if (!is_due(c) || is_early(c))
		return;
	else if (is_abnormal(c))
		alert(c);
	else
		end(c);
}

/* --- what comes before all steps */

static bool is_overridden(const struct climb *c)
{
	const struct feedback_spec *spec = c->spec;

	return spec->override != AMOUNT_NONE &&
	       (spec->override_until_us == 0 || spec->override_until_us > c->now_us);
}

static void override(struct climb *c)
{
	if (c->at.step != THROTTLE_OVERRIDE)
		move_to(c, THROTTLE_OVERRIDE, 0);
	c->at.percent = c->spec->override;
	c->at.until_us = c->spec->override_until_us;
	c->at.signals = 0;
	c->at.futile = 0;
}

/* A clock that was set back must not keep anybody down, and a status that nobody wrote neither. */
static void bound(struct climb *c)
{
	const struct feedback_pace *pace = c->pace;
	int64_t most_us =
		MAX(MAX(pace->alert_us, pace->step_us), MAX(pace->floor_us, pace->recover_us));

	if (c->at.step == THROTTLE_REST)
		most_us = rest_us(c);

	c->at.since_us = MIN(c->at.since_us, c->now_us);
	c->at.until_us = MIN(c->at.until_us, c->now_us + most_us);
	if (c->at.step == THROTTLE_NONE || c->at.step == THROTTLE_ALERT ||
	    c->at.step == THROTTLE_REST)
		c->at.percent = THROTTLE_WHOLE;
	else
		c->at.percent = MIN(MAX(c->at.percent, c->spec->floor), THROTTLE_WHOLE);
}

struct throttle feedback_step(const struct throttle *before, const struct feedback_spec *spec,
			      const struct feedback_pace *pace,
			      const struct feedback_verdict *verdict, int64_t now_us)
{
	static void (*const steps[THROTTLE_STEP_COUNT])(struct climb *) = {
		[THROTTLE_NONE] = at_none,
		[THROTTLE_ALERT] = at_alert,
		[THROTTLE_NO_NEW_GRANTS] = at_no_new_grants,
		[THROTTLE_EVICT_OFFENDER] = at_evict_offender,
		[THROTTLE_RELEASE] = at_release,
		[THROTTLE_REST] = at_rest,
		/* One that ended leaves nothing behind. */
		[THROTTLE_OVERRIDE] = end,
	};
	struct climb c = {*before, spec, pace, verdict, now_us - now_us % USEC_PER_SEC};

	if (is_overridden(&c)) {
		override(&c);
		return c.at;
	}
	bound(&c);
	steps[c.at.step](&c);
	return c.at;
}
