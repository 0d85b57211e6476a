/* SPDX-License-Identifier: Apache-2.0 */
/* Views for those who decide and those who show. */
#include "cluster/read.h"

#include <stdlib.h>

#include "base/macros.h"
#include "cluster/dra/dra_internal.h"
#include "cluster/pack/pack.h"
#include "cluster/tenants/tenants.h"

/* --- namespaces */

uint32_t cluster_namespace_find(const struct cluster *cluster, struct str name)
{
	return namespace_find(cluster, name);
}

bool cluster_namespace_has(const struct cluster *cluster, uint32_t namespace)
{
	return table_has(&cluster->namespaces, namespace);
}

struct str cluster_namespace_name(const struct cluster *cluster, uint32_t namespace)
{
	return intern_str(cluster->intern, namespace_at(cluster, namespace)->name);
}

uint32_t cluster_namespace_pod(const struct cluster *cluster, uint32_t namespace)
{
	return namespace_at(cluster, namespace)->first_pod;
}

uint32_t cluster_namespace_pod_next(const struct cluster *cluster, uint32_t pod)
{
	return pod_at(cluster, pod)->namespace_next;
}

bool cluster_node_not_ready(const struct cluster *cluster, uint32_t node)
{
	return node_at(cluster, node)->ready == NODE_NOT_READY;
}

uint32_t cluster_namespace_next(const struct cluster *cluster, uint32_t from)
{
	return table_next(&cluster->namespaces, from);
}

void cluster_namespace_view(const struct cluster *cluster, uint32_t namespace,
			    struct namespace_view *ret_view)
{
	const struct namespace_record *record = namespace_at(cluster, namespace);
	uint32_t governing = quota_governing(cluster, namespace);

	*ret_view = (struct namespace_view){
		.name = intern_str(cluster->intern, record->name),
		.uid = intern_str(cluster->intern, record->uid),
		.exists = record->exists,
		.managed = record->managed,
		.quotaless = record->quotaless,
		.terminating = record->terminating,
		.resource_version = record->resource_version,
		.tenant_label = intern_str(cluster->intern, record->tenant_label),
		.n_quotas = record->n_quotas,
		.used = sum_clamp(record->sums.used),
		.live = sum_clamp(record->sums.live),
		.unpriced = sum_clamp(record->sums.unpriced),
		.pods = record->sums.pods,
		.released = sum_clamp(record->sums.released),
	};
	if (record->owned[OWNED_LIMIT_RANGE] != TABLE_NONE)
		ret_view->foreign_limit_range =
			!owned_at(cluster, OWNED_LIMIT_RANGE, record->owned[OWNED_LIMIT_RANGE])
				 ->owned;
	if (governing != TABLE_NONE) {
		ret_view->limit = quota_at(cluster, governing)->amounts.limit;
		ret_view->effective = quota_at(cluster, governing)->amounts.effective;
	}
}

/* --- prices */

struct price_list cluster_prices(const struct cluster *cluster)
{
	return prices_of(cluster);
}

const char *cluster_name(const struct cluster *cluster, uint32_t handle)
{
	return intern_str(cluster->intern, handle).data;
}

static const char *name_of(const void *context, uint32_t handle)
{
	return cluster_name(context, handle);
}

/* --- one quota */

void cluster_refresh(struct cluster *cluster, uint32_t namespace)
{
	prices_refresh(cluster);
	membership_refresh(cluster);
	if (table_has(&cluster->namespaces, namespace))
		ledger_refresh(cluster, namespace);
}

uint32_t cluster_quota_nth(const struct cluster *cluster, uint32_t namespace, uint32_t index)
{
	uint32_t quota = TABLE_NONE;

	if (table_has(&cluster->namespaces, namespace))
		quota = namespace_at(cluster, namespace)->first_quota;
	while (quota != TABLE_NONE && index-- > 0)
		quota = quota_at(cluster, quota)->next;
	return quota;
}

static struct str quota_bytes(const struct cluster *cluster, uint32_t quota)
{
	return (struct str){quota_at(cluster, quota)->bytes, quota_at(cluster, quota)->len};
}

static int by_row(const void *a, const void *b)
{
	const struct use_record *left = a, *right = b;

	return left->row < right->row ? -1 : left->row > right->row;
}

/* In the order of the price list, which is that of (resource, product). */
static bool view_uses(const struct cluster *cluster, const struct sums *sums, struct arena *arena,
		      struct quota_view *view)
{
	struct use_record *sorted;
	struct quota_use *uses;
	size_t n = 0;

	for (uint32_t h = sums->first_use; h != TABLE_NONE; n++)
		h = use_at(cluster, h)->next;
	sorted = arena_alloc(arena, n * sizeof(*sorted));
	uses = arena_alloc(arena, n * sizeof(*uses));
	if (!sorted || !uses)
		return false;
	n = 0;
	for (uint32_t h = sums->first_use; h != TABLE_NONE; h = sorted[n++].next)
		sorted[n] = *use_at(cluster, h);
	if (n > 1)
		qsort(sorted, n, sizeof(*sorted), by_row);
	for (size_t i = 0; i < n; i++) {
		const struct price_row *row = &cluster->prices[sorted[i].row];

		uses[i] = (struct quota_use){
			.resource = row->resource,
			.product = row->product,
			.count = sum_clamp(sorted[i].count),
			.count_live = sum_clamp(sorted[i].count_live),
			.bytes = sum_clamp(sorted[i].bytes),
		};
	}
	view->uses = uses;
	view->n_uses = n;
	return true;
}

static bool view_resource_quota(const struct cluster *cluster, uint32_t owned, struct str owner,
				struct arena *arena, struct resource_quota_view *ret_view)
{
	const struct owned_record *record;
	struct resource_quota_facts facts;

	if (owned == TABLE_NONE)
		return true;
	record = owned_at(cluster, OWNED_RESOURCE_QUOTA, owned);
	if (!unpack_resource_quota((struct str){record->bytes, record->len}, arena, &facts))
		return false;
	*ret_view = (struct resource_quota_view){
		.exists = true,
		.ours = !str_empty(owner) && str_equal(facts.owner_uid, owner),
		.hard = facts.hard,
		.n_hard = facts.n_hard,
		.status_hard = facts.status_hard,
		.n_status_hard = facts.n_status_hard,
		.other_keys = facts.other_keys,
		.scoped = facts.scoped,
		.foreign_manager = facts.foreign_manager,
		.differs_since_us = record->differs_since_us,
	};
	return true;
}

static bool view_limit_range(const struct cluster *cluster, uint32_t owned, struct str owner,
			     struct arena *arena, struct limit_range_view *ret_view)
{
	const struct owned_record *record;
	struct limit_range_facts facts;

	if (owned == TABLE_NONE)
		return true;
	record = owned_at(cluster, OWNED_LIMIT_RANGE, owned);
	if (!unpack_limit_range((struct str){record->bytes, record->len}, arena, &facts))
		return false;
	*ret_view = (struct limit_range_view){
		.exists = true,
		.ours = !str_empty(owner) && str_equal(facts.owner_uid, owner),
		.owned = record->owned,
		.defaults = facts.defaults,
		.n_defaults = facts.n_defaults,
		.other_limits = facts.other_limits,
		.foreign_manager = facts.foreign_manager,
	};
	return true;
}

/* Whose our objects in a namespace are: its tenant's, else its governing quota's. */
static struct str owner_of(const struct cluster *cluster, uint32_t namespace)
{
	uint32_t tenant = namespace_at(cluster, namespace)->tenant;
	uint32_t governing = quota_governing(cluster, namespace);

	if (tenant != TABLE_NONE)
		return intern_str(cluster->intern, tenant_at(cluster, tenant)->uid);
	return governing == TABLE_NONE ? STR_NONE : unpack_uid(quota_bytes(cluster, governing));
}

static bool view_share(const struct cluster *cluster, uint32_t namespace, struct arena *arena,
		       struct quota_view *view)
{
	uint32_t tenant = namespace_at(cluster, namespace)->tenant;
	struct quota_share *share;

	if (tenant == TABLE_NONE)
		return true;
	share = arena_alloc(arena, sizeof(*share));
	if (!share)
		return false;
	share->tenant = cluster_tenant_name(cluster, tenant);
	share->grant = namespace_at(cluster, namespace)->grant;
	share->throttle = tenant_at(cluster, tenant)->throttle;
	share->any_gpus = tenant_at(cluster, tenant)->ceiling_gpus == AMOUNT_NONE;
	view->share = share;
	return true;
}

static bool is_unanswered(const struct sent *sent)
{
	return sent->version == 0 && (sent->most.bytes > 0 || sent->most.gpus > 0);
}

static bool view_namespace(const struct cluster *cluster, uint32_t namespace, struct arena *arena,
			   struct quota_view *view)
{
	const struct namespace_record *record = namespace_at(cluster, namespace);
	uint32_t governing = quota_governing(cluster, namespace);
	struct str owner = owner_of(cluster, namespace);
	bool viewed;

	if (governing != TABLE_NONE)
		view->governing = intern_str(cluster->intern, quota_at(cluster, governing)->name);
	view->managed = record->managed;
	view->quotaless = record->quotaless;
	view->prices = prices_of(cluster);
	view->name = name_of;
	view->name_context = cluster;
	view->used = sum_clamp(record->sums.used);
	view->live = sum_clamp(record->sums.live);
	view->unpriced = sum_clamp(record->sums.unpriced);
	view->assumed = sum_clamp(record->sums.assumed);
	view->pods = record->sums.pods;
	view->recount_drift = record->recount_drift;
	view->released = sum_clamp(record->sums.released);
	view->released_pods = record->sums.released_pods;
	viewed = view_share(cluster, namespace, arena, view) &&
		 view_disagreement(cluster, namespace, arena, &view->disagreement) &&
		 view_uses(cluster, &record->sums, arena, view) &&
		 class_list_view(cluster, arena, &view->classes) &&
		 view_resource_quota(cluster, record->owned[OWNED_RESOURCE_QUOTA], owner, arena,
				     &view->resource_quota) &&
		 view_limit_range(cluster, record->owned[OWNED_LIMIT_RANGE], owner, arena,
				  &view->limit_range);
	view->unanswered = is_unanswered(&record->published);
	view->resource_quota.unanswered = is_unanswered(&record->sent);
	return viewed;
}

static bool view_quota(const struct cluster *cluster, uint32_t quota, struct arena *arena,
		       struct quota_view *view, struct quota_identity *identity)
{
	const struct quota_record *record = quota_at(cluster, quota);
	struct quota_facts *facts = arena_alloc(arena, sizeof(*facts));

	if (!facts || !unpack_quota(quota_bytes(cluster, quota), arena, facts))
		return false;
	view->spec = &facts->spec;
	view->generation = facts->generation;
	view->terminating = record->terminating;
	view->duplicate =
		!record->terminating && quota != quota_governing(cluster, record->namespace);
	view->invalid = facts->invalid;
	view->status = facts->has_status ? &facts->status : NULL;
	*identity = (struct quota_identity){
		.namespace = cluster_namespace_name(cluster, record->namespace),
		.name = intern_str(cluster->intern, record->name),
		.uid = facts->uid,
		.resource_version = record->resource_version,
		.terminating = record->terminating,
	};
	return true;
}

int cluster_quota_view(const struct cluster *cluster, uint32_t quota, struct arena *arena,
		       struct quota_lookup *ret_lookup, struct error *err)
{
	struct quota_lookup lookup = {0};
	const struct quota_record *record;

	if (!table_has(&cluster->quotas, quota))
		return error_set(err, ERROR_NOT_FOUND, "the namespace has no such GpuMemoryQuota");
	record = quota_at(cluster, quota);
	if (!view_namespace(cluster, record->namespace, arena, &lookup.view) ||
	    !view_quota(cluster, quota, arena, &lookup.view, &lookup.identity))
		return error_set(err, ERROR_LIMIT,
				 "GpuMemoryQuota %.*s takes more memory than it may",
				 STR_ARGS(intern_str(cluster->intern, record->name)));
	*ret_lookup = lookup;
	return 0;
}

int cluster_bare_view(const struct cluster *cluster, uint32_t namespace, struct arena *arena,
		      struct quota_lookup *ret_lookup, struct error *err)
{
	struct quota_lookup lookup = {0};

	if (cluster_tenant_of(cluster, namespace) == TABLE_NONE)
		return error_set(err, ERROR_NOT_FOUND, "the namespace belongs to no TenantQoS");
	lookup.identity.namespace = cluster_namespace_name(cluster, namespace);
	if (!view_namespace(cluster, namespace, arena, &lookup.view))
		return error_set(err, ERROR_LIMIT, "namespace %.*s takes more memory than it may",
				 STR_ARGS(lookup.identity.namespace));
	*ret_lookup = lookup;
	return 0;
}

/* --- numbers */

/* Only what was seen is an object; placeholders are not. */
static uint32_t count_nodes(const struct cluster *cluster)
{
	uint32_t n = 0;

	for (uint32_t h = table_next(&cluster->nodes, 0); h != TABLE_NONE;
	     h = table_next(&cluster->nodes, h + 1))
		n += node_at(cluster, h)->exists;
	return n;
}

static uint32_t count_namespaces(const struct cluster *cluster)
{
	uint32_t n = 0;

	for (uint32_t h = table_next(&cluster->namespaces, 0); h != TABLE_NONE;
	     h = table_next(&cluster->namespaces, h + 1))
		n += namespace_at(cluster, h)->exists;
	return n;
}

static uint32_t count_tenants(const struct cluster *cluster)
{
	uint32_t n = 0;

	for (uint32_t h = table_next(&cluster->tenants, 0); h != TABLE_NONE;
	     h = table_next(&cluster->tenants, h + 1))
		n += tenant_at(cluster, h)->exists;
	return n;
}

void cluster_stats(const struct cluster *cluster, struct cluster_stats *ret_stats)
{
	struct cluster_stats stats = {0};

	stats.objects[CLUSTER_PODS] = cluster->pods.count;
	stats.objects[CLUSTER_NODES] = count_nodes(cluster);
	stats.objects[CLUSTER_NAMESPACES] = count_namespaces(cluster);
	stats.objects[CLUSTER_QUOTAS] = cluster->quotas.count;
	stats.objects[CLUSTER_RESOURCE_QUOTAS] = cluster->owned[OWNED_RESOURCE_QUOTA].count;
	stats.objects[CLUSTER_LIMIT_RANGES] = cluster->owned[OWNED_LIMIT_RANGE].count;
	stats.objects[CLUSTER_TENANTS] = count_tenants(cluster);
	stats.objects[CLUSTER_BINDINGS] = cluster->bindings.count;
	memcpy(stats.unreadable, cluster->unreadable, sizeof(stats.unreadable));
	memcpy(stats.bytes, cluster->packed_bytes, sizeof(stats.bytes));
	stats.bytes[CLUSTER_PODS] +=
		table_bytes(&cluster->pods) + map_bytes(&cluster->pods_by_name) +
		table_bytes(&cluster->evictions) + table_bytes(&cluster->exits) +
		demands_bytes(cluster) + table_bytes(&cluster->gangs) +
		map_bytes(&cluster->gangs_by_key);
	stats.objects[CLUSTER_JOBS] = cluster->jobs.count;
	stats.bytes[CLUSTER_JOBS] +=
		table_bytes(&cluster->jobs) + map_bytes(&cluster->jobs_by_owner);
	stats.objects[CLUSTER_BUDGETS] = cluster->budgets.count;
	stats.bytes[CLUSTER_BUDGETS] += table_bytes(&cluster->budgets);
	stats.bytes[CLUSTER_NODES] +=
		table_bytes(&cluster->nodes) + cluster->n_stamps * sizeof(*cluster->stamps) +
		map_bytes(&cluster->nodes_by_name) + table_bytes(&cluster->offers) +
		table_bytes(&cluster->kinds) + map_bytes(&cluster->kinds_by_value) +
		(cluster->n_prices + 1) * sizeof(*cluster->prices);
	stats.bytes[CLUSTER_NAMESPACES] += table_bytes(&cluster->namespaces) +
					   map_bytes(&cluster->namespaces_by_name) +
					   table_bytes(&cluster->uses) + refusals_bytes(cluster);
	stats.bytes[CLUSTER_QUOTAS] += table_bytes(&cluster->quotas);
	stats.bytes[CLUSTER_RESOURCE_QUOTAS] += table_bytes(&cluster->owned[OWNED_RESOURCE_QUOTA]);
	stats.bytes[CLUSTER_LIMIT_RANGES] += table_bytes(&cluster->owned[OWNED_LIMIT_RANGE]);
	stats.bytes[CLUSTER_TENANTS] += table_bytes(&cluster->tenants) +
					table_bytes(&cluster->selections) +
					map_bytes(&cluster->tenants_by_name) +
					cluster->selectors.capacity * sizeof(struct selector_entry);
	stats.bytes[CLUSTER_BINDINGS] += table_bytes(&cluster->bindings);
	stats.objects[CLUSTER_AGENTS] = cluster->agents.count;
	stats.bytes[CLUSTER_AGENTS] +=
		table_bytes(&cluster->agents) + map_bytes(&cluster->agents_by_node);
	stats.objects[CLUSTER_GPU_NODES] = cluster->gpu_nodes.count;
	stats.bytes[CLUSTER_GPU_NODES] = gpu_nodes_bytes(cluster) + series_bytes(cluster);
	stats.objects[CLUSTER_PUBLISHED] = cluster->published.count;
	stats.bytes[CLUSTER_PUBLISHED] = published_bytes(cluster, CLUSTER_PUBLISHED);
	stats.objects[CLUSTER_ZONES] = cluster->zones.count;
	stats.bytes[CLUSTER_ZONES] = published_bytes(cluster, CLUSTER_ZONES);
	storage_stats(cluster, &stats);
	dra_stats(&cluster->dra, &stats);
	stats.shared_bytes = intern_bytes(cluster->intern) + vectors_bytes(&cluster->vectors) +
			     table_bytes(&cluster->wants) + map_bytes(&cluster->wants_by_value);
	*ret_stats = stats;
}
