/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_RESERVE_H
#define GPUQOS_CLUSTER_RESERVE_H

#include "cluster/placement.h"
#include "model/receipt.h"
#include "model/tenant.h"

/*
 * Room that is held: what was freed for a pod is kept from all others of the same or a lower tier
 * (and of no tenant) until that pod is bound, or the time is over. One for each receipt; those of
 * receipts that are not settled follow from the TenantQoS that shows them, so that a new leader
 * holds what the last one did.
 *
 * Held is: of the node so many units of each resource that the pod asks for, and in particular the
 * cards that were chosen. Reading (cluster/placement.h) takes an ask and its tier, and shows what
 * is free to that.
 */
struct cluster_hold {
	struct str id;     /* the receipt's; one that is there already is replaced */
	struct str tenant; /* of the receipt */
	uint32_t node;
	uint64_t cards;        /* of its layout; 0: none in particular */
	enum tenant_tier tier; /* the beneficiary's */
	/* Who may have it: the pod of this uid, or where owner is not empty any pod of that
	 * workload in the namespace which is younger than since_us. */
	struct str namespace, uid, owner;
	int64_t since_us;                /* real */
	int64_t until_us;                /* monotonic */
	const struct vector_cell *cells; /* what it asks for */
	size_t n_cells;
};

void cluster_reserve(struct cluster *cluster, const struct cluster_hold *hold);
void cluster_release_hold(struct cluster *cluster, struct str tenant, struct str id);
/* Ends those whose time is over. @ret_next_us: when the next one is; TIME_NEVER. */
void cluster_expire_holds(struct cluster *cluster, int64_t now_us, int64_t *ret_next_us);
uint32_t cluster_holds(const struct cluster *cluster);

/* What a question's pod may pass: what is held for it, and for tiers below its own. */
struct cluster_claimant {
	uint32_t pod; /* TABLE_NONE: not seen */
	bool tiered;  /* its namespace has a tenant */
	enum tenant_tier tier;
};

/* --- trials */

/*
 * Pods that are taken as gone from their nodes. A question that has one is answered as if they were
 * (struct place_tools); the cluster stays as it is. Theirs are also what they hold of their
 * namespaces and tenants.
 */
struct cluster_trial {
	const uint32_t *gone; /* handles of pods; borrowed */
	size_t n;
};

#endif
