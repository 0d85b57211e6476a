/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_HOSTS_H
#define GPUQOS_CLUSTER_HOSTS_H

#include "cluster/placing/placement.h"
#include "model/host.h"

/*
 * What kube-scheduler itself looks at before it asks for a pod's cards: for those who must know
 * where it would let the pod go, which placement need not ask. Reading is as in cluster/read.h.
 *
 * All pods of a node count, those that ask for no GPU too: of these nothing is kept but where they
 * are and what they take. Pods that kube-scheduler has placed and no watch has shown do not count
 * yet.
 */

/* Of the pod of an ask on a node, its trial's pods gone, its own place left, holds respected. */
struct cluster_host_room {
	bool told; /* false: the node does not say what it has, and the rest is 0 */
	bool cordoned;
	int64_t asked[HOST_AMOUNTS];
	int64_t free[HOST_AMOUNTS]; /* below 0 where more is taken than there is */
	int64_t most[HOST_AMOUNTS]; /* with nobody there */
};

/* The ask is of a pod that is kept. */
void cluster_host_room(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t node,
		       struct cluster_host_room *ret_room);
/* What a pod that is kept takes of its node; 0 where it is on none, or is over. */
int64_t cluster_pod_takes(const struct cluster *cluster, uint32_t pod, size_t amount);

#endif
