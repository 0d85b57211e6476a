/* SPDX-License-Identifier: Apache-2.0 */
/* The list of types. */
#include "api/type.h"

#include "api/wire.h"
#include "api/wire_budget.h"
#include "api/wire_dra.h"
#include "api/wire_event.h"
#include "api/wire_gpunode.h"
#include "api/wire_job.h"
#include "api/wire_koordinator.h"
#include "api/wire_storage.h"
#include "api/wire_tenant.h"
#include "api/wire_zones.h"

#define CORE(variable, plural_, kind_, namespaced_, schema_, outline_)                            \
	const struct api_type variable = {                                                        \
		"",      "v1",     plural_, kind_, .namespaced = (namespaced_), .protobuf = true, \
		schema_, outline_,                                                                \
	}

CORE(api_pods, "pods", "Pod", true, &wire_pod_schema, &wire_pod_outline_schema);
CORE(api_nodes, "nodes", "Node", false, &wire_node_schema, &wire_outline_schema);
CORE(api_namespaces, "namespaces", "Namespace", false, &wire_namespace_schema,
     &wire_namespace_outline_schema);
CORE(api_resource_quotas, "resourcequotas", "ResourceQuota", true, &wire_resource_quota_schema,
     &wire_outline_schema);
CORE(api_limit_ranges, "limitranges", "LimitRange", true, &wire_limit_range_schema,
     &wire_outline_schema);

CORE(api_core_events, "events", "Event", true, &wire_event_schema, &wire_outline_schema);

CORE(api_volume_claims, "persistentvolumeclaims", "PersistentVolumeClaim", true,
     &wire_persistent_volume_claim_schema, &wire_outline_schema);
CORE(api_volumes, "persistentvolumes", "PersistentVolume", false, &wire_persistent_volume_schema,
     &wire_outline_schema);

#define STORAGE(variable, plural_, kind_, schema_)                                     \
	const struct api_type variable = {                                             \
		"storage.k8s.io",     "v1", plural_, kind_, .protobuf = true, schema_, \
		&wire_outline_schema,                                                  \
	}

STORAGE(api_storage_classes, "storageclasses", "StorageClass", &wire_storage_class_schema);
STORAGE(api_csi_nodes, "csinodes", "CSINode", &wire_csi_node_schema);
STORAGE(api_csi_drivers, "csidrivers", "CSIDriver", &wire_csi_driver_schema);

const struct api_type api_leases = {
	.group = "coordination.k8s.io",
	.version = "v1",
	.plural = "leases",
	.kind = "Lease",
	.namespaced = true,
	.protobuf = true,
	.schema = &wire_lease_schema,
	.outline = &wire_outline_schema,
};

const struct api_type api_budgets = {
	.group = "policy",
	.version = "v1",
	.plural = "poddisruptionbudgets",
	.kind = "PodDisruptionBudget",
	.namespaced = true,
	.protobuf = true,
	.schema = &wire_budget_schema,
	.outline = &wire_outline_schema,
};

const struct api_type api_jobs = {
	.group = "batch",
	.version = "v1",
	.plural = "jobs",
	.kind = "Job",
	.namespaced = true,
	.protobuf = true,
	.schema = &wire_job_schema,
	.outline = &wire_outline_schema,
};

#define DRA(variable, plural_, kind_, namespaced_, schema_) \
	const struct api_type variable = {                  \
		"resource.k8s.io",                          \
		"v1",                                       \
		plural_,                                    \
		kind_,                                      \
		.namespaced = (namespaced_),                \
		.protobuf = true,                           \
		schema_,                                    \
		&wire_outline_schema,                       \
	}

DRA(api_resource_claims, "resourceclaims", "ResourceClaim", true, &wire_claim_schema);
DRA(api_resource_slices, "resourceslices", "ResourceSlice", false, &wire_slice_schema);
DRA(api_device_classes, "deviceclasses", "DeviceClass", false, &wire_class_schema);

const struct api_type api_gpu_nodes = {
	.group = API_GROUP,
	.version = API_VERSION,
	.plural = "gpunodes",
	.kind = "GpuNode",
	.schema = &wire_gpu_node_schema,
	.outline = &wire_outline_schema,
};

const struct api_type api_koordinator_devices = {
	.group = "scheduling.koordinator.sh",
	.version = "v1alpha1",
	.plural = "devices",
	.kind = "Device",
	.schema = &wire_koordinator_device_schema,
	.outline = &wire_outline_schema,
};

const struct api_type api_node_topologies = {
	.group = "topology.node.k8s.io",
	.version = "v1alpha2",
	.plural = "noderesourcetopologies",
	.kind = "NodeResourceTopology",
	.schema = &wire_node_topology_schema,
	.outline = &wire_outline_schema,
};

const struct api_type api_gpu_memory_quotas = {
	.group = API_GROUP,
	.version = API_VERSION,
	.plural = "gpumemoryquotas",
	.kind = "GpuMemoryQuota",
	.namespaced = true,
	.schema = &wire_gpu_memory_quota_schema,
	.outline = &wire_outline_schema,
};

const struct api_type api_tenants = {
	.group = API_GROUP,
	.version = API_VERSION,
	.plural = "tenantqos",
	.kind = "TenantQoS",
	.schema = &wire_tenant_schema,
	.outline = &wire_outline_schema,
};

const struct api_type api_policy_bindings = {
	.group = "admissionregistration.k8s.io",
	.version = "v1",
	.plural = "validatingadmissionpolicybindings",
	.kind = "ValidatingAdmissionPolicyBinding",
	.protobuf = true,
	.schema = &wire_binding_schema,
	.outline = &wire_outline_schema,
};

const struct api_type api_events = {
	.group = "events.k8s.io",
	.version = "v1",
	.plural = "events",
	.kind = "Event",
	.namespaced = true,
};
