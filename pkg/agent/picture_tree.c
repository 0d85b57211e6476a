/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree in a NUMA node's box: the bridges that have cards of that node below, and the cards.
 * Bridges that have one thing below them share its line, since most trees are long chains that
 * fork now and then.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/limits.h"
#include "picture_box.h"

#define GB   1e9
#define WIRE 8 /* columns of a wire with its number */

struct tree {
	const struct layout *layout;
	const struct box *box;
	uint32_t numa;
	bool used[LIMIT_LAYOUT_BRIDGES]; /* a card of this tree is below */
};

/* What hangs below something: a bridge, or behind these a card. */
struct branch {
	uint32_t bridge, gpu; /* one of them is LAYOUT_NONE */
};

/* The number of GB/s in the middle of a stroke. */
static void add_wire(const struct tree *tree, struct buf *line, int64_t speed)
{
	char text[16] = "?";
	size_t len, before;

	if (speed != AMOUNT_UNKNOWN)
		snprintf(text, sizeof(text), "%.3g", (double)speed / GB);
	len = strlen(text);
	before = len < WIRE ? (WIRE - len) / 2 : 0;
	box_add_rule(tree->box, line, before);
	buf_add_cstr(line, text);
	box_add_rule(tree->box, line, len < WIRE ? WIRE - before - len : 0);
	buf_add_char(line, ' ');
}

/* The address, without the domain where it is that of the one @above. */
static void add_address(struct buf *line, struct str pci, struct str above)
{
	struct str domain, rest, domain_above, rest_above;

	if (str_split(pci, ':', &domain, &rest) &&
	    str_split(above, ':', &domain_above, &rest_above) && str_equal(domain, domain_above))
		pci = rest;
	box_add_text(line, pci);
}

void picture_add_gpu(const struct layout *layout, size_t gpu, struct buf *text)
{
	if (layout->gpus[gpu].index == LAYOUT_NONE)
		buf_printf(text, "#%zu", gpu);
	else
		buf_printf(text, "%" PRIu32, layout->gpus[gpu].index);
}

static void add_memory(struct buf *text, int64_t memory)
{
	buf_add_cstr(text, "  ");
	buf_add_cstr(text, memory == AMOUNT_UNKNOWN ? "memory ?" : amount_text(memory).text);
}

static void describe_gpu(const struct layout_gpu *gpu, struct buf *text)
{
	static const char *const healths[] = {
		[LAYOUT_HEALTH_UNKNOWN] = "health ?",
		[LAYOUT_HEALTH_OK] = "OK",
		[LAYOUT_HEALTH_FAILED] = "FAILED",
	};

	box_add_text(text, str_empty(gpu->product) ? STR("product ?") : gpu->product);
	add_memory(text, gpu->memory);
	if (gpu->sharing != DEVICE_WHOLE && gpu->sharing != DEVICE_OTHER)
		buf_printf(text, "  %s", device_sharing_text(gpu->sharing));
	buf_printf(text, "  %s", healths[gpu->health]);
}

static void draw_migs(const struct tree *tree, const struct layout_gpu *gpu, struct str prefix)
{
	struct buf text;

	buf_init(&text, BOX_LINE_MAX);
	for (size_t i = 0; i < gpu->n_migs; i++) {
		buf_reset(&text);
		buf_printf(&text, "%" PRIu32 " x MIG ", gpu->migs[i].count);
		box_add_text(&text, gpu->migs[i].profile);
		add_memory(&text, gpu->migs[i].memory);
		box_line(tree->box, prefix, buf_str(&text));
	}
	buf_clear(&text);
}

static bool hangs_on(const struct tree *tree, struct branch branch, uint32_t parent)
{
	const struct layout *layout = tree->layout;

	if (branch.bridge != LAYOUT_NONE)
		return tree->used[branch.bridge] && layout->bridges[branch.bridge].parent == parent;
	return layout->gpus[branch.gpu].numa == tree->numa &&
	       layout->gpus[branch.gpu].bridge == parent;
}

/* The next below @parent from @*place on, which starts at 0; false when there are no more. */
static bool next_branch(const struct tree *tree, uint32_t parent, size_t *place,
			struct branch *ret_branch)
{
	size_t n_bridges = tree->layout->n_bridges;

	while (*place < n_bridges + tree->layout->n_gpus) {
		size_t i = (*place)++;
		struct branch branch = {LAYOUT_NONE, LAYOUT_NONE};

		if (i < n_bridges)
			branch.bridge = (uint32_t)i;
		else
			branch.gpu = (uint32_t)(i - n_bridges);
		if (hangs_on(tree, branch, parent)) {
			*ret_branch = branch;
			return true;
		}
	}
	return false;
}

/* The one thing below @bridge; false where there are more. */
static bool only_branch(const struct tree *tree, uint32_t bridge, struct branch *ret_branch)
{
	struct branch branch, other;
	size_t place = 0;

	if (!next_branch(tree, bridge, &place, &branch) ||
	    next_branch(tree, bridge, &place, &other))
		return false;
	*ret_branch = branch;
	return true;
}

/* Returns the address of what it added, which is above what comes next. */
static struct str add_branch(const struct tree *tree, struct branch branch, struct str above,
			     struct buf *line)
{
	const struct layout *layout = tree->layout;
	struct str pci;

	if (branch.bridge != LAYOUT_NONE) {
		pci = layout->bridges[branch.bridge].pci;
		add_wire(tree, line, layout->bridges[branch.bridge].speed);
	} else {
		pci = layout->gpus[branch.gpu].pci;
		add_wire(tree, line, layout->gpus[branch.gpu].speed);
		buf_add_cstr(line, "GPU ");
		picture_add_gpu(layout, branch.gpu, line);
		buf_add_char(line, ' ');
	}
	add_address(line, pci, above);
	return pci;
}

static void draw_below(const struct tree *tree, uint32_t parent, struct str prefix);

static void draw_branch(const struct tree *tree, struct branch branch, struct str prefix, bool last)
{
	CLEANUP(buf_clear) struct buf line, right, below;
	struct str above = STR_NONE;

	buf_init(&line, BOX_LINE_MAX);
	buf_init(&right, BOX_LINE_MAX);
	buf_init(&below, BOX_LINE_MAX);
	buf_add_str(&line, prefix);
	box_add_fork(tree->box, &line, last);
	buf_add_str(&below, prefix);
	box_add_pass(tree->box, &below, last);
	above = add_branch(tree, branch, above, &line);
	while (branch.bridge != LAYOUT_NONE && only_branch(tree, branch.bridge, &branch)) {
		buf_add_char(&line, ' ');
		above = add_branch(tree, branch, above, &line);
	}
	if (branch.gpu == LAYOUT_NONE) {
		box_line(tree->box, buf_str(&line), STR_NONE);
		draw_below(tree, branch.bridge, buf_str(&below));
		return;
	}
	describe_gpu(&tree->layout->gpus[branch.gpu], &right);
	box_line(tree->box, buf_str(&line), buf_str(&right));
	draw_migs(tree, &tree->layout->gpus[branch.gpu], buf_str(&below));
}

/* @prefix: the strokes that pass by on the left. */
static void draw_below(const struct tree *tree, uint32_t parent, struct str prefix)
{
	struct branch branch, next;
	size_t place = 0;
	bool more = next_branch(tree, parent, &place, &next);

	while (more) {
		branch = next;
		more = next_branch(tree, parent, &place, &next);
		draw_branch(tree, branch, prefix, !more);
	}
}

void picture_draw_tree(const struct layout *layout, uint32_t numa, const struct box *box)
{
	struct tree tree = {.layout = layout, .box = box, .numa = numa};

	for (size_t i = 0; i < layout->n_gpus; i++) {
		uint32_t bridge = layout->gpus[i].bridge;

		for (; layout->gpus[i].numa == numa && bridge != LAYOUT_NONE;
		     bridge = layout->bridges[bridge].parent)
			tree.used[bridge] = true;
	}
	draw_below(&tree, LAYOUT_NONE, STR_NONE);
}
