/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PACK_JOB_H
#define GPUQOS_API_PACK_JOB_H

#include "api/pack.h"
#include "api/wire_job.h"

/*
 * As api/pack.h. A Job ends with the eviction of one of its pods where spec.podFailurePolicy says
 * so of DisruptionTarget, or does not tell it to be ignored and as many pods have failed as
 * spec.backoffLimit allows; and where spec.backoffLimitPerIndex is 0, since the index is lost then.
 * Rules by exit codes are not read.
 */
int api_pack_job(const struct wire_job *wire, struct job_facts *ret_facts, struct error *err);

#endif
