/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best set of groups on one node. What is asked for fits with some of them gone and may not fit
 * with more of them gone, where a topology is required: so every set counts, not only what holds
 * it.
 *
 * Sets are walked through depth first, the cheaper groups first; a set is not gone into further
 * when it fits, costs more than the best, or cannot come to free enough.
 */
#include <stdlib.h>

#include "base/checked.h"
#include "base/macros.h"
#include "plan/internal.h"

struct search {
	struct plan *plan;
	uint32_t node;
	const struct plan_groups *groups;
	size_t chosen[RECEIPT_VICTIMS]; /* groups */
	size_t n;
};

bool plan_try(struct plan *plan, uint32_t node, size_t n_gone)
{
	plan->trials++;
	plan->trial.n = n_gone;
	place_try(&plan->place, &plan->trial);
	return host_has_room(plan->tools.cluster, &plan->place.ask, &plan->terms, node) ==
		       HOST_FITS &&
	       place_fit(&plan->place, node).verdict == PLACE_FITS;
}

/* --- sets */

static const struct plan_group *group_at(const struct search *search, size_t i)
{
	return &search->groups->groups[search->chosen[i]];
}

static struct plan_cost cost_of(const struct search *search)
{
	struct plan_cost cost = {0};

	for (size_t i = 0; i < search->n; i++)
		plan_cost_add(&cost, &group_at(search, i)->cost);
	return cost;
}

static bool frees_enough(const struct search *search, size_t rest)
{
	const struct plan_groups *groups = search->groups;

	for (size_t need = 0; need < groups->n_needs; need++) {
		int64_t freed = 0;

		for (size_t i = 0; i < search->n; i++)
			freed = saturating_add(freed, group_at(search, i)->freed[need]);
		for (size_t i = rest; i < groups->n; i++)
			freed = saturating_add(freed, groups->groups[i].freed[need]);
		if (freed < groups->needs[need].missing)
			return false;
	}
	return true;
}

static void set_of(const struct search *search, const struct plan_cost *cost,
		   struct plan_set *ret_set)
{
	ret_set->cost = *cost;
	ret_set->node = search->node;
	ret_set->n = 0;
	for (size_t i = 0; i < search->n; i++)
		for (uint32_t k = 0; k < group_at(search, i)->n; k++) {
			const struct plan_member *member =
				&search->groups->members[group_at(search, i)->first + k];

			ret_set->pods[ret_set->n] = member->pod;
			ret_set->uids[ret_set->n++] = member->uid;
		}
	plan_set_sort(ret_set);
}

static bool is_allowed(const struct search *search)
{
	const struct plan_member *members[RECEIPT_VICTIMS];
	size_t n = 0;

	for (size_t i = 0; i < search->n; i++)
		for (uint32_t k = 0; k < group_at(search, i)->n; k++) {
			if (n == plan_most(search->plan))
				return false;
			members[n++] = &search->groups->members[group_at(search, i)->first + k];
		}
	return plan_budgets_allow(search->plan->tools.cluster, members, n);
}

static bool fits(const struct search *search)
{
	struct plan *plan = search->plan;
	size_t n = 0;

	for (size_t i = 0; i < search->n; i++)
		for (uint32_t k = 0; k < group_at(search, i)->n; k++)
			plan->gone[n++] =
				search->groups->members[group_at(search, i)->first + k].pod;
	return plan_try(plan, search->node, n);
}

/* Takes the place of the best where it is better. */
static void offer(const struct search *search, const struct plan_set *set)
{
	struct plan *plan = search->plan;

	if (plan->found && plan_set_compare(plan->tools.cluster, set, &plan->best) >= 0)
		return;
	plan->best = *set;
	plan->found = true;
	plan->cards = place_cards(&plan->place, search->node);
}

/* --- all sets of few groups */

enum way { DEEPER, ON, UP };

static enum way visit(const struct search *search)
{
	struct plan *plan = search->plan;
	struct plan_cost cost = cost_of(search);
	struct plan_set set;

	if (plan->found && plan_cost_compare(&cost, &plan->best.cost) > 0)
		return UP;
	if (!frees_enough(search, search->chosen[search->n - 1] + 1))
		return UP;
	if (!is_allowed(search))
		return ON;
	if (!frees_enough(search, search->groups->n))
		return DEEPER;
	set_of(search, &cost, &set);
	if (plan->found && plan_set_compare(plan->tools.cluster, &set, &plan->best) >= 0)
		return DEEPER;
	if (!fits(search))
		return DEEPER;
	offer(search, &set);
	return ON;
}

static void search_all(struct search *search)
{
	size_t next = 0;

	for (;;) {
		while (next < search->groups->n && search->plan->trials < PLAN_TRIALS) {
			enum way way;

			search->chosen[search->n++] = next++;
			way = visit(search);
			if (way != DEEPER)
				search->n--;
			if (way == UP)
				next = search->groups->n;
		}
		if (search->n == 0)
			break;
		next = search->chosen[--search->n] + 1;
	}
	search->plan->inexact |= search->plan->trials >= PLAN_TRIALS;
}

/* --- one set of many groups */

static void leave_out(struct search *search, size_t at)
{
	for (size_t i = at; i + 1 < search->n; i++)
		search->chosen[i] = search->chosen[i + 1];
	search->n--;
}

static void put_back(struct search *search, size_t at, size_t group)
{
	for (size_t i = search->n++; i > at; i--)
		search->chosen[i] = search->chosen[i - 1];
	search->chosen[at] = group;
}

/* The dearest that can be spared, until none can. */
static void minimise(struct search *search)
{
	bool spared = true;

	while (spared) {
		spared = false;
		for (size_t i = search->n; i-- > 0 && !spared;) {
			size_t group = search->chosen[i];

			leave_out(search, i);
			spared = frees_enough(search, search->groups->n) && fits(search);
			if (!spared)
				put_back(search, i, group);
		}
	}
}

/* One after the other that may go, until it fits. */
static bool gather_enough(struct search *search)
{
	search->n = 0;
	for (size_t next = 0; next < search->groups->n && search->n < RECEIPT_VICTIMS; next++) {
		search->chosen[search->n++] = next;
		if (!is_allowed(search))
			search->n--;
		else if (frees_enough(search, search->groups->n) && fits(search))
			return true;
	}
	return false;
}

static int by_freed(const void *a, const void *b)
{
	const struct plan_group *left = a, *right = b;

	for (size_t need = 0; need < PLAN_NEEDS; need++)
		if (left->freed[need] != right->freed[need])
			return left->freed[need] > right->freed[need] ? -1 : 1;
	return plan_uid_compare(left->least, right->least);
}

/* The cheapest first; where so many may not go, those that free most. */
static void search_greedily(struct search *search)
{
	struct plan *plan = search->plan;
	struct plan_groups *groups = &plan->groups;
	struct plan_cost cost;
	struct plan_set set;

	plan->inexact = true;
	if (!gather_enough(search)) {
		qsort(groups->groups, groups->n, sizeof(*groups->groups), by_freed);
		if (!gather_enough(search))
			return;
	}
	minimise(search);
	if (!fits(search)) /* asked last of another set */
		return;
	cost = cost_of(search);
	set_of(search, &cost, &set);
	offer(search, &set);
}

/* Where even all of them free too little no set will do. */
static bool is_hopeless(struct search *search)
{
	return search->groups->n == 0 || !frees_enough(search, 0);
}

void plan_search(struct plan *plan, uint32_t node)
{
	struct cluster_units units[LIMIT_RESOURCES_PER_POD];
	struct search search = {.plan = plan, .node = node, .groups = &plan->groups};

	place_try(&plan->place, NULL);
	cluster_units_on(plan->tools.cluster, &plan->place.ask, node, units);
	plan_gather(plan, node, units, true, NULL);
	if (is_hopeless(&search))
		return;
	if (plan->groups.n <= PLAN_EXACT && plan->trials < PLAN_TRIALS)
		search_all(&search);
	else
		search_greedily(&search);
}
