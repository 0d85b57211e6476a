/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLI_SIMULATE_H
#define GPUQOS_CLI_SIMULATE_H

#include "base/buf.h"
#include "sim/sim.h"

/*
 * Runs of one list under several policies and seeds, and what is said of them. The same input gives
 * the same bytes, but for a progress bar.
 */
#define SIMULATE_SEEDS 1000 /* most */

struct simulate_plan {
	const struct sim_input *input;              /* borrowed */
	enum sim_policy policies[SIM_POLICY_COUNT]; /* in the order of the table */
	size_t n_policies;
	int64_t first_seed;
	uint32_t n_seeds; /* 1 to SIMULATE_SEEDS */
	bool picture; /* keep the first run's history: of the first policy, with the first seed */
};

/* Told now and then how far all runs are, in [0, 1], and at the end. May be NULL. */
typedef void simulate_progress_fn(void *data, double done);

struct simulation {
	const struct simulate_plan *plan; /* borrowed */
	struct sim_result *results;       /* owned; by policy, then seed */
	struct sim *first;                /* owned; NULL where no picture is wanted */
};

void simulate(struct simulation *simulation, const struct simulate_plan *plan,
	      simulate_progress_fn *progress, void *data);
void simulation_clear(struct simulation *simulation);

static inline const struct sim_result *simulation_at(const struct simulation *s, size_t policy,
						     uint32_t seed)
{
	return &s->results[policy * s->plan->n_seeds + seed];
}

/* A table for people, means over the seeds; and JSON, every run with a figure for each percent. */
void simulation_print(const struct simulation *simulation, struct buf *out);
void simulation_json(const struct simulation *simulation, struct buf *out);

DEFINE_CLEAR(struct simulation, simulation_clear)

#endif
