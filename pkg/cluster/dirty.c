/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is to be looked at: namespaces, tenants and nodes, each in a chain through its records, in
 * order of first change. The look-backs (the record that was taken last) keep a handle alive while
 * whoever took it works on it.
 */
#include "cluster/internal.h"
#include "cluster/looks.h"

void mark_namespace(struct cluster *cluster, uint32_t namespace)
{
	struct namespace_record *record = namespace_at(cluster, namespace);

	if (record->dirty)
		return;
	record->dirty = true;
	record->dirty_next = TABLE_NONE;
	if (cluster->dirty_last == TABLE_NONE)
		cluster->dirty_first = namespace;
	else
		namespace_at(cluster, cluster->dirty_last)->dirty_next = namespace;
	cluster->dirty_last = namespace;
}

void cluster_mark_dirty(struct cluster *cluster, uint32_t namespace)
{
	if (!table_has(&cluster->namespaces, namespace))
		return;
	mark_namespace(cluster, namespace);
	cluster_mark_tenant_dirty(cluster, namespace_at(cluster, namespace)->tenant);
}

void cluster_mark_tenant_dirty(struct cluster *cluster, uint32_t tenant)
{
	struct tenant_record *record;

	if (!table_has(&cluster->tenants, tenant))
		return;
	record = tenant_at(cluster, tenant);
	if (record->dirty)
		return;
	record->dirty = true;
	record->dirty_next = TABLE_NONE;
	if (cluster->dirty_tenant_last == TABLE_NONE)
		cluster->dirty_tenant_first = tenant;
	else
		tenant_at(cluster, cluster->dirty_tenant_last)->dirty_next = tenant;
	cluster->dirty_tenant_last = tenant;
}

void cluster_mark_all_dirty(struct cluster *cluster)
{
	for (uint32_t ns = table_next(&cluster->namespaces, 0); ns != TABLE_NONE;
	     ns = table_next(&cluster->namespaces, ns + 1))
		cluster_mark_dirty(cluster, ns);
	for (uint32_t tenant = table_next(&cluster->tenants, 0); tenant != TABLE_NONE;
	     tenant = table_next(&cluster->tenants, tenant + 1))
		cluster_mark_tenant_dirty(cluster, tenant);
}

bool cluster_take_dirty(struct cluster *cluster, uint32_t *ret_namespace)
{
	uint32_t last = cluster->taken, namespace;
	struct namespace_record *record;

	cluster->taken = TABLE_NONE;
	if (last != TABLE_NONE)
		namespace_release(cluster, last);
	prices_refresh(cluster);
	membership_refresh(cluster);
	namespace = cluster->dirty_first;
	if (namespace == TABLE_NONE)
		return false;
	record = namespace_at(cluster, namespace);
	cluster->dirty_first = record->dirty_next;
	if (cluster->dirty_first == TABLE_NONE)
		cluster->dirty_last = TABLE_NONE;
	record->dirty = false;
	ledger_refresh(cluster, namespace);
	cluster->taken = namespace;
	*ret_namespace = namespace;
	return true;
}

bool cluster_take_dirty_tenant(struct cluster *cluster, uint32_t *ret_tenant)
{
	uint32_t last = cluster->taken_tenant, tenant;
	struct tenant_record *record;

	cluster->taken_tenant = TABLE_NONE;
	if (last != TABLE_NONE)
		tenant_release(cluster, last);
	prices_refresh(cluster);
	membership_refresh(cluster);
	tenant = cluster->dirty_tenant_first;
	if (tenant == TABLE_NONE)
		return false;
	record = tenant_at(cluster, tenant);
	cluster->dirty_tenant_first = record->dirty_next;
	if (cluster->dirty_tenant_first == TABLE_NONE)
		cluster->dirty_tenant_last = TABLE_NONE;
	record->dirty = false;
	cluster->taken_tenant = tenant;
	*ret_tenant = tenant;
	return true;
}

/* --- nodes */

void mark_node(struct cluster *cluster, uint32_t node)
{
	struct node_record *record = node_at(cluster, node);

	if (record->looked_at_next)
		return;
	record->looked_at_next = true;
	record->look_next = TABLE_NONE;
	if (cluster->look_last == TABLE_NONE)
		cluster->look_first = node;
	else
		node_at(cluster, cluster->look_last)->look_next = node;
	cluster->look_last = node;
}

bool cluster_take_node(struct cluster *cluster, uint32_t *ret_node)
{
	uint32_t last = cluster->taken_node, node;
	struct node_record *record;

	cluster->taken_node = TABLE_NONE;
	if (last != TABLE_NONE)
		node_release(cluster, last);
	membership_refresh(cluster);
	node = cluster->look_first;
	if (node == TABLE_NONE)
		return false;
	record = node_at(cluster, node);
	cluster->look_first = record->look_next;
	if (cluster->look_first == TABLE_NONE)
		cluster->look_last = TABLE_NONE;
	record->looked_at_next = false;
	cluster->taken_node = node;
	*ret_node = node;
	return true;
}

void cluster_look_again(struct cluster *cluster)
{
	for (uint32_t node = table_next(&cluster->nodes, 0); node != TABLE_NONE;
	     node = table_next(&cluster->nodes, node + 1)) {
		node_at(cluster, node)->told = LAYOUT_IS_ABSENT;
		mark_node(cluster, node);
	}
	for (uint32_t pod = table_next(&cluster->pods, 0); pod != TABLE_NONE;
	     pod = table_next(&cluster->pods, pod + 1))
		pod_at(cluster, pod)->check_told = false;
}

enum layout_state cluster_tell_layout(struct cluster *cluster, uint32_t node)
{
	struct node_record *record = node_at(cluster, node);
	enum layout_state told = (enum layout_state)record->told;

	record->told = record->state;
	return told;
}
