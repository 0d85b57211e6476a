/* SPDX-License-Identifier: Apache-2.0 */
/* How good a node is, and which of its cards are best for the pod. */
#include "place/internal.h"

#include "base/checked.h"
#include "base/macros.h"

#define THOUSAND 1000 /* what is kept of the terms of cards */
#define UNIT     (PLACE_TERM_MOST / THOUSAND)

_Static_assert(PLACE_TOTAL_MOST <= INT32_MAX, "totals are kept in 32 bits");

/* --- the best set, remembered */

static struct place_memory_slot *slot_of(struct place_memory *memory,
					 const struct place_memory_slot *key)
{
	uint64_t h = key->layout * 0x9e3779b97f4a7c15u;

	h = (h ^ key->free) * 0xff51afd7ed558ccdu;
	h = (h ^ (h >> 29) ^ key->count) * 0xc4ceb9fe1a85ec53u;
	h = (h ^ (h >> 32) ^ key->scope) * 0x9e3779b97f4a7c15u;
	return &memory->slots[(h >> 40) % PLACE_MEMORY_SIZE];
}

static bool slot_is(const struct place_memory_slot *slot, const struct place_memory_slot *key)
{
	return slot->known && slot->layout == key->layout && slot->free == key->free &&
	       slot->count == key->count && slot->scope == key->scope;
}

uint64_t place_best_set(struct place *place, const struct place_cards_view *view, bool scoped,
			int64_t *ret_score)
{
	const struct topo_ask ask = {view->best, view->count, scoped, place->topology.scope};
	struct place_memory_slot key = {
		.layout = view->room.layout,
		.free = view->best,
		.count = view->count,
		.scope = scoped ? (uint8_t)(place->topology.scope + 1) : 0,
		.known = true,
	};
	struct place_memory_slot *slot = slot_of(place->tools.memory, &key);

	if (!slot_is(slot, &key)) {
		*slot = key;
		slot->found = topo_best_set(view->room.topo, &ask, &slot->set) != TOPO_NONE;
		if (!slot->found)
			slot->set = 0;
		slot->score = topo_score(view->room.topo, slot->set);
	}
	*ret_score = slot->score;
	return slot->set;
}

/* Within the scope where that can be had; where it is only preferred, else without. */
static uint64_t choose(struct place *place, const struct place_cards_view *view, int64_t *ret_score)
{
	uint64_t set = 0;

	*ret_score = 0;
	if (view->count == 0)
		return 0;
	if (place->topology.policy != TOPOLOGY_NONE)
		set = place_best_set(place, view, true, ret_score);
	return set ? set : place_best_set(place, view, false, ret_score);
}

/* --- terms */

static int64_t alignment_of(const struct place *place, const struct topo *topo, uint64_t set)
{
	enum layout_scope scope =
		place->topology.policy == TOPOLOGY_NONE ? LAYOUT_NUMA : place->topology.scope;

	switch (topo_in_one_domain(topo, scope, set)) {
	case TOPO_YES:
		return THOUSAND;
	case TOPO_UNKNOWN:
		return THOUSAND / 2;
	case TOPO_NO:
		break;
	}
	return 0;
}

static int64_t nvlink_of(int64_t score, uint32_t count)
{
	int64_t pairs = (int64_t)count * (count - 1) / 2;

	if (count < 2)
		return 0;
	return MIN(topo_score_terms(score).nvlink * THOUSAND / (pairs * PLACE_NVLINK_MOST),
		   (int64_t)THOUSAND);
}

/* Cards whose way to the root complex is not known share it with nobody, as far as is known. */
static int64_t pcie_of(const struct place_cards_view *view, uint64_t set)
{
	const struct topo *topo = view->room.topo;
	uint64_t idle = view->best | set, below = 0;

	topo_set_for_each(card, set)
		below |= topo->cards[card].together[LAYOUT_PCIE_SWITCH] |
			 topo_set_of((uint32_t)card);
	return (int64_t)topo_set_count(below & idle) * THOUSAND / (int64_t)topo_set_count(below);
}

/* The same by what is left of links where that is known. */
static int64_t links_of(const struct place_cards_view *view, uint64_t set)
{
	const struct topo *topo = view->room.topo;
	uint64_t idle = view->best | set, below = 0;
	int64_t sum = 0;

	topo_set_for_each(card, set)
		below |= topo->cards[card].together[LAYOUT_PCIE_SWITCH] |
			 topo_set_of((uint32_t)card);
	topo_set_for_each(card, below) {
		uint8_t left = (uint8_t)view->room.links.data[card];

		if (left == CLUSTER_LINK_UNKNOWN)
			left = idle & topo_set_of((uint32_t)card) ? CLUSTER_LINK_WHOLE : 0;
		sum += left;
	}
	return sum * THOUSAND / (CLUSTER_LINK_WHOLE * (int64_t)topo_set_count(below));
}

/* Of which card a pod will have a slice kubelet alone knows. */
static int64_t links_of_any(const struct place_cards_view *view)
{
	int64_t sum = 0;

	for (size_t i = 0; i < view->room.links.len; i++) {
		uint8_t left = (uint8_t)view->room.links.data[i];

		sum += left == CLUSTER_LINK_UNKNOWN ? CLUSTER_LINK_WHOLE / 2 : left;
	}
	return sum * THOUSAND / (CLUSTER_LINK_WHOLE * (int64_t)view->room.links.len);
}

int64_t place_total(const struct placement_weights *weights, const struct place_score *terms)
{
	return weights->alignment * terms->alignment + weights->nvlink * terms->nvlink +
	       weights->pcie * terms->pcie + weights->fragmentation * terms->fragmentation;
}

/* All that follows from the cards. */
static void score_cards(struct place *place, const struct place_cards_view *view,
			struct place_judgment *judgment)
{
	int64_t sum;

	judgment->cards = choose(place, view, &sum);
	judgment->scored = true;
	judgment->nvlink = 0;
	judgment->alignment = judgment->pcie = THOUSAND / 2; /* not known */
	if (judgment->cards == 0)
		return;
	judgment->alignment = (int16_t)alignment_of(place, view->room.topo, judgment->cards);
	judgment->nvlink = (int16_t)nvlink_of(sum, view->count);
	judgment->pcie = (int16_t)pcie_of(view, judgment->cards);
}

/* What is known of the node's cards; NULL: nothing. */
static const struct place_judgment *judge(struct place *place, uint32_t node)
{
	struct place_look *look = place_look_at(place, node);
	struct place_judgment *judgment = place_view_cards(place, look);

	if (judgment && !judgment->scored)
		score_cards(place, &look->view, judgment);
	return judgment;
}

uint64_t place_cards(struct place *place, uint32_t node)
{
	const struct place_judgment *judgment = judge(place, node);

	return judgment ? judgment->cards : 0;
}

/* All terms, of which only the last takes the resolution of its own. */
static struct place_score terms_of(const struct place_line *line)
{
	return (struct place_score){
		.total = line->total,
		.alignment = (int64_t)line->alignment * UNIT,
		.nvlink = (int64_t)line->nvlink * UNIT,
		.pcie = (int64_t)line->pcie * UNIT,
		.fragmentation = line->fragmentation,
	};
}

/* Samples come and go: they are no part of what is remembered of states of cards. */
static int64_t measured_links(const struct place_cards_view *view,
			      const struct place_judgment *judgment)
{
	if (judgment->cards != 0)
		return links_of(view, judgment->cards);
	return view->count == 0 && view->parts > 0 ? links_of_any(view) : judgment->pcie;
}

static void score_line(struct place *place, uint32_t node, struct place_line *line)
{
	const struct place_judgment *judgment = judge(place, node);
	struct place_score terms;

	line->scored = true;
	line->alignment = line->pcie = THOUSAND / 2;
	line->nvlink = 0;
	line->fragmentation =
		(int32_t)place_fragmentation(place_leftover(place, place->look.units));
	if (judgment) {
		line->alignment = judgment->alignment;
		line->nvlink = judgment->nvlink;
		line->pcie = judgment->pcie;
		if (!str_empty(place->look.view.room.links))
			line->pcie = (int16_t)measured_links(&place->look.view, judgment);
	}
	terms = terms_of(line);
	line->total = (int32_t)place_total(place->tools.weights, &terms);
}

struct place_score place_score(struct place *place, uint32_t node)
{
	struct place_line *line = place_line_of(place, node);

	if (!line->scored)
		score_line(place, node, line);
	return terms_of(line);
}
