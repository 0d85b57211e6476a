/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_LEDGER_VECTORS_H
#define GPUQOS_CLUSTER_LEDGER_VECTORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/table.h"
#include "model/pod.h"

/*
 * Request vectors: what a pod asks for, each distinct one once, with a reference count, named by a
 * 32-bit handle. Equal vectors have equal handles, so that the thousand pods of one ReplicaSet
 * share one. Flat: a vector is a chain of cells in a table.
 */
struct vector_cell {
	int64_t count, told;       /* count: at least 1 */
	uint32_t resource, device; /* interned; the vector holds a reference to each */
	uint32_t devices;          /* struct device_ask tells of these and of told */
	uint32_t next;             /* TABLE_NONE at the end */
};

/* More devices are kept as this many: a pod that asks for them never runs. */
#define VECTOR_DEVICES_MOST INT32_MAX

struct vectors {
	struct table records, cells;
	struct map by_value;
	struct hash_key key;
	struct intern *intern; /* borrowed */
};

void vectors_init(struct vectors *vectors, const struct hash_key *key, struct intern *intern);
void vectors_clear(struct vectors *vectors); /* the strings stay referenced: they go with intern */

/*
 * The vector of @rows, with one more reference. @rows: 1 to LIMIT_RESOURCES_PER_POD, sorted by
 * device_ask_compare(), names no longer than LIMIT_INTERNED_STRING, counts above 0.
 */
uint32_t vectors_ref(struct vectors *vectors, const struct device_ask *rows, size_t n) MUST_CHECK;
/* The same vector once more. */
uint32_t vectors_ref_handle(struct vectors *vectors, uint32_t vector);
void vectors_unref(struct vectors *vectors, uint32_t vector);

/*
 * Raises @rows (of *@len, with room for LIMIT_RESOURCES_PER_POD) to what @vector has, each pair by
 * itself, so that they are no less than either; they stay sorted. False when there is no room.
 * Names that are added are borrowed from the vector.
 */
bool vectors_raise(const struct vectors *vectors, uint32_t vector, struct device_ask *rows,
		   size_t *len) MUST_CHECK;

/* The first cell's handle; cells are read with vectors_cell(). TABLE_NONE of TABLE_NONE. */
uint32_t vectors_first(const struct vectors *vectors, uint32_t vector);

static inline const struct vector_cell *vectors_cell(const struct vectors *vectors, uint32_t cell)
{
	return (const struct vector_cell *)table_at(&vectors->cells, cell);
}

size_t vectors_bytes(const struct vectors *vectors);

#endif
