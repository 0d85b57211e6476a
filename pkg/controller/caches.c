/* SPDX-License-Identifier: Apache-2.0 */
/* Wire structs in, facts to the cluster. The table of kinds is the whole of
 * what this controller watches. */
#include "controller/caches.h"

#include "api/agent.h"
#include "api/pack.h"
#include "api/pack_budget.h"
#include "api/pack_dra.h"
#include "api/pack_job.h"
#include "api/wire.h"
#include "api/wire_quota.h"
#include "base/mem.h"
#include "cluster/leaving/budgets.h"
#include "cluster/leaving/victims.h"
#include "cluster/nodes/agents.h"
#include "cluster/nodes/gpunodes.h"
#include "cluster/nodes/published.h"
#include "ctl/expect.h"

#define OWN_OBJECTS  "metadata.name=" OWNED_OBJECT_NAME
#define OWN_BINDINGS "app.kubernetes.io/name=gpuqos"
#define AGENT_LEASES "app.kubernetes.io/name=" API_AGENT_NAME

typedef int (*apply_fn)(struct caches *caches, const void *object, struct arena *arena,
			struct error *err);

typedef int (*outline_fn)(struct caches *caches, const void *object, const char *why,
			  struct arena *arena, struct error *err);

/* However many budgets ask for new labels, all pods are not read more often. */
#define LABELS_AGAIN_US (60 * USEC_PER_SEC)

struct cache {
	struct caches *caches;
	enum cluster_kind kind;
	struct reflector *reflector;
	uint64_t seen_version;             /* the highest on the watch */
	struct expectations *expectations; /* of our writes of this kind */
	bool synced, replacing;            /* replacing: a full state is under way */
	bool stale;                        /* until one that was asked for is over */
};

struct caches {
	struct caches_options options;
	struct loop *loop;
	struct cache cache[CLUSTER_KIND_COUNT];
	struct loop_timer labels;   /* all pods are to be read anew */
	int64_t labels_earliest_us; /* monotonic */
};

static int apply_pod(struct caches *caches, const void *object, struct arena *arena,
		     struct error *err)
{
	struct pod_facts facts;

	if (api_pack_pod(object, caches->options.table, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_pod(caches->options.cluster, &facts, err);
}

static int apply_node(struct caches *caches, const void *object, struct arena *arena,
		      struct error *err)
{
	struct node_facts facts;

	if (api_pack_node(object, caches->options.table, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_node(caches->options.cluster, &facts, err);
}

static int apply_namespace(struct caches *caches, const void *object, struct arena *arena,
			   struct error *err)
{
	struct namespace_facts facts;

	if (api_pack_namespace(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_namespace(caches->options.cluster, &facts, err);
}

static int apply_quota(struct caches *caches, const void *object, struct arena *arena,
		       struct error *err)
{
	struct quota_facts facts;

	if (api_pack_quota(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_quota(caches->options.cluster, &facts, err);
}

static int apply_resource_quota(struct caches *caches, const void *object, struct arena *arena,
				struct error *err)
{
	struct resource_quota_facts facts;

	if (api_pack_resource_quota(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_resource_quota(caches->options.cluster, &facts, loop_now(caches->loop),
					    err);
}

static int apply_limit_range(struct caches *caches, const void *object, struct arena *arena,
			     struct error *err)
{
	struct limit_range_facts facts;

	if (api_pack_limit_range(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_limit_range(caches->options.cluster, &facts, err);
}

static int apply_tenant(struct caches *caches, const void *object, struct arena *arena,
			struct error *err)
{
	struct tenant_facts facts;

	if (api_pack_tenant(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_tenant(caches->options.cluster, &facts, err);
}

static int apply_binding(struct caches *caches, const void *object, struct arena *arena,
			 struct error *err)
{
	struct binding_facts facts;

	if (api_pack_binding(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_binding(caches->options.cluster, &facts, err);
}

static int apply_claim(struct caches *caches, const void *object, struct arena *arena,
		       struct error *err)
{
	struct claim_facts facts;

	if (api_pack_claim(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_claim(caches->options.cluster, &facts, err);
}

static int apply_slice(struct caches *caches, const void *object, struct arena *arena,
		       struct error *err)
{
	struct slice_facts facts;

	if (api_pack_slice(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_slice(caches->options.cluster, &facts, err);
}

static int apply_class(struct caches *caches, const void *object, struct arena *arena,
		       struct error *err)
{
	struct class_facts facts;

	(void)arena;
	if (api_pack_class(object, &facts, err) < 0)
		return -1;
	facts.in_table = source_table_find(caches->options.table, facts.extended_resource) != NULL;
	return cluster_apply_class(caches->options.cluster, &facts, err);
}

static int apply_agent(struct caches *caches, const void *object, struct arena *arena UNUSED,
		       struct error *err)
{
	struct agent_facts facts;

	api_pack_agent(object, &facts);
	return cluster_apply_agent(caches->options.cluster, &facts, loop_now(caches->loop), err);
}

static int apply_gpu_node(struct caches *caches, const void *object, struct arena *arena,
			  struct error *err)
{
	struct gpu_node_facts facts;

	if (api_pack_gpu_node(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_gpu_node(caches->options.cluster, &facts, loop_now(caches->loop), err);
}

static int apply_koordinator(struct caches *caches, const void *object, struct arena *arena,
			     struct error *err)
{
	struct published_facts facts;

	if (api_pack_koordinator_device(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_published(caches->options.cluster, &facts, err);
}

static int apply_budget(struct caches *caches, const void *object, struct arena *arena,
			struct error *err)
{
	struct budget_facts facts;

	if (api_pack_budget(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_budget(caches->options.cluster, &facts, err);
}

static int apply_job(struct caches *caches, const void *object, struct arena *arena UNUSED,
		     struct error *err)
{
	struct job_facts facts;

	if (api_pack_job(object, &facts, err) < 0)
		return -1;
	return cluster_apply_job(caches->options.cluster, &facts, err);
}

/* --- what cannot be read whole */

/* What it was seen to hold stays, and where it runs and whether it is over is still read. */
static int outline_pod(struct caches *caches, const void *object, const char *why UNUSED,
		       struct arena *arena UNUSED, struct error *err)
{
	struct pod_facts facts;

	if (api_pack_pod_outline(object, &facts, err) < 0)
		return -1;
	return cluster_apply_pod(caches->options.cluster, &facts, err);
}

static int outline_claim(struct caches *caches, const void *object, const char *why UNUSED,
			 struct arena *arena UNUSED, struct error *err)
{
	struct claim_facts facts;

	if (api_pack_claim_outline(object, &facts, err) < 0)
		return -1;
	return cluster_apply_claim(caches->options.cluster, &facts, err);
}

static int outline_namespace(struct caches *caches, const void *object, const char *why UNUSED,
			     struct arena *arena, struct error *err)
{
	return apply_namespace(caches, object, arena, err);
}

static int outline_quota(struct caches *caches, const void *object, const char *why,
			 struct arena *arena UNUSED, struct error *err)
{
	struct quota_facts facts;

	if (api_pack_quota_outline(object, why, &facts, err) < 0)
		return -1;
	return cluster_apply_quota(caches->options.cluster, &facts, err);
}

static int outline_tenant(struct caches *caches, const void *object, const char *why,
			  struct arena *arena UNUSED, struct error *err)
{
	struct tenant_facts facts;

	if (api_pack_tenant_outline(object, why, &facts, err) < 0)
		return -1;
	return cluster_apply_tenant(caches->options.cluster, &facts, err);
}

static int outline_budget(struct caches *caches, const void *object, const char *why UNUSED,
			  struct arena *arena UNUSED, struct error *err)
{
	struct budget_facts facts;

	if (api_pack_budget_outline(object, &facts, err) < 0)
		return -1;
	return cluster_apply_budget(caches->options.cluster, &facts, err);
}

/* Of kinds without one, what is not known yet stays so: nobody is charged less for it. */
static const outline_fn outlines[CLUSTER_KIND_COUNT] = {
	[CLUSTER_PODS] = outline_pod,       [CLUSTER_CLAIMS] = outline_claim,
	[CLUSTER_QUOTAS] = outline_quota,   [CLUSTER_NAMESPACES] = outline_namespace,
	[CLUSTER_TENANTS] = outline_tenant, [CLUSTER_BUDGETS] = outline_budget,
};

static const struct watched {
	const struct api_type *type;
	apply_fn apply;
	const char *field_selector, *label_selector;
	/* Where it is not served there is none: CRDs older than the controller, or no DRA. */
	bool optional;
	bool at_home; /* in the controller's namespace alone */
} watched[CLUSTER_KIND_COUNT] = {
	[CLUSTER_PODS] = {.type = &api_pods, .apply = apply_pod},
	[CLUSTER_NODES] = {.type = &api_nodes, .apply = apply_node},
	[CLUSTER_NAMESPACES] = {.type = &api_namespaces, .apply = apply_namespace},
	[CLUSTER_QUOTAS] = {.type = &api_gpu_memory_quotas, .apply = apply_quota},
	[CLUSTER_RESOURCE_QUOTAS] = {.type = &api_resource_quotas,
				     .apply = apply_resource_quota,
				     .field_selector = OWN_OBJECTS},
	[CLUSTER_LIMIT_RANGES] = {.type = &api_limit_ranges,
				  .apply = apply_limit_range,
				  .field_selector = OWN_OBJECTS},
	[CLUSTER_TENANTS] = {.type = &api_tenants, .apply = apply_tenant, .optional = true},
	[CLUSTER_BINDINGS] = {.type = &api_policy_bindings,
			      .apply = apply_binding,
			      .label_selector = OWN_BINDINGS},
	[CLUSTER_CLAIMS] = {.type = &api_resource_claims, .apply = apply_claim, .optional = true},
	[CLUSTER_SLICES] = {.type = &api_resource_slices, .apply = apply_slice, .optional = true},
	[CLUSTER_CLASSES] = {.type = &api_device_classes, .apply = apply_class, .optional = true},
	[CLUSTER_AGENTS] = {.type = &api_leases,
			    .apply = apply_agent,
			    .label_selector = AGENT_LEASES,
			    .at_home = true},
	[CLUSTER_GPU_NODES] = {.type = &api_gpu_nodes, .apply = apply_gpu_node, .optional = true},
	[CLUSTER_PUBLISHED] = {.type = &api_koordinator_devices,
			       .apply = apply_koordinator,
			       .optional = true},
	[CLUSTER_BUDGETS] = {.type = &api_budgets, .apply = apply_budget},
	[CLUSTER_JOBS] = {.type = &api_jobs, .apply = apply_job},
};

/* --- labels that budgets ask for, and that were not kept */

static bool reads_all_pods(const struct caches *caches)
{
	const struct cache *pods = &caches->cache[CLUSTER_PODS];

	return !pods->synced || pods->replacing;
}

static void read_labels(void *context)
{
	struct caches *caches = context;

	if (!cluster_labels_wanted(caches->options.cluster) || reads_all_pods(caches))
		return;
	caches->labels_earliest_us = loop_now(caches->loop) + LABELS_AGAIN_US;
	reflector_relist(caches->cache[CLUSTER_PODS].reflector);
}

static void want_labels(struct caches *caches)
{
	if (cluster_labels_wanted(caches->options.cluster) && !loop_timer_armed(&caches->labels) &&
	    !reads_all_pods(caches))
		loop_timer_set(&caches->labels, caches->labels_earliest_us);
}

static void touched(struct caches *caches)
{
	want_labels(caches);
	caches->options.touched(caches->options.context);
}

/* Within its kind. A collision only makes a reconcile wait for a watch event a little longer. */
static uint64_t object_key(const struct caches *caches, struct api_identity object)
{
	const struct hash_key *key = &caches->options.hash_key;

	return hash_u64_pair(key, hash_bytes(key, object.namespace.data, object.namespace.len),
			     hash_bytes(key, object.name.data, object.name.len));
}

/* Every object starts with its metadata (api/wire.h). */
static void note_seen(struct cache *cache, const struct wire_meta *meta)
{
	struct api_identity object = {meta->namespace, meta->name};
	uint64_t version = api_version_number(meta->resource_version);

	cache->seen_version = MAX(cache->seen_version, version);
	expectations_seen(cache->expectations, object_key(cache->caches, object), version);
}

static int on_apply(void *context, const void *object, struct arena *arena, struct error *err)
{
	struct cache *cache = context;
	const struct wire_object *any = object;
	int r = watched[cache->kind].apply(cache->caches, object, arena, err);

	note_seen(cache, &any->meta);
	touched(cache->caches);
	return r;
}

/* A pod's outline is of use also where the pod is known: it may be over. */
static int on_outline(void *context, const void *object, const char *why, struct arena *arena,
		      struct error *err)
{
	struct cache *cache = context;
	const struct wire_object *any = object;
	outline_fn outline = outlines[cache->kind];
	bool known = cluster_keep(cache->caches->options.cluster, cache->kind, any->meta.namespace,
				  any->meta.name);
	int r = 0;

	if (outline && (!known || cache->kind == CLUSTER_PODS))
		r = outline(cache->caches, object, why, arena, err);
	note_seen(cache, &any->meta);
	touched(cache->caches);
	return r;
}

static int on_remove(void *context, const void *object, struct arena *arena, struct error *err)
{
	struct cache *cache = context;
	const struct wire_object *any = object;

	(void)arena;
	(void)err;
	cluster_delete(cache->caches->options.cluster, cache->kind, any->meta.namespace,
		       any->meta.name);
	note_seen(cache, &any->meta);
	touched(cache->caches);
	return 0;
}

static void on_begin(void *context)
{
	struct cache *cache = context;

	cache->replacing = true;
	cluster_begin_replace(cache->caches->options.cluster, cache->kind);
}

static void on_end(void *context)
{
	struct cache *cache = context;

	cache->replacing = false;
	cluster_end_replace(cache->caches->options.cluster, cache->kind);
	expectations_seen_all(cache->expectations);
	touched(cache->caches);
	if (!cache->stale)
		return;
	cache->stale = false;
	if (caches_synced(cache->caches))
		cache->caches->options.synced(cache->caches->options.context);
}

static void on_abort(void *context)
{
	struct cache *cache = context;

	cache->replacing = false;
	cluster_abort_replace(cache->caches->options.cluster, cache->kind);
	touched(cache->caches);
}

static void on_synced(void *context)
{
	struct cache *cache = context;

	cache->synced = true;
	if (cache->kind == CLUSTER_BUDGETS)
		reflector_start(cache->caches->cache[CLUSTER_PODS].reflector);
	if (caches_synced(cache->caches))
		cache->caches->options.synced(cache->caches->options.context);
}

void caches_refresh(struct caches *caches, enum cluster_kind kind)
{
	struct cache *cache = &caches->cache[kind];
	struct reflector_stats stats;

	reflector_stats(cache->reflector, &stats);
	if (stats.absent)
		return;
	cache->stale = true;
	reflector_read_anew(cache->reflector);
}

bool caches_fresh(const struct caches *caches)
{
	if (!caches_synced(caches))
		return false;
	for (size_t i = 0; i < CLUSTER_KIND_COUNT; i++)
		if (caches->cache[i].stale)
			return false;
	return true;
}

struct caches *caches_new(struct kube_client *client, const struct caches_options *options)
{
	struct caches *caches = mem_alloc(sizeof(*caches));

	caches->options = *options;
	caches->loop = kube_client_loop(client);
	loop_timer_init(&caches->labels, caches->loop, "labels of pods", read_labels, caches);
	for (size_t i = 0; i < CLUSTER_KIND_COUNT; i++) {
		struct cache *cache = &caches->cache[i];

		cache->caches = caches;
		cache->kind = (enum cluster_kind)i;
		cache->expectations = expectations_new(&options->hash_key);
		cache->reflector = reflector_new(
			client, &(struct reflector_options){
					.type = watched[i].type,
					.namespace = watched[i].at_home ? options->home : STR_NONE,
					.field_selector = watched[i].field_selector,
					.label_selector = watched[i].label_selector,
					.optional = watched[i].optional,
					.sink = {.begin_replace = on_begin,
						 .end_replace = on_end,
						 .abort_replace = on_abort,
						 .apply = on_apply,
						 .outline = on_outline,
						 .remove = on_remove,
						 .synced = on_synced,
						 .context = cache},
					.seed = options->seed + i,
					.log = options->log,
				});
	}
	return caches;
}

void caches_free(struct caches *caches)
{
	if (!caches)
		return;
	loop_timer_clear(&caches->labels);
	for (size_t i = 0; i < CLUSTER_KIND_COUNT; i++) {
		reflector_free(caches->cache[i].reflector);
		expectations_free(caches->cache[i].expectations);
	}
	mem_free(caches);
}

/* Pods come after the budgets, which tell which of their labels to keep: they are read once. */
void caches_start(struct caches *caches)
{
	for (size_t i = 0; i < CLUSTER_KIND_COUNT; i++)
		if (i != CLUSTER_PODS)
			reflector_start(caches->cache[i].reflector);
}

bool caches_synced(const struct caches *caches)
{
	for (size_t i = 0; i < CLUSTER_KIND_COUNT; i++)
		if (!caches->cache[i].synced)
			return false;
	return true;
}

const struct reflector *caches_reflector(const struct caches *caches, enum cluster_kind kind)
{
	return caches->cache[kind].reflector;
}

uint64_t caches_seen_version(const struct caches *caches, enum cluster_kind kind)
{
	return caches->cache[kind].seen_version;
}

static struct cache *cache_of(struct caches *caches, const struct api_type *type)
{
	for (size_t i = 0; i < CLUSTER_KIND_COUNT; i++)
		if (watched[i].type == type)
			return &caches->cache[i];
	return NULL;
}

void caches_expect(struct caches *caches, const struct api_type *type, struct api_identity object,
		   uint64_t version, int64_t expires_us)
{
	struct cache *cache = cache_of(caches, type);

	if (cache && version > cache->seen_version)
		expectations_set(cache->expectations, object_key(caches, object), version,
				 expires_us);
}

bool caches_pending(struct caches *caches, const struct api_type *type, struct api_identity object,
		    int64_t now_us)
{
	struct cache *cache = cache_of(caches, type);

	return cache &&
	       expectations_pending(cache->expectations, object_key(caches, object), now_us);
}
