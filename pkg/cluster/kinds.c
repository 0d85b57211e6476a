/* SPDX-License-Identifier: Apache-2.0 */
/* A row for each kind, and what makes the functions of some fit in it. */
#include "cluster/kinds.h"

#include "cluster/dra/dra_internal.h"

static uint32_t find_resource_quota(const struct cluster *cluster, struct str namespace,
				    struct str name)
{
	return owned_find(cluster, OWNED_RESOURCE_QUOTA, namespace, name);
}

static void remove_resource_quota(struct cluster *cluster, uint32_t owned)
{
	owned_remove(cluster, OWNED_RESOURCE_QUOTA, owned);
}

static uint32_t find_limit_range(const struct cluster *cluster, struct str namespace,
				 struct str name)
{
	return owned_find(cluster, OWNED_LIMIT_RANGE, namespace, name);
}

static void remove_limit_range(struct cluster *cluster, uint32_t owned)
{
	owned_remove(cluster, OWNED_LIMIT_RANGE, owned);
}

static uint32_t find_binding(const struct cluster *cluster, struct str namespace, struct str name)
{
	(void)namespace;
	return binding_find(cluster, name);
}

/* Their namespace is that of the system alone. */
static uint32_t find_agent(const struct cluster *cluster, struct str namespace, struct str name)
{
	(void)namespace;
	return agent_find(cluster, name);
}

static void remove_published(struct cluster *cluster, uint32_t published)
{
	published_remove(cluster, CLUSTER_PUBLISHED, published);
}

static void remove_zones(struct cluster *cluster, uint32_t published)
{
	published_remove(cluster, CLUSTER_ZONES, published);
}

const struct kind cluster_kinds[CLUSTER_KIND_COUNT] = {
	[CLUSTER_PODS] = {.word = "Pod",
			  .records = offsetof(struct cluster, pods),
			  .epoch = offsetof(struct pod_record, epoch),
			  .find = pod_find,
			  .remove = pod_remove},
	[CLUSTER_NODES] = {.word = "Node",
			   .records = offsetof(struct cluster, nodes),
			   .epoch = offsetof(struct node_record, epoch),
			   .by_name = offsetof(struct cluster, nodes_by_name),
			   .name = offsetof(struct node_record, name),
			   .remove = node_gone},
	[CLUSTER_NAMESPACES] = {.word = "Namespace",
				.records = offsetof(struct cluster, namespaces),
				.epoch = offsetof(struct namespace_record, epoch),
				.by_name = offsetof(struct cluster, namespaces_by_name),
				.name = offsetof(struct namespace_record, name),
				.remove = namespace_gone},
	[CLUSTER_QUOTAS] = {.word = "GpuMemoryQuota",
			    .records = offsetof(struct cluster, quotas),
			    .epoch = offsetof(struct quota_record, epoch),
			    .find = quota_find,
			    .remove = quota_remove},
	[CLUSTER_RESOURCE_QUOTAS] = {.word = "ResourceQuota",
				     .records =
					     offsetof(struct cluster, owned[OWNED_RESOURCE_QUOTA]),
				     .epoch = offsetof(struct owned_record, epoch),
				     .find = find_resource_quota,
				     .remove = remove_resource_quota},
	[CLUSTER_LIMIT_RANGES] = {.word = "LimitRange",
				  .records = offsetof(struct cluster, owned[OWNED_LIMIT_RANGE]),
				  .epoch = offsetof(struct owned_record, epoch),
				  .find = find_limit_range,
				  .remove = remove_limit_range},
	[CLUSTER_TENANTS] = {.word = "TenantQoS",
			     .records = offsetof(struct cluster, tenants),
			     .epoch = offsetof(struct tenant_record, epoch),
			     .by_name = offsetof(struct cluster, tenants_by_name),
			     .name = offsetof(struct tenant_record, name),
			     .remove = tenant_gone},
	[CLUSTER_BINDINGS] = {.word = "ValidatingAdmissionPolicyBinding",
			      .records = offsetof(struct cluster, bindings),
			      .epoch = offsetof(struct binding_record, epoch),
			      .find = find_binding,
			      .remove = binding_remove},
	[CLUSTER_CLAIMS] = {.word = "ResourceClaim",
			    .records = offsetof(struct cluster, dra.claims),
			    .epoch = offsetof(struct device_claim_record, epoch),
			    .find = claim_find,
			    .remove = claim_remove},
	[CLUSTER_SLICES] = {.word = "ResourceSlice",
			    .records = offsetof(struct cluster, dra.slices),
			    .epoch = offsetof(struct slice_record, epoch),
			    .by_name = offsetof(struct cluster, dra.slices_by_name),
			    .name = offsetof(struct slice_record, name),
			    .remove = slice_remove},
	[CLUSTER_CLASSES] = {.word = "DeviceClass",
			     .records = offsetof(struct cluster, dra.classes),
			     .epoch = offsetof(struct class_record, epoch),
			     .by_name = offsetof(struct cluster, dra.classes_by_name),
			     .name = offsetof(struct class_record, name),
			     .remove = class_remove},
	[CLUSTER_AGENTS] = {.word = "Lease",
			    .records = offsetof(struct cluster, agents),
			    .epoch = offsetof(struct agent_record, epoch),
			    .by_name = offsetof(struct cluster, agents_by_node),
			    .name = offsetof(struct agent_record, node),
			    .find = find_agent,
			    .remove = agent_remove},
	[CLUSTER_GPU_NODES] = {.word = "GpuNode",
			       .records = offsetof(struct cluster, gpu_nodes),
			       .epoch = offsetof(struct gpu_node_record, epoch),
			       .by_name = offsetof(struct cluster, gpu_nodes_by_name),
			       .name = offsetof(struct gpu_node_record, name),
			       .remove = gpu_node_remove},
	[CLUSTER_PUBLISHED] = {.word = "Device",
			       .records = offsetof(struct cluster, published),
			       .epoch = offsetof(struct published_record, epoch),
			       .by_name = offsetof(struct cluster, published_by_name),
			       .name = offsetof(struct published_record, name),
			       .remove = remove_published},
	[CLUSTER_ZONES] = {.word = "NodeResourceTopology",
			   .records = offsetof(struct cluster, zones),
			   .epoch = offsetof(struct published_record, epoch),
			   .by_name = offsetof(struct cluster, zones_by_name),
			   .name = offsetof(struct published_record, name),
			   .remove = remove_zones},
	[CLUSTER_BUDGETS] = {.word = "PodDisruptionBudget",
			     .records = offsetof(struct cluster, budgets),
			     .epoch = offsetof(struct budget_record, epoch),
			     .find = budget_find,
			     .remove = budget_remove},
	[CLUSTER_JOBS] = {.word = "Job",
			  .records = offsetof(struct cluster, jobs),
			  .epoch = offsetof(struct job_record, epoch),
			  .find = job_find,
			  .remove = job_remove},
	[CLUSTER_VOLUME_CLAIMS] = {.word = "PersistentVolumeClaim",
				   .records = offsetof(struct cluster, storage.claims),
				   .epoch = offsetof(struct volume_claim_record, epoch),
				   .find = volume_claim_find,
				   .remove = volume_claim_remove},
	[CLUSTER_VOLUMES] = {.word = "PersistentVolume",
			     .records = offsetof(struct cluster, storage.volumes),
			     .epoch = offsetof(struct volume_record, named.epoch),
			     .by_name = offsetof(struct cluster, storage.volumes_by_name),
			     .name = offsetof(struct volume_record, named.name),
			     .remove = volume_remove},
	[CLUSTER_STORAGE_CLASSES] = {.word = "StorageClass",
				     .records = offsetof(struct cluster, storage.classes),
				     .epoch = offsetof(struct storage_class_record, named.epoch),
				     .by_name = offsetof(struct cluster, storage.classes_by_name),
				     .name = offsetof(struct storage_class_record, named.name),
				     .remove = storage_class_remove},
	[CLUSTER_CSI_NODES] = {.word = "CSINode",
			       .records = offsetof(struct cluster, storage.csi_nodes),
			       .epoch = offsetof(struct csi_node_record, named.epoch),
			       .by_name = offsetof(struct cluster, storage.csi_nodes_by_name),
			       .name = offsetof(struct csi_node_record, named.name),
			       .remove = csi_node_remove},
	[CLUSTER_CSI_DRIVERS] = {.word = "CSIDriver",
				 .records = offsetof(struct cluster, storage.csi_drivers),
				 .epoch = offsetof(struct csi_driver_record, named.epoch),
				 .by_name = offsetof(struct cluster, storage.csi_drivers_by_name),
				 .name = offsetof(struct csi_driver_record, named.name),
				 .remove = csi_driver_remove},
};
