/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports of nodes and volumes that pods have there. Most pods have neither, and no record here;
 * those of one workload mostly have the same, which is kept once. Whoever asks what is taken on a
 * node walks through its pods that have any.
 */
#include "cluster/hosts/hosts_internal.h"
#include "cluster/hosts/terms_io.h"

static struct occupant_record record_of(struct cluster *cluster, const struct pod_facts *facts)
{
	struct occupant_record record = {
		.node = TABLE_NONE, .next = TABLE_NONE, .prev = TABLE_NONE};

	buf_reset(&cluster->scratch);
	ports_put(&cluster->scratch, facts->ports, facts->n_ports);
	record.ports = texts_ref(&cluster->texts, buf_str(&cluster->scratch));
	record.volumes = TABLE_NONE;
	if (facts->n_volumes > 0) {
		buf_reset(&cluster->scratch);
		volumes_put(&cluster->scratch, facts->namespace, facts->volumes, facts->n_volumes);
		record.volumes = texts_ref(&cluster->texts, buf_str(&cluster->scratch));
	}
	return record;
}

uint32_t occupant_add(struct cluster *cluster, const struct pod_facts *facts, uint32_t pod)
{
	struct occupant_record record;
	uint32_t occupant;

	if (facts->n_ports == 0 && facts->n_volumes == 0)
		return TABLE_NONE;
	record = record_of(cluster, facts);
	record.pod = pod;
	occupant = table_add(&cluster->occupants);
	*occupant_at(cluster, occupant) = record;
	return occupant;
}

void occupant_link(struct cluster *cluster, uint32_t occupant, uint32_t node)
{
	uint32_t *first = &node_at(cluster, node)->first_occupant;
	struct occupant_record *record;

	if (occupant == TABLE_NONE)
		return;
	record = occupant_at(cluster, occupant);
	record->node = node;
	record->next = *first;
	record->prev = TABLE_NONE;
	if (*first != TABLE_NONE)
		occupant_at(cluster, *first)->prev = occupant;
	*first = occupant;
}

void occupant_unlink(struct cluster *cluster, uint32_t occupant)
{
	struct occupant_record *record;

	if (occupant == TABLE_NONE || occupant_at(cluster, occupant)->node == TABLE_NONE)
		return;
	record = occupant_at(cluster, occupant);
	if (record->next != TABLE_NONE)
		occupant_at(cluster, record->next)->prev = record->prev;
	if (record->prev != TABLE_NONE)
		occupant_at(cluster, record->prev)->next = record->next;
	else
		node_at(cluster, record->node)->first_occupant = record->next;
	record->node = TABLE_NONE;
}

void occupant_drop(struct cluster *cluster, uint32_t occupant)
{
	if (occupant == TABLE_NONE)
		return;
	occupant_unlink(cluster, occupant);
	texts_unref(&cluster->texts, occupant_at(cluster, occupant)->ports);
	texts_unref(&cluster->texts, occupant_at(cluster, occupant)->volumes);
	table_remove(&cluster->occupants, occupant);
}

uint32_t occupant_ports(const struct cluster *cluster, uint32_t occupant)
{
	return occupant == TABLE_NONE ? TABLE_NONE : occupant_at(cluster, occupant)->ports;
}

uint32_t occupant_volumes(const struct cluster *cluster, uint32_t occupant)
{
	return occupant == TABLE_NONE ? TABLE_NONE : occupant_at(cluster, occupant)->volumes;
}
