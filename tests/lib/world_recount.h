/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_WORLD_RECOUNT_H
#define GPUQOS_TESTS_WORLD_RECOUNT_H

#include "lib/world.h"

/*
 * What everything costs, worked out from the objects of a state alone and by rules that are stated
 * here, not by the code under test.
 */

/* What is on offer: of nodes by their plugins, of slices under the row of each class. */
struct world_lot {
	int resource, product, node;
	int64_t unit, min; /* bytes or AMOUNT_UNKNOWN */
	enum device_sharing sharing;
};

struct world_market {
	int n;
	struct world_lot lots[WORLD_NODES * (WORLD_OFFERS + WORLD_DEVICES) + 1];
};

void world_market(const struct world_state *state, struct world_market *ret_market);
/* Bytes that a unit of the resource has at least; AMOUNT_UNKNOWN where nothing tells. */
int64_t world_smallest(const struct world_market *market, int resource);
/* Whether all on offer are whole cards, and some are. */
bool world_is_whole(const struct world_market *market, int resource);

struct world_sum {
	int64_t used, live, unpriced, released, gpus;
	int pods, released_pods;
	int64_t units[WORLD_RESOURCES]; /* in use */
};

/* Of a namespace at @now_us. */
void world_recount(const struct world_state *state, int space, int64_t now_us,
		   struct world_sum *ret_sum);

/* --- who governs what */

int world_tenant_of(const struct world_state *state, int space); /* or WORLD_NONE */
int world_governing(const struct world_state *state, int space); /* of all quotas; or WORLD_NONE */
/* Whether a pod's time is over: nobody is there to say that its containers are gone. */
bool world_is_released(const struct world_state *state, int pod, int64_t now_us);

/* What may be held by what stands in objects: bytes, whole cards. */
struct world_held {
	int64_t bytes, gpus;
};
struct world_held world_enforced(const struct world_state *state, const struct world_market *market,
				 int space);

#endif
