/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_LEAVING_BUDGETS_H
#define GPUQOS_CLUSTER_LEAVING_BUDGETS_H

#include "cluster/cluster.h"
#include "cluster/leaving/victims.h"
#include "cluster/ledger/holders.h"
#include "model/observed.h"

/*
 * PodDisruptionBudgets: what they say of pods is in cluster/leaving/victims.h. Whatever is not
 * known of them forbids: a selector that cannot be read, or asks for more keys than
 * LIMIT_BUDGET_KEYS in one namespace, selects every pod of it and allows nothing, and where there
 * are more than LIMIT_BUDGETS_PER_NAMESPACE no pod of the namespace may go. A status that is older
 * than its spec allows nothing, as with the API server.
 */
int cluster_apply_budget(struct cluster *cluster, const struct budget_facts *facts,
			 struct error *err);

/*
 * A budget asks for a label that was not kept of its namespace's pods: until a full state of all
 * pods that begins from now on is complete, they count as forbidden.
 */
bool cluster_labels_wanted(const struct cluster *cluster);

/* Borrowed. Of one that cluster_victim() told. */
struct str cluster_budget_name(const struct cluster *cluster, uint32_t budget);

#endif
