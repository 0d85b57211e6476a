/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_NODES_GPUNODES_INTERNAL_H
#define GPUQOS_CLUSTER_NODES_GPUNODES_INTERNAL_H

#include "cluster/internal.h"
#include "cluster/nodes/gpunodes.h"

/* What is kept of a GpuNode. Inside cluster only. */

/* Cards and CPUs: where its own begin in the lists of all, and how many they are. */
struct seen_pod {
	uint64_t key; /* hash of namespace and name */
	uint32_t first_card, n_cards, first_cpu, n_cpus;
	uint32_t others; /* as in struct gpu_node_pod */
	uint32_t unused; /* 0 */
};

struct seen_use {
	struct uid uid; /* of the pod; zero: of none */
	uint64_t card;  /* device_id() of its address */
	int64_t memory, pcie;
	int64_t idle_us; /* monotonic: since when it does nothing; 0: it does something */
	int32_t sm_percent;
	bool pcie_estimated, shared;
};

struct seen_pods {
	struct seen_pod *pods; /* owned, by key */
	uint64_t *cards;       /* owned: device_id() of addresses */
	struct cpu_range *pod_cpus;
	struct cpu_range *cpus; /* of the node, that some container has for itself */
	struct seen_use *uses;  /* owned, by uid */
	size_t n_pods, n_cards, n_pod_cpus, n_cpus, n_uses;
};

/* Nobody was heard of for a while: what was idle may have been busy. */
void seen_forget_idle(struct cluster *cluster, uint32_t gpu_node, int64_t now_us);

/* What is told of a pod that is on @node, and counts now; NULL: nothing. */
const struct seen_pod *seen_pod_of(const struct cluster *cluster, const struct node_record *node,
				   const struct pod_record *pod);
/* Cards of its node's layout, and how many of its devices are none of them. */
uint64_t seen_cards(const struct cluster *cluster, const struct node_record *node,
		    const struct seen_pod *pod, uint32_t *ret_others);
/* NUMA nodes of the CPUs that its containers with devices have for themselves, each a bit; 0: none,
 * or of none that is known. */
uint64_t seen_numas(const struct cluster *cluster, const struct node_record *node,
		    const struct seen_pod *pod);
/* Counts the node's CPUs that are told to be somebody's alone. */
void seen_pin(const struct cluster *cluster, struct node_record *node);
/* Without those of one pod, which were counted. */
void seen_unpin(const struct cluster *cluster, struct node_record *node,
		const struct seen_pod *pod);

/* All that is told of what goes on on its cards, and counts now. */
const struct seen_use *seen_uses(const struct cluster *cluster, const struct node_record *node,
				 size_t *ret_n);
/* Of one pod on a card of the layout; NULL: nothing. */
const struct seen_use *seen_use_of(const struct cluster *cluster, const struct node_record *node,
				   struct uid uid, uint32_t card);
/* The card of the layout; LIMIT_LAYOUT_GPUS: none of it. */
uint32_t seen_card_of(const struct cluster *cluster, const struct node_record *node, uint64_t id);

#endif
