/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PLAN_CAUSE_H
#define GPUQOS_PLAN_CAUSE_H

#include "cluster/cluster.h"
#include "model/objective.h"
#include "model/protection.h"
#include "model/receipt.h"
#include "plan/limits.h"
#include "plan/plan.h"

/*
 * For whom somebody may have to go, and what came of it. Pure, and without memory: what was done
 * for whom is read off receipts.
 */

/* --- PendingPod: a pod that waits for its node longer than spec.pendingSeconds */

#define CAUSE_WAITING_MOST 32 /* that are told, those that wait longest */

struct cause_waiting {
	uint32_t pod;
	int64_t since_us; /* real: its creation */
};

struct cause_waiters {
	struct cause_waiting list[CAUSE_WAITING_MOST]; /* the longest first, then by the least uid
							*/
	size_t n;
	int64_t next_us; /* real: when another one will have waited so long; TIME_NEVER */
};

/* The tenant's pods that wait for longer than @pending_us; none where that is AMOUNT_NONE. One that
 * is gated, terminating, or assumed to be on a node does not wait. */
void cause_waiters(const struct cluster *cluster, uint32_t tenant, int64_t pending_us,
		   int64_t now_real_us, struct cause_waiters *ret_waiters);

/* Whether somebody goes for it already, or, while @mode is DryRun, a receipt of the last
 * RECEIPT_LOOKS_BACK_US says who would: then nothing more is done for it now. */
bool cause_is_served(const struct limits_view *view, enum protection_mode mode,
		     const struct receipt_pod *beneficiary);

/* For struct plan_ask, in @arena. False where that is full. */
bool cause_left_alone(const struct cluster *cluster, const struct limits_view *view,
		      struct arena *arena, struct plan_left_alone *ret_alone);

/* --- what came of it */

/* What is seen of an open receipt's pods. */
struct cause_seen {
	bool there;       /* the beneficiary, and not finished */
	bool bound, held; /* it is on a node; on the one that room is held on */
	size_t staying;   /* victims that are there and were not asked to go, or refused it */
	size_t refused;   /* of these the API server refused to evict */
	size_t leaving;   /* victims that are on their way out */
	int64_t now_real_us;
	bool coming; /* it is assumed to be on a node and not seen there: it may never be */
};

/* ISSUED: it goes on. */
enum receipt_outcome cause_judge_pending(const struct receipt *receipt,
					 const struct cause_seen *seen);

/*
 * Of OBJECTIVE: judged at the end of the observation, when the room is let go. It helped where the
 * objective is met then, or its value is better by CAUSE_BETTER_PERCENT of what it was. What
 * nothing is known of was not helped.
 */
#define CAUSE_BETTER_PERCENT 20

struct cause_value {
	enum objective_state state;
	enum objective_direction direction;
	int64_t value; /* millionths; OBJECTIVE_NO_VALUE */
};

enum receipt_outcome cause_judge_objective(const struct receipt *receipt,
					   const struct cause_seen *seen,
					   const struct cause_value *now);

#endif
