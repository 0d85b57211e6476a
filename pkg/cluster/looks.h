/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_LOOKS_H
#define GPUQOS_CLUSTER_LOOKS_H

#include "cluster/cluster.h"

/*
 * Nodes of which something changed that is told to people: what is known of their layout, and which
 * cards their pods have. Handles as in cluster/read.h.
 */

/*
 * Each once, in order of first change, as cluster_take_dirty(). The handle lives until the next
 * call, also where the node is gone by then. False when there is none.
 */
bool cluster_take_node(struct cluster *cluster, uint32_t *ret_node);

/* All nodes are to be looked at, and nothing counts as told: who begins to lead tells anew. */
void cluster_look_again(struct cluster *cluster);

/* What is known of the layout counts as told from now on. Returns what was before; ABSENT where
 * nothing was. */
enum layout_state cluster_tell_layout(struct cluster *cluster, uint32_t node);

#endif
