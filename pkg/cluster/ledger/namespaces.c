/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Namespaces. A record exists while anything in it is known, whether or not the Namespace object
 * was seen: watches of different kinds are not in step.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "cluster/internal.h"
#include "cluster/pack/pack.h"

uint32_t namespace_find(const struct cluster *cluster, struct str name)
{
	return name_find(cluster, CLUSTER_NAMESPACES, name);
}

uint32_t namespace_get(struct cluster *cluster, struct str name)
{
	uint32_t namespace = namespace_find(cluster, name);
	struct namespace_record *record;

	if (namespace != TABLE_NONE)
		return namespace;
	namespace = table_add(&cluster->namespaces);
	record = namespace_at(cluster, namespace);
	record->name = intern_ref(cluster->intern, name);
	record->sums.first_use = TABLE_NONE;
	record->price_version = cluster->price_version;
	record->counted = cluster->recounted;
	record->known_used = record->known_gpus = cluster->recounted ? 0 : AMOUNT_UNKNOWN;
	record->first_pod = record->first_quota = record->granted_quota = TABLE_NONE;
	record->mismatched = record->budgets.first = TABLE_NONE;
	record->tenant = record->member_next = record->member_prev = TABLE_NONE;
	record->first_selection = record->first_device_claim = TABLE_NONE;
	for (int i = 0; i < OWNED_COUNT; i++)
		record->owned[i] = TABLE_NONE;
	name_insert(cluster, CLUSTER_NAMESPACES, namespace);
	return namespace;
}

static bool is_empty(const struct namespace_record *record)
{
	if (record->exists || record->n_pods > 0 || record->n_quotas > 0 ||
	    record->n_device_claims > 0 || record->budgets.n > 0)
		return false;
	for (int i = 0; i < OWNED_COUNT; i++)
		if (record->owned[i] != TABLE_NONE)
			return false;
	return true;
}

/* A dirty one stays until it was taken, and the one that was taken last until the next is. */
void namespace_release(struct cluster *cluster, uint32_t namespace)
{
	struct namespace_record *record = namespace_at(cluster, namespace);

	if (!is_empty(record) || record->dirty || namespace == cluster->taken)
		return;
	ledger_forget(cluster, record);
	budget_keys_forget(cluster, record);
	name_remove(cluster, CLUSTER_NAMESPACES, namespace);
	intern_unref(cluster->intern, record->name);
	intern_unref(cluster->intern, record->uid);
	intern_unref(cluster->intern, record->tenant_label);
	mem_free(record->refusals);
	table_remove(&cluster->namespaces, namespace);
}

static struct str labels_of(const struct namespace_record *record)
{
	return (struct str){record->labels, record->labels_len};
}

/* Whether decisions would see a difference. */
static bool is_same(const struct cluster *cluster, const struct namespace_record *record,
		    const struct namespace_facts *facts)
{
	return record->exists && record->managed == facts->managed &&
	       record->quotaless == facts->quotaless && record->terminating == facts->terminating &&
	       str_equal(intern_str(cluster->intern, record->uid), facts->uid) &&
	       str_equal(intern_str(cluster->intern, record->tenant_label), facts->tenant);
}

static void set_text(struct cluster *cluster, uint32_t *text, struct str s)
{
	uint32_t old = *text;

	*text = intern_ref(cluster->intern, s);
	intern_unref(cluster->intern, old);
}

static void set_labels(struct cluster *cluster, struct namespace_record *record, struct str packed)
{
	cluster->packed_bytes[CLUSTER_NAMESPACES] += packed.len - record->labels_len;
	mem_free(record->labels);
	record->labels = packed.len > 0 ? pack_copy(packed) : NULL;
	record->labels_len = packed.len;
}

/* The labels that were packed into scratch say whose the namespace is. */
static void update(struct cluster *cluster, uint32_t namespace, const struct namespace_facts *facts)
{
	struct namespace_record *record = namespace_at(cluster, namespace);
	struct str packed = buf_str(&cluster->scratch);
	bool appeared = !record->exists;

	if (!is_same(cluster, record, facts)) {
		set_text(cluster, &record->uid, facts->uid);
		set_text(cluster, &record->tenant_label, facts->tenant);
		record->exists = true;
		record->managed = facts->managed;
		record->quotaless = facts->quotaless;
		record->terminating = facts->terminating;
		mark_namespace(cluster, namespace);
	}
	if (!appeared && str_equal(packed, labels_of(record)))
		return;
	set_labels(cluster, record, packed);
	membership_resolve(cluster, namespace);
}

static int check(const struct namespace_facts *facts, struct error *err)
{
	if (facts->uid.len > LIMIT_NAME || facts->tenant.len > LIMIT_NAME)
		return error_set(err, ERROR_LIMIT, "its uid or tenant is too long");
	return 0;
}

static int apply(struct cluster *cluster, const struct namespace_facts *facts, struct error *err)
{
	struct namespace_record *record;
	uint32_t namespace;

	if (check_names(STR_NONE, facts->name, err) < 0)
		return -1;
	namespace = namespace_find(cluster, facts->name);
	if (namespace != TABLE_NONE)
		namespace_at(cluster, namespace)->epoch = cluster->epochs[CLUSTER_NAMESPACES];
	if (check(facts, err) < 0)
		return -1;
	buf_reset(&cluster->scratch);
	pack_labels(facts->labels, facts->n_labels, &cluster->scratch);
	if (cluster->scratch.overflowed)
		return error_set(err, ERROR_LIMIT, "it is larger than %d bytes", LIMIT_PACKED);
	namespace = namespace_get(cluster, facts->name);
	record = namespace_at(cluster, namespace);
	record->epoch = cluster->epochs[CLUSTER_NAMESPACES];
	if (record->exists && is_older(facts->resource_version, record->resource_version) &&
	    str_equal(intern_str(cluster->intern, record->uid), facts->uid))
		return 0;
	record->resource_version = facts->resource_version;
	update(cluster, namespace, facts);
	return 0;
}

int cluster_apply_namespace(struct cluster *cluster, const struct namespace_facts *facts,
			    struct error *err)
{
	if (apply(cluster, facts, err) < 0)
		return refuse(cluster, CLUSTER_NAMESPACES, STR_NONE, facts->name, err);
	return 0;
}

void namespace_gone(struct cluster *cluster, uint32_t namespace)
{
	struct namespace_record *record = namespace_at(cluster, namespace);

	if (!record->exists)
		return;
	set_text(cluster, &record->uid, STR_NONE);
	set_text(cluster, &record->tenant_label, STR_NONE);
	set_labels(cluster, record, STR_NONE);
	record->resource_version = 0;
	record->exists = record->managed = record->quotaless = record->terminating = false;
	membership_resolve(cluster, namespace);
	mark_namespace(cluster, namespace);
}
