/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TenantQoS, the bindings named after them, and what was decided for their namespaces. Which
 * namespaces these are is the matter of membership.c.
 */
#include "cluster/tenants/tenants.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cluster/internal.h"
#include "cluster/pack/pack.h"

uint32_t tenant_find(const struct cluster *cluster, struct str name)
{
	return name_find(cluster, CLUSTER_TENANTS, name);
}

/* Makes one that was not seen, where needed. */
static uint32_t tenant_get(struct cluster *cluster, struct str name)
{
	uint32_t tenant = tenant_find(cluster, name);
	struct tenant_record *record;

	if (tenant != TABLE_NONE)
		return tenant;
	tenant = table_add(&cluster->tenants);
	record = tenant_at(cluster, tenant);
	record->name = intern_ref(cluster->intern, name);
	record->first_member = record->first_selection = TABLE_NONE;
	record->ceiling = record->ceiling_gpus = AMOUNT_NONE;
	record->topology = TOPOLOGY_SPEC_DEFAULT;
	record->preemptible = PREEMPTIBLE_DEFAULT;
	record->pending_us = AMOUNT_NONE;
	for (int i = 0; i < TENANT_BINDING_COUNT; i++)
		record->bindings[i] = TABLE_NONE;
	name_insert(cluster, CLUSTER_TENANTS, tenant);
	return tenant;
}

/* A dirty one stays until it was taken, and the one that was taken last until the next is. */
void tenant_release(struct cluster *cluster, uint32_t tenant)
{
	struct tenant_record *record = tenant_at(cluster, tenant);

	if (record->exists || record->dirty || tenant == cluster->taken_tenant)
		return;
	for (int i = 0; i < TENANT_BINDING_COUNT; i++)
		if (record->bindings[i] != TABLE_NONE)
			return;
	name_remove(cluster, CLUSTER_TENANTS, tenant);
	intern_unref(cluster->intern, record->name);
	intern_unref(cluster->intern, record->uid);
	intern_unref(cluster->intern, record->unmoved);
	intern_unref(cluster->intern, record->unhelped);
	intern_unref(cluster->intern, record->kept);
	table_remove(&cluster->tenants, tenant);
}

/* --- the object */

static void mark_members(struct cluster *cluster, uint32_t tenant)
{
	uint32_t ns = tenant_at(cluster, tenant)->first_member;

	for (; ns != TABLE_NONE; ns = namespace_at(cluster, ns)->member_next)
		mark_namespace(cluster, ns);
}

/* Who owns what is in its namespaces is told by the uid. */
static void set_uid(struct cluster *cluster, uint32_t tenant, struct str uid)
{
	struct tenant_record *record = tenant_at(cluster, tenant);
	uint32_t old = record->uid;

	record->uid = intern_ref(cluster->intern, uid);
	if (record->uid != old)
		mark_members(cluster, tenant);
	intern_unref(cluster->intern, old);
}

static bool is_same_selection(const struct tenant_record *record, const struct tenant_facts *facts,
			      struct str selector)
{
	return record->exists && record->created_us == facts->created_us &&
	       record->terminating == facts->terminating &&
	       str_equal(selector, (struct str){record->selector, record->selector_len});
}

/* Whether there is a ceiling in cards is no part of any grant, and concerns every member. */
static void set_ceiling(struct cluster *cluster, uint32_t tenant, const struct tenant_spec *spec)
{
	struct tenant_record *record = tenant_at(cluster, tenant);

	if ((record->ceiling_gpus == AMOUNT_NONE) != (spec->ceiling_gpus == AMOUNT_NONE))
		mark_members(cluster, tenant);
	record->ceiling = spec->ceiling;
	record->ceiling_gpus = spec->ceiling_gpus;
}

static void set_topology(struct cluster *cluster, uint32_t tenant, const struct topology_spec *spec)
{
	struct tenant_record *record = tenant_at(cluster, tenant);
	bool same = record->topology.policy == spec->policy &&
		    record->topology.scope == spec->scope &&
		    record->topology.on_mismatch == spec->on_mismatch;

	record->topology = *spec;
	if (same)
		return;
	for (uint32_t ns = record->first_member; ns != TABLE_NONE;
	     ns = namespace_at(cluster, ns)->member_next)
		checks_outdate(cluster, ns);
}

/* True where they were the same. */
static bool keep_receipts(struct cluster *cluster, struct tenant_record *record)
{
	struct str packed = buf_str(&cluster->scratch_receipts);

	if (str_equal(packed, (struct str){record->receipts, record->receipts_len}))
		return true;
	cluster->packed_bytes[CLUSTER_TENANTS] += packed.len - record->receipts_len;
	mem_free(record->receipts);
	record->receipts = packed.len ? pack_copy(packed) : NULL;
	record->receipts_len = packed.len;
	return false;
}

/* Keeps what was packed. */
static void update(struct cluster *cluster, uint32_t tenant, const struct tenant_facts *facts)
{
	struct tenant_record *record = tenant_at(cluster, tenant);
	struct str packed = buf_str(&cluster->scratch);
	struct str selector = buf_str(&cluster->scratch_selector);
	bool same_selection = is_same_selection(record, facts, selector);
	bool same_receipts = keep_receipts(cluster, record);

	if (same_selection && same_receipts &&
	    str_equal(packed, (struct str){record->bytes, record->len}))
		return;
	cluster->packed_bytes[CLUSTER_TENANTS] +=
		packed.len + selector.len - record->len - record->selector_len;
	mem_free(record->bytes);
	mem_free(record->selector);
	record->bytes = pack_copy(packed);
	record->len = packed.len;
	record->selector = pack_copy(selector);
	record->selector_len = selector.len;
	record->exists = true;
	record->created_us = facts->created_us;
	record->terminating = facts->terminating;
	record->tier = (uint8_t)facts->spec.tier;
	record->preemptible = facts->spec.preemptible;
	set_topology(cluster, tenant, &facts->spec.topology);
	set_ceiling(cluster, tenant, &facts->spec);
	objectives_set(cluster, tenant, facts->invalid || facts->terminating ? NULL : &facts->spec);
	cluster->selectors_stale |= !same_selection;
	set_uid(cluster, tenant, facts->uid);
	cluster_mark_tenant_dirty(cluster, tenant);
}

static int check_room(const struct cluster *cluster, struct str name, struct error *err)
{
	if (tenant_find(cluster, name) == TABLE_NONE && cluster->tenants.count >= LIMIT_TENANTS)
		return error_set(err, ERROR_LIMIT, "there are more than %d TenantQoS",
				 LIMIT_TENANTS);
	return 0;
}

static int apply(struct cluster *cluster, const struct tenant_facts *facts, struct error *err)
{
	uint32_t tenant;

	if (check_names(STR_NONE, facts->name, err) < 0)
		return -1;
	tenant = tenant_find(cluster, facts->name);
	if (tenant != TABLE_NONE) {
		struct tenant_record *record = tenant_at(cluster, tenant);

		record->epoch = cluster->epochs[CLUSTER_TENANTS];
		if (record->exists && is_older(facts->resource_version, record->resource_version) &&
		    str_equal(intern_str(cluster->intern, record->uid), facts->uid))
			return 0;
	}
	if (facts->uid.len > LIMIT_NAME)
		return error_set(err, ERROR_LIMIT, "its uid is too long");
	if (check_room(cluster, facts->name, err) < 0)
		return -1;
	buf_reset(&cluster->scratch);
	buf_reset(&cluster->scratch_selector);
	buf_reset(&cluster->scratch_receipts);
	pack_tenant(facts, &cluster->scratch);
	pack_receipts(facts->status.receipts, facts->status.n_receipts, &cluster->scratch_receipts);
	pack_label_selector(&facts->spec.namespaces, &cluster->scratch_selector);
	if (cluster->scratch.overflowed || cluster->scratch_selector.overflowed ||
	    cluster->scratch_receipts.overflowed)
		return error_set(err, ERROR_LIMIT, "it is larger than %d bytes", LIMIT_PACKED);
	tenant = tenant_get(cluster, facts->name);
	tenant_at(cluster, tenant)->epoch = cluster->epochs[CLUSTER_TENANTS];
	tenant_at(cluster, tenant)->resource_version = facts->resource_version;
	update(cluster, tenant, facts);
	holds_follow_tenant(cluster, tenant, facts);
	return 0;
}

int cluster_apply_tenant(struct cluster *cluster, const struct tenant_facts *facts,
			 struct error *err)
{
	if (apply(cluster, facts, err) < 0)
		return refuse(cluster, CLUSTER_TENANTS, STR_NONE, facts->name, err);
	return 0;
}

void tenant_gone(struct cluster *cluster, uint32_t tenant)
{
	struct tenant_record *record = tenant_at(cluster, tenant);

	if (!record->exists)
		return;
	membership_end(cluster, tenant);
	holds_follow_tenant(cluster, tenant, NULL);
	cluster->packed_bytes[CLUSTER_TENANTS] -=
		record->len + record->selector_len + record->receipts_len;
	mem_free(record->bytes);
	mem_free(record->selector);
	mem_free(record->receipts);
	intern_unref(cluster->intern, record->uid);
	record->bytes = record->selector = record->receipts = NULL;
	record->len = record->selector_len = record->receipts_len = 0;
	record->uid = INTERN_EMPTY;
	record->resource_version = 0;
	record->exists = record->terminating = false;
	record->ceiling = record->ceiling_gpus = AMOUNT_NONE;
	record->topology = TOPOLOGY_SPEC_DEFAULT;
	record->preemptible = PREEMPTIBLE_DEFAULT;
	record->sums = (struct tenant_sums){0};
	objectives_set(cluster, tenant, NULL);
	record->throttle = (struct throttle){0};
	cluster->selectors_stale = true;
	cluster_mark_tenant_dirty(cluster, tenant);
}

static bool tell(struct cluster *cluster, uint32_t tenant, uint32_t *told, struct str why)
{
	uint32_t before = *told;

	why = utf8_prefix(why, LIMIT_INTERNED_STRING);
	if (str_equal(intern_str(cluster->intern, before), why))
		return false;
	*told = intern_ref(cluster->intern, why);
	intern_unref(cluster->intern, before);
	cluster_mark_tenant_dirty(cluster, tenant);
	return true;
}

bool cluster_tell_unmoved(struct cluster *cluster, uint32_t tenant, struct str why)
{
	return tell(cluster, tenant, &tenant_at(cluster, tenant)->unmoved, why);
}

bool cluster_tell_unhelped(struct cluster *cluster, uint32_t tenant, struct str why)
{
	return tell(cluster, tenant, &tenant_at(cluster, tenant)->unhelped, why);
}

bool cluster_tell_kept(struct cluster *cluster, uint32_t tenant, struct str why)
{
	return tell(cluster, tenant, &tenant_at(cluster, tenant)->kept, why);
}

bool cluster_tenant_receipts(const struct cluster *cluster, uint32_t tenant, struct arena *arena,
			     const struct receipt **ret_receipts, size_t *ret_len)
{
	const struct tenant_record *record = tenant_at(cluster, tenant);

	return unpack_receipts((struct str){record->receipts, record->receipts_len}, arena,
			       ret_receipts, ret_len);
}

/* --- bindings */

uint32_t binding_find(const struct cluster *cluster, struct str name)
{
	enum tenant_binding which;
	struct str of;
	uint32_t tenant;

	if (!tenant_binding_of(name, &which, &of))
		return TABLE_NONE;
	tenant = tenant_find(cluster, of);
	return tenant == TABLE_NONE ? TABLE_NONE : tenant_at(cluster, tenant)->bindings[which];
}

void binding_remove(struct cluster *cluster, uint32_t binding)
{
	struct binding_record *record = binding_at(cluster, binding);
	uint32_t tenant = record->tenant;

	tenant_at(cluster, tenant)->bindings[record->binding] = TABLE_NONE;
	cluster->packed_bytes[CLUSTER_BINDINGS] -= record->len;
	mem_free(record->bytes);
	table_remove(&cluster->bindings, binding);
	cluster_mark_tenant_dirty(cluster, tenant);
}

static uint32_t binding_add(struct cluster *cluster, enum tenant_binding which, struct str of)
{
	uint32_t tenant = tenant_get(cluster, of), binding = table_add(&cluster->bindings);

	binding_at(cluster, binding)->tenant = tenant;
	binding_at(cluster, binding)->binding = (uint32_t)which;
	tenant_at(cluster, tenant)->bindings[which] = binding;
	return binding;
}

static bool is_outdated(const struct binding_record *record, const struct binding_facts *facts)
{
	return is_older(facts->resource_version, record->resource_version) &&
	       str_equal(unpack_uid((struct str){record->bytes, record->len}), facts->uid);
}

static int apply_binding(struct cluster *cluster, const struct binding_facts *facts,
			 struct error *err)
{
	struct binding_record *record;
	enum tenant_binding which;
	struct str of, packed;
	uint32_t binding;

	if (check_names(STR_NONE, facts->name, err) < 0)
		return -1;
	if (!tenant_binding_of(facts->name, &which, &of))
		return 0;
	buf_reset(&cluster->scratch);
	pack_binding(facts, &cluster->scratch);
	if (cluster->scratch.overflowed)
		return error_set(err, ERROR_LIMIT, "it is larger than %d bytes", LIMIT_PACKED);
	binding = binding_find(cluster, facts->name);
	if (binding == TABLE_NONE && check_room(cluster, of, err) < 0)
		return -1;
	if (binding == TABLE_NONE)
		binding = binding_add(cluster, which, of);
	record = binding_at(cluster, binding);
	record->epoch = cluster->epochs[CLUSTER_BINDINGS];
	if (record->bytes && is_outdated(record, facts))
		return 0;
	record->resource_version = facts->resource_version;
	packed = buf_str(&cluster->scratch);
	if (record->bytes && str_equal(packed, (struct str){record->bytes, record->len}))
		return 0;
	cluster->packed_bytes[CLUSTER_BINDINGS] += packed.len - record->len;
	mem_free(record->bytes);
	record->bytes = pack_copy(packed);
	record->len = packed.len;
	cluster_mark_tenant_dirty(cluster, record->tenant);
	return 0;
}

int cluster_apply_binding(struct cluster *cluster, const struct binding_facts *facts,
			  struct error *err)
{
	if (apply_binding(cluster, facts, err) < 0)
		return refuse(cluster, CLUSTER_BINDINGS, STR_NONE, facts->name, err);
	return 0;
}

/* --- grants */

static bool grants_equal(const struct tenant_grant *a, const struct tenant_grant *b)
{
	return a->outcome == b->outcome && a->granted == b->granted &&
	       a->granted_gpus == b->granted_gpus && a->borrowed == b->borrowed &&
	       a->lent == b->lent && a->effective == b->effective && a->recalled == b->recalled &&
	       a->missing == b->missing && a->missing_gpus == b->missing_gpus &&
	       a->effective_gpus == b->effective_gpus && a->withheld == b->withheld &&
	       a->withheld_gpus == b->withheld_gpus;
}

/* The namespaces' conditions tell of it. */
static void set_throttle(struct cluster *cluster, uint32_t tenant, const struct throttle *throttle)
{
	struct tenant_record *record = tenant_at(cluster, tenant);

	if (!throttle_equal(&record->throttle, throttle))
		mark_members(cluster, tenant);
	record->throttle = *throttle;
}

void cluster_grant(struct cluster *cluster, uint32_t tenant, const struct tenant_decision *decision)
{
	if (!table_has(&cluster->tenants, tenant))
		return;
	tenant_at(cluster, tenant)->sums = *decision->sums;
	set_throttle(cluster, tenant, &decision->throttle);
	for (size_t i = 0; i < decision->n; i++) {
		uint32_t ns = decision->namespaces[i];
		struct namespace_record *record;

		if (!table_has(&cluster->namespaces, ns))
			continue;
		record = namespace_at(cluster, ns);
		if (record->tenant != tenant)
			continue;
		if (!record->decided || !grants_equal(&record->grant, &decision->grants[i]))
			mark_namespace(cluster, ns);
		record->grant = decision->grants[i];
		record->decided = true;
	}
}

void cluster_forget_grants(struct cluster *cluster)
{
	for (uint32_t ns = table_next(&cluster->namespaces, 0); ns != TABLE_NONE;
	     ns = table_next(&cluster->namespaces, ns + 1)) {
		namespace_at(cluster, ns)->grant = (struct tenant_grant){0};
		namespace_at(cluster, ns)->decided = false;
	}
	for (uint32_t tenant = table_next(&cluster->tenants, 0); tenant != TABLE_NONE;
	     tenant = table_next(&cluster->tenants, tenant + 1)) {
		tenant_at(cluster, tenant)->sums = (struct tenant_sums){0};
		tenant_at(cluster, tenant)->throttle = (struct throttle){0};
		cluster_mark_tenant_dirty(cluster, tenant);
	}
}

void grant_follow(struct cluster *cluster, uint32_t namespace)
{
	struct namespace_record *record = namespace_at(cluster, namespace);
	uint32_t governing = quota_governing(cluster, namespace);

	if (record->granted_quota == governing)
		return;
	record->granted_quota = governing;
	record->grant = (struct tenant_grant){0};
	record->decided = false;
}
