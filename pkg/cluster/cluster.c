/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all kinds share: life and death of the cluster, deletes and replaces by kind.
 */
#include "cluster/cluster.h"

#include "base/limits.h"
#include "base/mem.h"
#include "cluster/dra/dra_internal.h"
#include "cluster/kinds.h"

struct cluster *cluster_new(const struct hash_key *key)
{
	struct cluster *cluster = mem_alloc(sizeof(*cluster));

	cluster->key = *key;
	cluster->intern = intern_new(key);
	vectors_init(&cluster->vectors, key, cluster->intern);
	table_init(&cluster->pods, sizeof(struct pod_record));
	table_init(&cluster->nodes, sizeof(struct node_record));
	table_init(&cluster->namespaces, sizeof(struct namespace_record));
	table_init(&cluster->quotas, sizeof(struct quota_record));
	for (int i = 0; i < OWNED_COUNT; i++)
		table_init(&cluster->owned[i], sizeof(struct owned_record));
	table_init(&cluster->tenants, sizeof(struct tenant_record));
	table_init(&cluster->selections, sizeof(struct selection_cell));
	table_init(&cluster->bindings, sizeof(struct binding_record));
	table_init(&cluster->evictions, sizeof(struct eviction_record));
	table_init(&cluster->layouts, sizeof(struct layout_record));
	table_init(&cluster->assumptions, sizeof(struct assumption_record));
	table_init(&cluster->holds, sizeof(struct hold_record));
	table_init(&cluster->agents, sizeof(struct agent_record));
	table_init(&cluster->gpu_nodes, sizeof(struct gpu_node_record));
	table_init(&cluster->published, sizeof(struct published_record));
	table_init(&cluster->zones, sizeof(struct published_record));
	table_init(&cluster->exits, sizeof(struct exit_record));
	table_init(&cluster->gangs, sizeof(struct gang_record));
	table_init(&cluster->budgets, sizeof(struct budget_record));
	table_init(&cluster->jobs, sizeof(struct job_record));
	dra_init(&cluster->dra);
	table_init(&cluster->offers, sizeof(struct offer_cell));
	table_init(&cluster->kinds, sizeof(struct offer_kind));
	table_init(&cluster->uses, sizeof(struct use_record));
	wants_init(cluster);
	demands_init(cluster);
	storage_init(cluster);
	cluster->dearest = AMOUNT_UNKNOWN;
	buf_init(&cluster->scratch, LIMIT_PACKED);
	buf_init(&cluster->scratch_selector, LIMIT_PACKED);
	buf_init(&cluster->scratch_receipts, LIMIT_PACKED);
	cluster->dirty_first = cluster->dirty_last = cluster->taken = TABLE_NONE;
	cluster->dirty_tenant_first = cluster->dirty_tenant_last = TABLE_NONE;
	cluster->taken_tenant = TABLE_NONE;
	cluster->look_first = cluster->look_last = cluster->taken_node = TABLE_NONE;
	return cluster;
}

static void free_namespace(struct namespace_record *record)
{
	mem_free(record->labels);
	mem_free(record->refusals);
	mem_free(record->budgets.keys);
}

static void free_packed(struct cluster *cluster)
{
	for (uint32_t h = table_next(&cluster->quotas, 0); h != TABLE_NONE;
	     h = table_next(&cluster->quotas, h + 1))
		mem_free(quota_at(cluster, h)->bytes);
	for (int i = 0; i < OWNED_COUNT; i++)
		for (uint32_t h = table_next(&cluster->owned[i], 0); h != TABLE_NONE;
		     h = table_next(&cluster->owned[i], h + 1))
			mem_free(owned_at(cluster, i, h)->bytes);
	for (uint32_t h = table_next(&cluster->namespaces, 0); h != TABLE_NONE;
	     h = table_next(&cluster->namespaces, h + 1))
		free_namespace(namespace_at(cluster, h));
	for (uint32_t h = table_next(&cluster->tenants, 0); h != TABLE_NONE;
	     h = table_next(&cluster->tenants, h + 1)) {
		mem_free(tenant_at(cluster, h)->bytes);
		mem_free(tenant_at(cluster, h)->selector);
		mem_free(tenant_at(cluster, h)->receipts);
		objectives_set(cluster, h, NULL);
	}
	for (uint32_t h = table_next(&cluster->budgets, 0); h != TABLE_NONE;
	     h = table_next(&cluster->budgets, h + 1))
		mem_free(budget_at(cluster, h)->selector);
	for (uint32_t h = table_next(&cluster->bindings, 0); h != TABLE_NONE;
	     h = table_next(&cluster->bindings, h + 1))
		mem_free(binding_at(cluster, h)->bytes);
}

/* Once nothing that records own is left. */
static void free_tables(struct cluster *cluster)
{
	struct table *const tables[] = {
		&cluster->pods,       &cluster->nodes,       &cluster->namespaces,
		&cluster->quotas,     &cluster->tenants,     &cluster->bindings,
		&cluster->selections, &cluster->evictions,   &cluster->layouts,
		&cluster->holds,      &cluster->assumptions, &cluster->agents,
		&cluster->exits,      &cluster->gangs,       &cluster->budgets,
		&cluster->jobs,       &cluster->gpu_nodes,   &cluster->published,
		&cluster->offers,     &cluster->kinds,       &cluster->uses,
		&cluster->wants,      &cluster->zones,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		table_clear(tables[i]);
	for (int i = 0; i < OWNED_COUNT; i++)
		table_clear(&cluster->owned[i]);
}

static void free_maps(struct cluster *cluster)
{
	struct map *const maps[] = {
		&cluster->pods_by_name,      &cluster->nodes_by_name,  &cluster->namespaces_by_name,
		&cluster->tenants_by_name,   &cluster->agents_by_node, &cluster->gpu_nodes_by_name,
		&cluster->published_by_name, &cluster->kinds_by_value, &cluster->wants_by_value,
		&cluster->layouts_by_shape,  &cluster->gangs_by_key,   &cluster->jobs_by_owner,
		&cluster->zones_by_name,
	};

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		map_clear(maps[i]);
}

void cluster_free(struct cluster *cluster)
{
	if (!cluster)
		return;
	free_packed(cluster);
	layouts_clear(cluster);
	gpu_nodes_clear(cluster);
	series_clear(cluster);
	prices_clear(cluster);
	class_list_clear(cluster);
	storage_clear(cluster);
	hosts_clear(cluster);
	vectors_clear(&cluster->vectors);
	dra_clear(&cluster->dra);
	free_tables(cluster);
	free_maps(cluster);
	mem_free(cluster->stamps);
	mem_free(cluster->selectors.entries);
	mem_free(cluster->selectors.keys);
	buf_clear(&cluster->scratch);
	buf_clear(&cluster->scratch_selector);
	buf_clear(&cluster->scratch_receipts);
	arena_clear(&cluster->scratch_arena);
	intern_free(cluster->intern);
	mem_free(cluster);
}

/* --- what applies share */

int refuse(struct cluster *cluster, enum cluster_kind kind, struct str namespace, struct str name,
	   struct error *err)
{
	int namespace_len = (int)MIN(namespace.len, (size_t)LIMIT_NAME);
	int name_len = (int)MIN(name.len, (size_t)LIMIT_NAME);

	cluster->unreadable[kind]++;
	if (str_empty(namespace))
		return error_wrap(err, "%s %.*s", cluster_kinds[kind].word, name_len, name.data);
	return error_wrap(err, "%s %.*s/%.*s", cluster_kinds[kind].word, namespace_len,
			  namespace.data, name_len, name.data);
}

int check_names(struct str namespace, struct str name, struct error *err)
{
	if (str_empty(name) || (namespace.data && str_empty(namespace)))
		return error_set(err, ERROR_INVALID, "it has no name or no namespace");
	if (name.len > LIMIT_NAME || namespace.len > LIMIT_NAME)
		return error_set(err, ERROR_LIMIT, "its name or namespace is longer than %d",
				 LIMIT_NAME);
	return 0;
}

bool is_older(uint64_t resource_version, uint64_t seen)
{
	return resource_version != 0 && seen != 0 && resource_version < seen;
}

/* --- deletes and replaces */

static uint32_t record_find(const struct cluster *cluster, enum cluster_kind kind,
			    struct str namespace, struct str name)
{
	const struct kind *of = &cluster_kinds[kind];

	return of->find ? of->find(cluster, namespace, name) : name_find(cluster, kind, name);
}

void cluster_delete(struct cluster *cluster, enum cluster_kind kind, struct str namespace,
		    struct str name)
{
	uint32_t handle = record_find(cluster, kind, namespace, name);

	if (handle != TABLE_NONE)
		cluster_kinds[kind].remove(cluster, handle);
	else if (kind == CLUSTER_PODS)
		bystander_remove(cluster, namespace, name);
}

/* Where the record has the epoch in which its object was last seen. */
static void *epoch_at(const struct cluster *cluster, enum cluster_kind kind, uint32_t handle)
{
	return (char *)table_at(kind_records(cluster, kind), handle) + cluster_kinds[kind].epoch;
}

/* Whether the object itself was seen, and not only what names it. */
static bool was_seen(const struct cluster *cluster, enum cluster_kind kind, uint32_t handle)
{
	if (handle == TABLE_NONE)
		return false;
	if (kind == CLUSTER_NODES)
		return node_at(cluster, handle)->exists;
	if (kind == CLUSTER_NAMESPACES)
		return namespace_at(cluster, handle)->exists;
	return kind != CLUSTER_TENANTS || tenant_at(cluster, handle)->exists;
}

bool cluster_keep(struct cluster *cluster, enum cluster_kind kind, struct str namespace,
		  struct str name)
{
	uint32_t handle = record_find(cluster, kind, namespace, name);

	if (!was_seen(cluster, kind, handle))
		return false;
	memcpy(epoch_at(cluster, kind, handle), &cluster->epochs[kind],
	       sizeof(cluster->epochs[kind]));
	return true;
}

static bool prices_read(enum cluster_kind kind)
{
	return kind == CLUSTER_NODES || kind == CLUSTER_SLICES || kind == CLUSTER_CLASSES;
}

void cluster_begin_replace(struct cluster *cluster, enum cluster_kind kind)
{
	cluster->epochs[kind]++;
	if (kind == CLUSTER_PODS)
		budgets_begin_reading(cluster);
	if (prices_read(kind))
		cluster->replacing |= 1u << kind;
}

/* Prices, which waited for the last object, follow. */
static void replace_is_over(struct cluster *cluster, enum cluster_kind kind)
{
	if (!prices_read(kind))
		return;
	cluster->replacing &= ~(1u << kind);
	prices_settle(cluster);
}

void cluster_abort_replace(struct cluster *cluster, enum cluster_kind kind)
{
	if (kind == CLUSTER_PODS)
		budgets_abort_reading(cluster);
	replace_is_over(cluster, kind);
}

void cluster_end_replace(struct cluster *cluster, enum cluster_kind kind)
{
	const struct table *records = kind_records(cluster, kind);

	for (uint32_t handle = table_next(records, 0); handle != TABLE_NONE;
	     handle = table_next(records, handle + 1)) {
		uint32_t epoch;

		memcpy(&epoch, epoch_at(cluster, kind, handle), sizeof(epoch));
		if (epoch != cluster->epochs[kind])
			cluster_kinds[kind].remove(cluster, handle);
	}
	if (kind == CLUSTER_PODS)
		bystanders_end_replace(cluster);
	cluster->storage.read |= 1u << kind;
	replace_is_over(cluster, kind);
}
