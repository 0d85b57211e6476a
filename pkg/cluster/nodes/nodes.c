/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes: who they are and what they offer. A node that pods name and that was not seen is a record
 * without offers. When a node's offers change, its own pods are charged anew.
 */
#include "base/limits.h"
#include "cluster/internal.h"
#include "cluster/nodes/gpunodes_internal.h"

/* A node's offers as kinds, each holding a reference. */
struct kinds {
	uint32_t kinds[LIMIT_OFFERS_PER_NODE];
	int64_t counts[LIMIT_OFFERS_PER_NODE], allocatable[LIMIT_OFFERS_PER_NODE];
	size_t len;
};

uint32_t node_find(const struct cluster *cluster, struct str name)
{
	return name_find(cluster, CLUSTER_NODES, name);
}

uint32_t node_get(struct cluster *cluster, struct str name)
{
	uint32_t node = node_find(cluster, name);
	struct node_record *record;

	if (node != TABLE_NONE)
		return node;
	node = table_add(&cluster->nodes);
	record = node_at(cluster, node);
	record->name = intern_ref(cluster->intern, name);
	record->first_pod = record->first_offer = record->first_device = TABLE_NONE;
	record->first_hold = record->taints = record->first_occupant = TABLE_NONE;
	record->own = record->wires = NODE_LAYOUT_NONE;
	record->published = record->state = record->told = LAYOUT_IS_ABSENT;
	record->agent_lives = agent_lives_on(cluster, name);
	record->gpu_node = gpu_node_find(cluster, name);
	seen_pin(cluster, record); /* which may know pods that nobody else knows yet */
	name_insert(cluster, CLUSTER_NODES, node);
	room_born(cluster, node);
	return node;
}

void node_release(struct cluster *cluster, uint32_t node)
{
	struct node_record *record = node_at(cluster, node);

	if (record->exists || record->first_pod != TABLE_NONE || record->devices > 0 ||
	    record->bystanders > 0 || record->first_hold != TABLE_NONE || record->looked_at_next ||
	    node == cluster->taken_node)
		return;
	layout_forget(cluster, node);
	intern_unref(cluster->intern, record->links);
	name_remove(cluster, CLUSTER_NODES, node);
	intern_unref(cluster->intern, record->name);
	table_remove(&cluster->nodes, node);
	room_died(cluster, node);
}

/* --- offers */

static void kinds_unref(struct cluster *cluster, const struct kinds *kinds)
{
	for (size_t i = 0; i < kinds->len; i++)
		kind_unref(cluster, kinds->kinds[i]);
}

static int kinds_ref(struct cluster *cluster, const struct node_facts *facts,
		     struct kinds *ret_kinds, struct error *err)
{
	ret_kinds->len = 0;
	if (facts->n_offers > LIMIT_OFFERS_PER_NODE)
		return error_set(err, ERROR_LIMIT, "the node offers more than %d GPU resources",
				 LIMIT_OFFERS_PER_NODE);
	for (size_t i = 0; i < facts->n_offers; i++) {
		if (kind_ref(cluster, &facts->offers[i], &ret_kinds->kinds[i], err) < 0) {
			kinds_unref(cluster, ret_kinds);
			return -1;
		}
		ret_kinds->allocatable[ret_kinds->len] = facts->offers[i].allocatable;
		ret_kinds->counts[ret_kinds->len++] = facts->offers[i].count;
	}
	return 0;
}

/* The node's offer of this very kind, or TABLE_NONE. */
static uint32_t offer_find(const struct cluster *cluster, const struct node_record *node,
			   uint32_t kind)
{
	uint32_t offer = node->first_offer;

	while (offer != TABLE_NONE && offer_at(cluster, offer)->kind != kind)
		offer = offer_at(cluster, offer)->next;
	return offer;
}

/* Whether the node offers these kinds already, in whichever order. */
static bool offers_are(const struct cluster *cluster, const struct node_record *node,
		       const struct kinds *kinds)
{
	size_t n = 0;

	for (uint32_t offer = node->first_offer; offer != TABLE_NONE;
	     offer = offer_at(cluster, offer)->next)
		n++;
	if (n != kinds->len)
		return false;
	for (size_t i = 0; i < kinds->len; i++)
		if (offer_find(cluster, node, kinds->kinds[i]) == TABLE_NONE)
			return false;
	return true;
}

/* Takes over the references that @kinds hold. */
static void offers_set(struct cluster *cluster, uint32_t node, const struct kinds *kinds)
{
	uint32_t offer = node_at(cluster, node)->first_offer, first = TABLE_NONE;

	cluster->wants_changed++;
	while (offer != TABLE_NONE) {
		struct offer_cell cell = *offer_at(cluster, offer);

		kind_unref(cluster, cell.kind);
		table_remove(&cluster->offers, offer);
		offer = cell.next;
	}
	for (size_t i = kinds->len; i-- > 0;) {
		offer = table_add(&cluster->offers);
		*offer_at(cluster, offer) = (struct offer_cell){
			.count = kinds->counts[i],
			.allocatable = kinds->allocatable[i],
			.kind = kinds->kinds[i],
			.next = first,
		};
		first = offer;
	}
	node_at(cluster, node)->first_offer = first;
}

static void offers_count(struct cluster *cluster, uint32_t node, const struct kinds *kinds)
{
	for (size_t i = 0; i < kinds->len; i++) {
		uint32_t offer = offer_find(cluster, node_at(cluster, node), kinds->kinds[i]);

		if (offer_at(cluster, offer)->allocatable != kinds->allocatable[i])
			cluster->wants_changed++;
		offer_at(cluster, offer)->count = kinds->counts[i];
		offer_at(cluster, offer)->allocatable = kinds->allocatable[i];
	}
}

/* Charges the node's pods by its new offers. */
static void offers_change(struct cluster *cluster, uint32_t node, const struct kinds *kinds)
{
	uint32_t first = node_at(cluster, node)->first_pod;

	for (uint32_t pod = first; pod != TABLE_NONE; pod = pod_at(cluster, pod)->node_next)
		ledger_remove(cluster, pod);
	offers_set(cluster, node, kinds);
	prices_settle(cluster);
	for (uint32_t pod = first; pod != TABLE_NONE; pod = pod_at(cluster, pod)->node_next) {
		ledger_add(cluster, pod);
		cluster_mark_dirty(cluster, pod_at(cluster, pod)->namespace);
	}
	room_refresh(cluster, node);
}

/* Whether a node is there decides about pods that are stuck on it. */
static void readiness_change(struct cluster *cluster, uint32_t node, bool exists, uint8_t ready)
{
	struct node_record *record = node_at(cluster, node);
	bool same = record->exists == exists && record->ready == ready;

	record->exists = exists;
	record->ready = ready;
	if (same)
		return;
	for (uint32_t pod = record->first_pod; pod != TABLE_NONE;
	     pod = pod_at(cluster, pod)->node_next)
		release_concerns(cluster, pod_at(cluster, pod));
}

/* --- the object */

static int apply(struct cluster *cluster, const struct node_facts *facts, struct error *err)
{
	struct uid uid = uid_from(&cluster->key, facts->uid);
	bool stale = cluster->prices_stale;
	struct node_record *record;
	struct kinds kinds;
	uint32_t node;

	if (check_names(STR_NONE, facts->name, err) < 0)
		return -1;
	node = node_find(cluster, facts->name);
	if (node != TABLE_NONE) {
		record = node_at(cluster, node);
		record->epoch = cluster->epochs[CLUSTER_NODES];
		if (record->exists && uid_equal(record->uid, uid) &&
		    is_older(facts->resource_version, record->resource_version))
			return 0;
	}
	if (kinds_ref(cluster, facts, &kinds, err) < 0)
		return -1;
	node = node_get(cluster, facts->name);
	record = node_at(cluster, node);
	readiness_change(cluster, node, true, (uint8_t)facts->ready);
	record->reconfiguring = facts->reconfiguring;
	record->reserved_cpus = facts->reserved_cpus;
	host_follow(cluster, node, facts->host);
	record->uid = uid;
	record->resource_version = facts->resource_version;
	record->epoch = cluster->epochs[CLUSTER_NODES];
	layout_follow(cluster, node, facts);
	if (offers_are(cluster, record, &kinds)) {
		offers_count(cluster, node, &kinds);
		kinds_unref(cluster, &kinds);
		cluster->prices_stale = stale;
	} else {
		offers_change(cluster, node, &kinds);
	}
	layout_settle(cluster, node);
	room_changed(cluster, node);
	return 0;
}

int cluster_apply_node(struct cluster *cluster, const struct node_facts *node, struct error *err)
{
	if (apply(cluster, node, err) < 0)
		return refuse(cluster, CLUSTER_NODES, STR_NONE, node->name, err);
	return 0;
}

void node_gone(struct cluster *cluster, uint32_t node)
{
	static const struct kinds none = {.len = 0};

	readiness_change(cluster, node, false, NODE_READY_UNKNOWN);
	host_follow(cluster, node, NULL);
	layout_forget(cluster, node);
	if (node_at(cluster, node)->first_offer != TABLE_NONE)
		offers_change(cluster, node, &none);
	layout_settle(cluster, node);
	room_refresh(cluster, node); /* and so it has changed, if in nothing else */
	node_release(cluster, node);
}
