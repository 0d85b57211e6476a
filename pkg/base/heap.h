/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_HEAP_H
#define GPUQOS_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/*
 * An intrusive binary min-heap of deadlines. An entry is embedded in what it belongs to; it knows
 * its place, so it can be moved or removed in O(log n). Equal deadlines leave in the order in which
 * they were set. A zeroed heap is empty, a zeroed entry is not in a heap.
 */
struct heap_entry {
	int64_t due_us;
	uint64_t sequence; /* breaks ties */
	size_t place;      /* index + 1; 0 when not in a heap */
};

struct heap {
	struct heap_entry **entries; /* owned array of borrowed entries */
	size_t len, capacity;
	uint64_t sequence;
};

void heap_clear(struct heap *heap); /* entries are unlinked */

/*
 * Inserts, or moves an entry that is in this heap already; either way it comes after others with
 * the same deadline.
 */
void heap_set(struct heap *heap, struct heap_entry *entry, int64_t due_us);
void heap_remove(struct heap *heap, struct heap_entry *entry); /* no-op when not in the heap */
struct heap_entry *heap_first(const struct heap *heap);        /* borrowed, NULL when empty */

static inline bool heap_contains(const struct heap_entry *entry)
{
	return entry->place != 0;
}

DEFINE_CLEAR(struct heap, heap_clear)

#endif
