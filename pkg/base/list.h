/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_LIST_H
#define GPUQOS_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"

/*
 * Intrusive circular list. The head is a node of its own; a zeroed entry is not linked, and
 * unlinking it is a no-op. Entries are never owned by the list.
 */
struct list {
	struct list *next, *prev;
};

static inline void list_init(struct list *head)
{
	head->next = head->prev = head;
}

static inline bool list_empty(const struct list *head)
{
	return !head->next || head->next == head;
}

static inline bool list_linked(const struct list *entry)
{
	return entry->next != NULL;
}

static inline void list_append(struct list *head, struct list *entry)
{
	entry->prev = head->prev;
	entry->next = head;
	head->prev->next = entry;
	head->prev = entry;
}

static inline void list_unlink(struct list *entry)
{
	if (!entry->next)
		return;
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	entry->next = entry->prev = NULL;
}

static inline struct list *list_first(const struct list *head)
{
	return list_empty(head) ? NULL : head->next;
}

static inline struct list *list_pop(struct list *head)
{
	struct list *first = list_first(head);

	if (first)
		list_unlink(first);
	return first;
}

#define list_for_each(it, head) for (struct list *it = (head)->next; it != (head); it = it->next)

/* The body may unlink (and free) @it. */
#define list_for_each_safe(it, head)                                              \
	for (struct list *it = (head)->next, *it##_next = it->next; it != (head); \
	     it = it##_next, it##_next = it->next)

#endif
