/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_TYPE_H
#define GPUQOS_API_TYPE_H

#include <stdbool.h>

#include "codec/schema.h"

/*
 * The Kubernetes types that we read or write: where they live in the API and how they are read.
 * Built-in types travel as protobuf, ours as JSON. Static; compare by address.
 */
struct api_type {
	const char *group; /* "" for core */
	const char *version, *plural, *kind;
	bool namespaced, protobuf;
	const struct schema *schema; /* of one object; NULL for types that we only write */
	/* What is read of one that cannot be read whole, into the same struct; wire_outline_schema
	 * for types that need no more. */
	const struct schema *outline;
};

extern const struct api_type api_pods, api_nodes, api_namespaces, api_resource_quotas,
	api_limit_ranges, api_leases;
/* resource.k8s.io/v1: served since Kubernetes 1.34, if at all */
extern const struct api_type api_resource_claims, api_resource_slices, api_device_classes;
extern const struct api_type api_gpu_memory_quotas, api_tenants;
extern const struct api_type api_koordinator_devices, api_node_topologies;
extern const struct api_type api_gpu_nodes;       /* what agents write */
extern const struct api_type api_policy_bindings; /* of ValidatingAdmissionPolicies */
extern const struct api_type api_budgets;         /* PodDisruptionBudgets */
extern const struct api_type api_jobs;
/* PersistentVolumeClaims, PersistentVolumes, and what they lead to */
extern const struct api_type api_volume_claims, api_volumes, api_storage_classes, api_csi_nodes,
	api_csi_drivers;
extern const struct api_type api_events;      /* events.k8s.io/v1: those that we write */
extern const struct api_type api_core_events; /* v1: those that we read */

/* Names that are ours. */
#define API_GROUP         "gpuqos.io"
#define API_VERSION       "v1alpha1"
#define API_GROUP_VERSION API_GROUP "/" API_VERSION /* apiVersion of our objects */
#define API_FIELD_MANAGER "gpuqos-controller"
/* Of status.evictions alone: an apply of the status by the other manager leaves them. */
#define API_EVICTIONS_MANAGER "gpuqos-controller-evictions"
#define API_LABEL_MANAGED     "gpuqos.io/managed" /* on namespaces; value "true" */
#define API_LABEL_TENANT      "gpuqos.io/tenant"  /* there and on what we own; a TenantQoS's name */
#define API_LABEL_QUOTA       "gpuqos.io/quota" /* on a tenant's namespaces; "none": quota/decide.h */
#define API_LABEL_ROLE        "gpuqos.io/role" /* on our own pods; value "leader" */

#endif
