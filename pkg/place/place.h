/* SPDX-License-Identifier: Apache-2.0 */
/* size: all that is asked of a node for a pod, in one place. */
#ifndef GPUQOS_PLACE_PLACE_H
#define GPUQOS_PLACE_PLACE_H

#include "base/arena.h"
#include "base/buf.h"
#include "cluster/placing/placement.h"
#include "model/placement.h"
#include "place/memory.h"

/*
 * Where a pod may go, and where it had better. Pure: one pod is asked for at a time, over as many
 * nodes as the caller likes; kube-scheduler has looked at CPU, memory, taints and affinity before.
 *
 * A node fits where it has what the pod asks for, the pod's namespace and tenant may hold that (the
 * third gate, quota/bind.h), kubelet would not reject it, and what its topology policy requires is
 * certain there (topo/certain.h). A node of unknown layout fits all but Required. Room that is held
 * for others (cluster/placing/reserve.h) is theirs, and the one that it is held for has to fit
 * beside the pod wherever that one's cards are.
 */

/* verdict, reason for metrics. In the order in which they are looked for. */
#define PLACE_VERDICTS(X)                    \
	X(FITS, "Fits")                      \
	X(NO_NODE, "UnknownNode")            \
	X(STRANGER, "NobodyOffers")          \
	X(NO_DEVICE, "NoSuchDevice")         \
	X(TOO_FEW, "TooFewFree")             \
	X(QUOTA, "Quota")                    \
	X(UNKNOWN_LAYOUT, "UnknownTopology") \
	X(REJECTED, "KubeletRejects")        \
	X(MAY_REJECT, "KubeletMayReject")    \
	X(UNCERTAIN, "TopologyNotCertain")   \
	X(PARTS, "PartsOfSeveralCards")      \
	X(PINNED, "CPUsPinnedElsewhere")     \
	X(HELD, "RoomHeld")                  \
	X(CLAIMS, "ClaimsNotCertain")

enum place_verdict {
#define X(name, reason) PLACE_##name,
	PLACE_VERDICTS(X)
#undef X
		PLACE_VERDICT_COUNT
};

/* Why claims are not certain to lie within the scope. */
enum place_claims {
	PLACE_CLAIMS_CHOICE,  /* kube-scheduler may give them cards of several domains */
	PLACE_CLAIMS_APART,   /* what they have lies in several */
	PLACE_CLAIMS_UNKNOWN, /* where that lies is not known */
	PLACE_CLAIMS_PINNED,  /* kubelet gives CPUs without a look at them */
};

/*
 * Equal answers have equal texts. detail: of TOO_FEW which of the ask's cells, of QUOTA which of
 * the decisions made so far, of UNKNOWN_LAYOUT an enum layout_state, of UNCERTAIN an enum
 * topo_verdict, of HELD a hold: without those for others the pod would fit, or the one that it is
 * for might not fit any more; of CLAIMS an enum place_claims.
 */
struct place_answer {
	enum place_verdict verdict;
	uint32_t detail;
};

/* What questions are asked of: borrowed. */
struct place_tools {
	const struct cluster *cluster;
	const struct placement_weights *weights;
	struct place_memory *memory;
	struct arena *arena; /* grows until its owner resets it, after a question; where it is full
				the quota refuses */
	/* Pods that are taken as gone (cluster/placing/reserve.h); NULL: none. Nothing is then
	 * remembered of nodes between questions. */
	const struct cluster_trial *trial;
};

/* One question, good until the cluster changes. */
struct place {
	struct place_tools tools;
	struct cluster_ask ask;
	struct topology_spec topology; /* the tenant's, or the pod's own where it is stricter */
	struct place_decision *first_decision;
	struct place_decision *by_price[PLACE_PRICES]; /* of the sheet's; NULL: not yet */
	struct place_look look;
	struct place_sheet *sheet; /* NULL: nothing is remembered of pods of its sort */
	uint64_t sheet_taken;      /* as it was when the question began */
	const struct node_stamp *stamps;
	uint32_t n_stamps, own_node; /* own_node: where it is assumed to be; TABLE_NONE */
	uint32_t loose_node;         /* whose line is no part of a sheet */
	struct place_line loose;
};

void place_begin(struct place *place, const struct place_tools *tools,
		 const struct cluster_ask *ask);

struct place_answer place_fit(struct place *place, uint32_t node);

/*
 * Whether the pod might fit there once it is told whose @untold of the node's whole cards are
 * (cluster/placing/untold.h). True also where it fits as it is, and where it would with whichever
 * of the free cards alone.
 */
bool place_might_fit(struct place *place, uint32_t node, uint32_t untold);

/* Of place_fit() what the quota says of the node's devices, whether or not enough are free: FITS,
 * QUOTA, or what comes before devices. */
struct place_answer place_allows(struct place *place, uint32_t node);

/* The same question from now on with other pods gone: another @trial, or one that has changed. */
void place_try(struct place *place, const struct cluster_trial *trial);

/*
 * For who asks about many nodes, before each: has the processor fetch what is read of those that
 * come a little later. @nodes: the one that is next, and the @n - 1 after it; any may be
 * TABLE_NONE.
 */
void place_ahead(const struct place *place, const uint32_t *nodes, size_t n);

/* CamelCase. Borrowed, static. */
const char *place_reason(enum place_verdict verdict);
/* Whether evicting somebody from the node could change the answer. */
bool place_is_resolvable(struct place_answer found);
/* Appends why a node does not fit, a clause without a full stop: "2 free nvidia.com/gpu are
 * missing". */
void place_describe(const struct place *place, struct place_answer found, struct buf *buf);

/*
 * Cards of a node for the pod: the best set (topo/score.h), within the scope that its policy names
 * where there is one. 0 where it takes no whole cards, or nothing is known of them.
 */
uint64_t place_cards(struct place *place, uint32_t node);

/*
 * How good a node is that fits: terms from 0 to PLACE_TERM_MOST, and their sum by weights.
 *
 *	alignment      all cards are of one domain of the policy's scope (NUMA where there is none);
 *	               half of it where that is not known
 *	nvlink         GB/s between every two of the cards, on average, of PLACE_NVLINK_MOST
 *	pcie           what pods leave of PCIe links (struct cluster_room), on average over the
 *	               cards below the same topmost bridges (for a part of a card, over all);
 *	               where that is not known all of a card that nobody has, else nothing
 *	fragmentation  what the pod leaves there to the usual asks of the pods that there are
 *	               (place/frag.h), as if it were free card by card, whatever CPUs are
 */
#define PLACE_TERM_MOST   1000000
#define PLACE_TOTAL_MOST  (INT64_C(4) * PLACEMENT_WEIGHT_MOST * PLACE_TERM_MOST)
#define PLACE_NVLINK_MOST 450

struct place_score {
	int64_t total, alignment, nvlink, pcie, fragmentation;
};

/* The last term, of a frag_cost_sum(): half of it where that is 0, and never as much for more. */
int64_t place_fragmentation(int64_t cost);
int64_t place_total(const struct placement_weights *weights, const struct place_score *terms);

struct place_score place_score(struct place *place, uint32_t node);

#endif
