/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_RECORDS_H
#define GPUQOS_CLUSTER_RECORDS_H

#include "base/buf.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/table.h"
#include "cluster/cluster.h"
#include "cluster/uid.h"
#include "cluster/vectors.h"
#include "quota/price.h"

/*
 * The records, for this package alone. All handles are of the tables in struct cluster, TABLE_NONE
 * for none; name, product and resource are interned strings.
 */

/* Exact for as many amounts of int64_t as there can be records; read with sum_clamp(). */
__extension__ typedef __int128 wide_sum;

struct pod_record {
	uint64_t resource_version;
	struct uid uid;
	int64_t charge; /* bytes, as added to the namespace's sums; 0 when finished */
	uint32_t namespace, name, node, product, vector;
	uint32_t namespace_next, namespace_prev, node_next, node_prev;
	uint32_t created_s; /* real */
	uint32_t epoch;     /* of the replace that it was last seen in, as in all records */
	uint8_t phase;      /* enum pod_phase */
	bool terminating;
};

/* Exists from when it is observed, or a pod names it, to when neither is so. */
struct node_record {
	uint64_t resource_version;
	struct uid uid;
	uint32_t name, first_pod, first_offer, epoch;
	bool exists; /* the Node object was seen */
};

/* One of a node's offers. */
struct offer_cell {
	int64_t count;
	uint32_t kind, next;
};

/* Equal offers of many nodes: prices follow from these. */
struct offer_kind {
	int64_t unit_memory, min_memory; /* as in struct device_offer; min_memory never 0 */
	uint32_t resource, product;      /* a reference each */
	uint32_t sharing;                /* enum device_sharing */
	uint32_t nodes;                  /* that offer it: its reference count */
};

/* What a namespace uses of one row of the price list. */
struct use_record {
	wide_sum count, count_live, bytes;
	uint32_t row, next;
};

/* What is known of a namespace's use; valid for one price_version. */
struct sums {
	wide_sum used, live, unpriced;
	uint32_t pods, first_use;
};

enum { OWNED_RESOURCE_QUOTA, OWNED_LIMIT_RANGE, OWNED_COUNT };

struct namespace_record {
	struct sums sums;
	uint64_t resource_version;
	int64_t recount_drift;
	uint32_t name, uid;             /* a reference each */
	uint32_t price_version;         /* that sums follow */
	uint32_t first_pod, n_pods;     /* kept pods, finished ones too */
	uint32_t first_quota, n_quotas; /* oldest first */
	uint32_t owned[OWNED_COUNT];
	uint32_t dirty_next, epoch;
	bool exists, managed, terminating, dirty;
};

/* A GpuMemoryQuota; its bytes are those of cluster/pack.h. */
struct quota_record {
	char *bytes; /* owned */
	size_t len;
	uint64_t resource_version;
	int64_t created_us;
	int64_t limit, effective; /* bytes, of spec and status, for metrics; effective 0 without */
	uint32_t namespace, name, next, epoch;
	bool terminating;
};

/* Our ResourceQuota or LimitRange of a namespace, likewise. */
struct owned_record {
	char *bytes; /* owned */
	size_t len;
	uint64_t resource_version;
	int64_t differs_since_us;
	uint32_t namespace, epoch;
};

struct cluster {
	struct hash_key key;
	struct intern *intern;
	struct vectors vectors;
	struct table pods, nodes, namespaces, quotas, owned[OWNED_COUNT];
	struct table offers, kinds, uses;
	struct map pods_by_name, nodes_by_name, namespaces_by_name, kinds_by_value;

	struct price_row *prices; /* owned; rows hold references to their names */
	size_t n_prices;
	uint32_t price_version;  /* counts changes that matter to anybody's sums */
	uint32_t resource_names; /* distinct ones among kinds */
	bool prices_stale;       /* kinds changed since prices were made */

	uint32_t epochs[CLUSTER_KIND_COUNT];
	uint64_t unreadable[CLUSTER_KIND_COUNT];
	size_t packed_bytes[CLUSTER_KIND_COUNT];
	uint32_t dirty_first, dirty_last;
	uint32_t taken; /* the namespace that cluster_take_dirty() gave last */
	bool replacing_nodes;
	struct buf scratch; /* packed bytes of the object that is applied */
};

#endif
