/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_LAYOUTS_H
#define GPUQOS_TESTS_LAYOUTS_H

#include "base/limits.h"
#include "base/random.h"
#include "model/layout.h"

/*
 * Layouts of known machines and of random ones. A machine holds all that its layout points to: it
 * may not be moved. Build one with any of the functions; those of known machines are as their
 * makers describe them, with kubelet's policies unknown.
 */
#define MACHINE_NUMAS   8
#define MACHINE_BRIDGES 128

struct machine {
	struct layout layout;
	struct layout_numa numas[MACHINE_NUMAS];
	uint32_t distances[MACHINE_NUMAS * MACHINE_NUMAS];
	struct layout_bridge bridges[MACHINE_BRIDGES];
	struct layout_gpu gpus[LIMIT_LAYOUT_GPUS];
	struct layout_link links[LIMIT_LAYOUT_GPUS * (LIMIT_LAYOUT_GPUS - 1) / 2];
	char addresses[MACHINE_BRIDGES + LIMIT_LAYOUT_GPUS][16];
	char uuids[LIMIT_LAYOUT_GPUS][16];
};

/* 16 V100 on 2 NUMA nodes: pairs on a switch, two of which share a root port; NVSwitch. */
void machine_dgx2(struct machine *machine);

/* 8 H100 on 2 NUMA nodes, each below a switch of its own; NVSwitch. */
void machine_dgx_h100(struct machine *machine);

/* 8 cards without NVLink on 2 NUMA nodes, 2 to a switch. */
void machine_pcie_box(struct machine *machine);

/* 8 V100 in a cube whose edges and two diagonals are NVLinks of one or two lanes (DGX-1). */
void machine_dgx1(struct machine *machine);

/* @n cards of which nothing is known but that they are there. */
void machine_unknown(struct machine *machine, size_t n);

/* At most @n cards; anything may be unknown, failed, lonely or equal to its neighbour. */
void machine_random(struct machine *machine, struct random *random, size_t n);

/* Whether two layouts say the same. */
bool layouts_equal(const struct layout *a, const struct layout *b);

#endif
