/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_SIM_INCIDENT_NODE_H
#define GPUQOS_SIM_INCIDENT_NODE_H

#include "base/random.h"
#include "model/layout.h"

/* A node of two sockets with four cards each, and what its kubelet does. */
#define INCIDENT_CARDS 8
#define INCIDENT_ALL   UINT64_C(0xff)

struct incident_node {
	struct layout layout;
	struct layout_numa numas[2];
	struct layout_gpu gpus[INCIDENT_CARDS];
	uint32_t distances[4];
};

/* Texts are static; the layout borrows from @node, which must stay where it is. */
void incident_node_init(struct incident_node *node, enum layout_policy kubelet);

/*
 * The cards that kubelet gives a Guaranteed pod with whole CPUs that asks for @count, 0: it rejects
 * the pod. Without a topology policy any free ones, as maps in Go have no order; under
 * single-numa-node the free ones of the first NUMA node that has enough.
 */
uint64_t incident_admit(enum layout_policy kubelet, uint64_t free, uint32_t count,
			struct random *random);

/* Whether cards of both sockets are among these. */
bool incident_spans(uint64_t cards);

#endif
