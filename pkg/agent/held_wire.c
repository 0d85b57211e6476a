/* SPDX-License-Identifier: Apache-2.0 */
/* Tags as in api.proto; names are for messages of errors. */
#include "held_wire.h"

#include "base/macros.h"

static const struct field numa_fields[] = {
	FIELD(struct wire_held_numa, id, "ID", 1, FIELD_INT64),
};
static const struct schema numa_schema = SCHEMA("NUMANode", struct wire_held_numa, numa_fields);

static const struct field topology_fields[] = {
	FIELD_SUB(struct wire_held_topology, nodes, "nodes", 1, FIELD_MESSAGES, &numa_schema),
};
static const struct schema topology_schema =
	SCHEMA("TopologyInfo", struct wire_held_topology, topology_fields);

static const struct field devices_fields[] = {
	FIELD(struct wire_held_devices, resource, "resource_name", 1, FIELD_STRING),
	FIELD(struct wire_held_devices, ids, "device_ids", 2, FIELD_STRINGS),
	FIELD_SUB(struct wire_held_devices, topology, "topology", 3, FIELD_MESSAGE,
		  &topology_schema),
};
static const struct schema devices_schema =
	SCHEMA("ContainerDevices", struct wire_held_devices, devices_fields);

static const struct field result_fields[] = {
	FIELD(struct wire_held_result, driver, "driver_name", 2, FIELD_STRING),
	FIELD(struct wire_held_result, pool, "pool_name", 3, FIELD_STRING),
	FIELD(struct wire_held_result, device, "device_name", 4, FIELD_STRING),
};
static const struct schema result_schema =
	SCHEMA("ClaimResource", struct wire_held_result, result_fields);

static const struct field claim_fields[] = {
	FIELD(struct wire_held_claim, name, "claim_name", 2, FIELD_STRING),
	FIELD(struct wire_held_claim, namespace, "claim_namespace", 3, FIELD_STRING),
	FIELD_SUB(struct wire_held_claim, results, "claim_resources", 4, FIELD_MESSAGES,
		  &result_schema),
};
static const struct schema claim_schema =
	SCHEMA("DynamicResource", struct wire_held_claim, claim_fields);

static const struct field container_fields[] = {
	FIELD(struct wire_held_container, name, "name", 1, FIELD_STRING),
	FIELD_SUB(struct wire_held_container, devices, "devices", 2, FIELD_MESSAGES,
		  &devices_schema),
	FIELD(struct wire_held_container, cpus, "cpu_ids", 3, FIELD_RAW),
	FIELD_SUB(struct wire_held_container, claims, "dynamic_resources", 5, FIELD_MESSAGES,
		  &claim_schema),
};
static const struct schema container_schema =
	SCHEMA("ContainerResources", struct wire_held_container, container_fields);

static const struct field pod_fields[] = {
	FIELD(struct wire_held_pod, name, "name", 1, FIELD_STRING),
	FIELD(struct wire_held_pod, namespace, "namespace", 2, FIELD_STRING),
	FIELD_SUB(struct wire_held_pod, containers, "containers", 3, FIELD_MESSAGES,
		  &container_schema),
};
static const struct schema pod_schema = SCHEMA("PodResources", struct wire_held_pod, pod_fields);

static const struct field pods_fields[] = {
	FIELD_SUB(struct wire_held_pods, pods, "pod_resources", 1, FIELD_MESSAGES, &pod_schema),
};
const struct schema wire_held_pods_schema =
	SCHEMA("ListPodResourcesResponse", struct wire_held_pods, pods_fields);

static const struct field allocatable_fields[] = {
	FIELD_SUB(struct wire_held_allocatable, devices, "devices", 1, FIELD_MESSAGES,
		  &devices_schema),
};
const struct schema wire_held_allocatable_schema =
	SCHEMA("AllocatableResourcesResponse", struct wire_held_allocatable, allocatable_fields);
