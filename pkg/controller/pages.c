/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics and health lines, one function per family. */
#include "controller/pages.h"

#include "base/metrics.h"
#include "base/table.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "cluster/volumes/volumes.h"

#define DISAGREEING_NODES_MOST 256

/* What a page shows, read once: to count the objects takes a walk over all of them. */
struct numbers {
	struct cluster_stats cache;
	struct reflector_stats watch[CLUSTER_KIND_COUNT];
	int64_t now_us;
};

typedef double (*kind_value_fn)(const struct numbers *numbers, enum cluster_kind kind);

static struct numbers gather(const struct pages_view *view)
{
	struct numbers numbers = {.now_us = view->now_us};

	cluster_stats(view->cluster, &numbers.cache);
	for (size_t i = 0; i < CLUSTER_KIND_COUNT; i++)
		reflector_stats(caches_reflector(view->caches, (enum cluster_kind)i),
				&numbers.watch[i]);
	return numbers;
}

/* "pods", as in the API's paths. */
static const char *kind_name(const struct pages_view *view, size_t kind)
{
	return reflector_type(caches_reflector(view->caches, (enum cluster_kind)kind))->plural;
}

static double watch_age(const struct numbers *numbers, enum cluster_kind kind)
{
	int64_t heard_us = numbers->watch[kind].last_heard_us;

	return heard_us ? (double)(numbers->now_us - heard_us) / USEC_PER_SEC : -1;
}

static double watch_restarts(const struct numbers *numbers, enum cluster_kind kind)
{
	return (double)numbers->watch[kind].restarts;
}

static double watch_relists(const struct numbers *numbers, enum cluster_kind kind)
{
	return (double)numbers->watch[kind].relists;
}

static double watch_unreadable(const struct numbers *numbers, enum cluster_kind kind)
{
	return (double)numbers->watch[kind].unreadable;
}

static double cache_objects(const struct numbers *numbers, enum cluster_kind kind)
{
	return numbers->cache.objects[kind];
}

static double cache_bytes(const struct numbers *numbers, enum cluster_kind kind)
{
	return (double)numbers->cache.bytes[kind];
}

/* name, type, help, value per kind of object */
static const struct kind_family {
	const char *name, *type, *help;
	kind_value_fn value;
} kind_families[] = {
	{"gpuqos_watch_age_seconds", "gauge",
	 "Since anything was last heard on the watch; -1 before the first answer.", watch_age},
	{"gpuqos_watch_restarts_total", "counter", "Watches and lists begun again.",
	 watch_restarts},
	{"gpuqos_watch_relists_total", "counter", "Full states read again.", watch_relists},
	{"gpuqos_watch_unreadable_total", "counter", "Objects that could not be read whole.",
	 watch_unreadable},
	{"gpuqos_cache_objects", "gauge", "Objects held.", cache_objects},
	{"gpuqos_cache_bytes", "gauge",
	 "Bytes of records and indexes; strings that kinds share are not in it.", cache_bytes},
};

static void write_kinds(const struct pages_view *view, const struct numbers *numbers,
			struct buf *page)
{
	for (size_t f = 0; f < ARRAY_SIZE(kind_families); f++) {
		const struct kind_family *family = &kind_families[f];

		metrics_write_family(page, family->name, family->type, family->help);
		for (size_t i = 0; i < CLUSTER_KIND_COUNT; i++) {
			struct metric_label label = {"resource", str_from(kind_name(view, i))};

			if (!caches_begun(view->caches, (enum cluster_kind)i))
				continue;
			metrics_write_sample(page, family->name, &label, 1,
					     family->value(numbers, (enum cluster_kind)i));
		}
	}
}

static double quota_limit(const struct namespace_view *namespace)
{
	return (double)namespace->limit;
}

static double quota_effective(const struct namespace_view *namespace)
{
	return (double)namespace->effective;
}

static double quota_used(const struct namespace_view *namespace)
{
	return (double)namespace->used;
}

static double quota_live(const struct namespace_view *namespace)
{
	return (double)namespace->live;
}

static double quota_unpriced(const struct namespace_view *namespace)
{
	return (double)namespace->unpriced;
}

static double quota_released(const struct namespace_view *namespace)
{
	return (double)namespace->released;
}

static const struct quota_family {
	const char *name, *help;
	double (*value)(const struct namespace_view *namespace);
} quota_families[] = {
	{"gpuqos_quota_limit_bytes", "GPU memory that the namespace's quota grants.", quota_limit},
	{"gpuqos_quota_effective_bytes", "GPU memory that is allowed now.", quota_effective},
	{"gpuqos_quota_used_bytes", "GPU memory charged to pods that are not finished.",
	 quota_used},
	{"gpuqos_quota_live_bytes", "Of that, pods that are bound to a node.", quota_live},
	{"gpuqos_quota_released_bytes",
	 "GPU memory of pods stuck terminating that is no more charged.", quota_released},
	{"gpuqos_quota_unpriced_devices", "Devices in use whose memory nothing tells.",
	 quota_unpriced},
};

static void write_quotas(const struct pages_view *view, struct buf *page)
{
	const struct cluster *cluster = view->cluster;
	struct namespace_view namespace;

	for (size_t f = 0; f < ARRAY_SIZE(quota_families); f++) {
		const struct quota_family *family = &quota_families[f];

		metrics_write_family(page, family->name, "gauge", family->help);
		for (uint32_t i = cluster_namespace_next(cluster, 0); i != TABLE_NONE;
		     i = cluster_namespace_next(cluster, i + 1)) {
			cluster_namespace_view(cluster, i, &namespace);
			if (!namespace.n_quotas)
				continue;
			struct metric_label label = {"namespace", namespace.name};

			metrics_write_sample(page, family->name, &label, 1,
					     family->value(&namespace));
		}
	}
}

/* AMOUNT_NONE: it has none, and no sample. */
static int64_t tenant_ceiling(const struct tenant_summary *tenant)
{
	return tenant->ceiling;
}

static int64_t tenant_granted(const struct tenant_summary *tenant)
{
	return tenant->sums.granted;
}

static int64_t tenant_used(const struct tenant_summary *tenant)
{
	return tenant->sums.used;
}

static int64_t tenant_lent(const struct tenant_summary *tenant)
{
	return tenant->sums.lent;
}

static int64_t tenant_percent(const struct tenant_summary *tenant)
{
	return tenant->percent;
}

static int64_t tenant_idle(const struct tenant_summary *tenant)
{
	return tenant->idle;
}

static const struct tenant_family {
	const char *name, *help;
	int64_t (*value)(const struct tenant_summary *tenant);
} tenant_families[] = {
	{"gpuqos_tenant_ceiling_bytes", "GPU memory that the tenant may hold as a whole.",
	 tenant_ceiling},
	{"gpuqos_tenant_granted_bytes", "Granted to its namespaces' quotas.", tenant_granted},
	{"gpuqos_tenant_used_bytes", "Charged to its pods that are not finished.", tenant_used},
	{"gpuqos_tenant_lent_bytes", "Lent between its namespaces at this moment.", tenant_lent},
	{"gpuqos_tenant_throttle_percent",
	 "What is left of what its quotas allow for new pods; 100 where nothing is held back.",
	 tenant_percent},
	{"gpuqos_tenant_idle_pods", "Pods that have done nothing with their GPUs for too long.",
	 tenant_idle},
};

static void write_tenants(const struct pages_view *view, struct buf *page)
{
	const struct cluster *cluster = view->cluster;
	struct tenant_summary tenant;

	for (size_t f = 0; f < ARRAY_SIZE(tenant_families); f++) {
		const struct tenant_family *family = &tenant_families[f];

		metrics_write_family(page, family->name, "gauge", family->help);
		for (uint32_t i = cluster_tenant_next(cluster, 0); i != TABLE_NONE;
		     i = cluster_tenant_next(cluster, i + 1)) {
			cluster_tenant_summary(cluster, i, &tenant);
			struct metric_label label = {"tenant", tenant.name};

			if (tenant.exists && family->value(&tenant) != AMOUNT_NONE)
				metrics_write_sample(page, family->name, &label, 1,
						     (double)family->value(&tenant));
		}
	}
}

static void write_single(struct buf *page, const char *name, const char *type, const char *help,
			 double value)
{
	metrics_write_family(page, name, type, help);
	metrics_write_sample(page, name, NULL, 0, value);
}

/* Nodes whose devices are charged by what others tell of theirs: silent otherwise. */
static void write_unlabelled(const struct pages_view *view, struct buf *page)
{
	static const char name[] = "gpuqos_nodes_without_memory";
	struct price_list prices = cluster_prices(view->cluster);

	metrics_write_family(page, name, "gauge",
			     "Nodes that offer a resource and do not tell its memory.");
	for (size_t i = 0; i < prices.n_rows; i++) {
		const struct price_row *row = &prices.rows[i];
		const struct metric_label labels[] = {
			{"resource", str_from(cluster_name(view->cluster, row->resource))},
			{"product", str_from(cluster_name(view->cluster, row->product))},
		};

		metrics_write_sample(page, name, labels, ARRAY_SIZE(labels), row->unknown_nodes);
	}
}

/* By how much, so that a rule can tell memory scaling from a wrong label. Few disagree, and if not
 * a list of so many is enough to act on. */
static void write_disagreements(const struct pages_view *view, struct buf *page)
{
	static const char name[] = "gpuqos_node_memory_disagreement_bytes";
	const struct cluster *cluster = view->cluster;
	struct node_disagreement found;
	size_t n = 0;

	metrics_write_family(page, name, "gauge",
			     "What another source tells of one unit's memory, less what counts.");
	for (uint32_t i = cluster_node_next(cluster, 0);
	     i != TABLE_NONE && n < DISAGREEING_NODES_MOST; i = cluster_node_next(cluster, i + 1)) {
		if (!cluster_node_disagreement(cluster, i, &found))
			continue;
		const struct metric_label labels[] = {{"node", cluster_node_name(cluster, i)},
						      {"resource", found.resource}};

		metrics_write_sample(page, name, labels, ARRAY_SIZE(labels),
				     (double)(found.other_memory - found.memory));
		n++;
	}
}

void pages_write_metrics(const struct pages_view *view, struct buf *page)
{
	struct metric_label identity = {"identity", str_from(view->identity)};
	struct numbers numbers = gather(view);

	write_kinds(view, &numbers, page);
	write_quotas(view, page);
	write_tenants(view, page);
	write_unlabelled(view, page);
	write_disagreements(view, page);
	pages_write_topology(view, page);
	pages_write_objectives(view, page);
	write_single(page, "gpuqos_cache_shared_bytes", "gauge",
		     "Bytes of strings and request vectors that records share.",
		     (double)numbers.cache.shared_bytes);
	metrics_write_family(page, "gpuqos_leader", "gauge", "1 while this replica leads.");
	metrics_write_sample(page, "gpuqos_leader", &identity, 1, view->leads);
	write_single(page, "gpuqos_ledger_recounts_total", "counter",
		     "Full recounts of the ledger.", (double)view->recounts);
	write_single(page, "gpuqos_ledger_differing_total", "counter",
		     "Namespaces whose sums a recount corrected.", (double)view->recount_differing);
	write_single(page, "gpuqos_ledger_drift_bytes_total", "counter",
		     "Bytes by which recounts corrected the ledger.", (double)view->recount_drift);
	write_single(page, "gpuqos_log_dropped_total", "counter",
		     "Log lines that nobody took in time.", (double)view->log_dropped);
	write_single(page, "gpuqos_events_dropped_total", "counter",
		     "Kubernetes Events that were not sent.", (double)view->events_dropped);
}

/* "[+] cache pods: complete, heard 3 s ago" */
static void write_cache(const char *kind, const struct reflector_stats *stats, bool missed,
			int64_t now_us, struct buf *text)
{
	const char *state = stats->absent   ? "not installed, counts as empty"
			    : stats->synced ? "complete"
			    : missed        ? "cannot be read, counts as empty"
					    : "not complete yet";

	buf_printf(text, "[%c] cache %s: %s", stats->synced ? '+' : '-', kind, state);
	if (stats->last_heard_us)
		buf_printf(text, ", heard %lld s ago",
			   (long long)((now_us - stats->last_heard_us) / USEC_PER_SEC));
	if (stats->last_error.kind != ERROR_NONE)
		buf_printf(text, ", %s", stats->last_error.message);
	buf_add_char(text, '\n');
}

bool pages_write_caches(const struct pages_view *view, struct buf *text)
{
	bool synced = caches_synced(view->caches);

	for (size_t i = 0; i < CLUSTER_KIND_COUNT; i++) {
		struct reflector_stats stats;
		bool missed;

		if (!caches_begun(view->caches, (enum cluster_kind)i))
			continue;
		reflector_stats(caches_reflector(view->caches, (enum cluster_kind)i), &stats);
		missed = synced && !cluster_is_of_volumes((enum cluster_kind)i);
		write_cache(kind_name(view, i), &stats, missed, view->now_us, text);
	}
	return synced;
}
