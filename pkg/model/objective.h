/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_OBJECTIVE_H
#define GPUQOS_MODEL_OBJECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "model/preset.h"

/*
 * What a tenant's users are promised, as a number that Prometheus can tell. Values are millionths
 * of the unit that the metric has, and so seconds are µs; presets (model/preset.h) are in seconds
 * all.
 */

/* The side of the threshold where values are to be: name, text in spec.objectives[].direction. */
#define OBJECTIVE_DIRECTIONS(X) \
	X(BELOW, "Below")       \
	X(ABOVE, "Above")

enum objective_direction {
#define X(name, text) OBJECTIVE_##name,
	OBJECTIVE_DIRECTIONS(X)
#undef X
};

/* How long spec.objectives[].for may be, and is where the spec says nothing. */
#define OBJECTIVE_FOR_LEAST_US   (5LL * 1000 * 1000)
#define OBJECTIVE_FOR_MOST_US    (3600LL * 1000 * 1000)
#define OBJECTIVE_FOR_US         (60LL * 1000 * 1000)
#define OBJECTIVE_PERCENTILE     95
#define OBJECTIVE_THRESHOLD_MOST (1000LL * 1000 * 1000 * 1000) /* whole units */
#define OBJECTIVE_PENDING_MOST_S 86400

/* One of spec.objectives[]. Borrowed from whoever holds it. */
struct objective_spec {
	struct str name;
	enum objective_preset preset;
	int percentile;    /* percent: 50, 90, 95, 99; 0 without a preset, and for means */
	struct str query;  /* PromQL; empty with a preset */
	int64_t threshold; /* millionths, > 0 */
	enum objective_direction direction;
	int64_t for_us; /* the value must be past the threshold for so long to be a violation */
};

bool objective_spec_equal(const struct objective_spec *a, const struct objective_spec *b);

/* Whether its preset can have such a threshold; queries can have any. */
bool objective_spec_plausible(const struct objective_spec *spec);

/* Verdicts: name, text in status.objectives[].state. In rising order of harm, but for UNKNOWN,
 * which is neither good nor bad and lets nobody act. */
#define OBJECTIVE_STATES(X)   \
	X(UNKNOWN, "Unknown") \
	X(MET, "Met")         \
	X(AT_RISK, "AtRisk")  \
	X(VIOLATED, "Violated")

enum objective_state {
#define X(name, text) OBJECTIVE_##name,
	OBJECTIVE_STATES(X)
#undef X
		OBJECTIVE_STATE_COUNT
};

/* Why: name, text in status.objectives[].reason, a sentence for people. The first three belong to
 * Met, AtRisk and Violated, all others to Unknown. */
#define OBJECTIVE_REASONS(X)                                                                      \
	X(WITHIN, "WithinThreshold", "the value keeps to its side of the threshold")              \
	X(BURNING, "BurnRate", "the value is past the threshold too often: a violation is near")  \
	X(PAST, "PastThreshold",                                                                  \
	  "the value was past the threshold for as long as the spec allows")                      \
	X(ABSENT, "Absent", "Prometheus has no such series for the tenant's pods")                \
	X(STALE, "Stale", "the newest sample of any pod that is there is too old")                \
	X(NAN, "NaN", "the value is no number, as of a histogram that nothing was counted in")    \
	X(CLONED, "Cloned", "all pods show the same figures: those of something that they share") \
	X(ALL_ZERO, "AllZero", "all figures are 0, as of counters that nobody drives")            \
	X(CLOCK_SKEW, "ClockSkew", "Prometheus's clock and the controller's are too far apart")   \
	X(TOO_FEW, "TooFew", "too few samples in a row to judge by")                              \
	X(SOURCE_DOWN, "SourceDown", "Prometheus does not answer")                                \
	X(TIMEOUT, "Timeout", "Prometheus does not answer in time")                               \
	X(FORBIDDEN, "Forbidden", "Prometheus does not take the controller's credentials")        \
	X(REFUSED, "QueryRefused", "Prometheus refuses the query, or its answer is of no use")    \
	X(TOO_LARGE, "TooLarge", "Prometheus answers with more than can be read")                 \
	X(PARTIAL, "Partial", "Prometheus warns that its answer may lack a part")                 \
	X(NO_QUERY, "NoQuery", "the controller's configuration names no Prometheus")              \
	X(RESTARTED, "Restarted", "samples are collected anew, as after a start or a new spec")

enum objective_reason {
#define X(name, text, sentence) OBJECTIVE_REASON_##name,
	OBJECTIVE_REASONS(X)
#undef X
		OBJECTIVE_REASON_COUNT
};

/* Not known: a verdict without a value. */
#define OBJECTIVE_NO_VALUE INT64_MIN

/* One of status.objectives[]. */
struct objective_status {
	struct str name;
	enum objective_state state;
	enum objective_reason reason;
	int64_t value;    /* millionths, rounded as objective_round() does, or OBJECTIVE_NO_VALUE */
	int64_t since_us; /* real, full seconds: of the state */
};

struct objective_text {
	char text[32];
};

/* To three significant digits, so that a status does not follow each sample. */
int64_t objective_round(int64_t millionths);

/* Decimal without an exponent, as a quantity is read: "0.213", "-1200"; by value, like
 * amount_text(). */
struct objective_text objective_value_text(int64_t millionths);

/* Borrowed, static. */
const char *objective_direction_text(enum objective_direction direction);
const char *objective_state_text(enum objective_state state);
const char *objective_reason_text(enum objective_reason reason);
const char *objective_reason_sentence(enum objective_reason reason);

#endif
