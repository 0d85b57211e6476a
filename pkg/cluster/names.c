/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds without a namespace, by name: one index each, of the handles of interned names. */
#include <stddef.h>
#include <string.h>

#include "cluster/internal.h"

/* Where a kind's records and its index are in the cluster, and the name in a record. */
static const struct names {
	size_t table, map, name;
} all[CLUSTER_KIND_COUNT] = {
	[CLUSTER_NODES] = {offsetof(struct cluster, nodes), offsetof(struct cluster, nodes_by_name),
			   offsetof(struct node_record, name)},
	[CLUSTER_NAMESPACES] = {offsetof(struct cluster, namespaces),
				offsetof(struct cluster, namespaces_by_name),
				offsetof(struct namespace_record, name)},
	[CLUSTER_TENANTS] = {offsetof(struct cluster, tenants),
			     offsetof(struct cluster, tenants_by_name),
			     offsetof(struct tenant_record, name)},
	[CLUSTER_SLICES] = {offsetof(struct cluster, dra.slices),
			    offsetof(struct cluster, dra.slices_by_name),
			    offsetof(struct slice_record, name)},
	[CLUSTER_CLASSES] = {offsetof(struct cluster, dra.classes),
			     offsetof(struct cluster, dra.classes_by_name),
			     offsetof(struct class_record, name)},
	[CLUSTER_AGENTS] = {offsetof(struct cluster, agents),
			    offsetof(struct cluster, agents_by_node),
			    offsetof(struct agent_record, node)},
	[CLUSTER_GPU_NODES] = {offsetof(struct cluster, gpu_nodes),
			       offsetof(struct cluster, gpu_nodes_by_name),
			       offsetof(struct gpu_node_record, name)},
	[CLUSTER_VOLUMES] = {offsetof(struct cluster, storage.volumes),
			     offsetof(struct cluster, storage.volumes_by_name),
			     offsetof(struct volume_record, named.name)},
	[CLUSTER_STORAGE_CLASSES] = {offsetof(struct cluster, storage.classes),
				     offsetof(struct cluster, storage.classes_by_name),
				     offsetof(struct storage_class_record, named.name)},
	[CLUSTER_CSI_NODES] = {offsetof(struct cluster, storage.csi_nodes),
			       offsetof(struct cluster, storage.csi_nodes_by_name),
			       offsetof(struct csi_node_record, named.name)},
	[CLUSTER_CSI_DRIVERS] = {offsetof(struct cluster, storage.csi_drivers),
				 offsetof(struct cluster, storage.csi_drivers_by_name),
				 offsetof(struct csi_driver_record, named.name)},
	[CLUSTER_PUBLISHED] = {offsetof(struct cluster, published),
			       offsetof(struct cluster, published_by_name),
			       offsetof(struct published_record, name)},
	[CLUSTER_ZONES] = {offsetof(struct cluster, zones), offsetof(struct cluster, zones_by_name),
			   offsetof(struct published_record, name)},
};

static uint32_t name_at(const struct cluster *cluster, enum cluster_kind kind, uint32_t handle)
{
	const void *table = (const char *)cluster + all[kind].table;
	uint32_t name;

	memcpy(&name, (const char *)table_at(table, handle) + all[kind].name, sizeof(name));
	return name;
}

static uint32_t name_hash(const struct cluster *cluster, enum cluster_kind kind, uint32_t name)
{
	return (uint32_t)hash_u64_pair(&cluster->key, name, (uint64_t)kind);
}

struct wanted {
	const struct cluster *cluster;
	enum cluster_kind kind;
};

static bool name_equals(const void *context, uint32_t handle, const void *key)
{
	const struct wanted *wanted = context;

	return name_at(wanted->cluster, wanted->kind, handle) == *(const uint32_t *)key;
}

uint32_t name_find(const struct cluster *cluster, enum cluster_kind kind, struct str name)
{
	const void *map = (const char *)cluster + all[kind].map;
	struct wanted wanted = {cluster, kind};
	uint32_t interned = intern_find(cluster->intern, name);

	if (interned == INTERN_NONE)
		return TABLE_NONE;
	return map_find(map, name_hash(cluster, kind, interned), name_equals, &wanted, &interned);
}

void name_insert(struct cluster *cluster, enum cluster_kind kind, uint32_t handle)
{
	void *map = (char *)cluster + all[kind].map;

	map_insert(map, name_hash(cluster, kind, name_at(cluster, kind, handle)), handle);
}

void name_remove(struct cluster *cluster, enum cluster_kind kind, uint32_t handle)
{
	void *map = (char *)cluster + all[kind].map;

	map_remove(map, name_hash(cluster, kind, name_at(cluster, kind, handle)), handle);
}
