/* SPDX-License-Identifier: Apache-2.0 */
/* size: all kinds of objects are listed here. */
#ifndef GPUQOS_CLUSTER_CLUSTER_H
#define GPUQOS_CLUSTER_CLUSTER_H

#include "base/error.h"
#include "base/hash.h"
#include "base/macros.h"
#include "model/claim.h"
#include "model/node.h"
#include "model/observed.h"
#include "model/pod.h"
#include "model/tenant.h"

/*
 * The one truth in memory: what the API server was last seen to hold, reduced to what decisions
 * read. Changed only by the cluster_apply_*, _delete and _replace functions below, by one thread;
 * everybody else holds a `const struct cluster *` (cluster/read.h). Records are flat and name each
 * other by 32-bit handles; strings and request vectors are interned.
 *
 * A pod is kept when it asks for a GPU resource. The ledger is a set: each kept pod that is not
 * finished is an entry, and so is each ResourceClaim, however many pods share it. A namespace's
 * sums are sums over its entries, so that an event seen twice, late or never cannot leave a wrong
 * count behind. cluster_recount() adds everything up again and compares.
 *
 * An apply with a resource_version older than the record's is ignored (where both are numbers and
 * the uid is the same). An apply that changes nothing that decisions read marks nothing dirty.
 */
struct cluster;
struct cluster *cluster_new(const struct hash_key *key);
void cluster_free(struct cluster *cluster); /* accepts NULL */

/*
 * A resource that is a GPU whatever nodes say, as the table of --config tells: while no node offers
 * it it is on the price list without a price, so that none is let in free of charge. Copied; once
 * for each name, before anything is applied. LIMIT where there are more names than are kept.
 */
int cluster_know_resource(struct cluster *cluster, struct str name, enum device_sharing sharing,
			  struct error *err);

enum cluster_kind {
	CLUSTER_PODS,
	CLUSTER_NODES,
	CLUSTER_NAMESPACES,
	CLUSTER_QUOTAS,
	CLUSTER_RESOURCE_QUOTAS,
	CLUSTER_LIMIT_RANGES,
	CLUSTER_TENANTS,
	CLUSTER_BINDINGS,
	CLUSTER_CLAIMS,        /* ResourceClaims */
	CLUSTER_SLICES,        /* ResourceSlices */
	CLUSTER_CLASSES,       /* DeviceClasses */
	CLUSTER_AGENTS,        /* Leases of nodes' agents; cluster/nodes/agents.h */
	CLUSTER_GPU_NODES,     /* what agents tell of pods; cluster/nodes/gpunodes.h */
	CLUSTER_PUBLISHED,     /* layouts by others; cluster/nodes/published.h */
	CLUSTER_ZONES,         /* likewise, of cards that are only counted */
	CLUSTER_BUDGETS,       /* PodDisruptionBudgets; cluster/leaving/budgets.h */
	CLUSTER_JOBS,          /* those that end with a pod; cluster/leaving/victims.h */
	CLUSTER_VOLUME_CLAIMS, /* PersistentVolumeClaims; cluster/volumes/volumes.h */
	CLUSTER_VOLUMES,       /* PersistentVolumes; likewise, as those below */
	CLUSTER_STORAGE_CLASSES,
	CLUSTER_CSI_NODES,
	CLUSTER_CSI_DRIVERS,
	CLUSTER_KIND_COUNT
};

/*
 * What was observed of an object; copied. LIMIT, with the object's name, when it asks for more than
 * base/limits.h allows, INVALID when it has no name; it is then counted as unreadable, and what was
 * known of it before stays as it was: growing beyond reading sets no devices free.
 * Of the quotas of one namespace the LIMIT_QUOTAS_PER_NAMESPACE oldest are kept.
 * @now_us: monotonic; it tells since when a ResourceQuota's status differs from its spec.
 */
int cluster_apply_pod(struct cluster *cluster, const struct pod_facts *pod, struct error *err);
int cluster_apply_node(struct cluster *cluster, const struct node_facts *node, struct error *err);
int cluster_apply_quota(struct cluster *cluster, const struct quota_facts *quota,
			struct error *err);
int cluster_apply_resource_quota(struct cluster *cluster, const struct resource_quota_facts *facts,
				 int64_t now_us, struct error *err);
int cluster_apply_limit_range(struct cluster *cluster, const struct limit_range_facts *facts,
			      struct error *err);
int cluster_apply_namespace(struct cluster *cluster, const struct namespace_facts *facts,
			    struct error *err);
int cluster_apply_tenant(struct cluster *cluster, const struct tenant_facts *facts,
			 struct error *err);
/* Only those of TENANT_BINDINGS are kept. */
int cluster_apply_binding(struct cluster *cluster, const struct binding_facts *facts,
			  struct error *err);
int cluster_apply_claim(struct cluster *cluster, const struct claim_facts *facts,
			struct error *err);
int cluster_apply_slice(struct cluster *cluster, const struct slice_facts *facts,
			struct error *err);
int cluster_apply_class(struct cluster *cluster, const struct class_facts *facts,
			struct error *err);

/* The object is there and cannot be read: what is known of it stays. False where nothing is. */
bool cluster_keep(struct cluster *cluster, enum cluster_kind kind, struct str namespace,
		  struct str name);
/* It is gone. @namespace is empty for kinds without one. Unknown names are ignored. */
void cluster_delete(struct cluster *cluster, enum cluster_kind kind, struct str namespace,
		    struct str name);

/* A full state of one kind: begin, apply everything, end (what was not applied is dropped) or abort
 * (nothing is). Until one of nodes, slices or classes is over, prices may be from before it. */
void cluster_begin_replace(struct cluster *cluster, enum cluster_kind kind);
void cluster_end_replace(struct cluster *cluster, enum cluster_kind kind);
void cluster_abort_replace(struct cluster *cluster, enum cluster_kind kind);

/*
 * Namespaces whose verdict may have changed, each once, in order of first change. Handles are those
 * of cluster/read.h; the sums of the one that is taken are current. Also given are namespaces of
 * which nothing is left; their handle lives until the next call. False when there is none.
 */
bool cluster_take_dirty(struct cluster *cluster, uint32_t *ret_namespace);
void cluster_mark_dirty(struct cluster *cluster, uint32_t namespace); /* unknown ones are ignored */
void cluster_mark_all_dirty(struct cluster *cluster);

/*
 * Tenants likewise: one is dirty when its TenantQoS or its bindings changed, or something of its
 * namespaces that its decision reads. Whoever takes all dirty tenants and then all dirty namespaces
 * has what follows from an event. Marking takes a time that does not grow with anything.
 *
 * A namespace belongs to the oldest TenantQoS, ties by name, that selects it and is not being
 * deleted. Changes of selectors take effect here, in cluster_take_dirty() and in cluster_refresh():
 * all namespaces are looked at once, however many selectors changed.
 */
bool cluster_take_dirty_tenant(struct cluster *cluster, uint32_t *ret_tenant);
void cluster_mark_tenant_dirty(struct cluster *cluster, uint32_t tenant);

/*
 * releaseOn: Terminal. Takes pods of the namespace that are stuck terminating on a node that is not
 * ready, or gone, out of its sums once their time is over, and puts back those whose node came
 * back; applied before a view is gathered. @ret_next_us: real, when time alone will change
 * something; TIME_NEVER.
 */
void cluster_release(struct cluster *cluster, uint32_t namespace, int64_t now_real_us,
		     int64_t *ret_next_us);

struct recount {
	uint32_t namespaces; /* looked at */
	uint32_t differing;  /* of those, whose sums were wrong */
	int64_t drift;       /* sum of absolute differences, bytes; 1 where only counts differ */
};

/*
 * Recounts namespaces from their entries, from *cursor on, until @max_pods pods were read, and
 * corrects what differs. Adds to @total. Start with *cursor 0; true when the round is complete,
 * with *cursor 0 again. One namespace is always recounted whole. A differing namespace is marked
 * dirty and remembers the drift for its status, until a recount finds none.
 */
bool cluster_recount(struct cluster *cluster, uint32_t *cursor, uint32_t max_pods,
		     struct recount *total);

DEFINE_CLEANUP(struct cluster *, cluster_free)

#endif
