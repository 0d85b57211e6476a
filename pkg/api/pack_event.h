/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PACK_EVENT_H
#define GPUQOS_API_PACK_EVENT_H

#include "api/pack.h"
#include "api/wire_event.h"

/* What those that we read have: k8s.io/kubernetes, pkg/controller, FailedCreatePodReason. */
#define API_REFUSED_REASON "FailedCreate"

/*
 * As api/pack.h. It is ours where one of Kubernetes' own controllers of workloads tells that a pod
 * was refused by the quota "gpuqos" or by one of our policies; as the texts of the API server say
 * that, which are no promise: what is not known as ours is not counted.
 */
int api_pack_refusal(const struct wire_event *wire, struct refusal_facts *ret_facts,
		     struct error *err);

#endif
