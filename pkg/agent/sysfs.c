/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of PCI devices: one line each, at most LINE_MAX_BYTES of it are looked at. */
#include "agent/sysfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/product.h"

#define LINE_MAX_BYTES 256
#define PATH_MAX_BYTES 512

struct line {
	char bytes[LINE_MAX_BYTES];
};

/* The first line of the device's file; empty where there is none that fits. */
static struct str read_line(const char *root, struct str pci, const char *file, struct line *line)
{
	char path[PATH_MAX_BYTES];
	struct str text, rest;
	ssize_t len;
	int fd;
	int n = snprintf(path, sizeof(path), "%s/bus/pci/devices/%.*s/%s", root, STR_ARGS(pci),
			 file);

	if (n < 0 || (size_t)n >= sizeof(path))
		return STR_NONE;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return STR_NONE;
	len = read(fd, line->bytes, sizeof(line->bytes));
	close(fd);
	if (len <= 0 || (size_t)len == sizeof(line->bytes))
		return STR_NONE;
	str_split((struct str){line->bytes, (size_t)len}, '\n', &text, &rest);
	return text;
}

static uint32_t numa_of(const char *root, struct str pci, const struct layout *layout)
{
	struct line line;
	int64_t id;

	if (!str_to_int64(read_line(root, pci, "numa_node", &line), 0, LAYOUT_NONE - 1, &id))
		return LAYOUT_NONE;
	for (size_t i = 0; i < layout->n_numas; i++)
		if (layout->numas[i].id == id && layout->numas[i].n_cpus > 0)
			return (uint32_t)i;
	return LAYOUT_NONE;
}

static int64_t memory_of(const char *root, struct str pci)
{
	struct line line;
	int64_t bytes;

	if (!str_to_int64(read_line(root, pci, "mem_info_vram_total", &line), 1,
			  LIMIT_LAYOUT_AMOUNT, &bytes))
		return AMOUNT_UNKNOWN;
	return bytes;
}

int sysfs_fill(const char *root, const struct layout *layout, struct arena *arena,
	       struct layout *ret_layout, struct error *err)
{
	struct layout_gpu *gpus = arena_alloc(arena, layout->n_gpus * sizeof(*gpus));

	if (!gpus)
		return error_set(err, ERROR_LIMIT, "a layout of more than %zu bytes", arena->limit);
	for (size_t i = 0; i < layout->n_gpus; i++) {
		struct layout_gpu *gpu = &gpus[i];
		struct line line;

		*gpu = layout->gpus[i];
		if (gpu->numa == LAYOUT_NONE)
			gpu->numa = numa_of(root, gpu->pci, layout);
		if (gpu->memory == AMOUNT_UNKNOWN)
			gpu->memory = memory_of(root, gpu->pci);
		if (str_empty(gpu->product))
			gpu->product = product_label(
				arena, read_line(root, gpu->pci, "product_name", &line), '_');
	}
	*ret_layout = *layout;
	ret_layout->gpus = gpus;
	return 0;
}
