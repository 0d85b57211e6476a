/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_ZONES_H
#define GPUQOS_API_ZONES_H

#include "api/pack_common.h"
#include "api/wire_zones.h"
#include "model/layout.h"

/*
 * The layout that follows from how many cards each NUMA node has: cards that nobody can name, each
 * on its NUMA node, which is the one that kubelet knows. Transient, in the arena, with strings of
 * what was read. @ret_layout is NULL where the zones tell of no card, of parts of cards, or cannot
 * be right (docs/topology.md, "Other publishers"). Inside api only.
 *
 * Kubelet's policies are known only where some zone has CPUs to give out: kubelet lists those under
 * cpuManagerPolicy static alone (pkg/kubelet/cm/cpumanager, GetAllocatableCPUs() of both policies),
 * and what else it does with CPUs the object does not tell.
 *
 * LIMIT, -1: the arena is full.
 */
int zones_read(const struct wire_node_topology *wire, const struct pack *pack,
	       const struct layout **ret_layout);

/* What it tells of kubelet's topology manager; static_cpu is not its to tell. */
struct layout_kubelet zones_kubelet(const struct wire_node_topology *wire);

#endif
