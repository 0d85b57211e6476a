/* SPDX-License-Identifier: Apache-2.0 */
/* A picture, from top to bottom: what there is in one line, what kubelet does, a box for each NUMA
 * node, one for cards of no known node, the NVLinks. */
#include "agent/picture.h"

#include <inttypes.h>
#include <stdio.h>

#include "picture_box.h"

#define LABEL 8 /* columns before a row of the matrix */
#define CELL  5 /* columns of a number in it */

static void add_count(struct buf *text, size_t n, const char *what)
{
	buf_printf(text, "%zu %s%s", n, what, n == 1 ? "" : "s");
}

static void draw_summary(const struct layout *layout, struct buf *out)
{
	const struct layout_kubelet *kubelet = &layout->kubelet;

	add_count(out, layout->n_numas, "NUMA node");
	buf_add_cstr(out, ", ");
	add_count(out, layout->n_gpus, "GPU");
	buf_add_cstr(out, ", ");
	add_count(out, layout->n_links, "NVLink pair");
	if (kubelet->policy != LAYOUT_POLICY_UNKNOWN)
		buf_printf(out, "; kubelet: %s by %s, %s CPUs", layout_policy_text(kubelet->policy),
			   kubelet->pod_scope ? "pod" : "container",
			   kubelet->static_cpu ? "static" : "shared");
	buf_add_char(out, '\n');
}

static void add_distances(const struct layout *layout, size_t numa, struct buf *title)
{
	if (!layout->distances)
		return;
	buf_add_cstr(title, ", distances");
	for (size_t i = 0; i < layout->n_numas; i++)
		buf_printf(title, " %" PRIu32, layout->distances[numa * layout->n_numas + i]);
}

static void draw_numa(const struct layout *layout, size_t i, const struct box *box)
{
	const struct layout_numa *numa = &layout->numas[i];
	CLEANUP(buf_clear) struct buf text;

	buf_init(&text, BOX_LINE_MAX);
	buf_printf(&text, "NUMA node %" PRIu32 ": ", numa->id);
	if (numa->n_cpus > 0)
		add_count(&text, numa->n_cpus, "CPU");
	else
		buf_add_cstr(&text, "no CPUs");
	buf_printf(&text, ", memory %s", amount_text(numa->memory).text);
	add_distances(layout, i, &text);
	box_top(box, buf_str(&text));
	if (numa->n_cpus > 0) {
		buf_reset(&text);
		buf_add_cstr(&text, "CPUs ");
		box_add_text(&text, numa->cpus);
		box_line(box, buf_str(&text), STR_NONE);
	}
	picture_draw_tree(layout, (uint32_t)i, box);
	box_bottom(box);
}

static void draw_homeless(const struct layout *layout, const struct box *box)
{
	size_t n = 0;

	for (size_t i = 0; i < layout->n_gpus; i++)
		n += layout->gpus[i].numa == LAYOUT_NONE;
	if (n == 0)
		return;
	box_top(box, STR("NUMA node not known"));
	picture_draw_tree(layout, LAYOUT_NONE, box);
	box_bottom(box);
}

static const struct layout_link *find_link(const struct layout *layout, size_t a, size_t b)
{
	for (size_t i = 0; i < layout->n_links; i++)
		if (layout->links[i].a == MIN(a, b) && layout->links[i].b == MAX(a, b))
			return &layout->links[i];
	return NULL;
}

/* Right-aligned in @columns; our strokes are one column each. */
static void add_cell(struct buf *line, const char *text, size_t bytes, size_t columns)
{
	for (size_t i = bytes; i < columns; i++)
		buf_add_char(line, ' ');
	buf_add_cstr(line, text);
}

static void add_gpu_cell(const struct layout *layout, size_t gpu, struct buf *line)
{
	CLEANUP(buf_clear) struct buf name;

	buf_init(&name, 32);
	picture_add_gpu(layout, gpu, &name);
	add_cell(line, name.data, name.len, CELL);
}

static void add_link_cell(const struct layout *layout, size_t a, size_t b, struct buf *line)
{
	const struct layout_link *link = find_link(layout, a, b);
	char text[32] = "-";

	if (link)
		snprintf(text, sizeof(text), "%.4g", (double)link->bandwidth / 1e9);
	add_cell(line, text, strlen(text), CELL);
}

/* The columns of cards @first to before @end. */
static void draw_columns(const struct layout *layout, size_t first, size_t end,
			 const struct box *box)
{
	CLEANUP(buf_clear) struct buf line;

	buf_init(&line, BOX_LINE_MAX);
	buf_printf(&line, "%*s", LABEL, "");
	for (size_t b = first; b < end; b++)
		add_gpu_cell(layout, b, &line);
	box_line(box, buf_str(&line), STR_NONE);
	for (size_t a = 0; a < layout->n_gpus; a++) {
		buf_reset(&line);
		buf_add_cstr(&line, "GPU");
		add_gpu_cell(layout, a, &line);
		for (size_t b = first; b < end; b++) {
			if (a == b)
				add_cell(&line, box->glyphs->self, 1, CELL);
			else
				add_link_cell(layout, a, b, &line);
		}
		box_line(box, buf_str(&line), STR_NONE);
	}
}

static void draw_links(const struct layout *layout, const struct box *box)
{
	const size_t most = (BOX_INNER - LABEL) / CELL;

	if (layout->n_links == 0)
		return;
	box_top(box, STR("NVLink: GB/s in one direction"));
	for (size_t i = 0; i < layout->n_gpus; i += most)
		draw_columns(layout, i, MIN(i + most, layout->n_gpus), box);
	box_bottom(box);
}

void picture_draw(const struct layout *layout, bool ascii, struct buf *out)
{
	struct box box;

	box_init(&box, ascii, out);
	draw_summary(layout, out);
	for (size_t i = 0; i < layout->n_numas; i++)
		draw_numa(layout, i, &box);
	draw_homeless(layout, &box);
	draw_links(layout, &box);
	if (layout->n_gpus > 0)
		buf_add_cstr(out, "Numbers on the lines: GB/s of the PCIe link, in one direction.  "
				  "?: not known.\n");
}
