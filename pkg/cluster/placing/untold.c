/* SPDX-License-Identifier: Apache-2.0 */
/* Looked for among the pods and holds of one node, by who asks again in a moment. */
#include "cluster/placing/untold.h"

#include "base/clock.h"
#include "cluster/internal.h"
#include "cluster/placing/reserve.h"
#include "cluster/placing/trial.h"

/* since_s: real; 0: it has not begun. */
static bool is_recent(uint32_t since_s, int64_t now_real_us)
{
	return since_s == 0 || now_real_us < (int64_t)since_s * USEC_PER_SEC + CLUSTER_UNTOLD_US;
}

bool cluster_pod_ends_soon(const struct cluster *cluster, uint32_t pod, int64_t now_real_us)
{
	const struct pod_record *record = pod_at(cluster, pod);

	return record->terminating && !pod_finished(record) &&
	       is_recent(record->deletion_s, now_real_us) &&
	       (int64_t)record->deletion_s * USEC_PER_SEC <= now_real_us + CLUSTER_ENDING_US;
}

static int64_t untold_of_pod(const struct cluster *cluster, uint32_t node, uint32_t pod,
			     int64_t now_real_us)
{
	const struct pod_record *record = pod_at(cluster, pod);
	int64_t whole = pod_whole(cluster, node, record);
	uint32_t others;

	if (pod_finished(record) || record->terminating || whole == 0 ||
	    !is_recent(exit_at(cluster, record->exit)->started_s, now_real_us))
		return 0;
	whole -= topo_set_count(pod_cards(cluster, node_at(cluster, node), record, &others));
	return MAX(whole - others, 0);
}

static void add(struct cluster_untold *untold, int64_t cards, struct str namespace, struct str name)
{
	if (cards <= 0)
		return;
	if (untold->cards == 0) {
		untold->namespace = namespace;
		untold->name = name;
	}
	untold->cards += (uint32_t)MIN(cards, (int64_t)LIMIT_LAYOUT_GPUS);
}

static void add_pods(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t node,
		     int64_t now_real_us, struct cluster_untold *untold)
{
	uint32_t pod = node_at(cluster, node)->first_pod;

	for (; pod != TABLE_NONE; pod = pod_at(cluster, pod)->node_next) {
		const struct pod_record *record = pod_at(cluster, pod);

		if (pod != ask->pod && !trial_has(ask, pod))
			add(untold, untold_of_pod(cluster, node, pod, now_real_us),
			    intern_str(cluster->intern,
				       namespace_at(cluster, record->namespace)->name),
			    intern_str(cluster->intern, record->name));
	}
}

/* For an objective cards are held that are known, until its observation ends. */
static void add_holds(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t node,
		      struct cluster_untold *untold)
{
	uint32_t hold = holds_next(cluster, ask, node_at(cluster, node)->first_hold);

	while (hold != TABLE_NONE) {
		struct hold_view view = cluster_hold_view(cluster, hold);

		add(untold, hold_whole(cluster, hold), view.namespace, view.name);
		hold = holds_next(cluster, ask, hold_at(cluster, hold)->node_next);
	}
}

struct cluster_untold cluster_untold(const struct cluster *cluster, const struct cluster_ask *ask,
				     uint32_t node, int64_t now_real_us)
{
	struct cluster_untold untold = {0};

	add_pods(cluster, ask, node, now_real_us, &untold);
	add_holds(cluster, ask, node, &untold);
	return untold;
}
