/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room that is held for pods that others made room for. Few at a time: what a pod's event costs
 * while there are any is a look at each; what a node's answer costs is its own ones.
 */
#include "cluster/placing/reserve.h"

#include "base/checked.h"
#include "cluster/ledger/part.h"
#include "topo/domain.h"

/* --- whose it is */

static bool is_for(const struct cluster *cluster, const struct hold_record *hold,
		   const struct pod_record *pod)
{
	bool same = uid_equal(pod->uid, hold->uid);

	if (hold->owner == INTERN_EMPTY)
		return same;
	return !same && pod->owner == hold->owner &&
	       namespace_at(cluster, pod->namespace)->name == hold->namespace &&
	       pod->created_s >= real_seconds(hold->since_us);
}

/* --- coming and going */

static uint32_t find(const struct cluster *cluster, uint32_t tenant, uint32_t id)
{
	uint32_t hold = table_next(&cluster->holds, 0);

	while (hold != TABLE_NONE &&
	       (hold_at(cluster, hold)->tenant != tenant || hold_at(cluster, hold)->id != id))
		hold = table_next(&cluster->holds, hold + 1);
	return hold;
}

static void link_to_node(struct cluster *cluster, uint32_t hold, uint32_t node)
{
	struct hold_record *record = hold_at(cluster, hold);

	record->node = node;
	record->node_next = node_at(cluster, node)->first_hold;
	node_at(cluster, node)->first_hold = hold;
	room_changed(cluster, node);
}

static void unlink_from_node(struct cluster *cluster, uint32_t hold)
{
	uint32_t node = hold_at(cluster, hold)->node;
	uint32_t *link = &node_at(cluster, node)->first_hold;

	while (*link != hold)
		link = &hold_at(cluster, *link)->node_next;
	*link = hold_at(cluster, hold)->node_next;
	room_changed(cluster, node);
	node_release(cluster, node);
}

static bool is_over(const struct hold_record *hold)
{
	return hold->served || hold->gone || hold->late;
}

/* While its receipt is open it stays where it is, and counts again when @why no longer holds. */
static void set(struct cluster *cluster, struct hold_record *hold, bool *why, bool value)
{
	if (*why == value)
		return;
	*why = value;
	room_changed(cluster, hold->node);
}

static void forget(struct cluster *cluster, uint32_t hold)
{
	struct hold_record *record = hold_at(cluster, hold);

	unlink_from_node(cluster, hold);
	intern_unref(cluster->intern, record->id);
	intern_unref(cluster->intern, record->tenant);
	intern_unref(cluster->intern, record->namespace);
	intern_unref(cluster->intern, record->name);
	intern_unref(cluster->intern, record->owner);
	if (record->vector != TABLE_NONE) {
		vectors_unref(&cluster->vectors, record->vector);
		intern_unref(cluster->intern, record->product);
	}
	demand_unref(cluster, record->demand);
	texts_unref(&cluster->texts, record->ports);
	table_remove(&cluster->holds, hold);
}

/* What its pod asks for, once one is seen; one that runs has that already. */
static void learn(struct cluster *cluster, struct hold_record *hold, const struct pod_record *pod)
{
	if (hold->objective || hold->vector != TABLE_NONE || pod->vector == TABLE_NONE)
		return;
	hold->demand = demand_ref_handle(cluster, exit_at(cluster, pod->exit)->demand);
	hold->ports = texts_ref_handle(
		&cluster->texts, occupant_ports(cluster, exit_at(cluster, pod->exit)->occupant));
	hold->vector = vectors_ref_handle(&cluster->vectors, pod->vector);
	hold->product = intern_ref_handle(cluster->intern, pod->product);
	hold->alignment = pod->alignment;
	hold->most = pod->most;
}

/* It is seen, so it is not gone: a list that lacked it may have been an old one. */
static void follow(struct cluster *cluster, uint32_t hold, const struct pod_record *pod)
{
	struct hold_record *record = hold_at(cluster, hold);

	if (record->served || !is_for(cluster, record, pod))
		return;
	learn(cluster, record, pod);
	set(cluster, record, &record->gone, false);
	if (pod_finished(pod) ||
	    (pod->node != TABLE_NONE && pod->assumption == TABLE_NONE && !record->objective))
		set(cluster, record, &record->served, true);
	else
		record->taken = pod->assumption != TABLE_NONE && pod->node == record->node;
}

void holds_follow(struct cluster *cluster, uint32_t pod)
{
	for (uint32_t hold = table_next(&cluster->holds, 0); hold != TABLE_NONE;
	     hold = table_next(&cluster->holds, hold + 1))
		follow(cluster, hold, pod_at(cluster, pod));
}

/* Another pod of its workload may come instead, where that is who it is for. */
void holds_forget_pod(struct cluster *cluster, uint32_t pod)
{
	for (uint32_t hold = table_next(&cluster->holds, 0); hold != TABLE_NONE;
	     hold = table_next(&cluster->holds, hold + 1)) {
		struct hold_record *record = hold_at(cluster, hold);

		if (record->served || !is_for(cluster, record, pod_at(cluster, pod)))
			continue;
		record->taken = false;
		if (record->owner == INTERN_EMPTY)
			set(cluster, record, &record->gone, true);
	}
}

/* Its pod may be there already: a new leader reads of pods and of receipts in any order. */
static void follow_pods(struct cluster *cluster, uint32_t hold)
{
	const struct hold_record *record = hold_at(cluster, hold);
	uint32_t ns = namespace_find(cluster, intern_str(cluster->intern, record->namespace));
	uint32_t pod = ns == TABLE_NONE ? TABLE_NONE : namespace_at(cluster, ns)->first_pod;

	for (; pod != TABLE_NONE; pod = pod_at(cluster, pod)->namespace_next)
		follow(cluster, hold, pod_at(cluster, pod));
}

static bool is_bounded(const struct cluster_hold *hold)
{
	return hold->id.len <= LIMIT_INTERNED_STRING && hold->tenant.len <= LIMIT_NAME &&
	       hold->namespace.len <= LIMIT_NAME && hold->name.len <= LIMIT_NAME &&
	       hold->owner.len <= LIMIT_INTERNED_STRING;
}

static uint32_t add(struct cluster *cluster, const struct cluster_hold *from)
{
	uint32_t hold = table_add(&cluster->holds);
	struct hold_record *record = hold_at(cluster, hold);

	*record = (struct hold_record){
		.cards = from->cards,
		.uid = uid_from(&cluster->key, from->uid),
		.since_us = from->since_us,
		.until_us = from->until_us,
		.id = intern_ref(cluster->intern, from->id),
		.tenant = intern_ref(cluster->intern, from->tenant),
		.namespace = intern_ref(cluster->intern, from->namespace),
		.name = intern_ref(cluster->intern, from->name),
		.owner = intern_ref(cluster->intern, from->owner),
		.vector = TABLE_NONE,
		.demand = TABLE_NONE,
		.ports = TABLE_NONE,
		.product = INTERN_EMPTY,
		.tier = (uint8_t)from->tier,
		.objective = from->objective,
	};
	link_to_node(cluster, hold, from->node);
	if (from->pod != TABLE_NONE)
		learn(cluster, record, pod_at(cluster, from->pod));
	follow_pods(cluster, hold);
	return hold;
}

bool cluster_reserve(struct cluster *cluster, const struct cluster_hold *hold)
{
	uint32_t id = intern_find(cluster->intern, hold->id);
	uint32_t tenant = intern_find(cluster->intern, hold->tenant);
	uint32_t before = find(cluster, tenant, id);

	if (!is_bounded(hold) || (before == TABLE_NONE && cluster->holds.count >= HOLDS_MOST))
		return false;
	if (before != TABLE_NONE)
		forget(cluster, before);
	add(cluster, hold);
	return true;
}

void cluster_release_hold(struct cluster *cluster, struct str tenant, struct str id)
{
	uint32_t hold = find(cluster, intern_find(cluster->intern, tenant),
			     intern_find(cluster->intern, id));

	if (hold != TABLE_NONE && !hold_at(cluster, hold)->seen)
		forget(cluster, hold); /* a receipt that comes after all holds it anew */
}

void cluster_expire_holds(struct cluster *cluster, int64_t now_real_us, int64_t *ret_next_us)
{
	int64_t next_us = TIME_NEVER;

	for (uint32_t hold = table_next(&cluster->holds, 0); hold != TABLE_NONE;
	     hold = table_next(&cluster->holds, hold + 1)) {
		struct hold_record *record = hold_at(cluster, hold);
		bool late = record->until_us <= now_real_us ||
			    receipt_is_ahead(record->since_us, now_real_us);

		if (!late)
			next_us = MIN(next_us, record->until_us);
		if (late && !record->seen)
			forget(cluster, hold);
		else
			set(cluster, record, &record->late, late);
	}
	*ret_next_us = next_us;
}

uint32_t cluster_holds(const struct cluster *cluster)
{
	uint32_t n = 0;

	for (uint32_t hold = table_next(&cluster->holds, 0); hold != TABLE_NONE;
	     hold = table_next(&cluster->holds, hold + 1))
		n += !is_over(hold_at(cluster, hold));
	return n;
}

/* --- by receipts */

static void add_of_receipt(struct cluster *cluster, const struct tenant_facts *facts,
			   const struct receipt *receipt)
{
	const struct receipt_pod *pod = &receipt->beneficiary;
	bool successor = receipt->cause == RECEIPT_MISMATCH;
	struct cluster_hold hold = {
		.id = receipt->id,
		.tenant = facts->name,
		.cards = receipt->cards,
		.tier = facts->spec.tier,
		.namespace = pod->namespace,
		.name = pod->name,
		.uid = pod->uid,
		.owner = successor ? pod->owner : STR_NONE,
		.since_us = receipt->at_us,
		.until_us = receipt_held_until(receipt),
		.objective =
			receipt->cause == RECEIPT_OBJECTIVE || receipt->cause == RECEIPT_OFFENDER,
	};

	if (!is_bounded(&hold) || receipt->node.len > LIMIT_NAME ||
	    cluster->holds.count >= HOLDS_MOST)
		return;
	hold.pod = cluster_pod_find(cluster, pod->namespace, pod->name, pod->uid);
	hold.node = node_get(cluster, receipt->node);
	add(cluster, &hold);
}

static void follow_receipt(struct cluster *cluster, const struct tenant_facts *facts,
			   uint32_t tenant, const struct receipt *receipt)
{
	uint32_t hold;

	if (receipt->outcome != RECEIPT_ISSUED || str_empty(receipt->node))
		return;
	hold = find(cluster, tenant, intern_find(cluster->intern, receipt->id));
	if (hold == TABLE_NONE) {
		add_of_receipt(cluster, facts, receipt);
		hold = find(cluster, tenant, intern_find(cluster->intern, receipt->id));
	}
	if (hold == TABLE_NONE)
		return;
	hold_at(cluster, hold)->seen = hold_at(cluster, hold)->shown = true;
	hold_at(cluster, hold)->tier = (uint8_t)facts->spec.tier;
}

/* One that no TenantQoS has shown yet was reserved just now; of a tenant that is gone none will. */
static void forget_others(struct cluster *cluster, uint32_t tenant, bool gone)
{
	for (uint32_t hold = table_next(&cluster->holds, 0); hold != TABLE_NONE;
	     hold = table_next(&cluster->holds, hold + 1)) {
		struct hold_record *record = hold_at(cluster, hold);

		if (record->tenant == tenant && (record->seen || gone) && !record->shown)
			forget(cluster, hold);
		else
			record->shown = false;
	}
}

void holds_follow_tenant(struct cluster *cluster, uint32_t tenant, const struct tenant_facts *facts)
{
	uint32_t name = tenant_at(cluster, tenant)->name;

	for (size_t i = 0; facts && i < facts->status.n_receipts; i++)
		follow_receipt(cluster, facts, name, &facts->status.receipts[i]);
	if (cluster->holds.count > 0)
		forget_others(cluster, name, !facts);
}

/* --- reading */

static bool is_lower(const struct cluster *cluster, const struct hold_record *hold,
		     uint32_t namespace)
{
	uint32_t tenant =
		namespace == TABLE_NONE ? TABLE_NONE : namespace_at(cluster, namespace)->tenant;

	return tenant != TABLE_NONE && hold->tier < tenant_at(cluster, tenant)->tier;
}

/* For the pod of an ask, or one that it has beside it. */
static bool is_own(const struct cluster *cluster, const struct hold_record *hold,
		   const struct cluster_ask *ask)
{
	return (ask->hold != TABLE_NONE && hold == hold_at(cluster, ask->hold)) ||
	       (ask->pod != TABLE_NONE && is_for(cluster, hold, pod_at(cluster, ask->pod))) ||
	       (ask->beside != TABLE_NONE && is_for(cluster, hold, pod_at(cluster, ask->beside)));
}

static bool is_against(const struct cluster *cluster, const struct hold_record *hold,
		       const struct cluster_ask *ask)
{
	return !hold->taken && !is_over(hold) && !ask->past_holds &&
	       !is_lower(cluster, hold, ask->namespace) && !is_own(cluster, hold, ask);
}

static int64_t units_of(const struct cluster *cluster, const struct hold_record *hold,
			uint32_t offer)
{
	uint32_t cell;
	int64_t sum = 0;

	if (hold->vector == TABLE_NONE)
		return kind_at(cluster, offer_at(cluster, offer)->kind)->sharing == DEVICE_WHOLE
			       ? (int64_t)topo_set_count(hold->cards)
			       : 0;
	cell = vectors_first(&cluster->vectors, hold->vector);
	for (; cell != TABLE_NONE; cell = vectors_cell(&cluster->vectors, cell)->next) {
		struct units units = units_on(cluster, hold->node, hold->product,
					      vectors_cell(&cluster->vectors, cell));

		if (units.offer == offer)
			sum = saturating_add(sum, units.count);
	}
	return sum;
}

int64_t holds_units(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t node,
		    uint32_t offer)
{
	uint32_t hold = node_at(cluster, node)->first_hold;
	int64_t sum = 0;

	for (; hold != TABLE_NONE; hold = hold_at(cluster, hold)->node_next)
		if (is_against(cluster, hold_at(cluster, hold), ask))
			sum = saturating_add(sum, units_of(cluster, hold_at(cluster, hold), offer));
	return sum;
}

int64_t hold_whole(const struct cluster *cluster, uint32_t hold)
{
	const struct hold_record *record = hold_at(cluster, hold);
	uint32_t offer = node_at(cluster, record->node)->first_offer;
	int64_t sum = 0;

	for (; offer != TABLE_NONE; offer = offer_at(cluster, offer)->next)
		if (kind_at(cluster, offer_at(cluster, offer)->kind)->sharing == DEVICE_WHOLE)
			sum = saturating_add(sum, units_of(cluster, record, offer));
	return sum;
}

uint64_t holds_cards(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t node)
{
	uint32_t hold = node_at(cluster, node)->first_hold;
	uint64_t cards = 0;

	for (; hold != TABLE_NONE; hold = hold_at(cluster, hold)->node_next)
		if (is_against(cluster, hold_at(cluster, hold), ask))
			cards |= hold_at(cluster, hold)->cards;
	return cards;
}

int64_t holds_amount(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t node,
		     size_t amount)
{
	uint32_t hold = node_at(cluster, node)->first_hold;
	int64_t sum = 0;

	for (; hold != TABLE_NONE; hold = hold_at(cluster, hold)->node_next) {
		const struct hold_record *record = hold_at(cluster, hold);

		if (!record->objective && is_against(cluster, record, ask))
			sum += demand_amount_of(cluster, record->demand, amount);
	}
	return sum;
}

static uint32_t next_against(const struct cluster *cluster, const struct cluster_ask *ask,
			     uint32_t hold)
{
	while (hold != TABLE_NONE && !is_against(cluster, hold_at(cluster, hold), ask))
		hold = hold_at(cluster, hold)->node_next;
	return hold;
}

uint32_t holds_next(const struct cluster *cluster, const struct cluster_ask *ask, uint32_t hold)
{
	hold = next_against(cluster, ask, hold);
	while (hold != TABLE_NONE && hold_at(cluster, hold)->objective)
		hold = next_against(cluster, ask, hold_at(cluster, hold)->node_next);
	return hold;
}

uint32_t cluster_hold_against(const struct cluster *cluster, const struct cluster_ask *ask,
			      uint32_t node)
{
	return next_against(cluster, ask, node_at(cluster, node)->first_hold);
}

uint32_t cluster_hold_against_next(const struct cluster *cluster, const struct cluster_ask *ask,
				   uint32_t hold)
{
	return next_against(cluster, ask, hold_at(cluster, hold)->node_next);
}

struct hold_view cluster_hold_view(const struct cluster *cluster, uint32_t hold)
{
	const struct hold_record *record = hold_at(cluster, hold);

	return (struct hold_view){
		.cards = record->cards,
		.namespace = intern_str(cluster->intern, record->namespace),
		.name = intern_str(cluster->intern, record->name),
		.id = intern_str(cluster->intern, record->id),
	};
}
