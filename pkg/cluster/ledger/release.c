/* SPDX-License-Identifier: Apache-2.0 */
/*
 * releaseOn: Terminal. A pod that is being deleted holds its devices until kubelet says that its
 * containers are gone, and on a dead node nobody says so. Where the quota allows it, such a pod is
 * let go some time after its grace. It stays an entry, marked as released, so that a node that
 * comes back has it charged again.
 */
#include "base/checked.h"
#include "base/clock.h"
#include "cluster/internal.h"

/* -1: no pod of the namespace is to be released. */
static int64_t terminal_timeout(const struct cluster *cluster, uint32_t namespace)
{
	uint32_t governing = quota_governing(cluster, namespace);

	return governing == TABLE_NONE ? -1 : quota_at(cluster, governing)->terminal_timeout_us;
}

void release_concerns(struct cluster *cluster, const struct pod_record *pod)
{
	if (pod->released || (pod->terminating && terminal_timeout(cluster, pod->namespace) >= 0))
		mark_namespace(cluster, pod->namespace);
}

/* Whether nobody is there to say that the pod's containers are gone. A pod without a node has none.
 */
static bool is_abandoned(const struct cluster *cluster, const struct pod_record *pod)
{
	const struct node_record *node;

	if (pod->node == TABLE_NONE)
		return true;
	node = node_at(cluster, pod->node);
	return !node->exists || node->ready == NODE_NOT_READY;
}

/* When the pod is released if nothing else changes, real; TIME_NEVER. */
static int64_t release_us(const struct cluster *cluster, const struct pod_record *pod,
			  int64_t timeout_us)
{
	if (timeout_us < 0 || !pod->terminating || pod->deletion_s == 0 ||
	    !is_abandoned(cluster, pod))
		return TIME_NEVER;
	return saturating_add((int64_t)pod->deletion_s * USEC_PER_SEC, timeout_us);
}

static void set_released(struct cluster *cluster, uint32_t pod, bool released)
{
	ledger_remove(cluster, pod);
	pod_at(cluster, pod)->released = released;
	ledger_add(cluster, pod);
}

void cluster_release(struct cluster *cluster, uint32_t namespace, int64_t now_real_us,
		     int64_t *ret_next_us)
{
	const struct namespace_record *record;
	int64_t timeout_us, next_us = TIME_NEVER;
	bool changed = false;

	*ret_next_us = TIME_NEVER;
	if (!table_has(&cluster->namespaces, namespace))
		return;
	record = namespace_at(cluster, namespace);
	timeout_us = terminal_timeout(cluster, namespace);
	if (record->n_terminating == 0 || (timeout_us < 0 && record->sums.released_pods == 0))
		return;
	for (uint32_t pod = record->first_pod; pod != TABLE_NONE;
	     pod = pod_at(cluster, pod)->namespace_next) {
		struct pod_record *one = pod_at(cluster, pod);
		int64_t at_us =
			pod_finished(one) ? TIME_NEVER : release_us(cluster, one, timeout_us);
		bool release = at_us <= now_real_us;

		if (!release)
			next_us = MIN(next_us, at_us);
		if (release == one->released)
			continue;
		set_released(cluster, pod, release);
		changed = true;
	}
	if (changed)
		cluster_mark_tenant_dirty(cluster, record->tenant);
	*ret_next_us = next_us;
}
