/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_POD_H
#define GPUQOS_MODEL_POD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/amount.h"

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_PHASE_UNKNOWN };

enum container_kind {
	CONTAINER_NORMAL,
	CONTAINER_INIT,
	CONTAINER_SIDECAR /* an init container with restartPolicy Always */
};

/*
 * What one container asks for, GPU resources only (model/resource.h). In the order of the pod's
 * spec.
 */
struct container_facts {
	enum container_kind kind;
	const struct resource_amount *requests;
	size_t n_requests;
};

/* A pod as observed: transient, everything borrowed. */
struct pod_facts {
	struct str namespace, name, uid;
	uint64_t resource_version; /* 0 when it is no number */
	struct str node;           /* spec.nodeName; empty: not bound */
	struct str product;        /* the card that its nodeSelector asks for; empty: any */
	enum pod_phase phase;
	bool terminating;   /* deletionTimestamp is set: it still holds its devices */
	int64_t created_us; /* real */
	const struct container_facts *containers; /* init containers and normal ones, in order */
	size_t n_containers;
	const struct resource_amount *overhead; /* of the RuntimeClass, GPU resources only */
	size_t n_overhead;
};

#endif
