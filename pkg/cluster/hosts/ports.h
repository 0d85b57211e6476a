/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_PORTS_H
#define GPUQOS_CLUSTER_PORTS_H

#include "cluster/hosts/terms.h"
#include "cluster/placing/placement.h"

/*
 * Ports of nodes, as kube-scheduler's plugin NodePorts looks at them. @terms are of the pod that
 * asks. Reading is as in cluster/read.h.
 */

struct cluster_ports_taken {
	uint32_t pods;    /* on the node, that have a port which it asks for */
	uint32_t forever; /* of these, that ask for no GPU, and go for nobody */
};

/* Of the pods on a node and those for which room is held there; its own, and those of the ask's
 * trial, are gone. */
struct cluster_ports_taken cluster_ports_taken(const struct cluster *cluster,
					       const struct cluster_ask *ask,
					       const struct cluster_terms *terms, uint32_t node);
/* Whether a pod that is kept is on a node and has a port there which is asked for. */
bool cluster_pod_has_ports(const struct cluster *cluster, uint32_t pod,
			   const struct cluster_terms *terms);

#endif
