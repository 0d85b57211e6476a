/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_VOLUMES_STORAGE_H
#define GPUQOS_CLUSTER_VOLUMES_STORAGE_H

#include "base/map.h"
#include "base/table.h"
#include "cluster/uid.h"

/*
 * Records of volumes, as in cluster/records.h: names are interned, a reference each, terms in
 * texts. Clusters have as many claims and volumes as pods, so that these are small. Inside cluster
 * only.
 */

/* A PersistentVolumeClaim. */
struct volume_claim_record {
	struct uid owner;                              /* its controlling owner; zero: none */
	uint32_t namespace, name, volume, class, node; /* INTERN_EMPTY: none */
	uint32_t epoch;
	bool chosen; /* node is the one that it is made for; INTERN_EMPTY is no node's name */
	bool bound, lost, terminating, once;
};

/* What records of kinds without a namespace begin with. */
struct storage_name {
	uint32_t name, epoch;
};

/* A PersistentVolume. */
struct volume_record {
	struct storage_name named;
	uint64_t id;     /* of its driver and handle, hashed */
	uint32_t driver; /* INTERN_EMPTY: it is no CSI driver's */
	uint32_t terms;  /* of nodes, with its zones as labels; TABLE_NONE: none */
	bool translated, unread;
};

struct storage_class_record {
	struct storage_name named;
	uint32_t provisioner, terms;
	bool waits, unread;
};

struct csi_limit {
	uint32_t driver;
	int32_t most; /* -1: not told */
};

/* A CSINode, by the node's name. */
struct csi_node_record {
	struct storage_name named;
	struct csi_limit *limits; /* owned */
	uint32_t n_limits;
	bool unread; /* it has more drivers than are kept */
};

struct csi_driver_record {
	struct storage_name named;
	bool tells_capacity, must_be_there;
};

struct storage {
	struct table claims, volumes, classes, csi_nodes, csi_drivers;
	struct map claims_by_name, volumes_by_name, classes_by_name, csi_nodes_by_name,
		csi_drivers_by_name;
	unsigned int read; /* enum cluster_kind, each a bit: a full state was there once */
};

#endif
