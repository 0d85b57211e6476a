/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_WIRE_LAYOUT_H
#define GPUQOS_API_WIRE_LAYOUT_H

#include "codec/schema.h"

/*
 * The annotation gpuqos.io/topology as it is in JSON (api/layout.h). Transient; numbers that may be
 * absent have the index of their field, for wire_has(), beside their struct. Inside api only.
 */
struct wire_layout_version {
	uint64_t present;
	int64_t version;
};

#define WIRE_LAYOUT_VERSION 0

struct wire_layout_kubelet {
	uint64_t present;
	struct str policy, scope, cpu_policy;
};

struct wire_layout_numa {
	uint64_t present;
	int64_t id;
	struct str cpus, memory;
	struct str distances; /* JSON text */
};

#define WIRE_LAYOUT_NUMA_ID        0
#define WIRE_LAYOUT_NUMA_DISTANCES 3

struct wire_layout_bridge {
	uint64_t present;
	int64_t parent;
	struct str pci, speed;
};

#define WIRE_LAYOUT_BRIDGE_PARENT 0

struct wire_layout_mig {
	uint64_t present;
	int64_t count;
	struct str profile, memory;
};

struct wire_layout_gpu {
	uint64_t present;
	int64_t index, numa, bridge;
	struct str uuid, pci, product, speed, memory, sharing, health;
	struct wire_list migs; /* struct wire_layout_mig */
};

#define WIRE_LAYOUT_GPU_INDEX  0
#define WIRE_LAYOUT_GPU_NUMA   1
#define WIRE_LAYOUT_GPU_BRIDGE 2

struct wire_layout_link {
	uint64_t present;
	int64_t a, b;
	struct str bandwidth;
};

#define WIRE_LAYOUT_LINK_A 0
#define WIRE_LAYOUT_LINK_B 1

struct wire_layout {
	uint64_t present;
	int64_t generation;
	struct str writer;
	struct wire_layout_kubelet kubelet;
	struct wire_list numas, bridges, gpus, links;
};

/* The version alone, which is looked at before anything else is believed. */
extern const struct schema wire_layout_version_schema;
extern const struct schema wire_layout_schema;

#endif
