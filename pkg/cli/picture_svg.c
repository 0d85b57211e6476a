/* SPDX-License-Identifier: Apache-2.0 */
/* A rectangle for each stretch of one colour. */
#include <inttypes.h>

#include "cli/picture.h"

#define CELL_WIDTH  6
#define CELL_HEIGHT 5
#define GAP         6 /* above each product */
#define LEFT        150
#define TOP         54
#define BOTTOM      60
#define LEVELS      21 /* steps of 5 % */

static const int width = LEFT + PICTURE_COLUMNS * CELL_WIDTH + 30;

/* From nearly white over green to dark blue; even to those who see few colours by its darkness. */
static void add_colour(struct buf *out, int level)
{
	int part = level * 255 / (LEVELS - 1);

	buf_printf(out, "#%02x%02x%02x", 240 - part * 228 / 255, 244 - part * 180 / 255,
		   236 - part * 110 / 255);
}

static void add_rect(struct buf *out, int x, int y, int w, int level)
{
	buf_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"", x, y, w,
		   CELL_HEIGHT);
	add_colour(out, level);
	buf_add_cstr(out, "\"/>\n");
}

static int level_of(int8_t percent)
{
	return percent < 0 ? -1 : (percent * (LEVELS - 1) + 50) / 100;
}

static void add_cells(struct buf *out, const struct picture_row *row, int y)
{
	for (int from = 0, to; from < PICTURE_COLUMNS; from = to) {
		int level = level_of(row->cells[from]);

		for (to = from + 1; to < PICTURE_COLUMNS && level_of(row->cells[to]) == level;)
			to++;
		if (level >= 0)
			add_rect(out, LEFT + from * CELL_WIDTH, y, (to - from) * CELL_WIDTH, level);
	}
}

/* Text from outside: never markup, never a control character. */
static void add_escaped(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text >= ' ' && *text <= '~' && !strchr("<>&\"'", *text))
			buf_add_char(out, *text);
		else
			buf_add_char(out, '?');
	}
}

/* The name and size of the product whose first row is @rows. */
static void add_label(struct buf *out, const struct picture_row *rows, size_t n_rows, int y)
{
	uint32_t nodes = 0, cards = 0;

	for (size_t i = 0; i < n_rows && (i == 0 || !rows[i].first); i++) {
		nodes += rows[i].nodes;
		cards += rows[i].cards;
	}
	buf_printf(out,
		   "<text x=\"%d\" y=\"%d\" text-anchor=\"end\"><title>%" PRIu32 " nodes</title>",
		   LEFT - 8, y + CELL_HEIGHT, nodes);
	add_escaped(out, rows->product[0] ? rows->product : "unknown");
	buf_printf(out, " <tspan fill=\"#777\">%" PRIu32 " GPUs</tspan></text>\n", cards);
}

static void add_axis(struct buf *out, int y)
{
	for (int percent = 0; percent < PICTURE_COLUMNS; percent += 10)
		buf_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%d</text>\n",
			   LEFT + percent * CELL_WIDTH, y + 14, percent);
	buf_printf(out, "<text x=\"%d\" y=\"%d\">GPU capacity asked for, %%</text>\n", LEFT,
		   y + 32);
	for (int level = 0; level < LEVELS; level++)
		add_rect(out, width - 260 + level * 8, y + 27, 8, level);
	buf_printf(out, "<text x=\"%d\" y=\"%d\">allocated, 0 to 100 %%</text>\n", width - 260,
		   y + 48);
}

static int height_of(const struct picture *picture)
{
	int height = TOP + BOTTOM;

	for (size_t i = 0; i < picture->n_rows; i++)
		height += CELL_HEIGHT + (picture->rows[i].first ? GAP : 0);
	return height;
}

void picture_svg(const struct picture *picture, struct buf *out)
{
	int height = height_of(picture), y = TOP;

	buf_printf(out,
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		   "height=\"%d\" font-family=\"sans-serif\" font-size=\"11\">\n"
		   "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		   width, height, width, height);
	buf_printf(out, "<text x=\"%d\" y=\"24\" font-size=\"15\">How nodes fill under %s</text>\n",
		   LEFT, picture->policy);
	buf_printf(out,
		   "<text x=\"%d\" y=\"42\" fill=\"#777\">each line some nodes of a product, those "
		   "that fill first on top; seed %" PRId64 "</text>\n",
		   LEFT, picture->seed);
	for (size_t i = 0; i < picture->n_rows; i++) {
		if (picture->rows[i].first) {
			y += GAP;
			add_label(out, &picture->rows[i], picture->n_rows - i, y);
		}
		add_cells(out, &picture->rows[i], y);
		y += CELL_HEIGHT;
	}
	add_axis(out, y);
	buf_add_cstr(out, "</svg>\n");
}
