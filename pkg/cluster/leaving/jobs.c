/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that end where one of their pods does: only these are kept, by what their pods call them. */
#include "base/limits.h"
#include "cluster/internal.h"
#include "cluster/leaving/victims.h"

struct job_key {
	uint32_t namespace, owner;
};

static bool key_equals(const void *context, uint32_t handle, const void *key)
{
	const struct job_record *job = job_at(context, handle);
	const struct job_key *wanted = key;

	return job->namespace == wanted->namespace && job->owner == wanted->owner;
}

static uint32_t key_hash(const struct cluster *cluster, struct job_key key)
{
	return (uint32_t)hash_u64_pair(&cluster->key, key.namespace, key.owner);
}

static uint32_t find(const struct cluster *cluster, struct job_key key)
{
	return map_find(&cluster->jobs_by_owner, key_hash(cluster, key), key_equals, cluster, &key);
}

/* False: the name is longer than an owner may be. */
static bool owner_text(struct str name, char text[LIMIT_INTERNED_STRING], struct str *ret_owner)
{
	static const char kind[] = "Job/";
	size_t len = sizeof(kind) - 1;

	if (len + name.len > LIMIT_INTERNED_STRING)
		return false;
	memcpy(text, kind, len);
	memcpy(text + len, name.data, name.len);
	*ret_owner = (struct str){text, len + name.len};
	return true;
}

uint32_t job_find(const struct cluster *cluster, struct str namespace, struct str name)
{
	char text[LIMIT_INTERNED_STRING];
	struct str owner;
	struct job_key key;

	if (!owner_text(name, text, &owner))
		return TABLE_NONE;
	key.namespace = intern_find(cluster->intern, namespace);
	key.owner = intern_find(cluster->intern, owner);
	return key.namespace == INTERN_NONE || key.owner == INTERN_NONE ? TABLE_NONE
									: find(cluster, key);
}

bool job_is_final(const struct cluster *cluster, const struct pod_record *pod)
{
	struct job_key key = {namespace_at(cluster, pod->namespace)->name, pod->owner};

	/* Of most clusters none is, and this is asked for every pod that might go. */
	return cluster->jobs.count > 0 && find(cluster, key) != TABLE_NONE;
}

void job_remove(struct cluster *cluster, uint32_t job)
{
	struct job_record *record = job_at(cluster, job);
	struct job_key key = {record->namespace, record->owner};

	map_remove(&cluster->jobs_by_owner, key_hash(cluster, key), job);
	intern_unref(cluster->intern, record->namespace);
	intern_unref(cluster->intern, record->owner);
	table_remove(&cluster->jobs, job);
}

static uint32_t job_add(struct cluster *cluster, const struct job_facts *facts)
{
	char text[LIMIT_INTERNED_STRING];
	struct job_record *record;
	struct str owner;
	struct job_key key;
	uint32_t job;

	if (!owner_text(facts->name, text, &owner))
		return TABLE_NONE;
	job = table_add(&cluster->jobs);
	record = job_at(cluster, job);
	key.namespace = record->namespace = intern_ref(cluster->intern, facts->namespace);
	key.owner = record->owner = intern_ref(cluster->intern, owner);
	map_insert(&cluster->jobs_by_owner, key_hash(cluster, key), job);
	return job;
}

int cluster_apply_job(struct cluster *cluster, const struct job_facts *facts, struct error *err)
{
	uint32_t job;

	if (check_names(facts->namespace, facts->name, err) < 0)
		return refuse(cluster, CLUSTER_JOBS, facts->namespace, facts->name, err);
	job = job_find(cluster, facts->namespace, facts->name);
	if (!facts->final) {
		if (job != TABLE_NONE)
			job_remove(cluster, job);
		return 0;
	}
	if (job == TABLE_NONE)
		job = job_add(cluster, facts);
	if (job != TABLE_NONE)
		job_at(cluster, job)->epoch = cluster->epochs[CLUSTER_JOBS];
	return 0;
}
