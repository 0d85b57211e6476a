/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_CRASHES_H
#define GPUQOS_MODEL_CRASHES_H

#include <stdint.h>

/*
 * Containers that crash over and over, as kubelet tells: those that it lets wait before it starts
 * them again, and those that run again, or are about to, after they ended badly twice at least.
 * The latter count for POD_CRASH_RECENT_US after the last bad end: who runs for so long has
 * recovered, which is also when kubelet's own back-off begins anew.
 */
#define POD_CRASH_RECENT_US (600LL * 1000 * 1000)

struct pod_crashes {
	uint32_t waiting, again;
	int64_t ended_us; /* real: the last bad end of those that run again; 0: none */
};

#endif
