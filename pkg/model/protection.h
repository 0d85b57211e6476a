/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_PROTECTION_H
#define GPUQOS_MODEL_PROTECTION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * TenantQoS spec.protection, what may be done for a tenant's pods, and spec.preemptible, what holds
 * where its own pods are to go. Times in microseconds.
 */

/* name, text in spec.protection.mode. OFF: there is no spec.protection. */
#define PROTECTION_MODES(X)  \
	X(OFF, "")           \
	X(DRY_RUN, "DryRun") \
	X(ENFORCE, "Enforce")

enum protection_mode {
#define X(name, text) PROTECTION_##name,
	PROTECTION_MODES(X)
#undef X
};

struct protection_spec {
	enum protection_mode mode;
	uint32_t victim_tiers;  /* victimTiers: a bit for each enum tenant_tier; those that are not
				   lower than the tenant's own never count. Not given: all lower */
	uint32_t per_minute;    /* evictionsPerMinute, 1 to 60; 6 */
	int64_t cooldown_us;    /* cooldownSeconds, 0 to 3600; 60: between receipts for one cause */
	int64_t observation_us; /* observationSeconds, 10 to 3600; 120 */
	int64_t min_run_us;     /* minVictimRunSeconds, 0 to 86400; 60 */
};

struct preemptible_spec {
	int64_t grace_us; /* gracePeriodSeconds, 0 to 3600; 30: the pod's own where that is less */
	int64_t min_run_us; /* minRunSeconds, 0 to 3600; 60: what runs for less is not taken */
	int64_t checkpoint_credit_us; /* checkpointCreditSeconds, 0 to 86400; 3600: a checkpoint
					 saves at most so much of a pod's run */
};

#define PROTECTION_DEFAULT                                                                \
	((struct protection_spec){PROTECTION_OFF, UINT32_MAX, 6, 60000000LL, 120000000LL, \
				  60000000LL})
#define PREEMPTIBLE_DEFAULT ((struct preemptible_spec){30000000LL, 60000000LL, 3600000000LL})

/* Borrowed, static. */
const char *protection_mode_text(enum protection_mode mode);

#endif
