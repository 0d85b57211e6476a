/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_QUOTA_TENANT_H
#define GPUQOS_QUOTA_TENANT_H

#include "base/arena.h"
#include "base/error.h"
#include "model/quota.h"

/*
 * What a tenant's ceiling gives to each of its namespaces: grants = decide(members, ceiling). Pure.
 *
 * Acceptance. A quota is granted whole while the ceiling lasts, memory and cards together, in the
 * order of creation, ties by name; a smaller one may pass one that does not fit. What was granted
 * stays granted, whatever others ask for; only its own spec and a cut of the ceiling take from it,
 * a cut from the youngest first. Who is refused keeps what it was granted before and is told how
 * much is missing.
 *
 * Lending. A member that is short (its own grant minus its use is below its reserve) borrows up to
 * its limit of what its siblings do not use; several share alike (max-min), loans that stand are
 * not shuffled. It gives back when its own grant has twice its reserve of room again. A donor lends
 * what is above its use and twice its reserve; when its room falls below one reserve, it calls back
 * until it has two: a sibling with room takes the loan over, else first those go back that nobody
 * uses, then those of the youngest borrower. The distance between the two marks keeps hard values
 * from following every pod. A member is either donor or borrower, and who is granted nothing
 * borrows nothing. The ceiling's free room is not lent.
 *
 * Moving. Nothing is given to one before it has been taken from the other. A member's `held` is
 * what it could hold now whatever we decide: the larger of `enforced` and `used`. A raise comes out
 * of what the ceiling leaves after every member's `held`, so the sum of what members may hold is
 * never raised above the ceiling, and a decision made on old news is late, never wrong. To lend,
 * the donor is lowered first; the loan is on the books as it is given. While the use of some member
 * is unknown, so is what the ceiling leaves, and nothing is raised. What is called back stays on
 * them while it is held: the sums of lent and borrowed are equal to the byte in every decision.
 *
 * Decide again when a fact of a member changes, those included that follow from the last decision.
 */
struct tenant_member {
	struct str name;    /* of the namespace; each once */
	int64_t created_us; /* of its quota */
	bool asks;          /* it has a quota that can be used; else wants are 0 */
	int64_t wants;      /* bytes: spec.gpuMemory */
	int64_t wants_gpus; /* whole cards: spec.gpus, or as many of the largest as wants buys */
	int64_t borrow_limit;
	/*
	 * As decided before, or as the status of its quota says after a restart. Those of several
	 * members need not fit together: what nobody carries is no loan, what nobody borrowed is
	 * not lent. effective_gpus may be 0 where it is not known.
	 */
	int64_t granted, granted_gpus, borrowed, lent, effective, effective_gpus;
	/*
	 * Bytes, whole cards that the API server may let it have now: the largest of what its
	 * ResourceQuota says in spec and status, of what its status published, and of what a write
	 * says that was sent and is not seen yet.
	 */
	int64_t enforced, enforced_gpus;
	int64_t used, used_gpus; /* by the ledger */
	/* Bytes, whole cards that it counts as using besides, >= 0, in all that is decided: devices
	 * whose memory nothing tells now. */
	int64_t assumed, assumed_gpus;
	bool unknown;    /* and how much they are, nothing says */
	int64_t reserve; /* bytes, >= 0: its largest device */
};

struct tenant_view {
	int64_t ceiling;      /* bytes, or AMOUNT_NONE */
	int64_t ceiling_gpus; /* whole cards, or AMOUNT_NONE */
	const struct tenant_member *members;
	size_t n_members;
	int64_t withhold; /* percent of what each may hold that is held back, 0 to 100 */
};

enum grant_outcome {
	GRANT_FULL,   /* all that it asks for is granted */
	GRANT_WAITS,  /* there is room, once others have let go of it */
	GRANT_NO_ROOM /* the ceiling has no room for it: missing, missing_gpus */
};

struct tenant_grant {
	enum grant_outcome outcome;
	int64_t granted, granted_gpus;
	int64_t borrowed, lent; /* bytes; one of them is 0 */
	/* What it may hold from now on, bytes: granted - lent + borrowed at most, less where it
	 * waits for another, is lowered for another's sake, or what it borrows is called back.
	 * Likewise whole cards, granted_gpus at most. */
	int64_t effective, effective_gpus;
	/* What of that is held back while the tenant is throttled: bytes, rounded up, and whole
	 * cards, rounded down. Loans, and what a cut is, do not change by it. */
	int64_t withheld, withheld_gpus;
	bool recalled;                 /* it holds borrowed memory that is called back */
	int64_t missing, missing_gpus; /* what the ceiling lacks for its raise; 0 with others */
};

struct tenant_sums {
	int64_t granted, granted_gpus, used, used_gpus, lent;
	bool moving; /* some member waits for another, or has to give back what it borrowed */
};

/*
 * @ret_grants: n_members of them, in the order of the members. -1 with LIMIT when the arena is
 * full. Time O(n log n), and O(n) for each bit of the largest loan where memory is lent anew.
 */
int tenant_decide(const struct tenant_view *view, struct arena *arena,
		  struct tenant_grant *ret_grants, struct tenant_sums *ret_sums, struct error *err);

#endif
