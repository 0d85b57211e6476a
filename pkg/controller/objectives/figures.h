/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_OBJECTIVES_FIGURES_H
#define GPUQOS_CONTROLLER_OBJECTIVES_FIGURES_H

#include "base/arena.h"
#include "cluster/nodes/series.h"
#include "prom/answer.h"

/* Figures of devices in Prometheus: which are asked for, and what comes of an answer. */

/* The first of @from and those after it that one of @exporters, a bit each, has;
 * DEVICE_SERIES_COUNT: none. */
enum device_series figures_next(enum device_series from, uint32_t exporters);

/* What figures are taken with; borrowed. */
struct figures_taking {
	struct cluster *cluster;
	struct arena *arena; /* scratch */
	struct series_moment moment;
};

/* The cluster has what @answer tells, and nothing else of the series. LIMIT: the arena is full, and
 * INVALID for an answer of which part may be missing: then it has nothing. */
int figures_take(const struct figures_taking *taking, enum device_series series,
		 const struct prom_answer *answer, struct error *err);

#endif
