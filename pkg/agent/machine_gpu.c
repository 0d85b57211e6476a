/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs, by PCI address, and the PCI bridges above them. Other devices, and bridges with no GPU
 * below, are left out. hwloc's host bridges are no bridges here: they are the roots.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

#define PCI_TEXT_SIZE 32

static uint64_t address_of(const struct hwloc_pcidev_attr_s *pci)
{
	return (uint64_t)pci->domain << 16 | (uint64_t)pci->bus << 8 |
	       (uint64_t)(pci->dev & 0x1f) << 3 | (pci->func & 0x7);
}

static int compare_addresses(const void *a, const void *b)
{
	uint64_t x = address_of(&(*(const hwloc_obj_t *)a)->attr->pcidev);
	uint64_t y = address_of(&(*(const hwloc_obj_t *)b)->attr->pcidev);

	return (x > y) - (x < y);
}

static int describe_address(struct reading *reading, const struct hwloc_pcidev_attr_s *pci,
			    struct str *ret_text, struct error *err)
{
	char *text = reading_alloc(reading, PCI_TEXT_SIZE, 1, err);

	if (!text)
		return -1;
	snprintf(text, PCI_TEXT_SIZE, "%04x:%02x:%02x.%01x", (unsigned int)pci->domain,
		 (unsigned int)pci->bus, (unsigned int)pci->dev, (unsigned int)pci->func);
	*ret_text = str_from(text);
	return 0;
}

/* hwloc has GB/s as a float, of which six digits are true, and 0 for unknown. */
static int64_t speed_of(const struct hwloc_pcidev_attr_s *pci)
{
	if (!(pci->linkspeed > 0) || pci->linkspeed > 1e6F)
		return AMOUNT_UNKNOWN;
	return llround((double)pci->linkspeed * 1e6) * 1000;
}

static int gather(struct reading *reading, struct error *err)
{
	hwloc_obj_t device = NULL;
	size_t n = 0;

	while ((device = hwloc_get_next_pcidev(reading->topology, device)) != NULL) {
		if (gpu_vendor(device) == 0)
			continue;
		if (n == LIMIT_LAYOUT_GPUS)
			return error_set(err, ERROR_LIMIT, "more than %d GPUs", LIMIT_LAYOUT_GPUS);
		reading->gpus[n++] = device;
	}
	qsort(reading->gpus, n, sizeof(reading->gpus[0]), compare_addresses);
	reading->layout.n_gpus = n;
	return 0;
}

static bool is_bridge(const struct hwloc_obj *object)
{
	return object->type == HWLOC_OBJ_BRIDGE &&
	       object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
}

static uint32_t bridge_index(const struct reading *reading, const struct hwloc_obj *bridge)
{
	for (size_t i = 0; i < reading->layout.n_bridges; i++)
		if (reading->bridges[i] == bridge)
			return (uint32_t)i;
	return LAYOUT_NONE;
}

/* The bridge above @object and all that are above it, those nearer to the root first. */
static int add_bridges_above(struct reading *reading, hwloc_obj_t object, struct error *err)
{
	hwloc_obj_t path[LIMIT_LAYOUT_BRIDGES];
	size_t depth = 0;

	for (object = object->parent; object && is_bridge(object); object = object->parent) {
		if (bridge_index(reading, object) != LAYOUT_NONE)
			break;
		if (reading->layout.n_bridges + depth == LIMIT_LAYOUT_BRIDGES)
			return error_set(err, ERROR_LIMIT, "more than %d PCI bridges above GPUs",
					 LIMIT_LAYOUT_BRIDGES);
		path[depth++] = object;
	}
	while (depth > 0)
		reading->bridges[reading->layout.n_bridges++] = path[--depth];
	return 0;
}

static int read_bridges(struct reading *reading, struct error *err)
{
	struct layout_bridge *bridges;

	for (size_t i = 0; i < reading->layout.n_gpus; i++)
		if (add_bridges_above(reading, reading->gpus[i], err) < 0)
			return -1;
	bridges = reading_alloc(reading, reading->layout.n_bridges, sizeof(*bridges), err);
	if (!bridges)
		return -1;
	for (size_t i = 0; i < reading->layout.n_bridges; i++) {
		const struct hwloc_obj *object = reading->bridges[i];

		bridges[i].parent = bridge_index(reading, object->parent);
		bridges[i].speed = speed_of(&object->attr->bridge.upstream.pci);
		if (describe_address(reading, &object->attr->bridge.upstream.pci, &bridges[i].pci,
				     err) < 0)
			return -1;
	}
	reading->layout.bridges = bridges;
	return 0;
}

/*
 * The one NUMA node with CPUs among those that the device is near. Where there are several (a
 * package cut into NUMA nodes by SNC or NPS, a bus of which the kernel says nothing), it is not
 * known.
 */
static uint32_t numa_of(const struct reading *reading, hwloc_obj_t device)
{
	hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(reading->topology, device);
	uint32_t found = LAYOUT_NONE;

	if (!near || !near->nodeset)
		return LAYOUT_NONE;
	for (size_t i = 0; i < reading->layout.n_numas; i++) {
		const struct layout_numa *numa = &reading->layout.numas[i];

		if (numa->n_cpus == 0 || !hwloc_bitmap_isset(near->nodeset, numa->id))
			continue;
		if (found != LAYOUT_NONE)
			return LAYOUT_NONE;
		found = (uint32_t)i;
	}
	return found;
}

int reading_gpus(struct reading *reading, struct error *err)
{
	struct layout_gpu *gpus;

	if (gather(reading, err) < 0 || read_bridges(reading, err) < 0)
		return -1;
	gpus = reading_alloc(reading, reading->layout.n_gpus, sizeof(*gpus), err);
	if (!gpus)
		return -1;
	for (size_t i = 0; i < reading->layout.n_gpus; i++) {
		hwloc_obj_t device = reading->gpus[i];

		gpus[i].numa = numa_of(reading, device);
		gpus[i].bridge = bridge_index(reading, device->parent);
		gpus[i].speed = speed_of(&device->attr->pcidev);
		gpus[i].sharing = DEVICE_OTHER;
		gpu_describe(reading, device, &gpus[i]);
		if (describe_address(reading, &device->attr->pcidev, &gpus[i].pci, err) < 0)
			return -1;
	}
	reading->layout.gpus = gpus;
	return 0;
}
