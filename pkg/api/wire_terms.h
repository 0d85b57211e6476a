/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_WIRE_TERMS_H
#define GPUQOS_API_WIRE_TERMS_H

#include "api/wire_meta.h"

/* What of a pod kube-scheduler itself compares with nodes, as it comes; part of api/wire_pod.h. */

/* A volume of a sort that kube-scheduler looks for on nodes: whether it is one. */
struct wire_volume_sort {
	uint64_t present;
};

struct wire_volume {
	uint64_t present;
	struct str name;
	struct wire_volume_source {
		uint64_t present;
		struct wire_volume_sort gce, aws, iscsi, rbd, cinder, azure_file, vsphere,
			azure_disk, portworx, ephemeral;
		struct wire_volume_claim {
			uint64_t present;
			struct str name;
		} claim;
	} source;
};

#define WIRE_VOLUME_CLAIM     3
#define WIRE_VOLUME_EPHEMERAL 10

/* Of a node's labels or, as field, its name. */
struct wire_node_term {
	uint64_t present;
	struct wire_list labels, fields; /* struct wire_requirement */
};

/* What would be better than another: that it is there. */
struct wire_preference {
	uint64_t present;
};

/* A NodeSelector. */
struct wire_node_terms {
	uint64_t present;
	struct wire_list terms; /* struct wire_node_term */
};

struct wire_node_affinity {
	uint64_t present;
	struct wire_node_terms required;
	struct wire_list preferred; /* struct wire_preference */
};

#define WIRE_NODE_AFFINITY_REQUIRED 0

struct wire_pod_term {
	uint64_t present;
	struct wire_selector selector, namespace_selector;
	struct wire_list namespaces; /* struct str */
	struct str topology_key;
};

#define WIRE_POD_TERM_SELECTOR           0
#define WIRE_POD_TERM_NAMESPACE_SELECTOR 3

struct wire_pod_affinity {
	uint64_t present;
	struct wire_list required;  /* struct wire_pod_term */
	struct wire_list preferred; /* struct wire_preference */
};

struct wire_affinity {
	uint64_t present;
	struct wire_node_affinity node;
	struct wire_pod_affinity pod, anti;
};

struct wire_toleration {
	uint64_t present;
	struct str key, op, value, effect;
};

struct wire_spread {
	uint64_t present;
	struct str when_unsatisfiable;
};

extern const struct schema wire_volume_schema, wire_affinity_schema, wire_toleration_schema,
	wire_spread_schema, wire_node_terms_schema;

#endif
