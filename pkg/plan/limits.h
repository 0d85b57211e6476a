/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PLAN_LIMITS_H
#define GPUQOS_PLAN_LIMITS_H

#include <stddef.h>

#include "base/buf.h"
#include "model/protection.h"
#include "model/receipt.h"

/*
 * How many pods may be evicted now. Pure, and without memory of its own: what was evicted is read
 * off the receipts of all tenants, so that a restart forgets nothing. The evictions that a quota's
 * onShrink makes count for the limits in flight alone; they leave other receipts. What was refused
 * evicted nobody; what DryRun planned counts for DryRun alone. A beneficiary is the same where its
 * uid is, or its namespace and owner.
 *
 *	per tenant     evictionsPerMinute of spec.protection: victims of its receipts within 60 s
 *	cool-down      cooldownSeconds between two receipts of one tenant for one beneficiary
 *	in flight      LIMITS_IN_FLIGHT victims of open receipts, over all tenants
 *	per owner      a workload that lost a pod is left alone for LIMITS_OWNER_US, twice as long
 *	               after each further one within RECEIPT_LOOKS_BACK_US
 *	ineffective    a beneficiary whose last receipt is INEFFECTIVE or REFUSED: not again for
 *	               LIMITS_INEFFECTIVE_US, twice as long each time
 *	receipts       as many as a status keeps (RECEIPTS_MOST, and LIMITS_VICTIMS_KEPT victims in
 *	               them) are younger than RECEIPT_LOOKS_BACK_US: what would have to be
 *	               forgotten for more would be missed here
 *	brake          more than LIMITS_BRAKE_PERMILLE of the nodes with GPUs are not ready: nobody
 */
#define LIMITS_IN_FLIGHT      16
#define LIMITS_OWNER_US       (120LL * 1000 * 1000)
#define LIMITS_INEFFECTIVE_US (300LL * 1000 * 1000)
#define LIMITS_BRAKE_PERMILLE 200
#define LIMITS_VICTIMS_KEPT   512

/* name, text: what leaves nothing. In the order in which they are looked for. */
#define LIMIT_VERDICTS(X)                                                        \
	X(FREE, "")                                                              \
	X(BRAKE, "too many nodes are not ready")                                 \
	X(RECEIPTS, "status.evictions is full of receipts younger than an hour") \
	X(PER_TENANT, "spec.protection.evictionsPerMinute is used up")           \
	X(COOLDOWN, "the last eviction for it is too recent")                    \
	X(INEFFECTIVE, "the last eviction for it did not help")                  \
	X(IN_FLIGHT, "too many evictions are under way")

enum limit_verdict {
#define X(name, text) LIMITED_##name,
	LIMIT_VERDICTS(X)
#undef X
};

/* Why nobody goes, a clause. Borrowed, static. */
const char *limit_verdict_text(enum limit_verdict verdict);

/* Borrowed, all of it. */
struct limits_view {
	const struct receipt *own; /* of the beneficiary's tenant */
	size_t n_own;
	const struct receipt *others; /* of all other tenants */
	size_t n_others;
	size_t shrinking;                /* evictions of onShrink under way */
	uint32_t nodes, nodes_not_ready; /* that have GPUs */
	int64_t now_real_us;
};

struct limits_answer {
	enum limit_verdict verdict;
	size_t left;      /* victims that may go now */
	int64_t again_us; /* real: when to ask again; TIME_NEVER */
};

void limits_decide(const struct limits_view *view, const struct protection_spec *spec,
		   const struct receipt_pod *beneficiary, struct limits_answer *ret_answer);

/* Whether so many nodes are not ready that nobody may go, nor be asked again. */
bool limits_brake(const struct limits_view *view);

/* Until when (real) a workload is left alone; 0: it is not. @owner: as in struct receipt_pod. */
int64_t limits_owner_until(const struct limits_view *view, struct str namespace, struct str owner);

/* Whether help for the beneficiary is under way: an open receipt of its tenant is for it. */
bool limits_helps(const struct limits_view *view, const struct receipt_pod *beneficiary);

/* Whether an open receipt, whoever's, has this pod go. */
bool limits_names_victim(const struct limits_view *view, struct str uid);

/* Appends how much of each is used: "2 of 6 evictions in a minute, 1 of 16 under way". */
void limits_describe(const struct limits_view *view, const struct protection_spec *spec,
		     struct buf *buf);

#endif
