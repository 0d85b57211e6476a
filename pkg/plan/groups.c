/* SPDX-License-Identifier: Apache-2.0 */
/* The pods of a node that may go, by what goes together. */
#include <stdlib.h>

#include "base/checked.h"
#include "base/macros.h"
#include "base/mem.h"
#include "cluster/looks.h"
#include "plan/internal.h"

size_t plan_most(const struct plan *plan)
{
	return MIN(plan->ask.most, (size_t)RECEIPT_VICTIMS);
}

void plan_groups_clear(struct plan_groups *groups)
{
	mem_free(groups->groups);
	mem_free(groups->members);
}

static void look_at(const struct plan *plan, uint32_t pod, struct cluster_victim *ret_victim)
{
	cluster_victim(plan->tools.cluster, pod, plan->ask.now_us, plan->ask.now_real_us,
		       ret_victim);
}

static struct uid uid_of(const struct plan *plan, uint32_t pod)
{
	return cluster_pod_uid(plan->tools.cluster, pod);
}

/* --- members */

static struct plan_group *add_group(struct plan_groups *groups, uint32_t gang)
{
	if (groups->n == groups->room) {
		groups->room = MAX(2 * groups->room, (size_t)16);
		groups->groups =
			mem_realloc_array(groups->groups, groups->room, sizeof(*groups->groups));
	}
	groups->groups[groups->n] = (struct plan_group){
		.gang = gang,
		.first = (uint32_t)groups->n_members,
	};
	return &groups->groups[groups->n++];
}

static void add_member(struct plan_groups *groups, struct plan_group *group, uint32_t pod,
		       uint32_t budget, struct uid uid)
{
	if (groups->n_members == groups->members_room) {
		groups->members_room = MAX(2 * groups->members_room, (size_t)64);
		groups->members = mem_realloc_array(groups->members, groups->members_room,
						    sizeof(*groups->members));
	}
	groups->members[groups->n_members++] = (struct plan_member){pod, budget, uid};
	group->n++;
}

static int64_t freed_of(const struct plan *plan, uint32_t pod, const struct plan_need *need)
{
	const struct cluster *cluster = plan->tools.cluster;

	if (need->ports)
		return cluster_pod_has_ports(cluster, pod, &plan->terms);
	if (need->offer != TABLE_NONE)
		return cluster_pod_units(cluster, pod, need->offer);
	return need->amount < HOST_AMOUNTS ? cluster_pod_takes(cluster, pod, need->amount) : 0;
}

static void add_freed(const struct plan *plan, struct plan_group *group, uint32_t pod)
{
	const struct plan_groups *groups = &plan->groups;

	for (size_t i = 0; i < groups->n_needs; i++)
		group->freed[i] =
			saturating_add(group->freed[i], freed_of(plan, pod, &groups->needs[i]));
}

/* --- gangs */

/* Those that wait, are over or go anyway are not in the way. */
static bool goes_along(const struct plan *plan, uint32_t pod, const struct cluster_victim *victim)
{
	return victim->node != TABLE_NONE && !victim->finished &&
	       !plan_is_going(&plan->ask, pod, victim);
}

bool plan_budgets_allow(const struct cluster *cluster, const struct plan_member *const *members,
			size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t budget = members[i]->budget;
		int64_t going = 0;

		if (budget == TABLE_NONE)
			continue;
		for (size_t k = 0; k < n; k++)
			going += members[k]->budget == budget;
		if (going > cluster_budget_left(cluster, budget))
			return false;
	}
	return true;
}

static bool gang_is_allowed(const struct plan *plan, const struct plan_member *members, size_t n)
{
	const struct plan_member *all[RECEIPT_VICTIMS];

	for (size_t i = 0; i < n; i++)
		all[i] = &members[i];
	return plan_budgets_allow(plan->tools.cluster, all, n);
}

static void judge_gang(const struct plan *plan, struct plan_gang *gang)
{
	const struct cluster *cluster = plan->tools.cluster;
	uint32_t pod = cluster_gang_pod(cluster, gang->gang);
	struct plan_member members[RECEIPT_VICTIMS];

	gang->exemption = PLAN_NONE;
	gang->pods = 0;
	for (; pod != TABLE_NONE; pod = cluster_gang_next(cluster, pod)) {
		struct cluster_victim victim;
		struct plan_cost cost;
		struct uid uid;

		look_at(plan, pod, &victim);
		if (!goes_along(plan, pod, &victim))
			continue;
		if (plan_exempt(&plan->ask, pod, &victim) != PLAN_NONE)
			gang->exemption = PLAN_GANG;
		else if (gang->pods >= plan_most(plan))
			gang->exemption = PLAN_GANG_TOO_LARGE;
		if (gang->exemption != PLAN_NONE)
			return;
		uid = uid_of(plan, pod);
		members[gang->pods++] = (struct plan_member){pod, victim.budget_of, uid};
		cost = plan_cost_of(&plan->ask, &victim);
		plan_cost_add(&gang->cost, &cost);
		if (gang->pods == 1 || plan_uid_compare(uid, gang->least) < 0)
			gang->least = uid;
	}
	if (!gang_is_allowed(plan, members, gang->pods))
		gang->exemption = PLAN_GANG;
}

static bool gang_equals(const void *context, uint32_t handle, const void *key)
{
	const struct plan *plan = context;

	return plan->gangs[handle].gang == *(const uint32_t *)key;
}

static const struct plan_gang *gang_of(struct plan *plan, uint32_t gang)
{
	uint32_t hash = gang * UINT32_C(0x9e3779b9);
	uint32_t at = map_find(&plan->gangs_by_number, hash, gang_equals, plan, &gang);

	if (at != MAP_NONE)
		return &plan->gangs[at];
	if (plan->n_gangs == plan->gangs_room) {
		plan->gangs_room = MAX(2 * plan->gangs_room, (size_t)64);
		plan->gangs =
			mem_realloc_array(plan->gangs, plan->gangs_room, sizeof(*plan->gangs));
	}
	plan->gangs[plan->n_gangs] = (struct plan_gang){.gang = gang};
	judge_gang(plan, &plan->gangs[plan->n_gangs]);
	map_insert(&plan->gangs_by_number, hash, (uint32_t)plan->n_gangs);
	return &plan->gangs[plan->n_gangs++];
}

static void add_gang_members(struct plan *plan, struct plan_group *group)
{
	const struct cluster *cluster = plan->tools.cluster;
	uint32_t pod = cluster_gang_pod(cluster, group->gang);

	for (; pod != TABLE_NONE; pod = cluster_gang_next(cluster, pod)) {
		struct cluster_victim victim;

		look_at(plan, pod, &victim);
		if (goes_along(plan, pod, &victim))
			add_member(&plan->groups, group, pod, victim.budget_of, uid_of(plan, pod));
	}
}

static struct plan_group *find_group(const struct plan_groups *groups, uint32_t gang)
{
	for (size_t i = 0; i < groups->n; i++)
		if (groups->groups[i].gang == gang)
			return &groups->groups[i];
	return NULL;
}

static enum plan_exemption add_to_gang(struct plan *plan, uint32_t pod, uint32_t number, bool whole)
{
	const struct plan_gang *gang = gang_of(plan, number);
	struct plan_group *group;

	if (gang->exemption != PLAN_NONE)
		return gang->exemption;
	group = find_group(&plan->groups, number);
	if (!group) {
		group = add_group(&plan->groups, number);
		group->cost = gang->cost;
		group->least = gang->least;
		if (whole)
			add_gang_members(plan, group);
	}
	add_freed(plan, group, pod);
	return PLAN_NONE;
}

/* --- all */

static enum plan_exemption add_pod(struct plan *plan, uint32_t pod, bool whole)
{
	struct cluster_victim victim;
	enum plan_exemption exemption;
	struct plan_group *group;

	look_at(plan, pod, &victim);
	exemption = plan_exempt(&plan->ask, pod, &victim);
	if (exemption != PLAN_NONE)
		return exemption;
	if (victim.gang != TABLE_NONE)
		return add_to_gang(plan, pod, victim.gang, whole);
	group = add_group(&plan->groups, TABLE_NONE);
	group->cost = plan_cost_of(&plan->ask, &victim);
	group->least = uid_of(plan, pod);
	add_freed(plan, group, pod);
	if (whole)
		add_member(&plan->groups, group, pod, victim.budget_of, group->least);
	return PLAN_NONE;
}

static void set_needs(struct plan *plan, uint32_t node, const struct cluster_units *units)
{
	struct plan_groups *groups = &plan->groups;
	struct cluster_ports_taken taken;
	struct cluster_host_room room;

	groups->n_needs = MIN(plan->place.ask.n, (size_t)PLAN_CELLS);
	for (size_t i = 0; i < groups->n_needs; i++)
		groups->needs[i] = (struct plan_need){
			.offer = units[i].offer,
			.amount = HOST_AMOUNTS,
			.missing =
				units[i].offer == TABLE_NONE ? 0 : units[i].count - units[i].free,
		};
	cluster_host_room(plan->tools.cluster, &plan->place.ask, node, &room);
	for (size_t i = 0; i < HOST_AMOUNTS; i++)
		if (room.asked[i] > 0 && room.asked[i] > room.free[i])
			groups->needs[groups->n_needs++] = (struct plan_need){
				.offer = TABLE_NONE,
				.amount = i,
				.missing = room.asked[i] - room.free[i],
			};
	taken = cluster_ports_taken(plan->tools.cluster, &plan->place.ask, &plan->terms, node);
	if (taken.pods > 0)
		groups->needs[groups->n_needs++] = (struct plan_need){
			.offer = TABLE_NONE,
			.amount = HOST_AMOUNTS,
			.ports = true,
			.missing = taken.pods,
		};
}

static int by_cost(const void *a, const void *b)
{
	const struct plan_group *left = a, *right = b;
	int by = plan_cost_compare(&left->cost, &right->cost);

	return by != 0 ? by : plan_uid_compare(left->least, right->least);
}

void plan_gather(struct plan *plan, uint32_t node, const struct cluster_units *units, bool whole,
		 struct plan_counts *counts)
{
	struct plan_groups *groups = &plan->groups;
	uint32_t pod = cluster_node_pod(plan->tools.cluster, node);

	groups->n = groups->n_members = 0;
	set_needs(plan, node, units);
	for (; pod != TABLE_NONE; pod = cluster_node_pod_next(plan->tools.cluster, pod)) {
		enum plan_exemption exemption;

		cluster_pod_ahead(plan->tools.cluster,
				  cluster_node_pod_next(plan->tools.cluster, pod));
		exemption = add_pod(plan, pod, whole);
		if (!counts)
			continue;
		counts->candidates++;
		counts->eligible += exemption == PLAN_NONE;
		counts->exempt[exemption]++;
	}
	if (whole && groups->n > 1)
		qsort(groups->groups, groups->n, sizeof(*groups->groups), by_cost);
}

/* Few of few: so many passes are faster than to sort them all. */
void plan_groups_select(struct plan_groups *groups, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct plan_group swap = groups->groups[i];
		size_t least = i;

		for (size_t k = i + 1; k < groups->n; k++)
			if (by_cost(&groups->groups[k], &groups->groups[least]) < 0)
				least = k;
		groups->groups[i] = groups->groups[least];
		groups->groups[least] = swap;
	}
}
