/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_EVICTION_RECONCILE_H
#define GPUQOS_CONTROLLER_EVICTION_RECONCILE_H

#include "base/arena.h"
#include "base/log.h"
#include "cluster/cluster.h"
#include "controller/caches.h"
#include "model/placement.h"
#include "place/memory.h"
#include "runtime/recorder.h"
#include "runtime/work.h"

/*
 * The one that evicts pods for another's sake. One tenant at a time: what came of its open
 * receipts, then whether a pod of it is to be moved (plan/migrate.h), which is all that it is asked
 * for so far. All that it remembers is in the receipts of status.evictions, of which it alone
 * writes; what these are kept for says model/receipt.h.
 *
 * Writes go out in this order: the receipt, a notice on the victim, its eviction. Where the receipt
 * is refused the others are not sent; room is held (cluster/reserve.h) from the decision on. An
 * open receipt whose victim is there still and was not asked to go, since whoever wrote it ended
 * before that, has its eviction asked for again: it names one pod by its uid, so that no second one
 * goes. Nothing is decided for a tenant while a write of its status is unseen.
 */
struct eviction_reconciler {
	struct cluster *cluster; /* borrowed, all of them */
	struct caches *caches;
	struct recorder *recorder;
	struct loop *loop;
	struct log *log;
	const struct placement_weights *weights;
	struct metric_family *evictions; /* as the quota's */
	struct metric_family *receipts;  /* by tenant, cause, outcome; may be NULL */
	struct place_memory *memory;     /* owned */
	struct arena arena;
};

/* @metrics may be NULL. */
void eviction_reconciler_init(struct eviction_reconciler *reconciler, struct metrics *metrics);
void eviction_reconciler_clear(struct eviction_reconciler *reconciler);

/* Two of the functions of work_options; @context is the reconciler, keys are tenant handles of the
 * cluster. Tenants are dirty after either. */
int eviction_reconcile(void *context, uint32_t tenant, struct work_set *set, struct error *err);
void eviction_written(void *context, uint32_t tenant, const struct work_write *write,
		      const struct kube_answer *answer, const struct error *err);

#endif
