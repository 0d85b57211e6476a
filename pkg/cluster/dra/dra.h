/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_DRA_DRA_H
#define GPUQOS_CLUSTER_DRA_DRA_H

/* size: a record for each thing that slices, classes and claims are made of, and its accessor. */

#include "base/limits.h"
#include "base/map.h"
#include "base/table.h"
#include "cluster/cluster.h"
#include "cluster/uid.h"

/*
 * Records of dynamic resource allocation, as in cluster/records.h. Of a pool only the slices of its
 * highest generation are current, and it offers what they have only when all of them are there.
 * Inside cluster only.
 */

/* A DeviceClass. */
struct class_record {
	uint64_t resource_version;
	struct uid uid;
	uint32_t name, row; /* under which its devices are priced; a reference each */
	uint32_t driver, type_domain, type; /* likewise; INTERN_EMPTY: any */
	uint32_t dearest, epoch;            /* dearest: offer kind, or TABLE_NONE */
	bool in_table, free, gave_gpus;     /* see struct class_facts, class_is_free() */
};

/* Equal devices, whichever pools they are in: prices follow from these. */
struct device_kind {
	int64_t memory;                 /* bytes or AMOUNT_UNKNOWN */
	uint32_t driver, type, product; /* a reference each */
	uint32_t devices;               /* its reference count */
	uint32_t offered;               /* of those, devices that complete pools offer */
	uint32_t first_offer;           /* while offered: as a device of each class it may be of */
	bool shared;
};

/* What a device is as one of a class; kind: of the offer; next: of the same device kind. */
struct class_offer {
	uint32_t class, kind, next;
};

/* Exists while a slice is in it, or a claim has a device of it. */
struct pool_record {
	int64_t generation; /* the highest; -1 without slices */
	uint32_t driver, name;
	uint32_t first_slice, first_result;
	bool complete;
};

struct slice_record {
	uint64_t resource_version;
	struct uid uid;
	int64_t generation, slice_count;
	uint32_t name, pool, pool_next, first_device, epoch;
};

struct device_record {
	uint32_t pool, name;
	uint32_t kind; /* TABLE_NONE: no GPU */
	uint32_t node; /* TABLE_NONE: of no one node */
	uint32_t next; /* of the same slice */
	uint32_t node_next, node_prev;
	uint64_t card, address; /* device_id() of its card's uuid and PCI address; 0: not told */
	bool current, offered;  /* in devices_by_name and its node's list; counted by its kind */
};

/* A ResourceClaim; requests and devices for admin access are left out, since they cost nothing. */
struct device_claim_record {
	uint64_t resource_version;
	struct uid uid, owner; /* owner: of the controlling pod; zero: none */
	int64_t charge;        /* bytes, as added to the namespace's sums */
	uint32_t namespace, name, owner_name;
	uint32_t namespace_next, namespace_prev, first_ask, first_result;
	uint32_t out_next, epoch, created_s; /* real */
	uint32_t eviction;                   /* of its pod */
	bool allocated, has_owner;
	bool numa_together; /* as in struct claim_facts */
	bool out;           /* taken out of the sums while devices change */
};

/* One choice of a request; those of one request follow each other. */
struct claim_ask {
	int64_t count;
	uint32_t class; /* name */
	uint32_t request, next;
};

/* One device that a claim has. */
struct claim_result {
	int64_t consumed; /* bytes or AMOUNT_NONE */
	uint32_t claim, pool;
	uint32_t device, class; /* names */
	uint32_t next;          /* of the same claim */
	uint32_t pool_next, pool_prev;
};

/* A ResourceClaim that a pod names; INTERN_EMPTY: one that is still to be made. */
struct pod_claim {
	uint32_t pod, name, next;
	uint32_t holder_next, holder_prev; /* while it is in use */
};

/* A claim, seen or not, that pods name which are on nodes. */
struct claim_holder {
	uint32_t namespace, name;
	uint32_t first; /* struct pod_claim, by its holder's links */
};

struct dra {
	struct table classes, device_kinds, class_offers, pools, slices, devices;
	struct table claims, asks, results, pod_claims, claim_holders;
	struct map classes_by_name, slices_by_name, claims_by_name;
	struct map device_kinds_by_value, pools_by_name, devices_by_name, claim_holders_by_name;
	bool rooms_stale;  /* what pods hold of nodes follows from a class that changed */
	bool offers_stale; /* classes, or kinds that are offered, changed since class_offers */
	/* Names of resources for which classes of GPUs stood before the start, as statuses tell; a
	 * reference each. */
	uint32_t told[LIMIT_STATUS_CLASSES];
	size_t n_told;
};

static inline struct pod_claim *pod_claim_at(const struct dra *dra, uint32_t pod_claim)
{
	return (struct pod_claim *)table_at(&dra->pod_claims, pod_claim);
}

void dra_init(struct dra *dra);
void dra_clear(struct dra *dra);

static inline struct class_record *class_at(const struct dra *dra, uint32_t class)
{
	return (struct class_record *)table_at(&dra->classes, class);
}

static inline struct device_kind *device_kind_at(const struct dra *dra, uint32_t kind)
{
	return (struct device_kind *)table_at(&dra->device_kinds, kind);
}

static inline struct class_offer *class_offer_at(const struct dra *dra, uint32_t offer)
{
	return (struct class_offer *)table_at(&dra->class_offers, offer);
}

static inline struct pool_record *pool_at(const struct dra *dra, uint32_t pool)
{
	return (struct pool_record *)table_at(&dra->pools, pool);
}

static inline struct slice_record *slice_at(const struct dra *dra, uint32_t slice)
{
	return (struct slice_record *)table_at(&dra->slices, slice);
}

static inline struct device_record *device_at(const struct dra *dra, uint32_t device)
{
	return (struct device_record *)table_at(&dra->devices, device);
}

static inline struct device_claim_record *device_claim_at(const struct dra *dra, uint32_t claim)
{
	return (struct device_claim_record *)table_at(&dra->claims, claim);
}

static inline struct claim_ask *ask_at(const struct dra *dra, uint32_t ask)
{
	return (struct claim_ask *)table_at(&dra->asks, ask);
}

static inline struct claim_result *result_at(const struct dra *dra, uint32_t result)
{
	return (struct claim_result *)table_at(&dra->results, result);
}

#endif
