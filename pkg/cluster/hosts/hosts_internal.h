/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_HOSTS_HOSTS_INTERNAL_H
#define GPUQOS_CLUSTER_HOSTS_HOSTS_INTERNAL_H

#include "cluster/internal.h"

/* What the files of cluster/hosts share. */

/* The handle of such a demand, with one more reference. */
uint32_t demand_ref(struct cluster *cluster, const struct demand *demand);
/* Into (1) or out of (-1) the sums of a node. */
void demand_count(struct cluster *cluster, uint32_t node, uint32_t demand, int sign);

/* Who has @repels, in texts, is on the node; @pod: TABLE_NONE for one without GPUs. TABLE_NONE: it
 * keeps nobody away. */
uint32_t repeller_add(struct cluster *cluster, uint32_t node, uint32_t repels, uint32_t pod);
/* It is gone from there; @repeller becomes TABLE_NONE, which is ignored. */
void repeller_drop(struct cluster *cluster, uint32_t *repeller);

#endif
