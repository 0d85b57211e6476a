/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans. First every node is sifted: what is missing there, who may go, and what the cheapest of
 * these cost at least for so much. Then the nodes are searched, the one that may be cheapest first,
 * until what is left cannot be better than what was found.
 */
#include "plan/plan.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/macros.h"
#include "base/mem.h"
#include "cluster/looks.h"
#include "cluster/read.h"
#include "plan/internal.h"

#define TRIALS_OF_NODE 4 /* take as long as one node does otherwise */

static void learn_terms(struct plan *plan)
{
	arena_reset(&plan->kept);
	plan->unproven =
		!cluster_terms_of(plan->tools.cluster, plan->ask.pod, &plan->kept, &plan->terms) ||
		!cluster_terms_known(&plan->terms);
}

struct plan *plan_new(const struct place_tools *tools, const struct plan_ask *ask)
{
	struct plan *plan = mem_alloc(sizeof(*plan));

	plan->tools = *tools;
	plan->tools.trial = NULL;
	plan->ask = *ask;
	plan->trial.gone = plan->gone;
	plan->fits_on = TABLE_NONE;
	plan->uid = cluster_pod_uid(tools->cluster, ask->pod);
	arena_init(&plan->kept, LIMIT_DECODE_ARENA);
	learn_terms(plan);
	return plan;
}

void plan_free(struct plan *plan)
{
	if (!plan)
		return;
	plan_groups_clear(&plan->groups);
	map_clear(&plan->gangs_by_number);
	arena_clear(&plan->kept);
	mem_free(plan->gangs);
	mem_free(plan->leads);
	mem_free(plan->sizes);
	mem_free(plan);
}

/* False: the pod is gone, or needs nothing more. */
static bool begin(struct plan *plan)
{
	const struct cluster *cluster = plan->tools.cluster;
	struct cluster_ask ask;

	if (!cluster_pod_is(cluster, plan->ask.pod, plan->uid) ||
	    cluster_pod_finished(cluster, plan->ask.pod) ||
	    cluster_pod_node(cluster, plan->ask.pod) != TABLE_NONE)
		return false;
	arena_reset(plan->tools.arena);
	cluster_ask_of_pod(cluster, plan->ask.pod, &ask);
	place_begin(&plan->place, &plan->tools, &ask);
	return true;
}

/* --- sifting */

static bool could_have_room(const struct cluster_units *units, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!units[i].offered ||
		    (units[i].kind != TABLE_NONE && units[i].total < units[i].count))
			return false;
	return n > 0;
}

static bool quota_allows(struct plan *plan, uint32_t node)
{
	struct place_answer said = place_allows(&plan->place, node);
	struct buf text CLEANUP(buf_clear);

	buf_init(&text, sizeof(plan->quota) - 1);
	if (said.verdict == PLACE_FITS)
		return true;
	if (plan->quota_says++ > 0)
		return false;
	place_describe(&plan->place, said, &text);
	if (text.len > 0)
		memcpy(plan->quota, text.data, text.len);
	return false;
}

/* The largest of @n, which is taken off. */
static int64_t take_largest(int64_t *sizes, size_t n)
{
	size_t largest = 0;
	int64_t size;

	for (size_t i = 1; i < n; i++)
		if (sizes[i] > sizes[largest])
			largest = i;
	size = sizes[largest];
	sizes[largest] = sizes[n - 1];
	return size;
}

/* So many groups at least, the largest first, for what is missing; 0: all are too few. */
static size_t fewest(struct plan *plan, size_t need)
{
	const struct plan_groups *groups = &plan->groups;
	int64_t freed = 0;
	size_t n = 0;

	if (groups->n > plan->sizes_room) {
		plan->sizes_room = 2 * groups->n;
		plan->sizes =
			mem_realloc_array(plan->sizes, plan->sizes_room, sizeof(*plan->sizes));
	}
	for (size_t i = 0; i < groups->n; i++)
		plan->sizes[i] = groups->groups[i].freed[need];
	while (n < groups->n && (n == 0 || freed < groups->needs[need].missing)) {
		freed = saturating_add(freed, take_largest(plan->sizes, groups->n - n));
		n++;
	}
	return freed < groups->needs[need].missing ? 0 : n;
}

/* False where nothing that may go is enough. What costs more may still be of fewer pods. */
static bool bound(struct plan *plan, struct plan_lead *lead)
{
	struct plan_groups *groups = &plan->groups;
	size_t n = 1;

	if (groups->n == 0)
		return false;
	for (size_t need = 0; need < groups->n_needs; need++) {
		size_t least = fewest(plan, need);

		if (least == 0)
			return false;
		n = MAX(n, least);
	}
	if (n > plan_most(plan))
		return false;
	plan_groups_select(groups, n);
	lead->cost = (struct plan_cost){0};
	lead->least = groups->groups[0].least;
	for (size_t i = 0; i < n; i++)
		plan_cost_add(&lead->cost, &groups->groups[i].cost);
	for (size_t i = 1; i < groups->n; i++)
		if (plan_uid_compare(groups->groups[i].least, lead->least) < 0)
			lead->least = groups->groups[i].least;
	return true;
}

/* Enough cards could be freed, but not of what else it takes: the first such amount. */
static void count_lack(struct plan *plan)
{
	const struct plan_groups *groups = &plan->groups;

	for (size_t need = 0; need < groups->n_needs; need++) {
		int64_t freed = 0;

		for (size_t i = 0; i < groups->n; i++)
			freed = saturating_add(freed, groups->groups[i].freed[need]);
		if (freed >= groups->needs[need].missing)
			continue;
		if (groups->needs[need].ports)
			plan->counts.unhosted[HOST_NO_PORT]++;
		else if (groups->needs[need].amount < HOST_AMOUNTS)
			plan->counts.unhosted[host_lacks(groups->needs[need].amount)]++;
		return;
	}
}

/* False where kube-scheduler would not take it there whoever goes. */
static bool could_host(struct plan *plan, uint32_t node)
{
	enum host_verdict verdict =
		host_could_fit(plan->tools.cluster, &plan->place.ask, &plan->terms, node);

	if (verdict != HOST_FITS)
		plan->counts.unhosted[verdict]++;
	return verdict == HOST_FITS;
}

/* The hold may be gone before the plan is described. */
static struct str keep(struct plan *plan, struct str text)
{
	const char *copy = arena_strndup(&plan->kept, text.data, text.len);

	return copy ? (struct str){copy, text.len} : STR_NONE;
}

/* Whether it fits as it is; or only not before who room is held for, who is there in a moment. */
static void look_now(struct plan *plan, uint32_t node)
{
	const struct cluster *cluster = plan->tools.cluster;
	struct place_answer found;
	struct hold_view hold;

	if (host_has_room(cluster, &plan->place.ask, &plan->terms, node) != HOST_FITS)
		return;
	found = place_fit(&plan->place, node);
	if (found.verdict == PLACE_FITS)
		plan->fits_on = node;
	if (found.verdict != PLACE_HELD || plan->ask.hasty || plan_in_doubt(plan) ||
	    !place_might_fit(&plan->place, node, 0))
		return;
	hold = cluster_hold_view(cluster, found.detail);
	plan->doubt = (struct plan_doubt){true, false, node, keep(plan, hold.namespace),
					  keep(plan, hold.name)};
}

static void add_lead(struct plan *plan, const struct plan_lead *lead)
{
	if (plan->n_leads == plan->leads_room) {
		plan->leads_room = MAX(2 * plan->leads_room, (size_t)256);
		plan->leads =
			mem_realloc_array(plan->leads, plan->leads_room, sizeof(*plan->leads));
	}
	plan->leads[plan->n_leads++] = *lead;
}

static void sift(struct plan *plan, uint32_t node)
{
	const struct cluster *cluster = plan->tools.cluster;
	struct cluster_units units[LIMIT_RESOURCES_PER_POD];
	struct plan_lead lead = {.node = node};

	if (!cluster_node_exists(cluster, node) || !cluster_node_offers(cluster, node) ||
	    !cluster_node_ready(cluster, node) || !str_empty(plan->place.ask.stranger))
		return;
	cluster_units_on(cluster, &plan->place.ask, node, units);
	if (!could_have_room(units, plan->place.ask.n))
		return;
	plan->counts.nodes++;
	if (!could_host(plan, node) || !quota_allows(plan, node))
		return;
	look_now(plan, node);
	plan_gather(plan, node, units, false, &plan->counts);
	if (bound(plan, &lead))
		add_lead(plan, &lead);
	else
		count_lack(plan);
}

static int by_bound(const void *a, const void *b)
{
	const struct plan_lead *left = a, *right = b;
	int by = plan_cost_compare(&left->cost, &right->cost);

	return by != 0 ? by : plan_uid_compare(left->least, right->least);
}

/* --- steps */

/* What is left in order is no better than what was found. */
static bool is_over(const struct plan *plan, const struct plan_lead *lead)
{
	int by;

	if (!plan->found)
		return false;
	by = plan_cost_compare(&lead->cost, &plan->best.cost);
	return by > 0 || (by == 0 && plan_uid_compare(lead->least, plan->best.uids[0]) > 0);
}

#define LEADS_PICKED 8 /* before they are sorted: mostly the first few are all that is searched */

static void pick_lead(struct plan *plan)
{
	struct plan_lead *rest = &plan->leads[plan->next_lead], swap = rest[0];
	size_t n = plan->n_leads - plan->next_lead, least = 0;

	if (plan->next_lead == LEADS_PICKED)
		qsort(rest, n, sizeof(*rest), by_bound);
	if (plan->next_lead >= LEADS_PICKED)
		return;
	for (size_t i = 1; i < n; i++)
		if (by_bound(&rest[i], &rest[least]) < 0)
			least = i;
	rest[0] = rest[least];
	rest[least] = swap;
}

static bool search_next(struct plan *plan)
{
	const struct plan_lead *lead;

	if (plan->next_lead == plan->n_leads)
		return false;
	pick_lead(plan);
	lead = &plan->leads[plan->next_lead++];
	if (is_over(plan, lead))
		return false;
	if (cluster_node_exists(plan->tools.cluster, lead->node))
		plan_search(plan, lead->node);
	return true;
}

/* Of the node that is likely to be next. */
static void ahead(const struct plan *plan, uint32_t node)
{
	const struct cluster *cluster = plan->tools.cluster;

	if (cluster_node_next(cluster, node) != node)
		return;
	cluster_node_ahead(cluster, node);
	cluster_pod_ahead(cluster, cluster_node_pod(cluster, node));
}

static bool sift_next(struct plan *plan)
{
	uint32_t node = cluster_node_next(plan->tools.cluster, plan->next_node);

	if (node == TABLE_NONE)
		return false;
	plan->next_node = node + 1;
	ahead(plan, plan->next_node);
	sift(plan, node);
	return plan->fits_on == TABLE_NONE;
}

bool plan_step(struct plan *plan, size_t nodes)
{
	uint32_t trials;

	if (plan->ask.most == 0 || plan->unproven || plan->fits_on != TABLE_NONE || !begin(plan))
		return true;
	for (; !plan->sifted && nodes > 0; nodes--)
		plan->sifted = !sift_next(plan);
	if (plan->fits_on != TABLE_NONE)
		return true;
	if (!plan->sifted)
		return false;
	if (plan_in_doubt(plan))
		return true;
	trials = plan->trials;
	for (; nodes > (plan->trials - trials) / TRIALS_OF_NODE; nodes--)
		if (!search_next(plan))
			return true;
	return false;
}

/* --- the end */

/* Groups that make up the victims, each whole; false where some do not. */
static bool find_victims(const struct plan *plan, size_t *ret_groups, size_t *ret_n)
{
	const struct plan_groups *groups = &plan->groups;
	size_t pods = 0, n = 0;

	for (size_t i = 0; i < groups->n; i++) {
		size_t in = 0;

		for (uint32_t k = 0; k < groups->groups[i].n; k++) {
			const struct plan_member *member =
				&groups->members[groups->groups[i].first + k];

			for (size_t v = 0; v < plan->best.n; v++)
				in += plan->best.pods[v] == member->pod &&
				      uid_equal(plan->best.uids[v], member->uid);
		}
		if (in == 0)
			continue;
		if (in != groups->groups[i].n || n == RECEIPT_VICTIMS)
			return false;
		ret_groups[n++] = i;
		pods += in;
	}
	*ret_n = n;
	return pods == plan->best.n;
}

/* All of @chosen but the one that is @kept: how many pods. */
static size_t let_go(struct plan *plan, const size_t *chosen, size_t n, size_t kept)
{
	size_t gone = 0;

	for (size_t i = 0; i < n; i++) {
		const struct plan_group *group = &plan->groups.groups[chosen[i]];

		for (uint32_t k = 0; i != kept && k < group->n; k++)
			plan->gone[gone++] = plan->groups.members[group->first + k].pod;
	}
	return gone;
}

static bool fits_without(struct plan *plan, const size_t *chosen, size_t n, size_t kept)
{
	return plan_try(plan, plan->best.node, let_go(plan, chosen, n, kept));
}

/* And the pods of its node that are about to be gone; the first of them is named. */
static size_t let_end(struct plan *plan, size_t gone, struct plan_doubt *doubt)
{
	const struct cluster *cluster = plan->tools.cluster;
	uint32_t pod = cluster_node_pod(cluster, plan->best.node);

	for (; pod != TABLE_NONE && gone < ARRAY_SIZE(plan->gone);
	     pod = cluster_node_pod_next(cluster, pod)) {
		if (!cluster_pod_ends_soon(cluster, pod, plan->ask.now_real_us))
			continue;
		if (!doubt->ending) {
			doubt->namespace = cluster_pod_name(cluster, pod).namespace;
			doubt->name = cluster_pod_name(cluster, pod).name;
		}
		doubt->ending = true;
		plan->gone[gone++] = pod;
	}
	return gone;
}

/* Whether it might fit in a moment, when it is told whose cards are, and who ends is gone. */
static bool might_fit_without(struct plan *plan, const size_t *chosen, size_t n, size_t kept)
{
	const struct cluster *cluster = plan->tools.cluster;
	uint32_t node = plan->best.node;
	struct cluster_untold untold;

	plan->doubt = (struct plan_doubt){.node = node};
	plan->trial.n = let_end(plan, let_go(plan, chosen, n, kept), &plan->doubt);
	place_try(&plan->place, &plan->trial);
	untold = cluster_untold(cluster, &plan->place.ask, node, plan->ask.now_real_us);
	if (untold.cards > 0)
		plan->doubt = (struct plan_doubt){true, false, node, untold.namespace, untold.name};
	return plan_in_doubt(plan) &&
	       host_has_room(cluster, &plan->place.ask, &plan->terms, node) == HOST_FITS &&
	       place_might_fit(&plan->place, node, untold.cards);
}

static bool may_be_too_many(struct plan *plan, const size_t *chosen, size_t n)
{
	for (size_t i = 0; !plan->ask.hasty && i < n; i++)
		if (might_fit_without(plan, chosen, n, i))
			return true;
	plan->doubt = (struct plan_doubt){0};
	return false;
}

static bool budgets_allow(const struct plan *plan, const size_t *chosen, size_t n)
{
	const struct plan_member *members[RECEIPT_VICTIMS];
	size_t n_members = 0;

	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < plan->groups.groups[chosen[i]].n; k++)
			members[n_members++] =
				&plan->groups.members[plan->groups.groups[chosen[i]].first + k];
	return plan_budgets_allow(plan->tools.cluster, members, n_members);
}

static bool prove(struct plan *plan)
{
	struct cluster_units units[LIMIT_RESOURCES_PER_POD];
	size_t chosen[RECEIPT_VICTIMS], n;

	learn_terms(plan);
	if (plan->unproven || !cluster_node_exists(plan->tools.cluster, plan->best.node) ||
	    !cluster_node_ready(plan->tools.cluster, plan->best.node) ||
	    host_could_fit(plan->tools.cluster, &plan->place.ask, &plan->terms, plan->best.node) !=
		    HOST_FITS)
		return false;
	plan->n_gangs = 0;
	map_clear(&plan->gangs_by_number);
	cluster_units_on(plan->tools.cluster, &plan->place.ask, plan->best.node, units);
	plan->of_best = (struct plan_counts){.nodes = 1};
	plan_gather(plan, plan->best.node, units, true, &plan->of_best);
	if (!find_victims(plan, chosen, &n) || !budgets_allow(plan, chosen, n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (fits_without(plan, chosen, n, i))
			return false;
	return !may_be_too_many(plan, chosen, n) && fits_without(plan, chosen, n, n);
}

bool plan_finish(struct plan *plan, struct plan_found *ret_found)
{
	if (!plan->found || !begin(plan) || !prove(plan)) {
		plan->found = false;
		return false;
	}
	plan->cards = place_cards(&plan->place, plan->best.node);
	ret_found->node = plan->best.node;
	ret_found->cards = plan->cards;
	memcpy(ret_found->victims, plan->best.pods, sizeof(ret_found->victims));
	ret_found->n_victims = plan->best.n;
	ret_found->cost = plan->best.cost;
	ret_found->exact = !plan->inexact;
	return true;
}

bool plan_in_doubt(const struct plan *plan)
{
	return plan->doubt.untold || plan->doubt.ending;
}

struct plan_counts plan_counts(const struct plan *plan)
{
	return plan->counts;
}
