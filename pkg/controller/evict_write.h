/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_EVICT_WRITE_H
#define GPUQOS_CONTROLLER_EVICT_WRITE_H

#include "base/metrics.h"
#include "cluster/ledger/holders.h"
#include "runtime/work.h"

/* How a pod is asked to go, and what is made of the answer: alike for all who evict. */

#define EVICT_REASON "Evicted" /* of Events */
#define EVICT_ACTION "Evict"

/* gpuqos_evictions_total by namespace, reason and result; NULL without @metrics. */
struct metric_family *evict_metric(struct metrics *metrics);

struct evict_ask {
	struct str namespace, name, uid; /* of the pod; the uid is a precondition */
	int64_t grace_s;                 /* below 0: the pod's own */
	const char *reason;              /* static; label of the metric */
};

/* Adds the eviction. That it fails holds up nothing: evict_written() judges. */
int evict_write(struct work_set *set, const struct evict_ask *ask, struct error *err);

/* Where it is kept what came of evictions; borrowed. */
struct evict_books {
	struct cluster *cluster;
	struct metric_family *metric; /* evict_metric() */
	int64_t now_us;               /* monotonic */
};

/* True where the write was an eviction: it was answered, or was not. */
bool evict_written(const struct evict_books *books, const struct work_write *write,
		   const struct kube_answer *answer, const struct error *err);

#endif
