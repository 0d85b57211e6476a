/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_QUOTA_RECONCILE_H
#define GPUQOS_CONTROLLER_QUOTA_RECONCILE_H

#include "base/arena.h"
#include "cluster/cluster.h"
#include "controller/caches.h"
#include "runtime/recorder.h"
#include "runtime/work.h"

/*
 * One namespace: gather what the cluster holds of it, decide what its GpuMemoryQuotas mean, and say
 * it in writes, in this order:
 *   1. ResourceQuota gpuqos, the first gate
 *   2. LimitRange gpuqos, only when asked for
 *   3. the namespace's label, which opens it to the second gate
 *   4. status of each quota, oldest first
 * Nothing is written while a write of ours is still to be seen on a watch.
 */
struct quota_reconciler {
	struct cluster *cluster; /* borrowed, all of them */
	struct caches *caches;
	struct recorder *recorder;
	struct loop *loop;
	int64_t usage_interval_us;
	/* When a status was last written, by namespace handle: what paces mere usage. Lost on
	 * restart, which costs one early write. */
	int64_t *status_written_us;
	size_t status_capacity;
	struct arena arena;
};

void quota_reconciler_init(struct quota_reconciler *reconciler);
void quota_reconciler_clear(struct quota_reconciler *reconciler);

/* The three functions of work_options; @context is the reconciler, keys are namespace handles of
 * the cluster. */
int quota_reconcile(void *context, uint32_t namespace, struct work_set *set, struct error *err);
void quota_written(void *context, uint32_t namespace, const struct work_write *write,
		   const struct kube_answer *answer, const struct error *err);
void quota_describe(void *context, uint32_t namespace, struct buf *text);

#endif
