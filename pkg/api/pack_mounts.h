/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PACK_MOUNTS_H
#define GPUQOS_API_PACK_MOUNTS_H

#include "api/pack_common.h"
#include "api/wire.h"
#include "model/pod.h"

/* What a pod has of its node beside amounts. Both -1: the arena is full. Inside api only. */

/* Sets facts->ports: those of containers that run as long as the pod does. */
int pack_ports(const struct wire_pod_spec *spec, const struct pack *pack, struct pod_facts *facts);
/* Any port, and any volume: of a pod that cannot be read. */
void pack_mounts_unknown(struct pod_facts *facts);
/* Whether it is a disk that is named in the pod, of a sort that kube-scheduler compares. */
bool pack_is_disk(const struct wire_volume *volume);
/* Sets facts->volumes; after facts->name. */
int pack_volumes(const struct wire_pod_spec *spec, const struct pack *pack,
		 struct pod_facts *facts);

#endif
