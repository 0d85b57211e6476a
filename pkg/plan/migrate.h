/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PLAN_MIGRATE_H
#define GPUQOS_PLAN_MIGRATE_H

#include "base/buf.h"
#include "cluster/leaving/victims.h"
#include "place/place.h"
#include "plan/host.h"
#include "plan/limits.h"

/*
 * onMismatch: Migrate. Whether a pod whose cards do not lie as its policy requires is moved:
 * evicted while room is held elsewhere for the pod that its workload makes instead. Pure.
 *
 * It is where a node is known to be better: with the pod itself taken as gone
 * (cluster/placing/reserve.h) the node fits it under its own policy and quota, which Required means
 * is certain. Of several the one of the best score is taken, then of the least name. kube-scheduler
 * must let it there too (plan/host.h), for which its successor is taken to be like it.
 *
 * A pod is moved at most once an hour, and neither is the one that its workload made in its place:
 * what kubelet does again is not undone again. The pods of a gang are not moved: they would have to
 * go together.
 */

/* name, text: why it stays. In the order in which they are looked for. */
#define MIGRATE_VERDICTS(X)                                                                \
	X(MOVE, "")                                                                        \
	X(GOING, "it ends already")                                                        \
	X(NO_OWNER, "nobody owns it, and so nothing would make it anew")                   \
	X(DAEMON, "it is a DaemonSet's, and belongs where it is")                          \
	X(MIRROR, "it is a static pod")                                                    \
	X(FINAL, "its Job would fail for good")                                            \
	X(GANG, "it is of a gang, and these are not moved one by one")                     \
	X(MOVED, "its last move, made or planned, is not an hour ago")                     \
	X(YOUNG, "it has not run for its minimum time")                                    \
	X(BACKED_OFF, "its workload lost a pod not long ago")                              \
	X(BUDGET, "a PodDisruptionBudget allows no disruption")                            \
	X(BUDGETS, "several PodDisruptionBudgets select it, and then nobody can evict it") \
	X(REFUSED, "the API server refused to evict it")                                   \
	X(LIMITED, "the limits on evictions leave none")                                   \
	X(UNPROVEN, "")                                                                    \
	X(NO_NODE, "no node fits")

enum migrate_verdict {
#define X(name, text) MIGRATE_##name,
	MIGRATE_VERDICTS(X)
#undef X
};

struct migrate_view {
	const struct place_tools *tools; /* without a trial */
	const struct limits_view *limits;
	const struct protection_spec *protection; /* of its tenant */
	int64_t now_us, now_real_us;
};

struct migrate_found {
	enum migrate_verdict verdict;
	struct limits_answer limits; /* of LIMITED */
	const char *refused;         /* of REFUSED; static */
	int64_t again_us;            /* real: when time alone may change the answer; TIME_NEVER */
	uint32_t node;               /* of MOVE */
	uint64_t cards;              /* as place_cards() */
	int64_t score;               /* of PLACE_TERM_MOST */
	struct terms_doubt doubt;    /* of UNPROVEN */
	uint32_t nodes;              /* that offer GPUs and were looked at */
	uint32_t unfit[PLACE_VERDICT_COUNT];
	uint32_t unhosted[HOST_VERDICT_COUNT]; /* that fit but for kube-scheduler */
};

/* @self: the pod as its receipt would name it. */
void migrate_decide(const struct migrate_view *view, uint32_t pod, const struct receipt_pod *self,
		    struct migrate_found *ret_found);
/* Appends why it stays, a clause: "no node fits: TooFewFree 3". */
void migrate_describe(const struct migrate_found *found, struct buf *buf);

#endif
