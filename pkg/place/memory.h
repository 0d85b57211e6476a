/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PLACE_MEMORY_H
#define GPUQOS_PLACE_MEMORY_H

#include "base/limits.h"
#include "base/macros.h"
#include "cluster/placing/placement.h"
#include "model/placement.h"
#include "place/frag.h"

/* What is remembered between and within questions (place/place.h): for pkg/place alone to read. */

#define PLACE_MEMORY_SIZE 4096 /* of what is known of states of cards */
#define PLACE_SHEETS      16   /* sorts of pods */
#define PLACE_CELLS       4    /* resources that a pod with a sheet asks for, at most */
#define PLACE_PRICES      32   /* ways to be charged, on nodes of one sheet */
#define PLACE_MIXES       8    /* resources whose usual asks are known */

/* All that answers read of a pod, but for what its namespace holds. Zeroed first: compared as
 * bytes. */
struct place_sort {
	struct placement_weights weights;
	struct place_sort_cell {
		int64_t count;
		uint32_t resource, device, devices;
		uint32_t unused;
	} cells[PLACE_CELLS];
	uint32_t n, most, cpus, product;
	uint8_t policy, scope;
	bool guaranteed, whole_cpus, cpus_together, takes_over;
	uint8_t none[2];
};

/* What was said of one node. */
struct place_line {
	uint64_t version; /* the node's, when it was; 0: never */
	int32_t total, fragmentation;
	int16_t alignment, nvlink, pcie;
	uint8_t devices, devices_detail; /* an enum place_verdict, of all before the quota */
	uint8_t layout, layout_detail;   /* of all after it */
	uint8_t price;                   /* of the sheet's; PLACE_PRICES: none of these */
	bool met, laid, scored;          /* which of this is known */
};

/* One sort of pod and all nodes, by handle. Thousands of nodes change less often than pods of a
 * sort are asked about, so that most answers are read from here. */
struct place_sheet {
	struct place_sort sort;
	uint64_t resources; /* cluster_resources_changed() of all lines */
	uint64_t usual;     /* the mixes by which they are scored */
	uint64_t used;      /* when: the oldest gives way */
	uint64_t taken;     /* when it became one of this sort */
	struct place_line *lines;
	uint32_t n_lines;
	uint32_t n_prices;
	struct place_price {
		uint64_t cells[PLACE_CELLS];
		bool reconfiguring;
	} prices[PLACE_PRICES];
};

/* What pods usually ask for (place/frag.h): of those resources that most of them ask for. */
struct place_usual {
	uint64_t made;                   /* how often; 0: never */
	uint64_t wants, resources, pods; /* what of, then: counters of the cluster, and pods */
	uint32_t n;
	struct place_mix {
		uint32_t resource, n_products;
		uint32_t products[FRAG_PRODUCTS]; /* each a bit of the mix */
		int64_t parts;                    /* cluster_card_parts() */
		struct frag_mix mix;
	} mixes[PLACE_MIXES];
};

/*
 * What outlives a question: nodes are of few shapes, in few states, and pods of few sorts. What was
 * said of nodes; what pods usually ask for; the best sets of cards; and what was said of the cards
 * of a node to a sort of pod. To be zeroed, and used with one cluster alone, whose handles and
 * numbers it knows; forgets by itself what does not fit in. At most PLACE_SHEETS lines for each
 * node that there ever was at a time.
 */
struct place_memory {
	struct place_sheet sheets[PLACE_SHEETS];
	uint64_t questions; /* how many were asked */
	struct place_usual usual;
	struct place_cost { /* of an ask, where so much is free */
		uint64_t made, state, ask, products;
		int64_t cost;
	} costs[PLACE_MEMORY_SIZE];
	struct place_memory_slot {
		uint64_t layout, free, set;
		int64_t score;
		uint32_t count;
		uint8_t scope; /* 0: none, else an enum layout_scope + 1 */
		bool found, known;
	} slots[PLACE_MEMORY_SIZE];
	struct place_judgment {
		uint64_t layout, free, best, leaving;
		uint64_t asked; /* the pod's part, never 0 */
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

/* Forgets all. */
void place_memory_clear(struct place_memory *memory);

DEFINE_CLEAR(struct place_memory, place_memory_clear)

/* What was decided for nodes on which the pod is charged the same. */
struct place_decision {
	struct place_decision *next; /* in the arena */
	struct bind_decision bind;
	uint32_t number;
	bool reconfiguring;
	uint64_t prices[]; /* of the ask's cells */
};

/* Whole cards of one node, as the pod sees them. */
struct place_cards_view {
	struct cluster_room room;
	uint64_t free;    /* that kubelet may give out as far as is known */
	uint64_t best;    /* of those, that are not assumed for others: to choose from */
	uint64_t leaving; /* of free, that pods on their way out may have still */
	uint32_t pending; /* of free but for those, that others will have */
	uint32_t count;   /* that the pod takes */
	int64_t parts;    /* devices that it takes beside whole cards */
	bool others;      /* the node has cards that are no units of what the pod asks for */
	bool known;       /* room.topo is there and agrees with what is free */
};

/* The node that was looked at last. */
struct place_look {
	uint32_t node; /* TABLE_NONE */
	bool viewed;
	struct cluster_units units[LIMIT_RESOURCES_PER_POD];
	struct place_cards_view view;
	struct place_judgment *judgment; /* NULL: the view is not known */
	uint64_t replaced;               /* the memory's, when judgment was found */
};

#endif
