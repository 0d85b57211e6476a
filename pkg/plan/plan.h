/* SPDX-License-Identifier: Apache-2.0 */
/* size: what a plan is for, and all that it says, in one place. */
#ifndef GPUQOS_PLAN_PLAN_H
#define GPUQOS_PLAN_PLAN_H

#include "base/buf.h"
#include "cluster/leaving/victims.h"
#include "model/protection.h"
#include "model/receipt.h"
#include "place/place.h"
#include "plan/host.h"

/*
 * Which pods to evict so that one other fits. Pure: reads the truth, changes nothing.
 *
 * A plan is proven: with its victims gone the pod fits on the node, under its own topology policy
 * and its tenant's quota (place_fit() over a trial), and kube-scheduler would let it there
 * (plan/host.h); with any one of them (or any one gang) kept it does not. It is the cheapest such
 * set over all nodes, by
 *	1. GPU-seconds lost since the last checkpoint, as model/protection.h caps the credit
 *	2. pods
 *	3. bytes of GPU memory that are not borrowed
 *	4. how busy their cards are measured to be, unknown counting as fully
 * then by the least uid, so that equal states have equal plans. Members of a gang go together,
 * wherever they run, or not at all.
 *
 * Work is bounded: a node with at most PLAN_EXACT groups of victims is searched exactly; one with
 * more is answered by the greedy set, made minimal, whose cost is then no bound on the best (the
 * plan says so), and which may be none where one is: under a required topology a pod may fit with
 * some gone and not with more. So are nodes that come when PLAN_TRIALS sets were tried. plan_step()
 * looks at so many nodes and returns, so that no turn of the loop is long; the cluster may change
 * between steps, which is why plan_finish() proves the plan again.
 *
 * Where it is told soon whose some cards of the node are, or somebody there is about to be gone
 * (cluster/placing/untold.h), and one of the victims might turn out to be one too many then, or
 * where it would fit once a pod is bound that room is held for, there is no plan yet:
 * plan_in_doubt(). Who has waited for that long enough asks for a hasty one, which is proven by
 *what is known.
 *
 * Other tenants' pods free no quota: where the pod does not fit by quota there is no plan. Where it
 * fits with nobody gone there is none either. What else a pod takes (CPU, memory) is freed by who
 * may go for its cards, and by nobody else: that may be one more, where the cards alone would do
 * with one less.
 */

#define PLAN_EXACT  12
#define PLAN_TRIALS 20000
/* Nodes of a step where others wait for the loop: a fraction of a millisecond. */
#define PLAN_STEP_NODES 64

/* name, text: why a pod is no victim. In the order in which they are looked for. */
#define PLAN_EXEMPTIONS(X)                                                                 \
	X(NONE, "")                                                                        \
	X(SELF, "it is the pod that needs room")                                           \
	X(FINISHED, "it has ended")                                                        \
	X(GOING, "it is on its way out already")                                           \
	X(NO_TENANT, "its namespace belongs to no tenant")                                 \
	X(TIER, "its tier is not lower")                                                   \
	X(TIER_SPARED, "spec.protection.victimTiers does not name its tier")               \
	X(DAEMON, "it is a DaemonSet's")                                                   \
	X(MIRROR, "it is a static pod")                                                    \
	X(YOUNG, "it has not run for its minimum time")                                    \
	X(BUDGET, "a PodDisruptionBudget allows no disruption")                            \
	X(BUDGETS, "several PodDisruptionBudgets select it, and then nobody can evict it") \
	X(REFUSED, "the API server refused to evict it lately")                            \
	X(BACKED_OFF, "its workload lost a pod for another's sake not long ago")           \
	X(GANG, "its gang has a member that may not go")                                   \
	X(GANG_TOO_LARGE, "its gang has more members than one plan may evict")

enum plan_exemption {
#define X(name, text) PLAN_##name,
	PLAN_EXEMPTIONS(X)
#undef X
		PLAN_EXEMPTION_COUNT
};

/* A workload by handles, as in struct cluster_victim. */
struct plan_workload {
	uint32_t namespace, owner;
};

/* For qsort() and bsearch(). */
int plan_workload_compare(const void *a, const void *b);
int plan_pod_compare(const void *a, const void *b);

/* Who is left alone whatever it is; borrowed. Both sorted. Handles are those of when it was made:
 * one that is another's by now lets that one be spared, and who issues a receipt looks again by
 * uid. */
struct plan_left_alone {
	const struct plan_workload *workloads; /* limits_owner_until() */
	size_t n_workloads;
	const uint32_t *pods; /* that an open receipt has go */
	size_t n_pods;
};

struct plan_ask {
	uint32_t pod; /* the beneficiary: pending, kept by the cluster */
	enum tenant_tier tier;
	bool own; /* its tenant's own pods are asked after (plan/own.h), whatever their tier */
	struct protection_spec protection; /* of its tenant */
	size_t most; /* victims, at most: what the limits leave (plan/limits.h); 0: none may go */
	struct plan_left_alone left_alone; /* borrowed as long as the plan lives */
	bool hasty;                        /* what is known in a moment is not waited for */
	int64_t now_us, now_real_us;
};

struct plan_cost {
	int64_t lost; /* GPU-seconds */
	int64_t pods;
	int64_t owned; /* bytes that are not borrowed */
	int64_t busy;  /* thousandths of a card, summed */
};

struct plan_found {
	uint32_t node;  /* TABLE_NONE: no plan */
	uint64_t cards; /* as place_cards() */
	uint32_t victims[RECEIPT_VICTIMS];
	size_t n_victims;
	struct plan_cost cost;
	bool exact; /* of all nodes looked at, none was answered greedily */
};

struct plan_counts {
	uint32_t nodes;      /* looked at */
	uint32_t candidates; /* pods on them */
	uint32_t eligible;
	uint32_t exempt[PLAN_EXEMPTION_COUNT];
	/* Of the nodes those that kube-scheduler would not take whoever goes: of what others take
	 * there where the cards alone could be freed. */
	uint32_t unhosted[HOST_VERDICT_COUNT];
};

struct plan;

/* @tools are borrowed for life, and theirs are the plan's alone: the arena is reset, the memory is
 * filled with what is not so. */
struct plan *plan_new(const struct place_tools *tools, const struct plan_ask *ask);
void plan_free(struct plan *plan);
/* Looks at the next @nodes nodes. True when all were looked at. */
bool plan_step(struct plan *plan, size_t nodes);
/* What was found, proven by what is true now. False: nothing, or it holds no more. */
bool plan_finish(struct plan *plan, struct plan_found *ret_found);
/* It was not taken since it may be too many, which is known in a moment. */
bool plan_in_doubt(const struct plan *plan);
struct plan_counts plan_counts(const struct plan *plan);
/* "0 of 12 candidates eligible: 7 are not of a lower tier, ...", and of a found one its proof. */
void plan_describe(const struct plan *plan, struct buf *buf);

/* It leaves, or an open receipt has it go although nobody has asked it yet. */
bool plan_is_going(const struct plan_ask *ask, uint32_t pod, const struct cluster_victim *victim);

/* Borrowed, static. */
const char *plan_exemption_text(enum plan_exemption exemption);
/* The first check that exempts a pod, alone, its gang not looked at. */
enum plan_exemption plan_exempt(const struct plan_ask *ask, uint32_t pod,
				const struct cluster_victim *victim);

DEFINE_CLEANUP(struct plan *, plan_free)

#endif
