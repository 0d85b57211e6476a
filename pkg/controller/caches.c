/* SPDX-License-Identifier: Apache-2.0 */
/* Watches in, facts to the cluster: kinds.h has what is watched. */
#include "controller/caches.h"

#include "api/pack.h"
#include "api/wire.h"
#include "base/log.h"
#include "base/mem.h"
#include "cluster/leaving/budgets.h"
#include "cluster/volumes/volumes.h"
#include "controller/kinds.h"
#include "ctl/expect.h"

/* Of a watch that is open again what has changed meanwhile is read so soon. */
#define CURRENT_US (USEC_PER_SEC / 5)
/* How long all others wait for a kind of another project: API servers that start, and webhooks that
 * move to another node, are back by then. */
#define FOREIGN_US (60 * USEC_PER_SEC)
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
	bool volumes_begun, without_foreign; /* kinds of other projects are not waited for any more
					      */
	struct loop_timer foreign;
	struct loop_timer labels;   /* all pods are to be read anew */
	int64_t labels_earliest_us; /* monotonic */
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

bool caches_begun(const struct caches *caches, enum cluster_kind kind)
{
	return caches->volumes_begun || !cluster_is_of_volumes(kind);
}

/* Of a cluster where nobody has room made they would be as many as pods, for nothing. */
static void begin_volumes(struct caches *caches)
{
	if (caches->volumes_begun)
		return;
	caches->volumes_begun = true;
	for (size_t i = 0; i < CLUSTER_KIND_COUNT; i++)
		if (cluster_is_of_volumes((enum cluster_kind)i))
			reflector_start(caches->cache[i].reflector);
}

static struct kinds_sink sink_now(const struct caches *caches)
{
	return (struct kinds_sink){.cluster = caches->options.cluster,
				   .table = caches->options.table,
				   .now_us = loop_now(caches->loop)};
}

static int on_apply(void *context, const void *object, struct arena *arena, struct error *err)
{
	struct cache *cache = context;
	const struct wire_object *any = object;
	struct kinds_sink sink = sink_now(cache->caches);
	int r = kinds_watched(cache->kind)->apply(&sink, object, arena, err);

	note_seen(cache, &any->meta);
	if (sink.makes_room)
		begin_volumes(cache->caches);
	touched(cache->caches);
	return r;
}

/* A pod's outline is of use also where the pod is known: it may be over. */
static int on_outline(void *context, const void *object, const char *why, struct arena *arena,
		      struct error *err)
{
	struct cache *cache = context;
	const struct wire_object *any = object;
	kinds_outline_fn outline = kinds_watched(cache->kind)->outline;
	struct kinds_sink sink = sink_now(cache->caches);
	bool known = cluster_keep(cache->caches->options.cluster, cache->kind, any->meta.namespace,
				  any->meta.name);
	int r = 0;

	if (outline && (!known || cache->kind == CLUSTER_PODS))
		r = outline(&sink, object, why, arena, err);
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

/* Each watch has a back-off of its own: the last would be back long after the first, and for so
 * long what is known is of two times. */
static void on_opened(void *context)
{
	struct cache *cache = context;

	for (size_t i = 0; i < CLUSTER_KIND_COUNT; i++)
		if (&cache->caches->cache[i] != cache)
			reflector_hurry(cache->caches->cache[i].reflector);
}

static bool is_foreign(enum cluster_kind kind)
{
	return kinds_watched(kind)->foreign;
}

static bool are_synced(const struct caches *caches, bool with_foreign)
{
	for (size_t i = 0; i < CLUSTER_KIND_COUNT; i++) {
		enum cluster_kind kind = (enum cluster_kind)i;

		if (!caches->cache[i].synced && !cluster_is_of_volumes(kind) &&
		    (with_foreign || !is_foreign(kind)))
			return false;
	}
	return true;
}

static void go_without_foreign(void *context)
{
	struct caches *caches = context;
	struct reflector_stats stats;

	caches->without_foreign = true;
	for (size_t i = 0; i < CLUSTER_KIND_COUNT; i++) {
		if (caches->cache[i].synced || !is_foreign((enum cluster_kind)i))
			continue;
		reflector_stats(caches->cache[i].reflector, &stats);
		log_error(caches->options.log, "all else is read: goes on without this kind",
			  LOG_CSTR("resource", kinds_watched((enum cluster_kind)i)->type->plural),
			  LOG_CSTR("error", stats.last_error.message));
	}
	caches->options.synced(caches->options.context);
}

static void on_synced(void *context)
{
	struct cache *cache = context;
	struct caches *caches = cache->caches;

	cache->synced = true;
	if (cluster_is_of_volumes(cache->kind))
		return;
	if (cache->kind == CLUSTER_BUDGETS)
		reflector_start(caches->cache[CLUSTER_PODS].reflector);
	if (are_synced(caches, true))
		loop_timer_clear(&caches->foreign);
	else if (are_synced(caches, false) && !caches->without_foreign)
		loop_timer_set(&caches->foreign, loop_now(caches->loop) + FOREIGN_US);
	if (caches_synced(caches))
		caches->options.synced(caches->options.context);
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

static bool is_behind(const struct caches *caches, const struct cache *cache)
{
	struct reflector_stats stats;

	reflector_stats(cache->reflector, &stats);
	return stats.synced && !stats.absent &&
	       (stats.current_us == 0 || loop_now(caches->loop) - stats.current_us < CURRENT_US);
}

/* What the controller itself writes, and nothing is evicted for. */
static bool is_followed(enum cluster_kind kind)
{
	return kind != CLUSTER_RESOURCE_QUOTAS && kind != CLUSTER_LIMIT_RANGES &&
	       kind != CLUSTER_BINDINGS;
}

struct str caches_behind(const struct caches *caches)
{
	for (size_t i = 0; i < CLUSTER_KIND_COUNT; i++)
		if (is_followed((enum cluster_kind)i) && is_behind(caches, &caches->cache[i]))
			return str_from(kinds_watched((enum cluster_kind)i)->type->plural);
	return STR_NONE;
}

struct caches *caches_new(struct kube_client *client, const struct caches_options *options)
{
	struct caches *caches = mem_alloc(sizeof(*caches));

	caches->options = *options;
	caches->loop = kube_client_loop(client);
	loop_timer_init(&caches->labels, caches->loop, "labels of pods", read_labels, caches);
	loop_timer_init(&caches->foreign, caches->loop, "kinds of others", go_without_foreign,
			caches);
	for (size_t i = 0; i < CLUSTER_KIND_COUNT; i++) {
		const struct kinds_watched *watched = kinds_watched((enum cluster_kind)i);
		struct cache *cache = &caches->cache[i];

		cache->caches = caches;
		cache->kind = (enum cluster_kind)i;
		cache->expectations = expectations_new(&options->hash_key);
		cache->reflector = reflector_new(
			client, &(struct reflector_options){
					.type = watched->type,
					.namespace = watched->at_home ? options->home : STR_NONE,
					.field_selector = watched->field_selector,
					.label_selector = watched->label_selector,
					.optional = watched->optional,
					.sink = {.begin_replace = on_begin,
						 .end_replace = on_end,
						 .abort_replace = on_abort,
						 .apply = on_apply,
						 .outline = on_outline,
						 .remove = on_remove,
						 .opened = on_opened,
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
	loop_timer_clear(&caches->foreign);
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
		if (i != CLUSTER_PODS && caches_begun(caches, (enum cluster_kind)i))
			reflector_start(caches->cache[i].reflector);
}

bool caches_synced(const struct caches *caches)
{
	return are_synced(caches, !caches->without_foreign);
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
		if (kinds_watched((enum cluster_kind)i)->type == type)
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
