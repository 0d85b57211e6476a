/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_READ_H
#define GPUQOS_CLUSTER_READ_H

#include "base/arena.h"
#include "cluster/cluster.h"
#include "quota/decide.h"

/*
 * Reading the truth. Everything returned is borrowed and dies at the next change of the cluster, at
 * the latest with the loop turn.
 */

/*
 * Namespaces, by handle. A handle stays as long as anything in the namespace is kept; it may then
 * name another.
 */
uint32_t cluster_namespace_find(const struct cluster *cluster, struct str name); /* TABLE_NONE */
bool cluster_namespace_has(const struct cluster *cluster, uint32_t namespace);
struct str cluster_namespace_name(const struct cluster *cluster, uint32_t namespace);
uint32_t cluster_namespace_next(const struct cluster *cluster, uint32_t from); /* as table_next() */

/* Its pods that are kept, finished ones too, in no order: the first and the next; TABLE_NONE. */
uint32_t cluster_namespace_pod(const struct cluster *cluster, uint32_t namespace);
uint32_t cluster_namespace_pod_next(const struct cluster *cluster, uint32_t pod);

struct namespace_view {
	struct str name, uid;
	bool exists; /* the Namespace object was seen; false: only things in it */
	bool managed, quotaless, terminating; /* the first two as its labels say */
	uint64_t resource_version;
	bool foreign_limit_range; /* one of our name that no object controls */
	struct str tenant_label;  /* gpuqos.io/tenant as it is; cluster_tenant_of() says what it
				     should be */
	uint32_t n_quotas;        /* GpuMemoryQuotas in it */
	/* As in struct quota_view: bytes, units, pods. Not current between a change of prices and
	 * the namespace's turn as dirty. */
	int64_t used, live, unpriced, pods;
	int64_t released;         /* bytes of pods stuck terminating, not among used */
	int64_t limit, effective; /* bytes, of the governing quota as last seen; 0 without one */
};

void cluster_namespace_view(const struct cluster *cluster, uint32_t namespace,
			    struct namespace_view *ret_view);

/* What identifies a quota for a write, beside its view. */
struct quota_identity {
	struct str namespace, name, uid;
	uint64_t resource_version;
	bool terminating;
};

struct quota_lookup {
	struct quota_view view; /* what quota_decide() takes, but for its times: the caller's */
	struct quota_identity identity;
};

/*
 * Brings the price list and the sums of a namespace up to date, before its quotas are viewed. One
 * whose prices changed since is added up anew here, so that a change of the nodes costs each
 * namespace its own turn and not one long one. Unknown namespaces are ignored.
 */
void cluster_refresh(struct cluster *cluster, uint32_t namespace);

/*
 * The @index-th quota of a namespace, oldest first; the first that is not terminating governs.
 * TABLE_NONE when there is none.
 */
uint32_t cluster_quota_nth(const struct cluster *cluster, uint32_t namespace, uint32_t index);

/*
 * What the cluster holds of this quota and its namespace, in @arena where it is not held as such.
 * -1 with LIMIT when the arena is full, with NOT_FOUND when there is no such quota.
 */
int cluster_quota_view(const struct cluster *cluster, uint32_t quota, struct arena *arena,
		       struct quota_lookup *ret_lookup, struct error *err);

/*
 * The same of a namespace that belongs to a tenant and has no quota that governs, for
 * quota_decide_bare(); the identity has no more than the namespace. NOT_FOUND when it belongs to
 * none.
 */
int cluster_bare_view(const struct cluster *cluster, uint32_t namespace, struct arena *arena,
		      struct quota_lookup *ret_lookup, struct error *err);

/* Nodes that are known, by handle: as cluster_namespace_next(). */
uint32_t cluster_node_next(const struct cluster *cluster, uint32_t from);
struct str cluster_node_name(const struct cluster *cluster, uint32_t node);
uint32_t cluster_node_find(const struct cluster *cluster, struct str name); /* TABLE_NONE */
/* Whether it says that it is ready: not where it does not say. */
bool cluster_node_ready(const struct cluster *cluster, uint32_t node);
/* It says that it is not ready; of one that says nothing that is not known. */
bool cluster_node_not_ready(const struct cluster *cluster, uint32_t node);
/* Whether its cards are being cut anew, so that nothing should be bound there. */
bool cluster_node_reconfiguring(const struct cluster *cluster, uint32_t node);

/* Two sources tell different memory for a unit of a node's resource; the first counts. */
struct node_disagreement {
	struct str resource;
	int64_t memory, other_memory; /* bytes */
	enum memory_source source, other;
};

/* Of the node's resources the one of the largest unit, a whole card; false when all agree. */
bool cluster_node_disagreement(const struct cluster *cluster, uint32_t node,
			       struct node_disagreement *ret_disagreement);

struct price_list cluster_prices(const struct cluster *cluster);
/* Of resources and products in the price list; terminated. */
const char *cluster_name(const struct cluster *cluster, uint32_t handle);

/* Objects seen, GPU pods only. Bytes count what is allocated, with room to grow. */
struct cluster_stats {
	uint32_t objects[CLUSTER_KIND_COUNT];
	uint64_t unreadable[CLUSTER_KIND_COUNT]; /* applies that failed, since the start */
	size_t bytes[CLUSTER_KIND_COUNT];        /* records and indexes */
	size_t shared_bytes;                     /* interned strings and vectors */
};

void cluster_stats(const struct cluster *cluster, struct cluster_stats *ret_stats);

#endif
