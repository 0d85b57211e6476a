/* SPDX-License-Identifier: Apache-2.0 */
/* What going costs, and which of two sets is the better one. */
#include <stdlib.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/macros.h"
#include "cluster/read.h"
#include "plan/internal.h"

#define BUSY_MOST 1000 /* thousandths of a card */

/* Of its run, what no checkpoint saves. What never ran has lost nothing. */
static int64_t lost_us(const struct plan_ask *ask, const struct cluster_victim *victim)
{
	int64_t run_us = MAX(ask->now_real_us - victim->started_us, 0);
	int64_t saved_us = 0;

	if (!victim->running)
		return 0;
	if (victim->checkpoint_us > 0 && !victim->final)
		saved_us = MIN(MAX(victim->checkpoint_us - victim->started_us, 0),
			       victim->preemptible.checkpoint_credit_us);
	return run_us - MIN(saved_us, run_us);
}

struct plan_cost plan_cost_of(const struct plan_ask *ask, const struct cluster_victim *victim)
{
	int64_t cards = MAX(victim->gpus, 1); /* a part of one counts as one */
	int64_t busy = victim->busy == AMOUNT_UNKNOWN ? BUSY_MOST : victim->busy;

	return (struct plan_cost){
		.lost = saturating_mul(lost_us(ask, victim) / USEC_PER_SEC, cards),
		.pods = 1,
		.owned = victim->borrowing ? 0 : victim->charge,
		.busy = saturating_mul(busy, cards),
	};
}

void plan_cost_add(struct plan_cost *sum, const struct plan_cost *more)
{
	sum->lost = saturating_add(sum->lost, more->lost);
	sum->pods += more->pods;
	sum->owned = saturating_add(sum->owned, more->owned);
	sum->busy = saturating_add(sum->busy, more->busy);
}

static int compare(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

int plan_cost_compare(const struct plan_cost *a, const struct plan_cost *b)
{
	int by = compare(a->lost, b->lost);

	if (by == 0)
		by = compare(a->pods, b->pods);
	if (by == 0)
		by = compare(a->owned, b->owned);
	return by != 0 ? by : compare(a->busy, b->busy);
}

int plan_uid_compare(struct uid a, struct uid b)
{
	if (a.high != b.high)
		return a.high < b.high ? -1 : 1;
	return a.low < b.low ? -1 : a.low > b.low;
}

/* By insertion: few, and the uids go along. */
void plan_set_sort(struct plan_set *set)
{
	for (size_t i = 1; i < set->n; i++) {
		struct uid uid = set->uids[i];
		uint32_t pod = set->pods[i];
		size_t k = i;

		for (; k > 0 && plan_uid_compare(set->uids[k - 1], uid) > 0; k--) {
			set->uids[k] = set->uids[k - 1];
			set->pods[k] = set->pods[k - 1];
		}
		set->uids[k] = uid;
		set->pods[k] = pod;
	}
}

int plan_set_compare(const struct cluster *cluster, const struct plan_set *a,
		     const struct plan_set *b)
{
	int by = plan_cost_compare(&a->cost, &b->cost);

	for (size_t i = 0; by == 0 && i < a->n && i < b->n; i++)
		by = plan_uid_compare(a->uids[i], b->uids[i]);
	if (by != 0 || a->node == b->node)
		return by;
	return str_compare(cluster_node_name(cluster, a->node),
			   cluster_node_name(cluster, b->node));
}
