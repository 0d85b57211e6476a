/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_TENANT_RECONCILE_H
#define GPUQOS_CONTROLLER_TENANT_RECONCILE_H

#include "base/arena.h"
#include "cluster/cluster.h"
#include "controller/caches.h"
#include "controller/moments.h"
#include "controller/tenant/feedback.h"
#include "controller/tenant/refusals.h"
#include "prom/alertmanager.h"
#include "runtime/recorder.h"
#include "runtime/work.h"

/*
 * One TenantQoS: gather its namespaces, decide what each may hold, keep that in the cluster, and
 * write what is the tenant's own: the bindings of its admission policies, then its status. A
 * namespace whose grant changed is dirty by it and reconciled like any other; nothing in it is
 * written here.
 *
 * The sums of a tenant change with each of its pods, and a decision looks at all its namespaces: so
 * one is made at most every TENANT_PACE_US, and a thousand echoes of our own writes cost a few.
 */
#define TENANT_PACE_US (20 * USEC_PER_MSEC)

struct tenant_reconciler {
	struct cluster *cluster; /* borrowed, all of them */
	struct caches *caches;
	struct recorder *recorder;
	struct loop *loop;
	int64_t usage_interval_us;
	struct moments decided, status_written; /* by tenant handle */
	struct tenant_watches watches;
	struct alertmanager *alerts; /* borrowed; NULL: nobody is alerted */
	struct refusals *refusals;   /* owned; NULL: they are unknown */
	struct feedback_pace pace;
	struct arena arena;
};

void tenant_reconciler_init(struct tenant_reconciler *reconciler);
void tenant_reconciler_clear(struct tenant_reconciler *reconciler);

/* Who begins to lead has seen nothing of what happened meanwhile. */
void tenant_reconciler_forget(struct tenant_reconciler *reconciler);

/* When a tenant that has become dirty may be decided. */
int64_t tenant_due(struct tenant_reconciler *reconciler, uint32_t tenant);

/* The three functions of work_options; @context is the reconciler, keys are tenant handles of the
 * cluster. Namespaces are dirty after it. */
int tenant_reconcile(void *context, uint32_t tenant, struct work_set *set, struct error *err);
void tenant_written(void *context, uint32_t tenant, const struct work_write *write,
		    const struct kube_answer *answer, const struct error *err);
void tenant_describe(void *context, uint32_t tenant, struct buf *text);

#endif
