/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_NODES_AGENTS_H
#define GPUQOS_CLUSTER_NODES_AGENTS_H

#include "cluster/cluster.h"

/*
 * The Leases of nodes' agents. What an agent publishes holds while its Lease is seen to change: for
 * the Lease's duration after the last change that was seen, by the reader's own monotonic clock. No
 * two clocks are compared, so a cluster that has just been filled gives each Lease one full
 * duration. A node whose layout says that an agent wrote it, and whose agent is gone, is of unknown
 * layout (LAYOUT_IS_AGENT_GONE) until the Lease changes again. Where somebody else wrote the layout
 * no Lease is asked for.
 *
 * A Lease also says when its agent last looked at who uses the cards and found that its GpuNode,
 * which is written only when it changes, is still true: what that tells counts as told at that
 * moment.
 *
 * A renewal costs a look-up or two and marks nothing.
 */

/* Leases that are not named as an agent's are passed over. Errors as in cluster/cluster.h. */
int cluster_apply_agent(struct cluster *cluster, const struct agent_facts *facts, int64_t now_us,
			struct error *err);

/* @ret_next_us: when the next one may be over; TIME_NEVER. */
void cluster_expire_agents(struct cluster *cluster, int64_t now_us, int64_t *ret_next_us);

/* Nothing could be heard of anybody: whoever is there counts as just heard of. */
void cluster_excuse_agents(struct cluster *cluster, int64_t now_us);

#endif
