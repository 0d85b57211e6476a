/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_GPUNODE_H
#define GPUQOS_MODEL_GPUNODE_H

#include "model/amount.h"
#include "model/cpus.h"

/*
 * A GpuNode as observed: which pod has which cards and CPUs of a node, as its kubelet told the
 * node's agent, and what the card's driver counts for each. Transient, everything borrowed.
 */

/* A pod by its name: kubelet tells no uid. */
struct gpu_node_pod {
	struct str namespace, name;
	const struct str *cards; /* PCI addresses of what its devices are, or are parts of; once */
	size_t n_cards;          /* at most LIMIT_LAYOUT_GPUS */
	uint32_t others;         /* devices of whose cards nothing is told */
	/* CPUs that those of its containers have for themselves which have devices; in order. */
	const struct cpu_range *cpus;
	size_t n_cpus;
};

/* What the processes of one pod, or of none, do on one card. */
struct gpu_node_use {
	struct str card;     /* PCI address */
	struct str uid;      /* of the pod; empty: of none */
	int64_t memory;      /* bytes, or AMOUNT_UNKNOWN */
	int64_t pcie;        /* bytes per second in both directions, or AMOUNT_UNKNOWN */
	int32_t sm_percent;  /* of the time of the card's multiprocessors; -1: not known */
	bool pcie_estimated; /* pcie is the pod's part of what the whole card moves */
	bool shared;         /* others are on the card as well */
};

struct gpu_node_facts {
	struct str name;           /* the node's */
	uint64_t resource_version; /* 0 when it is no number */
	const struct gpu_node_pod *pods;
	size_t n_pods; /* at most LIMIT_HELD_CONTAINERS */
	const struct gpu_node_use *uses;
	size_t n_uses; /* at most LIMIT_GPUNODE_USERS */
	/* All CPUs of the node that some container has for itself, with devices or without. */
	const struct cpu_range *cpus;
	size_t n_cpus;
};

#endif
