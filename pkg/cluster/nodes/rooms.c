/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is held of a node: units of what it offers, and cards of its layout. Worked out anew, from
 * the pods that are on it, whenever one of these changes; who comes is added.
 */
#include "base/checked.h"
#include "base/macros.h"
#include "cluster/dra/dra_internal.h"
#include "cluster/ledger/part.h"
#include "cluster/nodes/gpunodes_internal.h"
#include "cluster/nodes/links.h"
#include "cluster/placing/placement.h"
#include "cluster/placing/trial.h"
#include "model/resource.h"
#include "topo/domain.h"

/* By the pod's own status. */
static uint64_t told_cards(const struct cluster *cluster, const struct node_record *node,
			   const struct pod_record *pod, uint32_t *ret_others)
{
	struct str cards = intern_str(cluster->intern, node->wires.cards);
	struct str devices = intern_str(cluster->intern, pod->devices);
	uint64_t set = 0;

	*ret_others = 0;
	for (size_t i = 0; i + sizeof(uint64_t) <= devices.len; i += sizeof(uint64_t)) {
		uint64_t found = 0;

		for (size_t k = 0; k + sizeof(uint64_t) <= cards.len; k += sizeof(uint64_t))
			if (memcmp(&devices.data[i], &cards.data[k], sizeof(uint64_t)) == 0)
				found |= topo_set_of((uint32_t)(k / sizeof(uint64_t)));
		set |= found;
		*ret_others += found == 0;
	}
	return set;
}

uint64_t pod_cards(const struct cluster *cluster, const struct node_record *node,
		   const struct pod_record *pod, uint32_t *ret_others)
{
	const struct seen_pod *seen = seen_pod_of(cluster, node, pod);
	uint32_t claimed;
	uint64_t set = pod_claim_cards(cluster, pod, &claimed);

	if (seen && seen->n_cards + seen->others > 0)
		set |= seen_cards(cluster, node, seen, ret_others);
	else
		set |= told_cards(cluster, node, pod, ret_others);
	*ret_others += claimed;
	return set;
}

/* A container without devices is aligned with none. */
static bool one_has_both(const struct pod_alignment *alignment)
{
	return alignment->cpus_together && alignment->whole_cpus;
}

/*
 * A pod's CPUs are where its cards are, if those lie together and kubelet looks at all of them at
 * once, which is for the pod or in the one container that has both: it aligns or it does not pin.
 */
static void pin(const struct cluster *cluster, struct node_record *node,
		const struct pod_record *pod, uint64_t seen)
{
	const struct topo *topo = node->wires.layout != TABLE_NONE
					  ? layout_at(cluster, node->wires.layout)->topo
					  : NULL;
	uint32_t numa = LAYOUT_NONE;

	if (topo && seen != 0 && (topo->kubelet.pod_scope || one_has_both(&pod->alignment)) &&
	    topo_in_one_domain(topo, LAYOUT_NUMA, seen) == TOPO_YES)
		numa = topo_domain(topo, LAYOUT_NUMA, topo_set_first(seen));
	if (numa < LIMIT_POLICY_NUMAS)
		node->pinned[numa] += pod->alignment.cpus;
	else
		node->pinned_somewhere += pod->alignment.cpus;
}

int64_t pod_whole(const struct cluster *cluster, uint32_t node, const struct pod_record *pod)
{
	uint32_t cell = vectors_first(&cluster->vectors, pod->vector);
	int64_t sum = 0;

	for (; cell != TABLE_NONE; cell = vectors_cell(&cluster->vectors, cell)->next) {
		struct units units = units_on(cluster, node, pod->product,
					      vectors_cell(&cluster->vectors, cell));

		if (units.offer != TABLE_NONE && units.kind->sharing == DEVICE_WHOLE)
			sum = saturating_add(sum, units.count);
	}
	return sum;
}

void room_hold_cards(const struct cluster *cluster, struct node_record *node,
		     const struct pod_record *pod)
{
	uint32_t others;
	uint64_t seen = pod_cards(cluster, node, pod, &others);

	/*
	 * kubelet takes back the CPUs and cards of a pod that is on its way out when its containers
	 * have ended, and may have given them to others before a watch shows it. Its CPUs count
	 * where they are until then: whoever got them counts besides, so that there seem to be too
	 * few at worst. Its cards have to count as free, too: where all free ones have to be in one
	 * place, too few would not do.
	 */
	if (!seen_pod_of(cluster, node, pod)) /* else seen_pin() counts it */
		pin(cluster, node, pod, seen);
	if (seen == 0 || pod->terminating)
		node->assumed_cards |= seen | pod->cards;
	else
		node->seen_cards |= seen;
	if (pod->terminating && others == 0 &&
	    topo_set_count(seen) == pod_whole(cluster, pod->node, pod))
		node->leaving_cards |= seen;
}

void room_clear_cards(struct node_record *node)
{
	node->seen_cards = node->assumed_cards = node->leaving_cards = 0;
	memset(node->pinned, 0, sizeof(node->pinned));
	node->pinned_somewhere = 0;
}

void room_settle_cards(struct node_record *node)
{
	node->assumed_cards &= ~node->seen_cards;
	node->leaving_cards &= ~node->seen_cards;
}

static void hold(struct cluster *cluster, uint32_t node, const struct pod_record *pod)
{
	uint32_t cell = vectors_first(&cluster->vectors, pod->vector);

	room_hold_cards(cluster, node_at(cluster, node), pod);
	for (; cell != TABLE_NONE; cell = vectors_cell(&cluster->vectors, cell)->next) {
		struct units units = units_on(cluster, node, pod->product,
					      vectors_cell(&cluster->vectors, cell));
		struct offer_cell *offer;

		if (units.offer == TABLE_NONE)
			continue;
		offer = offer_at(cluster, units.offer);
		offer->held = saturating_add(offer->held, units.count);
	}
}

void room_add(struct cluster *cluster, uint32_t pod)
{
	struct pod_record *record = pod_at(cluster, pod);
	struct node_record *node;

	if (record->node == TABLE_NONE || pod_finished(record))
		return;
	node = node_at(cluster, record->node);
	hold(cluster, record->node, record);
	room_settle_cards(node);
	if (links_concern(node, record))
		links_refresh(cluster, record->node);
	room_changed(cluster, record->node);
	mark_node(cluster, record->node);
}

void room_refresh(struct cluster *cluster, uint32_t node)
{
	struct node_record *record;

	if (!table_has(&cluster->nodes, node))
		return;
	record = node_at(cluster, node);
	room_clear_cards(record);
	seen_pin(cluster, record);
	for (uint32_t offer = record->first_offer; offer != TABLE_NONE;
	     offer = offer_at(cluster, offer)->next)
		offer_at(cluster, offer)->held = 0;
	for (uint32_t pod = record->first_pod; pod != TABLE_NONE;
	     pod = pod_at(cluster, pod)->node_next)
		if (!pod_finished(pod_at(cluster, pod)))
			hold(cluster, node, pod_at(cluster, pod));
	room_settle_cards(record);
	links_refresh(cluster, node);
	room_changed(cluster, node);
	mark_node(cluster, node);
}

int64_t room_cards(const struct cluster *cluster, const struct node_record *node)
{
	int64_t sum = 0;

	for (uint32_t offer = node->first_offer; offer != TABLE_NONE;
	     offer = offer_at(cluster, offer)->next)
		if (kind_at(cluster, offer_at(cluster, offer)->kind)->sharing == DEVICE_WHOLE)
			sum = saturating_add(sum, offer_at(cluster, offer)->count);
	return sum;
}

/* --- reading */

#define CACHE_LINE 64

bool cluster_node_exists(const struct cluster *cluster, uint32_t node)
{
	return table_has(&cluster->nodes, node) && node_at(cluster, node)->exists;
}

void cluster_node_ahead(const struct cluster *cluster, uint32_t node)
{
	const char *record = table_at(&cluster->nodes, node);

	for (size_t at = 0; at < sizeof(struct node_record); at += CACHE_LINE)
		__builtin_prefetch(record + at);
}

void cluster_node_ahead_offer(const struct cluster *cluster, uint32_t node)
{
	uint32_t offer = node_at(cluster, node)->first_offer;

	if (offer < cluster->offers.end)
		__builtin_prefetch(table_at(&cluster->offers, offer));
}

bool cluster_node_offers(const struct cluster *cluster, uint32_t node)
{
	uint32_t device;

	if (!table_has(&cluster->nodes, node))
		return false;
	device = node_at(cluster, node)->first_device;
	while (device != TABLE_NONE && device_at(&cluster->dra, device)->kind == TABLE_NONE)
		device = device_at(&cluster->dra, device)->node_next;
	return node_at(cluster, node)->first_offer != TABLE_NONE || device != TABLE_NONE;
}

static struct cluster_room room_of(const struct cluster *cluster, const struct node_record *record)
{
	struct cluster_room room = {
		.state = (enum layout_state)record->state,
		.seen = record->seen_cards,
		.assumed = record->assumed_cards,
		.leaving = record->leaving_cards,
	};

	memcpy(room.pinned, record->pinned, sizeof(room.pinned));
	room.pinned_somewhere = record->pinned_somewhere;
	room.reserved_cpus = record->reserved_cpus;
	if (room.state != LAYOUT_IS_KNOWN)
		return room;
	room.topo = layout_at(cluster, record->wires.layout)->topo;
	room.layout = layout_at(cluster, record->wires.layout)->number;
	if (record->links != INTERN_EMPTY)
		room.links = intern_str(cluster->intern, record->links);
	return room;
}

struct cluster_room cluster_room(const struct cluster *cluster, uint32_t node)
{
	return room_of(cluster, node_at(cluster, node));
}

struct cluster_room cluster_room_for(const struct cluster *cluster, const struct cluster_ask *ask,
				     uint32_t node)
{
	const struct node_record *record = node_at(cluster, node);
	struct node_record tried;
	struct cluster_room room;

	if (ask->trial) {
		trial_room(cluster, ask, node, &tried);
		record = &tried;
	}
	room = room_of(cluster, record);
	if (record->first_hold != TABLE_NONE)
		room.assumed |= holds_cards(cluster, ask, node) & ~room.seen;
	return room;
}

struct str cluster_layout_problem(const struct cluster *cluster, uint32_t node)
{
	const struct node_record *record = node_at(cluster, node);

	if (record->state == LAYOUT_IS_CONTRADICTS &&
	    layout_at(cluster, record->wires.layout)->topo->counted)
		return STR("its NodeResourceTopology does not count just the GPUs that it offers, "
			   "or not all of those are whole and healthy cards");
	return intern_str(cluster->intern, record->layout_problem);
}

int64_t cluster_pod_units(const struct cluster *cluster, uint32_t pod_handle, uint32_t offer)
{
	const struct pod_record *pod = pod_at(cluster, pod_handle);
	uint32_t node = pod->node, cell = vectors_first(&cluster->vectors, pod->vector);
	int64_t sum = 0;

	if (node == TABLE_NONE || pod_finished(pod))
		return 0;
	for (; cell != TABLE_NONE; cell = vectors_cell(&cluster->vectors, cell)->next) {
		struct units units = units_on(cluster, node, pod->product,
					      vectors_cell(&cluster->vectors, cell));

		if (units.offer == offer)
			sum = saturating_add(sum, units.count);
	}
	return sum;
}

/* Units of @offer that the pod of an ask holds itself, being assumed to be there. */
static int64_t own_units(const struct cluster *cluster, const struct cluster_ask *ask,
			 uint32_t node, uint32_t offer)
{
	if (ask->pod == TABLE_NONE || pod_at(cluster, ask->pod)->node != node)
		return 0;
	return cluster_pod_units(cluster, ask->pod, offer);
}

/* Where something is told by others, a charge follows from all that the node offers. */
static uint64_t price_of_units(const struct cluster *cluster, uint32_t node,
			       const struct vector_cell *cell, const struct offer_kind *kind)
{
	uint64_t handle = UINT32_MAX;

	if (kind)
		handle = (uint64_t)(kind - (const struct offer_kind *)cluster->kinds.records);
	return cell->told == 0 ? handle : handle | ((uint64_t)node + 1) << 32;
}

/* The cards that the units of an offer are parts of. */
static int64_t cards_of(const struct cluster *cluster, const struct node_record *node,
			const struct offer_cell *offer, const struct offer_kind *kind)
{
	int64_t parts;

	if (kind->sharing != DEVICE_FRACTION)
		return 0;
	parts = resource_parts_of_card(intern_str(cluster->intern, kind->resource));
	if (node->wires.layout != TABLE_NONE)
		return MAX(layout_at(cluster, node->wires.layout)->topo->n_cards, 1U);
	return MAX(parts > 0 ? offer->allocatable / parts : room_cards(cluster, node), 1);
}

static void units_of_cell(const struct cluster *cluster, const struct cluster_ask *ask,
			  uint32_t node, const struct vector_cell *cell, struct cluster_units *to)
{
	struct units units = units_on(cluster, node, ask->product, cell);
	const struct offer_cell *offer;

	to->resource = units.resource;
	to->price = price_of_units(cluster, node, cell, units.kind);
	to->count = units.count;
	to->kind = to->offer = TABLE_NONE;
	to->free = to->total = to->withdrawn = to->cards = 0;
	to->product = units.kind ? units.kind->product : INTERN_EMPTY;
	to->whole = false;
	to->offered = units.kind != NULL;
	if (units.offer == TABLE_NONE)
		return;
	offer = offer_at(cluster, units.offer);
	to->kind = offer->kind;
	to->offer = units.offer;
	to->total = offer->allocatable;
	to->withdrawn = offer->count - offer->allocatable;
	to->free = offer->allocatable - offer->held + own_units(cluster, ask, node, units.offer);
	to->whole = units.kind->sharing == DEVICE_WHOLE;
	to->cards = cards_of(cluster, node_at(cluster, node), offer, units.kind);
	if (ask->trial)
		to->free += trial_units(cluster, ask, node, units.offer);
	if (node_at(cluster, node)->first_hold != TABLE_NONE)
		to->free -= holds_units(cluster, ask, node, units.offer);
}

void cluster_units_on(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t node,
		      struct cluster_units *ret_units)
{
	for (size_t i = 0; i < ask->n; i++)
		units_of_cell(cluster, ask, node, &ask->cells[i], &ret_units[i]);
}
