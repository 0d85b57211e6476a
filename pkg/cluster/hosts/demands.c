/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pods take of their nodes beside cards. Each distinct demand is kept once. A node's sums are
 * of the pods that count there: those that ask for GPUs by their records, of the others
 * (bystanders) just as much as is taken back when they go.
 */
#include <string.h>

#include "cluster/hosts/hosts.h"
#include "cluster/internal.h"

/* --- distinct demands */

static uint32_t demand_hash(const struct cluster *cluster, const struct demand *demand)
{
	return (uint32_t)hash_bytes(&cluster->key, demand, sizeof(*demand));
}

static bool demand_equals(const void *context, uint32_t handle, const void *key)
{
	return memcmp(&demand_at(context, handle)->demand, key, sizeof(struct demand)) == 0;
}

static uint32_t demand_ref(struct cluster *cluster, const struct demand *demand)
{
	uint32_t hash = demand_hash(cluster, demand);
	uint32_t found = map_find(&cluster->demands_by_value, hash, demand_equals, cluster, demand);

	if (found == MAP_NONE) {
		found = table_add(&cluster->demands);
		*demand_at(cluster, found) = (struct demand_record){.demand = *demand};
		map_insert(&cluster->demands_by_value, hash, found);
	}
	demand_at(cluster, found)->refs++;
	return found;
}

uint32_t demand_ref_handle(struct cluster *cluster, uint32_t demand)
{
	if (demand != TABLE_NONE)
		demand_at(cluster, demand)->refs++;
	return demand;
}

void demand_unref(struct cluster *cluster, uint32_t demand)
{
	if (demand == TABLE_NONE || --demand_at(cluster, demand)->refs > 0)
		return;
	map_remove(&cluster->demands_by_value,
		   demand_hash(cluster, &demand_at(cluster, demand)->demand), demand);
	table_remove(&cluster->demands, demand);
}

int64_t demand_amount_of(const struct cluster *cluster, uint32_t demand, size_t amount)
{
	if (amount == HOST_PODS)
		return 1;
	return demand == TABLE_NONE ? 0 : demand_at(cluster, demand)->demand.of[amount];
}

/* --- sums */

static void count(struct cluster *cluster, uint32_t node, uint32_t demand, int sign)
{
	struct node_record *record = node_at(cluster, node);

	for (size_t i = 0; i < HOST_AMOUNTS; i++)
		record->taken[i] += sign * demand_amount_of(cluster, demand, i);
}

/* TABLE_NONE: it keeps nobody away. */
static uint32_t add_repeller(struct cluster *cluster, uint32_t node, uint32_t repels, uint32_t pod)
{
	uint32_t repeller;

	if (repels == TABLE_NONE)
		return TABLE_NONE;
	repeller = table_add(&cluster->repellers);
	*(struct repeller_record *)table_at(&cluster->repellers, repeller) =
		(struct repeller_record){node, repels, pod};
	return repeller;
}

static void drop_repeller(struct cluster *cluster, uint32_t *repeller)
{
	if (*repeller != TABLE_NONE)
		table_remove(&cluster->repellers, *repeller);
	*repeller = TABLE_NONE;
}

void demand_take(struct cluster *cluster, uint32_t pod)
{
	struct pod_record *record = pod_at(cluster, pod);

	if (!record->seated)
		return;
	count(cluster, record->node, exit_of(cluster, pod)->demand, -1);
	drop_repeller(cluster, &exit_of(cluster, pod)->repeller);
	record->seated = false;
}

void demand_give(struct cluster *cluster, uint32_t pod)
{
	struct pod_record *record = pod_at(cluster, pod);

	if (record->seated || record->node == TABLE_NONE || pod_finished(record))
		return;
	count(cluster, record->node, exit_of(cluster, pod)->demand, 1);
	exit_of(cluster, pod)->repeller =
		add_repeller(cluster, record->node, exit_of(cluster, pod)->repels, pod);
	record->seated = true;
}

void demand_follow(struct cluster *cluster, uint32_t pod, const struct pod_facts *facts, bool other)
{
	struct exit_record *exit = exit_of(cluster, pod);
	bool keeps = facts->unreadable && !other && exit->demand != TABLE_NONE;
	uint32_t demand = keeps ? demand_ref_handle(cluster, exit->demand)
				: demand_ref(cluster, &facts->demand);
	uint32_t repels = keeps ? texts_ref_handle(&cluster->texts, exit->repels)
				: repels_ref(cluster, facts);

	demand_take(cluster, pod);
	demand_unref(cluster, exit->demand);
	texts_unref(&cluster->texts, exit->repels);
	exit->demand = demand;
	exit->repels = repels;
	demand_give(cluster, pod);
	if (!keeps)
		terms_follow(cluster, pod, facts, other);
}

void demand_forget(struct cluster *cluster, struct exit_record *exit)
{
	demand_unref(cluster, exit->demand);
	texts_unref(&cluster->texts, exit->terms);
	texts_unref(&cluster->texts, exit->repels);
}

/* --- bystanders */

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

	count(cluster, record.node, record.demand, -1);
	demand_unref(cluster, record.demand);
	drop_repeller(cluster, &record.repeller);
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
		.namespace = intern_ref(cluster->intern, namespace),
	};
	map_insert(&cluster->bystanders_by_key, (uint32_t)key, bystander);
	node_at(cluster, node)->bystanders++;
	count(cluster, node, TABLE_NONE, 1);
	return bystander;
}

static void describe(struct cluster *cluster, uint32_t bystander, const struct pod_facts *facts)
{
	uint32_t demand = demand_ref(cluster, &facts->demand), repels = repels_ref(cluster, facts);
	struct bystander_record *record = bystander_at(cluster, bystander);

	count(cluster, record->node, record->demand, -1);
	count(cluster, record->node, demand, 1);
	demand_unref(cluster, record->demand);
	record->demand = demand;
	drop_repeller(cluster, &record->repeller);
	texts_unref(&cluster->texts, record->repels);
	record->repels = repels;
	record->repeller = add_repeller(cluster, record->node, repels, TABLE_NONE);
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

void demands_init(struct cluster *cluster)
{
	table_init(&cluster->demands, sizeof(struct demand_record));
	table_init(&cluster->bystanders, sizeof(struct bystander_record));
	table_init(&cluster->repellers, sizeof(struct repeller_record));
	texts_init(&cluster->texts, &cluster->key);
}

void demands_clear(struct cluster *cluster)
{
	table_clear(&cluster->demands);
	table_clear(&cluster->bystanders);
	table_clear(&cluster->repellers);
	texts_clear(&cluster->texts);
	map_clear(&cluster->demands_by_value);
	map_clear(&cluster->bystanders_by_key);
}

size_t demands_bytes(const struct cluster *cluster)
{
	return table_bytes(&cluster->demands) + table_bytes(&cluster->bystanders) +
	       table_bytes(&cluster->repellers) + texts_bytes(&cluster->texts) +
	       map_bytes(&cluster->demands_by_value) + map_bytes(&cluster->bystanders_by_key);
}

/* --- nodes */

void host_follow(struct cluster *cluster, uint32_t node, const struct host_facts *facts)
{
	struct node_record *record = node_at(cluster, node);

	record->host_told = facts != NULL;
	record->cordoned = facts && facts->cordoned;
	for (size_t i = 0; i < DEMAND_COUNT; i++)
		record->given[i] = facts ? facts->allocatable.of[i] : 0;
	record->given[HOST_PODS] = facts ? facts->pods : 0;
	host_terms_follow(cluster, node, facts);
}

/* --- reading */

int64_t cluster_pod_takes(const struct cluster *cluster, uint32_t pod, size_t amount)
{
	return pod_at(cluster, pod)->seated
		       ? demand_amount_of(cluster, exit_of(cluster, pod)->demand, amount)
		       : 0;
}

/* What is taken that the ask does not see: its own place, and its trial's pods. */
static int64_t unseen(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t node,
		      size_t amount)
{
	int64_t sum = 0;

	if (pod_at(cluster, ask->pod)->node == node)
		sum = cluster_pod_takes(cluster, ask->pod, amount);
	for (size_t i = 0; ask->trial && i < ask->trial->n; i++) {
		uint32_t pod = ask->trial->gone[i];

		if (pod != ask->pod && pod_at(cluster, pod)->node == node)
			sum += cluster_pod_takes(cluster, pod, amount);
	}
	return sum;
}

void cluster_host_room(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t node,
		       struct cluster_host_room *ret_room)
{
	const struct node_record *record = node_at(cluster, node);
	uint32_t demand = exit_of(cluster, ask->pod)->demand;

	*ret_room =
		(struct cluster_host_room){.told = record->host_told, .cordoned = record->cordoned};
	for (size_t i = 0; record->host_told && i < HOST_AMOUNTS; i++) {
		wide_sum taken = record->taken[i] - unseen(cluster, ask, node, i);

		if (record->first_hold != TABLE_NONE)
			taken += holds_amount(cluster, ask, node, i);
		ret_room->asked[i] = demand_amount_of(cluster, demand, i);
		ret_room->most[i] = record->given[i];
		ret_room->free[i] = (int64_t)MAX(record->given[i] - taken, -(wide_sum)DEMAND_MOST);
	}
}
