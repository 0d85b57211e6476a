/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that tell of a node's cards: each keeps its layout, whether or not its node takes it. */
#include "cluster/nodes/published.h"

#include "base/macros.h"
#include "cluster/internal.h"

static struct table *table_of(struct cluster *cluster, enum cluster_kind kind)
{
	return kind == CLUSTER_ZONES ? &cluster->zones : &cluster->published;
}

static const struct table *records_of(const struct cluster *cluster, enum cluster_kind kind)
{
	return kind == CLUSTER_ZONES ? &cluster->zones : &cluster->published;
}

static struct published_record *published_at(const struct cluster *cluster, enum cluster_kind kind,
					     uint32_t published)
{
	return (struct published_record *)table_at(records_of(cluster, kind), published);
}

uint32_t published_find(const struct cluster *cluster, enum cluster_kind kind, struct str name)
{
	return name_find(cluster, kind, name);
}

const struct node_layout *published_layout(const struct cluster *cluster, struct str name)
{
	static const enum cluster_kind kinds[] = {CLUSTER_PUBLISHED, CLUSTER_ZONES};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		uint32_t published = published_find(cluster, kinds[i], name);
		const struct node_layout *layout;

		if (published == TABLE_NONE)
			continue;
		layout = &published_at(cluster, kinds[i], published)->layout;
		if (layout->layout != TABLE_NONE)
			return layout;
	}
	return NULL;
}

static void tell_node(struct cluster *cluster, struct str name)
{
	uint32_t node = node_find(cluster, name);

	if (node == TABLE_NONE)
		return;
	layout_choose(cluster, node);
	layout_settle(cluster, node);
}

static uint32_t add(struct cluster *cluster, enum cluster_kind kind, struct str name)
{
	uint32_t published = table_add(table_of(cluster, kind));
	struct published_record *record = published_at(cluster, kind, published);

	record->name = intern_ref(cluster->intern, name);
	record->layout = NODE_LAYOUT_NONE;
	name_insert(cluster, kind, published);
	return published;
}

int cluster_apply_published(struct cluster *cluster, enum cluster_kind kind,
			    const struct published_facts *facts, struct error *err)
{
	struct published_record *record;
	struct node_layout before;
	uint32_t published;

	if (check_names(STR_NONE, facts->node, err) < 0)
		return refuse(cluster, kind, STR_NONE, facts->node, err);
	published = published_find(cluster, kind, facts->node);
	if (published == TABLE_NONE)
		published = add(cluster, kind, facts->node);
	record = published_at(cluster, kind, published);
	record->epoch = cluster->epochs[kind];
	if (is_older(facts->resource_version, record->resource_version))
		return 0;
	before = record->layout;
	record->resource_version = facts->resource_version;
	record->layout = node_layout_of(cluster, facts->layout);
	tell_node(cluster, facts->node);
	node_layout_unref(cluster, &before);
	return 0;
}

void published_remove(struct cluster *cluster, enum cluster_kind kind, uint32_t published)
{
	struct published_record *record = published_at(cluster, kind, published);
	struct node_layout before = record->layout;
	uint32_t name = record->name;

	name_remove(cluster, kind, published);
	table_remove(table_of(cluster, kind), published);
	tell_node(cluster, intern_str(cluster->intern, name));
	node_layout_unref(cluster, &before);
	intern_unref(cluster->intern, name);
}

size_t published_bytes(const struct cluster *cluster, enum cluster_kind kind)
{
	const struct map *names =
		kind == CLUSTER_ZONES ? &cluster->zones_by_name : &cluster->published_by_name;

	return table_bytes(records_of(cluster, kind)) + map_bytes(names);
}
