/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_SIM_INCIDENT_H
#define GPUQOS_SIM_INCIDENT_H

#include "model/topology.h"

/*
 * Tenants race for the cards of two-socket nodes: the scheduler places, binds later, and sees what
 * became of it later still; kubelet gives out cards on its own, on each node in the order of the
 * bindings; pods end. Which of these happens next is drawn by seed, so that many seeds are many
 * interleavings. The decisions are the controller's own (pkg/place over pkg/cluster); whether a
 * card was sold twice is judged on what the API server and kubelet hold, not on what the scheduler
 * believes.
 */
#define INCIDENT_NODES   4 /* of two sockets with four cards each */
#define INCIDENT_TENANTS 2
#define INCIDENT_PODS    120 /* of 1, 2 or 4 cards, as many of each tenant */

/*
 * COUNTING: as kube-scheduler without an extender does, by the number of free cards alone, the
 * emptiest node first. Else the policy of the tenants.
 */
#define INCIDENT_PLACERS(X)             \
	X(COUNTING, "counting cards")   \
	X(RELAXED, "gpuqos, Preferred") \
	X(STRICT, "gpuqos, Required")

enum incident_placer {
#define X(name, text) INCIDENT_##name,
	INCIDENT_PLACERS(X)
#undef X
		INCIDENT_PLACER_COUNT
};

const char *incident_placer_text(enum incident_placer placer); /* borrowed, static */

struct incident_plan {
	enum incident_placer placer;
	enum layout_policy kubelet; /* NONE: any free cards; SINGLE_NUMA: of one node, or none */
	uint64_t seed;
};

/* Sums; add up over seeds as you like. */
struct incident_result {
	uint32_t ran;       /* pods that were given cards */
	uint32_t spanning;  /* of these, on cards of both sockets */
	uint32_t rejected;  /* times that kubelet turned a pod down; it was then made anew */
	uint32_t never_ran; /* pods that no node was good for, or that kubelet turned down too often
			     */
	uint32_t sold_twice; /* times that a node had more bound than it has */
	uint32_t most_bound; /* cards bound at once, most */
};

/* Adds to @result. */
void incident_play(const struct incident_plan *plan, struct incident_result *result);

#endif
