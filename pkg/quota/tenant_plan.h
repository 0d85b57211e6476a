/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_QUOTA_TENANT_PLAN_H
#define GPUQOS_QUOTA_TENANT_PLAN_H

#include "base/arena.h"
#include "base/error.h"
#include "model/tenant.h"
#include "quota/tenant.h"

/*
 * What a TenantQoS's own objects should hold: plan = decide(view). Its status, and the bindings
 * that tie the admission policies to it. Pure; what its namespaces get is quota/tenant.h's.
 */

/* On the namespaces of a tenant, written by the controller alone: the name of their TenantQoS. */
#define TENANT_LABEL "gpuqos.io/tenant"

/* Several namespaces, and one of them for the message: the first by name, so that it stays. */
struct tenant_some {
	int64_t n;
	struct str namespace; /* empty where there is none */
};

struct tenant_plan_view {
	const struct tenant_facts *facts; /* with the status that was seen last */
	struct tenant_sums sums;          /* of tenant_decide(); zeroed before the first */
	const struct str *namespaces;     /* that belong to it, in any order, each once */
	size_t n_namespaces;
	struct tenant_some elsewhere;  /* that it selects and an older TenantQoS has */
	struct str elsewhere_tenant;   /* the one that has elsewhere.namespace */
	struct tenant_some unenforced; /* of its own: what they may hold is not yet enforced */
	struct tenant_some unpriced; /* of its own: nothing tells what some of their devices are */
	struct topology_counts topology; /* of the cards that its pods have */
	struct str mismatch_namespace; /* of a pod that does not lie as is required; empty: none */
	struct str mismatch_pod;
	struct str unmoved;  /* why one of those is not moved, a sentence; empty: none waits */
	struct str unhelped; /* why nothing is done for a pod that is protected, a sentence */
	struct str kept;     /* why the offender is not evicted, a clause; empty: nobody asks */
	/* Pods that hold GPUs: all, those of whose use something is told, and those that have done
	 * nothing for idle_us; one of the latter. */
	struct tenant_idle {
		int64_t pods, told, idle, idle_us;
		struct str namespace, name;
	} idle;
	/* What is known of its objectives, in the order of the spec; values rounded. */
	const struct objective_status *objectives;
	size_t n_objectives;
	bool keep_values; /* their values alone are no reason to write the status now */
	const struct binding_facts *bindings[TENANT_BINDING_COUNT]; /* as seen; NULL: not there */
	struct throttle throttle;                                   /* as decided now */
	uint32_t unseen; /* FEEDBACK_BIT()s: of these signals nothing is known */
	struct str offender_namespace, offender; /* a pod that is proven to be the one; or empty */
	int64_t now_real_us;
};

/* One of its bindings. At most one of write and remove. */
struct tenant_binding_plan {
	struct str name; /* of the object, also where there is nothing to do */
	struct policy_binding spec;
	bool write;   /* it is not there or not so */
	bool replace; /* and it holds more, or is another's, which an apply would leave */
	bool remove;  /* it is ours, and should not be there */
};

struct tenant_plan {
	struct tenant_status status; /* names of namespaces: borrowed from the view */
	bool write_status;           /* it differs from what the server has */
	bool status_urgent;          /* in more than use and loans */
	struct tenant_binding_plan bindings[TENANT_BINDING_COUNT];
};

/*
 * A spec that is invalid, or of a TenantQoS that is being deleted, allows its namespaces nothing,
 * and its bindings stay as they are: neither sets anybody free.
 *
 * All memory of the plan is in @arena, but for what it borrows from the view; -1 with LIMIT when
 * that is full.
 */
int tenant_plan_decide(const struct tenant_plan_view *view, struct arena *arena,
		       struct tenant_plan *ret_plan, struct error *err);

#endif
