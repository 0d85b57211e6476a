/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_WIRE_JOB_H
#define GPUQOS_API_WIRE_JOB_H

#include "api/wire_meta.h"

/* A Job (batch/v1) as it comes, as api/wire.h says of all types. */

struct wire_job_condition {
	uint64_t present;
	struct str type, status;
};

struct wire_job_rule {
	uint64_t present;
	struct str action;
	struct wire_list conditions; /* struct wire_job_condition */
};

struct wire_job_policy {
	uint64_t present;
	struct wire_list rules; /* struct wire_job_rule */
};

struct wire_job_spec {
	uint64_t present;
	int32_t backoff_limit, index_limit;
	struct wire_job_policy policy;
};

#define WIRE_JOB_BACKOFF_LIMIT 0
#define WIRE_JOB_INDEX_LIMIT   2

struct wire_job_status {
	uint64_t present;
	int32_t failed;
};

struct wire_job {
	uint64_t present;
	struct wire_meta meta;
	struct wire_job_spec spec;
	struct wire_job_status status;
};

extern const struct schema wire_job_schema;

#endif
