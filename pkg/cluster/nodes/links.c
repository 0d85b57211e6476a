/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left of PCIe links, in tenths: what was measured changes with every sample, and whatever
 * placement reads of a node is to change seldom.
 */
#include "cluster/nodes/links.h"

#include <string.h>

#include "base/checked.h"
#include "base/macros.h"
#include "cluster/ledger/part.h"
#include "cluster/nodes/gpunodes_internal.h"
#include "model/layout.h"
#include "topo/set.h"

#define MEGA   1000000
#define TENTHS CLUSTER_LINK_WHOLE

/* MB/s in one direction; 0: not known. */
struct link_speeds {
	uint32_t card, uplink; /* of its own; of the topmost bridge above it */
};

_Static_assert(LIMIT_LAYOUT_GPUS * sizeof(struct link_speeds) <= LIMIT_INTERNED_STRING,
	       "speeds fit into one string");

/* What is known of a node's cards, while it is put together. */
struct traffic {
	int64_t moved[LIMIT_LAYOUT_GPUS];    /* bytes per second, of those of whom it is known */
	uint32_t unknown[LIMIT_LAYOUT_GPUS]; /* how many there are besides */
	bool any;                            /* something is known */
};

/* --- speeds */

static uint32_t megabytes(int64_t bytes)
{
	if (bytes <= 0) /* AMOUNT_UNKNOWN */
		return 0;
	return (uint32_t)MIN((bytes + MEGA - 1) / MEGA, (int64_t)UINT32_MAX);
}

static int64_t uplink_of(const struct layout *layout, uint32_t bridge)
{
	if (bridge == LAYOUT_NONE)
		return AMOUNT_UNKNOWN;
	while (layout->bridges[bridge].parent != LAYOUT_NONE)
		bridge = layout->bridges[bridge].parent;
	return layout->bridges[bridge].speed;
}

uint32_t link_speeds_ref(struct cluster *cluster, const struct layout *layout)
{
	struct link_speeds speeds[LIMIT_LAYOUT_GPUS];

	for (size_t i = 0; i < layout->n_gpus; i++)
		speeds[i] = (struct link_speeds){
			megabytes(layout->gpus[i].speed),
			megabytes(uplink_of(layout, layout->gpus[i].bridge)),
		};
	return intern_ref(cluster->intern,
			  (struct str){(const char *)speeds, layout->n_gpus * sizeof(*speeds)});
}

/* --- what pods move */

static int64_t declared_on_one(const struct pod_record *pod, uint64_t cards)
{
	return (int64_t)pod->pcie_mb * MEGA / (int64_t)topo_set_count(cards);
}

/* What of a pod on one of its cards is not yet in the sums of what was measured. */
static void add_share(struct traffic *traffic, uint32_t card, const struct seen_use *use,
		      int64_t declared)
{
	int64_t measured = use ? use->pcie : AMOUNT_UNKNOWN;

	if (declared == 0) {
		traffic->unknown[card] += use == NULL;
		return;
	}
	traffic->any = true;
	if (use && measured == AMOUNT_UNKNOWN)
		traffic->unknown[card]--; /* it counted as unknown */
	if (measured == AMOUNT_UNKNOWN)
		measured = 0;
	if (declared > measured)
		traffic->moved[card] = saturating_add(traffic->moved[card], declared - measured);
}

static void add_pod(const struct cluster *cluster, const struct node_record *node,
		    const struct pod_record *pod, struct traffic *traffic)
{
	const struct topo *topo = layout_at(cluster, node->wires.layout)->topo;
	uint32_t others;
	uint64_t cards = pod_cards(cluster, node, pod, &others);
	int64_t declared = 0;

	if (cards == 0)
		cards = pod->cards;
	cards &= topo_set_below(topo->n_cards);
	if (cards == 0)
		return;
	if (pod->pcie_mb > 0)
		declared = declared_on_one(pod, cards);
	topo_set_for_each(card, cards)
		add_share(traffic, (uint32_t)card,
			  seen_use_of(cluster, node, pod->uid, (uint32_t)card), declared);
}

static void add_measured(const struct cluster *cluster, const struct node_record *node,
			 struct traffic *traffic)
{
	uint32_t n_cards = layout_at(cluster, node->wires.layout)->topo->n_cards, card;
	size_t n;
	const struct seen_use *uses = seen_uses(cluster, node, &n);

	for (size_t i = 0; i < n; i++) {
		card = seen_card_of(cluster, node, uses[i].card);
		if (card >= n_cards)
			continue;
		if (uses[i].pcie == AMOUNT_UNKNOWN) {
			traffic->unknown[card]++;
			continue;
		}
		traffic->any = true;
		traffic->moved[card] = saturating_add(traffic->moved[card], uses[i].pcie);
	}
}

/* --- what is left */

/* Of a link of @speed: as much goes the one way as the other. */
static uint8_t left_of(int64_t moved, uint32_t speed)
{
	int64_t most = 2 * (int64_t)speed * MEGA, used;

	if (moved >= most)
		return 0;
	used = (saturating_mul(moved, TENTHS) + most / 2) / most;
	return (uint8_t)(TENTHS - MIN(used, (int64_t)TENTHS));
}

static uint8_t left_of_card(const struct traffic *traffic, uint32_t card, uint32_t speed)
{
	if (traffic->unknown[card] > 0)
		return CLUSTER_LINK_UNKNOWN;
	if (traffic->moved[card] == 0)
		return TENTHS;
	return speed == 0 ? CLUSTER_LINK_UNKNOWN : left_of(traffic->moved[card], speed);
}

/* At most so much: of those that are not known nothing is counted. */
static uint8_t left_of_uplink(const struct topo *topo, const struct traffic *traffic, uint32_t card,
			      uint32_t speed)
{
	uint64_t below = topo->cards[card].together[LAYOUT_PCIE_SWITCH] | topo_set_of(card);
	int64_t moved = 0;

	if (speed == 0)
		return TENTHS;
	topo_set_for_each(other, below)
		moved = saturating_add(moved, traffic->moved[other]);
	return left_of(moved, speed);
}

static uint32_t left_on(struct cluster *cluster, const struct node_record *node,
			const struct traffic *traffic)
{
	const struct topo *topo = layout_at(cluster, node->wires.layout)->topo;
	struct str text = intern_str(cluster->intern, node->wires.speeds);
	struct link_speeds speeds[LIMIT_LAYOUT_GPUS] = {{0}};
	uint8_t left[LIMIT_LAYOUT_GPUS];

	if (!traffic->any)
		return INTERN_EMPTY;
	memcpy(speeds, text.data, MIN(text.len, sizeof(speeds)));
	for (uint32_t i = 0; i < topo->n_cards; i++) {
		left[i] = left_of_card(traffic, i, speeds[i].card);
		if (left[i] != CLUSTER_LINK_UNKNOWN)
			left[i] = MIN(left[i], left_of_uplink(topo, traffic, i, speeds[i].uplink));
	}
	return intern_ref(cluster->intern, (struct str){(const char *)left, topo->n_cards});
}

static bool anything_is_known(const struct cluster *cluster, const struct node_record *node)
{
	size_t n;

	seen_uses(cluster, node, &n);
	for (uint32_t pod = node->first_pod; n == 0 && pod != TABLE_NONE;
	     pod = pod_at(cluster, pod)->node_next)
		n += pod_at(cluster, pod)->pcie_mb > 0 && !pod_finished(pod_at(cluster, pod));
	return n > 0;
}

bool links_concern(const struct node_record *node, const struct pod_record *pod)
{
	return pod->pcie_mb > 0 || node->links != INTERN_EMPTY;
}

bool links_refresh(struct cluster *cluster, uint32_t node)
{
	struct node_record *record = node_at(cluster, node);
	struct traffic traffic = {.any = false};
	uint32_t before = record->links;

	record->links = INTERN_EMPTY;
	if (record->wires.layout != TABLE_NONE && anything_is_known(cluster, record)) {
		add_measured(cluster, record, &traffic);
		for (uint32_t pod = record->first_pod; pod != TABLE_NONE;
		     pod = pod_at(cluster, pod)->node_next)
			if (!pod_finished(pod_at(cluster, pod)))
				add_pod(cluster, record, pod_at(cluster, pod), &traffic);
		record->links = left_on(cluster, record, &traffic);
	}
	intern_unref(cluster->intern, before);
	return record->links != before;
}
