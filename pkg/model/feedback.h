/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_FEEDBACK_H
#define GPUQOS_MODEL_FEEDBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "model/amount.h"

/*
 * What of a tenant's use counts as abnormal, what follows, and how far that has gone:
 * spec.isolation, spec.feedback and status.throttle of a TenantQoS. The rules are in feedback/.
 */

/*
 * name, text in status.throttle.signals[], words for people, family. What may be abnormal. Two of
 * one family are one finding: they have one cause as a rule. Cards that do not lie as asked move
 * more over PCIe by themselves, and pods that crash are made again and refused.
 */
#define FEEDBACK_SIGNALS(X)                                                                       \
	X(MEMORY, "MemoryOvershoot", "pods use more GPU memory than they were granted", 0)        \
	X(UTILISATION, "GPUUtilization", "pods keep shared GPUs busier than isolation allows", 1) \
	X(PCIE, "PCIeBandwidth", "pods move more over PCIe than isolation allows", 2)             \
	X(TOPOLOGY, "TopologyMismatch", "cards of pods do not lie as is required", 2)             \
	X(REFUSALS, "RefusedPods", "pods beyond the quota are created over and over", 3)          \
	X(CRASHES, "CrashLoops", "containers crash over and over", 3)

enum feedback_signal {
#define X(name, text, words, family) FEEDBACK_##name,
	FEEDBACK_SIGNALS(X)
#undef X
		FEEDBACK_SIGNAL_COUNT
};

/* As a set. */
#define FEEDBACK_BIT(signal) (1U << (signal))

/* How many families there are among the signals of a set. */
int feedback_families(uint32_t signals);

/* Per pod; AMOUNT_NONE: not looked at. */
struct isolation_spec {
	int64_t pcie;             /* bytes per second, both ways; at least 1 MB */
	int64_t utilisation;      /* percent of a shared card, 1 to 100 */
	int64_t memory_overshoot; /* percent beyond what it was granted, 0 to 1000 */
};

/* FEEDBACK_BIT()s of the signals that it asks for; those that it says nothing of are among them. */
uint32_t isolation_asks(const struct isolation_spec *spec);

/* Without spec.isolation, or without that field. */
#define ISOLATION_MEMORY_OVERSHOOT 10
#define ISOLATION_SPEC_DEFAULT \
	((struct isolation_spec){AMOUNT_NONE, AMOUNT_NONE, ISOLATION_MEMORY_OVERSHOOT})
#define ISOLATION_PCIE_LEAST            1000000
#define ISOLATION_MEMORY_OVERSHOOT_MOST 1000

/* name, text in spec.feedback.mode. What follows abnormal use; in rising order. */
#define FEEDBACK_MODES(X) \
	X(OFF, "Off")     \
	X(ALERT, "Alert") \
	X(THROTTLE, "Throttle")

enum feedback_mode {
#define X(name, text) FEEDBACK_##name,
	FEEDBACK_MODES(X)
#undef X
};

struct feedback_spec {
	enum feedback_mode mode;
	int64_t decrease; /* percent by which each step lowers the factor, 5 to 90 */
	int64_t recover;  /* percent points by which a minute raises it, 1 to 100 */
	int64_t floor;    /* percent under which it never goes, 1 to 100 */
	bool evict_offender, reclaim_idle;
	int64_t override;          /* percent, 0 to 100, in place of all else; AMOUNT_NONE: none */
	int64_t override_until_us; /* real; 0: until it is taken off */
};

#define FEEDBACK_DECREASE       30
#define FEEDBACK_DECREASE_LEAST 5
#define FEEDBACK_DECREASE_MOST  90
#define FEEDBACK_RECOVER        5
#define FEEDBACK_FLOOR          50
#define FEEDBACK_SPEC_DEFAULT                                                                      \
	((struct feedback_spec){FEEDBACK_OFF, FEEDBACK_DECREASE, FEEDBACK_RECOVER, FEEDBACK_FLOOR, \
				false, false, AMOUNT_NONE, 0})

/*
 * name, text in status.throttle.step
 *
 * - NONE: nothing is taken off
 * - ALERT: abnormal, and told; the tenant has until `until` before anything follows
 * - NO_NEW_GRANTS: the factor is below 100; at `until` it goes on down, or up
 * - EVICT_OFFENDER: at the floor, and a pod that is proven to be the one is to go
 * - RELEASE: back up, the next step at `until`
 * - REST: throttling had no effect: it is not tried again before `until`
 * - OVERRIDE: a human has set the factor
 */
#define THROTTLE_STEPS(X)                  \
	X(NONE, "None")                    \
	X(ALERT, "Alert")                  \
	X(NO_NEW_GRANTS, "NoNewGrants")    \
	X(EVICT_OFFENDER, "EvictOffender") \
	X(RELEASE, "Release")              \
	X(REST, "Rest")                    \
	X(OVERRIDE, "Override")

enum throttle_step {
#define X(name, text) THROTTLE_##name,
	THROTTLE_STEPS(X)
#undef X
		THROTTLE_STEP_COUNT
};

#define THROTTLE_WHOLE      100
#define THROTTLE_TRIES_MOST 16

/* status.throttle. Nothing else is remembered: whoever leads next goes on from it. */
struct throttle {
	enum throttle_step step;
	int64_t percent;  /* of what the tenant would have, 0 to 100 */
	uint32_t signals; /* FEEDBACK_BIT()s: the cause; 0 with NONE and OVERRIDE */
	int64_t since_us; /* real, full seconds: when the step began; 0 with NONE */
	int64_t until_us; /* real, full seconds: see the steps; 0: no time of its own */
	int64_t futile; /* tries without effect, one after the other, THROTTLE_TRIES_MOST at most */
};

#define THROTTLE_NOTHING ((struct throttle){.percent = THROTTLE_WHOLE})

/* What is left of an amount (>= 0), rounded down. */
int64_t throttle_part(int64_t amount, int64_t percent);

bool throttle_equal(const struct throttle *a, const struct throttle *b);

/* Borrowed, static. */
const char *feedback_signal_text(enum feedback_signal signal);
const char *feedback_mode_text(enum feedback_mode mode);
const char *throttle_step_text(enum throttle_step step);

#define THROTTLE_CAUSE_SIZE 384

/* The cause as a clause, "a and b"; of no signals "". */
void throttle_cause(uint32_t signals, char text[THROTTLE_CAUSE_SIZE]);

#endif
