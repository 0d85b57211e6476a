/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_FEEDBACK_WATCH_H
#define GPUQOS_FEEDBACK_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "model/feedback.h"
#include "model/pace.h"

/*
 * What is seen of a tenant, and whether that is abnormal. Pure: times come with the facts.
 *
 * - Two signals of different families (model/feedback.h) have to be bad, each without a break for
 *   the grace period of samples. A single sample that differs starts the count anew; the same
 *   sample seen again is no evidence.
 * - A signal that was bad is good again after half of that of good samples.
 * - Unknown is neither: a signal that was not seen for FEEDBACK_STALE_US is unknown, and so is one
 *   with a sample from the future. A figure that is the card's, where others use the card too,
 *   says nothing of one pod: it is unknown.
 * - Nothing here outlives a restart: signals are unknown until they are seen for as long again.
 */
#define FEEDBACK_STALE_US (60 * USEC_PER_SEC)
#define FEEDBACK_SKEW_US  (5 * USEC_PER_SEC)

/* What is bad of what is counted, and not set by spec.isolation. */
#define FEEDBACK_REFUSALS_BAD 30 /* within a minute */
#define FEEDBACK_CRASHES_BAD  3

/* A pod that holds GPUs; each figure may be AMOUNT_UNKNOWN. */
struct feedback_pod {
	uint64_t key;        /* of its uid: the same for the same pod alone */
	int64_t granted;     /* bytes */
	int64_t memory;      /* bytes that it uses, measured */
	int64_t utilisation; /* percent of its busiest card */
	int64_t pcie;        /* bytes per second, both ways, all its cards */
	uint32_t shared;   /* FEEDBACK_BIT()s of those that are its cards', which others use too */
	bool alone;        /* nobody else may use its cards: they may be as busy as they can */
	int64_t sample_us; /* real: when the figures were taken */
};

struct feedback_facts {
	const struct feedback_pod *pods;
	size_t n_pods;
	/* Each may be AMOUNT_UNKNOWN; as of now. */
	int64_t mismatched; /* pods whose cards do not lie as is required */
	int64_t refusals;   /* of its pods, in the last minute */
	int64_t crashes;    /* containers that wait because they crashed over and over */
	bool throttled;     /* then refusals are our own doing, and unknown */
	int64_t grace_us;   /* as in struct feedback_pace */
};

enum signal_state { SIGNAL_UNKNOWN, SIGNAL_GOOD, SIGNAL_BAD };

/* One signal over time; for watch.c. */
struct signal_track {
	enum signal_state state;
	int64_t seen_us;           /* the newest sample */
	enum signal_state turning; /* what the last ones said, where that is not the state */
	int64_t turning_us;        /* the first of those */
};

/* How many pods are followed one by one; those that come when it is full are not. */
#define FEEDBACK_SUSPECTS 32
/* MEMORY, UTILISATION, PCIE. */
#define FEEDBACK_POD_SIGNALS 3

struct feedback_suspect {
	uint64_t key;
	struct signal_track tracks[FEEDBACK_POD_SIGNALS];
};

/* Zeroed, it has seen nothing. Owns nothing. */
struct feedback_watch {
	int64_t started_us; /* real: the first look; 0: none yet */
	int64_t grace_us;   /* of the last look */
	struct signal_track tracks[FEEDBACK_SIGNAL_COUNT];
	struct feedback_suspect suspects[FEEDBACK_SUSPECTS];
	size_t n_suspects;
};

enum feedback_outcome {
	FEEDBACK_CANNOT_TELL, /* nothing is known of what matters */
	FEEDBACK_NORMAL,
	FEEDBACK_ABNORMAL,
};

struct feedback_verdict {
	enum feedback_outcome outcome;
	uint32_t bad, unknown; /* FEEDBACK_BIT()s */
	/* A pod that two signals of different families prove to be the one. */
	bool has_offender;
	uint64_t offender; /* its key */
	uint32_t proof;    /* FEEDBACK_BIT()s of those */
	bool fresh; /* the watch is too young to tell: what it did not see may be so all the same */
};

void feedback_watch_look(struct feedback_watch *watch, const struct isolation_spec *spec,
			 const struct feedback_facts *facts, int64_t now_us);

/*
 * @cause: of a throttle that stands. NORMAL says that what remains of it, those that are unknown
 * counted as bad, would not be abnormal. Without one, nothing is NORMAL of which nothing is known.
 */
struct feedback_verdict feedback_watch_verdict(const struct feedback_watch *watch, uint32_t cause,
					       int64_t now_us);

#endif
