/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLI_INCIDENT_H
#define GPUQOS_CLI_INCIDENT_H

#include "base/buf.h"
#include "sim/incident.h"

/*
 * The incident under every placer, on nodes with and without a topology policy of kubelet: a table,
 * sums over the seeds; as JSON the same numbers.
 */
void incident_report(int64_t first_seed, uint32_t n_seeds, bool json, struct buf *out);

#endif
