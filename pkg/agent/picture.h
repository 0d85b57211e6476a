/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_PICTURE_H
#define GPUQOS_AGENT_PICTURE_H

#include <stdbool.h>

#include "base/buf.h"
#include "model/layout.h"

/* Columns of a terminal that a picture takes at most. */
#define PICTURE_WIDTH 100

/*
 * Draws @layout for a terminal: a box for each NUMA node with the tree of PCI bridges and cards in
 * it, one for cards of which no node is known, and the matrix of NVLinks. Numbers on the lines are
 * GB/s of the PCIe link, in one direction. The same layout gives the same bytes. @ascii: lines of
 * "-", "|" and "+" in place of UTF-8's box drawing. Whatever texts of the layout hold, nothing but
 * printable ASCII of them reaches the terminal. Check @out->overflowed afterwards.
 */
void picture_draw(const struct layout *layout, bool ascii, struct buf *out);

#endif
