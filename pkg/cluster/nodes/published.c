/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that tell of a node's cards: each keeps its layout, whether or not its node takes it. */
#include "cluster/nodes/published.h"

#include "cluster/internal.h"

static struct published_record *published_at(const struct cluster *cluster, uint32_t published)
{
	return (struct published_record *)table_at(&cluster->published, published);
}

uint32_t published_find(const struct cluster *cluster, struct str name)
{
	return name_find(cluster, CLUSTER_PUBLISHED, name);
}

const struct node_layout *published_layout(const struct cluster *cluster, struct str name)
{
	uint32_t published = published_find(cluster, name);

	return published == TABLE_NONE ? NULL : &published_at(cluster, published)->layout;
}

static void tell_node(struct cluster *cluster, struct str name)
{
	uint32_t node = node_find(cluster, name);

	if (node == TABLE_NONE)
		return;
	layout_choose(cluster, node);
	layout_settle(cluster, node);
}

static uint32_t add(struct cluster *cluster, struct str name)
{
	uint32_t published = table_add(&cluster->published);

	published_at(cluster, published)->name = intern_ref(cluster->intern, name);
	published_at(cluster, published)->layout = NODE_LAYOUT_NONE;
	name_insert(cluster, CLUSTER_PUBLISHED, published);
	return published;
}

int cluster_apply_published(struct cluster *cluster, const struct published_facts *facts,
			    struct error *err)
{
	struct published_record *record;
	struct node_layout before;
	uint32_t published;

	if (check_names(STR_NONE, facts->node, err) < 0)
		return refuse(cluster, CLUSTER_PUBLISHED, STR_NONE, facts->node, err);
	published = published_find(cluster, facts->node);
	if (published == TABLE_NONE)
		published = add(cluster, facts->node);
	record = published_at(cluster, published);
	record->epoch = cluster->epochs[CLUSTER_PUBLISHED];
	if (is_older(facts->resource_version, record->resource_version))
		return 0;
	before = record->layout;
	record->resource_version = facts->resource_version;
	record->layout = node_layout_of(cluster, facts->layout);
	tell_node(cluster, facts->node);
	node_layout_unref(cluster, &before);
	return 0;
}

void published_remove(struct cluster *cluster, uint32_t published)
{
	struct published_record *record = published_at(cluster, published);
	struct node_layout before = record->layout;
	uint32_t name = record->name;

	name_remove(cluster, CLUSTER_PUBLISHED, published);
	table_remove(&cluster->published, published);
	tell_node(cluster, intern_str(cluster->intern, name));
	node_layout_unref(cluster, &before);
	intern_unref(cluster->intern, name);
}

size_t published_bytes(const struct cluster *cluster)
{
	return table_bytes(&cluster->published) + map_bytes(&cluster->published_by_name);
}
