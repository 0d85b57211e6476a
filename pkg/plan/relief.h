/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PLAN_RELIEF_H
#define GPUQOS_PLAN_RELIEF_H

#include "cluster/nodes/gpunodes.h"
#include "plan/plan.h"

/*
 * Which pod to evict so that one that suffers is relieved: its objective is bad, and what is near
 * it is to blame. Pure.
 *
 * A pod is to blame where it shares a card, a PCIe switch, an NVLink domain or a NUMA node with the
 * one that suffers, as kubelet gave the cards out, and is measured to be busy there: by figures of
 * its own processes, or of cards that it has for itself, never by those of a card that others use
 * as well. What is not measured is not to blame. Exemptions are the plan's (plan/plan.h).
 *
 * One pod, or one gang, at a time: of those to blame the nearest, then the cheapest by the plan's
 * costs, then that of the least uid. So the set is minimal by being one; whether it was enough the
 * objective tells by the end of the observation, and then there may be another.
 */

/* What two pods share; the earlier hurts more. name, text */
#define RELIEF_SHARES(X)              \
	X(CARD, "a card")             \
	X(SWITCH, "a PCIe switch")    \
	X(NVLINK, "an NVLink domain") \
	X(NUMA, "a NUMA node")

enum relief_share {
#define X(name, text) RELIEF_##name,
	RELIEF_SHARES(X)
#undef X
		RELIEF_NOTHING
};

/* Busy: so much of the time of a card's multiprocessors, or so many bytes per second over PCIe that
 * are known to be its own. A tenth of PCIe 4.0 x16, and a fifth of a card. */
#define RELIEF_BUSY_PERCENT 20
#define RELIEF_BUSY_PCIE    3200000000LL

struct relief_counts {
	struct plan_counts plan; /* of the node: candidates, eligible, exempt and why */
	uint32_t apart;          /* eligible, and they share nothing with it */
	uint32_t unplaced;       /* nothing tells which cards they have */
	uint32_t unmeasured;     /* they share, and nothing tells what they do */
	uint32_t of_cards;       /* likewise, but what their cards do, which others have as well */
	uint32_t quiet;          /* they share, and do little */
	bool blind;              /* nothing tells which cards it has, or how its node's are wired */
};

struct relief_found {
	uint32_t node;
	enum relief_share share;
	uint32_t to_blame;  /* of the victims the one that shares and is busiest */
	int32_t sm_percent; /* its own; -1: not known */
	int64_t pcie;       /* bytes per second, its own; AMOUNT_UNKNOWN */
	enum usage_source source;
	uint32_t victims[RECEIPT_VICTIMS];
	size_t n_victims;
	struct plan_cost cost;
};

/*
 * @ask: its pod is the one that suffers, bound to a node. False: nobody is to blame, and the counts
 * say why.
 */
bool relief_find(const struct place_tools *tools, const struct plan_ask *ask,
		 struct relief_found *ret_found, struct relief_counts *ret_counts);

/* Borrowed, static. */
const char *relief_share_text(enum relief_share share);
/* Appends "train/job-1 shares a PCIe switch with it and uses 87 % of a card, by its node's
 * agent", a clause. */
void relief_describe(const struct cluster *cluster, const struct relief_found *found,
		     struct buf *buf);
/* Why a pod on the same node is not the one, a clause. Borrowed, static. */
const char *relief_why_spared(const struct cluster *cluster, const struct plan_ask *ask,
			      uint32_t pod);
/* Appends why there is nobody: "0 of 4 candidates to blame: 2 share nothing with it, ...". */
void relief_describe_none(const struct relief_counts *counts, struct buf *buf);

#endif
