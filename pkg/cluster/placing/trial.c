/* SPDX-License-Identifier: Apache-2.0 */
/* What a node, a namespace and a tenant would hold with some pods gone. */
#include <string.h>

#include "base/checked.h"
#include "cluster/ledger/part.h"
#include "cluster/nodes/gpunodes_internal.h"
#include "cluster/placing/trial.h"

bool trial_has(const struct cluster_ask *ask, uint32_t pod)
{
	for (size_t i = 0; ask->trial && i < ask->trial->n; i++)
		if (ask->trial->gone[i] == pod)
			return true;
	return false;
}

static void unpin(const struct cluster *cluster, struct node_record *node,
		  const struct pod_record *pod)
{
	const struct seen_pod *seen = seen_pod_of(cluster, node, pod);

	if (seen)
		seen_unpin(cluster, node, seen);
}

void trial_room(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t node,
		struct node_record *ret_record)
{
	*ret_record = *node_at(cluster, node);
	room_clear_cards(ret_record);
	seen_pin(cluster, ret_record);
	for (uint32_t pod = ret_record->first_pod; pod != TABLE_NONE;
	     pod = pod_at(cluster, pod)->node_next) {
		if (pod_finished(pod_at(cluster, pod)))
			continue;
		if (trial_has(ask, pod))
			unpin(cluster, ret_record, pod_at(cluster, pod));
		else
			room_hold_cards(cluster, ret_record, pod_at(cluster, pod));
	}
	room_settle_cards(ret_record);
}

/* The pod of the ask does not count where it is: its own are added already. */
int64_t trial_units(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t node,
		    uint32_t offer)
{
	int64_t sum = 0;

	for (size_t i = 0; ask->trial && i < ask->trial->n; i++)
		if (ask->trial->gone[i] != ask->pod &&
		    pod_at(cluster, ask->trial->gone[i])->node == node)
			sum = saturating_add(
				sum, cluster_pod_units(cluster, ask->trial->gone[i], offer));
	return sum;
}

/* --- sums */

/* Whether it counts among what is live in its namespace, and not as the ask's own. */
static bool is_counted(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t pod)
{
	const struct pod_record *record = pod_at(cluster, pod);

	return pod != ask->pod && record->node != TABLE_NONE && !record->released &&
	       !pod_finished(record);
}

static void add_row(const struct part *part, uint32_t row, struct trial_sum *sum)
{
	for (size_t i = 0; i < part->n_rows; i++)
		if (part->rows[i].row == row) {
			sum->count += part->rows[i].count;
			sum->bytes += part->rows[i].bytes;
		}
}

struct trial_sum trial_of_row(const struct cluster *cluster, const struct cluster_ask *ask,
			      uint32_t row)
{
	struct trial_sum sum = {0, 0};

	for (size_t i = 0; ask->trial && i < ask->trial->n; i++) {
		uint32_t pod = ask->trial->gone[i];
		struct part part;

		if (pod_at(cluster, pod)->namespace != ask->namespace ||
		    !is_counted(cluster, ask, pod))
			continue;
		pod_part(cluster, pod_at(cluster, pod), &part);
		add_row(&part, row, &sum);
	}
	return sum;
}

wide_sum trial_unpriced(const struct cluster *cluster, const struct cluster_ask *ask)
{
	wide_sum sum = 0;

	for (size_t i = 0; ask->trial && i < ask->trial->n; i++) {
		uint32_t pod = ask->trial->gone[i];
		const struct pod_record *record = pod_at(cluster, pod);
		struct part part;

		if (record->namespace != ask->namespace || pod == ask->pod || record->released ||
		    pod_finished(record))
			continue;
		pod_part(cluster, record, &part);
		sum += part.unpriced;
	}
	return sum;
}

struct trial_sum trial_of_tenant(const struct cluster *cluster, const struct cluster_ask *ask,
				 uint32_t tenant)
{
	struct trial_sum sum = {0, 0};

	for (size_t i = 0; ask->trial && i < ask->trial->n; i++) {
		uint32_t pod = ask->trial->gone[i];
		struct part part;

		if (namespace_at(cluster, pod_at(cluster, pod)->namespace)->tenant != tenant ||
		    !is_counted(cluster, ask, pod))
			continue;
		pod_part(cluster, pod_at(cluster, pod), &part);
		sum.bytes += part.bytes;
		for (size_t k = 0; k < part.n_rows; k++)
			if (cluster->prices[part.rows[k].row].sharing == DEVICE_WHOLE)
				sum.count += part.rows[k].count;
	}
	return sum;
}

bool cluster_trial_frees_quota(const struct cluster *cluster, const struct cluster_ask *ask)
{
	uint32_t tenant = ask->namespace == TABLE_NONE
				  ? TABLE_NONE
				  : namespace_at(cluster, ask->namespace)->tenant;

	for (size_t i = 0; ask->trial && i < ask->trial->n; i++) {
		uint32_t ns = pod_at(cluster, ask->trial->gone[i])->namespace;

		if (ns == ask->namespace ||
		    (tenant != TABLE_NONE && namespace_at(cluster, ns)->tenant == tenant))
			return true;
	}
	return false;
}
