/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods as those that might go: what the records already tell, put together. Nothing is added up but
 * what one pod holds, so that tens of thousands can be asked for in a plan.
 */
#include "cluster/leaving/victims.h"

#include "base/checked.h"
#include "cluster/dra/dra_internal.h"
#include "cluster/ledger/holders.h"
#include "cluster/ledger/part.h"
#include "cluster/nodes/gpunodes.h"
#include "model/receipt.h"

/* --- what it holds */

static int64_t whole_cards(const struct cluster *cluster, const struct part *part)
{
	int64_t cards = 0;

	for (size_t i = 0; i < part->n_rows; i++)
		if (cluster->prices[part->rows[i].row].sharing == DEVICE_WHOLE)
			cards = saturating_add(cards, part->rows[i].count);
	return cards;
}

/* The claim that the scheduler made for it goes with it. */
static void view_charge(const struct cluster *cluster, const struct pod_record *pod,
			struct cluster_victim *victim)
{
	uint32_t claim = claim_of_pod(cluster, pod->namespace, pod->extended_claim);
	struct part part;

	pod_part(cluster, pod, &part);
	victim->charge = pod->charge;
	victim->gpus = whole_cards(cluster, &part);
	if (claim == TABLE_NONE)
		return;
	claim_part(cluster, claim, &part);
	victim->charge =
		saturating_add(victim->charge, device_claim_at(&cluster->dra, claim)->charge);
	victim->gpus = saturating_add(victim->gpus, whole_cards(cluster, &part));
}

/* --- whose it is */

/* A loan that nobody uses takes no memory of others: what it holds is its own. */
static bool is_borrowing(const struct cluster *cluster, uint32_t namespace)
{
	const struct namespace_record *record = namespace_at(cluster, namespace);
	struct tenant_grant grant;

	if (record->tenant == TABLE_NONE)
		return false;
	grant = grant_of(cluster, namespace);
	return grant.borrowed > 0 && sum_clamp(record->sums.used) > grant.granted;
}

static void view_tenant(const struct cluster *cluster, uint32_t namespace,
			struct cluster_victim *victim)
{
	victim->tenant = namespace_at(cluster, namespace)->tenant;
	victim->preemptible = PREEMPTIBLE_DEFAULT;
	victim->borrowing = is_borrowing(cluster, namespace);
	if (victim->tenant == TABLE_NONE)
		return;
	victim->tier = (enum tenant_tier)tenant_at(cluster, victim->tenant)->tier;
	victim->preemptible = tenant_at(cluster, victim->tenant)->preemptible;
}

/* --- what is under way */

static void view_eviction(const struct cluster *cluster, const struct pod_record *pod,
			  int64_t now_us, struct cluster_victim *victim)
{
	const struct eviction_record *eviction;

	victim->terminating = pod->terminating;
	if (pod->eviction == TABLE_NONE)
		return;
	eviction = eviction_at(cluster, pod->eviction);
	if (now_us >= eviction->until_us)
		return;
	victim->terminating |= eviction->outcome == EVICTION_ISSUED;
	victim->refused = eviction_text((enum eviction_outcome)eviction->outcome);
	victim->again_us = eviction->until_us;
}

/* --- since when it runs, and with whom */

static int64_t real_us(uint32_t seconds)
{
	return (int64_t)seconds * USEC_PER_SEC;
}

/* One that is alone in its gang, or in one that is too large to go as one, goes by itself. */
static bool goes_as_one(const struct cluster *cluster, uint32_t gang)
{
	return gang != TABLE_NONE && gang_at(cluster, gang)->n > 1 &&
	       gang_at(cluster, gang)->n <= RECEIPT_VICTIMS;
}

static void view_exit(const struct cluster *cluster, const struct pod_record *pod,
		      int64_t now_real_us, struct cluster_victim *victim)
{
	const struct exit_record *exit = exit_at(cluster, pod->exit);
	uint32_t started_s = exit->started_s, checkpoint_s = exit->checkpoint_s;

	if (goes_as_one(cluster, exit->gang)) {
		victim->gang = exit->gang;
		started_s = gang_at(cluster, exit->gang)->started_s;
		checkpoint_s = gang_at(cluster, exit->gang)->checkpoint_s;
	}
	victim->started_us = real_us(started_s ? started_s : pod->created_s);
	victim->checkpoint_us = real_us(checkpoint_s);
	if (victim->checkpoint_us < victim->started_us || victim->checkpoint_us > now_real_us)
		victim->checkpoint_us = 0;
	victim->grace_us = real_us(exit->grace_s);
	victim->daemon = exit->daemon;
	victim->mirror = exit->mirror;
	victim->final = job_is_final(cluster, pod);
}

static void view_budget(const struct cluster *cluster, const struct pod_record *pod,
			struct cluster_victim *victim)
{
	const struct exit_record *exit = exit_at(cluster, pod->exit);

	victim->budget = (enum victim_budget)exit->budgets;
	victim->budget_of = TABLE_NONE;
	if (victim->budget != BUDGET_ALLOWS)
		return;
	victim->budget_of = exit->budget;
	if (cluster_budget_left(cluster, exit->budget) <= 0)
		victim->budget = BUDGET_FORBIDS;
}

static void view_busy(const struct cluster *cluster, uint32_t pod, struct cluster_victim *victim)
{
	struct cluster_usage usage = cluster_pod_usage(cluster, pod);

	if (usage.cards > 0 && usage.sm_percent >= 0)
		victim->busy = (int64_t)usage.sm_percent * 10;
}

void cluster_victim(const struct cluster *cluster, uint32_t pod, int64_t now_us,
		    int64_t now_real_us, struct cluster_victim *ret_victim)
{
	const struct pod_record *record = pod_at(cluster, pod);
	struct cluster_victim victim = {
		.namespace = record->namespace,
		.node = record->node,
		.gang = TABLE_NONE,
		.owner = record->owner,
		.busy = AMOUNT_UNKNOWN,
		.again_us = TIME_NEVER,
		.running = record->phase == POD_RUNNING,
		.finished = pod_finished(record),
	};

	view_exit(cluster, record, now_real_us, &victim);
	view_budget(cluster, record, &victim);
	view_busy(cluster, pod, &victim);
	view_tenant(cluster, record->namespace, &victim);
	view_charge(cluster, record, &victim);
	view_eviction(cluster, record, now_us, &victim);
	*ret_victim = victim;
}

uint32_t cluster_gang_pod(const struct cluster *cluster, uint32_t gang)
{
	return gang == TABLE_NONE ? TABLE_NONE : gang_at(cluster, gang)->first_pod;
}

uint32_t cluster_gang_next(const struct cluster *cluster, uint32_t pod)
{
	return exit_of(cluster, pod)->gang_next;
}
