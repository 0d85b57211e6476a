/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_PLACING_UNTOLD_H
#define GPUQOS_CLUSTER_PLACING_UNTOLD_H

#include "cluster/placing/placement.h"

/*
 * Cards of a node of which nobody knows whose they are, and will soon: what a pod that was bound
 * just now gets, until kubelet or the node's agent tells; what a pod will get that room is held
 * for, until it is bound. Whoever decides meanwhile has to reckon with all of them being anywhere,
 * and may find in a moment that they are not in the way.
 *
 * What is not told this long after kubelet began with a pod is no more than not known.
 */
#define CLUSTER_UNTOLD_US (15 * USEC_PER_SEC)

struct cluster_untold {
	uint32_t cards;             /* so many; 0: there are none */
	struct str namespace, name; /* of the first of those pods; borrowed of the cluster */
};

/* As the pod of an ask has it: without those that its trial has go, and what is held for itself.
 * Pods on their way out do not count. */
struct cluster_untold cluster_untold(const struct cluster *cluster, const struct cluster_ask *ask,
				     uint32_t node, int64_t now_real_us);

/* A pod that is on its way out, and is likely to be gone in a moment: the time that it was given is
 * over soon, or has been for a moment only. */
#define CLUSTER_ENDING_US (30 * USEC_PER_SEC)

bool cluster_pod_ends_soon(const struct cluster *cluster, uint32_t pod, int64_t now_real_us);

#endif
