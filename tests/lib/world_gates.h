/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_WORLD_GATES_H
#define GPUQOS_TESTS_WORLD_GATES_H

#include "lib/world.h"

/*
 * What the API server does by itself with what is created, and what kube-controller-manager does
 * with ResourceQuotas.
 */

/* --- world_policy.c: what our policies say of the quota as admission sees it */

/* Whether its status says that it governs. */
bool world_policy_governs(const struct world_quota *quota);
/* False for a pod that asks for GPUs where the namespace says that no quota is in force. */
bool world_policy_needs_no_quota(const struct world_space *space, const struct world_pod *pod);
/* Whether the namespace may have this too. */
bool world_policy_allows_pod(const struct world_quota *quota, const struct world_pod *pod);
bool world_policy_allows_claim(const struct world_quota *quota, const struct world_claim *claim);
/* Admission's own view of a quota catches up. */
void world_policy_sees(struct world *w, int quota);

/* --- world_gates.c */

/*
 * Creates it where all gates let it by. A ResourceQuota counts by its status alone, keys that are
 * not there yet are not counted. WORLD_LET_BY: some gate that there is to be was not there.
 */
enum world_admission { WORLD_REFUSED, WORLD_ADMITTED, WORLD_LET_BY };

enum world_admission world_create_pod(struct world *w, int slot, const struct world_pod *pod);
enum world_admission world_create_claim(struct world *w, int slot, const struct world_claim *claim);

/* What a ResourceQuota counts of a namespace: pods stuck terminating are let go. */
void world_count_used(const struct world_state *state, int space, int64_t now_us,
		      int64_t ret_used[WORLD_RESOURCES]);
/* The quota controller: status.hard as spec.hard, all counted anew. True where that is a change. */
bool world_sync_quota(struct world *w, int space);

/* How many devices of its node's slice a claim has; its k-th, by their place in the profile. */
int world_claim_devices(const struct world_claim *claim);
int world_claim_device(const struct world_claim *claim, int k);

#endif
