/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What our own writes say and no watch has shown yet. A decision counts it as what the API server
 * allows: it may be that already.
 */
#include "cluster/internal.h"
#include "cluster/tenants/tenants.h"

static void forget(struct cluster *cluster, uint32_t namespace, struct sent *sent)
{
	*sent = (struct sent){0};
	cluster_mark_dirty(cluster, namespace);
}

/* @seen: the version that the watch has shown, 0 for none. */
static void settle(struct cluster *cluster, uint32_t namespace, struct sent *sent, uint64_t seen)
{
	if (sent->version != 0 && seen >= sent->version)
		forget(cluster, namespace, sent);
}

struct enforced enforced_of(const struct cluster *cluster, uint32_t namespace)
{
	const struct namespace_record *record = namespace_at(cluster, namespace);
	uint32_t owned = record->owned[OWNED_RESOURCE_QUOTA];
	uint32_t quota = quota_governing(cluster, namespace);
	struct enforced most = record->sent.most;

	if (owned != TABLE_NONE)
		enforced_join(&most, &owned_at(cluster, OWNED_RESOURCE_QUOTA, owned)->enforced);
	if (quota != TABLE_NONE) {
		const struct quota_amounts *amounts = &quota_at(cluster, quota)->amounts;

		enforced_join(&most, &(struct enforced){amounts->effective, amounts->effective_gpus,
							false});
		enforced_join(&most, &record->published.most);
	}
	return most;
}

void sent_settle(struct cluster *cluster, uint32_t namespace)
{
	struct namespace_record *record = namespace_at(cluster, namespace);
	uint32_t owned = record->owned[OWNED_RESOURCE_QUOTA];
	uint32_t quota = quota_governing(cluster, namespace);

	if (owned != TABLE_NONE)
		settle(cluster, namespace, &record->sent,
		       owned_at(cluster, OWNED_RESOURCE_QUOTA, owned)->resource_version);
	if (quota != TABLE_NONE)
		settle(cluster, namespace, &record->published,
		       quota_at(cluster, quota)->resource_version);
}

void sent_quota_gone(struct cluster *cluster, uint32_t namespace)
{
	namespace_at(cluster, namespace)->published = (struct sent){0};
}

void cluster_note_sent(struct cluster *cluster, uint32_t namespace,
		       const struct resource_amount *hard, size_t n_hard)
{
	struct sent *sent;

	if (!table_has(&cluster->namespaces, namespace))
		return;
	sent = &namespace_at(cluster, namespace)->sent;
	sent->version = 0;
	enforced_raise(cluster, hard, n_hard, &sent->most);
}

void cluster_note_publishing(struct cluster *cluster, uint32_t namespace, int64_t effective,
			     int64_t effective_gpus)
{
	struct sent *published;

	if (!table_has(&cluster->namespaces, namespace))
		return;
	published = &namespace_at(cluster, namespace)->published;
	published->version = 0;
	published->most.bytes = MAX(published->most.bytes, effective);
	published->most.gpus = MAX(published->most.gpus, effective_gpus);
}

static bool governs(const struct cluster *cluster, uint32_t namespace, struct str name)
{
	uint32_t quota = quota_governing(cluster, namespace);

	return quota != TABLE_NONE &&
	       str_equal(intern_str(cluster->intern, quota_at(cluster, quota)->name), name);
}

void cluster_note_answered(struct cluster *cluster, uint32_t namespace, enum cluster_kind kind,
			   struct str name, uint64_t version)
{
	struct namespace_record *record;
	struct sent *sent;

	if (!table_has(&cluster->namespaces, namespace) ||
	    (kind == CLUSTER_QUOTAS && !governs(cluster, namespace, name)))
		return;
	record = namespace_at(cluster, namespace);
	sent = kind == CLUSTER_QUOTAS ? &record->published : &record->sent;
	sent->version = version;
	if (version == 0)
		forget(cluster, namespace, sent);
	else
		sent_settle(cluster, namespace);
}
