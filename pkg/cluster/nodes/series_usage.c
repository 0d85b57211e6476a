/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What exporters' figures tell of one pod. A card's are the pod's where it has the card for itself,
 * which has to be known: by whole units that kubelet gives to one pod at a time, and by what is
 * told of all other pods of the node.
 */
#include <string.h>

#include "base/checked.h"
#include "cluster/ledger/part.h"
#include "cluster/nodes/gpunodes_internal.h"
#include "cluster/nodes/series_internal.h"
#include "topo/set.h"

#define NONE DEVICE_SERIES_COUNT /* there is no such series */

struct teller {
	enum usage_source source;
	enum device_series of[FIGURE_QUANTITIES];
};

/* Who tells of cards, by their UUIDs or by whose they are; from whom counts first. */
static const struct teller of_cards[] = {
	{USAGE_DCGM, {SERIES_DCGM_MEMORY, SERIES_DCGM_SM, SERIES_DCGM_PCIE}},
	{USAGE_HAMI, {SERIES_HAMI_MEMORY, SERIES_HAMI_SM, NONE}},
};
static const struct teller of_pods[] = {
	{USAGE_AMD, {SERIES_AMD_MEMORY, SERIES_AMD_SM, NONE}},
};
/* Who tells of a pod's own containers. */
static const struct teller own = {USAGE_HAMI, {SERIES_HAMI_OWN_MEMORY, SERIES_HAMI_OWN_SM, NONE}};

/* The pod that is asked about. */
struct holder {
	const struct cluster *cluster;
	const struct pod_record *pod;
	const struct node_record *node;
	uint64_t cards[LIMIT_LAYOUT_GPUS]; /* device_id() of UUIDs, all of them; */
	size_t n_cards;                    /* 0: it is not known which */
	int64_t devices;                   /* that it asks for */
	int64_t units;                     /* the same where all are whole cards; else 0 */
};

struct cluster_usage usage_unknown(void)
{
	return (struct cluster_usage){
		.memory = AMOUNT_UNKNOWN, .pcie = AMOUNT_UNKNOWN, .sm_percent = -1};
}

/* --- what it has */

/* What a pod asks for. */
struct asked {
	unsigned int kinds; /* of its units, a bit each of enum device_sharing */
	int64_t units, devices;
};

/* A card of which a scheduler cuts parts is not whole; nor is said of a claim's what it is. */
static struct asked asked_by(const struct cluster *cluster, const struct pod_record *pod)
{
	uint32_t h = vectors_first(&cluster->vectors, pod->vector);
	struct asked asked = {0};

	if (pod->first_claim != TABLE_NONE || pod->extended_claim != INTERN_EMPTY)
		asked.kinds |= 1U << DEVICE_OTHER;
	for (; h != TABLE_NONE; h = vectors_cell(&cluster->vectors, h)->next) {
		const struct vector_cell *cell = vectors_cell(&cluster->vectors, h);
		struct units units = units_on(cluster, pod->node, pod->product, cell);
		enum device_sharing sharing = DEVICE_OTHER;

		if (units.kind && units.kind->min_memory == units.kind->unit_memory)
			sharing = (enum device_sharing)units.kind->sharing;
		asked.kinds |= 1U << sharing;
		asked.units = saturating_add(asked.units, units.count);
		asked.devices = saturating_add(
			asked.devices, cell->device == INTERN_EMPTY ? cell->count : cell->devices);
	}
	return asked;
}

static void find_cards(struct holder *holder)
{
	const struct cluster *cluster = holder->cluster;
	struct str uuids = intern_str(cluster->intern, holder->node->wires.cards);
	struct str told = intern_str(cluster->intern, holder->pod->devices);
	uint32_t others;
	uint64_t set = pod_cards(cluster, holder->node, holder->pod, &others);

	if (uuids.len == 0) {
		holder->n_cards = MIN(told.len / sizeof(uint64_t), ARRAY_SIZE(holder->cards));
		memcpy(holder->cards, told.data, holder->n_cards * sizeof(uint64_t));
		return;
	}
	if (others > 0)
		return;
	topo_set_for_each(card, set & topo_set_below((uint32_t)(uuids.len / sizeof(uint64_t))))
		memcpy(&holder->cards[holder->n_cards++], &uuids.data[card * sizeof(uint64_t)],
		       sizeof(uint64_t));
}

static void find_holder(const struct cluster *cluster, const struct pod_record *pod,
			struct holder *ret_holder)
{
	struct asked asked = asked_by(cluster, pod);

	*ret_holder = (struct holder){
		.cluster = cluster, .pod = pod, .node = node_at(cluster, pod->node)};
	ret_holder->devices = asked.devices;
	ret_holder->units = asked.kinds == 1U << DEVICE_WHOLE ? asked.units : 0;
	find_cards(ret_holder);
}

/* --- whether it has it for itself */

static bool has(const struct holder *holder, uint64_t card)
{
	for (size_t i = 0; i < holder->n_cards; i++)
		if (holder->cards[i] == card)
			return true;
	return false;
}

/* Partitions are of cards that nobody has as a whole. Who does not tell all of its cards may have
 * any card. */
static bool may_share(const struct holder *holder, const struct pod_record *other)
{
	struct holder its;

	if (asked_by(holder->cluster, other).kinds == 1U << DEVICE_MIG)
		return false;
	find_holder(holder->cluster, other, &its);
	for (size_t i = 0; i < its.n_cards; i++)
		if (has(holder, its.cards[i]))
			return true;
	return its.n_cards == 0 || (int64_t)its.n_cards < its.devices;
}

/* By what the node's agent sees on the cards, where there is one. */
static bool is_used_by_others(const struct holder *holder)
{
	struct str uuids = intern_str(holder->cluster->intern, holder->node->wires.cards);
	size_t n;
	const struct seen_use *uses = seen_uses(holder->cluster, holder->node, &n);

	for (size_t i = 0; i < n; i++) {
		uint32_t card = seen_card_of(holder->cluster, holder->node, uses[i].card);
		uint64_t uuid;

		if (uid_equal(uses[i].uid, holder->pod->uid) ||
		    (card + 1) * sizeof(uuid) > uuids.len)
			continue;
		memcpy(&uuid, &uuids.data[card * sizeof(uuid)], sizeof(uuid));
		if (has(holder, uuid))
			return true;
	}
	return false;
}

static bool is_alone(const struct holder *holder)
{
	if (holder->units == 0 || holder->units != (int64_t)holder->n_cards ||
	    is_used_by_others(holder))
		return false;
	for (uint32_t pod = holder->node->first_pod; pod != TABLE_NONE;
	     pod = pod_at(holder->cluster, pod)->node_next) {
		const struct pod_record *other = pod_at(holder->cluster, pod);

		if (other != holder->pod && !pod_finished(other) && may_share(holder, other))
			return false;
	}
	return true;
}

/* --- sums */

/* What is told of a pod, while it is added up; figures from before it was there are another's. */
struct sum {
	struct cluster_usage usage;
	int64_t values[FIGURE_QUANTITIES]; /* AMOUNT_UNKNOWN */
	uint32_t since_s;                  /* real */
	bool any;
};

static void add(struct sum *sum, enum figure_quantity quantity, const struct series_figure *figure)
{
	int64_t *value = &sum->values[quantity];

	if (!figure || figure->sampled_s < sum->since_s || *value == AMOUNT_UNKNOWN) {
		*value = AMOUNT_UNKNOWN;
		sum->any |= figure != NULL;
		return;
	}
	*value = saturating_add(*value, figure->value);
	sum->usage.sampled_us = sum->usage.sampled_us == 0
					? figure->sampled_us
					: MIN(sum->usage.sampled_us, figure->sampled_us);
	sum->any = true;
}

static struct sum begin(const struct holder *holder, enum usage_source source, int64_t lag_us)
{
	const struct exit_record *exit = exit_at(holder->cluster, holder->pod->exit);

	return (struct sum){
		.usage = {.source = source, .cards = (uint32_t)holder->n_cards},
		.since_s = exit->started_s == 0
				   ? UINT32_MAX
				   : exit->started_s + (uint32_t)(lag_us / USEC_PER_SEC),
	};
}

static struct cluster_usage end(const struct sum *sum)
{
	struct cluster_usage usage = sum->usage;
	int64_t sm = sum->values[FIGURE_SM];

	usage.memory = sum->values[FIGURE_MEMORY];
	usage.pcie = sum->values[FIGURE_PCIE];
	usage.sm_percent = sm == AMOUNT_UNKNOWN ? -1 : (int32_t)MIN(sm, (int64_t)INT32_MAX);
	return usage;
}

static struct sum sum_of_cards(const struct holder *holder, const struct teller *teller)
{
	struct sum sum = begin(holder, teller->source, FIGURE_LAG_US);

	for (size_t q = 0; q < FIGURE_QUANTITIES; q++)
		for (size_t i = 0; i < holder->n_cards; i++) {
			const struct series_figure *figure =
				teller->of[q] == NONE
					? NULL
					: series_of_card(holder->cluster, teller->of[q],
							 holder->cards[i]);

			if (figure && figure->node != holder->pod->node)
				figure = NULL;
			add(&sum, (enum figure_quantity)q, figure);
		}
	return sum;
}

/* Of a pod by its names; all of its cards have to be in it. */
static struct sum sum_of_pod(const struct holder *holder, const struct teller *teller,
			     int64_t lag_us)
{
	struct sum sum = begin(holder, teller->source, lag_us);

	sum.usage.cards = 0;
	for (size_t q = 0; q < FIGURE_QUANTITIES; q++) {
		const struct series_figure *figure =
			teller->of[q] == NONE
				? NULL
				: series_of_pod(holder->cluster, teller->of[q], holder->pod);

		if (figure)
			sum.usage.cards = MAX(sum.usage.cards, figure->cards);
		add(&sum, (enum figure_quantity)q, figure);
	}
	return sum;
}

static bool tells(const struct sum *sum)
{
	for (size_t q = 0; q < FIGURE_QUANTITIES; q++)
		if (sum->values[q] != AMOUNT_UNKNOWN)
			return true;
	return false;
}

/* The card is measured, and not what the pod does on it. */
static struct cluster_usage of_others_too(const struct sum *sum)
{
	struct cluster_usage usage = usage_unknown();

	usage.source = sum->usage.source;
	usage.cards = MAX(sum->usage.cards, 1U);
	usage.sampled_us = sum->usage.sampled_us;
	usage.shared = true;
	return usage;
}

/* --- of one pod */

static bool any_series(const struct cluster *cluster)
{
	for (size_t i = 0; i < DEVICE_SERIES_COUNT; i++)
		if (cluster->series[i].n > 0)
			return true;
	return false;
}

/* The first that tells anything; whoever else tells of the cards is not asked. */
static struct cluster_usage by_cards(const struct holder *holder)
{
	struct sum sum = {.any = false};

	for (size_t i = 0; i < ARRAY_SIZE(of_cards) && !sum.any; i++)
		sum = sum_of_cards(holder, &of_cards[i]);
	for (size_t i = 0; i < ARRAY_SIZE(of_pods) && !sum.any; i++) {
		sum = sum_of_pod(holder, &of_pods[i], FIGURE_LAG_US);
		if (sum.any && (int64_t)sum.usage.cards != holder->units)
			return of_others_too(&sum);
	}
	if (!sum.any)
		return usage_unknown();
	return is_alone(holder) ? end(&sum) : of_others_too(&sum);
}

struct cluster_usage series_usage(const struct cluster *cluster, const struct pod_record *pod)
{
	struct holder holder;
	struct sum sum;

	if (pod->node == TABLE_NONE || pod_finished(pod) || !any_series(cluster))
		return usage_unknown();
	find_holder(cluster, pod, &holder);
	sum = sum_of_pod(&holder, &own, 0);
	if (sum.any && tells(&sum) && (int64_t)sum.usage.cards >= holder.devices)
		return end(&sum);
	return by_cards(&holder);
}
