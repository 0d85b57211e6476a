/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_QUOTA_TURN_H
#define GPUQOS_CONTROLLER_QUOTA_TURN_H

#include "base/table.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "controller/quota/reconcile.h"

/*
 * How the reconcile of a namespace is made:
 *   reconcile.c  gather, decide, in which order what is written
 *   objects.c    the bodies: ResourceQuota, LimitRange, labels, status
 *   evict.c      an eviction and its receipt
 */
struct quota_turn {
	struct quota_reconciler *reconciler;
	uint32_t handle; /* of the namespace, as is: */
	struct namespace_view namespace;
	uint32_t tenant; /* TABLE_NONE: it belongs to none */
	struct tenant_summary tenant_summary;
	struct work_set *set;
	int64_t now_us;
};

void quota_turn_look_again(struct quota_turn *turn, int64_t at_us);
bool quota_turn_expects(struct quota_turn *turn, const struct api_type *type,
			struct api_identity object);

/* Who owns what is written: the TenantQoS, else the GpuMemoryQuota. */
int quota_write_resource_quota(struct quota_turn *turn, const struct quota_identity *identity,
			       const struct quota_plan *plan, struct error *err);
int quota_write_limit_range(struct quota_turn *turn, const struct quota_identity *identity,
			    const struct quota_plan *plan, struct error *err);
/* All three labels, in one patch; @priced as in struct quota_plan. */
int quota_write_labels(struct quota_turn *turn, bool priced, struct error *err);
/* Nobody manages the namespace any more: what was written is taken away, the labels last. */
int quota_write_nothing(struct quota_turn *turn, struct error *err);
int quota_write_status(struct quota_turn *turn, const struct quota_identity *identity,
		       const struct quota_status *before, const struct quota_plan *plan,
		       struct error *err);

/* The receipt, an Event on the quota, comes first: without it nothing is evicted. Nor is it while
 * as many evictions are under way as may be (plan/limits.h). */
int quota_write_eviction(struct quota_turn *turn, const struct quota_identity *identity,
			 const struct quota_spec *spec, const struct quota_plan *plan,
			 struct error *err);

#endif
