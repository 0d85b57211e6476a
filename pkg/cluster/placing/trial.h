/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_PLACING_TRIAL_H
#define GPUQOS_CLUSTER_PLACING_TRIAL_H

#include "cluster/internal.h"

/*
 * What the pods of an ask's trial hold now, and would not. All take an ask without one, and give
 * nothing then. Inside cluster only.
 */

bool trial_has(const struct cluster_ask *ask, uint32_t pod);

/* What is seen and assumed of the node without them. */
void trial_room(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t node,
		struct node_record *ret_record);
/* Their units of an offer of the node. */
int64_t trial_units(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t node,
		    uint32_t offer);

/* Units, or whole cards. */
struct trial_sum {
	wide_sum count, bytes;
};

/* Of what is live in the ask's namespace, by row of the price list; devices without a price; of
 * what is live in a tenant, whole cards. */
struct trial_sum trial_of_row(const struct cluster *cluster, const struct cluster_ask *ask,
			      uint32_t row);
wide_sum trial_unpriced(const struct cluster *cluster, const struct cluster_ask *ask);
struct trial_sum trial_of_tenant(const struct cluster *cluster, const struct cluster_ask *ask,
				 uint32_t tenant);

#endif
