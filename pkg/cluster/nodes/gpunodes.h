/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_NODES_GPUNODES_H
#define GPUQOS_CLUSTER_NODES_GPUNODES_H

#include "cluster/cluster.h"
#include "model/gpunode.h"

/*
 * What nodes' agents tell of the pods there: which cards and CPUs each has, and what it makes of
 * them. It counts while the Lease of the node's agent is held (cluster/nodes/agents.h), and then
 * before what the pods' own statuses say of their devices, since it tells of parts of cards and of
 * CPUs as well. Pods are found by their names, which is all that kubelet tells: who takes the name
 * of another on the same node counts as having its cards until the agent has looked again.
 */

/*
 * @now_us: monotonic. Errors as in cluster/cluster.h. A GpuNode may come before its Node, and
 * before the pods that it tells of.
 */
int cluster_apply_gpu_node(struct cluster *cluster, const struct gpu_node_facts *facts,
			   int64_t now_us, struct error *err);

/* Who measured, in the order in which they count: the node's agent each process, HAMi each
 * container; the others, and HAMi where it tells no containers, whole cards. */
enum usage_source { USAGE_UNTOLD, USAGE_AGENT, USAGE_DCGM, USAGE_HAMI, USAGE_AMD };

/*
 * What a pod was measured to do, over the cards that it is on. What a whole card does counts as the
 * pod's where the pod is known to have the card for itself; else it is `shared`, and unknown.
 */
struct cluster_usage {
	enum usage_source source;
	uint32_t cards;      /* 0: nothing is told of it, and the rest is unknown */
	int64_t memory;      /* bytes; AMOUNT_UNKNOWN where it is for one of the cards */
	int64_t pcie;        /* bytes per second in both directions; likewise */
	int32_t sm_percent;  /* sum over the cards, so that two make up to 200; -1: likewise */
	bool pcie_estimated; /* part of pcie is its share of what a whole card moves */
	bool shared;         /* others have one of the cards, or are on it, as well */
	/* Monotonic: since when its processes have done nothing on each of its cards, as far as
	 * that was told without a break; 0: they do something, or not all of it is known. */
	int64_t idle_since_us;
	int64_t sampled_us; /* monotonic: when it was told, or said to be still so (agents.h):
			       agents write what changed alone */
};

struct cluster_usage cluster_pod_usage(const struct cluster *cluster, uint32_t pod);

/* "DCGM's exporter"; borrowed, static. */
const char *usage_source_text(enum usage_source source);

#endif
