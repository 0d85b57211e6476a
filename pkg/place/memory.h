/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PLACE_MEMORY_H
#define GPUQOS_PLACE_MEMORY_H

#include "base/limits.h"
#include "cluster/placement.h"

/* What is remembered between and within questions (place/place.h): for pkg/place alone to read. */

/*
 * What outlives a question: nodes are of few shapes, in few states, and pods of few sorts. The best
 * sets of cards, and what was said of the cards of a node to a sort of pod. To be zeroed, and used
 * with one cluster alone, whose layouts it knows by number; forgets by itself what does not fit in.
 */
#define PLACE_MEMORY_SIZE 4096

struct place_memory {
	struct place_memory_slot {
		uint64_t layout, free, set;
		int64_t score;
		uint32_t count;
		uint8_t scope; /* 0: none, else an enum layout_scope + 1 */
		bool found, known;
	} slots[PLACE_MEMORY_SIZE];
	struct place_judgment {
		uint64_t layout, free, best, asked; /* asked: the pod's part, never 0 */
		struct place_cpus {
			/* Taken by NUMA node, by pending pods, by kubelet, and asked for; all 0
			 * where CPUs do not matter. */
			uint16_t taken[LIMIT_POLICY_NUMAS], pending, reserved, asked;
		} cpus;
		uint64_t cards;
		int16_t alignment, nvlink, pcie;
		uint8_t verdict, detail;
		bool fitted, scored; /* which of this is known */
	} judgments[PLACE_MEMORY_SIZE];
	uint64_t replaced; /* how often one judgment took the place of another */
};

/* What was decided for nodes on which the pod is charged the same. */
struct place_decision {
	struct place_decision *next; /* in the arena */
	struct bind_decision bind;
	bool reconfiguring;
	uint64_t prices[]; /* of the ask's cells */
};

/* Whole cards of one node, as the pod sees them. */
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

/* The node that was asked about last. */
struct place_look {
	uint32_t node; /* TABLE_NONE */
	bool viewed;
	struct cluster_units units[LIMIT_RESOURCES_PER_POD];
	struct place_cards_view view;
	struct place_judgment *judgment; /* NULL: the view is not known */
	uint64_t replaced;               /* the memory's, when judgment was found */
};

#endif
