/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVLinks between GPUs, from hwloc's matrix in MB/s. Its rows are GPUs, NVSwitches, and CPUs where
 * these have NVLinks. NVML tells of a switch's links to GPUs, not of those between switches; every
 * machine that has switches joins them to one fabric without bottlenecks, so what two GPUs can
 * exchange through switches is what the lesser of them has to all switches.
 */
#include <string.h>

#include "internal.h"

#define MB_PER_S 1000000

/* In MB/s; more is no NVLink: hwloc puts 1000000 where a GPU meets itself. */
#define MOST 999999

struct matrix {
	const struct hwloc_distances_s *values;
	unsigned int row[LIMIT_LAYOUT_GPUS]; /* of a GPU */
	bool known[LIMIT_LAYOUT_GPUS];
};

/* The PCI device that @object is, or belongs to. */
static hwloc_obj_t device_of(hwloc_obj_t object)
{
	while (object && object->type == HWLOC_OBJ_OS_DEVICE)
		object = object->parent;
	return object && object->type == HWLOC_OBJ_PCI_DEVICE ? object : NULL;
}

static bool is_switch(hwloc_obj_t object)
{
	return object && object->type == HWLOC_OBJ_PCI_DEVICE && object->subtype &&
	       strcmp(object->subtype, "NVSwitch") == 0;
}

static void find_rows(const struct reading *reading, struct matrix *matrix)
{
	for (unsigned int row = 0; row < matrix->values->nbobjs; row++) {
		hwloc_obj_t device = device_of(matrix->values->objs[row]);

		for (size_t i = 0; device && i < reading->layout.n_gpus; i++)
			if (reading->gpus[i] == device && !matrix->known[i]) {
				matrix->row[i] = row;
				matrix->known[i] = true;
			}
	}
}

/* MB/s between two rows, in the direction that has less. */
static uint64_t between(const struct matrix *matrix, unsigned int a, unsigned int b)
{
	const struct hwloc_distances_s *values = matrix->values;
	uint64_t there = values->values[(size_t)a * values->nbobjs + b];
	uint64_t back = values->values[(size_t)b * values->nbobjs + a];
	uint64_t least = MIN(there, back);

	return least > MOST ? 0 : least;
}

static uint64_t to_switches(const struct matrix *matrix, unsigned int row)
{
	uint64_t sum = 0;

	for (unsigned int other = 0; other < matrix->values->nbobjs; other++)
		if (is_switch(matrix->values->objs[other]))
			sum += between(matrix, row, other);
	return sum;
}

static void add_links(const struct matrix *matrix, struct layout_link *links, struct layout *layout)
{
	for (uint32_t a = 0; a < layout->n_gpus; a++)
		for (uint32_t b = a + 1; b < layout->n_gpus; b++) {
			unsigned int i = matrix->row[a], j = matrix->row[b];
			uint64_t direct, switched;

			if (!matrix->known[a] || !matrix->known[b])
				continue;
			direct = between(matrix, i, j);
			switched = MIN(to_switches(matrix, i), to_switches(matrix, j));
			if (direct + switched == 0)
				continue;
			links[layout->n_links++] = (struct layout_link){
				.a = a,
				.b = b,
				.bandwidth = (int64_t)(direct + switched) * MB_PER_S,
			};
		}
	layout->links = links;
}

int reading_links(struct reading *reading, struct error *err)
{
	struct hwloc_distances_s *values = NULL;
	struct matrix matrix = {0};
	size_t n = reading->layout.n_gpus;
	struct layout_link *links;
	unsigned int count = 1;

	if (n < 2)
		return 0;
	if (hwloc_distances_get_by_name(reading->topology, "NVLinkBandwidth", &count, &values, 0) <
		    0 ||
	    count == 0 || !values)
		return 0;
	links = reading_alloc(reading, n * (n - 1) / 2, sizeof(*links), err);
	if (links) {
		matrix.values = values;
		find_rows(reading, &matrix);
		add_links(&matrix, links, &reading->layout);
	}
	hwloc_distances_release(reading->topology, values);
	return links ? 0 : -1;
}
