/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_LEDGER_WANTS_H
#define GPUQOS_CLUSTER_LEDGER_WANTS_H

#include "cluster/cluster.h"
#include "cluster/ledger/vectors.h"

/*
 * What pods usually ask for, and of what: for pkg/place to learn from. Reading is as in
 * cluster/read.h. Kept as pods come and go, in a time that does not grow with anything.
 */

/* So many pods ask for these cells, of a card of this product (INTERN_EMPTY: any). All pods count
 * that there are, also those that wait or have finished, for as long as their objects last. */
struct cluster_want {
	uint32_t pods, product;
	const struct vector_cell *cells[LIMIT_RESOURCES_PER_POD];
	size_t n;
};

uint32_t cluster_want_next(const struct cluster *cluster, uint32_t from); /* as table_next() */
void cluster_want(const struct cluster *cluster, uint32_t want, struct cluster_want *ret_want);
/* How often a pod came or went, or asked for something else, or a node offered more or less. */
uint64_t cluster_wants_changed(const struct cluster *cluster);

/* What all nodes together offer of a resource and a product; some of several may be of one. */
#define CLUSTER_POOLS 256 /* most that are told of */

struct cluster_pool {
	uint32_t resource, product;
	int64_t units; /* that kubelet gives out */
};

size_t cluster_pools(const struct cluster *cluster, struct cluster_pool *ret_pools, size_t max);

/* How many units of it make a card, the largest there is; 1: each is a device; 0: not known. */
int64_t cluster_card_parts(const struct cluster *cluster, uint32_t resource);

#endif
