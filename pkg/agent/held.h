/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_HELD_H
#define GPUQOS_AGENT_HELD_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/*
 * Which container holds which GPUs, as kubelet tells by its PodResources API, version 1
 * (k8s.io/kubelet/pkg/apis/podresources/v1/api.proto). Only GPUs are kept: extended resources that
 * are GPUs by name (model/resource.h), devices whose ids are NVIDIA's whatever the resource is
 * called, and devices of DRA claims, of whichever driver. Borrowed from the message and the arena.
 */
struct held_devices {
	struct str resource;   /* "nvidia.com/gpu" */
	const struct str *ids; /* "GPU-...", "GPU-...::3", "MIG-...", as the device plugin has them
				*/
	size_t n_ids;
	const uint32_t *numas; /* the kernel's numbers of NUMA nodes, as the plugin told kubelet */
	size_t n_numas;        /* 0: it told none */
};

struct held_claim {
	struct str namespace, name;      /* of the ResourceClaim */
	struct str driver, pool, device; /* of one device of its allocation */
};

struct held_container {
	struct str namespace, pod, name;
	struct str cpus; /* that are its own alone: "2-3,50"; empty: none */
	const struct held_devices *devices;
	size_t n_devices;
	const struct held_claim *claims;
	size_t n_claims;
};

struct held {
	const struct held_container *containers;
	size_t n_containers;   /* at most LIMIT_HELD_CONTAINERS */
	struct str other_cpus; /* that containers without GPUs have for themselves; empty: none */
	const struct held_devices *allocatable;
	size_t n_allocatable;
};

/*
 * ListPodResourcesResponse and AllocatableResourcesResponse: fill their part of @held. INVALID: no
 * such message, or a text that is not printable; LIMIT: more than limits.h allows. @held is
 * untouched on failure.
 */
int held_read_pods(struct str message, struct arena *arena, struct held *held, struct error *err);
int held_read_allocatable(struct str message, struct arena *arena, struct held *held,
			  struct error *err);

#endif
