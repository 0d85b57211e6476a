/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PACK_QUOTA_H
#define GPUQOS_API_PACK_QUOTA_H

#include "api/pack_common.h"
#include "api/wire_quota.h"
#include "model/observed.h"

/* Reads the status, as body.c writes it, into @facts. Inside api only. LIMIT when the arena is
 * full. */
int pack_quota_status(const struct wire_gpu_memory_quota *wire, const struct pack *pack,
		      struct quota_facts *facts);

#endif
