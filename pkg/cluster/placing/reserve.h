/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_PLACING_RESERVE_H
#define GPUQOS_CLUSTER_PLACING_RESERVE_H

#include "cluster/placing/placement.h"
#include "model/receipt.h"
#include "model/tenant.h"

/*
 * Room that is held: what was freed for a pod is kept from all others of the same or a lower tier
 * (and of no tenant) until that pod is bound, or the time is over. One for each receipt; those of
 * receipts that are not settled follow from the TenantQoS that shows them, so that a new leader
 * holds what the last one did.
 *
 * Held is: of the node so many units of each resource that the pod asks for, and in particular the
 * cards that were chosen; where the pod is not known, so many whole cards as these are. To others
 * (cluster/placing/placement.h) it is as if a pod were assumed to be there, and place_fit() sees to
 * it that none of them parts what is left. No CPU is held for it
 * alone; what it takes of CPU and memory is held from other plans (cluster/hosts/hosts.h). Nothing
 * is held of what namespaces and tenants may hold.
 *
 * While its beneficiary is assumed to be there, or is gone, or by the clock its time is not now, a
 * hold counts for nobody, and counts again when that is no longer so. It ends when the beneficiary
 * is seen to be bound, there or elsewhere, or is over; and with its receipt.
 */
struct cluster_hold {
	struct str id;     /* the receipt's; one that is there already is replaced */
	struct str tenant; /* of the receipt */
	uint32_t node;
	uint64_t cards;        /* of its layout; 0: none in particular */
	enum tenant_tier tier; /* the beneficiary's */
	/* Who may have it: the pod of this uid; where owner is not empty any other pod of that
	 * workload in the namespace which is not older than since_us. */
	struct str namespace, name, uid, owner;
	int64_t since_us, until_us; /* real */
	uint32_t pod;   /* what it asks for is held; TABLE_NONE: not known, the cards are */
	bool objective; /* the beneficiary runs already: held until the time is over */
};

/* More are not held: receipts are open for minutes, and few at a time (plan/limits.h). */
#define HOLDS_MOST 256

/* False: there are HOLDS_MOST of them, or a text is longer than LIMIT_INTERNED_STRING. */
bool cluster_reserve(struct cluster *cluster, const struct cluster_hold *hold);
/* No receipt came of it. Does nothing where one is seen: what is held for that follows from it. */
void cluster_release_hold(struct cluster *cluster, struct str tenant, struct str id);
/* Ends those whose time is over, or began further ahead than is believed (model/receipt.h); after
 * TenantQoS were applied, since receipts tell of old ones too.
 * @ret_next_us: real, when the next one is; TIME_NEVER. */
void cluster_expire_holds(struct cluster *cluster, int64_t now_real_us, int64_t *ret_next_us);
/* How many hold room of a node, also those whose beneficiary is assumed to be there. */
uint32_t cluster_holds(const struct cluster *cluster);

/* --- reading */

/*
 * The first hold of the node that keeps room from the pod of an ask: not one for itself, nor for a
 * tier below its tenant's; and the next one after @hold, of the same node. TABLE_NONE.
 */
uint32_t cluster_hold_against(const struct cluster *cluster, const struct cluster_ask *ask,
			      uint32_t node);
uint32_t cluster_hold_against_next(const struct cluster *cluster, const struct cluster_ask *ask,
				   uint32_t hold);

/*
 * What who is to come there asks for, as of the pod that was seen last: whoever of a workload comes
 * asks for the same. False: none was seen yet, or it is there already (an objective). Its claims
 * are left out.
 */
bool cluster_ask_of_hold(const struct cluster *cluster, uint32_t hold, struct cluster_ask *ret_ask);

struct hold_view {
	uint64_t cards; /* that were chosen; 0: none in particular */
	struct str namespace, name, id;
};

struct hold_view cluster_hold_view(const struct cluster *cluster, uint32_t hold);

/* --- trials */

/*
 * Pods that are taken as gone from their nodes. A question that has one is answered as if they were
 * (struct place_tools); the cluster stays as it is. Theirs are also what they hold of their
 * namespaces and tenants. Claims that were made for them stay: they go later.
 */
struct cluster_trial {
	const uint32_t *gone; /* handles of pods, each once; borrowed */
	size_t n;
};

/* Whether any of them holds something of the ask's namespace or tenant. */
bool cluster_trial_frees_quota(const struct cluster *cluster, const struct cluster_ask *ask);
/* How many units of an offer (struct cluster_units) a pod that is bound has; 0 of others. */
int64_t cluster_pod_units(const struct cluster *cluster, uint32_t pod, uint32_t offer);

#endif
