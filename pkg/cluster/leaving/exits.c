/* SPDX-License-Identifier: Apache-2.0 */
/* What of a pod its eviction alone reads. */
#include "cluster/internal.h"

uint32_t exit_add(struct cluster *cluster)
{
	uint32_t exit = table_add(&cluster->exits);
	struct exit_record *record = exit_at(cluster, exit);

	record->gang = record->gang_next = record->gang_prev = TABLE_NONE;
	record->labels_version = LABELS_UNREAD;
	record->budget = record->demand = TABLE_NONE;
	record->terms = record->repels = record->repeller = TABLE_NONE;
	record->occupant = TABLE_NONE;
	return exit;
}

void exit_remove(struct cluster *cluster, uint32_t pod)
{
	gang_leave(cluster, pod);
	budget_forget(cluster, exit_of(cluster, pod));
	demand_forget(cluster, exit_of(cluster, pod));
	table_remove(&cluster->exits, pod_at(cluster, pod)->exit);
}

#define CRASHES_MOST 15U

static void describe(struct exit_record *record, const struct pod_facts *facts)
{
	record->started_s = real_seconds(facts->exit.started_us);
	record->checkpoint_s = real_seconds(facts->exit.checkpoint_us);
	record->grace_s = real_seconds(facts->exit.grace_us);
	record->daemon = str_equal(facts->owner_kind, STR("DaemonSet"));
	record->mirror = facts->exit.mirror;
	record->waiting = MIN(facts->crashes.waiting, CRASHES_MOST) & CRASHES_MOST;
	record->again = MIN(facts->crashes.again, CRASHES_MOST) & CRASHES_MOST;
	record->crashed_s = real_seconds(facts->crashes.ended_us);
}

/* Of one that cannot be read any more what was known stays. */
void exit_follow(struct cluster *cluster, uint32_t pod, const struct pod_facts *facts, bool other)
{
	bool finished = pod_finished(pod_at(cluster, pod));

	if (other || finished)
		gang_leave(cluster, pod);
	if (facts->unreadable && !other)
		return;
	describe(exit_of(cluster, pod), facts);
	budget_follow(cluster, pod, facts);
	if (!finished)
		gang_follow(cluster, pod, facts->exit.gang, facts->exit.gang_name);
}
