/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_RESOURCE_H
#define GPUQOS_MODEL_RESOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/*
 * Whether the API server takes the name for an extended resource: domain/name, where the domain is
 * not one of its own. A LimitRange or ResourceQuota with one that is malformed it refuses.
 */
bool resource_is_extended(struct str resource);

/*
 * Which extended resources are GPUs, by name:
 *   nvidia.com/gpu, nvidia.com/gpu.shared               NVIDIA device plugin
 *   nvidia.com/mig-<profile>[.shared]                   the same, MIG strategy "mixed"
 *   amd.com/gpu, amd.com/<compute>_<memory>, such as amd.com/cpx_nps4
 *                                                       ROCm device plugin
 *   gpu.intel.com/i915, gpu.intel.com/xe                Intel device plugins
 * and those of fractional sharing (nvidia.com/gpumem, gpumem-percentage, gpucores;
 * volcano.sh/vgpu-*, volcano.sh/gpu-*; koordinator.sh/gpu*; aliyun.com/gpu-*), which no node can
 * price here: pods that ask for them are refused in managed namespaces rather than let by.
 */
enum resource_family {
	RESOURCE_NOT_GPU,
	RESOURCE_CARD,
	RESOURCE_MIG, /* a partition of a card in hardware, of whichever vendor */
	RESOURCE_FRACTION
};

enum resource_family resource_family(struct str name);

static inline bool resource_is_gpu(struct str name)
{
	return resource_family(name) != RESOURCE_NOT_GPU;
}

/*
 * The memory that a MIG resource's name claims, in bytes, or AMOUNT_UNKNOWN: the last source in the
 * order of truth. Names are rounded up by their vendor (a 1g.18gb slice of an H200 has 16 GiB), so
 * this is the largest that it could be.
 */
int64_t resource_memory_by_name(struct str name);

#endif
