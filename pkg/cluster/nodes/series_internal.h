/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_NODES_SERIES_INTERNAL_H
#define GPUQOS_CLUSTER_NODES_SERIES_INTERNAL_H

#include "cluster/internal.h"
#include "cluster/nodes/gpunodes.h"
#include "cluster/nodes/series.h"

/* Inside cluster only. */

struct series_figure {
	uint64_t key; /* device_id() of the card's UUID; hash of the pod's namespace and name */
	int64_t value, sampled_us; /* monotonic */
	uint32_t sampled_s, cards; /* sampled_s: real */
	uint32_t node;             /* that is said to have the card; TABLE_NONE: none is */
	bool twice;                /* two are */
};

/* What counts now; NULL: nothing. */
const struct series_figure *series_of_card(const struct cluster *cluster, enum device_series series,
					   uint64_t card);
const struct series_figure *series_of_pod(const struct cluster *cluster, enum device_series series,
					  const struct pod_record *pod);

/* What they tell of a pod that is on a node. */
struct cluster_usage series_usage(const struct cluster *cluster, const struct pod_record *pod);

/* Nothing is known. */
struct cluster_usage usage_unknown(void);

#endif
