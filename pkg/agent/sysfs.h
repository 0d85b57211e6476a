/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_SYSFS_H
#define GPUQOS_AGENT_SYSFS_H

#include "base/arena.h"
#include "base/error.h"
#include "model/layout.h"

#define SYSFS_ROOT "/sys"

/*
 * Fills what is unknown of the cards of @layout with what the kernel and its drivers tell below
 * @root, which is SYSFS_ROOT but in tests: the NUMA node of the device, which is also what device
 * plugins tell kubelet (-1, nobody knows, is left unknown, and so is a node without CPUs); of AMD's
 * cards memory and product. A file that is missing or odd tells nothing. @ret_layout borrows from
 * @layout and @arena. LIMIT: no room in @arena.
 */
int sysfs_fill(const char *root, const struct layout *layout, struct arena *arena,
	       struct layout *ret_layout, struct error *err);

#endif
