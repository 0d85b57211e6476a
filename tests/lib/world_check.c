/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold at every step: the ceiling, the books, the ledger. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cluster/read.h"
#include "lib/world_api.h"
#include "lib/world_gates.h"
#include "lib/world_recount.h"
#include "lib/world_shell.h"
#include "lib/world_watcher.h"

/* The last of what is said. */
#define world_fail(...)                 \
	do {                            \
		world_say(__VA_ARGS__); \
		fail();                 \
	} while (0)

struct world_watcher {
	uint64_t excused[WORLD_TENANTS]; /* since the world's counter was so; 0: not */
	bool decided[WORLD_TENANTS];     /* knowing of what excuses it */
	const char *why[WORLD_TENANTS];
	const char *use_why[WORLD_SPACES]; /* NULL: its use is what the gates allowed */
	int owners[WORLD_SPACES];
	struct world_tenant tenants[WORLD_TENANTS]; /* as they were */
	struct world_market market;
	bool changed, use_changed; /* since the last step */
	unsigned int steps;
};

/* --- excuses */

void world_watcher_init(struct world *w)
{
	w->watcher = mem_alloc(sizeof(*w->watcher));
	memset(w->watcher, 0, sizeof(*w->watcher));
	for (int s = 0; s < WORLD_SPACES; s++)
		w->watcher->owners[s] = WORLD_NONE;
}

void world_watcher_clear(struct world *w)
{
	mem_free(w->watcher);
}

void world_excuse(struct world *w, int tenant, const char *why)
{
	for (int t = 0; t < WORLD_TENANTS; t++) {
		if (tenant != WORLD_NONE && tenant != t)
			continue;
		w->watcher->excused[t] = w->counter + 1;
		w->watcher->decided[t] = false;
		w->watcher->why[t] = why;
	}
}

void world_excuse_use(struct world *w, int space, const char *why)
{
	w->watcher->use_why[space] = why;
}

/*
 * Of the one kind that there is, wherever a quota prices it or is known not to be there. What is
 * left is the moment after the last quota went.
 */
void world_let_by(struct world *w, int space)
{
	bool governed = w->api.spaces[space].quotaless;

	for (int q = space * WORLD_QUOTAS; q < (space + 1) * WORLD_QUOTAS; q++)
		governed |= w->api.quotas[q].meta.exists && w->params[q].meta.exists &&
			    w->api.quotas[q].meta.uid == w->params[q].meta.uid &&
			    world_policy_governs(&w->params[q]);
	if (w->only_profile != WORLD_NONE && w->api.spaces[space].managed && governed &&
	    !w->watcher->use_why[space])
		world_fail("let in without being counted in namespace %d", space);
	world_excuse_use(w, space, "a pod that nothing counted");
}

static void watch_owners(struct world *w)
{
	for (int s = 0; s < WORLD_SPACES; s++) {
		int owner = world_tenant_of(&w->api, s);

		if (owner == w->watcher->owners[s])
			continue;
		if (owner != WORLD_NONE)
			world_excuse(w, owner, "a namespace joined");
		world_excuse_use(w, s, "its tenant changed");
		w->watcher->owners[s] = owner;
	}
}

static bool is_lower(int64_t a, int64_t b)
{
	return a != AMOUNT_NONE && (b == AMOUNT_NONE || a < b);
}

static void watch_tenant(struct world *w, int t)
{
	struct world_tenant *was = &w->watcher->tenants[t];
	const struct world_tenant *is = &w->api.tenants[t];

	if (!was->meta.exists || was->meta.uid != is->meta.uid ||
	    is_lower(is->ceiling, was->ceiling) || is_lower(is->ceiling_gpus, was->ceiling_gpus))
		world_excuse(w, t, "its ceiling was cut");
	*was = *is;
	watch_owners(w);
}

static bool is_same_market(const struct world_market *a, const struct world_market *b)
{
	if (a->n != b->n)
		return false;
	for (int i = 0; i < a->n; i++) {
		const struct world_lot *left = &a->lots[i], *right = &b->lots[i];

		if (left->resource != right->resource || left->product != right->product ||
		    left->unit != right->unit || left->min != right->min ||
		    left->node != right->node)
			return false;
	}
	return true;
}

static void watch_market(struct world *w)
{
	struct world_market market;

	world_market(&w->api, &market);
	if (is_same_market(&market, &w->watcher->market))
		return;
	w->watcher->market = market;
	if (w->only_profile != WORLD_NONE)
		return; /* a unit is worth what it was */
	world_excuse(w, WORLD_NONE, "devices changed");
	for (int s = 0; s < WORLD_SPACES; s++)
		world_excuse_use(w, s, "devices changed");
}

void world_watch_change(struct world *w, enum cluster_kind kind, int index)
{
	w->watcher->changed = true;
	switch (kind) {
	case CLUSTER_NODES:
	case CLUSTER_SLICES:
	case CLUSTER_CLASSES:
		watch_market(w);
		break;
	case CLUSTER_TENANTS:
		watch_tenant(w, index);
		break;
	case CLUSTER_NAMESPACES:
		watch_owners(w);
		break;
	case CLUSTER_QUOTAS:
		if (w->api.quotas[index].spec.dry_run)
			world_excuse_use(w, index / WORLD_QUOTAS, "DryRun");
		break;
	case CLUSTER_PODS:
	case CLUSTER_CLAIMS:
		w->watcher->use_changed = true;
		break;
	case CLUSTER_RESOURCE_QUOTAS:
	case CLUSTER_LIMIT_RANGES:
	case CLUSTER_BINDINGS:
	case CLUSTER_AGENTS:
	case CLUSTER_GPU_NODES:
	case CLUSTER_PUBLISHED:
	case CLUSTER_ZONES:
	case CLUSTER_BUDGETS:
	case CLUSTER_JOBS:
	case CLUSTER_VOLUME_CLAIMS:
	case CLUSTER_VOLUMES:
	case CLUSTER_STORAGE_CLASSES:
	case CLUSTER_CSI_NODES:
	case CLUSTER_CSI_DRIVERS:
	case CLUSTER_KIND_COUNT:
		break;
	}
}

/* --- the ceiling */

struct total {
	struct world_held enforced;
	int64_t used;
	const char *use_why; /* of some namespace; NULL: none is excused */
	bool in_flight;
};

static struct total add_up(struct world *w, int t)
{
	struct total total = {0};

	for (int s = 0; s < WORLD_SPACES; s++) {
		struct world_held held;
		struct world_sum sum;

		if (w->watcher->owners[s] != t)
			continue;
		held = world_enforced(&w->api, &w->watcher->market, s);
		total.enforced.bytes += held.bytes;
		total.enforced.gpus += held.gpus;
		total.in_flight |= w->shell->spaces[s].set.n > 0;
		if (w->watcher->use_why[s])
			total.use_why = w->watcher->use_why[s];
		if (w->only_profile == WORLD_NONE ||
		    (!w->watcher->use_changed && !w->watcher->excused[t]))
			continue;
		world_recount(&w->api, s, w->now_us, &sum);
		total.used += sum.used + sum.released;
	}
	return total;
}

static bool is_over(const struct world_tenant *tenant, const struct total *total)
{
	return (tenant->ceiling != AMOUNT_NONE && total->enforced.bytes > tenant->ceiling) ||
	       (tenant->ceiling_gpus != AMOUNT_NONE && total->enforced.gpus > tenant->ceiling_gpus);
}

/* What was let in while more was allowed is there until it goes. */
static bool holds_too_much(const struct world_tenant *tenant, const struct total *total)
{
	return tenant->ceiling != AMOUNT_NONE && total->used > tenant->ceiling;
}

static void check_tenant(struct world *w, int t)
{
	struct world_watcher *watcher = w->watcher;
	const struct world_tenant *tenant = &w->api.tenants[t];
	struct total total;

	if (!tenant->meta.exists || tenant->meta.terminating)
		return;
	total = add_up(w, t);
	if (watcher->excused[t] && watcher->decided[t] && !total.in_flight &&
	    !is_over(tenant, &total) && !holds_too_much(tenant, &total))
		watcher->excused[t] = 0;
	w->ceilings++;
	if (watcher->excused[t]) {
		w->ceilings_excused++;
		return;
	}
	if (is_over(tenant, &total))
		world_fail("tenant %d may hold %s and %d cards, its ceiling is %s and %d", t,
			   amount_text(total.enforced.bytes).text, (int)total.enforced.gpus,
			   amount_text(tenant->ceiling).text, (int)tenant->ceiling_gpus);
	if (!total.use_why && holds_too_much(tenant, &total))
		world_fail("tenant %d holds %s of one kind, its ceiling is %s", t,
			   amount_text(total.used).text, amount_text(tenant->ceiling).text);
}

void world_check_step(struct world *w)
{
	struct world_watcher *watcher = w->watcher;

	if (watcher->changed || watcher->steps % 16 == 0)
		for (int t = 0; t < WORLD_TENANTS; t++)
			check_tenant(w, t);
	watcher->changed = watcher->use_changed = false;
	watcher->steps++;
}

/* --- the ledger */

void world_check_ledger(struct world *w, int space)
{
	struct cluster *cluster = w->shell->cluster;
	struct namespace_view view = {0};
	struct world_sum sum;
	uint32_t handle = cluster_namespace_find(cluster, world_space_name(space));

	world_recount(&w->seen, space, w->now_us, &sum);
	if (handle != UINT32_MAX)
		cluster_namespace_view(cluster, handle, &view);
	if (view.used != sum.used || view.live != sum.live || view.unpriced != sum.unpriced ||
	    view.pods != sum.pods || view.released != sum.released) {
		world_fail(
			"namespace %d: the ledger says used %lld live %lld unpriced %lld pods %d "
			"released %lld, the objects say %lld %lld %lld %d %lld",
			space, (long long)view.used, (long long)view.live, (long long)view.unpriced,
			(int)view.pods, (long long)view.released, (long long)sum.used,
			(long long)sum.live, (long long)sum.unpriced, sum.pods,
			(long long)sum.released);
	}
}

/* --- decisions */

static int64_t positive(int64_t amount)
{
	return MAX(amount, 0);
}

static void check_grant(const struct tenant_member *m, const struct tenant_grant *g, bool cut)
{
	assert_true(g->granted >= 0 && g->granted_gpus >= 0 && g->borrowed >= 0 && g->lent >= 0);
	assert_true(g->effective >= 0 && g->effective_gpus >= 0);
	assert_true(g->missing >= 0 && g->missing_gpus >= 0);
	assert_true(g->borrowed == 0 || g->lent == 0);
	assert_true(g->granted <= (m->asks ? m->wants : 0));
	assert_true(g->effective <= MAX(g->granted - g->lent + g->borrowed, 0));
	assert_true(g->effective_gpus <= g->granted_gpus);
	if (!cut && m->asks)
		assert_true(g->granted >= MIN(m->granted, m->wants));
}

void world_check_grants(struct world *w, const struct tenant_view *view,
			const struct tenant_grant *grants, const struct tenant_sums *sums)
{
	int64_t lent = 0, borrowed = 0, granted = 0, before = 0, held = 0, after = 0;

	for (size_t i = 0; i < view->n_members; i++) {
		const struct tenant_member *m = &view->members[i];
		int64_t holds = MAX(m->enforced, m->used);

		before += MIN(positive(m->granted), m->asks ? m->wants : 0);
		lent += grants[i].lent;
		borrowed += grants[i].borrowed;
		granted += grants[i].granted;
		held += holds;
		after += MAX(holds, grants[i].effective);
	}
	for (size_t i = 0; i < view->n_members; i++)
		check_grant(&view->members[i], &grants[i],
			    view->ceiling != AMOUNT_NONE && before > view->ceiling);
	assert_int_equal(lent, borrowed);
	assert_int_equal(sums->lent, lent);
	assert_int_equal(sums->granted, granted);
	if (view->ceiling != AMOUNT_NONE)
		assert_true(granted <= view->ceiling && after <= MAX(held, view->ceiling));
	for (int t = 0; t < WORLD_TENANTS; t++)
		if (view->n_members > 0 &&
		    world_tenant_of(&w->seen, world_number(view->members[0].name)) == t &&
		    w->watcher->excused[t] && world_seen_to(w, w->watcher->excused[t]))
			w->watcher->decided[t] = true;
}

static void check_hard(struct world *w, const struct quota_plan *plan, int64_t effective)
{
	struct world_market market;

	world_market(&w->seen, &market);
	for (size_t i = 0; i < plan->n_hard; i++) {
		int r = world_resource_of(plan->hard[i].resource);
		int64_t unit = world_smallest(&market, r);

		assert_true(r != WORLD_NONE && plan->hard[i].count >= 0);
		if (unit != AMOUNT_UNKNOWN)
			assert_true(plan->hard[i].count * unit <= effective);
	}
}

static bool is_offered(const struct world_market *market, int resource)
{
	for (int i = 0; i < market->n; i++)
		if ((int)market->lots[i].resource == resource)
			return true;
	return false;
}

/* A resource that nobody offers now may have a row all the same: once somebody did. */
static void check_rows(struct world *w, int space, const struct quota_status *status)
{
	int64_t units[WORLD_RESOURCES] = {0};
	struct world_market market;
	struct world_sum sum;

	world_market(&w->seen, &market);
	world_recount(&w->seen, space, w->now_us, &sum);
	assert_int_equal(status->gpus_used, sum.gpus);
	for (size_t i = 0; i < status->n_rows; i++) {
		assert_true(status->rows[i].used >= 0 && status->rows[i].hard >= 0);
		units[world_resource_of(status->rows[i].resource)] += status->rows[i].used;
	}
	for (int r = 0; r < WORLD_RESOURCES; r++)
		if (is_offered(&market, r))
			assert_int_equal(units[r], sum.units[r]);
}

/* What somebody else owns stays, and nobody is sent away. */
static void check_dry(const struct quota_view *view, const struct quota_plan *plan)
{
	assert_false(plan->write_resource_quota || plan->replace_resource_quota);
	assert_false(plan->remake_resource_quota || plan->write_limit_range);
	assert_true(!plan->delete_resource_quota || view->resource_quota.ours || view->managed);
	assert_null(plan->evict);
}

static void check_amounts(const struct quota_status *status)
{
	assert_true(status->effective >= 0 && status->used >= 0 && status->live >= 0);
	assert_true(status->granted >= 0 && status->lent >= 0 && status->borrowed >= 0);
}

/* After a restart all stays as it was published until the tenant has decided. */
static bool is_kept(const struct quota_view *view)
{
	return view->share && view->share->grant.outcome == GRANT_FULL &&
	       view->share->grant.granted == 0;
}

void world_check_plan(struct world *w, int space, const struct quota_view *view,
		      const struct quota_plan *plan)
{
	check_amounts(&plan->status);
	if (!plan->governs)
		return;
	if (view->spec && view->spec->dry_run && !view->invalid)
		check_dry(view, plan);
	else if (!is_kept(view))
		check_hard(w, plan, view->spec ? plan->status.effective : 0);
	if (view->spec && !is_kept(view))
		check_rows(w, space, &plan->status);
}

/* --- at rest */

static bool is_counted(const struct world *w, int space)
{
	const struct world_rq *rq = &w->api.rqs[space];
	int64_t used[WORLD_RESOURCES];

	world_count_used(&w->api, space, 0, used);
	if (!rq->meta.exists)
		return false;
	for (int r = 0; r < WORLD_RESOURCES; r++)
		if (used[r] > 0 &&
		    (rq->hard[r] < 0 || rq->used[r] < used[r] || used[r] > rq->hard[r]))
			return false;
	return true;
}

/* What is within the gates again, and counted by them, is excused no more. */
void world_pardon(struct world *w)
{
	for (int s = 0; s < WORLD_SPACES; s++)
		if (is_counted(w, s))
			w->watcher->use_why[s] = NULL;
}
