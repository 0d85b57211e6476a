/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_CACHES_H
#define GPUQOS_CONTROLLER_CACHES_H

#include "cluster/cluster.h"
#include "ctl/expect.h"
#include "runtime/reflector.h"

/*
 * The reflectors that fill the cluster, one per kind, and what they have seen of our own writes.
 * After each object the namespaces that it touched are handed to `touched`, once each.
 */
struct caches;

struct caches_options {
	struct cluster *cluster;           /* borrowed */
	struct expectations *expectations; /* borrowed */
	void (*touched)(void *context, uint32_t namespace);
	void (*synced)(void *context); /* every kind is complete for the first time */
	void *context;
	struct log *log;
	uint64_t seed;
};

struct caches *caches_new(struct kube_client *client, const struct caches_options *options);
void caches_free(struct caches *caches);
void caches_start(struct caches *caches);
bool caches_synced(const struct caches *caches);

/* Borrowed. */
const struct reflector *caches_reflector(const struct caches *caches, enum cluster_kind kind);

/* The key under which a write of this object is expected. */
uint64_t caches_object_key(const struct api_type *type, struct str namespace, struct str name);
/* The highest resourceVersion seen on the watch of this type; 0 when it is none of ours. */
uint64_t caches_seen_version(const struct caches *caches, const struct api_type *type);

DEFINE_CLEANUP(struct caches *, caches_free)

#endif
