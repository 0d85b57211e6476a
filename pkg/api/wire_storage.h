/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_WIRE_STORAGE_H
#define GPUQOS_API_WIRE_STORAGE_H

#include "api/wire_meta.h"
#include "api/wire_terms.h"

/* Claims, volumes, classes and drivers (v1, storage.k8s.io/v1) as they come, as api/wire.h says of
 * all types. */

struct wire_volume_claim_spec {
	uint64_t present;
	struct wire_list modes; /* struct str */
	struct str volume, class;
};

struct wire_volume_claim_status {
	uint64_t present;
	struct str phase;
};

struct wire_persistent_volume_claim {
	uint64_t present;
	struct wire_meta meta; /* with annotations and owners */
	struct wire_volume_claim_spec spec;
	struct wire_volume_claim_status status;
};

struct wire_csi_source {
	uint64_t present;
	struct str driver, handle;
};

struct wire_persistent_volume_spec {
	uint64_t present;
	struct wire_persistent_volume_source {
		uint64_t present;
		struct wire_volume_sort gce, aws, cinder, azure_file, vsphere, azure_disk, portworx;
		struct wire_csi_source csi;
	} source;
	struct wire_volume_affinity {
		uint64_t present;
		struct wire_node_terms required;
	} affinity;
};

#define WIRE_VOLUME_SOURCE_CSI        7
#define WIRE_VOLUME_AFFINITY_REQUIRED 0

struct wire_persistent_volume {
	uint64_t present;
	struct wire_meta meta; /* with labels that name zones */
	struct wire_persistent_volume_spec spec;
};

struct wire_topology_requirement {
	uint64_t present;
	struct str key;
	struct wire_list values; /* struct str */
};

struct wire_topology_term {
	uint64_t present;
	struct wire_list labels; /* struct wire_topology_requirement */
};

struct wire_storage_class {
	uint64_t present;
	struct wire_meta meta;
	struct str provisioner, binding_mode;
	struct wire_list topologies; /* struct wire_topology_term */
};

struct wire_csi_node_driver {
	uint64_t present;
	struct str name;
	struct wire_csi_allocatable {
		uint64_t present;
		int32_t count;
	} allocatable;
};

#define WIRE_CSI_COUNT 0

struct wire_csi_node {
	uint64_t present;
	struct wire_meta meta;
	struct wire_csi_node_spec {
		uint64_t present;
		struct wire_list drivers; /* struct wire_csi_node_driver */
	} spec;
};

struct wire_csi_driver {
	uint64_t present;
	struct wire_meta meta;
	struct wire_csi_driver_spec {
		uint64_t present;
		bool tells_capacity, must_be_there;
	} spec;
};

extern const struct schema wire_persistent_volume_claim_schema, wire_persistent_volume_schema,
	wire_storage_class_schema, wire_csi_node_schema, wire_csi_driver_schema;

#endif
