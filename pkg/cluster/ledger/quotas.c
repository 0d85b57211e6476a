/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GpuMemoryQuotas, in a list of their namespace, oldest first. Of too many the oldest are kept: who
 * may create quotas must not be able to push out the one that governs.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "cluster/dra/dra_internal.h"
#include "cluster/pack/pack.h"

static struct str quota_name(const struct cluster *cluster, uint32_t quota)
{
	return intern_str(cluster->intern, quota_at(cluster, quota)->name);
}

uint32_t quota_find(const struct cluster *cluster, struct str namespace, struct str name)
{
	uint32_t ns = namespace_find(cluster, namespace);
	uint32_t quota = ns == TABLE_NONE ? TABLE_NONE : namespace_at(cluster, ns)->first_quota;

	while (quota != TABLE_NONE && !str_equal(quota_name(cluster, quota), name))
		quota = quota_at(cluster, quota)->next;
	return quota;
}

uint32_t quota_governing(const struct cluster *cluster, uint32_t namespace)
{
	uint32_t quota = namespace_at(cluster, namespace)->first_quota;

	while (quota != TABLE_NONE && quota_at(cluster, quota)->terminating)
		quota = quota_at(cluster, quota)->next;
	return quota;
}

static bool is_before(const struct cluster *cluster, int64_t created_us, struct str name,
		      uint32_t other)
{
	int64_t created = quota_at(cluster, other)->created_us;

	if (created_us != created)
		return created_us < created;
	return str_compare(name, quota_name(cluster, other)) < 0;
}

static void link_quota(struct cluster *cluster, uint32_t quota)
{
	struct quota_record *record = quota_at(cluster, quota);
	struct namespace_record *ns = namespace_at(cluster, record->namespace);
	uint32_t *at = &ns->first_quota;

	while (*at != TABLE_NONE &&
	       !is_before(cluster, record->created_us, quota_name(cluster, quota), *at))
		at = &quota_at(cluster, *at)->next;
	record->next = *at;
	*at = quota;
	ns->n_quotas++;
}

static void unlink_quota(struct cluster *cluster, uint32_t quota)
{
	struct quota_record *record = quota_at(cluster, quota);
	struct namespace_record *ns = namespace_at(cluster, record->namespace);
	uint32_t *at = &ns->first_quota;

	while (*at != quota)
		at = &quota_at(cluster, *at)->next;
	*at = record->next;
	ns->n_quotas--;
}

void quota_remove(struct cluster *cluster, uint32_t quota)
{
	struct quota_record *record = quota_at(cluster, quota);
	uint32_t ns = record->namespace;
	bool governed = quota_governing(cluster, ns) == quota;

	unlink_quota(cluster, quota);
	cluster->packed_bytes[CLUSTER_QUOTAS] -= record->len;
	mem_free(record->bytes);
	intern_unref(cluster->intern, record->name);
	intern_unref(cluster->intern, record->amounts.tenant);
	table_remove(&cluster->quotas, quota);
	if (governed)
		sent_quota_gone(cluster, ns);
	grant_follow(cluster, ns);
	cluster_mark_dirty(cluster, ns);
}

/* Drops the youngest where the namespace is full; LIMIT where @facts would be that one. */
static int make_room(struct cluster *cluster, uint32_t ns, const struct quota_facts *facts,
		     struct error *err)
{
	uint32_t youngest = namespace_at(cluster, ns)->first_quota;

	if (namespace_at(cluster, ns)->n_quotas < LIMIT_QUOTAS_PER_NAMESPACE)
		return 0;
	while (quota_at(cluster, youngest)->next != TABLE_NONE)
		youngest = quota_at(cluster, youngest)->next;
	if (!is_before(cluster, facts->created_us, facts->name, youngest))
		return error_set(err, ERROR_LIMIT,
				 "its namespace has more than %d, and it is among the youngest",
				 LIMIT_QUOTAS_PER_NAMESPACE);
	cluster->unreadable[CLUSTER_QUOTAS]++;
	quota_remove(cluster, youngest);
	return 0;
}

static int quota_add(struct cluster *cluster, const struct quota_facts *facts, uint32_t *ret_quota,
		     struct error *err)
{
	uint32_t ns = namespace_get(cluster, facts->namespace), quota;
	struct quota_record *record;

	if (make_room(cluster, ns, facts, err) < 0)
		return -1;
	quota = table_add(&cluster->quotas);
	record = quota_at(cluster, quota);
	record->namespace = ns;
	record->name = intern_ref(cluster->intern, facts->name);
	record->created_us = facts->created_us;
	link_quota(cluster, quota);
	*ret_quota = quota;
	return 0;
}

static bool has_uid(const struct quota_record *record, struct str uid)
{
	return str_equal(unpack_uid((struct str){record->bytes, record->len}), uid);
}

static struct quota_amounts amounts_of(struct cluster *cluster, const struct quota_facts *facts)
{
	struct quota_amounts amounts = {.invalid = facts->invalid != NULL};

	amounts.limit_gpus = AMOUNT_NONE;
	if (!amounts.invalid) {
		amounts.limit = facts->spec.gpu_memory;
		amounts.limit_gpus = facts->spec.gpus;
		amounts.borrow_limit = facts->spec.borrow_limit;
	}
	if (facts->has_status) {
		amounts.effective = facts->status.effective;
		amounts.granted = facts->status.granted;
		amounts.effective_gpus = facts->status.effective_gpus;
		amounts.granted_gpus = facts->status.granted_gpus;
		amounts.borrowed = facts->status.borrowed;
		amounts.lent = facts->status.lent;
		amounts.tenant = intern_ref(cluster->intern, facts->status.tenant);
	}
	return amounts;
}

static bool amounts_equal(const struct quota_amounts *a, const struct quota_amounts *b)
{
	return a->limit == b->limit && a->limit_gpus == b->limit_gpus &&
	       a->borrow_limit == b->borrow_limit && a->effective == b->effective &&
	       a->granted == b->granted && a->borrowed == b->borrowed && a->lent == b->lent &&
	       a->effective_gpus == b->effective_gpus && a->granted_gpus == b->granted_gpus &&
	       a->tenant == b->tenant && a->invalid == b->invalid;
}

/* What decisions read without unpacking. */
static void note_facts(struct cluster *cluster, uint32_t quota, const struct quota_facts *facts)
{
	struct quota_record *record = quota_at(cluster, quota);
	const struct quota_spec *spec = &facts->spec;
	struct quota_amounts amounts = amounts_of(cluster, facts);
	bool same = amounts_equal(&amounts, &record->amounts) &&
		    record->terminating == facts->terminating;

	intern_unref(cluster->intern, record->amounts.tenant);
	record->amounts = amounts;
	record->terminating = facts->terminating;
	record->terminal_timeout_us =
		facts->invalid || !spec->release_terminal ? -1 : spec->terminal_timeout_us;
	record->dry_run = !facts->invalid && spec->dry_run;
	if (facts->has_status)
		classes_told(cluster, &facts->status.classes);
	grant_follow(cluster, record->namespace);
	if (!same)
		cluster_mark_dirty(cluster, record->namespace);
}

static void place(struct cluster *cluster, uint32_t quota, const struct quota_facts *facts)
{
	struct quota_record *record = quota_at(cluster, quota);

	if (record->created_us == facts->created_us)
		return;
	unlink_quota(cluster, quota);
	record->created_us = facts->created_us;
	link_quota(cluster, quota);
	cluster_mark_dirty(cluster, record->namespace);
}

/* Another object of the same name: what the one before was granted is not its. */
static void replace(struct cluster *cluster, uint32_t quota)
{
	struct namespace_record *ns = namespace_at(cluster, quota_at(cluster, quota)->namespace);

	if (ns->granted_quota == quota)
		ns->granted_quota = TABLE_NONE;
}

/* Keeps what was packed into scratch. */
static void update(struct cluster *cluster, uint32_t quota, const struct quota_facts *facts)
{
	struct quota_record *record = quota_at(cluster, quota);
	struct str packed = buf_str(&cluster->scratch);
	bool written = record->resource_version != facts->resource_version;

	record->resource_version = facts->resource_version;
	record->epoch = cluster->epochs[CLUSTER_QUOTAS];
	sent_settle(cluster, record->namespace);
	if (record->bytes && str_equal(packed, (struct str){record->bytes, record->len})) {
		/* A status that is gone and one that cannot be read look alike: either is ours to
		 * write, and whoever wrote may have made the one the other. */
		if (written && !facts->has_status)
			mark_namespace(cluster, record->namespace);
		return;
	}
	if (record->bytes && !has_uid(record, facts->uid))
		replace(cluster, quota);
	place(cluster, quota, facts);
	note_facts(cluster, quota, facts);
	cluster->packed_bytes[CLUSTER_QUOTAS] += packed.len - record->len;
	mem_free(record->bytes);
	record->bytes = pack_copy(packed);
	record->len = packed.len;
	mark_namespace(cluster, record->namespace);
}

static int apply(struct cluster *cluster, const struct quota_facts *facts, struct error *err)
{
	uint32_t quota;

	if (check_names(facts->namespace, facts->name, err) < 0)
		return -1;
	quota = quota_find(cluster, facts->namespace, facts->name);
	if (quota != TABLE_NONE) {
		struct quota_record *record = quota_at(cluster, quota);

		record->epoch = cluster->epochs[CLUSTER_QUOTAS];
		if (is_older(facts->resource_version, record->resource_version) &&
		    has_uid(record, facts->uid))
			return 0;
	}
	buf_reset(&cluster->scratch);
	pack_quota(facts, &cluster->scratch);
	if (facts->has_status && facts->status.tenant.len > LIMIT_INTERNED_STRING)
		return error_set(err, ERROR_LIMIT, "the name of its tenant is too long");
	if (cluster->scratch.overflowed)
		return error_set(err, ERROR_LIMIT, "it is larger than %d bytes", LIMIT_PACKED);
	if (quota == TABLE_NONE && quota_add(cluster, facts, &quota, err))
		return -1;
	update(cluster, quota, facts);
	return 0;
}

int cluster_apply_quota(struct cluster *cluster, const struct quota_facts *quota, struct error *err)
{
	if (apply(cluster, quota, err) < 0)
		return refuse(cluster, CLUSTER_QUOTAS, quota->namespace, quota->name, err);
	return 0;
}
