/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ResourceQuota and the LimitRange that are ours, at most one of each in a namespace. Others
 * are not looked at.
 */
#include "base/checked.h"
#include "base/limits.h"
#include "base/mem.h"
#include "cluster/internal.h"
#include "cluster/pack/pack.h"
#include "cluster/tenants/tenants.h"
#include "model/resource.h"

static const enum cluster_kind kinds[OWNED_COUNT] = {
	[OWNED_RESOURCE_QUOTA] = CLUSTER_RESOURCE_QUOTAS,
	[OWNED_LIMIT_RANGE] = CLUSTER_LIMIT_RANGES,
};

/* What both kinds have, of an object whose bytes are in scratch. */
struct object {
	int which;
	struct str namespace, name, uid;
	uint64_t resource_version;
};

static bool is_ours(struct str name)
{
	return str_equal(name, STR(OWNED_OBJECT_NAME));
}

uint32_t owned_find(const struct cluster *cluster, int which, struct str namespace, struct str name)
{
	uint32_t ns = namespace_find(cluster, namespace);

	if (ns == TABLE_NONE || !is_ours(name))
		return TABLE_NONE;
	return namespace_at(cluster, ns)->owned[which];
}

/* No decision about a tenant reads a LimitRange. */
static void mark_changed(struct cluster *cluster, int which, uint32_t ns)
{
	if (which == OWNED_RESOURCE_QUOTA)
		cluster_mark_dirty(cluster, ns);
	else
		mark_namespace(cluster, ns);
}

void owned_remove(struct cluster *cluster, int which, uint32_t owned)
{
	struct owned_record *record = owned_at(cluster, which, owned);
	uint32_t ns = record->namespace;

	cluster->packed_bytes[kinds[which]] -= record->len;
	mem_free(record->bytes);
	table_remove(&cluster->owned[which], owned);
	namespace_at(cluster, ns)->owned[which] = TABLE_NONE;
	mark_changed(cluster, which, ns);
}

static bool is_outdated(const struct cluster *cluster, uint32_t owned, const struct object *object)
{
	const struct owned_record *record = owned_at(cluster, object->which, owned);

	return is_older(object->resource_version, record->resource_version) &&
	       str_equal(unpack_uid((struct str){record->bytes, record->len}), object->uid);
}

static uint32_t owned_add(struct cluster *cluster, const struct object *object)
{
	uint32_t ns = namespace_get(cluster, object->namespace);
	uint32_t owned = table_add(&cluster->owned[object->which]);

	owned_at(cluster, object->which, owned)->namespace = ns;
	namespace_at(cluster, ns)->owned[object->which] = owned;
	return owned;
}

/* Keeps what is in scratch. The record, or TABLE_NONE where the object is older than what is kept.
 */
static int store(struct cluster *cluster, const struct object *object, uint32_t *ret_owned,
		 struct error *err)
{
	struct str packed = buf_str(&cluster->scratch);
	struct owned_record *record;
	uint32_t owned;

	*ret_owned = TABLE_NONE;
	if (check_names(object->namespace, object->name, err) < 0)
		return -1;
	owned = owned_find(cluster, object->which, object->namespace, object->name);
	if (owned != TABLE_NONE) {
		record = owned_at(cluster, object->which, owned);
		record->epoch = cluster->epochs[kinds[object->which]];
		if (is_outdated(cluster, owned, object))
			return 0;
	}
	if (cluster->scratch.overflowed)
		return error_set(err, ERROR_LIMIT, "it is larger than %d bytes", LIMIT_PACKED);
	if (owned == TABLE_NONE)
		owned = owned_add(cluster, object);
	record = owned_at(cluster, object->which, owned);
	record->epoch = cluster->epochs[kinds[object->which]];
	record->resource_version = object->resource_version;
	*ret_owned = owned;
	if (record->bytes && str_equal(packed, (struct str){record->bytes, record->len}))
		return 0;
	cluster->packed_bytes[kinds[object->which]] += packed.len - record->len;
	mem_free(record->bytes);
	record->bytes = pack_copy(packed);
	record->len = packed.len;
	mark_changed(cluster, object->which, record->namespace);
	return 0;
}

/* --- ResourceQuota */

static bool all_whole(const struct price_list *slice)
{
	for (size_t i = 0; i < slice->n_rows; i++)
		if (slice->rows[i].sharing != DEVICE_WHOLE)
			return false;
	return slice->n_rows > 0;
}

/* HAMi's own key repeats another. */
static bool is_unknown(const struct resource_amount *amount, int64_t unit)
{
	return unit == AMOUNT_UNKNOWN && amount->count > 0 &&
	       !str_equal(amount->resource, STR(RESOURCE_HAMI_LIMIT));
}

/* The most that @amounts stand for, where that is more. */
void enforced_raise(const struct cluster *cluster, const struct resource_amount *amounts, size_t n,
		    struct enforced *enforced)
{
	struct price_list prices = prices_of(cluster);

	for (size_t i = 0; i < n; i++) {
		struct str name = amounts[i].resource;
		uint32_t resource = intern_find(cluster->intern, name);
		struct price_list slice = price_of(&prices, resource);
		int64_t unit = price_smallest(&prices, resource, resource_memory_by_name(name));

		enforced->unknown |= is_unknown(&amounts[i], unit);
		if (unit != AMOUNT_UNKNOWN)
			enforced->bytes =
				MAX(enforced->bytes, saturating_mul(amounts[i].count, unit));
		if (all_whole(&slice))
			enforced->gpus = MAX(enforced->gpus, amounts[i].count);
	}
}

static bool shows_spec(const struct resource_quota_facts *facts)
{
	bool shows = facts->n_hard == facts->n_status_hard;

	for (size_t i = 0; shows && i < facts->n_hard; i++)
		shows = facts->hard[i].count == facts->status_hard[i].count &&
			str_equal(facts->hard[i].resource, facts->status_hard[i].resource);
	return shows;
}

/* What its amounts stand for by the prices of now; returns whether its status shows its spec. */
static bool examine(struct cluster *cluster, struct owned_record *record)
{
	struct resource_quota_facts facts;
	struct arena arena = {0};
	bool shows = false;

	record->enforced = (struct enforced){0};
	record->price_version = cluster->price_version;
	if (unpack_resource_quota((struct str){record->bytes, record->len}, &arena, &facts)) {
		enforced_raise(cluster, facts.hard, facts.n_hard, &record->enforced);
		enforced_raise(cluster, facts.status_hard, facts.n_status_hard, &record->enforced);
		shows = shows_spec(&facts);
	}
	arena_clear(&arena);
	return shows;
}

void owned_reprice(struct cluster *cluster, uint32_t namespace)
{
	uint32_t owned = namespace_at(cluster, namespace)->owned[OWNED_RESOURCE_QUOTA];
	struct owned_record *record;

	if (owned == TABLE_NONE)
		return;
	record = owned_at(cluster, OWNED_RESOURCE_QUOTA, owned);
	if (record->price_version != cluster->price_version)
		(void)examine(cluster, record);
}

int cluster_apply_resource_quota(struct cluster *cluster, const struct resource_quota_facts *facts,
				 int64_t now_us, struct error *err)
{
	struct object object = {OWNED_RESOURCE_QUOTA, facts->namespace, facts->name, facts->uid,
				facts->resource_version};
	struct owned_record *record;
	uint32_t owned;

	if (!is_ours(facts->name))
		return 0;
	buf_reset(&cluster->scratch);
	pack_resource_quota(facts, &cluster->scratch);
	if (store(cluster, &object, &owned, err) < 0)
		return refuse(cluster, CLUSTER_RESOURCE_QUOTAS, facts->namespace, facts->name, err);
	if (owned == TABLE_NONE)
		return 0;
	record = owned_at(cluster, OWNED_RESOURCE_QUOTA, owned);
	sent_settle(cluster, record->namespace);
	if (examine(cluster, record))
		record->differs_since_us = 0;
	else if (record->differs_since_us == 0)
		record->differs_since_us = MAX(now_us, 1);
	return 0;
}

/* --- LimitRange */

int cluster_apply_limit_range(struct cluster *cluster, const struct limit_range_facts *facts,
			      struct error *err)
{
	struct object object = {OWNED_LIMIT_RANGE, facts->namespace, facts->name, facts->uid,
				facts->resource_version};
	uint32_t owned;

	if (!is_ours(facts->name))
		return 0;
	buf_reset(&cluster->scratch);
	pack_limit_range(facts, &cluster->scratch);
	if (store(cluster, &object, &owned, err) < 0)
		return refuse(cluster, CLUSTER_LIMIT_RANGES, facts->namespace, facts->name, err);
	if (owned != TABLE_NONE)
		owned_at(cluster, OWNED_LIMIT_RANGE, owned)->owned = !str_empty(facts->owner_uid);
	return 0;
}
