/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_WIRE_BUDGET_H
#define GPUQOS_API_WIRE_BUDGET_H

#include "api/wire_meta.h"

/* A PodDisruptionBudget (policy/v1) as it comes, as api/wire.h says of all types. */

struct wire_budget_spec {
	uint64_t present;
	struct wire_selector selector;
};

/* Absent: it selects nothing. Present without requirements: everything in its namespace. */
#define WIRE_BUDGET_SELECTOR 0

struct wire_budget_status {
	uint64_t present;
	int64_t observed_generation;
	int32_t allowed;
};

struct wire_budget {
	uint64_t present;
	struct wire_meta meta;
	struct wire_budget_spec spec;
	struct wire_budget_status status;
};

extern const struct schema wire_budget_schema;

#endif
