/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_PLACEMENT_H
#define GPUQOS_MODEL_PLACEMENT_H

#include <stdint.h>

#define PLACEMENT_WEIGHT_MOST 100

/*
 * How much each part of a node's score counts, beside the others: 0 (not at all) to
 * PLACEMENT_WEIGHT_MOST. All 0: every node that fits is as good. From --config, scheduling.weights.
 */
struct placement_weights {
	int64_t alignment;     /* cards and CPUs on one NUMA node, cards within the asked scope */
	int64_t nvlink;        /* bandwidth between the cards of the set */
	int64_t pcie;          /* what is left of each PCIe switch's and card's bandwidth */
	int64_t fragmentation; /* how useful what remains of the node stays */
};

/*
 * Of how many nodes that fit kube-scheduler is told, the best by our score; 0: of all. It reads and
 * writes each name four times for a pod, which with thousands takes longer than all decisions.
 */
#define PLACEMENT_CANDIDATES_DEFAULT 100
#define PLACEMENT_CANDIDATES_MOST    5000

/*
 * And how much worse than the best these may be, in percent of the most that a score can be; 0: not
 * at all, PLACEMENT_MARGIN_MOST: however much. Among those of which it is told kube-scheduler's own
 * scores count as well.
 */
#define PLACEMENT_MARGIN_DEFAULT 0
#define PLACEMENT_MARGIN_MOST    100

#define PLACEMENT_WEIGHTS_DEFAULT ((struct placement_weights){100, 50, 20, 30})

#endif
