/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_SIM_SIM_H
#define GPUQOS_SIM_SIM_H

#include "sim/arrivals.h"
#include "sim/policy.h"

/*
 * One run: pods arrive one after another and stay; each is placed at once where the policy finds
 * best, or is refused for good. Virtual time is the demand that has arrived, in percent of the
 * cards' capacity; figures are means over the arrivals that round to the same percent, which is how
 * the published ones were made (allocation rounded to 0.01 for each arrival).
 *
 * A run is a function of input, policy and seed alone.
 */
#define SIM_POINTS (SIM_ARRIVALS_PERCENT + 1) /* 0 % to 130 % */

struct sim_point {
	bool seen;            /* an arrival rounds to this percent, or to one beside it */
	double allocation;    /* percent of all cards' capacity */
	double fragmentation; /* percent of what is free that the usual asks cannot use */
};

struct sim_result {
	struct sim_point points[SIM_POINTS];
	uint32_t placed, refused;
	int64_t placed_milli, refused_milli; /* millicards */
};

struct sim;

/*
 * Borrows @input and @table, which must outlive it. @history: keep what each node had allocated
 * over time, for pictures.
 */
struct sim *sim_new(const struct sim_input *input, const struct gorand_table *table,
		    enum sim_policy policy, int64_t seed, bool history);
void sim_free(struct sim *sim);

/* Lets up to @count pods arrive; false when none were left. */
bool sim_step(struct sim *sim, uint32_t count);

enum sim_policy sim_policy_of(const struct sim *sim);
int64_t sim_seed_of(const struct sim *sim);

/* How far it is, in [0, 1]. */
double sim_progress(const struct sim *sim);

/* What has come out so far. */
void sim_result(const struct sim *sim, struct sim_result *ret_result);

/*
 * Percent of node @node's cards that were allocated when @percent had arrived; -1 where it has no
 * cards, history was not kept or time has not come so far.
 */
int sim_history(const struct sim *sim, size_t node, unsigned int percent);

DEFINE_CLEANUP(struct sim *, sim_free)

#endif
