/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TOPO_SCORE_H
#define GPUQOS_TOPO_SCORE_H

#include "topo/topo.h"

/*
 * How good a set of cards is: the sum over every two of its cards of
 *
 *	nvlink  GB/s (10^9 bytes per second, rounded down, at least 1) of the NVLink between them in
 *	        one direction, at most 65535; 0: none
 *	pcie    15 minus the bridges on the way between them that they do not have in common, at
 *	        least 1; 0: the way passes the root complex, or is not known
 *	numa    255 minus the distance of their NUMA nodes as in ACPI's SLIT (245: the same one);
 *	        0: not known
 *
 * compared in this order: a little more NVLink is worth any PCIe, any PCIe any NUMA. A score is the
 * three sums in one number, which are far from running into each other: 2016 pairs at most.
 *
 *	score = nvlink x 2^34 + pcie x 2^19 + numa
 */
#define TOPO_SCORE_NVLINK_BIT 34
#define TOPO_SCORE_PCIE_BIT   19

struct topo_terms {
	int64_t nvlink, pcie, numa; /* sums */
};

int64_t topo_score(const struct topo *topo, uint64_t set);
struct topo_terms topo_score_terms(int64_t score);

struct topo_ask {
	uint64_t free; /* cards to choose from */
	uint32_t count;
	bool scoped; /* they must be known to lie in one domain of scope */
	enum layout_scope scope;
};

/*
 * BEST: there is none better. GOOD: there may be. NONE: there is no such set; under the scope
 * NVLink, where more than 16 cards are free and links do not join all with all, one may have been
 * missed.
 */
enum topo_found { TOPO_NONE, TOPO_BEST, TOPO_GOOD };

/*
 * The set of count free cards with the highest score, of those the one that leaves the free cards
 * with the highest score, of those the one that comes first (topo_set_before()). A failed card is
 * in no set.
 *
 * A search that leaves out what cannot win finds the best set in at most TOPO_SEARCH_STEPS steps
 * where up to 16 cards are free, and mostly with any number of them where machines are regular.
 * Where it did not come to an end, the best that it has met contends with a greedy choice from
 * every card on, which then is improved by at most TOPO_EXCHANGES exchanges of one card for
 * another. Measured: under 1 µs for the 8 cards of a DGX H100, 10 µs for the 16 of a DGX-2, at most
 * 0.4 ms for 16 of an irregular machine and a few ms for 64 of one. Callers that ask for many nodes
 * remember what they were told, by layout and free set. The empty set is the best of no cards.
 */
#define TOPO_SEARCH_STEPS 65536
#define TOPO_EXCHANGES    64

enum topo_found topo_best_set(const struct topo *topo, const struct topo_ask *ask,
			      uint64_t *ret_set);

#endif
