/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One card: whether a PCI device is one, and what the drivers' libraries told hwloc about it. Each
 * of them left an object of its own below the device, "nvml0" or "rsmi3", with texts by name; which
 * name holds what is a table here. hwloc counts memory in KiB; its version 3 writes the unit.
 */
#include <string.h>

#include "agent/product.h"
#include "internal.h"

#define CLASS_VGA         0x0300
#define CLASS_3D          0x0302
#define CLASS_DISPLAY     0x0380
#define CLASS_ACCELERATOR 0x1200

/* Display chips of AMD that show a server's console: ES1000, Rage XL, RV100. */
static bool is_console(const struct hwloc_pcidev_attr_s *pci)
{
	return pci->vendor_id == VENDOR_AMD &&
	       (pci->device_id == 0x515e || pci->device_id == 0x4752 || pci->device_id == 0x5159);
}

unsigned int gpu_vendor(const struct hwloc_obj *device)
{
	const struct hwloc_pcidev_attr_s *pci = &device->attr->pcidev;
	bool display = pci->class_id == CLASS_VGA || pci->class_id == CLASS_3D ||
		       pci->class_id == CLASS_DISPLAY;

	switch (pci->vendor_id) {
	case VENDOR_NVIDIA:
	case VENDOR_INTEL:
		return display ? pci->vendor_id : 0;
	case VENDOR_AMD:
		return (display && !is_console(pci)) || pci->class_id == CLASS_ACCELERATOR
			       ? VENDOR_AMD
			       : 0;
	default:
		return 0;
	}
}

/*
 * Which library told what, from the one that counts first. CUDA numbers cards in an order of its
 * own, so its number is not the driver's. OpenCL is missing: to it a card's name is its chip's.
 */
static const struct library {
	const char *prefix; /* of the object's name, a number follows */
	const char *uuid, *model;
	const char *memory[2];
	bool numbers;
} libraries[] = {
	{"nvml", "NVIDIAUUID", "GPUModel", {NULL, NULL}, true},
	{"rsmi", "AMDUUID", "GPUModel", {"RSMIVRAMSize", NULL}, true},
	{"ze", "LevelZeroUUID", "LevelZeroModel", {"LevelZeroHBMSize", "LevelZeroDDRSize"}, true},
	{"cuda", NULL, "GPUModel", {"CUDAGlobalMemorySize", NULL}, false},
};

/* What @library said; the number in its object's name in @ret_number. NULL: nothing. */
static hwloc_obj_t find_told(const struct hwloc_obj *device, const struct library *library,
			     uint32_t *ret_number)
{
	struct str prefix = str_from(library->prefix);
	int64_t number;

	for (hwloc_obj_t child = device->io_first_child; child; child = child->next_sibling) {
		struct str name = str_from(child->name);

		if (child->type == HWLOC_OBJ_OS_DEVICE && str_starts_with(name, prefix) &&
		    str_to_int64(str_skip(name, prefix.len), 0, LAYOUT_NONE - 1, &number)) {
			*ret_number = (uint32_t)number;
			return child;
		}
	}
	return NULL;
}

static struct str text_of(hwloc_obj_t told, const char *name)
{
	return name ? str_from(hwloc_obj_get_info_by_name(told, name)) : STR_NONE;
}

static int64_t memory_of(hwloc_obj_t told, const struct library *library)
{
	for (size_t i = 0; i < ARRAY_SIZE(library->memory); i++) {
		struct str text = text_of(told, library->memory[i]);
		int64_t kib;

		if (str_ends_with(text, STR("KiB")))
			text.len -= strlen("KiB");
		if (str_to_int64(text, 1, INT64_MAX / 1024, &kib))
			return kib * 1024;
	}
	return AMOUNT_UNKNOWN;
}

static struct str uuid_of(struct arena *arena, struct str uuid)
{
	const char *copy =
		uuid.len <= LIMIT_NAME ? arena_strndup(arena, uuid.data, uuid.len) : NULL;

	return copy ? (struct str){copy, uuid.len} : STR_NONE;
}

void gpu_describe(struct reading *reading, const struct hwloc_obj *device, struct layout_gpu *gpu)
{
	char between = gpu_vendor(device) == VENDOR_AMD ? '_' : '-';

	gpu->index = LAYOUT_NONE;
	gpu->memory = AMOUNT_UNKNOWN;
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++) {
		const struct library *library = &libraries[i];
		uint32_t number;
		hwloc_obj_t told = find_told(device, library, &number);

		if (!told)
			continue;
		if (library->numbers && gpu->index == LAYOUT_NONE)
			gpu->index = number;
		if (str_empty(gpu->uuid))
			gpu->uuid = uuid_of(reading->arena, text_of(told, library->uuid));
		if (str_empty(gpu->product))
			gpu->product = product_label(reading->arena, text_of(told, library->model),
						     between);
		if (gpu->memory == AMOUNT_UNKNOWN)
			gpu->memory = memory_of(told, library);
	}
}
