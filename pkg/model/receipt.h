/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_RECEIPT_H
#define GPUQOS_MODEL_RECEIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/str.h"

/*
 * Why pods were evicted for another's sake: who for, by which figures, who went and who was spared,
 * what the limits were, and what came of it. A receipt stands in the beneficiary's TenantQoS
 * (status.evictions) before the first eviction is sent. It is also all that is remembered: limits,
 * back-off and held room follow from the receipts of all tenants, so that whoever leads next goes
 * on where the last one stopped. Everything borrowed from whoever holds it.
 */

/* name, text in status.evictions[].cause. What the beneficiary was short of. */
#define RECEIPT_CAUSES(X)               \
	X(PENDING, "PendingPod")        \
	X(OBJECTIVE, "Objective")       \
	X(MISMATCH, "TopologyMismatch") \
	X(OFFENDER, "Offender")         \
	X(IDLE, "IdleGPU")

enum receipt_cause {
#define X(name, text) RECEIPT_##name,
	RECEIPT_CAUSES(X)
#undef X
		RECEIPT_CAUSE_COUNT
};

/*
 * name, text in status.evictions[].outcome
 *
 * - PLANNED: DryRun: what would be done; nobody is evicted
 * - ISSUED: evictions are being asked for, or pods on their way out, or what follows is watched;
 *   alone unsettled
 * - HELPED: the beneficiary was bound to the room that was held, or its objective improved; who
 *   took too much went, and use is normal; who was idle went
 * - INEFFECTIVE: it did not until heldUntil; the same is not tried again before something changed
 * - REFUSED: no victim went: the API server refused all of them
 * - MOOT: the beneficiary went, or needed nothing any more, before the victims were gone
 */
#define RECEIPT_OUTCOMES(X)           \
	X(PLANNED, "Planned")         \
	X(ISSUED, "Issued")           \
	X(HELPED, "Helped")           \
	X(INEFFECTIVE, "Ineffective") \
	X(REFUSED, "Refused")         \
	X(MOOT, "Moot")

enum receipt_outcome {
#define X(name, text) RECEIPT_##name,
	RECEIPT_OUTCOMES(X)
#undef X
		RECEIPT_OUTCOME_COUNT
};

struct receipt_pod {
	struct str namespace, name, uid;
	struct str owner;   /* "Kind/name" of its workload, or of its gang; empty: itself */
	struct str tenant;  /* TenantQoS; of victims */
	int64_t gpu_memory; /* bytes that it was charged */
	int64_t lost;       /* GPU-seconds since its last checkpoint: what its going cost */
	struct str note; /* of those spared why; of victims what became of it, empty while open */
};

/* What a receipt keeps of each list; n_spared_all counts further. */
#define RECEIPT_VICTIMS 64
#define RECEIPT_SPARED  8

struct receipt {
	struct str id; /* unique within its TenantQoS: of cause, beneficiary and time */
	enum receipt_cause cause;
	enum receipt_outcome outcome;
	int64_t at_us;      /* real */
	int64_t settled_us; /* real; 0: open */
	/* Who it is for. Where it is a pod that is evicted to be made anew elsewhere (MISMATCH),
	 * its successor is: any pod of that owner in that namespace. Of OFFENDER and IDLE it is the
	 * one that goes itself; others have what it had. */
	struct receipt_pod beneficiary;
	struct str objective;  /* of OBJECTIVE; else empty */
	int64_t value;         /* of OBJECTIVE: millionths, what it was then; 0: not told */
	struct str node;       /* where room was made, and is held; empty: none is */
	uint64_t cards;        /* of the node's layout that are held; 0: none in particular */
	int64_t held_until_us; /* real; the observation ends with it too */
	struct str proof;      /* the figures before, a sentence */
	struct str limits;     /* how much of each limit was used then, a sentence */
	struct str message;    /* what came of it, a sentence; empty while open */
	const struct receipt_pod *victims;
	size_t n_victims;
	const struct receipt_pod *spared; /* the first of them */
	size_t n_spared;
	int64_t n_spared_all; /* that were looked at and not taken */
};

/* status.evictions[]: the last ten, and all that are younger than the longest limit looks back. */
#define RECEIPTS_KEPT         10
#define RECEIPTS_MOST         64
#define RECEIPT_LOOKS_BACK_US (60LL * 60 * 1000 * 1000)

/*
 * Receipts are read back, by a clock that may have been set since, and others may have written to
 * them. So no receipt is open for longer than the longest observation, whatever it says; and one
 * that was made further ahead than clocks are apart counts for nothing: who waited for its time
 * would wait for ever.
 */
#define RECEIPT_OPEN_MOST_US (60LL * 60 * 1000 * 1000) /* protection_spec.observation_us */
#define RECEIPT_AHEAD_US     (60LL * 60 * 1000 * 1000)

bool receipt_is_ahead(int64_t at_us, int64_t now_real_us);
/* held_until_us within these bounds. */
int64_t receipt_held_until(const struct receipt *receipt);
/* The same receipt with all its times within them; that it is not ahead is the caller's to see to.
 */
struct receipt receipt_bounded(const struct receipt *receipt, int64_t now_real_us);

/* Borrowed, static. */
const char *receipt_cause_text(enum receipt_cause cause);
const char *receipt_outcome_text(enum receipt_outcome outcome);

#endif
