/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes have beside cards, and what is left of that for a pod. */
#include "cluster/hosts/hosts.h"

#include "base/mem.h"
#include "cluster/internal.h"

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

void hosts_clear(struct cluster *cluster)
{
	for (uint32_t node = table_next(&cluster->nodes, 0); node != TABLE_NONE;
	     node = table_next(&cluster->nodes, node + 1))
		mem_free(node_at(cluster, node)->labels);
	demands_clear(cluster);
}

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
