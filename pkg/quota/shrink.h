/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_QUOTA_SHRINK_H
#define GPUQOS_QUOTA_SHRINK_H

#include <stddef.h>

#include "model/quota.h"

/*
 * Which pod goes next where more is held than is allowed (spec.onShrink). Pure: whether any has to
 * go, and when, is quota_decide()'s.
 */

/*
 * One pod that holds GPU memory of the namespace, or a DRA claim that several pods share: nobody
 * evicts a claim, so that has `blocked` set, and its pods hold what is theirs alone. Pods that are
 * stuck terminating and released are not among them. All borrowed.
 */
struct quota_holder {
	struct str name, uid;
	struct str owner_kind, owner_name; /* its workload; empty: itself */
	int64_t charge;                    /* bytes, >= 0 */
	int64_t gpus;                      /* whole cards among it */
	/* Units by resource, each once, in any order; what spec.resources caps at least. */
	const struct resource_amount *units;
	size_t n_units;
	int64_t created_us; /* real, full seconds */
	bool terminating;
	const char *blocked; /* why the API server refused lately to evict it, or NULL */
};

enum quota_excess_kind {
	EXCESS_NONE,
	EXCESS_MEMORY,         /* bytes */
	EXCESS_GPUS,           /* whole cards */
	EXCESS_RESOURCE,       /* units of `name`, which spec.resources caps */
	EXCESS_PRODUCT_MEMORY, /* bytes on `name`, which spec.products caps */
	EXCESS_PRODUCT_GPUS    /* whole cards of `name` */
};

/* What there is too much of. */
struct quota_excess {
	enum quota_excess_kind kind;
	int64_t held, allowed; /* held > allowed, but for NONE */
	struct str name;       /* borrowed from the spec */
};

/* Holders that would have gone before another, but that the API server keeps. */
struct quota_blocked {
	const struct quota_holder *first; /* NULL: none */
	size_t n;
};

/*
 * The youngest of those that hold some of what there is too much of, ties by name; those that are
 * blocked are passed over and told in @ret_blocked. NULL where nobody is left, and while any holder
 * is terminating: one goes at a time, and what it frees is counted before the next is chosen.
 *
 * Products' caps evict nobody: the API server bounds no product, so that more of one is no cut.
 */
const struct quota_holder *quota_shrink_next(const struct quota_excess *excess,
					     const struct quota_holder *holders, size_t n_holders,
					     struct quota_blocked *ret_blocked);

#endif
