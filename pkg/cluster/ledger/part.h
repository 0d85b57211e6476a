/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_LEDGER_PART_H
#define GPUQOS_CLUSTER_LEDGER_PART_H

#include "base/limits.h"
#include "cluster/internal.h"
#include "cluster/placing/placement.h"

/*
 * What one entry of the ledger adds to its namespace's sums: a pod, or a ResourceClaim. Inside
 * cluster only.
 */
struct part_row {
	uint32_t row; /* of the price list */
	int64_t count, bytes;
};

struct part {
	int64_t bytes, unpriced;
	int64_t assumed; /* of bytes, for devices that do not tell their memory */
	struct part_row rows[LIMIT_RESOURCES_PER_POD];
	size_t n_rows;
	uint32_t pods; /* 0 for a claim */
	bool live, released;
	bool disagreeing; /* two sources tell different memory for some of it */
};

/* No claim has as many requests or devices. */
_Static_assert(LIMIT_RESOURCES_PER_POD >= LIMIT_REQUESTS_PER_CLAIM, "a part has room for requests");
_Static_assert(LIMIT_RESOURCES_PER_POD >= LIMIT_CLAIM_DEVICES, "a part has room for devices");

/*
 * @count units of @unit bytes each, AMOUNT_UNKNOWN for a price that nobody knows, counted under
 * @row, which may be NULL. Returns the bytes.
 */
int64_t part_add(const struct cluster *cluster, struct part *part, const struct price_row *row,
		 int64_t count, int64_t unit);

/* Of one unit, by the price list, else by its name. @product may be PRODUCT_ANY. */
int64_t part_price(const struct cluster *cluster, uint32_t resource, uint32_t product);

/* --- ledger.c */

/* So many units of a resource, and where they are counted and priced. */
struct units {
	int64_t count;
	uint32_t resource, product; /* the product of a node that offers it, else the wanted one */
	uint32_t offer; /* the node's; TABLE_NONE: another source, or none is known yet */
	const struct offer_kind *kind;
};

/* What @node has of it; as cards where it does not cut them; else what it may come to be. */
struct units units_on(const struct cluster *cluster, uint32_t node, uint32_t product,
		      const struct vector_cell *cell);

/* What a pod that asks so would be charged on @node. */
void part_on(const struct cluster *cluster, uint32_t node, const struct cluster_ask *ask,
	     struct part *ret_part);

void pod_part(const struct cluster *cluster, const struct pod_record *pod, struct part *ret_part);

/* --- podclaims.c: the claims of an ask */
void ask_claims(const struct cluster *cluster, const struct pod_facts *facts,
		struct cluster_ask *ask);
void ask_claims_of_pod(const struct cluster *cluster, uint32_t pod, struct cluster_ask *ask);

/* --- claim_part.c */
void claim_part(const struct cluster *cluster, uint32_t claim, struct part *ret_part);

#endif
