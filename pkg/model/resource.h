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
 *   gpu.intel.com/i915, gpu.intel.com/xe                Intel device plugins;
 * those of fractional sharing
 *   nvidia.com/gpumem, gpumem-percentage, gpucores      HAMi
 *   volcano.sh/vgpu-*, volcano.sh/gpu-*                 Volcano
 *   koordinator.sh/gpu*                                 Koordinator
 *   aliyun.com/gpu-*                                    gpushare
 *   kai.scheduler/gpu-memory, gpu-fraction              KAI: asked for by annotation, our names
 * and those of DRA (k8s.io/api/resource/v1, ResourceQuota of claims), of whichever DeviceClass,
 * since its name does not tell what its devices are:
 *   <class>.deviceclass.resource.k8s.io/devices         devices of claims; a quota key as it is
 *   deviceclass.resource.kubernetes.io/<class>          what a container may ask for instead
 * What the table of --config adds is not among them.
 */
enum resource_family {
	RESOURCE_NOT_GPU,
	RESOURCE_CARD,
	RESOURCE_MIG,         /* a partition of a card in hardware, of whichever vendor */
	RESOURCE_FRACTION,    /* a part of a card, or what is asked for along with one */
	RESOURCE_DEVICE_CLASS /* devices of a DRA DeviceClass */
};

enum resource_family resource_family(struct str name);

/* How many units of it make a card, of hundredths and thousandths; 0 for what is counted otherwise.
 */
int64_t resource_parts_of_card(struct str name);

static inline bool resource_is_gpu(struct str name)
{
	return resource_family(name) != RESOURCE_NOT_GPU;
}

/* The class in either form of a DeviceClass's resource; false for any other name. */
bool resource_device_class(struct str name, struct str *ret_class);

/* What follows the class in the first of these forms. */
#define RESOURCE_CLASS_SUFFIX ".deviceclass.resource.k8s.io/devices"

/*
 * How spec.hard of a ResourceQuota bounds a resource: by which key it counts it. A key that the API
 * server takes and never counts ("nvidia.com/gpu") would be a false promise, so there is one form
 * for each.
 */
enum resource_key_kind {
	RESOURCE_KEY_NONE,     /* not at all: not an extended resource, or asked for by annotation
				*/
	RESOURCE_KEY_REQUESTS, /* "requests." and the name */
	RESOURCE_KEY_BARE      /* the name itself: devices of a DeviceClass; RESOURCE_HAMI_LIMIT */
};

/* HAMi's scheduler reads this key itself; it stands in lists of hard values under this name. */
#define RESOURCE_HAMI_LIMIT "limits.nvidia.com/gpumem"

enum resource_key_kind resource_quota_key_kind(struct str name);

/*
 * The other way: the name that @key of a ResourceQuota's spec.hard bounds, a part of @key. False
 * for a key that is not the one form of its resource.
 */
bool resource_of_quota_key(struct str key, struct str *ret_name);

/*
 * The memory that a MIG resource's name claims, in bytes, or AMOUNT_UNKNOWN: the last source in the
 * order of truth. Names are rounded up by their vendor (a 1g.18gb slice of an H200 has 16 GiB), so
 * this is the largest that it could be.
 */
int64_t resource_memory_by_name(struct str name);

#endif
