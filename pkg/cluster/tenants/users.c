/* SPDX-License-Identifier: Apache-2.0 */
/* What pods are granted, beside what was measured of them; and who is to blame. */
#include "cluster/tenants/users.h"

#include "base/checked.h"
#include "cluster/dra/dra_internal.h"
#include "cluster/ledger/part.h"
#include "cluster/placing/placement.h"

/* With the claim that the scheduler made for it. */
static int64_t granted(const struct cluster *cluster, const struct pod_record *pod)
{
	uint32_t claim = claim_of_pod(cluster, pod->namespace, pod->extended_claim);
	struct part part, of_claim = {0};

	pod_part(cluster, pod, &part);
	if (claim != TABLE_NONE)
		claim_part(cluster, claim, &of_claim);
	if (part.unpriced + of_claim.unpriced > 0)
		return AMOUNT_UNKNOWN;
	return saturating_add(part.bytes, of_claim.bytes);
}

void cluster_blame(struct cluster *cluster, uint32_t tenant, const struct cluster_blame *blame,
		   int64_t now_us)
{
	struct blame *told = &tenant_at(cluster, tenant)->blame;

	*told = (struct blame){.told_us = now_us,
			       .pod = blame->pod,
			       .signals = blame->signals,
			       .normal = blame->normal};
	if (blame->pod != TABLE_NONE)
		told->uid = pod_at(cluster, blame->pod)->uid;
}

void cluster_note_idle(struct cluster *cluster, uint32_t tenant, int64_t pods)
{
	tenant_at(cluster, tenant)->idle = pods;
}

struct cluster_blame cluster_blamed(const struct cluster *cluster, uint32_t tenant, int64_t now_us)
{
	const struct blame *told = &tenant_at(cluster, tenant)->blame;
	struct cluster_blame blame = {told->pod, told->signals, told->normal};

	if (told->told_us == 0 || now_us - told->told_us >= CLUSTER_BLAME_US)
		return (struct cluster_blame){TABLE_NONE, 0, false};
	if (!table_has(&cluster->pods, told->pod) ||
	    !uid_equal(pod_at(cluster, told->pod)->uid, told->uid))
		blame.pod = TABLE_NONE;
	return blame;
}

static int64_t crashes(const struct cluster *cluster, const struct pod_record *pod,
		       int64_t now_real_us)
{
	const struct exit_record *exit = exit_at(cluster, pod->exit);
	int64_t until_us = exit->crashed_s * USEC_PER_SEC + POD_CRASH_RECENT_US;

	if (cluster_node_not_ready(cluster, pod->node))
		return AMOUNT_UNKNOWN;
	return exit->waiting + (now_real_us < until_us ? exit->again : 0);
}

void cluster_user(const struct cluster *cluster, uint32_t pod, int64_t now_real_us,
		  struct cluster_user *ret_user)
{
	const struct pod_record *record = pod_at(cluster, pod);
	struct cluster_user user = {
		.key = record->uid.high ^ record->uid.low,
		.name = intern_str(cluster->intern, record->name),
		.holds = record->node != TABLE_NONE && !cluster_pod_finished(cluster, pod),
	};

	if (user.holds) {
		user.granted = granted(cluster, record);
		user.usage = cluster_pod_usage(cluster, pod);
		user.crashes = crashes(cluster, record, now_real_us);
	}
	*ret_user = user;
}
