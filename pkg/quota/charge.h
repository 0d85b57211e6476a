/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_QUOTA_CHARGE_H
#define GPUQOS_QUOTA_CHARGE_H

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
 * Writes at most @max rows, at least 1 and no more than LIMIT_RESOURCES_PER_POD, sorted by
 * device_ask_compare(), each pair once and only where the sum of counts is above 0; returns how
 * many. Of more pairs than that the first count as they are, and the others together as units of
 * DEVICE_UNREADABLE: a pod is never too large to be charged. Row names are borrowed from @pod.
 */
size_t quota_pod_request(const struct pod_facts *pod, struct device_ask *ret_rows, size_t max);

#endif
