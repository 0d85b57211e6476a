/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_VOLUMES_VOLUMES_H
#define GPUQOS_CLUSTER_VOLUMES_VOLUMES_H

#include "cluster/cluster.h"
#include "model/volume.h"

/*
 * PersistentVolumeClaims and what they lead to: which nodes kube-scheduler lets their pods on
 * (cluster/hosts/terms.h). Until each of these kinds has been read once (cluster_end_replace()) no
 * claim is believed. As cluster_apply_pod().
 */
int cluster_apply_volume_claim(struct cluster *cluster, const struct volume_claim_facts *facts,
			       struct error *err);
int cluster_apply_volume(struct cluster *cluster, const struct volume_facts *facts,
			 struct error *err);
int cluster_apply_storage_class(struct cluster *cluster, const struct storage_class_facts *facts,
				struct error *err);
int cluster_apply_csi_node(struct cluster *cluster, const struct csi_node_facts *facts,
			   struct error *err);
int cluster_apply_csi_driver(struct cluster *cluster, const struct csi_driver_facts *facts,
			     struct error *err);

/* Whether it is one of the five kinds. */
bool cluster_is_of_volumes(enum cluster_kind kind);

#endif
