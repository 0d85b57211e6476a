/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_SOURCE_TABLE_H
#define GPUQOS_API_SOURCE_TABLE_H

#include "base/error.h"
#include "model/node.h"

/*
 * Resources that no adapter knows, as an admin describes them (resources[] of --config):
 *
 *   resources:
 *     - name: huawei.com/Ascend910        # an extended resource
 *       unitMemory: 64Gi                  # of one unit, at least 1Mi; or:
 *       memoryLabel: amd.com/gpu.vram     # the node's label that tells it, and
 *       memoryUnit: 1Gi                   # what a bare number there means (1Mi)
 *       product: Ascend910B               # or productLabel: the node's label that names it
 *       sharing: None                     # None, MIG, TimeSlicing, MPS, Fraction; else Unknown
 *
 * A label's value is a quantity ("192Gi") or a whole number of memoryUnit, with "G" or "M" behind
 * it, as device plugins write it, read as Gi and Mi. A row for a resource that an adapter prices
 * counts on nodes where nothing else tells its memory. Names that are not a count of devices or of
 * memory by themselves (HAMi's, Volcano's, Koordinator's, KAI's, those of DeviceClasses) cannot be
 * described.
 */
struct source_row {
	struct str name;
	int64_t unit_memory;      /* bytes, or AMOUNT_NONE: the label tells */
	struct str memory_label;  /* empty: unit_memory tells */
	int64_t memory_unit;      /* bytes */
	struct str product;       /* empty: the label tells, if there is one */
	struct str product_label; /* empty: none */
	enum device_sharing sharing;
};

/* Sorted by name, each name once. Borrowed from whoever keeps it. NULL is an empty one. */
struct source_table {
	const struct source_row *rows;
	size_t n_rows; /* at most LIMIT_TABLE_RESOURCES */
};

/* The row of a resource, or NULL. */
const struct source_row *source_table_find(const struct source_table *table, struct str resource);

/* INVALID where the row describes no resource that may be described: the message names the field.
 */
int source_row_check(const struct source_row *row, struct error *err);

/* Whether it counts as a GPU: by its name, or since the table has it. */
bool source_is_gpu(const struct source_table *table, struct str resource);

#endif
