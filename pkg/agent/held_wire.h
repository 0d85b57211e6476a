/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_HELD_WIRE_H
#define GPUQOS_AGENT_HELD_WIRE_H

#include "codec/schema.h"

/* The messages of kubelet's PodResources API, what is kept of them. */

struct wire_held_numa {
	uint64_t present;
	int64_t id;
};

struct wire_held_topology {
	uint64_t present;
	struct wire_list nodes; /* struct wire_held_numa */
};

struct wire_held_devices {
	uint64_t present;
	struct str resource;
	struct wire_list ids; /* struct str */
	struct wire_held_topology topology;
};

struct wire_held_result {
	uint64_t present;
	struct str driver, pool, device;
};

struct wire_held_claim {
	uint64_t present;
	struct str name, namespace;
	struct wire_list results; /* struct wire_held_result */
};

struct wire_held_container {
	uint64_t present;
	struct str name;
	struct wire_list devices; /* struct wire_held_devices */
	struct str cpus;          /* packed varints */
	struct wire_list claims;  /* struct wire_held_claim */
};

struct wire_held_pod {
	uint64_t present;
	struct str name, namespace;
	struct wire_list containers; /* struct wire_held_container */
};

struct wire_held_pods {
	uint64_t present;
	struct wire_list pods; /* struct wire_held_pod */
};

struct wire_held_allocatable {
	uint64_t present;
	struct wire_list devices; /* struct wire_held_devices */
};

extern const struct schema wire_held_pods_schema, wire_held_allocatable_schema;

#endif
