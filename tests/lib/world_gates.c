/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission, in the order of the API server: policies, then the quota, which is one
 * compare-and-swap of a single object; and the quota controller, which follows spec.hard when it
 * comes to it.
 */
#include "lib/world_gates.h"

#include <string.h>

#include "lib/world_api.h"
#include "lib/world_watcher.h"

int world_claim_devices(const struct world_claim *claim)
{
	return claim->given == 1 || claim->given != claim->class ? 1 : claim->count;
}

int world_claim_device(const struct world_claim *claim, int k)
{
	return claim->given == 1 ? 2 : k;
}

/* --- what the API server counts */

static void count_pod(const struct world_pod *pod, int64_t units[WORLD_RESOURCES])
{
	const struct world_shape *shape = &world_shapes[pod->shape];

	for (int i = 0; i < shape->n_raw; i++)
		units[shape->raw[i].resource] += shape->raw[i].count;
}

/* Devices that are no GPUs have keys that nobody asks for. */
static void count_claim(const struct world_claim *claim, int64_t units[WORLD_RESOURCES])
{
	if (!world_classes[claim->class].free)
		units[world_classes[claim->class].row] += claim->count;
	if (claim->other_class != WORLD_NONE && claim->other_class != claim->class &&
	    !world_classes[claim->other_class].free)
		units[world_classes[claim->other_class].row] += 1;
}

void world_count_used(const struct world_state *state, int space, int64_t now_us,
		      int64_t ret_used[WORLD_RESOURCES])
{
	memset(ret_used, 0, WORLD_RESOURCES * sizeof(*ret_used));
	for (int i = space * WORLD_PODS; i < (space + 1) * WORLD_PODS; i++) {
		const struct world_pod *pod = &state->pods[i];

		if (pod->meta.exists && pod->phase != POD_SUCCEEDED && pod->phase != POD_FAILED &&
		    !(pod->meta.terminating && now_us > pod->deletion_us))
			count_pod(pod, ret_used);
	}
	for (int i = space * WORLD_CLAIMS; i < (space + 1) * WORLD_CLAIMS; i++)
		if (state->claims[i].meta.exists && !state->claims[i].of_scheduler)
			count_claim(&state->claims[i], ret_used);
}

/* --- the quota controller, and the garbage collector of what it is given */

static bool has_owner(const struct world *w, int space)
{
	uint64_t owner = w->api.rqs[space].owner;

	for (int q = space * WORLD_QUOTAS; q < (space + 1) * WORLD_QUOTAS; q++)
		if (w->api.quotas[q].meta.exists && w->api.quotas[q].meta.uid == owner)
			return true;
	for (int t = 0; t < WORLD_TENANTS; t++)
		if (w->api.tenants[t].meta.exists && w->api.tenants[t].meta.uid == owner)
			return true;
	return false;
}

static bool lets_go(const struct world *w, int space)
{
	for (int i = space * WORLD_PODS; i < (space + 1) * WORLD_PODS; i++)
		if (w->api.pods[i].meta.exists && w->api.pods[i].meta.terminating &&
		    w->now_us > w->api.pods[i].deletion_us)
			return true;
	return false;
}

bool world_sync_quota(struct world *w, int space)
{
	struct world_rq *rq = &w->api.rqs[space];
	int64_t used[WORLD_RESOURCES];

	if (!rq->meta.exists)
		return false;
	if (!has_owner(w, space)) {
		world_gone(w, CLUSTER_RESOURCE_QUOTAS, space);
		world_say("collected: ResourceQuota of %.*s", STR_ARGS(world_space_name(space)));
		return true;
	}
	world_count_used(&w->api, space, w->now_us, used);
	for (int r = 0; r < WORLD_RESOURCES; r++)
		if (rq->hard[r] < 0)
			used[r] = 0;
	if (memcmp(rq->status_hard, rq->hard, sizeof(rq->hard)) == 0 &&
	    memcmp(rq->used, used, sizeof(used)) == 0)
		return false;
	memcpy(rq->status_hard, rq->hard, sizeof(rq->hard));
	memcpy(rq->used, used, sizeof(used));
	if (lets_go(w, space))
		world_excuse_use(w, space, "the API server lets go of pods stuck terminating");
	world_say("  quota controller: %.*s", STR_ARGS(world_space_name(space)));
	world_changed(w, CLUSTER_RESOURCE_QUOTAS, space);
	return true;
}

/* --- admission */

/* The key that is missing where there is one is not counted. */
static enum world_admission take_quota(struct world *w, int space,
				       const int64_t units[WORLD_RESOURCES])
{
	struct world_rq *rq = &w->api.rqs[space];
	bool counted = false, by = false;

	if (!rq->meta.exists)
		return WORLD_LET_BY;
	for (int r = 0; r < WORLD_RESOURCES; r++) {
		if (units[r] == 0)
			continue;
		by = by || rq->status_hard[r] < 0;
		if (rq->status_hard[r] >= 0 && rq->used[r] + units[r] > rq->status_hard[r])
			return WORLD_REFUSED;
	}
	for (int r = 0; r < WORLD_RESOURCES; r++)
		if (units[r] > 0 && rq->status_hard[r] >= 0) {
			rq->used[r] += units[r];
			counted = true;
		}
	if (counted)
		world_changed(w, CLUSTER_RESOURCE_QUOTAS, space);
	return by ? WORLD_LET_BY : WORLD_ADMITTED;
}

static enum world_admission note(struct world *w, enum world_admission admission)
{
	if (admission == WORLD_REFUSED)
		w->refused++;
	else
		w->admitted++;
	return admission;
}

enum world_admission world_create_pod(struct world *w, int slot, const struct world_pod *pod)
{
	int space = slot / WORLD_PODS;
	int64_t units[WORLD_RESOURCES] = {0};
	enum world_admission admission;

	if (!world_policy_needs_no_quota(&w->api.spaces[space], pod))
		return note(w, WORLD_REFUSED);
	for (int q = space * WORLD_QUOTAS; q < (space + 1) * WORLD_QUOTAS; q++)
		if (w->api.spaces[space].managed && w->params[q].meta.exists &&
		    !world_policy_allows_pod(&w->params[q], pod))
			return note(w, WORLD_REFUSED);
	count_pod(pod, units);
	admission = take_quota(w, space, units);
	if (admission == WORLD_REFUSED)
		return note(w, WORLD_REFUSED);
	w->api.pods[slot] = *pod;
	world_changed(w, CLUSTER_PODS, slot);
	return note(w, admission);
}

enum world_admission world_create_claim(struct world *w, int slot, const struct world_claim *claim)
{
	int space = slot / WORLD_CLAIMS;
	int64_t units[WORLD_RESOURCES] = {0};
	enum world_admission admission;

	if (w->api.spaces[space].quotaless)
		return note(w, WORLD_REFUSED);
	for (int q = space * WORLD_QUOTAS; q < (space + 1) * WORLD_QUOTAS; q++)
		if (w->api.spaces[space].managed && w->params[q].meta.exists &&
		    !world_policy_allows_claim(&w->params[q], claim))
			return note(w, WORLD_REFUSED);
	count_claim(claim, units);
	admission = take_quota(w, space, units);
	if (admission == WORLD_REFUSED)
		return note(w, WORLD_REFUSED);
	w->api.claims[slot] = *claim;
	world_changed(w, CLUSTER_CLAIMS, slot);
	return note(w, admission);
}
