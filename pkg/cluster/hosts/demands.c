/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pods take of their nodes beside cards, and whom they keep away there. Each distinct demand
 * is kept once. A node's sums are of the pods that count there.
 */
#include "cluster/hosts/hosts_internal.h"

#include <string.h>

/* --- distinct demands */

static uint32_t demand_hash(const struct cluster *cluster, const struct demand *demand)
{
	return (uint32_t)hash_bytes(&cluster->key, demand, sizeof(*demand));
}

static bool demand_equals(const void *context, uint32_t handle, const void *key)
{
	return memcmp(&demand_at(context, handle)->demand, key, sizeof(struct demand)) == 0;
}

uint32_t demand_ref(struct cluster *cluster, const struct demand *demand)
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

void demand_count(struct cluster *cluster, uint32_t node, uint32_t demand, int sign)
{
	struct node_record *record = node_at(cluster, node);

	for (size_t i = 0; i < HOST_AMOUNTS; i++)
		record->taken[i] += sign * demand_amount_of(cluster, demand, i);
}

uint32_t repeller_add(struct cluster *cluster, uint32_t node, uint32_t repels, uint32_t pod)
{
	uint32_t repeller;

	if (repels == TABLE_NONE)
		return TABLE_NONE;
	repeller = table_add(&cluster->repellers);
	*(struct repeller_record *)table_at(&cluster->repellers, repeller) =
		(struct repeller_record){node, repels, pod};
	return repeller;
}

void repeller_drop(struct cluster *cluster, uint32_t *repeller)
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
	demand_count(cluster, record->node, exit_of(cluster, pod)->demand, -1);
	repeller_drop(cluster, &exit_of(cluster, pod)->repeller);
	occupant_unlink(cluster, exit_of(cluster, pod)->occupant);
	record->seated = false;
}

void demand_give(struct cluster *cluster, uint32_t pod)
{
	struct pod_record *record = pod_at(cluster, pod);
	struct exit_record *exit = exit_of(cluster, pod);

	if (record->seated || record->node == TABLE_NONE || pod_finished(record))
		return;
	demand_count(cluster, record->node, exit->demand, 1);
	exit->repeller = repeller_add(cluster, record->node, exit->repels, pod);
	occupant_link(cluster, exit->occupant, record->node);
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
	uint32_t occupant = keeps ? exit->occupant : occupant_add(cluster, facts, pod);

	demand_take(cluster, pod);
	demand_unref(cluster, exit->demand);
	texts_unref(&cluster->texts, exit->repels);
	if (!keeps)
		occupant_drop(cluster, exit->occupant);
	exit->demand = demand;
	exit->repels = repels;
	exit->occupant = occupant;
	demand_give(cluster, pod);
	if (!keeps)
		terms_follow(cluster, pod, facts, other);
}

void demand_forget(struct cluster *cluster, struct exit_record *exit)
{
	demand_unref(cluster, exit->demand);
	occupant_drop(cluster, exit->occupant);
	texts_unref(&cluster->texts, exit->terms);
	texts_unref(&cluster->texts, exit->repels);
}

/* --- life */

void demands_init(struct cluster *cluster)
{
	table_init(&cluster->demands, sizeof(struct demand_record));
	table_init(&cluster->bystanders, sizeof(struct bystander_record));
	table_init(&cluster->repellers, sizeof(struct repeller_record));
	table_init(&cluster->occupants, sizeof(struct occupant_record));
	texts_init(&cluster->texts, &cluster->key);
}

void demands_clear(struct cluster *cluster)
{
	table_clear(&cluster->demands);
	table_clear(&cluster->bystanders);
	table_clear(&cluster->repellers);
	table_clear(&cluster->occupants);
	texts_clear(&cluster->texts);
	map_clear(&cluster->demands_by_value);
	map_clear(&cluster->bystanders_by_key);
}

size_t demands_bytes(const struct cluster *cluster)
{
	return table_bytes(&cluster->demands) + table_bytes(&cluster->bystanders) +
	       table_bytes(&cluster->repellers) + table_bytes(&cluster->occupants) +
	       texts_bytes(&cluster->texts) + map_bytes(&cluster->demands_by_value) +
	       map_bytes(&cluster->bystanders_by_key);
}
