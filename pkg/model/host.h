/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_HOST_H
#define GPUQOS_MODEL_HOST_H

#include "model/demand.h"
#include "model/terms.h"

/* What a node has beside GPUs: the amounts of model/demand.h, and places for pods. */
#define HOST_PODS    DEMAND_COUNT
#define HOST_AMOUNTS (DEMAND_COUNT + 1)

/* What kube-scheduler itself reads of a node: transient, borrowed. */
struct host_facts {
	struct demand allocatable;
	int64_t pods;  /* that kubelet takes, in all */
	bool cordoned; /* spec.unschedulable */
	const struct label *labels;
	size_t n_labels;
	const struct taint *taints; /* those that keep pods away */
	size_t n_taints;
};

#endif
