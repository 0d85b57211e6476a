/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports of nodes and volumes that pods have there. Most pods have neither, and no record here;
 * those of one workload mostly have the same, which is kept once. Whoever asks what is taken on a
 * node walks through its pods that have any.
 */
#include "cluster/hosts/hosts_internal.h"
#include "cluster/hosts/terms_io.h"

struct mounts mounts_ref(struct cluster *cluster, const struct pod_facts *facts)
{
	struct mounts mounts = {TABLE_NONE, TABLE_NONE};

	if (facts->n_ports > 0) {
		buf_reset(&cluster->scratch);
		ports_put(&cluster->scratch, facts->ports, facts->n_ports);
		mounts.ports = texts_ref(&cluster->texts, buf_str(&cluster->scratch));
	}
	if (facts->n_volumes > 0) {
		buf_reset(&cluster->scratch);
		volumes_put(&cluster->scratch, facts->namespace, facts->volumes, facts->n_volumes);
		mounts.volumes = texts_ref(&cluster->texts, buf_str(&cluster->scratch));
	}
	return mounts;
}

struct mounts mounts_ref_again(struct cluster *cluster, struct mounts mounts)
{
	return (struct mounts){texts_ref_handle(&cluster->texts, mounts.ports),
			       texts_ref_handle(&cluster->texts, mounts.volumes)};
}

void mounts_unref(struct cluster *cluster, struct mounts mounts)
{
	texts_unref(&cluster->texts, mounts.ports);
	texts_unref(&cluster->texts, mounts.volumes);
}

uint32_t occupant_add(struct cluster *cluster, uint32_t node, struct mounts mounts, uint32_t pod)
{
	uint32_t occupant, next;

	if (mounts.ports == TABLE_NONE && mounts.volumes == TABLE_NONE)
		return TABLE_NONE;
	mounts = mounts_ref_again(cluster, mounts);
	occupant = table_add(&cluster->occupants);
	next = node_at(cluster, node)->first_occupant;
	*occupant_at(cluster, occupant) = (struct occupant_record){
		.node = node,
		.next = next,
		.prev = TABLE_NONE,
		.ports = mounts.ports,
		.volumes = mounts.volumes,
		.pod = pod,
	};
	if (next != TABLE_NONE)
		occupant_at(cluster, next)->prev = occupant;
	node_at(cluster, node)->first_occupant = occupant;
	return occupant;
}

void occupant_drop(struct cluster *cluster, uint32_t *occupant)
{
	struct occupant_record record;

	if (*occupant == TABLE_NONE)
		return;
	record = *occupant_at(cluster, *occupant);
	if (record.next != TABLE_NONE)
		occupant_at(cluster, record.next)->prev = record.prev;
	if (record.prev != TABLE_NONE)
		occupant_at(cluster, record.prev)->next = record.next;
	else
		node_at(cluster, record.node)->first_occupant = record.next;
	mounts_unref(cluster, (struct mounts){record.ports, record.volumes});
	table_remove(&cluster->occupants, *occupant);
	*occupant = TABLE_NONE;
}
