/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods that ask for a GPU. Each is in the list of its namespace and, when bound, of its node. Most
 * events of a pod change nothing that the ledger reads; those cost one look-up.
 */
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/limits.h"
#include "cluster/dra/dra_internal.h"
#include "quota/charge.h"

struct pod_key {
	uint32_t namespace, name;
};

static bool key_equals(const void *context, uint32_t handle, const void *key)
{
	const struct pod_record *pod = pod_at(context, handle);
	const struct pod_key *wanted = key;

	return pod->namespace == wanted->namespace && pod->name == wanted->name;
}

static uint32_t key_hash(const struct cluster *cluster, struct pod_key key)
{
	return (uint32_t)hash_u64_pair(&cluster->key, key.namespace, key.name);
}

uint32_t pod_of(const struct cluster *cluster, uint32_t namespace, uint32_t name)
{
	struct pod_key key = {namespace, name};

	return map_find(&cluster->pods_by_name, key_hash(cluster, key), key_equals, cluster, &key);
}

uint32_t pod_find(const struct cluster *cluster, struct str namespace, struct str name)
{
	uint32_t ns = namespace_find(cluster, namespace);
	uint32_t interned = intern_find(cluster->intern, name);

	if (ns == TABLE_NONE || interned == INTERN_NONE)
		return TABLE_NONE;
	return pod_of(cluster, ns, interned);
}

/* --- lists */

static void link_to_namespace(struct cluster *cluster, uint32_t pod)
{
	struct pod_record *record = pod_at(cluster, pod);
	struct namespace_record *ns = namespace_at(cluster, record->namespace);

	record->namespace_prev = TABLE_NONE;
	record->namespace_next = ns->first_pod;
	if (ns->first_pod != TABLE_NONE)
		pod_at(cluster, ns->first_pod)->namespace_prev = pod;
	ns->first_pod = pod;
	ns->n_pods++;
}

static void unlink_from_namespace(struct cluster *cluster, uint32_t pod)
{
	struct pod_record *record = pod_at(cluster, pod);
	struct namespace_record *ns = namespace_at(cluster, record->namespace);

	if (record->namespace_next != TABLE_NONE)
		pod_at(cluster, record->namespace_next)->namespace_prev = record->namespace_prev;
	if (record->namespace_prev != TABLE_NONE)
		pod_at(cluster, record->namespace_prev)->namespace_next = record->namespace_next;
	else
		ns->first_pod = record->namespace_next;
	ns->n_pods--;
}

void pod_link_to_node(struct cluster *cluster, uint32_t pod, uint32_t node)
{
	struct pod_record *record = pod_at(cluster, pod);

	record->node = node;
	record->node_prev = record->node_next = TABLE_NONE;
	if (node == TABLE_NONE)
		return;
	record->node_next = node_at(cluster, node)->first_pod;
	if (record->node_next != TABLE_NONE)
		pod_at(cluster, record->node_next)->node_prev = pod;
	node_at(cluster, node)->first_pod = pod;
	demand_give(cluster, pod);
}

void pod_unlink_from_node(struct cluster *cluster, uint32_t pod)
{
	struct pod_record *record = pod_at(cluster, pod);
	uint32_t node = record->node;

	if (node == TABLE_NONE)
		return;
	demand_take(cluster, pod);
	if (record->node_next != TABLE_NONE)
		pod_at(cluster, record->node_next)->node_prev = record->node_prev;
	if (record->node_prev != TABLE_NONE)
		pod_at(cluster, record->node_prev)->node_next = record->node_next;
	else
		node_at(cluster, node)->first_pod = record->node_next;
	record->node = TABLE_NONE;
	node_release(cluster, node);
}

/* Those that may come to be released are worth looking for (release.c). */
static void count_terminating(struct cluster *cluster, const struct pod_record *record, int sign)
{
	if (record->terminating && !pod_finished(record))
		namespace_at(cluster, record->namespace)->n_terminating += (uint32_t)sign;
}

/*
 * The claims that a pod carries, or comes to carry (claims.c): out of the sums while it changes.
 */
struct carried {
	uint32_t claims[2];
};

static struct carried carried_take(struct cluster *cluster, const struct pod_record *record,
				   uint32_t next)
{
	struct carried carried = {{TABLE_NONE, TABLE_NONE}};

	carried.claims[0] = claim_of_pod(cluster, record->namespace, record->extended_claim);
	if (next != record->extended_claim)
		carried.claims[1] = claim_of_pod(cluster, record->namespace, next);
	for (size_t i = 0; i < ARRAY_SIZE(carried.claims); i++)
		ledger_remove_claim(cluster, carried.claims[i]);
	return carried;
}

static void carried_put_back(struct cluster *cluster, uint32_t namespace,
			     const struct carried *carried)
{
	for (size_t i = 0; i < ARRAY_SIZE(carried->claims); i++) {
		if (carried->claims[i] == TABLE_NONE)
			continue;
		ledger_add_claim(cluster, carried->claims[i]);
		cluster_mark_dirty(cluster, namespace);
	}
}

/* --- coming and going */

/* An entry that does not count yet: finished, without a vector. */
static uint32_t pod_add(struct cluster *cluster, const struct pod_facts *facts)
{
	uint32_t ns = namespace_get(cluster, facts->namespace), pod = table_add(&cluster->pods);
	struct pod_record *record = pod_at(cluster, pod);

	record->exit = exit_add(cluster);
	record->namespace = ns;
	record->name = intern_ref(cluster->intern, facts->name);
	record->node = record->vector = record->eviction = TABLE_NONE;
	record->first_claim = TABLE_NONE;
	record->assumption = TABLE_NONE;
	record->node_next = record->node_prev = TABLE_NONE;
	record->phase = POD_SUCCEEDED;
	map_insert(&cluster->pods_by_name, key_hash(cluster, (struct pod_key){ns, record->name}),
		   pod);
	link_to_namespace(cluster, pod);
	return pod;
}

/* Gives back what it asks for. */
static void unask(struct cluster *cluster, const struct pod_record *pod)
{
	if (pod->vector != TABLE_NONE) {
		want_remove(cluster, pod->vector, pod->product);
		vectors_unref(&cluster->vectors, pod->vector);
	}
	intern_unref(cluster->intern, pod->product);
}

void pod_remove(struct cluster *cluster, uint32_t pod)
{
	struct pod_record *record = pod_at(cluster, pod);
	struct pod_key key = {record->namespace, record->name};
	uint32_t node = record->node;
	struct carried carried = carried_take(cluster, record, INTERN_EMPTY);

	eviction_forget(cluster, &record->eviction);
	if (cluster->holds.count > 0)
		holds_forget_pod(cluster, pod);
	assumption_end(cluster, record);
	check_forget(cluster, pod);
	demand_take(cluster, pod);
	exit_remove(cluster, pod);
	count_terminating(cluster, record, -1);
	if (!pod_finished(record)) {
		ledger_remove(cluster, pod);
		cluster_mark_dirty(cluster, key.namespace);
	}
	if (pod_claims_count(record))
		pod_claims_let_go(cluster, record);
	pod_claims_drop(cluster, record);
	pod_unlink_from_node(cluster, pod);
	unlink_from_namespace(cluster, pod);
	map_remove(&cluster->pods_by_name, key_hash(cluster, key), pod);
	unask(cluster, record);
	intern_unref(cluster->intern, record->name);
	intern_unref(cluster->intern, record->owner);
	intern_unref(cluster->intern, record->extended_claim);
	intern_unref(cluster->intern, record->devices);
	table_remove(&cluster->pods, pod);
	room_refresh(cluster, node);
	carried_put_back(cluster, key.namespace, &carried);
	namespace_release(cluster, key.namespace);
}

/* --- changing */

/* What the ledger reads of a pod. Holds references to product and vector. */
struct entry {
	uint32_t node, product, vector;
	bool finished;
};

static bool is_finished(const struct pod_facts *facts)
{
	return facts->phase == POD_SUCCEEDED || facts->phase == POD_FAILED;
}

/* Where it is seen to be, else where it is assumed to be: a watch shows what was before that too.
 */
static uint32_t node_of(struct cluster *cluster, uint32_t pod, const struct pod_facts *facts)
{
	const struct pod_record *record = pod == TABLE_NONE ? NULL : pod_at(cluster, pod);

	if (!str_empty(facts->node))
		return node_get(cluster, facts->node);
	if (!record || record->assumption == TABLE_NONE || is_finished(facts) ||
	    !uid_equal(record->uid, uid_from(&cluster->key, facts->uid)))
		return TABLE_NONE;
	return record->node;
}

static struct entry entry_of(struct cluster *cluster, uint32_t pod, const struct pod_facts *facts,
			     const struct device_ask *rows, size_t n_rows)
{
	return (struct entry){
		.node = node_of(cluster, pod, facts),
		.product = intern_ref(cluster->intern, facts->product),
		.vector = n_rows == 0 ? TABLE_NONE : vectors_ref(&cluster->vectors, rows, n_rows),
		.finished = is_finished(facts),
	};
}

static void entry_clear(struct cluster *cluster, const struct entry *entry)
{
	intern_unref(cluster->intern, entry->product);
	if (entry->vector != TABLE_NONE)
		vectors_unref(&cluster->vectors, entry->vector);
}

static bool entry_is(const struct pod_record *pod, const struct entry *entry)
{
	return pod->node == entry->node && pod->product == entry->product &&
	       pod->vector == entry->vector && pod_finished(pod) == entry->finished;
}

/* Takes over what @entry holds. */
static void entry_set(struct cluster *cluster, uint32_t pod, const struct entry *entry)
{
	struct pod_record *record = pod_at(cluster, pod);

	if (record->node != entry->node) {
		check_forget(cluster, pod);
		record->cards = 0;
		pod_unlink_from_node(cluster, pod);
		pod_link_to_node(cluster, pod, entry->node);
	}
	want_add(cluster, entry->vector, entry->product);
	unask(cluster, record);
	record->product = entry->product;
	record->vector = entry->vector;
}

/* "Deployment/chat" for its ReplicaSet "chat-5f9c7"; empty for none, or names out of all bounds. */
static uint32_t owner_of(struct cluster *cluster, const struct pod_facts *facts)
{
	struct str kind = facts->owner_kind, name = facts->owner_name;
	char text[LIMIT_INTERNED_STRING];
	size_t tail = facts->template_hash.len + 1;

	if (str_equal(kind, STR("ReplicaSet")) && tail > 1 && name.len > tail &&
	    str_ends_with(name, facts->template_hash) && name.data[name.len - tail] == '-') {
		kind = STR("Deployment");
		name.len -= tail;
	}
	if (str_empty(kind) || kind.len + 1 + name.len > sizeof(text))
		return INTERN_EMPTY;
	memcpy(text, kind.data, kind.len);
	text[kind.len] = '/';
	memcpy(text + kind.len + 1, name.data, name.len);
	return intern_ref(cluster->intern, (struct str){text, kind.len + 1 + name.len});
}

/* What it is beside what the ledger reads. */
static void describe(struct cluster *cluster, struct pod_record *record,
		     const struct pod_facts *facts, struct uid uid)
{
	bool same = uid_equal(record->uid, uid);
	uint32_t owner = owner_of(cluster, facts);
	uint32_t devices = devices_ref(cluster, facts->device_ids, facts->n_device_ids);

	intern_unref(cluster->intern, record->owner);
	record->owner = owner;
	intern_unref(cluster->intern, record->devices);
	record->devices = devices;
	record->most = (uint16_t)MIN(pod_most_devices(facts), (uint32_t)UINT16_MAX);
	record->alignment = facts->alignment;
	record->pcie_mb = (uint32_t)MIN(facts->pcie / 1000000, (int64_t)UINT32_MAX);
	if (!same)
		record->cards = 0;
	record->uid = uid;
	record->resource_version = facts->resource_version;
	record->created_s = real_seconds(facts->created_us);
	record->deletion_s = real_seconds(facts->deletion_us);
	record->terminating = facts->terminating;
	record->gated = facts->gated;
	record->annotated = facts->annotated || (record->annotated && same);
	record->epoch = cluster->epochs[CLUSTER_PODS];
}

/* What is known of it by its uid alone, or while it is on its way, ends. */
static void settle(struct cluster *cluster, struct pod_record *record,
		   const struct pod_facts *facts, bool other)
{
	if (other || is_finished(facts) || !str_empty(facts->node))
		assumption_end(cluster, record);
	if (other || facts->terminating)
		eviction_forget(cluster, &record->eviction);
}

/* The ledger's part of a change. Takes over what @entry holds. */
static void enter(struct cluster *cluster, uint32_t pod, const struct entry *entry)
{
	ledger_remove(cluster, pod);
	pod_at(cluster, pod)->released = false;
	entry_set(cluster, pod, entry);
}

static bool alignment_equal(const struct pod_alignment *a, const struct pod_alignment *b)
{
	return a->guaranteed == b->guaranteed && a->whole_cpus == b->whole_cpus &&
	       a->wished == b->wished && a->policy == b->policy && a->scoped == b->scoped &&
	       a->scope == b->scope && a->cpus == b->cpus && a->cpus_together == b->cpus_together &&
	       a->takes_over == b->takes_over;
}

/* What rooms read of a pod beside what the ledger does. Holds a reference to devices. */
struct presence {
	struct pod_alignment alignment;
	uint32_t node, devices, pcie_mb;
	uint8_t phase;
	bool terminating;
};

static struct presence presence_of(struct cluster *cluster, const struct pod_record *record)
{
	return (struct presence){
		.alignment = record->alignment,
		.node = record->node,
		.devices = intern_ref_handle(cluster->intern, record->devices),
		.pcie_mb = record->pcie_mb,
		.phase = record->phase,
		.terminating = record->terminating,
	};
}

/* Takes over what @before holds. @changed: so did what the ledger reads, or who it is. */
static void update_rooms(struct cluster *cluster, uint32_t pod, const struct presence *before,
			 bool changed)
{
	const struct pod_record *record = pod_at(cluster, pod);

	if (record->node != before->node)
		room_add(cluster, pod);
	if (changed || record->devices != before->devices ||
	    record->terminating != before->terminating || record->pcie_mb != before->pcie_mb ||
	    !alignment_equal(&before->alignment, &record->alignment))
		room_refresh(cluster, before->node);
	if (record->phase != before->phase && record->node != TABLE_NONE)
		mark_node(cluster, record->node); /* one that runs has cards, told of or not */
	intern_unref(cluster->intern, before->devices);
}

/* Takes over what @entry holds. */
static void update(struct cluster *cluster, uint32_t pod, const struct pod_facts *facts,
		   struct uid uid, const struct entry *entry)
{
	struct pod_record *record = pod_at(cluster, pod);
	const struct presence before = presence_of(cluster, record);
	bool counted = !pod_finished(record);
	bool other = !uid_equal(record->uid, uid), gated = record->gated;
	bool same =
		entry_is(record, entry) && (!record->released || (!other && facts->terminating));

	if (same)
		entry_clear(cluster, entry);
	else
		enter(cluster, pod, entry);
	settle(cluster, record, facts, other);
	if (other)
		check_forget(cluster, pod);
	if (other && cluster->holds.count > 0)
		holds_forget_pod(cluster, pod);
	count_terminating(cluster, record, -1);
	describe(cluster, record, facts, uid);
	record->phase = (uint8_t)facts->phase;
	count_terminating(cluster, record, 1);
	exit_follow(cluster, pod, facts, other);
	demand_follow(cluster, pod, facts, other);
	if (before.terminating != record->terminating)
		release_concerns(cluster, record);
	if (gated != record->gated)
		cluster_mark_dirty(cluster, record->namespace);
	if (!same) {
		ledger_add(cluster, pod);
		if (counted || !entry->finished)
			cluster_mark_dirty(cluster, record->namespace);
	}
	update_rooms(cluster, pod, &before, !same || other);
	if (cluster->holds.count > 0)
		holds_follow(cluster, pod);
}

/* The same, with the claims that it names. */
static void update_claims(struct cluster *cluster, uint32_t pod, const struct pod_facts *facts,
			  struct uid uid, const struct entry *entry)
{
	struct pod_record *record = pod_at(cluster, pod);
	bool same = pod_claims_are(cluster, record, facts), held = pod_claims_count(record);
	bool holds = entry->node != TABLE_NONE && !entry->finished && facts->n_claims > 0;
	uint32_t node = entry->node;

	if (held && (!same || !holds))
		pod_claims_let_go(cluster, record);
	if (!same)
		pod_claims_set(cluster, pod, facts);
	update(cluster, pod, facts, uid, entry);
	if (holds && !(held && same))
		pod_claims_hold(cluster, record);
	if (!same)
		room_refresh(cluster, node);
}

/* The same, with the claim that it carries. */
static void update_carrier(struct cluster *cluster, uint32_t pod, const struct pod_facts *facts,
			   const struct entry *entry)
{
	struct pod_record *record = pod_at(cluster, pod);
	uint32_t claim = intern_ref(cluster->intern, facts->extended_claim);
	struct uid uid = uid_from(&cluster->key, facts->uid);
	bool same = record->extended_claim == claim && pod_finished(record) == entry->finished &&
		    uid_equal(record->uid, uid);
	struct carried carried = {{TABLE_NONE, TABLE_NONE}};

	if (!same)
		carried = carried_take(cluster, record, claim);
	intern_unref(cluster->intern, record->extended_claim);
	record->extended_claim = claim;
	update_claims(cluster, pod, facts, uid, entry);
	carried_put_back(cluster, record->namespace, &carried);
}

static int check(const struct pod_facts *facts, const struct device_ask *rows, size_t n_rows,
		 struct error *err)
{
	if (facts->node.len > LIMIT_NAME || facts->extended_claim.len > LIMIT_NAME ||
	    facts->product.len > LIMIT_INTERNED_STRING)
		return error_set(err, ERROR_LIMIT,
				 "the name of its node, claim or product is too long");
	if (facts->n_claims > LIMIT_CLAIMS_PER_POD)
		return error_set(err, ERROR_LIMIT, "it names more than %d claims",
				 LIMIT_CLAIMS_PER_POD);
	for (size_t i = 0; i < facts->n_claims; i++)
		if (facts->claims[i].len > LIMIT_NAME)
			return error_set(err, ERROR_LIMIT, "the name of a claim is too long");
	for (size_t i = 0; i < n_rows; i++)
		if (rows[i].resource.len > LIMIT_INTERNED_STRING ||
		    rows[i].device.len > LIMIT_INTERNED_STRING)
			return error_set(err, ERROR_LIMIT,
					 "the name of a GPU resource is longer than %d",
					 LIMIT_INTERNED_STRING);
	return 0;
}

static bool is_outdated(const struct cluster *cluster, uint32_t pod, const struct pod_facts *facts)
{
	const struct pod_record *record = pod_at(cluster, pod);

	return is_older(facts->resource_version, record->resource_version) &&
	       uid_equal(record->uid, uid_from(&cluster->key, facts->uid));
}

/* What the same pod was seen to hold: as many rows as there is room for. */
static size_t held(const struct cluster *cluster, const struct pod_record *record,
		   struct device_ask *rows)
{
	size_t len = 0;

	return vectors_raise(&cluster->vectors, record->vector, rows, &len) ? len : 0;
}

/*
 * What a pod asks for by annotation it may edit while it lives, and that never lowers its charge:
 * of the same pod the larger counts. What it was seen to hold counts alone where it cannot be read
 * any more, or names one thing after another until there is no room.
 */
static size_t keep_larger(const struct cluster *cluster, uint32_t pod,
			  const struct pod_facts *facts, struct device_ask *rows, size_t len)
{
	const struct pod_record *record;

	if (pod == TABLE_NONE)
		return len;
	record = pod_at(cluster, pod);
	if (record->vector == TABLE_NONE ||
	    !uid_equal(record->uid, uid_from(&cluster->key, facts->uid)))
		return len;
	if (facts->unreadable)
		return held(cluster, record, rows);
	if (!record->annotated && !facts->annotated)
		return len;
	if (!vectors_raise(&cluster->vectors, record->vector, rows, &len))
		return held(cluster, record, rows);
	return len;
}

static int apply(struct cluster *cluster, const struct pod_facts *facts, struct error *err)
{
	struct device_ask rows[LIMIT_RESOURCES_PER_POD];
	struct entry entry;
	uint32_t pod;
	size_t n;

	if (check_names(facts->namespace, facts->name, err) < 0)
		return -1;
	pod = pod_find(cluster, facts->namespace, facts->name);
	if (pod != TABLE_NONE) {
		pod_at(cluster, pod)->epoch = cluster->epochs[CLUSTER_PODS];
		if (is_outdated(cluster, pod, facts))
			return 0;
	}
	n = quota_pod_request(facts, rows, ARRAY_SIZE(rows));
	if (check(facts, rows, n, err) < 0)
		return -1;
	n = keep_larger(cluster, pod, facts, rows, n);
	if (n == 0 && facts->n_claims == 0) {
		if (pod != TABLE_NONE)
			pod_remove(cluster, pod);
		bystander_follow(cluster, facts);
		return 0;
	}
	if (pod == TABLE_NONE)
		bystander_remove(cluster, facts->namespace, facts->name);
	entry = entry_of(cluster, pod, facts, rows, n);
	if (pod == TABLE_NONE)
		pod = pod_add(cluster, facts);
	update_carrier(cluster, pod, facts, &entry);
	return 0;
}

int cluster_apply_pod(struct cluster *cluster, const struct pod_facts *pod, struct error *err)
{
	if (apply(cluster, pod, err) < 0)
		return refuse(cluster, CLUSTER_PODS, pod->namespace, pod->name, err);
	return 0;
}
