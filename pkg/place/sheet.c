/* SPDX-License-Identifier: Apache-2.0 */
/* What was said of nodes to pods of one sort, until the node changes. */
#include <string.h>

#include "base/mem.h"
#include "place/internal.h"

#define AHEAD_LINE   16 /* nodes */
#define AHEAD_RECORD 12
#define AHEAD_OFFER  6

_Static_assert(sizeof(struct place_line) == 32, "two lines of a sheet are one of the cache");
_Static_assert(sizeof(struct place_sort) == sizeof(struct placement_weights) +
						    PLACE_CELLS * sizeof(struct place_sort_cell) +
						    24,
	       "no padding");

/* --- sorts of pods */

static void sort_of(const struct place *place, struct place_sort *ret_sort)
{
	const struct pod_alignment *alignment = &place->ask.alignment;

	memset(ret_sort, 0, sizeof(*ret_sort));
	ret_sort->weights = *place->tools.weights;
	ret_sort->n = (uint32_t)place->ask.n;
	ret_sort->most = place->ask.most;
	ret_sort->cpus = alignment->cpus;
	ret_sort->product = place->ask.product;
	ret_sort->policy = (uint8_t)place->topology.policy;
	ret_sort->scope = (uint8_t)place->topology.scope;
	ret_sort->guaranteed = alignment->guaranteed;
	ret_sort->whole_cpus = alignment->whole_cpus;
	ret_sort->cpus_together = alignment->cpus_together;
	ret_sort->takes_over = alignment->takes_over;
	for (size_t i = 0; i < place->ask.n; i++)
		ret_sort->cells[i] = (struct place_sort_cell){
			.count = place->ask.cells[i].count,
			.resource = place->ask.cells[i].resource,
			.device = place->ask.cells[i].device,
			.devices = place->ask.cells[i].devices,
		};
}

/* Claims are a pod's own, and so is what is held for one. What was told of its devices is worth
 * something else on each node, and rare. */
static bool has_sort(const struct place *place)
{
	bool has = place->ask.n <= PLACE_CELLS && place->ask.n_claims == 0 &&
		   place->ask.hold == TABLE_NONE && str_empty(place->ask.stranger);

	for (size_t i = 0; has && i < place->ask.n; i++)
		has = place->ask.cells[i].told == 0;
	return has;
}

/* The sheet of @sort, or the one that was not used for longest. */
static struct place_sheet *find_sheet(struct place_memory *memory, const struct place_sort *sort)
{
	struct place_sheet *oldest = &memory->sheets[0];

	for (size_t i = 0; i < PLACE_SHEETS; i++) {
		struct place_sheet *sheet = &memory->sheets[i];

		if (sheet->used > 0 && memcmp(&sheet->sort, sort, sizeof(*sort)) == 0)
			return sheet;
		if (sheet->used < oldest->used)
			oldest = sheet;
	}
	memcpy(&oldest->sort, sort, sizeof(*sort));
	oldest->resources = UINT64_MAX;
	oldest->taken = memory->questions + 1;
	return oldest;
}

static void make_room(struct place_sheet *sheet, uint32_t n)
{
	if (n <= sheet->n_lines)
		return;
	sheet->lines = mem_realloc_array(sheet->lines, n, sizeof(*sheet->lines));
	memset(&sheet->lines[sheet->n_lines], 0, (n - sheet->n_lines) * sizeof(*sheet->lines));
	sheet->n_lines = n;
}

/* Forgets of what was said whatever followed from what has changed beside the nodes. */
static void bring_up_to_date(struct place_sheet *sheet, uint64_t resources, uint64_t usual)
{
	if (sheet->resources != resources) {
		memset(sheet->lines, 0, sheet->n_lines * sizeof(*sheet->lines));
		sheet->n_prices = 0;
	} else if (sheet->usual != usual) {
		for (uint32_t i = 0; i < sheet->n_lines; i++)
			sheet->lines[i].scored = false;
	}
	sheet->resources = resources;
	sheet->usual = usual;
}

void place_sheet_open(struct place *place)
{
	struct place_memory *memory = place->tools.memory;
	struct place_sheet *sheet;
	struct place_sort sort;

	place->sheet = NULL;
	place->stamps = cluster_node_stamps(place->tools.cluster, &place->n_stamps);
	if (place->ask.trial || !has_sort(place))
		return;
	sort_of(place, &sort);
	sheet = find_sheet(memory, &sort);
	make_room(sheet, place->n_stamps);
	bring_up_to_date(sheet, cluster_resources_changed(place->tools.cluster),
			 memory->usual.made);
	sheet->used = ++memory->questions;
	place->sheet = sheet;
	place->sheet_taken = sheet->taken;
}

void place_memory_clear(struct place_memory *memory)
{
	for (size_t i = 0; i < PLACE_SHEETS; i++)
		mem_free(memory->sheets[i].lines);
	memset(memory, 0, sizeof(*memory));
}

/* --- lines */

/* Another question may have come between, and taken the sheet. */
static bool has_sheet(const struct place *place)
{
	return place->sheet && place->sheet->taken == place->sheet_taken;
}

static struct place_line *loose_line(struct place *place, uint32_t node)
{
	if (place->loose_node != node)
		memset(&place->loose, 0, sizeof(place->loose));
	place->loose_node = node;
	return &place->loose;
}

/* What the pod holds itself where it is assumed to be is no part of its sort, nor is for whom room
 * is held. */
struct place_line *place_line_of(struct place *place, uint32_t node)
{
	struct place_line *line;

	if (!has_sheet(place) || node >= place->n_stamps || node == place->own_node ||
	    place->stamps[node].version == 0)
		return loose_line(place, node);
	line = &place->sheet->lines[node];
	if (line->version != place->stamps[node].version)
		*line = (struct place_line){.version = place->stamps[node].version};
	return line;
}

uint8_t place_price_of(struct place *place, const struct cluster_units *units, bool reconfiguring)
{
	struct place_sheet *sheet = place->sheet;
	struct place_price price = {.reconfiguring = reconfiguring};
	uint32_t i = 0;

	if (!has_sheet(place))
		return PLACE_PRICES;
	for (size_t k = 0; k < place->ask.n; k++)
		price.cells[k] = units[k].price;
	while (i < sheet->n_prices &&
	       (sheet->prices[i].reconfiguring != reconfiguring ||
		memcmp(sheet->prices[i].cells, price.cells, sizeof(price.cells)) != 0))
		i++;
	if (i == sheet->n_prices && i < PLACE_PRICES)
		sheet->prices[sheet->n_prices++] = price;
	return (uint8_t)i;
}

/* --- ahead of questions */

static bool is_new(const struct place *place, uint32_t node)
{
	return place->sheet->lines[node].version != place->stamps[node].version;
}

static void ahead(const struct place *place, const uint32_t *nodes, size_t n)
{
	if (n > AHEAD_LINE && nodes[AHEAD_LINE] < place->n_stamps)
		__builtin_prefetch(&place->sheet->lines[nodes[AHEAD_LINE]]);
	if (n > AHEAD_RECORD && nodes[AHEAD_RECORD] < place->n_stamps &&
	    is_new(place, nodes[AHEAD_RECORD]))
		cluster_node_ahead(place->tools.cluster, nodes[AHEAD_RECORD]);
	if (n > AHEAD_OFFER && nodes[AHEAD_OFFER] < place->n_stamps &&
	    is_new(place, nodes[AHEAD_OFFER]))
		cluster_node_ahead_offer(place->tools.cluster, nodes[AHEAD_OFFER]);
}

void place_ahead(const struct place *place, const uint32_t *nodes, size_t n)
{
	if (has_sheet(place))
		ahead(place, nodes, n);
}
