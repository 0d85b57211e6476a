/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_INTERNAL_H
#define GPUQOS_AGENT_INTERNAL_H

#include <hwloc.h>

#include "agent/machine.h"

/* A machine while it is being read: hwloc's objects beside what became of them, in one order. */
struct reading {
	hwloc_topology_t topology;
	struct arena *arena;
	hwloc_obj_t numas[LIMIT_LAYOUT_NUMAS];
	hwloc_obj_t bridges[LIMIT_LAYOUT_BRIDGES];
	hwloc_obj_t gpus[LIMIT_LAYOUT_GPUS];
	struct layout layout;
};

/* As arena_alloc(), for @count of @size; LIMIT where the arena is full. */
void *reading_alloc(struct reading *reading, size_t count, size_t size, struct error *err);

/*
 * Each fills its part of the layout. NUMA nodes come first, then GPUs with the bridges above them,
 * then links.
 */
int reading_numas(struct reading *reading, struct error *err);
int reading_gpus(struct reading *reading, struct error *err);
int reading_links(struct reading *reading, struct error *err);

/* A GPU's vendor by its PCI number; 0 when the device is none. */
#define VENDOR_NVIDIA 0x10de
#define VENDOR_AMD    0x1002
#define VENDOR_INTEL  0x8086

unsigned int gpu_vendor(const struct hwloc_obj *device);

/* What the drivers' libraries told hwloc about a card; unknown where none of them was asked. */
void gpu_describe(struct reading *reading, const struct hwloc_obj *device, struct layout_gpu *gpu);

#endif
