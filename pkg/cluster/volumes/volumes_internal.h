/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_VOLUMES_VOLUMES_INTERNAL_H
#define GPUQOS_CLUSTER_VOLUMES_VOLUMES_INTERNAL_H

#include "cluster/internal.h"
#include "cluster/volumes/volumes.h"

/* What the files of cluster/volumes share. */

static inline struct volume_claim_record *volume_claim_at(const struct cluster *cluster,
							  uint32_t claim)
{
	return (struct volume_claim_record *)table_at(&cluster->storage.claims, claim);
}

static inline struct volume_record *volume_at(const struct cluster *cluster, uint32_t volume)
{
	return (struct volume_record *)table_at(&cluster->storage.volumes, volume);
}

static inline struct storage_class_record *storage_class_at(const struct cluster *cluster,
							    uint32_t class)
{
	return (struct storage_class_record *)table_at(&cluster->storage.classes, class);
}

static inline struct csi_node_record *csi_node_at(const struct cluster *cluster, uint32_t csi_node)
{
	return (struct csi_node_record *)table_at(&cluster->storage.csi_nodes, csi_node);
}

static inline struct csi_driver_record *csi_driver_at(const struct cluster *cluster,
						      uint32_t driver)
{
	return (struct csi_driver_record *)table_at(&cluster->storage.csi_drivers, driver);
}

/* --- attach.c */

/* How a claim's volume counts among those that are attached to a node. UNKNOWN: as one of any
 * driver. */
enum attach { ATTACH_NONE, ATTACH_KNOWN, ATTACH_UNKNOWN };

struct attachment {
	uint32_t driver;
	uint64_t id;
};

/* @claim: TABLE_NONE: it is not there. */
enum attach attachment_of(const struct cluster *cluster, uint32_t claim,
			  struct attachment *ret_attachment);
/* Of a driver that is in the tree of Kubernetes, and may be taken for another. */
bool is_in_tree(struct str provisioner);
/* Whether a node can attach what the pod of @terms has of volumes: it has the drivers that must be
 * there, and room. */
bool can_attach(const struct cluster *cluster, const struct cluster_terms *terms,
		const struct node_record *node);

#endif
