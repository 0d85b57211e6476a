/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_SIM_INPUT_H
#define GPUQOS_SIM_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "place/frag.h"

/*
 * What a simulation begins with: the nodes, and the list that arriving pods are drawn from. Pods
 * that ask for the same share one entry of asks, whose weight is how many they are.
 */
#define SIM_PRODUCTS 64 /* products of cards, most */
#define SIM_ASKS     65536
#define SIM_NODES    100000
#define SIM_PODS     1000000

struct sim_node {
	char *name;           /* owned */
	struct frag_node gpu; /* empty: all is free */
	int64_t memory;       /* bytes */
};

struct sim_pod {
	int64_t memory; /* bytes */
	uint32_t ask;   /* index */
};

struct sim_input {
	struct sim_node *nodes; /* owned, as all of these */
	struct sim_pod *pods;
	struct frag_ask *asks;
	char *products[SIM_PRODUCTS]; /* of which frag_node.product has the bit */
	size_t n_nodes, n_pods, n_asks, n_products;
	size_t node_capacity, pod_capacity, ask_capacity;
};

void sim_input_clear(struct sim_input *input); /* a zeroed one is empty */

/* The bit of a product by name; the empty name has none. LIMIT: there are too many. */
int sim_input_product(struct sim_input *input, struct str name, uint64_t *ret_bit,
		      struct error *err);

/* A node with its product and cards in @gpu. LIMIT: too many nodes. */
int sim_input_add_node(struct sim_input *input, struct str name, const struct frag_node *gpu,
		       int64_t memory, struct error *err);

/* A pod that asks for @ask, of which weight is not read. LIMIT: too many pods or kinds of them. */
int sim_input_add_pod(struct sim_input *input, const struct frag_ask *ask, int64_t memory,
		      struct error *err);

/* Cards of all nodes. */
int64_t sim_input_cards(const struct sim_input *input);

/* Millicards that a pod asks for in all. */
static inline int64_t sim_ask_milli(const struct frag_ask *ask)
{
	return (int64_t)ask->gpus * ask->gpu_milli;
}

DEFINE_CLEAR(struct sim_input, sim_input_clear)

#endif
