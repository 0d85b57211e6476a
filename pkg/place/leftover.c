/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pod leaves of a node to the usual asks, by frag.h. What a node offers of one resource is a
 * pool of its own: nobody who asks for whole cards can use what is cut into parts, or the other way
 * round. A pool is what frag.h calls a node.
 */
#include "base/macros.h"
#include "place/internal.h"

/* Of a pod that finds no room among the cards as they are taken to be filled. */
#define COST_MOST (INT64_C(1000000) * LIMIT_LAYOUT_GPUS)

/* Of resources that are not among the usual ones. */
static const struct place_mix no_mix;

/* --- what is free of a pool */

static int64_t units_of_card(const struct cluster_units *units)
{
	return units->cards > 0 ? MAX(units->total / units->cards, 1) : 1;
}

/* How many units are a whole card to the asks of @mix; where nobody tells, as many as here. */
static int64_t parts_of(const struct place_mix *mix, const struct cluster_units *units)
{
	return units->cards > 0 && mix->parts > 0 ? mix->parts : units_of_card(units);
}

/* Which parts are of which card is not told: as if they were given out card by card. */
static void parts_left(const struct cluster_units *units, int64_t parts, struct frag_node *node)
{
	int64_t free = MAX(units->free, 0), of_card = units_of_card(units);
	int64_t full = MIN(free / of_card, MIN(units->cards, (int64_t)LIMIT_LAYOUT_GPUS - 1));
	int64_t rest = free - full * of_card;

	for (int64_t i = 0; i <= full; i++) {
		int64_t left = i < full ? of_card : MIN(rest, of_card);

		node->left[node->cards++] =
			(uint16_t)(left >= parts ? FRAG_WHOLE : left * FRAG_WHOLE / parts);
	}
}

/* Cards that are taken change nothing, so that those that are free are all there is to tell. */
static void devices_left(const struct cluster_units *units, struct frag_node *node)
{
	node->cards = (uint32_t)MIN(MAX(units->free, 0), (int64_t)LIMIT_LAYOUT_GPUS);
	for (uint32_t i = 0; i < node->cards; i++)
		node->left[i] = FRAG_WHOLE;
}

void place_pool_of(const struct place_mix *mix, const struct cluster_units *units,
		   struct frag_node *ret_node)
{
	ret_node->cpu_milli = AMOUNT_UNKNOWN;
	ret_node->product = place_product_bit(mix, units->product);
	ret_node->cards = 0;
	if (units->cards > 0)
		parts_left(units, parts_of(mix, units), ret_node);
	else
		devices_left(units, ret_node);
}

/* --- what a pod adds */

static int64_t cost_of(const struct place_mix *mix, const struct frag_node *node,
		       const struct frag_ask *ask)
{
	struct frag_cost cost;
	uint64_t cards;

	if (!frag_best_cards(&mix->mix, node, ask, UINT64_MAX, &cards))
		return COST_MOST;
	cost = frag_cost(&mix->mix, node, ask, cards);
	return frag_cost_sum(&cost, FRAG_WEIGHTS_DEFAULT);
}

/* Pools are of few states: free cards, of which the last may be partly so. */
static uint64_t state_of(const struct frag_node *node)
{
	uint64_t first = node->cards > 0 ? node->left[0] : 0;
	uint64_t last = node->cards > 0 ? node->left[node->cards - 1] : 0;
	uint64_t product = node->product ? (uint64_t)__builtin_ctzll(node->product) + 1 : 0;

	return product << 40 | (uint64_t)node->cards << 32 | first << 16 | last;
}

static struct place_cost *slot_of(struct place_memory *memory, const struct place_cost *key)
{
	uint64_t h = key->state * 0x9e3779b97f4a7c15u;

	h = (h ^ h >> 29 ^ key->ask) * 0xff51afd7ed558ccdu;
	h = (h ^ h >> 32 ^ key->products) * 0xc4ceb9fe1a85ec53u;
	return &memory->costs[(h >> 40) % PLACE_MEMORY_SIZE];
}

static int64_t recall_cost(struct place_memory *memory, const struct place_mix *mix,
			   const struct frag_node *node, const struct frag_ask *ask)
{
	const struct place_cost key = {
		.state = state_of(node),
		.ask = (uint64_t)mix->resource << 32 | (uint64_t)ask->gpus << 16 | ask->gpu_milli,
		.products = ask->products,
		.made = memory->usual.made,
	};
	struct place_cost *slot = slot_of(memory, &key);

	if (slot->made != key.made || slot->state != key.state || slot->ask != key.ask ||
	    slot->products != key.products) {
		*slot = key;
		slot->cost = cost_of(mix, node, ask);
	}
	return slot->cost;
}

static int64_t cost_on(struct place *place, size_t cell, const struct cluster_units *units)
{
	struct place_memory *memory = place->tools.memory;
	const struct place_mix *mix = place_usual_of(&memory->usual, units->resource);
	int64_t devices = place->ask.cells[cell].devices;
	struct frag_node node;
	struct frag_ask ask;

	if (units->kind == TABLE_NONE)
		return 0; /* kube-scheduler allocates it, or nobody has it */
	if (!mix)
		mix = &no_mix;
	place_pool_of(mix, units, &node);
	if (!place_usual_ask(parts_of(mix, units), units->count, devices, &ask))
		return COST_MOST;
	ask.products =
		place->ask.product == INTERN_EMPTY ? 0 : place_product_bit(mix, place->ask.product);
	return recall_cost(memory, mix, &node, &ask);
}

int64_t place_leftover(struct place *place, const struct cluster_units *units)
{
	int64_t sum = 0;

	for (size_t i = 0; i < place->ask.n; i++)
		sum += cost_on(place, i, &units[i]);
	return sum;
}

int64_t place_fragmentation(int64_t cost)
{
	int64_t half = PLACE_TERM_MOST / 2, scale = FRAG_MICROCARDS;

	cost = MAX(MIN(cost, COST_MOST), -COST_MOST);
	return half - half * cost / (scale + (cost < 0 ? -cost : cost));
}
