/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds without a namespace, by name: one index each, of the handles of interned names. */
#include <string.h>

#include "cluster/kinds.h"

static uint32_t name_at(const struct cluster *cluster, enum cluster_kind kind, uint32_t handle)
{
	const char *record = table_at(kind_records(cluster, kind), handle);
	uint32_t name;

	memcpy(&name, record + cluster_kinds[kind].name, sizeof(name));
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
	const void *map = (const char *)cluster + cluster_kinds[kind].by_name;
	struct wanted wanted = {cluster, kind};
	uint32_t interned = intern_find(cluster->intern, name);

	if (interned == INTERN_NONE)
		return TABLE_NONE;
	return map_find(map, name_hash(cluster, kind, interned), name_equals, &wanted, &interned);
}

void name_insert(struct cluster *cluster, enum cluster_kind kind, uint32_t handle)
{
	void *map = (char *)cluster + cluster_kinds[kind].by_name;

	map_insert(map, name_hash(cluster, kind, name_at(cluster, kind, handle)), handle);
}

void name_remove(struct cluster *cluster, enum cluster_kind kind, uint32_t handle)
{
	void *map = (char *)cluster + cluster_kinds[kind].by_name;

	map_remove(map, name_hash(cluster, kind, name_at(cluster, kind, handle)), handle);
}
