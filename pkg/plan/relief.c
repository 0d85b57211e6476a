/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of pods that may go, as for a plan; of these the one that is most to blame. */
#include "plan/relief.h"

#include <inttypes.h>

#include "cluster/looks.h"
#include "cluster/nodes/gpunodes.h"
#include "plan/internal.h"
#include "topo/domain.h"

/* One question. */
struct relief {
	struct plan *plan;
	const struct topo *topo; /* NULL: not known */
	uint32_t node;
	uint64_t cards; /* of the one that suffers */
	struct relief_counts counts;
};

/* What is known of one pod beside it. */
struct neighbour {
	enum relief_share share;
	struct cluster_usage usage;
};

const char *relief_share_text(enum relief_share share)
{
	static const char *const texts[] = {
#define X(name, text) [RELIEF_##name] = text,
		RELIEF_SHARES(X)
#undef X
			[RELIEF_NOTHING] = "nothing",
	};

	return texts[share];
}

/* --- sharing */

static bool one_of_each(const struct topo *topo, enum layout_scope scope, uint64_t a, uint64_t b)
{
	for (; a != 0; a &= a - 1)
		if (topo->cards[topo_set_first(a)].together[scope] & b)
			return true;
	return false;
}

static enum relief_share share_of(const struct relief *relief, uint64_t cards)
{
	static const struct {
		enum relief_share share;
		enum layout_scope scope;
	} shares[] = {
		{RELIEF_SWITCH, LAYOUT_PCIE_SWITCH},
		{RELIEF_NVLINK, LAYOUT_NVLINK},
		{RELIEF_NUMA, LAYOUT_NUMA},
	};

	if (cards & relief->cards)
		return RELIEF_CARD;
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++)
		if (one_of_each(relief->topo, shares[i].scope, relief->cards, cards))
			return shares[i].share;
	return RELIEF_NOTHING;
}

/* --- blame */

static bool pcie_is_own(const struct cluster_usage *usage)
{
	return !usage->pcie_estimated && usage->pcie != AMOUNT_UNKNOWN;
}

static bool is_measured(const struct cluster_usage *usage)
{
	return usage->sm_percent >= 0 || pcie_is_own(usage);
}

static bool is_busy(const struct cluster_usage *usage)
{
	return usage->sm_percent >= RELIEF_BUSY_PERCENT ||
	       (pcie_is_own(usage) && usage->pcie >= RELIEF_BUSY_PCIE);
}

static void count_unmeasured(const struct cluster_usage *usage, struct relief_counts *counts)
{
	bool of_card = usage->shared && usage->source != USAGE_AGENT;

	counts->of_cards += !is_measured(usage) && of_card;
	counts->unmeasured += !is_measured(usage) && !of_card;
}

static bool is_to_blame(struct relief *relief, uint32_t pod, struct neighbour *ret_neighbour)
{
	const struct cluster *cluster = relief->plan->tools.cluster;
	uint64_t cards = cluster_pod_cards(cluster, pod);
	struct neighbour neighbour = {share_of(relief, cards), cluster_pod_usage(cluster, pod)};

	*ret_neighbour = neighbour;
	relief->counts.unplaced += cards == 0;
	relief->counts.apart += cards != 0 && neighbour.share == RELIEF_NOTHING;
	if (neighbour.share == RELIEF_NOTHING)
		return false;
	count_unmeasured(&neighbour.usage, &relief->counts);
	relief->counts.quiet += is_measured(&neighbour.usage) && !is_busy(&neighbour.usage);
	return is_busy(&neighbour.usage);
}

static bool is_worse(const struct neighbour *a, const struct neighbour *b)
{
	return a->share != b->share ? a->share < b->share
				    : a->usage.sm_percent > b->usage.sm_percent;
}

/* Of a group's members on the node the one that is most to blame; TABLE_NONE. */
static uint32_t worst_of(struct relief *relief, const struct plan_group *group,
			 struct neighbour *ret_worst)
{
	const struct plan *plan = relief->plan;
	uint32_t worst = TABLE_NONE;

	for (uint32_t i = 0; i < group->n; i++) {
		uint32_t pod = plan->groups.members[group->first + i].pod;
		struct neighbour neighbour;

		if (cluster_pod_node(plan->tools.cluster, pod) != relief->node ||
		    !is_to_blame(relief, pod, &neighbour))
			continue;
		if (worst != TABLE_NONE && !is_worse(&neighbour, ret_worst))
			continue;
		*ret_worst = neighbour;
		worst = pod;
	}
	return worst;
}

static void take(const struct relief *relief, const struct plan_group *group, uint32_t to_blame,
		 const struct neighbour *neighbour, struct relief_found *ret_found)
{
	struct relief_found found = {
		.node = relief->node,
		.share = neighbour->share,
		.to_blame = to_blame,
		.sm_percent = neighbour->usage.sm_percent,
		.pcie = pcie_is_own(&neighbour->usage) ? neighbour->usage.pcie : AMOUNT_UNKNOWN,
		.source = neighbour->usage.source,
		.n_victims = group->n,
		.cost = group->cost,
	};

	for (uint32_t i = 0; i < group->n; i++)
		found.victims[i] = relief->plan->groups.members[group->first + i].pod;
	*ret_found = found;
}

/* Groups come in rising order of cost. */
static bool choose(struct relief *relief, struct relief_found *ret_found)
{
	const struct plan_groups *groups = &relief->plan->groups;
	enum relief_share nearest = RELIEF_NOTHING;

	for (size_t i = 0; i < groups->n; i++) {
		struct neighbour neighbour = {.share = RELIEF_NOTHING};
		uint32_t worst = worst_of(relief, &groups->groups[i], &neighbour);

		if (worst == TABLE_NONE || neighbour.share >= nearest)
			continue;
		nearest = neighbour.share;
		take(relief, &groups->groups[i], worst, &neighbour, ret_found);
	}
	return nearest != RELIEF_NOTHING;
}

bool relief_find(const struct place_tools *tools, const struct plan_ask *ask,
		 struct relief_found *ret_found, struct relief_counts *ret_counts)
{
	CLEANUP(plan_free) struct plan *plan = plan_new(tools, ask);
	struct relief relief = {
		.plan = plan,
		.node = cluster_pod_node(tools->cluster, ask->pod),
		.cards = cluster_pod_cards(tools->cluster, ask->pod),
	};
	bool found = false;

	if (relief.node != TABLE_NONE && plan_most(plan) > 0) {
		relief.topo = cluster_room(tools->cluster, relief.node).topo;
		plan_gather(plan, relief.node, NULL, true, &relief.counts.plan);
	}
	relief.counts.blind = !relief.topo || relief.cards == 0;
	if (!relief.counts.blind)
		found = choose(&relief, ret_found);
	*ret_counts = relief.counts;
	return found;
}

/* --- texts */

const char *relief_why_spared(const struct cluster *cluster, const struct plan_ask *ask,
			      uint32_t pod)
{
	const struct relief relief = {
		.topo = cluster_room(cluster, cluster_pod_node(cluster, ask->pod)).topo,
		.cards = cluster_pod_cards(cluster, ask->pod),
	};
	uint64_t cards = cluster_pod_cards(cluster, pod);
	struct cluster_usage usage = cluster_pod_usage(cluster, pod);
	struct cluster_victim victim;
	enum plan_exemption exemption;

	cluster_victim(cluster, pod, ask->now_us, ask->now_real_us, &victim);
	exemption = plan_exempt(ask, pod, &victim);
	if (exemption != PLAN_NONE)
		return plan_exemption_text(exemption);
	if (cards == 0)
		return "nothing tells which cards it has";
	if (share_of(&relief, cards) == RELIEF_NOTHING)
		return "it shares nothing with it";
	if (!is_measured(&usage))
		return "nothing tells what it does";
	return is_busy(&usage) ? "another is nearer, or costs less" : "it does little";
}

void relief_describe(const struct cluster *cluster, const struct relief_found *found,
		     struct buf *buf)
{
	struct cluster_pod_name name = cluster_pod_name(cluster, found->to_blame);

	buf_printf(buf, "%.*s/%.*s shares %s with it on %.*s and ", STR_ARGS(name.namespace),
		   STR_ARGS(name.name), relief_share_text(found->share), STR_ARGS(name.node));
	if (found->sm_percent >= RELIEF_BUSY_PERCENT)
		buf_printf(buf, "uses %" PRId32 " %% of a card", found->sm_percent);
	else
		buf_printf(buf, "moves %" PRId64 " MB/s over PCIe", found->pcie / 1000000);
	buf_printf(buf, ", by %s", usage_source_text(found->source));
}

void relief_describe_none(const struct relief_counts *counts, struct buf *buf)
{
	const struct {
		uint32_t n;
		const char *text;
	} rows[] = {
		{counts->apart, "share nothing with it"},
		{counts->unplaced, "have cards that nothing tells"},
		{counts->unmeasured, "share with it, and nothing tells what they do"},
		{counts->of_cards, "share with it, and the figures are their cards', which others "
				   "have, too"},
		{counts->quiet, "share with it, and do little"},
	};

	buf_printf(buf, "0 of %u candidates to blame", counts->plan.candidates);
	for (unsigned int i = PLAN_NONE + 1; i < PLAN_EXEMPTION_COUNT; i++)
		if (counts->plan.exempt[i] > 0)
			buf_printf(buf, "; of %u %s", counts->plan.exempt[i],
				   plan_exemption_text((enum plan_exemption)i));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].n > 0)
			buf_printf(buf, "; %u %s", rows[i].n, rows[i].text);
	if (counts->blind)
		buf_add_cstr(buf, "; nothing tells which cards it has, or how they are wired");
}
