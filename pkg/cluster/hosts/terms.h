/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_TERMS_H
#define GPUQOS_CLUSTER_TERMS_H

#include "base/arena.h"
#include "cluster/cluster.h"
#include "model/terms.h"

/*
 * Whether kube-scheduler would let a pod on a node by what both say: node selector and affinity,
 * taints, and the required anti-affinity of pods that are on nodes. Reading is as in
 * cluster/read.h.
 *
 * A pod whose anti-affinity keeps the other away does so as long as it is there, also where it is
 * one that would go for it. The pod's own anti-affinity is taken to mean all pods of the namespaces
 * that it names, since labels of those are not kept.
 */

#define TERMS_MEMO 32

/* The label of a node that the pod may not go to: others keep it away, or it others. */
struct terms_shunned {
	uint32_t key, value;
};

/* Of one pod, made once for many nodes. Keys and values are handles, which may be stale once the
 * cluster changed: what is found by them then is to be found again. */
struct cluster_terms {
	struct pod_terms terms;
	const uint32_t *selector_keys;       /* of terms.selector, one by one */
	const uint32_t *requirement_keys;    /* of all labels of terms.terms, one by one */
	const struct terms_shunned *shunned; /* by key, then value */
	size_t n_shunned;
	bool passes_cordons; /* it tolerates that a node is cordoned */
	struct arena *arena;
	/* Of lists of taints that were met, which are alike on most nodes. */
	struct {
		uint32_t taints; /* handle, and 1 more; 0: nothing is remembered */
		bool tolerated;
	} memo[TERMS_MEMO];
};

enum terms_verdict { TERMS_ADMIT, TERMS_TAINTED, TERMS_UNSELECTED, TERMS_SHUNNED };

/* Copied to @arena, which is borrowed as long as @ret_terms is used. False where that is full. */
bool cluster_terms_of(const struct cluster *cluster, uint32_t pod, struct arena *arena,
		      struct cluster_terms *ret_terms);
/* Of a node that says nothing of itself nothing is known against it. */
enum terms_verdict cluster_terms_on(const struct cluster *cluster, struct cluster_terms *terms,
				    uint32_t node);

#endif
