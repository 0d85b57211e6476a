/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes sorted by product and by when they were half full, then cut into rows. */
#include "cli/picture.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"

#define HALF 50

struct entry {
	uint32_t node, product; /* product: index, or n_products where it is not known */
	uint32_t product_nodes; /* of the same product */
	unsigned int half_full; /* percent of arrived demand; PICTURE_COLUMNS: never */
};

struct maker {
	const struct sim *sim;
	const struct sim_input *input;
	struct entry *entries; /* nodes with cards */
	size_t n_entries;
};

static uint32_t product_of(const struct sim_input *input, uint32_t node)
{
	uint64_t bit = input->nodes[node].gpu.product;

	return bit ? (uint32_t)__builtin_ctzll(bit) : (uint32_t)input->n_products;
}

static unsigned int when_half_full(const struct sim *sim, uint32_t node)
{
	unsigned int percent = 0;

	while (percent < PICTURE_COLUMNS && sim_history(sim, node, percent) < HALF)
		percent++;
	return percent;
}

/* Products with most nodes first. */
static int by_place(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	if (a->product_nodes != b->product_nodes)
		return a->product_nodes > b->product_nodes ? -1 : 1;
	if (a->product != b->product)
		return a->product < b->product ? -1 : 1;
	if (a->half_full != b->half_full)
		return a->half_full < b->half_full ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static void sort_nodes(struct maker *m)
{
	uint32_t counts[SIM_PRODUCTS + 1] = {0};

	m->entries = mem_alloc_array(m->input->n_nodes, sizeof(m->entries[0]));
	for (uint32_t node = 0; node < m->input->n_nodes; node++) {
		if (m->input->nodes[node].gpu.cards == 0)
			continue;
		m->entries[m->n_entries++] = (struct entry){
			.node = node,
			.product = product_of(m->input, node),
			.half_full = when_half_full(m->sim, node),
		};
		counts[product_of(m->input, node)]++;
	}
	for (size_t i = 0; i < m->n_entries; i++)
		m->entries[i].product_nodes = counts[m->entries[i].product];
	qsort(m->entries, m->n_entries, sizeof(m->entries[0]), by_place);
}

/* Entries @from to @to as one row. */
static void fill_row(const struct maker *m, size_t from, size_t to, struct picture_row *row)
{
	uint32_t product = m->entries[from].product;

	row->product = product < m->input->n_products ? m->input->products[product] : "";
	row->nodes = (uint32_t)(to - from);
	row->cards = 0;
	for (size_t i = from; i < to; i++)
		row->cards += m->input->nodes[m->entries[i].node].gpu.cards;
	for (unsigned int percent = 0; percent < PICTURE_COLUMNS; percent++) {
		int64_t sum = 0;
		int seen = 0;

		for (size_t i = from; i < to; i++) {
			int share = sim_history(m->sim, m->entries[i].node, percent);

			if (share < 0)
				break;
			sum += share;
			seen++;
		}
		row->cells[percent] = (int8_t)(seen == 0 ? -1 : sum / seen);
	}
}

static void add_product(const struct maker *m, struct picture *picture, size_t from, size_t rows)
{
	size_t nodes = m->entries[from].product_nodes;

	rows = MAX(rows * nodes / m->n_entries, (size_t)1);
	for (size_t i = 0; i < rows && picture->n_rows < PICTURE_ROWS; i++) {
		struct picture_row *row = &picture->rows[picture->n_rows++];

		fill_row(m, from + nodes * i / rows, from + nodes * (i + 1) / rows, row);
		row->first = i == 0;
	}
}

void picture_make(struct picture *picture, const struct sim *sim, const struct sim_input *input,
		  size_t rows)
{
	struct maker m = {.sim = sim, .input = input};

	*picture = (struct picture){.policy = sim_policy_name(sim_policy_of(sim)),
				    .seed = sim_seed_of(sim)};
	sort_nodes(&m);
	for (size_t i = 0; i < m.n_entries; i += m.entries[i].product_nodes)
		add_product(&m, picture, i, MIN(rows, (size_t)PICTURE_ROWS));
	mem_free(m.entries);
}

/* --- for a terminal */

#define TEXT_STEP   2  /* percent for each column */
#define LABEL_WIDTH 12 /* of a product */

static const char *shade(int percent, bool ascii)
{
	static const char *const utf8[] = {" ", "░", "▒", "▓", "█"};
	static const char *const plain[] = {" ", ".", "-", "=", "#"};

	/* Above 95 % it counts as full: what is left are splinters. */
	if (percent < 0)
		return " ";
	return (ascii ? plain : utf8)[percent > 95 ? 4 : MIN((percent + 15) / 30, 3)];
}

static void add_label(struct buf *out, const struct picture_row *row)
{
	char label[LABEL_WIDTH + 1] = {0};

	for (size_t i = 0; row->first && i < LABEL_WIDTH && row->product[i]; i++)
		label[i] = row->product[i] >= ' ' && row->product[i] <= '~' ? row->product[i] : '?';
	buf_printf(out, "%-*s %5" PRIu32 " %5" PRIu32 " ", LABEL_WIDTH, label, row->nodes,
		   row->cards);
}

static void add_axis(struct buf *out)
{
	buf_printf(out, "%-*s %5s %5s ", LABEL_WIDTH, "product", "nodes", "GPUs");
	for (unsigned int percent = 0; percent < PICTURE_COLUMNS; percent += TEXT_STEP * 10)
		buf_printf(out, "%-10u", percent);
	buf_add_char(out, '\n');
}

static void add_legend(struct buf *out, bool ascii)
{
	for (int percent = 0; percent < 100; percent += 25)
		buf_printf(out, "'%s' %d %%  ", shade(percent, ascii), percent);
	buf_printf(out, "'%s' above 95 %%\n\n", shade(100, ascii));
}

void picture_text(const struct picture *picture, bool ascii, struct buf *out)
{
	buf_printf(out,
		   "How full nodes are under %s, seed %" PRId64
		   ", as GPU capacity is asked for, in percent:\n",
		   picture->policy, picture->seed);
	add_legend(out, ascii);
	add_axis(out);
	for (size_t i = 0; i < picture->n_rows; i++) {
		add_label(out, &picture->rows[i]);
		for (unsigned int percent = 0; percent < PICTURE_COLUMNS; percent += TEXT_STEP)
			buf_add_cstr(out, shade(picture->rows[i].cells[percent], ascii));
		buf_add_char(out, '\n');
	}
}
