/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_KEYS_H
#define GPUQOS_API_KEYS_H

#include "codec/schema.h"

/*
 * Keys of labels and annotations that others write and we read: what the field tables keep of a map
 * and what the packers look for are the same words.
 */

/* Annotations of a pod */
#define KEY_KAI_FRACTION          "gpu-fraction"
#define KEY_KAI_MEMORY            "gpu-memory"
#define KEY_KAI_DEVICES           "gpu-fraction-num-devices"
#define KEY_HAMI_ALLOCATED        "hami.io/vgpu-devices-allocated"
#define KEY_VOLCANO_ALLOCATED     "volcano.sh/vgpu-ids-new"
#define KEY_KOORDINATOR_ALLOCATED "scheduling.koordinator.sh/device-allocated"

#define KEY_TOPOLOGY_POLICY "gpuqos.io/topology-policy"
#define KEY_TOPOLOGY_SCOPE  "gpuqos.io/topology-scope"

/* That we write on a pod that is about to be evicted: when, and for which receipt */
#define KEY_EVICTION_NOTICE "gpuqos.io/eviction-notice"

/* Annotations of a node */
#define KEY_HAMI_REGISTER    "hami.io/node-nvidia-register"
#define KEY_VOLCANO_REGISTER "volcano.sh/node-vgpu-register"

/* Of a ResourceClaim: the scheduler made it for extended resources */
#define KEY_EXTENDED_CLAIM "resource.kubernetes.io/extended-resource-claim"

/* Of the object of a BOOKMARK */
#define KEY_INITIAL_EVENTS_END "k8s.io/initial-events-end"

/* Label of a pod */
#define KEY_TEMPLATE_HASH "pod-template-hash"

/* Labels of a node, as a pod's nodeSelector asks for them */
#define KEY_NVIDIA_PRODUCT "nvidia.com/gpu.product"
#define KEY_AMD_PRODUCT    "amd.com/gpu.product-name"

/* For FIELD_MAP_OF(); own labels: those of a namespace that api/type.h names. */
extern const struct field_keys keys_pod_labels, keys_pod_annotations, keys_node_annotations,
	keys_node_selector, keys_claim_annotations, keys_bookmark_annotations, keys_own_labels;

#endif
