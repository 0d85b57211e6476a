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

struct wire_quota_product {
	uint64_t present;
	struct str product, gpu_memory; /* gpu_memory: quantity */
	int64_t gpus;
};

#define WIRE_PRODUCT_GPU_MEMORY 1
#define WIRE_PRODUCT_GPUS       2

struct wire_quota_spec {
	uint64_t present;
	struct str gpu_memory; /* quantity */
	int64_t gpus;
	struct wire_list resources; /* struct wire_pair: resource, quantity */
	struct wire_quota_per_pod per_pod;
	struct wire_list container_defaults; /* struct wire_pair: resource, quantity */
	struct str on_shrink, release_on, enforcement;
	struct wire_list products; /* struct wire_quota_product */
	struct str borrow_limit;   /* quantity */
	int64_t shrink_deadline_s, terminal_timeout_s;
};

#define WIRE_QUOTA_GPU_MEMORY 0
#define WIRE_QUOTA_GPUS       1
#define WIRE_QUOTA_PER_POD    3
#define WIRE_QUOTA_PRODUCTS   8
#define WIRE_QUOTA_BORROW     9
#define WIRE_QUOTA_DEADLINE   10
#define WIRE_QUOTA_TIMEOUT    11

/* metav1.Condition, in either of our types. */
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

struct wire_dry_run_workload {
	uint64_t present;
	struct str kind, name, gpu_memory; /* gpu_memory: quantity */
	int64_t pods;
};

struct wire_quota_dry_run {
	uint64_t present;
	int64_t since_us, through_us, refused;
	struct wire_list workloads; /* struct wire_dry_run_workload */
};

struct wire_quota_device_class {
	uint64_t present;
	struct str name, resource;
};

/* Amounts of a status as columns show them: written, and only whether they are there is read back.
 */
struct wire_shown {
	uint64_t present;
	struct str effective, granted, used, lent, borrowed;
};

struct wire_quota_status {
	uint64_t present;
	int64_t observed_generation;
	struct str effective, used, lent, borrowed, live; /* quantities */
	int64_t used_percent, pods, gpus;
	struct wire_list resources;   /* struct wire_quota_resource */
	struct wire_list conditions;  /* struct wire_condition */
	struct str granted, released; /* quantities */
	int64_t released_pods;
	struct str tenant;
	struct wire_quota_dry_run dry_run;
	struct wire_list device_classes; /* struct wire_quota_device_class */
	int64_t granted_gpus, effective_gpus;
	struct wire_shown shown;
};

#define WIRE_STATUS_RESOURCES 9
#define WIRE_STATUS_DRY_RUN   15
#define WIRE_STATUS_SHOWN     19

struct wire_gpu_memory_quota {
	uint64_t present;
	struct wire_meta meta;
	struct wire_quota_spec spec;
	struct wire_quota_status status;
};

#define WIRE_GPU_MEMORY_QUOTA_STATUS 2

extern const struct schema wire_condition_schema;

#endif
