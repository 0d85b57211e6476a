/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits, who is served already, and what came of a receipt. */
#include "plan/cause.h"

#include <stdlib.h>

#include "base/checked.h"
#include "cluster/looks.h"
#include "cluster/read.h"
#include "cluster/tenants/objectives.h"
#include "cluster/tenants/tenants.h"
#include "plan/internal.h"

/* --- who waits */

static bool is_before(const struct cluster *cluster, const struct cause_waiting *a,
		      const struct cause_waiting *b)
{
	if (a->since_us != b->since_us)
		return a->since_us < b->since_us;
	return plan_uid_compare(cluster_pod_uid(cluster, a->pod),
				cluster_pod_uid(cluster, b->pod)) < 0;
}

/* In order; the one that waits least falls out. */
static void add(const struct cluster *cluster, struct cause_waiters *waiters,
		const struct cause_waiting *one)
{
	size_t i = waiters->n;

	if (i < CAUSE_WAITING_MOST)
		waiters->n++;
	else if (!is_before(cluster, one, &waiters->list[--i]))
		return;
	for (; i > 0 && is_before(cluster, one, &waiters->list[i - 1]); i--)
		waiters->list[i] = waiters->list[i - 1];
	waiters->list[i] = *one;
}

static void look_at(const struct cluster *cluster, uint32_t pod, int64_t pending_us,
		    int64_t now_real_us, struct cause_waiters *waiters)
{
	struct cause_waiting one;
	int64_t due_us;

	if (!cluster_pod_waits(cluster, pod))
		return;
	one = (struct cause_waiting){pod, cluster_pod_name(cluster, pod).created_us};
	due_us = saturating_add(one.since_us, pending_us);
	if (due_us > now_real_us)
		waiters->next_us = MIN(waiters->next_us, due_us);
	else
		add(cluster, waiters, &one);
}

void cause_waiters(const struct cluster *cluster, uint32_t tenant, int64_t pending_us,
		   int64_t now_real_us, struct cause_waiters *ret_waiters)
{
	ret_waiters->n = 0;
	ret_waiters->next_us = TIME_NEVER;
	if (pending_us == AMOUNT_NONE)
		return;
	for (uint32_t ns = cluster_namespace_next(cluster, 0); ns != TABLE_NONE;
	     ns = cluster_namespace_next(cluster, ns + 1)) {
		if (cluster_tenant_of(cluster, ns) != tenant)
			continue;
		for (uint32_t pod = cluster_namespace_pod(cluster, ns); pod != TABLE_NONE;
		     pod = cluster_namespace_pod_next(cluster, pod))
			look_at(cluster, pod, pending_us, now_real_us, ret_waiters);
	}
}

/* --- who is served */

bool cause_is_served(const struct limits_view *view, enum protection_mode mode,
		     const struct receipt_pod *beneficiary)
{
	for (size_t i = 0; i < view->n_own; i++) {
		const struct receipt *receipt = &view->own[i];

		if (!str_equal(receipt->beneficiary.uid, beneficiary->uid))
			continue;
		if (receipt->outcome == RECEIPT_ISSUED)
			return true;
		if (receipt->outcome == RECEIPT_PLANNED && mode == PROTECTION_DRY_RUN &&
		    saturating_add(receipt->at_us, RECEIPT_LOOKS_BACK_US) > view->now_real_us)
			return true;
	}
	return false;
}

/* --- who is left alone */

struct left_alone {
	struct plan_workload *workloads;
	size_t n_workloads;
	uint32_t *pods;
	size_t n_pods;
};

static size_t count_victims(const struct receipt *receipts, size_t n)
{
	size_t victims = 0;

	for (size_t i = 0; i < n; i++)
		victims += receipts[i].n_victims;
	return victims;
}

/* By handle: any pod of the workload has that. Where none is left nobody can be taken either. */
static void add_workload(const struct cluster *cluster, const struct receipt_pod *victim,
			 struct left_alone *to)
{
	uint32_t ns = cluster_namespace_find(cluster, victim->namespace);

	for (uint32_t pod = ns == TABLE_NONE ? TABLE_NONE : cluster_namespace_pod(cluster, ns);
	     pod != TABLE_NONE; pod = cluster_namespace_pod_next(cluster, pod)) {
		struct cluster_victim of;

		if (!str_equal(cluster_pod_name(cluster, pod).owner, victim->owner))
			continue;
		cluster_victim(cluster, pod, 0, 0, &of);
		to->workloads[to->n_workloads++] = (struct plan_workload){of.namespace, of.owner};
		return;
	}
}

static void add_victim(const struct cluster *cluster, const struct limits_view *view,
		       const struct receipt *receipt, const struct receipt_pod *victim,
		       struct left_alone *to)
{
	uint32_t pod =
		receipt->outcome == RECEIPT_ISSUED
			? cluster_pod_find(cluster, victim->namespace, victim->name, victim->uid)
			: TABLE_NONE;

	if (pod != TABLE_NONE)
		to->pods[to->n_pods++] = pod;
	if (!str_empty(victim->owner) &&
	    limits_owner_until(view, victim->namespace, victim->owner) > view->now_real_us)
		add_workload(cluster, victim, to);
}

static void add_victims(const struct cluster *cluster, const struct limits_view *view,
			const struct receipt *receipts, size_t n, struct left_alone *to)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < receipts[i].n_victims; k++)
			add_victim(cluster, view, &receipts[i], &receipts[i].victims[k], to);
}

bool cause_left_alone(const struct cluster *cluster, const struct limits_view *view,
		      struct arena *arena, struct plan_left_alone *ret_alone)
{
	size_t most =
		count_victims(view->own, view->n_own) + count_victims(view->others, view->n_others);
	struct left_alone to = {
		.workloads = arena_alloc(arena, MAX(most, (size_t)1) * sizeof(*to.workloads)),
		.pods = arena_alloc(arena, MAX(most, (size_t)1) * sizeof(*to.pods)),
	};

	if (!to.workloads || !to.pods)
		return false;
	add_victims(cluster, view, view->own, view->n_own, &to);
	add_victims(cluster, view, view->others, view->n_others, &to);
	qsort(to.workloads, to.n_workloads, sizeof(*to.workloads), plan_workload_compare);
	qsort(to.pods, to.n_pods, sizeof(*to.pods), plan_pod_compare);
	*ret_alone = (struct plan_left_alone){to.workloads, to.n_workloads, to.pods, to.n_pods};
	return true;
}

/* --- what came of it */

enum receipt_outcome cause_judge_pending(const struct receipt *receipt,
					 const struct cause_seen *seen)
{
	if (!seen->there)
		return RECEIPT_MOOT;
	if (seen->bound && seen->staying > 0)
		return RECEIPT_MOOT;
	if (seen->bound)
		return seen->held ? RECEIPT_HELPED : RECEIPT_INEFFECTIVE;
	if (receipt->n_victims > 0 && seen->refused == receipt->n_victims)
		return RECEIPT_REFUSED;
	if (seen->now_real_us >= receipt->held_until_us)
		return RECEIPT_INEFFECTIVE;
	return RECEIPT_ISSUED;
}

static bool is_better(const struct receipt *receipt, const struct cause_value *now)
{
	int64_t before = receipt->value;
	int64_t size = before < 0 ? saturating_sub(0, before) : before;
	int64_t least =
		size / 100 * CAUSE_BETTER_PERCENT + (size % 100 * CAUSE_BETTER_PERCENT + 99) / 100;

	if (now->state == OBJECTIVE_UNKNOWN || now->value == OBJECTIVE_NO_VALUE || before == 0)
		return false;
	return least <= (now->direction == OBJECTIVE_BELOW ? saturating_sub(before, now->value)
							   : saturating_sub(now->value, before));
}

enum receipt_outcome cause_judge_objective(const struct receipt *receipt,
					   const struct cause_seen *seen,
					   const struct cause_value *now)
{
	if (!seen->there)
		return RECEIPT_MOOT;
	if (receipt->n_victims > 0 && seen->refused == receipt->n_victims)
		return RECEIPT_REFUSED;
	if (seen->now_real_us < receipt->held_until_us)
		return RECEIPT_ISSUED;
	if (now->state == OBJECTIVE_MET && seen->staying + seen->leaving > 0)
		return RECEIPT_MOOT;
	return now->state == OBJECTIVE_MET || is_better(receipt, now) ? RECEIPT_HELPED
								      : RECEIPT_INEFFECTIVE;
}
