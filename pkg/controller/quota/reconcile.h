/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_QUOTA_RECONCILE_H
#define GPUQOS_CONTROLLER_QUOTA_RECONCILE_H

#include "base/arena.h"
#include "cluster/cluster.h"
#include "controller/caches.h"
#include "controller/moments.h"
#include "runtime/recorder.h"
#include "runtime/work.h"

/*
 * One namespace: gather what the cluster holds of it, decide what its GpuMemoryQuotas and its
 * tenant mean, and say it in writes, in this order:
 *   1. the namespace's labels, which open it to the second gate and say that what follows is ours:
 *      whoever finds them finds what to take away, also where the writes ended here
 *   2. ResourceQuota gpuqos, the first gate
 *   3. LimitRange gpuqos, only when asked for
 *   4. status of each quota, oldest first
 *   5. the eviction of one pod, after its receipt
 * A namespace of a tenant in which no quota governs gets a ResourceQuota of nothing. Nothing is
 * written while a write of ours is still to be seen on a watch.
 */
struct quota_reconciler {
	struct cluster *cluster; /* borrowed, all of them */
	struct caches *caches;
	struct recorder *recorder;
	struct loop *loop;
	struct metric_family *evictions;             /* by namespace, reason, result; may be NULL */
	const char *reporting_controller, *instance; /* of receipts */
	int64_t usage_interval_us;
	struct moments status_written; /* by namespace handle: what paces mere usage */
	struct arena arena;
};

/* @metrics may be NULL. */
void quota_reconciler_init(struct quota_reconciler *reconciler, struct metrics *metrics);
void quota_reconciler_clear(struct quota_reconciler *reconciler);

/* The three functions of work_options; @context is the reconciler, keys are namespace handles of
 * the cluster. */
int quota_reconcile(void *context, uint32_t namespace, struct work_set *set, struct error *err);
void quota_written(void *context, uint32_t namespace, const struct work_write *write,
		   const struct kube_answer *answer, const struct error *err);
void quota_describe(void *context, uint32_t namespace, struct buf *text);

#endif
