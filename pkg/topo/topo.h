/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TOPO_TOPO_H
#define GPUQOS_TOPO_TOPO_H

#include "base/limits.h"
#include "base/macros.h"
#include "model/layout.h"
#include "topo/set.h"

/*
 * What decisions ask of a layout, worked out once: who lies in one domain with whom
 * (topo/domain.h) and how close every two cards are (topo/score.h). All nodes of one layout share
 * it. To be read only; it owns its memory and does not need the layout any more.
 */
#define TOPO_SCOPES (LAYOUT_NVLINK + 1)

/* Of a layout that does not tell whose CPUs are whose: more than one, and how many matters to
 * nobody.
 */
#define TOPO_CPU_NODES_UNKNOWN UINT32_MAX

struct topo_card {
	/* By scope, cards that lie in one domain with this one, and that do not. The card itself is
	 * in neither; a card of which that is not known is in neither. */
	uint64_t together[TOPO_SCOPES], apart[TOPO_SCOPES];
	uint32_t domain[TOPO_SCOPES]; /* see topo_domain() */
	uint64_t twins; /* cards that are to all others what this one is: any of them is as good */
};

struct topo {
	struct layout_kubelet kubelet;
	uint32_t n_cards, n_cpu_nodes;     /* NUMA nodes with CPUs, or TOPO_CPU_NODES_UNKNOWN */
	uint32_t cpus[LIMIT_POLICY_NUMAS]; /* of each NUMA node, by its index */
	uint64_t usable;                   /* those that have not failed */
	bool counted;                      /* as of struct layout */
	int64_t *pairs;                    /* n_cards x n_cards: how close, 0 to itself */
	struct topo_card cards[];
};

/* @layout keeps to the limits that its header names. Never NULL. */
struct topo *topo_new(const struct layout *layout);
void topo_free(struct topo *topo);

DEFINE_CLEANUP(struct topo *, topo_free)

static inline int64_t topo_pair(const struct topo *topo, uint64_t a, uint64_t b)
{
	return topo->pairs[a * topo->n_cards + b];
}

#endif
