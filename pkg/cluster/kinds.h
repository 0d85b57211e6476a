/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is different from kind to kind, as a table: where a kind's records are, how one is found and
 * how it goes. A new kind is a row here, and its own file.
 */
#ifndef GPUQOS_CLUSTER_KINDS_H
#define GPUQOS_CLUSTER_KINDS_H

#include <stddef.h>

#include "cluster/internal.h"

struct kind {
	const char *word; /* as in the API */
	size_t records;   /* the table, in struct cluster */
	size_t epoch;     /* uint32_t in a record: of the list in which the object was last seen */
	/* Its index of names (names.c), in struct cluster, 0 where it has none; and uint32_t in a
	 * record, of the interned name. */
	size_t by_name, name;
	/* TABLE_NONE where there is none. NULL: by its index, which it has then. */
	uint32_t (*find)(const struct cluster *cluster, struct str namespace, struct str name);
	/* The object is gone; what others still say of it stays. */
	void (*remove)(struct cluster *cluster, uint32_t handle);
};

extern const struct kind cluster_kinds[CLUSTER_KIND_COUNT];

static inline const struct table *kind_records(const struct cluster *cluster,
					       enum cluster_kind kind)
{
	return (const void *)((const char *)cluster + cluster_kinds[kind].records);
}

#endif
