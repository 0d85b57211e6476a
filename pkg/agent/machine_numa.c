/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NUMA nodes, by number, and their distances.
 *
 * A CPU is of one NUMA node. hwloc gives a node without CPUs (CXL memory, a card's memory) those
 * near it, so that several nodes seem to have the same ones. They belong to the node that has the
 * fewest, among equals to the lowest number, which the kernel gives to nodes with CPUs; the others
 * are memory only.
 */
#include <stdlib.h>

#include "internal.h"

/* Distances of a node from itself, and from one that cannot be reached. */
#define LOCAL    10
#define FARTHEST 255

static int compare_numbers(const void *a, const void *b)
{
	unsigned int x = (*(const hwloc_obj_t *)a)->os_index;
	unsigned int y = (*(const hwloc_obj_t *)b)->os_index;

	return (x > y) - (x < y);
}

static int gather(struct reading *reading, struct error *err)
{
	int n = hwloc_get_nbobjs_by_type(reading->topology, HWLOC_OBJ_NUMANODE);

	if (n < 0 || n > LIMIT_LAYOUT_NUMAS)
		return error_set(err, ERROR_LIMIT, "%d NUMA nodes, at most %d are described", n,
				 LIMIT_LAYOUT_NUMAS);
	for (int i = 0; i < n; i++)
		reading->numas[i] = hwloc_get_obj_by_type(reading->topology, HWLOC_OBJ_NUMANODE,
							  (unsigned int)i);
	qsort(reading->numas, (size_t)n, sizeof(reading->numas[0]), compare_numbers);
	reading->layout.n_numas = (size_t)n;
	return 0;
}

/* The nodes are in order of number. */
static bool is_memory_only(const struct reading *reading, size_t i)
{
	hwloc_const_cpuset_t own = reading->numas[i]->cpuset;
	int weight = hwloc_bitmap_weight(own);

	if (weight <= 0)
		return true;
	for (size_t j = 0; j < reading->layout.n_numas; j++) {
		hwloc_const_cpuset_t other = reading->numas[j]->cpuset;
		int other_weight = hwloc_bitmap_weight(other);

		if (j != i && hwloc_bitmap_intersects(own, other) &&
		    (other_weight < weight || (other_weight == weight && j < i)))
			return true;
	}
	return false;
}

static int describe_cpus(struct reading *reading, hwloc_const_cpuset_t cpus,
			 struct layout_numa *numa, struct error *err)
{
	int len = hwloc_bitmap_list_snprintf(NULL, 0, cpus);
	size_t size = (size_t)len + 1;
	char *text = reading_alloc(reading, size, 1, err);

	if (!text)
		return -1;
	hwloc_bitmap_list_snprintf(text, size, cpus);
	numa->cpus = str_from(text);
	numa->n_cpus = (uint32_t)hwloc_bitmap_weight(cpus);
	return 0;
}

static int describe(struct reading *reading, size_t i, struct layout_numa *numa, struct error *err)
{
	const struct hwloc_obj *node = reading->numas[i];
	uint64_t memory = node->attr->numanode.local_memory;

	numa->id = node->os_index;
	numa->memory = memory > INT64_MAX ? AMOUNT_UNKNOWN : (int64_t)memory;
	return is_memory_only(reading, i) ? 0 : describe_cpus(reading, node->cpuset, numa, err);
}

/* False where hwloc's matrix does not speak of all nodes, or speaks of no distances as ACPI's. */
static bool copy_distances(const struct reading *reading, const struct hwloc_distances_s *matrix,
			   uint32_t *distances)
{
	size_t n = reading->layout.n_numas, place[LIMIT_LAYOUT_NUMAS];

	if (matrix->nbobjs != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		place[i] = 0;
		while (place[i] < n && matrix->objs[place[i]] != reading->numas[i])
			place[i]++;
		if (place[i] == n)
			return false;
	}
	for (size_t i = 0; i < n * n; i++) {
		uint64_t value = matrix->values[place[i / n] * n + place[i % n]];

		if (i / n == i % n ? value != LOCAL : value < LOCAL || value > FARTHEST)
			return false;
		distances[i] = (uint32_t)value;
	}
	return true;
}

static int read_distances(struct reading *reading, struct error *err)
{
	struct hwloc_distances_s *matrix = NULL;
	size_t n = reading->layout.n_numas;
	unsigned int count = 1;
	uint32_t *distances;

	if (hwloc_distances_get_by_name(reading->topology, "NUMALatency", &count, &matrix, 0) < 0 ||
	    count == 0 || !matrix)
		return 0;
	distances = reading_alloc(reading, n * n, sizeof(*distances), err);
	if (distances && copy_distances(reading, matrix, distances))
		reading->layout.distances = distances;
	hwloc_distances_release(reading->topology, matrix);
	return distances ? 0 : -1;
}

int reading_numas(struct reading *reading, struct error *err)
{
	struct layout_numa *numas;

	if (gather(reading, err) < 0)
		return -1;
	numas = reading_alloc(reading, reading->layout.n_numas, sizeof(*numas), err);
	if (!numas)
		return -1;
	for (size_t i = 0; i < reading->layout.n_numas; i++)
		if (describe(reading, i, &numas[i], err) < 0)
			return -1;
	reading->layout.numas = numas;
	return read_distances(reading, err);
}
