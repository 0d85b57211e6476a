/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_TENANTS_USERS_H
#define GPUQOS_CLUSTER_TENANTS_USERS_H

#include "cluster/nodes/gpunodes.h"

/* Who uses what, pod by pod, and what whoever watches a tenant makes of it. Reading is as in
 * cluster/read.h. */

struct cluster_user {
	uint64_t key;    /* of its uid: the same for the same pod alone */
	struct str name; /* borrowed */
	bool holds;      /* it is bound and not finished; all else of others is 0 */
	int64_t granted; /* bytes that it is charged; AMOUNT_UNKNOWN: some of it has no price */
	struct cluster_usage usage;
	/* Containers that crash over and over; AMOUNT_UNKNOWN where its node is not ready, and
	 * nobody tells. */
	int64_t crashes;
};

/* Of a pod that is kept. @now_real_us: which crashes are recent (model/crashes.h). */
void cluster_user(const struct cluster *cluster, uint32_t pod, int64_t now_real_us,
		  struct cluster_user *ret_user);

/*
 * Of a tenant, as who watches it tells: the pod that is proven to use more than it may, TABLE_NONE
 * where none is, by which signals, FEEDBACK_BIT()s; and whether its use is known to be normal. What
 * is not told anew for CLUSTER_BLAME_US holds no more. @now_us: monotonic.
 */
struct cluster_blame {
	uint32_t pod, signals;
	bool normal;
};

#define CLUSTER_BLAME_US (30LL * 1000 * 1000)

void cluster_blame(struct cluster *cluster, uint32_t tenant, const struct cluster_blame *blame,
		   int64_t now_us);
struct cluster_blame cluster_blamed(const struct cluster *cluster, uint32_t tenant, int64_t now_us);

/* How many pods of the tenant are idle; for who shows it. */
void cluster_note_idle(struct cluster *cluster, uint32_t tenant, int64_t pods);

#endif
