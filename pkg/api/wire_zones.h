/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_WIRE_ZONES_H
#define GPUQOS_API_WIRE_ZONES_H

#include "api/wire_meta.h"

/*
 * NodeResourceTopology (topology.node.k8s.io/v1alpha2, k8stopologyawareschedwg/
 * noderesourcetopology-api, pkg/apis/topology/v1alpha2/types.go): how many of each resource the
 * NUMA nodes of the node of the same name have. Transient; about wire structs see api/wire.h.
 * Inside api only.
 */
struct wire_zone_amount {
	uint64_t present;
	struct str name, capacity, allocatable;
};

struct wire_zone_cost {
	uint64_t present;
	struct str name; /* of a zone */
	int64_t value;
};

struct wire_zone {
	uint64_t present;
	struct str name, type;
	struct wire_list costs;   /* struct wire_zone_cost */
	struct wire_list amounts; /* struct wire_zone_amount */
};

struct wire_zone_attribute {
	uint64_t present;
	struct str name, value;
};

struct wire_node_topology {
	uint64_t present;
	struct wire_meta meta;
	struct wire_list zones;      /* struct wire_zone */
	struct wire_list attributes; /* struct wire_zone_attribute, of the node */
	struct wire_list policies;   /* struct str: the older form of what attributes tell */
};

extern const struct schema wire_node_topology_schema;

#endif
