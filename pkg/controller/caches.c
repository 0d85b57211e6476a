/* SPDX-License-Identifier: Apache-2.0 */
/* Wire structs in, facts to the cluster, touched namespaces out. The table of kinds is the whole of
 * what this controller watches. */
#include "controller/caches.h"

#include "api/pack.h"
#include "api/wire.h"
#include "api/wire_quota.h"
#include "base/mem.h"

#define OWN_OBJECTS "metadata.name=" OWNED_OBJECT_NAME

typedef int (*apply_fn)(struct caches *caches, const void *object, struct arena *arena,
			struct error *err);

struct cache {
	struct caches *caches;
	enum cluster_kind kind;
	struct reflector *reflector;
	uint64_t seen_version;
	bool synced;
};

struct caches {
	struct caches_options options;
	struct loop *loop;
	struct cache cache[CLUSTER_KIND_COUNT];
};

static int apply_pod(struct caches *caches, const void *object, struct arena *arena,
		     struct error *err)
{
	struct pod_facts facts;

	if (api_pack_pod(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_pod(caches->options.cluster, &facts, err);
}

static int apply_node(struct caches *caches, const void *object, struct arena *arena,
		      struct error *err)
{
	struct node_facts facts;

	if (api_pack_node(object, arena, &facts, err) < 0)
		return -1;
	return cluster_apply_node(caches->options.cluster, &facts, err);
}

static int apply_namespace(struct caches *caches, const void *object, struct arena *arena,
			   struct error *err)
{
	struct namespace_facts facts;

	(void)arena;
	if (api_pack_namespace(object, &facts, err) < 0)
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

static const struct watched {
	const struct api_type *type;
	const char *field_selector;
	apply_fn apply;
} watched[CLUSTER_KIND_COUNT] = {
	[CLUSTER_PODS] = {&api_pods, NULL, apply_pod},
	[CLUSTER_NODES] = {&api_nodes, NULL, apply_node},
	[CLUSTER_NAMESPACES] = {&api_namespaces, NULL, apply_namespace},
	[CLUSTER_QUOTAS] = {&api_gpu_memory_quotas, NULL, apply_quota},
	[CLUSTER_RESOURCE_QUOTAS] = {&api_resource_quotas, OWN_OBJECTS, apply_resource_quota},
	[CLUSTER_LIMIT_RANGES] = {&api_limit_ranges, OWN_OBJECTS, apply_limit_range},
};

static void drain(struct caches *caches)
{
	uint32_t namespace;

	while (cluster_take_dirty(caches->options.cluster, &namespace))
		caches->options.touched(caches->options.context, namespace);
}

uint64_t caches_object_key(const struct api_type *type, struct str namespace, struct str name)
{
	/* Not for adversaries: a collision only makes a reconcile wait for a watch event a little
	 * longer. */
	static const struct hash_key fixed = {0x67707571, 0x6f73};
	uint64_t key = hash_bytes(&fixed, type->plural, strlen(type->plural));

	key = hash_u64_pair(&fixed, key, hash_bytes(&fixed, namespace.data, namespace.len));
	return hash_u64_pair(&fixed, key, hash_bytes(&fixed, name.data, name.len));
}

/* Every object starts with its metadata (api/wire.h). */
static void note_seen(struct cache *cache, const struct wire_meta *meta)
{
	uint64_t version = api_version_number(meta->resource_version);

	cache->seen_version = MAX(cache->seen_version, version);
	expectations_seen(cache->caches->options.expectations,
			  caches_object_key(watched[cache->kind].type, meta->namespace, meta->name),
			  version);
}

static int on_apply(void *context, const void *object, struct arena *arena, struct error *err)
{
	struct cache *cache = context;
	const struct wire_object *any = object;
	int r = watched[cache->kind].apply(cache->caches, object, arena, err);

	note_seen(cache, &any->meta);
	drain(cache->caches);
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
	drain(cache->caches);
	return 0;
}

static void on_begin(void *context)
{
	struct cache *cache = context;

	cluster_begin_replace(cache->caches->options.cluster, cache->kind);
}

static void on_end(void *context)
{
	struct cache *cache = context;

	cluster_end_replace(cache->caches->options.cluster, cache->kind);
	expectations_seen_all(cache->caches->options.expectations);
	drain(cache->caches);
}

static void on_abort(void *context)
{
	struct cache *cache = context;

	cluster_abort_replace(cache->caches->options.cluster, cache->kind);
	drain(cache->caches);
}

static void on_synced(void *context)
{
	struct cache *cache = context;

	cache->synced = true;
	if (caches_synced(cache->caches))
		cache->caches->options.synced(cache->caches->options.context);
}

struct caches *caches_new(struct kube_client *client, const struct caches_options *options)
{
	struct caches *caches = mem_alloc(sizeof(*caches));

	caches->options = *options;
	caches->loop = kube_client_loop(client);
	for (size_t i = 0; i < CLUSTER_KIND_COUNT; i++) {
		struct cache *cache = &caches->cache[i];

		cache->caches = caches;
		cache->kind = (enum cluster_kind)i;
		cache->reflector =
			reflector_new(client, &(struct reflector_options){
						      .type = watched[i].type,
						      .field_selector = watched[i].field_selector,
						      .sink = {.begin_replace = on_begin,
							       .end_replace = on_end,
							       .abort_replace = on_abort,
							       .apply = on_apply,
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
	for (size_t i = 0; i < CLUSTER_KIND_COUNT; i++)
		reflector_free(caches->cache[i].reflector);
	mem_free(caches);
}

void caches_start(struct caches *caches)
{
	for (size_t i = 0; i < CLUSTER_KIND_COUNT; i++)
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

uint64_t caches_seen_version(const struct caches *caches, const struct api_type *type)
{
	for (size_t i = 0; i < CLUSTER_KIND_COUNT; i++)
		if (watched[i].type == type)
			return caches->cache[i].seen_version;
	return 0;
}
