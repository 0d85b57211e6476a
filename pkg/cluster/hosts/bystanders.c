/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods without GPUs. Of each as much is kept as is taken back when it goes: what it takes of its
 * node, whom it keeps away, and its ports and volumes.
 */
#include "cluster/hosts/hosts_internal.h"

static struct bystander_record *bystander_at(const struct cluster *cluster, uint32_t bystander)
{
	return (struct bystander_record *)table_at(&cluster->bystanders, bystander);
}

/* Its names, hashed with a key that nobody knows: two are not taken for one. */
static uint64_t key_of(const struct cluster *cluster, struct str namespace, struct str name)
{
	return hash_u64_pair(&cluster->key,
			     hash_bytes(&cluster->key, namespace.data, namespace.len),
			     hash_bytes(&cluster->key, name.data, name.len));
}

static bool key_equals(const void *context, uint32_t handle, const void *key)
{
	return bystander_at(context, handle)->key == *(const uint64_t *)key;
}

static uint32_t find(const struct cluster *cluster, uint64_t key)
{
	return map_find(&cluster->bystanders_by_key, (uint32_t)key, key_equals, cluster, &key);
}

static void drop(struct cluster *cluster, uint32_t bystander)
{
	struct bystander_record record = *bystander_at(cluster, bystander);

	demand_count(cluster, record.node, record.demand, -1);
	demand_unref(cluster, record.demand);
	repeller_drop(cluster, &record.repeller);
	occupant_drop(cluster, record.occupant);
	texts_unref(&cluster->texts, record.repels);
	intern_unref(cluster->intern, record.namespace);
	map_remove(&cluster->bystanders_by_key, (uint32_t)record.key, bystander);
	table_remove(&cluster->bystanders, bystander);
	node_at(cluster, record.node)->bystanders--;
	node_release(cluster, record.node);
}

void bystander_remove(struct cluster *cluster, struct str namespace, struct str name)
{
	uint32_t bystander = find(cluster, key_of(cluster, namespace, name));

	if (bystander != TABLE_NONE)
		drop(cluster, bystander);
}

static uint32_t add(struct cluster *cluster, uint64_t key, uint32_t node, struct str namespace)
{
	uint32_t bystander = table_add(&cluster->bystanders);

	*bystander_at(cluster, bystander) = (struct bystander_record){
		.key = key,
		.node = node,
		.demand = TABLE_NONE,
		.repels = TABLE_NONE,
		.repeller = TABLE_NONE,
		.occupant = TABLE_NONE,
		.namespace = intern_ref(cluster->intern, namespace),
	};
	map_insert(&cluster->bystanders_by_key, (uint32_t)key, bystander);
	node_at(cluster, node)->bystanders++;
	demand_count(cluster, node, TABLE_NONE, 1);
	return bystander;
}

static void describe(struct cluster *cluster, uint32_t bystander, const struct pod_facts *facts)
{
	uint32_t demand = demand_ref(cluster, &facts->demand), repels = repels_ref(cluster, facts);
	uint32_t occupant = occupant_add(cluster, facts, TABLE_NONE);
	struct bystander_record *record = bystander_at(cluster, bystander);

	demand_count(cluster, record->node, record->demand, -1);
	demand_count(cluster, record->node, demand, 1);
	demand_unref(cluster, record->demand);
	record->demand = demand;
	repeller_drop(cluster, &record->repeller);
	texts_unref(&cluster->texts, record->repels);
	record->repels = repels;
	record->repeller = repeller_add(cluster, record->node, repels, TABLE_NONE);
	occupant_drop(cluster, record->occupant);
	occupant_link(cluster, occupant, record->node);
	record->occupant = occupant;
}

void bystander_follow(struct cluster *cluster, const struct pod_facts *facts)
{
	uint64_t key = key_of(cluster, facts->namespace, facts->name);
	uint32_t bystander = find(cluster, key), node;
	bool counts = !str_empty(facts->node) && facts->phase != POD_SUCCEEDED &&
		      facts->phase != POD_FAILED;

	if (!counts && bystander == TABLE_NONE)
		return;
	node = counts ? node_get(cluster, facts->node) : TABLE_NONE;
	if (bystander != TABLE_NONE && bystander_at(cluster, bystander)->node != node) {
		drop(cluster, bystander);
		bystander = TABLE_NONE;
	}
	if (!counts)
		return;
	if (bystander == TABLE_NONE)
		bystander = add(cluster, key, node, facts->namespace);
	bystander_at(cluster, bystander)->epoch = cluster->epochs[CLUSTER_PODS];
	describe(cluster, bystander, facts);
}

void bystanders_end_replace(struct cluster *cluster)
{
	for (uint32_t bystander = table_next(&cluster->bystanders, 0); bystander != TABLE_NONE;
	     bystander = table_next(&cluster->bystanders, bystander + 1))
		if (bystander_at(cluster, bystander)->epoch != cluster->epochs[CLUSTER_PODS])
			drop(cluster, bystander);
}
