/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_WIRE_QUOTA_H
#define GPUQOS_API_WIRE_QUOTA_H

#include "api/wire.h"

/*
 * GpuMemoryQuota as crds/gpumemoryquotas.yaml has it, only in JSON. Quantities are texts as they
 * were written: the API server keeps them so for types that it does not know.
 */

struct wire_quota_per_pod {
	uint64_t present;
	struct str gpu_memory; /* quantity */
	int64_t gpus;
};

#define WIRE_PER_POD_GPU_MEMORY 0
#define WIRE_PER_POD_GPUS       1

struct wire_quota_spec {
	uint64_t present;
	struct str gpu_memory; /* quantity */
	int64_t gpus;
	struct wire_list resources; /* struct wire_pair: resource, quantity */
	struct wire_quota_per_pod per_pod;
	struct wire_list container_defaults; /* struct wire_pair: resource, quantity */
	struct str on_shrink, release_on, enforcement;
};

#define WIRE_QUOTA_GPU_MEMORY 0
#define WIRE_QUOTA_GPUS       1
#define WIRE_QUOTA_PER_POD    3

struct wire_condition {
	uint64_t present;
	struct str type, status, reason, message;
	int64_t since_us, observed_generation;
};

struct wire_quota_resource {
	uint64_t present;
	struct str name, product, unit_memory, sharing; /* unit_memory: quantity, absent if unknown
							 */
	int64_t used, hard;
};

#define WIRE_RESOURCE_UNIT_MEMORY 2

struct wire_quota_status {
	uint64_t present;
	int64_t observed_generation;
	struct str effective, used, lent, borrowed, live; /* quantities */
	int64_t used_percent, pods, gpus;
	struct wire_list resources;  /* struct wire_quota_resource */
	struct wire_list conditions; /* struct wire_condition */
};

#define WIRE_STATUS_RESOURCES 9

struct wire_gpu_memory_quota {
	uint64_t present;
	struct wire_meta meta;
	struct wire_quota_spec spec;
	struct wire_quota_status status;
};

#define WIRE_GPU_MEMORY_QUOTA_STATUS 2

#endif
