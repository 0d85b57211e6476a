/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PLACE_INTERNAL_H
#define GPUQOS_PLACE_INTERNAL_H

#include "place/place.h"
#include "topo/certain.h"
#include "topo/score.h"

/* sheet.c: before the first node. */
void place_sheet_open(struct place *place);
/* What was said of the node, to be filled in. Good until the next call. */
struct place_line *place_line_of(struct place *place, uint32_t node);
/* Which of the sheet's prices these are; PLACE_PRICES: none that is remembered. */
uint8_t place_price_of(struct place *place, const struct cluster_units *units, bool reconfiguring);

/* The node's units, in order of the ask's cells. */
struct place_look *place_look_at(struct place *place, uint32_t node);

/* Its view as well, and what was said of the like of it, to be filled in; NULL where nothing is
 * known of its cards. Good until the next call. */
struct place_judgment *place_view_cards(struct place *place, struct place_look *look);

/* The best set of @view->count cards, from memory where it was asked before. */
uint64_t place_best_set(struct place *place, const struct place_cards_view *view, bool scoped,
			int64_t *ret_score);

#endif
