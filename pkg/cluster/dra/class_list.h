/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_DRA_CLASS_LIST_H
#define GPUQOS_CLUSTER_DRA_CLASS_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "model/quota.h"

struct cluster;

/*
 * What status.deviceClasses says, alike in every namespace: which classes are charged otherwise
 * than their names tell. Nothing in it may be cheaper than the truth:
 *   - free (no row) is a class whose driver has published devices, none of which can be a GPU;
 *   - the extended resource that a class stands for is its row where that, or a device, is a GPU;
 *   - of any other class nobody knows what it gives, and it is left out.
 * Inside cluster only.
 */
struct class_entry {
	uint32_t name, row; /* a reference each; row INTERN_EMPTY: free */
};

struct class_list {
	struct class_entry *entries; /* owned, sorted by name */
	size_t n, left_out;          /* left_out: beyond LIMIT_STATUS_CLASSES, free ones first */
	bool stale;                  /* classes, devices or prices changed since it was made */
};

void class_list_clear(struct cluster *cluster);
/* Makes it anew where it is stale; another list marks namespaces dirty. After the price list. */
void class_list_refresh(struct cluster *cluster);
/* In @arena, texts borrowed; false when that is full. */
bool class_list_view(const struct cluster *cluster, struct arena *arena,
		     struct quota_classes *ret_classes);

#endif
