/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ResourceClaims that pods name. A claim is in use from when a pod that names it is on a node, also
 * where that is only assumed, or the claim's own allocation is not seen yet: watches of pods and of
 * claims know nothing of each other.
 */
#include "cluster/dra/dra_internal.h"
#include "cluster/ledger/part.h"
#include "topo/set.h"

/* --- a pod's own list */

bool pod_claims_are(const struct cluster *cluster, const struct pod_record *pod,
		    const struct pod_facts *facts)
{
	uint32_t h = pod->first_claim;

	for (size_t i = 0; i < facts->n_claims; i++) {
		if (h == TABLE_NONE ||
		    !str_equal(intern_str(cluster->intern, pod_claim_at(&cluster->dra, h)->name),
			       facts->claims[i]))
			return false;
		h = pod_claim_at(&cluster->dra, h)->next;
	}
	return h == TABLE_NONE;
}

void pod_claims_drop(struct cluster *cluster, struct pod_record *pod)
{
	struct dra *dra = &cluster->dra;

	while (pod->first_claim != TABLE_NONE) {
		uint32_t h = pod->first_claim;

		pod->first_claim = pod_claim_at(dra, h)->next;
		intern_unref(cluster->intern, pod_claim_at(dra, h)->name);
		table_remove(&dra->pod_claims, h);
	}
}

void pod_claims_set(struct cluster *cluster, uint32_t pod, const struct pod_facts *facts)
{
	struct pod_record *record = pod_at(cluster, pod);

	pod_claims_drop(cluster, record);
	for (size_t i = facts->n_claims; i-- > 0;) {
		uint32_t h = table_add(&cluster->dra.pod_claims);

		*pod_claim_at(&cluster->dra, h) = (struct pod_claim){
			.pod = pod,
			.name = intern_ref(cluster->intern, facts->claims[i]),
			.next = record->first_claim,
		};
		record->first_claim = h;
	}
}

/* --- who holds a claim */

static struct claim_holder *holder_at(const struct dra *dra, uint32_t holder)
{
	return (struct claim_holder *)table_at(&dra->claim_holders, holder);
}

struct holder_key {
	uint32_t namespace, name;
};

static bool holder_equals(const void *context, uint32_t handle, const void *key)
{
	const struct claim_holder *holder = holder_at(context, handle);
	const struct holder_key *wanted = key;

	return holder->namespace == wanted->namespace && holder->name == wanted->name;
}

static uint32_t holder_hash(const struct cluster *cluster, struct holder_key key)
{
	return (uint32_t)hash_u64_pair(&cluster->key, key.namespace, key.name);
}

static uint32_t holder_find(const struct cluster *cluster, struct holder_key key)
{
	return map_find(&cluster->dra.claim_holders_by_name, holder_hash(cluster, key),
			holder_equals, &cluster->dra, &key);
}

bool claim_is_held(const struct cluster *cluster, const struct device_claim_record *claim)
{
	return holder_find(cluster, (struct holder_key){claim->namespace, claim->name}) !=
	       TABLE_NONE;
}

static uint32_t holder_add(struct cluster *cluster, struct holder_key key)
{
	struct dra *dra = &cluster->dra;
	uint32_t holder = table_add(&dra->claim_holders);

	*holder_at(dra, holder) = (struct claim_holder){
		key.namespace, intern_ref_handle(cluster->intern, key.name), TABLE_NONE};
	map_insert(&dra->claim_holders_by_name, holder_hash(cluster, key), holder);
	return holder;
}

static void holder_remove(struct cluster *cluster, struct holder_key key, uint32_t holder)
{
	map_remove(&cluster->dra.claim_holders_by_name, holder_hash(cluster, key), holder);
	intern_unref(cluster->intern, key.name);
	table_remove(&cluster->dra.claim_holders, holder);
}

static void link_to_holder(struct dra *dra, uint32_t holder, uint32_t pod_claim)
{
	struct pod_claim *record = pod_claim_at(dra, pod_claim);
	uint32_t first = holder_at(dra, holder)->first;

	record->holder_next = first;
	record->holder_prev = TABLE_NONE;
	if (first != TABLE_NONE)
		pod_claim_at(dra, first)->holder_prev = pod_claim;
	holder_at(dra, holder)->first = pod_claim;
}

static void unlink_from_holder(struct dra *dra, uint32_t holder, uint32_t pod_claim)
{
	const struct pod_claim *record = pod_claim_at(dra, pod_claim);

	if (record->holder_next != TABLE_NONE)
		pod_claim_at(dra, record->holder_next)->holder_prev = record->holder_prev;
	if (record->holder_prev != TABLE_NONE)
		pod_claim_at(dra, record->holder_prev)->holder_next = record->holder_next;
	else
		holder_at(dra, holder)->first = record->holder_next;
}

static void hold(struct cluster *cluster, uint32_t namespace, uint32_t pod_claim)
{
	struct holder_key key = {namespace, pod_claim_at(&cluster->dra, pod_claim)->name};
	uint32_t holder = holder_find(cluster, key), claim;

	if (holder != TABLE_NONE) {
		link_to_holder(&cluster->dra, holder, pod_claim);
		return;
	}
	claim = claim_of_pod(cluster, namespace, key.name);
	ledger_remove_claim(cluster, claim);
	link_to_holder(&cluster->dra, holder_add(cluster, key), pod_claim);
	ledger_add_claim(cluster, claim);
	if (claim != TABLE_NONE)
		cluster_mark_dirty(cluster, namespace);
}

static void let_go(struct cluster *cluster, uint32_t namespace, uint32_t pod_claim)
{
	struct holder_key key = {namespace, pod_claim_at(&cluster->dra, pod_claim)->name};
	uint32_t holder = holder_find(cluster, key), claim;

	unlink_from_holder(&cluster->dra, holder, pod_claim);
	if (holder_at(&cluster->dra, holder)->first != TABLE_NONE)
		return;
	claim = claim_of_pod(cluster, namespace, key.name);
	ledger_remove_claim(cluster, claim);
	holder_remove(cluster, key, holder);
	ledger_add_claim(cluster, claim);
	if (claim != TABLE_NONE)
		cluster_mark_dirty(cluster, namespace);
}

bool pod_claims_count(const struct pod_record *pod)
{
	return pod->first_claim != TABLE_NONE && pod->node != TABLE_NONE && !pod_finished(pod);
}

void pod_claims_hold(struct cluster *cluster, const struct pod_record *pod)
{
	for (uint32_t h = pod->first_claim; h != TABLE_NONE;
	     h = pod_claim_at(&cluster->dra, h)->next)
		hold(cluster, pod->namespace, h);
}

void pod_claims_let_go(struct cluster *cluster, const struct pod_record *pod)
{
	for (uint32_t h = pod->first_claim; h != TABLE_NONE;
	     h = pod_claim_at(&cluster->dra, h)->next)
		let_go(cluster, pod->namespace, h);
}

/* --- which cards they are */

/* Pods that share a claim are mostly on one node, and follow each other. */
void claim_rooms_refresh(struct cluster *cluster, uint32_t namespace, uint32_t name)
{
	uint32_t holder = holder_find(cluster, (struct holder_key){namespace, name});
	uint32_t h = holder == TABLE_NONE ? TABLE_NONE : holder_at(&cluster->dra, holder)->first;
	uint32_t last = TABLE_NONE;

	for (; h != TABLE_NONE; h = pod_claim_at(&cluster->dra, h)->holder_next) {
		uint32_t node = pod_at(cluster, pod_claim_at(&cluster->dra, h)->pod)->node;

		if (node != last && !node_at(cluster, node)->out)
			room_refresh(cluster, node);
		last = node;
	}
}

/* A card of the layout by either of its names; 0. Every node has cards at the same addresses. */
static uint64_t card_of(const struct cluster *cluster, uint32_t handle,
			const struct device_record *device)
{
	const struct node_record *node = node_at(cluster, handle);
	const struct str names[] = {intern_str(cluster->intern, node->wires.cards),
				    intern_str(cluster->intern, node->wires.addresses)};
	const uint64_t ids[] = {device->card, device->address};

	if (device->node != TABLE_NONE && device->node != handle)
		return 0;
	for (size_t k = 0; k < ARRAY_SIZE(ids); k++)
		for (uint32_t i = 0; ids[k] != 0 && i < names[k].len / sizeof(ids[k]); i++)
			if (memcmp(&names[k].data[i * sizeof(ids[k])], &ids[k], sizeof(ids[k])) ==
			    0)
				return topo_set_of(i);
	return 0;
}

static uint64_t cards_of_claim(const struct cluster *cluster, uint32_t node, uint32_t claim,
			       uint32_t *others)
{
	const struct dra *dra = &cluster->dra;
	uint32_t h = device_claim_at(dra, claim)->first_result;
	uint64_t set = 0;

	for (; h != TABLE_NONE; h = result_at(dra, h)->next) {
		const struct claim_result *result = result_at(dra, h);
		uint32_t device = device_find(cluster, result->pool, result->device);
		uint64_t card;

		if (device != TABLE_NONE && device_at(dra, device)->kind == TABLE_NONE)
			continue; /* no GPU */
		card = device == TABLE_NONE ? 0 : card_of(cluster, node, device_at(dra, device));
		set |= card;
		*others += card == 0;
	}
	return set;
}

uint64_t pod_claim_cards(const struct cluster *cluster, const struct pod_record *pod,
			 uint32_t *ret_others)
{
	uint64_t set = 0;

	*ret_others = 0;
	for (uint32_t h = pod->first_claim; h != TABLE_NONE;
	     h = pod_claim_at(&cluster->dra, h)->next) {
		uint32_t claim =
			claim_of_pod(cluster, pod->namespace, pod_claim_at(&cluster->dra, h)->name);

		if (claim != TABLE_NONE)
			set |= cards_of_claim(cluster, pod->node, claim, ret_others);
	}
	return set;
}

uint32_t pod_claim_gpus(const struct cluster *cluster, const struct pod_record *pod)
{
	uint32_t sum = 0;

	for (uint32_t h = pod->first_claim; h != TABLE_NONE;
	     h = pod_claim_at(&cluster->dra, h)->next) {
		uint32_t claim =
			claim_of_pod(cluster, pod->namespace, pod_claim_at(&cluster->dra, h)->name);

		if (claim != TABLE_NONE)
			sum += claim_gpus(cluster, claim);
	}
	return sum;
}

/* --- what placement asks */

static void add_claim(const struct cluster *cluster, uint32_t claim, struct cluster_ask *ask)
{
	if (claim == TABLE_NONE)
		ask->claim_unseen = true;
	else if (claim_gpus(cluster, claim) > 0)
		ask->claims[ask->n_claims++] = claim;
}

void ask_claims(const struct cluster *cluster, const struct pod_facts *facts,
		struct cluster_ask *ask)
{
	ask->n_claims = 0;
	ask->claim_unseen = false;
	for (size_t i = 0; i < MIN(facts->n_claims, (size_t)LIMIT_CLAIMS_PER_POD); i++)
		add_claim(cluster, claim_find(cluster, facts->namespace, facts->claims[i]), ask);
}

void ask_claims_of_pod(const struct cluster *cluster, uint32_t pod, struct cluster_ask *ask)
{
	const struct pod_record *record = pod_at(cluster, pod);

	ask->n_claims = 0;
	ask->claim_unseen = false;
	for (uint32_t h = record->first_claim; h != TABLE_NONE;
	     h = pod_claim_at(&cluster->dra, h)->next)
		add_claim(cluster,
			  claim_of_pod(cluster, record->namespace,
				       pod_claim_at(&cluster->dra, h)->name),
			  ask);
}

struct cluster_claims cluster_claims_on(const struct cluster *cluster,
					const struct cluster_ask *ask, uint32_t node)
{
	struct cluster_claims claims = {.allocated = true, .numa_together = ask->n_claims == 1};

	for (size_t i = 0; i < ask->n_claims; i++) {
		const struct device_claim_record *claim =
			device_claim_at(&cluster->dra, ask->claims[i]);

		claims.devices += claim_gpus(cluster, ask->claims[i]);
		claims.allocated = claims.allocated && claim->allocated;
		claims.numa_together = claims.numa_together && claim->numa_together;
		claims.cards |= cards_of_claim(cluster, node, ask->claims[i], &claims.others);
	}
	return claims;
}
