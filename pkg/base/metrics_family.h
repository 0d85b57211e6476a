/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_METRICS_FAMILY_H
#define GPUQOS_BASE_METRICS_FAMILY_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/map.h"
#include "base/metrics.h"

/* What a family of metrics holds; shared by metrics.c and metrics_text.c alone. */
enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metric_cell {
	char *values[METRICS_MAX_LABELS]; /* owned; as many as the family has labels */
	double value;                     /* a histogram's sum */
	uint64_t *counts; /* owned; a histogram's, one for each bucket by itself, the last for +Inf
			   */
};

struct metric_family {
	struct list link;           /* in the registry */
	const struct hash_key *key; /* the registry's */
	enum metric_type type;
	const char *name, *help;
	const char *labels[METRICS_MAX_LABELS];
	size_t n_labels;
	double *buckets; /* owned */
	size_t n_buckets;
	struct metric_cell **cells; /* owned, in order of first use */
	size_t n_cells, capacity;
	struct map index; /* values to place in cells */
};

/* Adds the family to a page, unless it has no cell. */
void metric_family_write(const struct metric_family *family, struct buf *page);

#endif
