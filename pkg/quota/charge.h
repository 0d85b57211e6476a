/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_QUOTA_CHARGE_H
#define GPUQOS_QUOTA_CHARGE_H

#include "base/error.h"
#include "model/pod.h"

/*
 * What a pod holds while it lives, by Kubernetes' own formula (k8s.io/component-helpers/resource,
 * PodRequests): for each pair of resource and device, of counts and of devices alike,
 *
 *   max( sum of normal containers + sum of sidecars,
 *        for each init container i: i + the sidecars that start before it )
 *   + what the pod asks for itself: RuntimeClass overhead, annotations
 *
 * so that our count is the one that ResourceQuota and the scheduler use. Sums saturate.
 *
 * Writes at most @max rows, sorted by device_ask_compare(), each pair once and only where the sum
 * of counts is above 0. LIMIT when the pod names more pairs than @max or LIMIT_RESOURCES_PER_POD,
 * or has more containers than LIMIT_CONTAINERS_PER_POD. Row names are borrowed from @pod.
 */
int quota_pod_request(const struct pod_facts *pod, struct device_ask *ret_rows, size_t max,
		      size_t *ret_len, struct error *err);

#endif
