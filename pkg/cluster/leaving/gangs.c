/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods that belong together. A gang is what a tenant writes on its pods, so it counts only as far
 * as it cannot be used to keep pods: see cluster/leaving/victims.h.
 */
#include "base/limits.h"
#include "cluster/internal.h"
#include "model/receipt.h"

struct gang_key {
	uint32_t namespace, name, owner, kind;
};

static bool key_equals(const void *context, uint32_t handle, const void *key)
{
	const struct gang_record *gang = gang_at(context, handle);
	const struct gang_key *wanted = key;

	return gang->namespace == wanted->namespace && gang->name == wanted->name &&
	       gang->owner == wanted->owner && gang->kind == wanted->kind;
}

static uint32_t key_hash(const struct cluster *cluster, const struct gang_key *key)
{
	uint64_t hash = hash_u64_pair(&cluster->key, key->namespace, key->name);

	return (uint32_t)hash_u64_pair(&cluster->key, hash, (uint64_t)key->owner << 8 | key->kind);
}

static struct gang_key key_of(const struct gang_record *gang)
{
	return (struct gang_key){gang->namespace, gang->name, gang->owner, gang->kind};
}

/* --- who is in it */

/* "vision-workers-1" after "vision". */
static bool is_named_after(struct str name, struct str after)
{
	return str_starts_with(name, after) &&
	       (name.len == after.len || name.data[after.len] == '-');
}

/* The workload that tells a gang from others of its name: none for those that are named alike. */
static uint32_t owner_in_key(const struct cluster *cluster, uint32_t owner, struct str gang)
{
	struct str text = intern_str(cluster->intern, owner);
	const char *slash = str_empty(text) ? NULL : memchr(text.data, '/', text.len);
	struct str name;

	if (!slash)
		return INTERN_EMPTY;
	name = str_skip(text, (size_t)(slash - text.data) + 1);
	return is_named_after(name, gang) || is_named_after(gang, name) ? INTERN_EMPTY : owner;
}

/* Takes a reference to what the key names. */
static uint32_t gang_get(struct cluster *cluster, const struct gang_key *key)
{
	uint32_t hash = key_hash(cluster, key);
	uint32_t gang = map_find(&cluster->gangs_by_key, hash, key_equals, cluster, key);
	struct gang_record *record;

	if (gang != MAP_NONE)
		return gang;
	gang = table_add(&cluster->gangs);
	record = gang_at(cluster, gang);
	record->namespace = key->namespace;
	record->name = intern_ref_handle(cluster->intern, key->name);
	record->owner = intern_ref_handle(cluster->intern, key->owner);
	record->kind = key->kind;
	record->first_pod = TABLE_NONE;
	map_insert(&cluster->gangs_by_key, hash, gang);
	return gang;
}

static void gang_release(struct cluster *cluster, uint32_t gang)
{
	struct gang_record *record = gang_at(cluster, gang);
	struct gang_key key = key_of(record);

	if (record->n > 0)
		return;
	map_remove(&cluster->gangs_by_key, key_hash(cluster, &key), gang);
	intern_unref(cluster->intern, record->name);
	intern_unref(cluster->intern, record->owner);
	table_remove(&cluster->gangs, gang);
}

static void join(struct cluster *cluster, uint32_t pod, uint32_t gang)
{
	struct exit_record *exit = exit_of(cluster, pod);
	struct gang_record *record = gang_at(cluster, gang);

	exit->gang = gang;
	exit->gang_prev = TABLE_NONE;
	exit->gang_next = record->first_pod;
	if (record->first_pod != TABLE_NONE)
		exit_of(cluster, record->first_pod)->gang_prev = pod;
	record->first_pod = pod;
	record->n++;
}

void gang_leave(struct cluster *cluster, uint32_t pod)
{
	struct exit_record *exit = exit_of(cluster, pod);
	uint32_t gang = exit->gang;

	if (gang == TABLE_NONE)
		return;
	if (exit->gang_next != TABLE_NONE)
		exit_of(cluster, exit->gang_next)->gang_prev = exit->gang_prev;
	if (exit->gang_prev != TABLE_NONE)
		exit_of(cluster, exit->gang_prev)->gang_next = exit->gang_next;
	else
		gang_at(cluster, gang)->first_pod = exit->gang_next;
	exit->gang = exit->gang_next = exit->gang_prev = TABLE_NONE;
	gang_at(cluster, gang)->n--;
	gang_settle(cluster, gang);
	gang_release(cluster, gang);
}

void gang_follow(struct cluster *cluster, uint32_t pod, enum gang_kind kind, struct str name)
{
	const struct pod_record *record = pod_at(cluster, pod);
	struct gang_key key = {.namespace = record->namespace, .kind = (uint32_t)kind};
	uint32_t gang = TABLE_NONE;

	if (kind != GANG_NONE && name.len <= LIMIT_INTERNED_STRING) {
		key.name = intern_ref(cluster->intern, name);
		key.owner = owner_in_key(cluster, record->owner, name);
		gang = gang_get(cluster, &key);
		intern_unref(cluster->intern, key.name);
	}
	if (gang != exit_of(cluster, pod)->gang) {
		gang_leave(cluster, pod);
		if (gang != TABLE_NONE)
			join(cluster, pod, gang);
	}
	gang_settle(cluster, gang);
}

/* --- as a whole */

/* Those that are on their way out are of a run that is over. */
static void add_times(const struct cluster *cluster, uint32_t pod, struct gang_record *gang)
{
	const struct pod_record *record = pod_at(cluster, pod);
	const struct exit_record *exit = exit_at(cluster, record->exit);
	uint32_t started_s = exit->started_s ? exit->started_s : record->created_s;

	gang->checkpoint_s = MAX(gang->checkpoint_s, exit->checkpoint_s);
	if (record->phase == POD_RUNNING && !record->terminating &&
	    (gang->started_s == 0 || started_s < gang->started_s))
		gang->started_s = started_s;
}

/* In a time that is bounded: what is too large to be a gang has no times. */
void gang_settle(struct cluster *cluster, uint32_t gang)
{
	struct gang_record *record;

	if (gang == TABLE_NONE)
		return;
	record = gang_at(cluster, gang);
	record->started_s = record->checkpoint_s = 0;
	if (record->n > RECEIPT_VICTIMS)
		return;
	for (uint32_t pod = record->first_pod; pod != TABLE_NONE;
	     pod = exit_of(cluster, pod)->gang_next)
		add_times(cluster, pod, record);
}
