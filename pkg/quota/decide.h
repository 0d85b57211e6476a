/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_QUOTA_DECIDE_H
#define GPUQOS_QUOTA_DECIDE_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "quota/dry_run.h"
#include "quota/view.h"

/*
 * What a namespace's GpuMemoryQuota means now: plan = decide(view). Pure: the caller gathers the
 * view from the cluster cache and turns the plan into writes.
 */

/* How long ResourceQuota status may lag behind before Ready says why that is odd. */
#define QUOTA_STATUS_STALE_US (60 * USEC_PER_SEC)
/* Who else wrote stays named in Drifted for so long after it was put right: people look late. */
#define QUOTA_DRIFT_SHOWN_US (5 * USEC_PER_MIN)

struct quota_plan {
	struct quota_status status;
	bool governs; /* decides the namespace's objects; else only status is to be written */
	/* Admission prices pods by the status that the server has, and will by this one. Where not,
	 * a tenant's namespace is labelled so, and whatever asks for GPUs is refused there. */
	bool priced;
	/* ResourceQuota spec.hard as it should be: names of model/resource.h, sorted. */
	const struct resource_amount *hard;
	size_t n_hard;
	bool write_resource_quota;   /* it is not so */
	bool replace_resource_quota; /* and holds more, which an apply would leave */
	bool remake_resource_quota;  /* and has to go first: no write changes its scopes */
	const struct resource_amount *defaults; /* of the LimitRange; none: it should not exist */
	size_t n_defaults;
	bool write_limit_range, delete_limit_range;
	bool delete_resource_quota; /* DryRun: it is ours and should not be there */
	bool needs_holders; /* decide again with the view's holders (an empty list is not NULL):
			       they are asked for only where they matter */
	/* The next to go, of the view's holders, or NULL. The caller sees to it that no other is
	 * evicted before the watch shows this one terminating. */
	const struct quota_holder *evict;
	bool write_status;     /* status differs from what the server has */
	bool status_urgent;    /* in more than use: not to be held back by the once-a-second rule */
	int64_t look_again_us; /* monotonic: time alone may change the verdict then; TIME_NEVER */
};

/*
 * Effective: what the tenant's grant says, without a tenant the spec. While the tenant has not
 * decided, nothing is allowed; after a restart, where status names the same tenant, all stays as it
 * is and nothing is written. A quota that the ceiling refuses governs with what it was granted
 * before. The oldest quota governs also when it is invalid, with an effective of 0: a spec that
 * cannot be used sets nobody free. Duplicates and terminating quotas have an effective of 0, no use
 * and no rows, so that sums over quotas count nothing twice.
 *
 * Hard values: for each resource that some node offers, floor(effective / smallest unit), at most
 * its cap; `gpus`, the spec's or the grant's, bounds a resource all of whose offers are whole
 * cards, a product's cap one all of whose offers are of that product. A resource that nothing
 * prices gets 0. nvidia.com/gpumem has its value twice, under RESOURCE_HAMI_LIMIT too; what
 * ResourceQuota has no key for is left out.
 *
 * Eviction: only where the spec, the ceiling or what is borrowed was cut below what is held, at
 * once (Evict) or shrink_deadline_us after (Drain). Exceeded says by its reason which it was, and
 * stays with it until all is within: status alone keeps it over a restart. Its transition time is
 * that of the cut also where it was True before.
 *
 * All memory of the plan is in @arena; -1 with LIMIT when that is full.
 */
int quota_decide(const struct quota_view *view, struct arena *arena, struct quota_plan *ret_plan,
		 struct error *err);

/* For a namespace of a tenant in which no quota governs: no GPU at all. There is no status. */
int quota_decide_bare(const struct quota_view *view, struct arena *arena,
		      struct quota_plan *ret_plan, struct error *err);

/* Whether the server would show the same status: everything but transition times. */
bool quota_status_equal(const struct quota_status *a, const struct quota_status *b);

#endif
