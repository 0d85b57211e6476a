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
/* What it moves over PCIe, both ways, a quantity */
#define KEY_PCIE "gpuqos.io/pcie-bytes-per-second"

/* That we write on a pod that is about to be evicted: when, and for which receipt */
#define KEY_EVICTION_NOTICE "gpuqos.io/eviction-notice"
/* When its work was last saved, RFC 3339; written by the pod itself, or by who runs it */
#define KEY_CHECKPOINT "gpuqos.io/checkpoint"
/* k8s.io/api/core/v1: MirrorPodAnnotationKey */
#define KEY_MIRROR "kubernetes.io/config.mirror"

/*
 * Which pods belong together.
 * - LeaderWorkerSet, api/leaderworkerset/v1: SetNameLabelKey and GroupIndexLabelKey; each of its
 *   groups is one
 * - JobSet, api/jobset/v1alpha2: JobSetNameKey
 * - Training Operator v1, pkg/apis/kubeflow.org/v1: JobNameLabel; MPI Operator writes the same
 * - Kueue, pkg/controller/jobs/pod/constants: GroupNameLabel
 * - Volcano, apis/pkg/apis/scheduling/v1beta1: KubeGroupNameAnnotationKey, and
 *   VolcanoGroupNameAnnotationKey; KAI Scheduler, pkg/common/constants: PodGroupAnnotationForPod.
 *   Both write these on all pods that they schedule
 * - Koordinator, apis/extension: AnnotationGangName, LabelGangName; scheduler-plugins,
 *   apis/scheduling/v1alpha1: PodGroupLabel, and what it was called before
 */
#define KEY_LWS_NAME          "leaderworkerset.sigs.k8s.io/name"
#define KEY_LWS_GROUP         "leaderworkerset.sigs.k8s.io/group-index"
#define KEY_JOBSET_NAME       "jobset.sigs.k8s.io/jobset-name"
#define KEY_TRAINING_JOB      "training.kubeflow.org/job-name"
#define KEY_KUEUE_GROUP       "kueue.x-k8s.io/pod-group-name"
#define KEY_VOLCANO_GROUP     "scheduling.k8s.io/group-name"
#define KEY_VOLCANO_GROUP_TOO "scheduling.volcano.sh/group-name"
#define KEY_KAI_GROUP         "pod-group-name"
#define KEY_KOORDINATOR_GANG  "gang.scheduling.koordinator.sh/name"
#define KEY_POD_GROUP         "scheduling.x-k8s.io/pod-group"
#define KEY_POD_GROUP_SIGS    "pod-group.scheduling.sigs.k8s.io"
#define KEY_POD_GROUP_OLDEST  "pod-group.scheduling.sigs.k8s.io/name"

/* Annotations of a node */
#define KEY_HAMI_REGISTER    "hami.io/node-nvidia-register"
#define KEY_VOLCANO_REGISTER "volcano.sh/node-vgpu-register"

/* Of a ResourceClaim: the scheduler made it for extended resources */
#define KEY_EXTENDED_CLAIM "resource.kubernetes.io/extended-resource-claim"

/* Of a PersistentVolumeClaim: it is bound for good; the node that kube-scheduler chose for it; its
 * StorageClass, before there was a field (k8s.io/component-helpers/storage/volume, k8s.io/api) */
#define KEY_BIND_COMPLETED "pv.kubernetes.io/bind-completed"
#define KEY_SELECTED_NODE  "volume.kubernetes.io/selected-node"
#define KEY_STORAGE_CLASS  "volume.beta.kubernetes.io/storage-class"

/* Of the object of a BOOKMARK */
#define KEY_INITIAL_EVENTS_END "k8s.io/initial-events-end"

/* Of the Lease of a node's agent: when it last looked at who uses the cards, and found its GpuNode
 * true (RFC 3339) */
#define KEY_USAGE_SEEN "gpuqos.io/usage-seen"

/* Label of a pod */
#define KEY_TEMPLATE_HASH "pod-template-hash"

/* Labels of a node, as a pod's nodeSelector asks for them */
#define KEY_NVIDIA_PRODUCT "nvidia.com/gpu.product"
#define KEY_AMD_PRODUCT    "amd.com/gpu.product-name"

/* For FIELD_MAP_OF(); own labels: those of a namespace that api/type.h names;
 * zone labels: of a PersistentVolume (model/volume.h). */
extern const struct field_keys keys_pod_annotations, keys_node_annotations, keys_claim_annotations,
	keys_lease_annotations, keys_bookmark_annotations, keys_own_labels,
	keys_volume_claim_annotations, keys_zone_labels;

#endif
