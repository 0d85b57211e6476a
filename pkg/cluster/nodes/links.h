/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_NODES_LINKS_H
#define GPUQOS_CLUSTER_NODES_LINKS_H

#include "cluster/internal.h"

/*
 * What is left of PCIe links, as struct cluster_room has it. What pods move is what the node's
 * agent measured of each on each card (cluster/nodes/gpunodes.h), or what they declare of
 * themselves, shared out evenly over their cards, whichever is more: so a pod can only make its own
 * place look fuller. Who is on a card and does neither makes it unknown. All who are on a card
 * count together, whichever slice of it they have. Inside cluster only.
 */

/* Speeds of a layout's cards and of what they hang on, interned with a reference. */
uint32_t link_speeds_ref(struct cluster *cluster, const struct layout *layout);

/* Works it out anew for a node; true where it is not what it was. The caller tells room_changed().
 */
bool links_refresh(struct cluster *cluster, uint32_t node);
/* Whether a pod that has come to a node may have changed it. */
bool links_concern(const struct node_record *node, const struct pod_record *pod);

#endif
