/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_QUOTA_VIEW_H
#define GPUQOS_QUOTA_VIEW_H

#include "base/str.h"
#include "model/feedback.h"
#include "model/quota.h"
#include "quota/price.h"
#include "quota/shrink.h"
#include "quota/tenant.h"

/*
 * What a decision about a namespace is made from (quota/decide.h): what people asked for, what is
 * used, what its tenant gives, and what the API server shows of our objects. Everything in it is
 * borrowed from whoever gathered it.
 */

/* One row of the price list, with what the namespace uses of it. */
struct quota_use {
	uint32_t resource, product; /* handles as in the price list; of a bound pod: its node's */
	int64_t count;              /* units of pods that are not finished */
	int64_t count_live;         /* of those, bound */
	int64_t bytes;              /* charged under this row */
};

/* What the namespace's tenant gives to it (quota/tenant.h). */
struct quota_share {
	struct str tenant;         /* name of the TenantQoS */
	struct tenant_grant grant; /* zeroed while the tenant has not decided */
	struct throttle throttle;  /* why some of it is withheld; zeroed likewise */
	bool any_gpus; /* its ceiling does not bound whole cards: the grant's do not count */
};

/*
 * Our ResourceQuota in the namespace, as observed. Amounts: of keys that bound a resource, by the
 * names of model/resource.h, sorted by name.
 */
struct resource_quota_view {
	bool exists, ours; /* ours: of the namespace's TenantQoS, else of its GpuMemoryQuota */
	const struct resource_amount *hard; /* spec.hard */
	size_t n_hard;
	const struct resource_amount *status_hard;
	size_t n_status_hard;
	bool other_keys;            /* spec.hard has keys that are no GPU resources */
	bool scoped;                /* it counts only some of the pods; that never changes */
	struct str foreign_manager; /* that last owned a field of its spec; empty for none */
	int64_t differs_since_us; /* monotonic: since when status.hard is not spec.hard; 0: it is */
	bool unanswered; /* what came of our last write is not known: it is written again */
};

struct limit_range_view {
	bool exists, ours;
	bool owned; /* some object controls it: ours, now or formerly. Else it is somebody else's,
		       and stays where the spec asks for none */
	const struct resource_amount *defaults; /* sorted by name */
	size_t n_defaults;
	bool other_limits;
	struct str foreign_manager;
};

struct quota_view {
	const struct quota_spec *spec; /* NULL for quota_decide_bare() alone */
	int64_t generation;
	bool terminating;     /* the quota is being deleted: it governs no more */
	bool duplicate;       /* another quota governs the namespace */
	bool managed;         /* it has our label: so objects of our name in it are ours */
	bool quotaless;       /* it has the label that says that no quota is in force */
	struct str governing; /* the name of the quota that governs; empty when none does */
	const char *invalid;  /* why the spec cannot be used, or NULL */
	const struct quota_status *status; /* as last seen on the server, NULL: there is none */
	bool unanswered; /* what came of our last write of it is not known: it is written again */

	struct price_list prices;
	/* Of resources and products; terminated, borrowed. */
	const char *(*name)(const void *context, uint32_t handle);
	const void *name_context;
	const struct quota_use *uses; /* sorted by (resource, product), each in the price list */
	size_t n_uses;
	int64_t used, live;    /* bytes, by the ledger */
	int64_t unpriced;      /* units in use that nothing prices */
	int64_t pods;          /* that are not finished */
	int64_t recount_drift; /* bytes by which the last recount corrected the ledger; 0: none */
	int64_t assumed; /* bytes of used at the dearest there is, since the node does not tell */
	struct quota_classes classes;
	struct str disagreement; /* between sources about devices in use, a sentence; empty: none */
	int64_t released, released_pods;    /* stuck terminating and not among used */
	const struct quota_share *share;    /* NULL: the namespace belongs to no tenant */
	const struct quota_holder *holders; /* NULL: not asked for yet, see needs_holders */
	size_t n_holders;

	struct resource_quota_view resource_quota;
	struct limit_range_view limit_range;
	int64_t now_us, now_real_us;
};

#endif
