/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_WIRE_EVICTIONS_H
#define GPUQOS_API_WIRE_EVICTIONS_H

#include "codec/schema.h"

/*
 * What crds/tenantqos.yaml says of evictions: spec.protection, spec.preemptible, and the receipts
 * of status.evictions[]. See api/wire.h.
 */

struct wire_protection {
	uint64_t present;
	struct str mode;
	struct wire_list victim_tiers; /* struct str */
	int64_t per_minute, cooldown, observation, min_run;
};

#define WIRE_PROTECTION_PER_MINUTE  2
#define WIRE_PROTECTION_COOLDOWN    3
#define WIRE_PROTECTION_OBSERVATION 4
#define WIRE_PROTECTION_MIN_RUN     5

struct wire_preemptible {
	uint64_t present;
	int64_t grace, min_run, credit;
};

#define WIRE_PREEMPTIBLE_GRACE   0
#define WIRE_PREEMPTIBLE_MIN_RUN 1
#define WIRE_PREEMPTIBLE_CREDIT  2

struct wire_eviction_pod {
	uint64_t present;
	struct str namespace, name, uid, owner, tenant;
	struct str gpu_memory; /* quantity */
	int64_t lost;
	struct str note;
};

struct wire_eviction {
	uint64_t present;
	struct str id, cause, outcome;
	int64_t at_us, settled_us, held_until_us;
	struct wire_eviction_pod beneficiary;
	struct str objective, value, node, cards, proof, limits, message;
	struct wire_list victims, spared; /* struct wire_eviction_pod */
	int64_t n_spared;
};

extern const struct schema wire_protection_schema, wire_preemptible_schema, wire_eviction_schema;

#endif
