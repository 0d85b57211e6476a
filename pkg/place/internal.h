/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PLACE_INTERNAL_H
#define GPUQOS_PLACE_INTERNAL_H

#include "place/place.h"
#include "topo/certain.h"
#include "topo/score.h"

/* Whole cards of one node, as one pod sees them. */
struct place_cards_view {
	struct cluster_room room;
	uint64_t free;    /* that kubelet may give out as far as is known */
	uint64_t best;    /* of those, that are not assumed for others: to choose from */
	uint32_t pending; /* of free, that others will have */
	uint32_t count;   /* that the pod takes */
	int64_t parts;    /* devices that it takes beside whole cards */
	bool others;      /* the node has cards that are no units of what the pod asks for */
	bool known;       /* room.topo is there and agrees with what is free */
};

/* @units: of the ask on the node. */
void place_view_cards(const struct place *place, uint32_t node, const struct cluster_units *units,
		      struct place_cards_view *ret_view);

/* The best set of @view->count cards, from memory where it was asked before. */
uint64_t place_best_set(struct place *place, const struct place_cards_view *view, bool scoped,
			int64_t *ret_score);

#endif
