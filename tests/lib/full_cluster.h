/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_LIB_FULL_CLUSTER_H
#define TESTS_LIB_FULL_CLUSTER_H

#include "base/clock.h"
#include "cluster/cluster.h"

/*
 * Nodes of eight cards, all taken by eight training pods each, of which every fourth is too young
 * to go at FULL_CLUSTER_NOW_US; and an inference pod that waits.
 */
#define FULL_CLUSTER_CARDS  8
#define FULL_CLUSTER_NODE   "gpu-pool-7f9c-node" /* stem of their names: crowd_text() */
#define FULL_CLUSTER_TENANT "chat-000000" /* of the pod that waits; room may be made for it */
#define FULL_CLUSTER_NOW_US (2000000 * USEC_PER_SEC)

/*
 * Fills an empty @cluster. Returns the pod that waits, for so many @cards; for more than one it
 * requires that they lie in one NUMA node.
 */
uint32_t full_cluster_make(struct cluster *cluster, unsigned int nodes, int64_t cards);

#endif
