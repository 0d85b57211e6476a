/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_LOOKS_H
#define GPUQOS_CLUSTER_LOOKS_H

#include "cluster/cluster.h"
#include "cluster/uid.h"
#include "topo/topo.h"

/*
 * Nodes of which something changed that is told to people: what is known of their layout, and which
 * cards their pods have. Handles as in cluster/read.h.
 */

/*
 * Each once, in order of first change, as cluster_take_dirty(). The handle lives until the next
 * call, also where the node is gone by then. False when there is none.
 */
bool cluster_take_node(struct cluster *cluster, uint32_t *ret_node);

/* All nodes are to be looked at, and nothing counts as told: who begins to lead tells anew. */
void cluster_look_again(struct cluster *cluster);

/* What is known of the layout counts as told from now on. Returns what was before; ABSENT where
 * nothing was. */
enum layout_state cluster_tell_layout(struct cluster *cluster, uint32_t node);

/* --- the pods on a node */

/* All that are bound, or assumed to be, finished ones too: the first and the next; TABLE_NONE. */
uint32_t cluster_node_pod(const struct cluster *cluster, uint32_t node);
uint32_t cluster_node_pod_next(const struct cluster *cluster, uint32_t pod);

/* What a pod has, beside what was asked for it; for place/check.h. Of its cards nothing is said
 * where nothing is asked. */
struct cluster_held {
	const struct topo *topo; /* of its node; NULL: not known */
	struct topology_spec topology;
	uint64_t cards;  /* of the layout, that kubelet says it gave */
	uint64_t numas;  /* of CPUs that it has for itself beside cards, each a bit; 0: not told */
	uint32_t others; /* devices that it gave beside: parts of cards, or unknown to the layout */
	uint32_t asked;  /* devices that the pod asks for */
	uint64_t assumed; /* cards that placement chose; 0: none in particular */
	bool running, finished;
};

struct cluster_held cluster_held(const struct cluster *cluster, uint32_t pod);

/* Cards of its node's layout that it was seen to have, whole or in part, whatever is asked; 0: it
 * is not told which. */
uint64_t cluster_pod_cards(const struct cluster *cluster, uint32_t pod);

struct cluster_pod_name {
	struct str namespace, name, node;
	struct str owner; /* "Kind/name" of its workload; empty: nobody owns it */
	struct uid uid;
	int64_t created_us; /* real, whole seconds */
};

/* Has the processor fetch what is read of a pod, for who asks about many; TABLE_NONE is none. */
void cluster_pod_ahead(const struct cluster *cluster, uint32_t pod);

/* Nobody has bound it, assumed it to be or gated it, and it neither ends nor has ended: it waits
 * for its node. */
bool cluster_pod_waits(const struct cluster *cluster, uint32_t pod);

struct uid cluster_pod_uid(const struct cluster *cluster, uint32_t pod);
/* Whether a handle that was kept is still that pod's. */
bool cluster_pod_is(const struct cluster *cluster, uint32_t pod, struct uid uid);

struct cluster_pod_name cluster_pod_name(const struct cluster *cluster, uint32_t pod);

/* Counts it for its namespace, and marks its tenant where that is news. */
void cluster_set_check(struct cluster *cluster, uint32_t pod, const struct topology_spec *by,
		       enum topology_check check);
/* True once for each pod and node, until cluster_look_again(): it is told from now on. */
bool cluster_tell_check(struct cluster *cluster, uint32_t pod);

/* Sums of a tenant's namespaces. */
struct topology_counts cluster_tenant_topology(const struct cluster *cluster, uint32_t tenant);

#endif
