/* SPDX-License-Identifier: Apache-2.0 */
/* When what placement reads last changed, so that who remembers an answer knows how long it holds.
 */
#include "base/mem.h"
#include "cluster/internal.h"
#include "cluster/placing/placement.h"

void room_changed(struct cluster *cluster, uint32_t node)
{
	bool held = node_at(cluster, node)->first_hold != TABLE_NONE;

	cluster->stamps[node].version = held ? 0 : ++cluster->rooms_changed;
}

void room_born(struct cluster *cluster, uint32_t node)
{
	uint32_t n = cluster->nodes.capacity;

	if (node >= cluster->n_stamps) {
		cluster->stamps = mem_realloc_array(cluster->stamps, n, sizeof(*cluster->stamps));
		memset(&cluster->stamps[cluster->n_stamps], 0,
		       (n - cluster->n_stamps) * sizeof(*cluster->stamps));
		cluster->n_stamps = n;
	}
	cluster->stamps[node].born = ++cluster->nodes_born;
	room_changed(cluster, node);
}

void room_died(struct cluster *cluster, uint32_t node)
{
	cluster->stamps[node].born = 0;
	room_changed(cluster, node);
}

void resources_changed(struct cluster *cluster)
{
	cluster->resources_changed++;
}

const struct node_stamp *cluster_node_stamps(const struct cluster *cluster, uint32_t *ret_n)
{
	*ret_n = cluster->n_stamps;
	return cluster->stamps;
}

uint64_t cluster_resources_changed(const struct cluster *cluster)
{
	return cluster->resources_changed;
}
