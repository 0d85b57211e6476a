/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_AGENT_NVML_H
#define GPUQOS_AGENT_NVML_H

#include "agent/facts.h"
#include "base/macros.h"

/*
 * NVIDIA's management library, loaded while running: uuid, memory, product, MIG devices, NVLinks
 * and health of its cards. An entry point that is missing, as in an old driver, is one thing less
 * that is known, never a failure. Its texts and counts are taken as untrusted.
 *
 * All calls may block for as long as the driver does, seconds for a card that hangs: call them from
 * a thread that may.
 */
#define NVML_LIBRARY "libnvidia-ml.so.1"

struct nvml;

/*
 * Loads and initialises @library. NOT_FOUND: there is no such library, or no driver is loaded.
 * UNAVAILABLE: it does not work, with what it said.
 */
int nvml_open(const char *library, struct nvml **ret_nvml, struct error *err);
void nvml_close(struct nvml *nvml);

DEFINE_CLEANUP(struct nvml *, nvml_close)

/*
 * The cards as they are now. A card is
 *  - Failed where the driver has lost it, or asks for its reset; where rows of its memory could not
 *    be remapped, or wait for a reset for it; where it met memory errors, since the driver was
 *    loaded, that ECC could not correct; where an XID error came since the first call, other than
 *    those that an application can cause alone. This is what NVIDIA's device plugin goes by, so
 *    that what it offers no more is Failed here. An error of one MIG instance is not its card's.
 *  - OK where it answers and nothing of that is known of it;
 *  - Unknown where it does not answer.
 *
 * UNAVAILABLE: the library does not count its cards: close it, and open it again later. LIMIT: more
 * of them than limits.h allows, or no room in @arena.
 */
int nvml_read(struct nvml *nvml, struct arena *arena, struct machine_facts *ret_facts,
	      struct error *err);

#endif
