/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PLACE_FRAG_H
#define GPUQOS_PLACE_FRAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"

/*
 * Fragmentation: how much of a node's free GPU capacity the usual asks cannot use, and what placing
 * a pod adds to it. After "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with
 * Fragmentation Gradient Descent" (USENIX ATC 2023), section 4. place_score() uses it, with what it
 * learns of a cluster's pods, and the simulator with a list's. What one ask m leaves unused of node
 * n is
 *
 *	F(n, m) = all that is free on n        where m cannot run on n: too little CPU, another
 *	                                       product, too few cards with enough left, or m asks
 *	                                       for no GPU
 *	        = the sum of what is free on cards with less left than m asks for    else
 *
 * and F(n) the mean over the asks, by their weights. Integers throughout: amounts of GPU are
 * millicards in structs (1000: a whole card) and microcards in results, which differ from the exact
 * quotient by less than one.
 *
 * Speed: one evaluation is linear in the asks and the node's cards, about 0.1 µs for 40 asks and 8
 * cards. Callers that score many nodes keep what they were told beside the node, by the shape of
 * the ask, until the node changes: one pod changes one node, so that all others are a comparison of
 * a generation and of a number.
 */
#define FRAG_WHOLE      1000 /* millicards of a card */
#define FRAG_MICROCARDS INT64_C(1000000)
#define FRAG_ASKS       256 /* asks in a mix, most */
#define FRAG_PRODUCTS   64  /* bits of products */
#define FRAG_TYPICAL    95  /* percent of the weight that the asks of a mix stand for, at least */

struct frag_ask {
	int64_t cpu_milli;  /* AMOUNT_UNKNOWN and AMOUNT_NONE: not looked at */
	uint32_t gpu_milli; /* of each card, at most FRAG_WHOLE */
	uint32_t gpus;      /* cards; 0: none is asked for */
	uint64_t products;  /* a bit for each product that is good; 0: any */
	uint32_t weight;    /* how often it is met */
};

/* The usual asks, by gpu_milli. Flat: copy it as you like. A zeroed one has none: F is then 0. */
struct frag_mix {
	struct frag_ask asks[FRAG_ASKS];
	uint32_t count;
	uint32_t weight; /* sum, at most 2^30: larger weights were halved alike */
	/* How much the asks that insist on products want of each product's cards, against what they
	 * had if they took any, in thousandths; 0: unknown */
	uint32_t pressure[FRAG_PRODUCTS];
};

struct frag_node {
	int64_t cpu_milli; /* free; AMOUNT_UNKNOWN: not looked at */
	uint64_t product;  /* its bit; 0: not known, so only asks for any product fit */
	uint32_t cards;    /* at most LIMIT_LAYOUT_GPUS */
	uint16_t left[LIMIT_LAYOUT_GPUS]; /* millicards free on each */
};

/*
 * Puts the usual ones of @asks first and returns how many these are: the most frequent ones, of
 * equally frequent ones the largest, until they stand for FRAG_TYPICAL percent or are FRAG_ASKS.
 * Asks that differ in weight alone become one; what stands behind the usual ones is not specified.
 */
size_t frag_usual(struct frag_ask *asks, size_t count);

/* Makes @mix of the usual ones of @asks. */
void frag_mix_set(struct frag_mix *mix, const struct frag_ask *asks, size_t count);

/*
 * Tells @mix how many cards there are of each product, by its bit. An ask that is content with
 * several products presses on each of them alike.
 */
void frag_mix_press(struct frag_mix *mix, const int64_t cards[FRAG_PRODUCTS]);

/* F of @node, microcards. */
int64_t frag_of(const struct frag_mix *mix, const struct frag_node *node);

/* Whether @node has the product, the CPU and enough cards with enough left for @ask. */
bool frag_fits(const struct frag_node *node, const struct frag_ask *ask);

/* Takes @ask from @node, on @cards, each of which has enough left. */
void frag_take(struct frag_node *node, const struct frag_ask *ask, uint64_t cards);

/*
 * The terms of placing @ask on @cards of @node, in microcards, all of them better when smaller:
 *
 *	increase   F after minus F before; mostly negative for a pod that uses what others cannot
 *	imbalance  how far CPU per GPU of the ask is from what is free on the node: 0 for the same
 *	           ratio, 1000000 where one of them has none; |a - b| / (a + b) of the ratios. 0
 *	           where CPU is not known or no GPU is asked for
 *	left       free on the node afterwards
 *	scarcity   of an ask for any product: what it takes, times the pressure on the node's
 *
 * Increase alone, with ties to the first node, is FGD. It does not see how CPU runs out before
 * GPUs do on one kind of node and after them on another, which the second term does; the third
 * fills nodes that are nearly full first, among those that are alike; the fourth leaves products
 * that others insist on to these.
 */
struct frag_cost {
	int64_t increase, imbalance, left, scarcity;
};

struct frag_cost frag_cost(const struct frag_mix *mix, const struct frag_node *node,
			   const struct frag_ask *ask, uint64_t cards);

/* Thousandths by which the others count beside increase. */
struct frag_weights {
	uint32_t imbalance, left, scarcity;
};
#define FRAG_WEIGHTS_DEFAULT ((struct frag_weights){.imbalance = 160, .left = 4, .scarcity = 500})

/* One number, microcards: the node with the smallest is the best. */
int64_t frag_cost_sum(const struct frag_cost *cost, struct frag_weights weights);

/*
 * The cards of @node, of those in @among, on which @ask costs least: taken one by one, each the one
 * with the least increase, of those the one with the least left, then the first. For whole cards
 * that is the first free ones: topo_best_set() knows better. False where too few have enough left.
 */
bool frag_best_cards(const struct frag_mix *mix, const struct frag_node *node,
		     const struct frag_ask *ask, uint64_t among, uint64_t *ret_cards);

#endif
