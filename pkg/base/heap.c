/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A binary heap in an array: the children of index i are at 2i + 1 and 2i + 2, and no child is due
 * before its parent.
 */
#include "base/heap.h"

#include <assert.h>

#include "base/mem.h"

static bool before(const struct heap_entry *a, const struct heap_entry *b)
{
	return a->due_us < b->due_us || (a->due_us == b->due_us && a->sequence < b->sequence);
}

static void put(struct heap *heap, struct heap_entry *entry, size_t index)
{
	heap->entries[index] = entry;
	entry->place = index + 1;
}

/* Moves @entry, for which index @index is free, up as far as it belongs. */
static void sift_up(struct heap *heap, struct heap_entry *entry, size_t index)
{
	while (index > 0 && before(entry, heap->entries[(index - 1) / 2])) {
		put(heap, heap->entries[(index - 1) / 2], index);
		index = (index - 1) / 2;
	}
	put(heap, entry, index);
}

static void sift_down(struct heap *heap, struct heap_entry *entry, size_t index)
{
	for (;;) {
		size_t child = 2 * index + 1;

		if (child >= heap->len)
			break;
		if (child + 1 < heap->len && before(heap->entries[child + 1], heap->entries[child]))
			child++;
		if (!before(heap->entries[child], entry))
			break;
		put(heap, heap->entries[child], index);
		index = child;
	}
	put(heap, entry, index);
}

static void sift(struct heap *heap, struct heap_entry *entry, size_t index)
{
	if (index > 0 && before(entry, heap->entries[(index - 1) / 2]))
		sift_up(heap, entry, index);
	else
		sift_down(heap, entry, index);
}

void heap_clear(struct heap *heap)
{
	if (!heap)
		return;
	for (size_t i = 0; i < heap->len; i++)
		heap->entries[i]->place = 0;
	mem_free(heap->entries);
	*heap = (struct heap){0};
}

void heap_set(struct heap *heap, struct heap_entry *entry, int64_t due_us)
{
	entry->due_us = due_us;
	entry->sequence = heap->sequence++;
	if (!heap_contains(entry)) {
		mem_grow((void **)&heap->entries, &heap->capacity, heap->len + 1,
			 sizeof(*heap->entries));
		heap->len++;
		sift_up(heap, entry, heap->len - 1);
	} else {
		assert(heap->entries[entry->place - 1] == entry);
		sift(heap, entry, entry->place - 1);
	}
}

void heap_remove(struct heap *heap, struct heap_entry *entry)
{
	struct heap_entry *last;
	size_t index;

	if (!heap_contains(entry))
		return;
	index = entry->place - 1;
	assert(heap->entries[index] == entry);
	entry->place = 0;
	last = heap->entries[--heap->len];
	if (last != entry)
		sift(heap, last, index);
}

struct heap_entry *heap_first(const struct heap *heap)
{
	return heap->len > 0 ? heap->entries[0] : NULL;
}
