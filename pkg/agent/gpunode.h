/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_GPUNODE_H
#define GPUQOS_AGENT_GPUNODE_H

#include "agent/facts.h"
#include "agent/held.h"
#include "agent/usage.h"
#include "base/buf.h"

/*
 * The object GpuNode of crds/gpunodes.yaml, which says which pod holds which GPU of a node. Pure.
 */
struct gpunode_view {
	struct str node, node_uid, writer;
	const struct layout *layout;
	const struct machine_facts *facts; /* for whose MIG devices are whose */
	const struct held *held;
	const struct usage *usage;
};

/*
 * Appends all of it, for an apply. Equal views make equal bytes: containers are in the order that
 * kubelet tells, with those of one pod together. Measured numbers are rounded, so that not every
 * breath of a card is a write: memory up to 64Mi, percents to the next ten. A buffer with too
 * little room is `overflowed`.
 */
void gpunode_body(struct buf *body, const struct gpunode_view *view);

/*
 * The card, index of the layout, of a device id of a plugin: an uuid of a card or of one of its
 * MIG devices, with or without a replica's number ("GPU-...::3"), the older MIG-GPU-.../1/0, or a
 * PCI address. LAYOUT_NONE: none that is known.
 */
uint32_t gpunode_card(const struct layout *layout, const struct machine_facts *facts,
		      struct str id);

#endif
