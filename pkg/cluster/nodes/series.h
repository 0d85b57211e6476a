/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_NODES_SERIES_H
#define GPUQOS_CLUSTER_NODES_SERIES_H

#include "cluster/cluster.h"
#include "model/device_series.h"

/*
 * The latest figures of exporters (model/device_series.h), by the UUID of a card, or by the names
 * of a pod. They count until they are FIGURE_STALE_US old, and for cluster_pod_usage() alone, where
 * a node's agent tells nothing of a pod. Nothing is marked dirty by them.
 */

/* Both are now. */
struct series_moment {
	int64_t now_us; /* monotonic */
	int64_t real_us;
};

/* Replaces all that is known of @series; none: nothing is known. At most LIMIT_PROM_SERIES. Of a
 * card, or a pod, that is there twice nothing is known. */
void cluster_take_series(struct cluster *cluster, enum device_series series,
			 const struct device_figure *figures, size_t n,
			 const struct series_moment *moment);
/* So late it is: what is too old by now does not count any more. */
void cluster_pass_series(struct cluster *cluster, int64_t now_us);
void cluster_forget_series(struct cluster *cluster);

/* How many figures count now. */
size_t cluster_series_count(const struct cluster *cluster, enum device_series series);

#endif
