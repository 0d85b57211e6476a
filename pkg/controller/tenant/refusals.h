/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_TENANT_REFUSALS_H
#define GPUQOS_CONTROLLER_TENANT_REFUSALS_H

#include "cluster/cluster.h"
#include "runtime/reflector.h"

/*
 * Refused pods, as far as the API server shows them: the Events by which the controllers of
 * ReplicaSets, Jobs and the like tell that they could not make a pod. They are counted in the
 * cluster (cluster/tenants/refusals.h) and not kept. Nothing waits for them: while they cannot be
 * read, and for a minute after that, refusals are unknown.
 *
 * What is not shown: pods that somebody creates by hand, or by a controller that writes no such
 * Event, and is refused. And controllers write no more than 25 Events about one object at once,
 * and then one in five minutes, so that what is counted is the least that it may be.
 */
struct refusals;

/* All borrowed for life. */
struct refusals *refusals_new(struct kube_client *client, struct cluster *cluster, struct log *log,
			      uint64_t seed);
void refusals_free(struct refusals *refusals);
void refusals_start(struct refusals *refusals);

/* Whether those of the last minute were all seen. */
bool refusals_are_seen(const struct refusals *refusals, int64_t now_us);

DEFINE_CLEANUP(struct refusals *, refusals_free)

#endif
