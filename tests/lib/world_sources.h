/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_WORLD_SOURCES_H
#define GPUQOS_TESTS_WORLD_SOURCES_H

#include "model/claim.h"
#include "model/node.h"
#include "model/pod.h"

/*
 * Every way of sharing a GPU, as the simulated world has it: what nodes of a kind offer, what pods
 * of a kind ask for, and what the API server's own quota counts of them. Constant.
 *
 * size: every kind of node, resource and class has a name here.
 */

/* name, text; those from KAI_MEMORY to KAI_FRACTION have no key in a ResourceQuota */
#define WORLD_RESOURCES_X(X)                                                 \
	X(GPU, "nvidia.com/gpu")                                             \
	X(SHARED, "nvidia.com/gpu.shared")                                   \
	X(MIG_SMALL, "nvidia.com/mig-1g.10gb")                               \
	X(MIG_LARGE, "nvidia.com/mig-3g.40gb")                               \
	X(HAMI_MEMORY, "nvidia.com/gpumem")                                  \
	X(HAMI_PERCENT, "nvidia.com/gpumem-percentage")                      \
	X(VOLCANO, "volcano.sh/vgpu-number")                                 \
	X(VOLCANO_MEMORY, "volcano.sh/vgpu-memory")                          \
	X(VOLCANO_PERCENT, "volcano.sh/vgpu-memory-percentage")              \
	X(KOORDINATOR_MEMORY, "koordinator.sh/gpu-memory")                   \
	X(KOORDINATOR_RATIO, "koordinator.sh/gpu-memory-ratio")              \
	X(KAI_MEMORY, "kai.scheduler/gpu-memory")                            \
	X(KAI_FRACTION, "kai.scheduler/gpu-fraction")                        \
	X(AMD, "amd.com/gpu")                                                \
	X(TABLE, "example.com/npu")                                          \
	X(CLASS_CARD, "gpu.nvidia.com.deviceclass.resource.k8s.io/devices")  \
	X(CLASS_SLICE, "mig.nvidia.com.deviceclass.resource.k8s.io/devices") \
	X(CLASS_EXTENDED, "example.com/accelerator")                         \
	X(CLASS_FREE, "nic.deviceclass.resource.k8s.io/devices")             \
	X(HAMI_LIMIT, "limits.nvidia.com/gpumem") /* a key, and no resource */

enum world_resource {
#define X(name, text) WORLD_##name,
	WORLD_RESOURCES_X(X)
#undef X
		WORLD_RESOURCES
};

enum { WORLD_NONE = -1 };

/* Of a name: its number, or WORLD_NONE. */
int world_resource_of(struct str name);
extern const struct str world_resource_names[WORLD_RESOURCES];

/* 0: not told. */
enum {
	WORLD_NO_PRODUCT,
	WORLD_H100,
	WORLD_A100,
	WORLD_H100_MIG,
	WORLD_H100_SHARED,
	WORLD_MI300,
	WORLD_NPU,
	WORLD_ACCELERATOR,
	WORLD_PRODUCTS
};
extern const struct str world_product_names[WORLD_PRODUCTS];

struct world_offer {
	enum world_resource resource;
	int product;
	int64_t unit; /* bytes or AMOUNT_UNKNOWN */
	int64_t min;  /* as in struct device_offer */
	enum device_sharing sharing;
	enum memory_source source;
};

/* Of a ResourceSlice. */
struct world_device {
	int class; /* that it is of; its type follows */
	int product;
	int64_t memory; /* AMOUNT_NONE: it is no GPU */
};

enum { WORLD_OFFERS = 5, WORLD_DEVICES = 3 };

struct world_profile {
	const char *name;
	int n_offers, n_devices;
	struct world_offer offers[WORLD_OFFERS];
	struct world_device devices[WORLD_DEVICES];
};

/* Kinds of nodes. */
enum {
	WORLD_NODE_H100,
	WORLD_NODE_A100,
	WORLD_NODE_MIXED,
	WORLD_NODE_SINGLE,
	WORLD_NODE_SLICED,
	WORLD_NODE_MPS,
	WORLD_NODE_HAMI,
	WORLD_NODE_VOLCANO,
	WORLD_NODE_KOORDINATOR,
	WORLD_NODE_AMD,
	WORLD_NODE_TABLE,
	WORLD_NODE_UNLABELLED,
	WORLD_NODE_DRA,
	WORLD_NODE_ACCELERATOR,
	WORLD_NODE_NETWORK,
	WORLD_PROFILES
};
extern const struct world_profile world_profiles[WORLD_PROFILES];

enum { WORLD_CLASSES = 4 };

struct world_class_text {
	const char *name, *driver, *type, *extended;
	enum world_resource row;
	bool free; /* its driver has no GPUs */
};
extern const struct world_class_text world_classes[WORLD_CLASSES];

struct world_ask {
	enum world_resource resource;
	int64_t count;
	int device; /* or WORLD_NONE */
	int64_t devices;
};

struct world_container {
	enum container_kind kind;
	int n;
	struct world_ask asks[2];
};

enum { WORLD_CONTAINERS = 3, WORLD_RAW = 2 };

/* What pods ask for, and what of it the API server's quota counts: requests as they are written. */
struct world_shape {
	const char *name;
	int n_containers, n_own, n_raw;
	struct world_container containers[WORLD_CONTAINERS];
	struct world_ask own[1];
	struct {
		enum world_resource resource;
		int64_t count;
	} raw[WORLD_RAW];
	bool claim; /* it has a claim of its own, of the first class, from a template */
};

enum { WORLD_SHAPES = 21 };
extern const struct world_shape world_shapes[WORLD_SHAPES];

/* All that it asks for: pairs of resource and device, by Kubernetes' formula. At most four. */
int world_shape_asks(const struct world_shape *shape, struct world_ask ret_asks[4]);

#endif
