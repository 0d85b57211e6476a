/* SPDX-License-Identifier: Apache-2.0 */
/* Gather, decide, write: see the header for the order of writes. */
#include "controller/quota/reconcile.h"

#include "base/checked.h"
#include "cluster/ledger/holders.h"
#include "controller/evict_write.h"
#include "controller/quota/turn.h"
#include "controller/writes.h"

/* What the one governing quota owns, deletions, an eviction and its receipt; each of the others
 * has a status. */
#define MOST_WRITES (LIMIT_WRITES_PER_RECONCILE - 8)

void quota_reconciler_init(struct quota_reconciler *reconciler, struct metrics *metrics)
{
	arena_init(&reconciler->arena, LIMIT_DECODE_ARENA);
	reconciler->evictions = evict_metric(metrics);
}

void quota_reconciler_clear(struct quota_reconciler *reconciler)
{
	moments_clear(&reconciler->status_written);
	arena_clear(&reconciler->arena);
	*reconciler = (struct quota_reconciler){0};
}

bool quota_turn_expects(struct quota_turn *turn, const struct api_type *type,
			struct api_identity object)
{
	return caches_pending(turn->reconciler->caches, type, object, turn->now_us);
}

void quota_turn_look_again(struct quota_turn *turn, int64_t at_us)
{
	turn->set->look_again_us = MIN(turn->set->look_again_us, at_us);
}

static bool own_writes_unseen(struct quota_turn *turn)
{
	struct str namespace = turn->namespace.name;
	struct api_identity owned = {namespace, STR(OWNED_OBJECT_NAME)};

	return quota_turn_expects(turn, &api_resource_quotas, owned) ||
	       quota_turn_expects(turn, &api_limit_ranges, owned) ||
	       quota_turn_expects(turn, &api_namespaces,
				  (struct api_identity){STR_NONE, namespace});
}

static int write_gates(struct quota_turn *turn, const struct quota_identity *identity,
		       const struct quota_plan *plan, struct error *err)
{
	if (quota_write_labels(turn, plan->priced, err) < 0 ||
	    quota_write_resource_quota(turn, identity, plan, err) < 0)
		return -1;
	return quota_write_limit_range(turn, identity, plan, err);
}

static void set_times(const struct quota_turn *turn, struct quota_view *view)
{
	view->now_us = turn->now_us;
	view->now_real_us = clock_real(loop_clock(turn->reconciler->loop));
}

static int gather(struct quota_turn *turn, uint32_t index, struct quota_lookup *ret_quota,
		  struct error *err)
{
	struct quota_reconciler *reconciler = turn->reconciler;
	uint32_t quota = cluster_quota_nth(reconciler->cluster, turn->handle, index);

	if (cluster_quota_view(reconciler->cluster, quota, &reconciler->arena, ret_quota, err) < 0)
		return -1;
	set_times(turn, &ret_quota->view);
	return 0;
}

/* The holders are many, and few decisions ask for them. */
static int decide_with_holders(struct quota_turn *turn, struct quota_view *view,
			       struct quota_plan *plan, struct error *err)
{
	struct quota_reconciler *reconciler = turn->reconciler;
	struct holders holders;

	if (!cluster_holders(reconciler->cluster, turn->handle, turn->now_us, &reconciler->arena,
			     &holders))
		return error_set(err, ERROR_LIMIT, "more pods than can be looked at");
	quota_turn_look_again(turn, holders.look_again_us);
	view->holders = holders.list;
	view->n_holders = holders.n;
	return quota_decide(view, &reconciler->arena, plan, err);
}

static int decide(struct quota_turn *turn, struct quota_view *view, struct quota_plan *ret_plan,
		  struct error *err)
{
	if (quota_decide(view, &turn->reconciler->arena, ret_plan, err) < 0)
		return -1;
	return ret_plan->needs_holders ? decide_with_holders(turn, view, ret_plan, err) : 0;
}

static int reconcile_quota(struct quota_turn *turn, uint32_t index, bool *ret_governs,
			   struct error *err)
{
	struct quota_lookup quota;
	struct quota_plan plan;

	arena_reset(&turn->reconciler->arena);
	if (gather(turn, index, &quota, err) < 0 || decide(turn, &quota.view, &plan, err) < 0)
		return -1;
	quota_turn_look_again(turn, plan.look_again_us);
	*ret_governs = plan.governs;
	if (plan.governs && write_gates(turn, &quota.identity, &plan, err) < 0)
		return -1;
	if (quota_write_status(turn, &quota.identity, quota.view.status, &plan, err) < 0)
		return -1;
	return quota_write_eviction(turn, &quota.identity, quota.view.spec, &plan, err);
}

/* A tenant's namespace without a quota that governs: it may hold nothing. */
static int reconcile_bare(struct quota_turn *turn, struct error *err)
{
	struct quota_reconciler *reconciler = turn->reconciler;
	struct quota_lookup bare;
	struct quota_plan plan;

	arena_reset(&reconciler->arena);
	if (cluster_bare_view(reconciler->cluster, turn->handle, &reconciler->arena, &bare, err) <
	    0)
		return -1;
	set_times(turn, &bare.view);
	if (quota_decide_bare(&bare.view, &reconciler->arena, &plan, err) < 0)
		return -1;
	quota_turn_look_again(turn, plan.look_again_us);
	return write_gates(turn, &bare.identity, &plan, err);
}

static int reconcile_quotas(struct quota_turn *turn, struct error *err)
{
	bool governed = false;

	for (uint32_t i = 0; i < turn->namespace.n_quotas && turn->set->n_writes <= MOST_WRITES;
	     i++) {
		bool governs = false;

		if (reconcile_quota(turn, i, &governs, err) < 0)
			return -1;
		governed = governed || governs;
	}
	if (!governed && turn->tenant != TABLE_NONE)
		return reconcile_bare(turn, err);
	return 0;
}

/* releaseOn: Terminal looks at the clock, and changes the sums that the view then shows. */
static void refresh(struct quota_turn *turn)
{
	struct quota_reconciler *reconciler = turn->reconciler;
	int64_t now_real_us = clock_real(loop_clock(reconciler->loop));
	int64_t next_us;

	cluster_refresh(reconciler->cluster, turn->handle);
	cluster_release(reconciler->cluster, turn->handle, now_real_us, &next_us);
	if (next_us != TIME_NEVER)
		quota_turn_look_again(turn, saturating_add(turn->now_us, next_us - now_real_us));
}

static void look_at_tenant(struct quota_turn *turn)
{
	const struct cluster *cluster = turn->reconciler->cluster;

	turn->tenant = cluster_tenant_of(cluster, turn->handle);
	if (turn->tenant != TABLE_NONE)
		cluster_tenant_summary(cluster, turn->tenant, &turn->tenant_summary);
}

int quota_reconcile(void *context, uint32_t namespace, struct work_set *set, struct error *err)
{
	struct quota_reconciler *reconciler = context;
	struct quota_turn turn = {.reconciler = reconciler,
				  .handle = namespace,
				  .set = set,
				  .now_us = loop_now(reconciler->loop)};
	int r;

	if (!cluster_namespace_has(reconciler->cluster, namespace))
		return 0;
	refresh(&turn);
	cluster_namespace_view(reconciler->cluster, namespace, &turn.namespace);
	if (turn.namespace.terminating || !turn.namespace.exists)
		return 0;
	if (own_writes_unseen(&turn)) {
		quota_turn_look_again(&turn, turn.now_us + WRITE_WATCH_LAG_US);
		return 0;
	}
	look_at_tenant(&turn);
	if (turn.namespace.n_quotas == 0 && turn.tenant == TABLE_NONE)
		r = quota_write_nothing(&turn, err);
	else
		r = reconcile_quotas(&turn, err);
	return r < 0 ? error_wrap(err, "namespace %.*s", STR_ARGS(turn.namespace.name)) : 0;
}

void quota_written(void *context, uint32_t namespace, const struct work_write *write,
		   const struct kube_answer *answer, const struct error *err)
{
	struct quota_reconciler *reconciler = context;
	int64_t now_us = loop_now(reconciler->loop);
	uint64_t version = 0;

	if (evict_written(&(struct evict_books){reconciler->cluster, reconciler->evictions, now_us},
			  write, answer, err))
		return;
	if (write->type == &api_gpu_memory_quotas)
		*moments_of(&reconciler->status_written, namespace) = now_us;
	if (!err)
		version =
			write_expect(reconciler->caches, write, answer, &reconciler->arena, now_us);
	if (write->verb == KUBE_DELETE || write_is_unanswered(err))
		return;
	if (write->type == &api_resource_quotas)
		cluster_note_answered(reconciler->cluster, namespace, CLUSTER_RESOURCE_QUOTAS,
				      str_from(write->name), version);
	else if (write->type == &api_gpu_memory_quotas)
		cluster_note_answered(reconciler->cluster, namespace, CLUSTER_QUOTAS,
				      str_from(write->name), version);
}

void quota_describe(void *context, uint32_t namespace, struct buf *text)
{
	struct quota_reconciler *reconciler = context;

	if (cluster_namespace_has(reconciler->cluster, namespace))
		buf_add_str(text, cluster_namespace_name(reconciler->cluster, namespace));
}
