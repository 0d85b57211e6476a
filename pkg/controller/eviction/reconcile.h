/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_EVICTION_RECONCILE_H
#define GPUQOS_CONTROLLER_EVICTION_RECONCILE_H

#include "base/arena.h"
#include "base/list.h"
#include "base/log.h"
#include "cluster/cluster.h"
#include "controller/caches.h"
#include "controller/config.h"
#include "place/memory.h"
#include "plan/plan.h"
#include "runtime/recorder.h"
#include "runtime/work.h"

/*
 * The one that evicts pods, but for cuts of quotas. One tenant at a time: what came of its open
 * receipts, then whether room is to be made for a pod of it (plan/cause.h), one is to be relieved
 * (plan/relief.h), one is to be moved (plan/migrate.h), or one is to go for its own doing
 * (plan/own.h). All that it remembers is in the receipts of status.evictions, which it alone
 * writes, but for the one that no status shows yet; what they are kept for says model/receipt.h.
 *
 * Writes go out in this order: the receipt, a notice on the victim, its eviction. Where the receipt
 * is refused the others are not sent; room is held (cluster/placing/reserve.h) from the decision
 * on. An open receipt whose victim is there still and was not asked to go, since whoever wrote it
 * ended before that, has its eviction asked for again: it names one pod by its uid, so that no
 * second one goes. Nothing is decided for a tenant while a write of its status is unseen, nor for
 * any while a new receipt is.
 */

#define EVICTION_VAIN_MOST 256

/* The plan that is being searched, and the pods for which none was found. */
struct eviction_search {
	struct plan *plan; /* owned; NULL: none */
	struct plan_ask ask;
	uint32_t tenant, pod;
	struct uid uid;              /* the pod's */
	int64_t generation;          /* of the tenant */
	int64_t until_us;            /* monotonic: then another tenant's may begin */
	struct arena arena;          /* the plan's own */
	struct arena kept;           /* as long as the plan lives */
	struct arena scratch;        /* of a search for relief */
	struct place_memory *memory; /* owned; the plan's own */
	struct eviction_vain {
		struct uid uid;
		uint32_t tenant, pod; /* handles */
		uint32_t objectives;  /* of the tenant that were bad then and are still, with it as
					 the worst once: a bit for each, by its index */
		int64_t again_us;     /* real; 0: not in use */
		int64_t hasty_us; /* real: what is known in a moment is waited for until then; 0:
				     nothing was waited for yet */
		uint32_t tries;   /* in vain */
		bool told;        /* by an Event */
	} vain[EVICTION_VAIN_MOST];
};

/*
 * The receipt that was decided last, while its tenant's status is not seen to have it. Until then
 * nothing new is decided for any tenant: limits would not count it, and its victims might be
 * theirs; and where the API server is away the same would be decided over and over. Where it does
 * not come, its room is let go, but for one that was answered: its victims may be gone already.
 */
struct eviction_unseen {
	char id[LIMIT_RECEIPT_ID + 1]; /* empty: there is none */
	uint32_t tenant;
	bool under_way;   /* its write is not answered yet, and waited for as long as that takes */
	bool written;     /* so says the API server */
	int64_t until_us; /* monotonic: it is waited for no longer */
};

void eviction_search_init(struct eviction_search *search);
void eviction_search_clear(struct eviction_search *search);

struct eviction_reconciler {
	struct cluster *cluster; /* borrowed, all of them */
	struct caches *caches;
	struct recorder *recorder;
	struct loop *loop;
	struct log *log;
	const struct controller_config *config;
	struct metric_family *evictions; /* as the quota's */
	struct metric_family *receipts;  /* by tenant, cause, outcome; may be NULL */
	struct place_memory *memory;     /* owned */
	struct arena arena;
	struct eviction_search search;
	struct eviction_unseen unseen;
	int64_t behind_us;    /* monotonic: since when caches are; TIME_NEVER: they are not */
	struct list tellings; /* of struct eviction_telling, owned: what no status shows yet */
};

/* @metrics may be NULL. */
void eviction_reconciler_init(struct eviction_reconciler *reconciler, struct metrics *metrics);
void eviction_reconciler_clear(struct eviction_reconciler *reconciler);

/* This replica leads from now on: tenants are read anew, with the receipts of who led before
 * (caches_fresh()), and what it had under way itself before is not answered any more. */
void eviction_reconciler_lead(struct eviction_reconciler *reconciler);

/* Two of the functions of work_options; @context is the reconciler, keys are tenant handles of the
 * cluster. Tenants are dirty after either. */
int eviction_reconcile(void *context, uint32_t tenant, struct work_set *set, struct error *err);
void eviction_written(void *context, uint32_t tenant, const struct work_write *write,
		      const struct kube_answer *answer, const struct error *err);

#endif
