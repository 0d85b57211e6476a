/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_CACHES_H
#define GPUQOS_CONTROLLER_CACHES_H

#include "api/source_table.h"
#include "api/watch_event.h"
#include "cluster/cluster.h"
#include "runtime/reflector.h"

/*
 * The reflectors that fill the cluster, one per kind, and what each is still to show of our own
 * writes.
 */
struct caches;

struct caches_options {
	struct cluster *cluster;          /* borrowed */
	const struct source_table *table; /* borrowed; NULL: none */
	struct str home;                  /* namespace of the Leases; borrowed for life */
	void (*touched)(void *context); /* after each object: tenants and namespaces may be dirty */
	void (*synced)(void *context);  /* caches_synced(), and again after each caches_refresh() */
	void *context;
	struct log *log;
	struct hash_key hash_key;
	uint64_t seed;
};

struct caches *caches_new(struct kube_client *client, const struct caches_options *options);
void caches_free(struct caches *caches);
void caches_start(struct caches *caches);
/* Every kind was complete once, but for those of volumes; one of another project that cannot be
 * read counts as empty a minute after all others were. */
bool caches_synced(const struct caches *caches);

/*
 * All objects of the kind are read anew: another replica may have written some that no watch has
 * shown here yet. caches_fresh() is false until that is done, as it is before caches_synced(), and
 * then `synced` is called again.
 * Nothing happens where there is no such kind.
 */
void caches_refresh(struct caches *caches, enum cluster_kind kind);
bool caches_fresh(const struct caches *caches);

/*
 * The plural of a kind that who evicts goes by, and of which what is known here may be older than
 * what the API server has: its watch is down, or has just come back, or all of it is being read
 * anew. STR_NONE: there is none. Only of kinds that were complete once.
 */
struct str caches_behind(const struct caches *caches);

/* PersistentVolumeClaims and what they lead to are not watched before the first TenantQoS for which
 * pods may be evicted, and nothing waits for them: until they are there no pod that has a claim is
 * helped. */
bool caches_begun(const struct caches *caches, enum cluster_kind kind);

/* Borrowed. */
const struct reflector *caches_reflector(const struct caches *caches, enum cluster_kind kind);

/*
 * A write of ours to this object was answered with @version: until its watch shows it, a relist of
 * its kind is over, or @expires_us (monotonic) has come, the cache is older than what is known
 * (ctl/expect.h). Nothing is expected where @version is 0 (no number), where the watch has reached
 * it already, and of a type that is not watched.
 */
void caches_expect(struct caches *caches, const struct api_type *type, struct api_identity object,
		   uint64_t version, int64_t expires_us);
/* Whether a decision about this object must wait for its watch. */
bool caches_pending(struct caches *caches, const struct api_type *type, struct api_identity object,
		    int64_t now_us);

/* The highest resourceVersion that the watch of this kind has shown: for measurements. */
uint64_t caches_seen_version(const struct caches *caches, enum cluster_kind kind);

DEFINE_CLEANUP(struct caches *, caches_free)

#endif
