/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_SIM_ARRIVALS_H
#define GPUQOS_SIM_ARRIVALS_H

#include "sim/gorand.h"
#include "sim/input.h"

/*
 * The order in which pods arrive, and the order of nodes for ties, by seed, as the published runs
 * of FGD drew them (hkust-adsl/kubernetes-scheduler-simulator, pkg/simulator): all pods of the list
 * shuffled; then, until the GPU capacity asked for reaches SIM_ARRIVALS_PERCENT of what the nodes
 * have, pods drawn at random from the list are added, or, where the list asks for more, pods are
 * taken out at random; then the nodes' names are shuffled. In between ten numbers are drawn by
 * the watches that its scheduler begins; with these all published runs come out.
 */
#define SIM_ARRIVALS_PERCENT 130
#define SIM_ARRIVALS         (8 * SIM_PODS) /* most, whatever the demand comes to */

struct sim_arrivals {
	uint32_t *pods;  /* owned; indices of the input's, some several times */
	uint32_t *ranks; /* owned; one for each node, the lowest wins a tie */
	size_t n_pods;
	struct gorand rand; /* for policies that draw */
};

void sim_arrivals_draw(struct sim_arrivals *arrivals, const struct gorand_table *table,
		       const struct sim_input *input, int64_t seed);
void sim_arrivals_clear(struct sim_arrivals *arrivals);

DEFINE_CLEAR(struct sim_arrivals, sim_arrivals_clear)

#endif
