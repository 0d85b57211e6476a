/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_LAYOUT_H
#define GPUQOS_API_LAYOUT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "model/layout.h"

/*
 * The annotation of a Node that tells its layout, in JSON; docs/topology.md is its contract. A
 * node's agent writes it and whoever may patch the node can: it is untrusted input.
 */
#define API_LAYOUT_ANNOTATION "gpuqos.io/topology"
#define API_LAYOUT_VERSION    1

/*
 * Reads the annotation's value, all of it or nothing. Strings point into @text or @arena, the rest
 * lies in @arena; both must stay as long as @ret_layout is used, which is untouched on failure. Any
 * text that is short enough can be judged in LIMIT_DECODE_ARENA.
 *
 * What is absent or null is unknown. A key that version 1 does not have is passed over, so that an
 * older reader understands a newer agent; a change that an older reader must not pass over is a new
 * version. For the kubelet's settings absent means what is promised least: unknown policy, scope
 * container, CPU policy none.
 *
 * LIMIT: longer than LIMIT_LAYOUT, more NUMA nodes, bridges or GPUs than the limits of
 * base/limits.h, nested too deep, or no room in @arena. INVALID: no version or another one, which
 * has a text of its own; no JSON; a key twice; an index that names nothing, a parent that is not
 * an earlier bridge; a NUMA id, CPU, PCI address, uuid, MIG profile of a card or pair of linked
 * cards that occurs twice; a link of a card to itself or with the higher index first; distances
 * that are not one per NUMA node, that some nodes lack, or that are not 10 to their own node and 10
 * to 255 to others; a negative amount or one beyond LIMIT_LAYOUT_AMOUNT; 0 where only a NUMA node's
 * memory may be 0; partitions with more memory than their card; texts that are not printable ASCII
 * of at most LIMIT_LAYOUT_TEXT bytes. The message says what and where: "gpuqos.io/topology:
 * gpus[3].numa: 2 names none of the 2 there".
 */
int api_read_layout(struct str text, struct arena *arena, struct layout *ret_layout,
		    struct error *err);

/* Whether it is of a later version than this reader understands, and that is why it is refused. */
bool api_layout_is_newer(struct str text, struct arena *arena);

/*
 * Appends the layout as the annotation's value. What was read is written so that it reads as equal;
 * a buffer with less room than it takes is `overflowed`, and an agent gives it LIMIT_LAYOUT.
 */
void api_body_layout(struct buf *body, const struct layout *layout);

#endif
