/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_LEAVING_VICTIMS_H
#define GPUQOS_CLUSTER_LEAVING_VICTIMS_H

#include "cluster/cluster.h"
#include "cluster/uid.h"
#include "model/observed.h"
#include "model/protection.h"
#include "model/tenant.h"

/*
 * What is known of a pod as one that might be evicted for another. Reading is as in
 * cluster/read.h; all pods that the cluster keeps can be asked for, by handle. Nothing that a
 * tenant may write makes a pod dearer than its caps allow (model/protection.h).
 */

/* Whether PodDisruptionBudgets let it go now, as their status says. */
enum victim_budget {
	BUDGET_NONE,    /* none selects it */
	BUDGET_ALLOWS,  /* one does, and allows at least one disruption */
	BUDGET_FORBIDS, /* one does, and allows none; or nobody knows (cluster/leaving/budgets.h) */
	BUDGET_SEVERAL  /* several do: the API server then evicts nobody (HTTP 500) */
};

struct cluster_victim {
	uint32_t namespace, tenant, node; /* TABLE_NONE: of no tenant; not bound */
	uint32_t gang;      /* a number equal for all pods of one gang; TABLE_NONE: it goes alone */
	uint32_t owner;     /* interned "Kind/name" with the namespace's handle tells a workload;
			       INTERN_EMPTY: nobody owns it */
	uint32_t budget_of; /* the budget that selects it, by handle; TABLE_NONE */
	enum tenant_tier tier; /* of its tenant */
	enum victim_budget budget;
	int64_t charge, gpus;  /* bytes, whole cards */
	int64_t started_us;    /* real: status.startTime, else creation; of its gang's first pod */
	int64_t checkpoint_us; /* real: annotation gpuqos.io/checkpoint, not in the future and not
				  before it started; 0: none; its gang's newest */
	int64_t grace_us;      /* its own terminationGracePeriodSeconds */
	int64_t busy;          /* its measured use, thousandths of a card, summed over its cards;
				  AMOUNT_UNKNOWN */
	struct preemptible_spec preemptible; /* of its tenant */
	bool running, finished, terminating; /* terminating: or its eviction was issued */
	bool daemon;                         /* of a DaemonSet */
	bool mirror;                         /* a static pod's */
	bool final;          /* its Job has no retries left, or ends where one pod fails: all of its
				run is lost */
	bool borrowing;      /* its namespace holds borrowed memory */
	const char *refused; /* why the API server refused lately to evict it, or NULL */
	int64_t again_us; /* monotonic: until when what came of asking it counts; TIME_NEVER: it was
			     not asked lately */
};

/* A Job: kept only as long as it is final. Errors as in cluster/cluster.h. */
int cluster_apply_job(struct cluster *cluster, const struct job_facts *facts, struct error *err);

void cluster_victim(const struct cluster *cluster, uint32_t pod, int64_t now_us,
		    int64_t now_real_us, struct cluster_victim *ret_victim);

/*
 * The pods of a gang that are not finished: the first and the next, in no order; TABLE_NONE. Two at
 * least and RECEIPT_VICTIMS at most: a gang that one plan cannot evict whole is none, and its pods
 * go one by one, or it would be exempt by its size. Pods that name the same gang are in it together
 * where their workloads are named after it, or it after them ("vision-workers-1" and "vision"), or
 * nobody owns them; others only with those of the same workload: a name that somebody wrote on all
 * of his pods makes them no gang. A gang runs since the first of its pods does, so that one which
 * is made anew again and again does not keep the others young.
 */
uint32_t cluster_gang_pod(const struct cluster *cluster, uint32_t gang);
uint32_t cluster_gang_next(const struct cluster *cluster, uint32_t pod);

/* How many more disruptions a budget allows, less those of evictions that were issued since its
 * status was observed. */
int64_t cluster_budget_left(const struct cluster *cluster, uint32_t budget);

#endif
