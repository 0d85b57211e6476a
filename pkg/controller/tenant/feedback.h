/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_TENANT_FEEDBACK_H
#define GPUQOS_CONTROLLER_TENANT_FEEDBACK_H

#include "base/arena.h"
#include "cluster/tenants/tenants.h"
#include "cluster/tenants/users.h"
#include "feedback/ladder.h"
#include "quota/tenant_plan.h"

/*
 * How tenants use what they have: gathers what is seen of one, and takes the next step of its
 * ladder. What was seen before is remembered here and lost on restart; where the ladder stands is
 * in status.
 *
 * Seen are: of each pod that agents tell of, what its own processes use; how many pods' cards do
 * not lie as is required; how many containers of pods with GPUs crash over and over; and how many
 * pods were refused (controller/tenant/refusals.h).
 *
 * Whether GPUs are idle is looked at also where feedback is Off: four times in as long as that
 * takes, TENANT_IDLE_LOOK_US apart at most.
 *
 * It is looked six times in the grace period, TENANT_LOOK_US apart at most.
 */
#define TENANT_LOOK_US      (10 * USEC_PER_SEC)
#define TENANT_IDLE_LOOK_US (60 * USEC_PER_SEC)

struct tenant_watches {
	struct tenant_watch *list; /* owned, by tenant handle */
	size_t capacity;
};

void tenant_watches_clear(struct tenant_watches *watches);

/* Who is looked at. All borrowed. */
struct tenant_seen {
	const struct cluster *cluster;
	uint32_t tenant;
	const struct tenant_lookup *lookup; /* of the tenant, which exists */
	const struct feedback_pace *pace;
	bool refusals; /* those of its pods are seen */
	int64_t now_us, now_real_us;
};

struct tenant_feedback {
	struct throttle throttle;
	uint32_t unseen;               /* FEEDBACK_BIT()s of signals that are unknown */
	struct str offender_namespace; /* of a pod that is proven to be the one; empty: none is */
	struct str offender;
	struct cluster_blame blame;
	struct tenant_idle idle;
	int64_t look_again_us; /* monotonic; TIME_NEVER */
};

/* -1 with LIMIT when the arena is full. */
int tenant_feedback_step(struct tenant_watches *watches, const struct tenant_seen *seen,
			 struct arena *arena, struct tenant_feedback *ret_feedback,
			 struct error *err);

#endif
