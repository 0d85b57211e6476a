/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_SLO_SLO_H
#define GPUQOS_SLO_SLO_H

#include "model/objective.h"

/*
 * From samples to verdicts: verdict = take(state, spec, reading, now). Pure; the state has a fixed
 * size and nothing is allocated.
 *
 * A reading is what one query answered: a value for each pod, or the reason why there is none. The
 * value of a reading is that of the pod that is worst off. First it is asked whether it tells
 * anything (slo_judge()). If not, the verdict is Unknown at once, whatever it was. It takes
 * SLO_SAMPLES good readings in a row to come out of that: the state from before is then taken up
 * where no more than SLO_HOLE_INTERVALS passed without a good one, else all begins anew.
 *
 * A value is bad past the threshold, and well SLO_MARGIN_PERCENT of the threshold on the right side
 * of it; between the two it is neither.
 *
 * Violated: all readings of the last `for` were bad, SLO_SAMPLES at least. It ends when all of the
 * last `for` were well.
 *
 * AtRisk: the error budget burns too fast, by more than one window and more than one rate, as in
 * "The Site Reliability Workbook" (Beyer and others, O'Reilly 2018), chapter 5, section 6: with
 *	burn rate(w) = share of bad readings in w / SLO_BUDGET
 * it is at risk where, for one of
 *	a fast pair: 14.4 in a window of `for` / 2, and in one of 1/12 of it,
 *	a slow pair: 6 in a window of 6 times the former, and in one of 1/12 of it,
 * both windows burn at that rate or more. 14.4 and 6, 6 and 1/12 are the book's; it pages at an
 * hour's window where we have half of `for`, so that a rise is told before all of `for` is over.
 * SLO_BUDGET is 5 %: a value that keeps its promise 95 % of the time is in order. So the fast pair
 * asks for 72 % bad readings, and the slow one for 30 %. AtRisk ends when neither pair burns at
 * half its rate, and all of the last `for` / 2 were well.
 *
 * For AtRisk to come before Violated `for` should be four times the interval of the readings, or
 * more.
 *
 * What follows: with equal times, worse values never give a better verdict; Violated, and AtRisk,
 * begin at most once in each `for`, and `for` / 2. tests/prop/prop_slo.c.
 */

#define SLO_SAMPLES          3 /* good readings in a row, to judge at all */
#define SLO_HOLE_INTERVALS   4 /* without a good reading, and what was before still counts */
#define SLO_SILENT_INTERVALS 3 /* without any reading: Stale */
/* Older samples are stale: what Prometheus scrapes once a minute is not. */
#define SLO_STALE_US       (120LL * 1000 * 1000)
#define SLO_SKEW_US        (30LL * 1000 * 1000) /* two clocks that are so far apart are skewed */
#define SLO_MARGIN_PERCENT 5
#define SLO_SLOTS          96 /* the slow window, 3 times `for`, is cut into so many */

/* One pod's figures, or the query's only one. */
struct slo_point {
	double value; /* in the metric's unit; may be NaN */
	/* The sum of what the value was counted from, in whatever unit; 0: nothing was counted. Two
	 * pods that each count their own do not have the same. NaN where the query tells none. */
	double sum;
	/* Real: when the sample was taken; 0: not told. */
	int64_t at_us;
	uint64_t pod; /* whoever it is; 0: not one pod's */
	bool old; /* it counts no more, whatever its time: as of a series that is scraped no more */
};

struct slo_reading {
	const struct slo_point *points;
	size_t n_points;
	/* Real, by Prometheus's clock; 0: not told. That of the reading before: it is the same
	 * again, and Stale. */
	int64_t answered_us;
	/* With has_failed: why there are no points. */
	enum objective_reason failed;
	bool has_failed;
};

struct slo_moment {
	int64_t now_us;      /* monotonic: windows go by it */
	int64_t real_us;     /* what samples' times are held against, and `since` is told in */
	int64_t interval_us; /* of readings, > 0 */
};

struct slo_verdict {
	enum objective_state state;
	enum objective_reason reason;
	int64_t value;     /* millionths, of the last good reading; OBJECTIVE_NO_VALUE: Unknown */
	int64_t since_us;  /* real: when the state began; 0: before the first reading */
	int64_t seen_us;   /* monotonic: of the last good reading; 0: none yet */
	uint64_t worst;    /* the pod whose value it is; 0: not one pod's, or Unknown */
	uint32_t n_points; /* of the last good reading */
};

/* Whether it is a state that lets somebody act for the objective's sake. */
static inline bool slo_is_bad(const struct slo_verdict *verdict)
{
	return verdict->state >= OBJECTIVE_AT_RISK;
}

/* Good readings of a stretch of time. */
struct slo_slot {
	int64_t number; /* of the stretch: its begin / its length */
	uint32_t n, bad;
};

struct slo_state {
	struct slo_verdict verdict;
	enum objective_state held; /* the state apart from Unknown; UNKNOWN: none yet */
	uint32_t in_row;           /* good readings since the last that was not */
	uint32_t bad_in_row;
	int64_t bad_since_us, well_since_us; /* monotonic; -1: the last was not */
	int64_t answered_us;                 /* of the last reading that told it */
	struct slo_slot slots[SLO_SLOTS];
};

/* Nothing is known yet: Unknown, Restarted. */
void slo_init(struct slo_state *state);

/* What became of one reading: the value that counts, or why there is none. */
struct slo_sample {
	bool good;
	enum objective_reason reason; /* where not good */
	int64_t value;                /* millionths */
	uint64_t worst;
};

struct slo_sample slo_judge(const struct objective_spec *spec, const struct slo_reading *reading,
			    const struct slo_moment *moment);

/*
 * Takes a reading, of now; moments do not go back. The verdict is the state's own. True where its
 * state or reason changed.
 */
bool slo_take(struct slo_state *state, const struct objective_spec *spec,
	      const struct slo_reading *reading, const struct slo_moment *moment);

/* The time alone: a verdict without a reading for SLO_SILENT_INTERVALS becomes Unknown. */
bool slo_pass(struct slo_state *state, const struct slo_moment *moment);

#endif
