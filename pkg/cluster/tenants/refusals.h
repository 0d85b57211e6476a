/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_TENANTS_REFUSALS_H
#define GPUQOS_CLUSTER_TENANTS_REFUSALS_H

#include "cluster/cluster.h"
#include "model/observed.h"

/*
 * Pods that were refused because of us, as workload controllers tell in Events. An Event counts up
 * while the same goes on, so what is counted is by how much more it says than before; of one that
 * was not seen before, one. Of each namespace as many Events as CLUSTER_REFUSAL_EVENTS are
 * remembered, and of two that meet in one place the older counts anew: too little is counted then,
 * never too much. What is remembered of one namespace takes no place of another's.
 */
#define CLUSTER_REFUSAL_EVENTS 128
#define CLUSTER_REFUSALS_US    (60LL * 1000 * 1000) /* what is asked for */
#define CLUSTER_REFUSAL_SLOTS  6                    /* that is cut into so many */

/* Those of namespaces that are not known, of the future and of long ago count for nothing. */
void cluster_apply_refusal(struct cluster *cluster, const struct refusal_facts *facts,
			   int64_t now_real_us);

/* In the namespace, in the last CLUSTER_REFUSALS_US, to a slot. */
int64_t cluster_refusals(const struct cluster *cluster, uint32_t namespace, int64_t now_real_us);

#endif
