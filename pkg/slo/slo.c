/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state between Unknown and Unknown is one of three, and moves by four questions alone: has it
 * been bad, or well, for long enough, and does the budget burn, or no more. Each question's answer
 * only gets worse with worse values, and so does the verdict.
 */
#include "slo/slo.h"

#include <math.h>
#include <string.h>

#include "base/macros.h"

#define MILLION 1000000.0

/* --- one reading */

static struct slo_sample no_sample(enum objective_reason reason)
{
	return (struct slo_sample){.reason = reason, .value = OBJECTIVE_NO_VALUE};
}

static bool same_number(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

/* What the usable points have in common. */
struct look {
	const struct slo_point *worst;
	size_t n_new, n;          /* not too old; usable: their value is a number as well */
	bool all_zero, all_alike; /* of the usable */
	bool nothing_counted;     /* of the new: every one tells its sum, and it is 0 */
	const struct slo_point *first;
	int64_t newest_us;
};

static bool is_worse(const struct objective_spec *spec, double a, double b)
{
	return spec->direction == OBJECTIVE_BELOW ? a > b : a < b;
}

static bool is_old(const struct slo_point *point, const struct slo_moment *moment)
{
	int64_t most_us = MAX(SLO_STALE_US, SLO_SILENT_INTERVALS * moment->interval_us);

	return point->old || (point->at_us != 0 && point->at_us < moment->real_us - most_us);
}

static void look_at(const struct objective_spec *spec, const struct slo_point *point,
		    const struct slo_moment *moment, struct look *look)
{
	look->newest_us = MAX(look->newest_us, point->at_us);
	if (is_old(point, moment))
		return;
	look->n_new++;
	look->nothing_counted &= point->sum == 0;
	if (!isfinite(point->value))
		return;
	if (look->n++ == 0)
		look->first = look->worst = point;
	look->all_zero &= point->value == 0;
	look->all_alike &= same_number(point->value, look->first->value) &&
			   same_number(point->sum, look->first->sum);
	if (is_worse(spec, point->value, look->worst->value))
		look->worst = point;
}

static struct look look_at_all(const struct objective_spec *spec, const struct slo_reading *reading,
			       const struct slo_moment *moment)
{
	struct look look = {.all_zero = true, .all_alike = true, .nothing_counted = true};

	for (size_t i = 0; i < reading->n_points; i++)
		look_at(spec, &reading->points[i], moment, &look);
	return look;
}

static bool is_skewed(const struct slo_reading *reading, int64_t newest_us, int64_t real_us)
{
	int64_t answered_us = reading->answered_us;

	return newest_us > real_us + SLO_SKEW_US ||
	       (answered_us != 0 &&
		(answered_us > real_us + SLO_SKEW_US || answered_us < real_us - SLO_SKEW_US));
}

/* Beyond what can be told, the nearest that can. */
static int64_t millionths_of(double value)
{
	double millionths = value * MILLION;

	if (millionths >= (double)INT64_MAX)
		return INT64_MAX;
	if (millionths <= (double)-INT64_MAX)
		return -INT64_MAX;
	return (int64_t)llround(millionths);
}

struct slo_sample slo_judge(const struct objective_spec *spec, const struct slo_reading *reading,
			    const struct slo_moment *moment)
{
	struct look look;

	if (reading->has_failed)
		return no_sample(reading->failed);
	if (reading->n_points == 0)
		return no_sample(OBJECTIVE_REASON_ABSENT);
	look = look_at_all(spec, reading, moment);
	if (is_skewed(reading, look.newest_us, moment->real_us))
		return no_sample(OBJECTIVE_REASON_CLOCK_SKEW);
	if (look.n_new == 0)
		return no_sample(OBJECTIVE_REASON_STALE);
	if (look.nothing_counted || (look.n > 0 && look.all_zero))
		return no_sample(OBJECTIVE_REASON_ALL_ZERO);
	if (look.n == 0)
		return no_sample(OBJECTIVE_REASON_NAN);
	if (look.n > 1 && look.all_alike)
		return no_sample(OBJECTIVE_REASON_CLONED);
	return (struct slo_sample){true, OBJECTIVE_REASON_WITHIN, millionths_of(look.worst->value),
				   look.worst->pod};
}

/* --- windows */

/* Of all slots: the slow window; the others by the ratios that the header tells. */
#define SLOW_LONG  SLO_SLOTS
#define SLOW_SHORT (SLOW_LONG / 12)
#define FAST_LONG  (SLOW_LONG / 6)
#define FAST_SHORT ((FAST_LONG + 11) / 12)
#define SLOW_FORS  3 /* the slow window, in `for` */

/* The burn rates times the budget, per mille of the readings. */
#define BUDGET_PERCENT 5
#define FAST_PER_MILLE (144 * BUDGET_PERCENT)
#define SLOW_PER_MILLE (60 * BUDGET_PERCENT)

static int64_t slot_us(const struct objective_spec *spec)
{
	return MAX(spec->for_us * SLOW_FORS / SLO_SLOTS, 1);
}

static void count(struct slo_state *state, int64_t number, bool bad)
{
	struct slo_slot *slot = &state->slots[number % SLO_SLOTS];

	if (slot->number != number)
		*slot = (struct slo_slot){.number = number};
	slot->n++;
	slot->bad += bad;
}

/* One window, of so many slots up to now. */
static struct slo_slot sum_of(const struct slo_state *state, int64_t number, int64_t slots)
{
	struct slo_slot sum = {0};

	for (size_t i = 0; i < SLO_SLOTS; i++) {
		const struct slo_slot *slot = &state->slots[i];

		if (slot->number <= number - slots || slot->number > number)
			continue;
		sum.n += slot->n;
		sum.bad += slot->bad;
	}
	return sum;
}

/* What a state is asked with. */
struct ask {
	const struct slo_state *state;
	const struct objective_spec *spec;
	const struct slo_moment *moment;
};

static bool burns_at(const struct slo_slot *sum, int64_t per_mille)
{
	return sum->n > 0 && (int64_t)sum->bad * 1000 >= (int64_t)sum->n * per_mille;
}

/* A window that is half empty tells no rate. */
static bool is_filled(const struct ask *ask, const struct slo_slot *sum, int64_t slots,
		      int64_t least)
{
	int64_t full = slots * slot_us(ask->spec) / ask->moment->interval_us;

	return sum->n >= MAX(least, full / 2);
}

static bool burns(const struct ask *ask, int64_t divisor)
{
	int64_t number = ask->moment->now_us / slot_us(ask->spec);
	struct slo_slot fast = sum_of(ask->state, number, FAST_LONG);
	struct slo_slot fast_now = sum_of(ask->state, number, FAST_SHORT);
	struct slo_slot slow = sum_of(ask->state, number, SLOW_LONG);
	struct slo_slot slow_now = sum_of(ask->state, number, SLOW_SHORT);

	if (is_filled(ask, &fast, FAST_LONG, 2) && burns_at(&fast, FAST_PER_MILLE / divisor) &&
	    burns_at(&fast_now, FAST_PER_MILLE / divisor))
		return true;
	return is_filled(ask, &slow, SLOW_LONG, SLO_SAMPLES) &&
	       burns_at(&slow, SLOW_PER_MILLE / divisor) &&
	       burns_at(&slow_now, SLOW_PER_MILLE / divisor);
}

/* --- the state */

static bool was_well_for(const struct ask *ask, int64_t us)
{
	int64_t since_us = ask->state->well_since_us;

	return since_us >= 0 && ask->moment->now_us - since_us >= us;
}

static bool is_violated(const struct ask *ask)
{
	const struct slo_state *state = ask->state;

	return state->bad_in_row >= SLO_SAMPLES &&
	       ask->moment->now_us - state->bad_since_us >= ask->spec->for_us;
}

static enum objective_state next_state(const struct ask *ask)
{
	enum objective_state held = ask->state->held;
	int64_t for_us = ask->spec->for_us;

	if (is_violated(ask) || (held == OBJECTIVE_VIOLATED && !was_well_for(ask, for_us)))
		return OBJECTIVE_VIOLATED;
	if (burns(ask, 1))
		return OBJECTIVE_AT_RISK;
	if (held >= OBJECTIVE_AT_RISK && (burns(ask, 2) || !was_well_for(ask, for_us / 2)))
		return OBJECTIVE_AT_RISK;
	return OBJECTIVE_MET;
}

/* True where state or reason changed. */
static bool tell(struct slo_state *state, enum objective_state told, enum objective_reason reason,
		 int64_t real_us)
{
	struct slo_verdict *verdict = &state->verdict;
	bool changed = verdict->state != told || verdict->reason != reason;

	if (verdict->state != told || verdict->since_us == 0)
		verdict->since_us = real_us;
	verdict->state = told;
	verdict->reason = reason;
	if (told == OBJECTIVE_UNKNOWN) {
		verdict->value = OBJECTIVE_NO_VALUE;
		verdict->worst = 0;
	}
	return changed;
}

static bool tell_held(struct slo_state *state, int64_t real_us)
{
	static const enum objective_reason reasons[OBJECTIVE_STATE_COUNT] = {
		[OBJECTIVE_MET] = OBJECTIVE_REASON_WITHIN,
		[OBJECTIVE_AT_RISK] = OBJECTIVE_REASON_BURNING,
		[OBJECTIVE_VIOLATED] = OBJECTIVE_REASON_PAST,
	};

	return tell(state, state->held, reasons[state->held], real_us);
}

static void break_row(struct slo_state *state)
{
	state->in_row = state->bad_in_row = 0;
	state->bad_since_us = state->well_since_us = -1;
}

void slo_init(struct slo_state *state)
{
	*state = (struct slo_state){
		.verdict = {.reason = OBJECTIVE_REASON_RESTARTED, .value = OBJECTIVE_NO_VALUE}};
	break_row(state);
}

/* Too long without a good reading: nothing from before counts. */
static void start_anew(struct slo_state *state)
{
	break_row(state);
	state->held = OBJECTIVE_UNKNOWN;
	memset(state->slots, 0, sizeof(state->slots));
}

static bool is_bad(const struct objective_spec *spec, int64_t value)
{
	return spec->direction == OBJECTIVE_BELOW ? value > spec->threshold
						  : value < spec->threshold;
}

static bool is_well(const struct objective_spec *spec, int64_t value)
{
	int64_t margin = spec->threshold / 100 * SLO_MARGIN_PERCENT;

	return spec->direction == OBJECTIVE_BELOW ? value <= spec->threshold - margin
						  : value >= spec->threshold + margin;
}

static void add(struct slo_state *state, const struct objective_spec *spec, int64_t value,
		int64_t now_us)
{
	bool bad = is_bad(spec, value);

	state->in_row++;
	state->bad_in_row = bad ? state->bad_in_row + 1 : 0;
	if (!bad)
		state->bad_since_us = -1;
	else if (state->bad_since_us < 0)
		state->bad_since_us = now_us;
	if (!is_well(spec, value))
		state->well_since_us = -1;
	else if (state->well_since_us < 0)
		state->well_since_us = now_us;
	count(state, now_us / slot_us(spec), bad);
}

static struct slo_sample judge_news(struct slo_state *state, const struct objective_spec *spec,
				    const struct slo_reading *reading,
				    const struct slo_moment *moment)
{
	bool again = reading->answered_us != 0 && reading->answered_us == state->answered_us;

	if (reading->answered_us != 0)
		state->answered_us = reading->answered_us;
	return again ? no_sample(OBJECTIVE_REASON_STALE) : slo_judge(spec, reading, moment);
}

static bool is_first(const struct slo_state *state)
{
	return state->held == OBJECTIVE_UNKNOWN &&
	       state->verdict.reason == OBJECTIVE_REASON_RESTARTED;
}

bool slo_take(struct slo_state *state, const struct objective_spec *spec,
	      const struct slo_reading *reading, const struct slo_moment *moment)
{
	struct slo_sample sample = judge_news(state, spec, reading, moment);
	int64_t seen_us = state->verdict.seen_us;

	if (!sample.good) {
		break_row(state);
		return tell(state, OBJECTIVE_UNKNOWN, sample.reason, moment->real_us);
	}
	if (seen_us != 0 && moment->now_us - seen_us > SLO_HOLE_INTERVALS * moment->interval_us)
		start_anew(state);
	add(state, spec, sample.value, moment->now_us);
	state->verdict.seen_us = moment->now_us;
	state->verdict.n_points = (uint32_t)reading->n_points;
	if (state->in_row < SLO_SAMPLES)
		return tell(state, OBJECTIVE_UNKNOWN,
			    is_first(state) ? OBJECTIVE_REASON_RESTARTED : OBJECTIVE_REASON_TOO_FEW,
			    moment->real_us);
	state->verdict.value = sample.value;
	state->verdict.worst = sample.worst;
	state->held = next_state(&(struct ask){state, spec, moment});
	return tell_held(state, moment->real_us);
}

bool slo_pass(struct slo_state *state, const struct slo_moment *moment)
{
	int64_t silent_us = moment->now_us - state->verdict.seen_us;

	if (state->verdict.state == OBJECTIVE_UNKNOWN ||
	    silent_us <= SLO_SILENT_INTERVALS * moment->interval_us)
		return false;
	break_row(state);
	return tell(state, OBJECTIVE_UNKNOWN, OBJECTIVE_REASON_STALE, moment->real_us);
}
