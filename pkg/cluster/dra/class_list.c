/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which row a DeviceClass has, for the admission policies. Made as a whole from classes, devices
 * and prices, and compared: it changes far less often than these do.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "cluster/dra/dra_internal.h"
#include "model/claim.h"
#include "model/resource.h"

/* --- one class */

static bool gives_gpus(const struct cluster *cluster, const struct class_record *class)
{
	return class->gave_gpus || class_row_is_gpu(cluster, class) ||
	       device_driver_is_gpu(intern_str(cluster->intern, class->driver));
}

/* Whether the name of its row is what follows from that of the class. */
static bool has_own_row(const struct cluster *cluster, const struct class_record *class)
{
	struct str name;

	return resource_device_class(intern_str(cluster->intern, class->row), &name) &&
	       str_equal(name, intern_str(cluster->intern, class->name));
}

/* False where it is not to be listed. */
static bool entry_of(const struct cluster *cluster, const struct class_record *class,
		     struct class_entry *ret_entry)
{
	if (class_is_free(class)) {
		*ret_entry = (struct class_entry){class->name, INTERN_EMPTY};
		return true;
	}
	*ret_entry = (struct class_entry){class->name, class->row};
	return gives_gpus(cluster, class) && !has_own_row(cluster, class);
}

/* --- the list */

struct named_entry {
	struct str name;
	struct class_entry entry;
};

static int by_name(const void *a, const void *b)
{
	const struct named_entry *left = a, *right = b;

	return str_compare(left->name, right->name);
}

/* A class with a row matters more than one that is free: claims of GPUs depend on it. */
static int by_weight(const void *a, const void *b)
{
	const struct named_entry *left = a, *right = b;
	bool left_free = left->entry.row == INTERN_EMPTY,
	     right_free = right->entry.row == INTERN_EMPTY;

	if (left_free != right_free)
		return left_free ? 1 : -1;
	return by_name(a, b);
}

/* The caller releases the entries; they hold no references. */
static struct class_list make_list(const struct cluster *cluster)
{
	const struct table *classes = &cluster->dra.classes;
	CLEANUP(mem_free)
	struct named_entry *named = mem_alloc_array(classes->count + 1u, sizeof(*named));
	struct class_list list = {0};

	for (uint32_t h = table_next(classes, 0); h != TABLE_NONE; h = table_next(classes, h + 1)) {
		const struct class_record *class = class_at(&cluster->dra, h);

		named[list.n].name = intern_str(cluster->intern, class->name);
		if (entry_of(cluster, class, &named[list.n].entry))
			list.n++;
	}
	qsort(named, list.n, sizeof(*named), by_weight);
	if (list.n > LIMIT_STATUS_CLASSES) {
		list.left_out = list.n - LIMIT_STATUS_CLASSES;
		list.n = LIMIT_STATUS_CLASSES;
	}
	qsort(named, list.n, sizeof(*named), by_name);
	list.entries = mem_alloc_array(list.n + 1, sizeof(*list.entries));
	for (size_t i = 0; i < list.n; i++)
		list.entries[i] = named[i].entry;
	return list;
}

/* Names are interned, and those of the old list are held: equal ones are one handle. */
static bool is_same(const struct class_list *a, const struct class_list *b)
{
	if (a->n != b->n || a->left_out != b->left_out)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (a->entries[i].name != b->entries[i].name ||
		    a->entries[i].row != b->entries[i].row)
			return false;
	return true;
}

void class_list_clear(struct cluster *cluster)
{
	struct class_list *list = &cluster->class_list;

	for (size_t i = 0; i < list->n; i++) {
		intern_unref(cluster->intern, list->entries[i].name);
		intern_unref(cluster->intern, list->entries[i].row);
	}
	mem_free(list->entries);
	*list = (struct class_list){0};
}

void class_list_refresh(struct cluster *cluster)
{
	struct class_list list;

	if (!cluster->class_list.stale)
		return;
	cluster->class_list.stale = false;
	list = make_list(cluster);
	if (is_same(&list, &cluster->class_list)) {
		mem_free(list.entries);
		return;
	}
	for (size_t i = 0; i < list.n; i++) {
		intern_ref_handle(cluster->intern, list.entries[i].name);
		intern_ref_handle(cluster->intern, list.entries[i].row);
	}
	class_list_clear(cluster);
	cluster->class_list = list;
	mark_concerned(cluster);
}

bool class_list_view(const struct cluster *cluster, struct arena *arena,
		     struct quota_classes *ret_classes)
{
	const struct class_list *list = &cluster->class_list;
	struct quota_class *classes = arena_alloc(arena, list->n * sizeof(*classes));

	if (!classes)
		return false;
	for (size_t i = 0; i < list->n; i++)
		classes[i] = (struct quota_class){
			intern_str(cluster->intern, list->entries[i].name),
			intern_str(cluster->intern, list->entries[i].row),
		};
	*ret_classes = (struct quota_classes){classes, list->n, list->left_out};
	return true;
}
