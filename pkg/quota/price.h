/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_QUOTA_PRICE_H
#define GPUQOS_QUOTA_PRICE_H

#include "model/node.h"

/*
 * What one unit of a resource costs in bytes, by the products that offer it. The rules:
 *   - a pod bound to a node: the unit memory of that node's offer;
 *   - a pod not bound: the dearest offer of the product that its nodeSelector names; of any product
 *     where it names none, or one that no node offers (yet);
 *   - an offer of unknown memory counts as the largest known unit of its resource, else as what its
 *     name claims;
 *   - where nothing is known the price is AMOUNT_UNKNOWN: such a pod is refused, and one that runs
 *     is reported.
 *
 * A row merges all nodes with the same resource and product: `largest` prices pods, `smallest`
 * bounds hard values.
 */
struct price_row {
	uint32_t resource, product; /* names by the caller's handles; equal handles, equal names */
	int64_t smallest; /* bytes that a unit may hold at least; AMOUNT_UNKNOWN: no node says */
	int64_t largest;  /* bytes that a unit holds at most, likewise */
	enum device_sharing sharing; /* where nodes differ, the first of DEVICE_SHARINGS */
	uint32_t nodes;              /* that offer it */
	uint32_t unknown_nodes;      /* of those, nodes that do not tell the unit's memory */
	uint32_t order;              /* of its product's name among those of its resource */
};

#define PRODUCT_ANY UINT32_MAX

/* All rows, sorted by (resource, product). Borrowed from whoever keeps them. */
struct price_list {
	const struct price_row *rows;
	size_t n_rows;
};

/* The rows of one resource: a slice of the list, empty when nobody offers it. */
struct price_list price_of(const struct price_list *list, uint32_t resource);

/* The row of a resource on a product, or NULL. */
const struct price_row *price_find(const struct price_list *list, uint32_t resource,
				   uint32_t product);

/*
 * Bytes for one unit of @resource on @product (PRODUCT_ANY: the dearest). @by_name:
 * resource_memory_by_name() of the resource.
 */
int64_t price_unit(const struct price_list *list, uint32_t resource, uint32_t product,
		   int64_t by_name);

/*
 * The row whose price price_unit() gives: under it a pod without a node is counted. Of equally dear
 * products the first by name, as the admission policy has it; NULL when nobody offers the resource.
 */
const struct price_row *price_row_charged(const struct price_list *list, uint32_t resource,
					  uint32_t product);

/* The smallest unit of @resource anywhere, for hard values; AMOUNT_UNKNOWN: nothing is known. */
int64_t price_smallest(const struct price_list *list, uint32_t resource, int64_t by_name);

#endif
