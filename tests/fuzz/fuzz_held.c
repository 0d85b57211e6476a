/* SPDX-License-Identifier: Apache-2.0 */
/* What kubelet tells of devices: what is kept of it keeps to the limits, and is printable. */
#include <stdlib.h>

#include "agent/held.h"

static void check(bool good)
{
	if (!good)
		abort();
}

static void check_text(struct str text)
{
	check(text.len > 0 && text.len <= LIMIT_LABEL_KEY);
	for (size_t i = 0; i < text.len; i++)
		check(text.data[i] > 0x20 && text.data[i] < 0x7f);
}

static void check_devices(const struct held_devices *devices, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		check_text(devices[i].resource);
		check(devices[i].n_numas <= LIMIT_LAYOUT_NUMAS);
		for (size_t j = 0; j < devices[i].n_ids; j++)
			check_text(devices[i].ids[j]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena CLEANUP(arena_clear) = {0};
	struct str message = {(const char *)data, size};
	struct held held = {0};

	arena_init(&arena, (size_t)16 * 1024 * 1024);
	if (held_read_pods(message, &arena, &held, NULL) == 0) {
		check(held.n_containers <= LIMIT_HELD_CONTAINERS);
		for (size_t i = 0; i < held.n_containers; i++) {
			const struct held_container *it = &held.containers[i];

			check_text(it->pod);
			check_text(it->namespace);
			check_text(it->name);
			check(it->n_devices + it->n_claims > 0);
			check_devices(it->devices, it->n_devices);
		}
	}
	if (held_read_allocatable(message, &arena, &held, NULL) == 0)
		check_devices(held.allocatable, held.n_allocatable);
	return 0;
}
