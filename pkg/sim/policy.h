/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_SIM_POLICY_H
#define GPUQOS_SIM_POLICY_H

#include "base/str.h"
#include "model/placement.h"
#include "place/frag.h"
#include "sim/fgd.h"
#include "sim/gorand.h"

/*
 * Who places: gpuqos' own policy (place_score() with the default weights), and those of the FGD
 * paper as its simulator has them, so that they stand in one table with what was published: name,
 * name there. All but Random are functions of the ask and of what is free on the node; ties go to
 * the node with the lowest rank.
 */
#define SIM_POLICIES(X)                                 \
	X(GPUQOS, "gpuqos", "")                         \
	X(FGD, "fgd", "06-FGD")                         \
	X(BESTFIT, "bestfit", "05-BestFit")             \
	X(PACKING, "packing", "04-GpuPacking")          \
	X(CLUSTERING, "clustering", "03-GpuClustering") \
	X(DOTPROD, "dotprod", "02-DotProd")             \
	X(RANDOM, "random", "01-Random")

enum sim_policy {
#define X(name, text, published) SIM_##name,
	SIM_POLICIES(X)
#undef X
		SIM_POLICY_COUNT
};

const char *sim_policy_name(enum sim_policy policy); /* borrowed, static */
bool sim_policy_find(struct str name, enum sim_policy *ret_policy);

/* A node as a policy sees it. */
struct sim_place {
	struct frag_node gpu;
	double fragmentation; /* fgd_of(gpu) */
	uint64_t kinds;       /* of the pods on it: bit 0 shares, bit n pods of n whole cards */
};

struct sim_rules {
	struct frag_mix mix;
	struct fgd fgd;
	struct frag_weights weights;
	struct placement_weights placement;
};

struct sim_score {
	int64_t score; /* the highest wins */
	uint64_t cards;
};

/* The bit of kinds for @ask; none for a pod without GPU. */
uint64_t sim_kind(const struct frag_ask *ask);

/* Of @ask on @place, on which it fits. Not for Random. */
struct sim_score sim_policy_score(enum sim_policy policy, const struct sim_rules *rules,
				  const struct sim_place *place, const struct frag_ask *ask);

/* Random's cards: of those that a share fits on each is as likely. */
uint64_t sim_random_cards(struct gorand *rand, const struct frag_node *node,
			  const struct frag_ask *ask);

#endif
