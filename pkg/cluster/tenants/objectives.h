/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_TENANTS_OBJECTIVES_H
#define GPUQOS_CLUSTER_TENANTS_OBJECTIVES_H

#include "cluster/cluster.h"
#include "slo/slo.h"

/*
 * The objectives of tenants, and what is known of them. Verdicts begin as Unknown, Restarted, with
 * each change of an objective's spec; those of objectives that stay as they are go on. Tenants are
 * handles as in cluster/tenants/tenants.h; an index is one of spec.objectives[] of a valid spec, in
 * its order. Nothing of a tenant that is gone.
 */
struct cluster_objective {
	const struct objective_spec *spec; /* borrowed, as is: */
	const struct slo_verdict *verdict;
	uint32_t pod; /* whose value verdict->value is, if that pod is still there; TABLE_NONE */
};

size_t cluster_objective_count(const struct cluster *cluster, uint32_t tenant);
struct cluster_objective cluster_objective(const struct cluster *cluster, uint32_t tenant,
					   size_t index);

/* spec.pendingSeconds in µs, or AMOUNT_NONE. */
int64_t cluster_pending_us(const struct cluster *cluster, uint32_t tenant);

/* What the `pod` of a struct slo_point is; 0: there is no such pod that could hold devices. */
uint64_t cluster_point_pod(const struct cluster *cluster, struct str namespace, struct str name);
/* Real, full seconds: when such a pod was made, by the API server's clock. */
int64_t cluster_point_made(const struct cluster *cluster, uint64_t pod);

/*
 * Takes a reading (slo/slo.h). The tenant is dirty where the state or the reason changed, and where
 * the rounded value did, for that at most each CLUSTER_VALUE_US. True where the state changed.
 */
#define CLUSTER_VALUE_US (30LL * 1000 * 1000)
bool cluster_take_reading(struct cluster *cluster, uint32_t tenant, size_t index,
			  const struct slo_reading *reading, const struct slo_moment *moment);

/* The time alone: what nothing was read of for too long (slo_pass()) is Unknown, and its tenant
 * dirty. True where something became so. */
bool cluster_pass_readings(struct cluster *cluster, const struct slo_moment *moment);

/* Who begins to lead has no windows: all begin anew. */
void cluster_forget_verdicts(struct cluster *cluster);

#endif
