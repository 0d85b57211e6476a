/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_PLACING_ASSUME_H
#define GPUQOS_CLUSTER_PLACING_ASSUME_H

#include "cluster/cluster.h"

/*
 * An assumption takes a pod as bound to a node before the watch shows it: the ledger charges it
 * there, and the node has so much less room. The watch settles it, or its time does.
 */

/* @cards: those that placement chose, of the node's layout; 0: none in particular. @until_us:
 * monotonic. Of a pod that is bound already, or finished, nothing is assumed. */
void cluster_assume(struct cluster *cluster, uint32_t pod, uint32_t node, uint64_t cards,
		    int64_t until_us);
/* It was not bound after all. A pod that is bound, or was not assumed to be, stays as it is. */
void cluster_unassume(struct cluster *cluster, uint32_t pod);
/* Ends those whose time is over. @ret_next_us: when the next one is; TIME_NEVER. */
void cluster_expire_assumptions(struct cluster *cluster, int64_t now_us, int64_t *ret_next_us);
/* No watch has shown yet that it is bound. */
bool cluster_pod_assumed(const struct cluster *cluster, uint32_t pod);
uint32_t cluster_assumptions(const struct cluster *cluster);

#endif
