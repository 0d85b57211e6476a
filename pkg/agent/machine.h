/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_MACHINE_H
#define GPUQOS_AGENT_MACHINE_H

#include "base/arena.h"
#include "base/error.h"
#include "model/layout.h"

/*
 * What hwloc knows of a machine, as a layout: NUMA nodes and their distances, the GPUs, the PCI
 * bridges above them, the NVLinks between them. It does not know the writer, the generation,
 * kubelet, health, how a card is shared and how it is cut into MIG devices: these are left unknown
 * (sharing: DEVICE_OTHER), for whoever does know to fill in.
 *
 * GPUs are PCI devices of NVIDIA, AMD and Intel: VGA and 3D controllers (class 0300, 0302), other
 * display controllers (0380: AMD Instinct to MI200, Intel Data Center GPU) and AMD's processing
 * accelerators (1200: MI300); but not the small VGA chips by which servers are managed. A card
 * that no driver has taken is one too, with neither uuid nor product known.
 */

/*
 * @hwloc_xml: a file that hwloc 2.x exported (lstopo machine.xml), of whichever machine; NULL: this
 * machine. Everything in @ret_layout is borrowed from @arena. NUMA nodes are in order of number,
 * GPUs in order of PCI address. Which of them are NVIDIA's is in @ret_nvidia, a bit for each index,
 * where it is not NULL. Errors: SYSTEM, what hwloc cannot read; LIMIT, more of anything than
 * limits.h allows.
 */
int machine_read(const char *hwloc_xml, struct arena *arena, struct layout *ret_layout,
		 uint64_t *ret_nvidia, struct error *err);

/*
 * What hwloc is told by the environment. machine_read() says it too; who calls that in another
 * thread says it first, while no other one can be reading the environment.
 */
void machine_prepare(void);

#endif
