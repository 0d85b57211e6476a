/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_KINDS_H
#define GPUQOS_CONTROLLER_KINDS_H

#include "api/source_table.h"
#include "api/type.h"
#include "cluster/cluster.h"

/* The kinds of objects that are watched: which part of them, and how they come to the cluster. */

struct kinds_sink {
	struct cluster *cluster;          /* borrowed */
	const struct source_table *table; /* borrowed; NULL: none */
	int64_t now_us;                   /* monotonic; set anew for each object */
	bool makes_room; /* out: it was a TenantQoS for which pods may be evicted; else untouched */
};

typedef int (*kinds_apply_fn)(struct kinds_sink *sink, const void *object, struct arena *arena,
			      struct error *err);
typedef int (*kinds_outline_fn)(struct kinds_sink *sink, const void *object, const char *why,
				struct arena *arena, struct error *err);

struct kinds_watched {
	const struct api_type *type;
	kinds_apply_fn apply;
	/* Of one that cannot be read whole. Of kinds without, what is not known yet stays so:
	 * nobody is charged less for it. */
	kinds_outline_fn outline;
	const char *field_selector, *label_selector;
	/* Where it is not served there is none: CRDs older than the controller, or no DRA. */
	bool optional;
	/* Of another project, whose list may fail (its conversion webhook is down, RBAC is of
	 * before it) when all else can be read: what it tells is then not known. */
	bool foreign;
	bool at_home; /* in the controller's namespace alone */
};

/* cluster_know_resource() of each row. */
int kinds_know_table(const struct source_table *table, struct cluster *cluster, struct error *err);
/* Static. */
const struct kinds_watched *kinds_watched(enum cluster_kind kind);

#endif
