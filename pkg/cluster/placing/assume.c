/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that are taken as bound before the watch shows it. */
#include "cluster/placing/assume.h"
#include "base/clock.h"
#include "cluster/dra/dra_internal.h"
#include "cluster/placing/placement.h"

void assumption_end(struct cluster *cluster, struct pod_record *pod)
{
	if (pod->assumption == TABLE_NONE)
		return;
	table_remove(&cluster->assumptions, pod->assumption);
	pod->assumption = TABLE_NONE;
}

/* From one node to another, or to none, with what it is charged. */
static void move(struct cluster *cluster, uint32_t pod, uint32_t node, uint64_t cards)
{
	struct pod_record *record = pod_at(cluster, pod);
	uint32_t before = record->node;
	bool held = pod_claims_count(record);

	ledger_remove(cluster, pod);
	if (node != before) { /* which may live for this pod alone */
		pod_unlink_from_node(cluster, pod);
		pod_link_to_node(cluster, pod, node);
	}
	record->cards = cards;
	ledger_add(cluster, pod);
	if (held && !pod_claims_count(record))
		pod_claims_let_go(cluster, record);
	else if (!held && pod_claims_count(record))
		pod_claims_hold(cluster, record);
	cluster_mark_dirty(cluster, record->namespace);
	room_refresh(cluster, before);
	if (node != before)
		room_add(cluster, pod);
	if (cluster->holds.count > 0)
		holds_follow(cluster, pod);
}

void cluster_assume(struct cluster *cluster, uint32_t pod, uint32_t node, uint64_t cards,
		    int64_t until_us)
{
	struct pod_record *record = pod_at(cluster, pod);

	if (pod_finished(record) ||
	    (record->node != TABLE_NONE && record->assumption == TABLE_NONE))
		return;
	if (record->assumption == TABLE_NONE)
		record->assumption = table_add(&cluster->assumptions);
	*assumption_at(cluster, record->assumption) = (struct assumption_record){pod, until_us};
	move(cluster, pod, node, cards);
}

void cluster_unassume(struct cluster *cluster, uint32_t pod)
{
	struct pod_record *record = pod_at(cluster, pod);

	if (record->assumption == TABLE_NONE)
		return;
	assumption_end(cluster, record);
	move(cluster, pod, TABLE_NONE, 0);
}

void cluster_expire_assumptions(struct cluster *cluster, int64_t now_us, int64_t *ret_next_us)
{
	int64_t next_us = TIME_NEVER;

	for (uint32_t at = table_next(&cluster->assumptions, 0); at != TABLE_NONE;
	     at = table_next(&cluster->assumptions, at + 1)) {
		const struct assumption_record *assumption = assumption_at(cluster, at);

		if (assumption->until_us <= now_us)
			cluster_unassume(cluster, assumption->pod);
		else
			next_us = MIN(next_us, assumption->until_us);
	}
	*ret_next_us = next_us;
}

bool cluster_pod_assumed(const struct cluster *cluster, uint32_t pod)
{
	return pod_at(cluster, pod)->assumption != TABLE_NONE;
}

uint32_t cluster_assumptions(const struct cluster *cluster)
{
	return cluster->assumptions.count;
}
