/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_WIRE_GPUNODE_H
#define GPUQOS_API_WIRE_GPUNODE_H

#include "api/wire_meta.h"

/*
 * GpuNode, crds/gpunodes.yaml: what is read of it. Transient; numbers that may be absent have the
 * index of their field, for wire_has(), beside their struct. Inside api only.
 */
struct wire_gpu_devices {
	uint64_t present;
	struct wire_list ids, cards; /* struct str */
};

struct wire_gpu_claim {
	uint64_t present;
	struct str driver;
};

struct wire_gpu_container {
	uint64_t present;
	struct str cpus;
	struct wire_list devices; /* struct wire_gpu_devices */
	struct wire_list claims;  /* struct wire_gpu_claim */
};

struct wire_gpu_pod {
	uint64_t present;
	struct str namespace, name;
	struct wire_list containers; /* struct wire_gpu_container */
};

struct wire_gpu_user {
	uint64_t present;
	int64_t sm_percent;
	struct str card, uid, memory, pcie;
	bool estimated, shared;
};

#define WIRE_GPU_USER_SM 0

struct wire_gpu_node {
	uint64_t present;
	struct wire_meta meta;
	struct wire_gpu_node_status {
		uint64_t present;
		struct wire_list pods;  /* struct wire_gpu_pod */
		struct wire_list users; /* struct wire_gpu_user */
		struct str other_cpus;
	} status;
};

extern const struct schema wire_gpu_node_schema;

#endif
