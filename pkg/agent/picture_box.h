/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_PICTURE_BOX_H
#define GPUQOS_AGENT_PICTURE_BOX_H

#include "base/buf.h"
#include "model/layout.h"

/* Boxes with lines of text in them, and the strokes of trees. */

struct glyphs {
	const char *horizontal, *vertical, *fork, *last;
	const char *top_left, *top_right, *bottom_left, *bottom_right;
	const char *cut, *self;
};

struct box {
	struct buf *out;
	const struct glyphs *glyphs;
};

/* Most bytes of one line while it is composed: of a chain of as many bridges as there may be. */
#define BOX_LINE_MAX (64 * 1024)

/* Columns within a box. */
#define BOX_INNER 96

void box_init(struct box *box, bool ascii, struct buf *out);

/* A box is a top, lines, a bottom. A line too long for one becomes two; what is too long is cut. */
void box_top(const struct box *box, struct str title);
void box_line(const struct box *box, struct str left, struct str right);
void box_bottom(const struct box *box);

/* Appends @text, "?" for each byte of it that is not printable ASCII. */
void box_add_text(struct buf *line, struct str text);
/* Appends @columns of a horizontal stroke. */
void box_add_rule(const struct box *box, struct buf *line, size_t columns);
/* Appends the stroke at which a branch leaves the trunk. */
void box_add_fork(const struct box *box, struct buf *line, bool last);
/* Appends the three columns under it, of the trunk that goes on or has ended. */
void box_add_pass(const struct box *box, struct buf *line, bool last);

/* pkg/agent/picture_tree.c: "0", or "#0" by its place where the driver gave it no number. */
void picture_add_gpu(const struct layout *layout, size_t gpu, struct buf *text);
/* The bridges and cards of one NUMA node, by index, or LAYOUT_NONE for those of none. */
void picture_draw_tree(const struct layout *layout, uint32_t numa, const struct box *box);

#endif
