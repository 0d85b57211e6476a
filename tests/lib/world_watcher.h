/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_WORLD_WATCHER_H
#define GPUQOS_TESTS_WORLD_WATCHER_H

#include "cluster/tenants/tenants.h"
#include "lib/world.h"
#include "quota/decide.h"

/*
 * What must hold, whatever happens. A tenant is excused from its ceiling where somebody else than
 * us brought it over (a cut, a namespace that joins, devices that change their size), from then
 * until we have seen that and it is within again. Never excused are the books, and what we write.
 */
void world_watcher_init(struct world *w);
void world_watcher_clear(struct world *w);

/* Whoever moves the ceiling or what counts against it, other than by what is granted. */
void world_excuse(struct world *w, int tenant, const char *why); /* WORLD_NONE: all */
/* Pods got by the gates, or the API server stopped counting some: use alone is excused. @why:
 * borrowed, static. */
void world_excuse_use(struct world *w, int space, const char *why);
/* A pod that ResourceQuota did not count was let in: fails the test where it should have been. */
void world_let_by(struct world *w, int space);
/* To be called for each change of an object of the API server. */
void world_watch_change(struct world *w, enum cluster_kind kind, int index);

/* After each step. */
void world_check_step(struct world *w);
/* The ledger of the cache against the objects that it was told. */
void world_check_ledger(struct world *w, int space);
/* A decision about a tenant, and about a namespace. */
void world_check_grants(struct world *w, const struct tenant_view *view,
			const struct tenant_grant *grants, const struct tenant_sums *sums);
void world_check_plan(struct world *w, int space, const struct quota_view *view,
		      const struct quota_plan *plan);
/* Uses that are within the gates again are excused no more. */
void world_pardon(struct world *w);
/* Nothing changes any more, and all that was to be done is done. */
void world_check_rest(struct world *w);

#endif
