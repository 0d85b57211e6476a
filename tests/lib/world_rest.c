/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold when nothing changes any more. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "cluster/read.h"
#include "lib/world_api.h"
#include "lib/world_gates.h"
#include "lib/world_recount.h"
#include "lib/world_shell.h"
#include "lib/world_watcher.h"

/* --- what is published */

static const struct quota_status *published(const struct world *w, int space)
{
	int q = world_governing(&w->api, space);

	if (q == WORLD_NONE || !w->api.quotas[q].status.exists)
		return NULL;
	return &w->api.quotas[q].status.s;
}

static void check_use(struct world *w, int space, const struct quota_status *status)
{
	struct world_sum sum;

	world_recount(&w->api, space, w->now_us, &sum);
	assert_int_equal(status->used, sum.used);
	assert_int_equal(status->live, sum.live);
	assert_int_equal(status->pods, sum.pods);
	assert_int_equal(status->gpus_used, sum.gpus);
	assert_int_equal(status->released, sum.released);
	assert_int_equal(status->released_pods, sum.released_pods);
}

static bool has_quota(const struct world *w, int space)
{
	bool some = false;

	for (int q = space * WORLD_QUOTAS; q < (space + 1) * WORLD_QUOTAS; q++)
		some |= w->api.quotas[q].meta.exists;
	return some;
}

static void check_enforced(const struct world *w, int space, int64_t effective, uint64_t owner)
{
	const struct world_rq *rq = &w->api.rqs[space];

	assert_true(rq->meta.exists);
	assert_true(memcmp(rq->hard, rq->status_hard, sizeof(rq->hard)) == 0);
	assert_int_equal(rq->owner, owner);
	assert_false(rq->other_keys);
	for (int r = 0; r < WORLD_RESOURCES; r++)
		assert_true(effective > 0 || rq->hard[r] <= 0);
}

static bool is_accepted(const struct quota_status *status)
{
	const struct condition *accepted = &status->conditions[QUOTA_ACCEPTED];

	return accepted->status == CONDITION_TRUE ||
	       accepted->reason == QUOTA_REASON_CEILING_EXCEEDED ||
	       accepted->reason == QUOTA_REASON_INVALID;
}

/* The API server enforces what was decided, and nothing is left of what was not. */
static void check_gate(struct world *w, int space)
{
	const struct world_rq *rq = &w->api.rqs[space];
	int q = world_governing(&w->api, space), t = world_tenant_of(&w->api, space);
	bool dry = q != WORLD_NONE && !w->api.quotas[q].invalid && w->api.quotas[q].spec.dry_run;
	const struct quota_status *status = published(w, space);
	int64_t effective = status ? status->effective : 0;
	bool nobody = q == WORLD_NONE && t == WORLD_NONE;

	if (nobody && has_quota(w, space))
		return; /* the last one is being deleted: all stays until it is gone */
	assert_int_equal(w->api.spaces[space].managed, !nobody);
	assert_int_equal(w->api.spaces[space].tenant_label, t);
	assert_int_equal(w->api.spaces[space].quotaless,
			 t != WORLD_NONE && !dry && (q == WORLD_NONE || !is_accepted(status)));
	if (dry || nobody) {
		assert_false(rq->meta.exists);
		return;
	}
	check_enforced(w, space, effective,
		       t != WORLD_NONE ? w->api.tenants[t].meta.uid : w->api.quotas[q].meta.uid);
}

static bool is_published(const struct world *w, int profile)
{
	for (int i = 0; i < WORLD_NODES; i++)
		if (w->api.slices[i].meta.exists && w->api.slices[i].profile == profile)
			return true;
	return false;
}

/* A class is told where its name does not tell its row; free only while its driver shows devices.
 */
static bool is_told(const struct world *w, int class)
{
	const struct world_class_text *text = &world_classes[class];

	if (!w->api.classes[class].meta.exists)
		return false;
	if (text->free)
		return is_published(w, WORLD_NODE_NETWORK);
	return text->extended && is_published(w, WORLD_NODE_ACCELERATOR);
}

/* What gave GPUs once is told on, as far as ours remembers. */
static bool may_be_told(const struct world *w, int class)
{
	return w->api.classes[class].meta.exists && world_classes[class].extended &&
	       !world_classes[class].free;
}

static void check_classes(const struct world *w, const struct quota_status *status)
{
	size_t n = 0;

	for (int c = 0; c < WORLD_CLASSES; c++) {
		const struct world_class_text *text = &world_classes[c];

		if (n == status->classes.n ||
		    !str_equal(status->classes.list[n].name, str_from(text->name))) {
			assert_false(is_told(w, c));
			continue;
		}
		assert_true(is_told(w, c) || may_be_told(w, c));
		assert_true(str_equal(status->classes.list[n].resource,
				      text->free ? STR_NONE : world_resource_names[text->row]));
		n++;
	}
	assert_int_equal(n, status->classes.n);
}

static void check_status(struct world *w, int space, const struct quota_status *status)
{
	int t = world_tenant_of(&w->api, space);

	check_use(w, space, status);
	check_classes(w, status);
	assert_true(str_equal(status->tenant, t == WORLD_NONE ? STR_NONE : world_tenant_name(t)));
}

static void check_space(struct world *w, int space)
{
	int q = world_governing(&w->api, space), t = world_tenant_of(&w->api, space);
	const struct quota_status *status;

	if (!w->api.spaces[space].meta.exists || w->api.spaces[space].meta.terminating)
		return;
	world_say("at rest: namespace %d, quota %d, tenant %d, managed %d", space, q, t,
		  w->api.spaces[space].managed);
	check_gate(w, space);
	world_check_ledger(w, space);
	if (q == WORLD_NONE)
		return;
	status = published(w, space);
	if (!status)
		fail_msg("namespace %d at rest has no status", space);
	else
		check_status(w, space, status);
	for (int k = space * WORLD_QUOTAS; k < (space + 1) * WORLD_QUOTAS; k++)
		if (k != q && w->api.quotas[k].meta.exists)
			assert_true(w->api.quotas[k].status.exists &&
				    w->api.quotas[k].status.s.effective == 0 &&
				    w->api.quotas[k].status.s.used == 0);
}

/* --- tenants */

struct total {
	int64_t granted, granted_gpus, lent, borrowed, used;
	bool over;    /* some namespace holds more than it should */
	bool unknown; /* some namespace holds devices that nothing prices: nothing is raised */
	bool leaving; /* some namespace is being deleted: nothing is published there any more */
};

static void add_member(struct world *w, int space, struct total *total)
{
	const struct quota_status *status = published(w, space);
	const struct tenant_grant *grant = &w->shell->grants[space];
	struct world_sum sum;

	world_recount(&w->api, space, w->now_us, &sum);
	total->used += sum.used;
	total->unknown |= sum.unpriced > 0;
	total->granted += grant->granted;
	total->granted_gpus += grant->granted_gpus;
	total->over |= sum.used > grant->granted - grant->lent + grant->borrowed ||
		       sum.gpus > grant->granted_gpus || sum.used > grant->effective;
	if (w->api.spaces[space].meta.terminating) {
		total->over = true; /* what it may hold it has until it is gone */
		total->leaving = true;
		return;
	}
	if (!status)
		return;
	total->lent += status->lent;
	total->borrowed += status->borrowed;
	assert_int_equal(status->granted, grant->granted);
	assert_int_equal(status->effective, w->api.quotas[world_governing(&w->api, space)].invalid
						    ? 0
						    : grant->effective);
}

/* What fits is granted; what is called back is still held by whoever borrowed it. */
static void check_member(struct world *w, int space, const struct total *total)
{
	const struct world_tenant *tenant = &w->api.tenants[world_tenant_of(&w->api, space)];
	const struct tenant_grant *grant = &w->shell->grants[space];
	int q = world_governing(&w->api, space);
	struct world_sum sum;

	world_recount(&w->api, space, w->now_us, &sum);
	if (grant->recalled && sum.unpriced == 0 && !w->api.spaces[space].meta.terminating)
		assert_true(sum.used > grant->effective);
	if (q == WORLD_NONE || w->api.quotas[q].invalid)
		return;
	if (grant->outcome == GRANT_FULL)
		assert_int_equal(grant->granted, w->api.quotas[q].spec.gpu_memory);
	if (grant->granted < w->api.quotas[q].spec.gpu_memory &&
	    tenant->ceiling_gpus == AMOUNT_NONE)
		assert_true(tenant->ceiling != AMOUNT_NONE &&
			    w->api.quotas[q].spec.gpu_memory - grant->granted >
				    tenant->ceiling - total->granted);
	if (!total->over && !total->unknown)
		assert_int_equal(grant->effective, grant->granted - grant->lent + grant->borrowed);
}

static void check_tenant(struct world *w, int t)
{
	const struct world_tenant *tenant = &w->api.tenants[t];
	struct total total = {0};

	if (!tenant->meta.exists || tenant->meta.terminating)
		return;
	for (int s = 0; s < WORLD_SPACES; s++)
		if (world_tenant_of(&w->api, s) == t) {
			assert_int_equal(w->shell->granted_by[s], t);
			add_member(w, s, &total);
		}
	assert_true(tenant->has_status);
	if (!total.leaving) {
		assert_int_equal(total.lent, total.borrowed);
		assert_int_equal(tenant->status.lent, total.lent);
	}
	assert_int_equal(tenant->status.used, total.used);
	assert_int_equal(tenant->status.granted, total.granted);
	assert_int_equal(tenant->status.granted_gpus, total.granted_gpus);
	if (tenant->ceiling != AMOUNT_NONE)
		assert_true(total.granted <= tenant->ceiling);
	for (int s = 0; s < WORLD_SPACES; s++)
		if (world_tenant_of(&w->api, s) == t)
			check_member(w, s, &total);
}

/* --- all of it */

static void check_recount(struct world *w)
{
	struct recount total = {0};
	uint32_t cursor = 0;

	while (!cluster_recount(w->shell->cluster, &cursor, 3, &total))
		;
	assert_int_equal(total.differing, 0);
}

/* Whatever is looked at without need says the same again. */
static void check_quiet(struct world *w)
{
	uint64_t written = w->written;

	world_shell_look_at_all(w);
	while (world_shell_turn(w))
		;
	while (world_shell_write(w, WORLD_ANSWERED))
		;
	assert_int_equal(w->written, written);
}

void world_check_rest(struct world *w)
{
	assert_true(world_all_seen(w));
	for (int s = 0; s < WORLD_SPACES; s++)
		check_space(w, s);
	for (int t = 0; t < WORLD_TENANTS; t++)
		check_tenant(w, t);
	check_recount(w);
	check_quiet(w);
	world_pardon(w);
}
