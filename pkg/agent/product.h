/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_PRODUCT_H
#define GPUQOS_AGENT_PRODUCT_H

#include "base/arena.h"
#include "base/str.h"

/*
 * The model as the node's label has it: words joined by @between, what a label cannot hold left
 * out. @between: '-' as GPU feature discovery does, '_' as AMD's node labeller. Too long for a
 * label, or no room in @arena: empty, not known.
 */
struct str product_label(struct arena *arena, struct str model, char between);

#endif
