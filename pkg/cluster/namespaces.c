/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Namespaces. A record exists while anything in it is known, whether or not the Namespace object
 * was seen: watches of different kinds are not in step.
 */
#include "base/limits.h"
#include "cluster/internal.h"

static bool name_equals(const void *context, uint32_t handle, const void *key)
{
	return namespace_at(context, handle)->name == *(const uint32_t *)key;
}

static uint32_t name_hash(const struct cluster *cluster, uint32_t name)
{
	return (uint32_t)hash_u64_pair(&cluster->key, name, CLUSTER_NAMESPACES);
}

uint32_t namespace_find(const struct cluster *cluster, struct str name)
{
	uint32_t handle = intern_find(cluster->intern, name);

	if (handle == INTERN_NONE)
		return TABLE_NONE;
	return map_find(&cluster->namespaces_by_name, name_hash(cluster, handle), name_equals,
			cluster, &handle);
}

uint32_t namespace_get(struct cluster *cluster, struct str name)
{
	uint32_t namespace = namespace_find(cluster, name);
	struct namespace_record *record;

	if (namespace != TABLE_NONE)
		return namespace;
	namespace = table_add(&cluster->namespaces);
	record = namespace_at(cluster, namespace);
	record->name = intern_ref(cluster->intern, name);
	record->sums.first_use = TABLE_NONE;
	record->price_version = cluster->price_version;
	record->first_pod = record->first_quota = TABLE_NONE;
	for (int i = 0; i < OWNED_COUNT; i++)
		record->owned[i] = TABLE_NONE;
	map_insert(&cluster->namespaces_by_name, name_hash(cluster, record->name), namespace);
	return namespace;
}

static bool is_empty(const struct namespace_record *record)
{
	if (record->exists || record->n_pods > 0 || record->n_quotas > 0)
		return false;
	for (int i = 0; i < OWNED_COUNT; i++)
		if (record->owned[i] != TABLE_NONE)
			return false;
	return true;
}

/* A dirty one stays until it was taken, and the one that was taken last until the next is. */
void namespace_release(struct cluster *cluster, uint32_t namespace)
{
	struct namespace_record *record = namespace_at(cluster, namespace);

	if (!is_empty(record) || record->dirty || namespace == cluster->taken)
		return;
	ledger_forget(cluster, record);
	map_remove(&cluster->namespaces_by_name, name_hash(cluster, record->name), namespace);
	intern_unref(cluster->intern, record->name);
	intern_unref(cluster->intern, record->uid);
	table_remove(&cluster->namespaces, namespace);
}

/* Whether decisions would see a difference. */
static bool is_same(const struct cluster *cluster, const struct namespace_record *record,
		    const struct namespace_facts *facts)
{
	return record->exists && record->managed == facts->managed &&
	       record->terminating == facts->terminating &&
	       str_equal(intern_str(cluster->intern, record->uid), facts->uid);
}

static int apply(struct cluster *cluster, const struct namespace_facts *facts, struct error *err)
{
	struct namespace_record *record;
	uint32_t namespace, uid;

	if (check_names(STR_NONE, facts->name, err) < 0)
		return -1;
	if (facts->uid.len > LIMIT_NAME)
		return error_set(err, ERROR_LIMIT, "its uid is too long");
	namespace = namespace_get(cluster, facts->name);
	record = namespace_at(cluster, namespace);
	record->epoch = cluster->epochs[CLUSTER_NAMESPACES];
	if (record->exists && is_older(facts->resource_version, record->resource_version) &&
	    str_equal(intern_str(cluster->intern, record->uid), facts->uid))
		return 0;
	record->resource_version = facts->resource_version;
	if (is_same(cluster, record, facts))
		return 0;
	uid = intern_ref(cluster->intern, facts->uid);
	intern_unref(cluster->intern, record->uid);
	record->uid = uid;
	record->exists = true;
	record->managed = facts->managed;
	record->terminating = facts->terminating;
	cluster_mark_dirty(cluster, namespace);
	return 0;
}

int cluster_apply_namespace(struct cluster *cluster, const struct namespace_facts *facts,
			    struct error *err)
{
	if (apply(cluster, facts, err) < 0)
		return refuse(cluster, CLUSTER_NAMESPACES, STR_NONE, facts->name, err);
	return 0;
}

void namespace_gone(struct cluster *cluster, uint32_t namespace)
{
	struct namespace_record *record = namespace_at(cluster, namespace);

	if (!record->exists)
		return;
	intern_unref(cluster->intern, record->uid);
	record->uid = INTERN_EMPTY;
	record->resource_version = 0;
	record->exists = record->managed = record->terminating = false;
	cluster_mark_dirty(cluster, namespace);
}
