/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PLACE_INTERNAL_H
#define GPUQOS_PLACE_INTERNAL_H

#include "place/place.h"
#include "topo/certain.h"
#include "topo/score.h"

/* claims.c: whether the pod's claims are certain to lie as its policy requires. */
struct place_answer place_fit_claims(const struct place *place, uint32_t node);
void place_describe_claims(const struct place *place, uint32_t detail, struct buf *buf);

/* sheet.c: before the first node. */
void place_sheet_open(struct place *place);
/* What was said of the node, to be filled in. Good until the next call. */
struct place_line *place_line_of(struct place *place, uint32_t node);
/* Which of the sheet's prices these are; PLACE_PRICES: none that is remembered. */
uint8_t place_price_of(struct place *place, const struct cluster_units *units, bool reconfiguring);

/* usual.c: makes the mixes anew where too much has changed. */
void place_usual_refresh(struct place_usual *usual, const struct cluster *cluster);
/* NULL: the resource is not among the usual ones. */
const struct place_mix *place_usual_of(const struct place_usual *usual, uint32_t resource);
/* 0: it is not known. */
uint64_t place_product_bit(const struct place_mix *mix, uint32_t product);
/*
 * The ask for @units, of which @parts are a card, on @devices cards. False: of such a pod nothing
 * can be said.
 */
bool place_usual_ask(int64_t parts, int64_t units, int64_t devices, struct frag_ask *ret_ask);

/* leftover.c: what is free of what a node offers of one resource, in the products of @mix. */
void place_pool_of(const struct place_mix *mix, const struct cluster_units *units,
		   struct frag_node *ret_node);
/* frag_cost_sum() of the pod where these are its units; microcards. */
int64_t place_leftover(struct place *place, const struct cluster_units *units);

/* The node's units, in order of the ask's cells. */
struct place_look *place_look_at(struct place *place, uint32_t node);

/* Its view as well, and what was said of the like of it, to be filled in; NULL where nothing is
 * known of its cards. Good until the next call. */
struct place_judgment *place_view_cards(struct place *place, struct place_look *look);

/* What is asked of the node's topology, and whether what a Required policy asks for is certain. */
struct topo_request place_request_of(const struct place *place,
				     const struct place_cards_view *view);
struct place_answer place_fit_required(const struct place *place,
				       const struct place_cards_view *view,
				       const struct topo_request *request);

/* held.c: of a node that the pod fits on, FITS or HELD: whether those that room is held for there
 * do so still once it has come. */
struct place_answer place_leave_held(struct place *place, uint32_t node);

/* The best set of @view->count cards, from memory where it was asked before. */
uint64_t place_best_set(struct place *place, const struct place_cards_view *view, bool scoped,
			int64_t *ret_score);

#endif
