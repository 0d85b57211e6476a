/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_NODES_PUBLISHED_H
#define GPUQOS_CLUSTER_NODES_PUBLISHED_H

#include "cluster/cluster.h"

/*
 * What others than the agent publish of a node's cards in objects of their own, one for a node and
 * named like it. It counts while the Node itself tells nothing, and no Lease vouches for it. The
 * object may come before its Node, and outlive it. Errors as in cluster/cluster.h.
 *
 * @kind: CLUSTER_PUBLISHED, of objects that name the cards; CLUSTER_ZONES, of those that count
 * them, which count where no other does.
 */
int cluster_apply_published(struct cluster *cluster, enum cluster_kind kind,
			    const struct published_facts *facts, struct error *err);

#endif
