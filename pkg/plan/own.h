/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PLAN_OWN_H
#define GPUQOS_PLAN_OWN_H

#include "base/buf.h"
#include "plan/limits.h"
#include "plan/plan.h"

/*
 * Pods of a tenant that go for what they do, or do not do, themselves: who is proven to take more
 * than its share (feedback.evictOffender), and whose cards do nothing (feedback.reclaimIdle). Pure.
 *
 * The offender goes where others suffer from it: some pod of another tenant has a card in common
 * with it, and an objective of its tenant is bad, with that pod as the worst or none told, or its
 * containers crash over and over. What proves it are figures of its own processes, as the node's
 * agent tells them, and of now. Nobody goes beside it but the rest of its gang.
 *
 * The idle one goes where its processes are told to do nothing on each of its cards, and that for
 * so long; of a gang all members are, or none goes. Of several the first is who holds borrowed
 * memory, then who is idle longest, then that of the least uid.
 *
 * Exemptions are the plan's (plan/plan.h), but for the tier.
 */
#define OWN_FRESH_US (60LL * 1000 * 1000) /* figures that are older are not of now */

/* name, text: why nobody goes, a clause */
#define OWN_VERDICTS(X)                                                                       \
	X(GO, "")                                                                             \
	X(NOBODY, "no pod is proven to be the one")                                           \
	X(UNPROVEN, "figures of its own processes prove nothing now")                         \
	X(NOT_SHARED, "no pod of another tenant has a card in common with it")                \
	X(NOBODY_SUFFERS, "nobody who has a card in common with it is seen to suffer for it") \
	X(GANG_BUSY, "others of its gang are not idle")                                       \
	X(EXEMPT, "it may not go")                                                            \
	X(LIMITED, "the limits on evictions leave none")

enum own_verdict {
#define X(name, text) OWN_##name,
	OWN_VERDICTS(X)
#undef X
};

struct own_view {
	const struct cluster *cluster;
	const struct plan_ask *ask; /* own is set; its pod is not looked at */
	uint32_t tenant;
};

struct own_found {
	enum own_verdict verdict;
	enum plan_exemption exemption; /* of EXEMPT */
	uint32_t pod;                  /* that it is about; TABLE_NONE */
	uint32_t pods[RECEIPT_VICTIMS];
	size_t n; /* of GO: the pod and the rest of its gang */
	/* Of the offender: who suffers, and by which objective; empty: its containers crash. */
	uint32_t sufferer;
	struct str objective;
};

/* @pod, @signals: cluster_blamed(). */
void own_offender(const struct own_view *view, uint32_t pod, uint32_t signals,
		  struct own_found *ret_found);
/* NOBODY where none is idle for @idle_us; else about the first of those, or why it stays. */
void own_idle(const struct own_view *view, int64_t idle_us, struct own_found *ret_found);
/* Whether it is idle for so long. */
bool own_is_idle(const struct own_view *view, uint32_t pod, int64_t idle_us);

/* Borrowed, static: the verdict's, or the exemption's. */
const char *own_text(const struct own_found *found);

#endif
