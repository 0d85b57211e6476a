/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes and strokes. All texts in them are made of ASCII and of our own strokes, so that a column
 * is a byte that does not continue another. */
#include "picture_box.h"

#include "agent/picture.h"

_Static_assert(BOX_INNER + 4 == PICTURE_WIDTH, "a box is as wide as a picture");

static const struct glyphs drawn = {"─", "│", "├", "└", "┌", "┐", "└", "┘", "…", "·"};
static const struct glyphs typed = {"-", "|", "+", "+", "+", "+", "+", "+", ">", "."};

void box_init(struct box *box, bool ascii, struct buf *out)
{
	*box = (struct box){out, ascii ? &typed : &drawn};
}

static bool begins_column(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

static size_t columns_of(struct str text)
{
	size_t columns = 0;

	for (size_t i = 0; i < text.len; i++)
		columns += begins_column(text.data[i]);
	return columns;
}

/* Bytes of the first @columns columns. */
static size_t bytes_of(struct str text, size_t columns)
{
	size_t i = 0;

	for (; i < text.len; i++)
		if (begins_column(text.data[i]) && columns-- == 0)
			break;
	return i;
}

/* @text in at most @columns; returns how many it took. */
static size_t add_cut(const struct box *box, struct str text, size_t columns)
{
	size_t all = columns_of(text);

	if (all <= columns) {
		buf_add_str(box->out, text);
		return all;
	}
	buf_add(box->out, text.data, bytes_of(text, columns - 1));
	buf_add_cstr(box->out, box->glyphs->cut);
	return columns;
}

static void add_spaces(const struct box *box, size_t columns)
{
	while (columns-- > 0)
		buf_add_char(box->out, ' ');
}

void box_add_rule(const struct box *box, struct buf *line, size_t columns)
{
	while (columns-- > 0)
		buf_add_cstr(line, box->glyphs->horizontal);
}

void box_add_text(struct buf *line, struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		buf_add_char(line, text.data[i] >= ' ' && text.data[i] <= '~' ? text.data[i] : '?');
}

void box_add_fork(const struct box *box, struct buf *line, bool last)
{
	buf_add_cstr(line, last ? box->glyphs->last : box->glyphs->fork);
}

void box_add_pass(const struct box *box, struct buf *line, bool last)
{
	buf_add_cstr(line, last ? " " : box->glyphs->vertical);
	buf_add_cstr(line, "  ");
}

void box_top(const struct box *box, struct str title)
{
	size_t used;

	buf_add_cstr(box->out, box->glyphs->top_left);
	buf_add_cstr(box->out, box->glyphs->horizontal);
	buf_add_char(box->out, ' ');
	used = add_cut(box, title, BOX_INNER - 2);
	buf_add_char(box->out, ' ');
	box_add_rule(box, box->out, BOX_INNER - 1 - used);
	buf_add_cstr(box->out, box->glyphs->top_right);
	buf_add_char(box->out, '\n');
}

void box_bottom(const struct box *box)
{
	buf_add_cstr(box->out, box->glyphs->bottom_left);
	box_add_rule(box, box->out, BOX_INNER + 2);
	buf_add_cstr(box->out, box->glyphs->bottom_right);
	buf_add_char(box->out, '\n');
}

static void row(const struct box *box, struct str left, struct str right)
{
	size_t room, used;

	right.len = bytes_of(right, BOX_INNER);
	room = BOX_INNER - columns_of(right);
	buf_add_cstr(box->out, box->glyphs->vertical);
	buf_add_char(box->out, ' ');
	used = add_cut(box, left, room);
	add_spaces(box, room - used);
	buf_add_str(box->out, right);
	buf_add_char(box->out, ' ');
	buf_add_cstr(box->out, box->glyphs->vertical);
	buf_add_char(box->out, '\n');
}

void box_line(const struct box *box, struct str left, struct str right)
{
	bool fits = columns_of(left) + 2 + columns_of(right) <= BOX_INNER;

	if (fits || str_empty(right)) {
		row(box, left, right);
		return;
	}
	row(box, left, STR_NONE);
	row(box, STR_NONE, right);
}
