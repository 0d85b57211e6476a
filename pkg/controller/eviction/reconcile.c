/* SPDX-License-Identifier: Apache-2.0 */
/* Gather, settle, decide, write. */
#include "controller/eviction/reconcile.h"

#include "api/body.h"
#include "base/checked.h"
#include "base/mem.h"
#include "cluster/ledger/holders.h"
#include "cluster/placing/reserve.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "controller/evict_write.h"
#include "controller/eviction/turn.h"
#include "controller/writes.h"

void eviction_reconciler_init(struct eviction_reconciler *reconciler, struct metrics *metrics)
{
	static const char *const labels[] = {"tenant", "cause", "outcome", NULL};

	arena_init(&reconciler->arena, LIMIT_DECODE_ARENA);
	list_init(&reconciler->tellings);
	reconciler->behind_us = TIME_NEVER;
	reconciler->memory = mem_alloc(sizeof(*reconciler->memory));
	eviction_search_init(&reconciler->search);
	reconciler->evictions = evict_metric(metrics);
	if (metrics)
		reconciler->receipts = metrics_counter(
			metrics, "gpuqos_eviction_receipts_total",
			"Receipts in status.evictions that came to this outcome.", labels);
}

void eviction_reconciler_clear(struct eviction_reconciler *reconciler)
{
	eviction_tell_none(reconciler, TABLE_NONE);
	arena_clear(&reconciler->arena);
	eviction_search_clear(&reconciler->search);
	if (reconciler->memory)
		place_memory_clear(reconciler->memory);
	mem_free(reconciler->memory);
	*reconciler = (struct eviction_reconciler){0};
}

void eviction_look_again(struct eviction_turn *turn, int64_t real_us)
{
	int64_t in_us;

	if (real_us == TIME_NEVER)
		return;
	/* what should have come by now is waited for, not asked for without a pause */
	in_us = real_us > turn->now_real_us ? real_us - turn->now_real_us : USEC_PER_SEC;
	turn->set->look_again_us =
		MIN(turn->set->look_again_us, saturating_add(turn->now_us, in_us));
}

void eviction_look_again_at(struct eviction_turn *turn, const struct cluster_victim *victim)
{
	turn->set->look_again_us = MIN(turn->set->look_again_us, victim->again_us);
}

struct plan_ask eviction_plan_ask(const struct eviction_turn *turn, uint32_t pod, size_t most)
{
	return (struct plan_ask){
		.pod = pod,
		.tier = turn->facts.spec.tier,
		.protection = turn->facts.spec.protection,
		.most = most,
		.now_us = turn->now_us,
		.now_real_us = turn->now_real_us,
	};
}

struct str eviction_text_kept(struct eviction_turn *turn, struct str text)
{
	const char *kept = arena_strndup(&turn->reconciler->arena, text.data, text.len);

	return kept ? (struct str){kept, text.len} : STR_NONE;
}

struct str eviction_text_take(struct eviction_turn *turn, struct buf *text)
{
	struct str kept = eviction_text_kept(turn, buf_str(text));

	buf_clear(text);
	return kept;
}

/* --- gather */

/*
 * What is believed of receipts. One of its own that is ahead and open is there to be settled, so
 * that it does not stay for ever.
 */
static size_t take(const struct eviction_turn *turn, const struct receipt *from, size_t n, bool own,
		   struct receipt *to)
{
	size_t taken = 0;

	for (size_t i = 0; i < n; i++)
		if (!receipt_is_ahead(from[i].at_us, turn->now_real_us) ||
		    (own && from[i].outcome == RECEIPT_ISSUED))
			to[taken++] = receipt_bounded(&from[i], turn->now_real_us);
	return taken;
}

static bool gather_own(struct eviction_turn *turn)
{
	struct arena *arena = &turn->reconciler->arena;
	size_t n = turn->facts.status.n_receipts;

	turn->receipts = arena_alloc(arena, (n + 1) * sizeof(*turn->receipts));
	if (!turn->receipts)
		return false;
	turn->n_receipts = take(turn, turn->facts.status.receipts, n, true, turn->receipts);
	return true;
}

static bool add_others(struct eviction_turn *turn, uint32_t tenant, struct receipt **list,
		       size_t *capacity)
{
	struct arena *arena = &turn->reconciler->arena;
	const struct receipt *receipts;
	size_t n, had = turn->limits.n_others;

	if (!cluster_tenant_receipts(turn->reconciler->cluster, tenant, arena, &receipts, &n))
		return false;
	if (n == 0)
		return true;
	if (!*list || had + n > *capacity) {
		struct receipt *grown;

		*capacity = 2 * (had + n);
		grown = arena_alloc(arena, *capacity * sizeof(*grown));
		if (!grown)
			return false;
		for (size_t i = 0; *list && i < had; i++)
			grown[i] = (*list)[i];
		*list = grown;
	}
	turn->limits.n_others = had + take(turn, receipts, n, false, *list + had);
	return true;
}

static bool gather_others(struct eviction_turn *turn)
{
	const struct cluster *cluster = turn->reconciler->cluster;
	struct receipt *list = NULL;
	size_t capacity = 0;

	for (uint32_t other = cluster_tenant_next(cluster, 0); other != TABLE_NONE;
	     other = cluster_tenant_next(cluster, other + 1))
		if (other != turn->tenant && !add_others(turn, other, &list, &capacity))
			return false;
	turn->limits.others = list;
	return true;
}

static void count_nodes(struct eviction_turn *turn)
{
	const struct cluster *cluster = turn->reconciler->cluster;

	for (uint32_t node = cluster_node_next(cluster, 0); node != TABLE_NONE;
	     node = cluster_node_next(cluster, node + 1)) {
		if (!cluster_node_exists(cluster, node) || !cluster_node_offers(cluster, node))
			continue;
		turn->limits.nodes++;
		turn->limits.nodes_not_ready += cluster_node_not_ready(cluster, node);
	}
}

static bool gather(struct eviction_turn *turn)
{
	struct eviction_reconciler *reconciler = turn->reconciler;

	arena_reset(&reconciler->arena);
	cluster_refresh_tenant(reconciler->cluster, turn->tenant);
	if (!cluster_tenant_facts(reconciler->cluster, turn->tenant, &reconciler->arena,
				  &turn->facts) ||
	    !gather_own(turn) || !gather_others(turn))
		return false;
	count_nodes(turn);
	turn->limits.now_real_us = turn->now_real_us;
	turn->limits.shrinking = cluster_evictions_issued(reconciler->cluster, turn->now_us);
	return true;
}

/* --- write */

static bool is_kept(const struct eviction_turn *turn, size_t i)
{
	const struct receipt *receipt = &turn->receipts[i];
	int64_t last_us = MAX(receipt->at_us, receipt->settled_us);

	return receipt->outcome == RECEIPT_ISSUED || i + RECEIPTS_KEPT >= turn->n_receipts ||
	       saturating_add(last_us, RECEIPT_LOOKS_BACK_US) > turn->now_real_us;
}

static void prune(struct eviction_turn *turn)
{
	size_t kept = 0;

	for (size_t i = 0; i < turn->n_receipts; i++)
		if (is_kept(turn, i))
			turn->receipts[kept++] = turn->receipts[i];
	turn->n_receipts = kept;
}

/* Where it is refused nothing of its set is sent behind it, and the room is let go. */
static int write_receipts(struct eviction_turn *turn, struct error *err)
{
	struct work_write *write;
	struct buf body;

	prune(turn);
	write = work_set_add(turn->set, KUBE_APPLY, &api_tenants, STR_NONE, turn->facts.name);
	write->subresource = "status";
	write->required = true;
	write->field_manager = API_EVICTIONS_MANAGER;
	work_write_set_uid(write, turn->issued);
	buf_init(&body, LIMIT_JSON_OUTPUT);
	api_body_tenant_evictions(&body, turn->facts.name, turn->facts.uid, turn->receipts,
				  turn->n_receipts);
	return write_give_body(write, &body, err);
}

static int write_new(struct eviction_turn *turn, struct error *err)
{
	if (write_receipts(turn, err) < 0)
		return -1;
	if (turn->receipts[turn->n_receipts - 1].outcome != RECEIPT_ISSUED)
		return 0;
	return eviction_ask(turn, &turn->receipts[turn->n_receipts - 1], err);
}

/* --- the turn */

static bool is_unseen(struct eviction_turn *turn)
{
	struct str name = cluster_tenant_name(turn->reconciler->cluster, turn->tenant);

	if (!caches_pending(turn->reconciler->caches, &api_tenants,
			    (struct api_identity){STR_NONE, name}, turn->now_us))
		return false;
	eviction_look_again(turn, turn->now_real_us + WRITE_WATCH_LAG_US);
	return true;
}

static bool has_receipt(const struct receipt *receipts, size_t n, struct str id)
{
	for (size_t i = 0; i < n; i++)
		if (str_equal(receipts[i].id, id))
			return true;
	return false;
}

static bool is_shown(const struct eviction_turn *turn, struct str id)
{
	return has_receipt(turn->limits.own, turn->limits.n_own, id) ||
	       has_receipt(turn->limits.others, turn->limits.n_others, id);
}

/* What is left of one that was deleted stays known by the objects that were written for it. */
static bool is_there(const struct cluster *cluster, uint32_t tenant)
{
	struct tenant_summary summary;

	if (!cluster_tenant_has(cluster, tenant))
		return false;
	cluster_tenant_summary(cluster, tenant, &summary);
	return summary.exists;
}

/* True while the receipt that was decided last is in no status that is seen; one that does not come
 * at all is given up, with its room, and so is one whose tenant is gone. */
static bool wait_for_receipt(struct eviction_turn *turn)
{
	struct eviction_unseen *unseen = &turn->reconciler->unseen;
	struct cluster *cluster = turn->reconciler->cluster;
	bool there = is_there(cluster, unseen->tenant);
	struct str id = str_from(unseen->id);

	if (str_empty(id))
		return false;
	if (!is_shown(turn, id) &&
	    (unseen->under_way || (there && turn->now_us < unseen->until_us))) {
		eviction_look_again(turn, turn->now_real_us + EVICTION_UNSEEN_US);
		return true;
	}
	if (!is_shown(turn, id) && !unseen->written && there)
		cluster_release_hold(cluster, cluster_tenant_name(cluster, unseen->tenant), id);
	unseen->id[0] = '\0';
	return false;
}

/* Its write is not under way any more: it is waited for so long. */
static void end_write(struct eviction_reconciler *reconciler, int64_t in_us)
{
	struct eviction_unseen *unseen = &reconciler->unseen;

	if (unseen->under_way)
		unseen->until_us = saturating_add(loop_now(reconciler->loop), in_us);
	unseen->under_way = false;
}

void eviction_reconciler_lead(struct eviction_reconciler *reconciler)
{
	caches_refresh(reconciler->caches, CLUSTER_TENANTS);
	end_write(reconciler, EVICTION_UNSEEN_MOST_US);
}

/* Unless somebody is in vain, or may be. */
static void tell_nobody(struct eviction_turn *turn)
{
	if (!turn->in_vain && !turn->undecided)
		cluster_tell_unhelped(turn->reconciler->cluster, turn->tenant, STR_NONE);
}

/* Nobody goes by what may have been over for a while. Every watch is opened anew now and then,
 * which is nothing to speak of. */
static bool wait_for_caches(struct eviction_turn *turn)
{
	struct str behind = caches_behind(turn->reconciler->caches);
	int64_t *since_us = &turn->reconciler->behind_us;

	if (str_empty(behind)) {
		*since_us = TIME_NEVER;
		return false;
	}
	*since_us = MIN(*since_us, turn->now_us);
	if (turn->now_us - *since_us >= EVICTION_BEHIND_TOLD_US) {
		eviction_tell_behind(turn, behind);
		tell_nobody(turn);
	}
	eviction_look_again(turn, turn->now_real_us + EVICTION_BEHIND_US);
	return true;
}

bool eviction_may_ask(struct eviction_turn *turn)
{
	if (str_empty(caches_behind(turn->reconciler->caches)))
		return !limits_brake(&turn->limits);
	eviction_look_again(turn, turn->now_real_us + EVICTION_BEHIND_US);
	return false;
}

static void decide_new(struct eviction_turn *turn)
{
	size_t before = turn->n_receipts;

	if (wait_for_receipt(turn) || wait_for_caches(turn))
		return;
	if (!turn->facts.invalid && !turn->facts.terminating) {
		eviction_make_room(turn);
		if (turn->n_receipts == before)
			eviction_relieve(turn);
		if (turn->n_receipts == before)
			eviction_move(turn);
		if (turn->n_receipts == before)
			eviction_offend(turn);
		if (turn->n_receipts == before)
			eviction_reclaim(turn);
	}
	if (turn->n_receipts == before)
		tell_nobody(turn);
}

static int decide(struct eviction_turn *turn, struct error *err)
{
	size_t before = turn->n_receipts;

	eviction_tell_seen(turn);
	if (eviction_settle(turn, err) < 0)
		return -1;
	turn->limits.own = turn->receipts;
	turn->limits.n_own = turn->n_receipts;
	decide_new(turn);
	if (turn->n_receipts > before)
		return write_new(turn, err);
	return turn->changed ? write_receipts(turn, err) : 0;
}

int eviction_reconcile(void *context, uint32_t tenant, struct work_set *set, struct error *err)
{
	struct eviction_reconciler *reconciler = context;
	struct eviction_turn turn = {
		.reconciler = reconciler,
		.tenant = tenant,
		.set = set,
		.now_us = loop_now(reconciler->loop),
		.now_real_us = clock_real(loop_clock(reconciler->loop)),
	};
	int64_t next_us;

	if (reconciler->unseen.tenant == tenant)
		end_write(reconciler, 0); /* its writes are over, whether they came to it or not */
	cluster_expire_holds(reconciler->cluster, turn.now_real_us, &next_us);
	eviction_forget_met(&turn);
	if (!cluster_tenant_has(reconciler->cluster, tenant)) {
		eviction_tell_none(reconciler, tenant);
		return 0;
	}
	if (is_unseen(&turn) || eviction_searches(&turn) || !gather(&turn))
		return 0;
	if (decide(&turn, err) == 0)
		return 0;
	return error_wrap(err, "evictions of tenant %.*s", STR_ARGS(turn.facts.name));
}

static void receipts_written(struct eviction_reconciler *reconciler, uint32_t tenant,
			     const struct work_write *write, const struct kube_answer *answer,
			     const struct error *err)
{
	struct eviction_unseen *unseen = &reconciler->unseen;
	int64_t now_us = loop_now(reconciler->loop);
	bool ours = unseen->under_way && unseen->tenant == tenant &&
		    str_equal(str_from(unseen->id), str_from(write->uid));

	if (ours)
		end_write(reconciler, err ? EVICTION_UNSEEN_MOST_US : EVICTION_UNSEEN_WRITTEN_US);
	if (err && !write_is_unanswered(err)) {
		cluster_release_hold(reconciler->cluster, str_from(write->name),
				     str_from(write->uid));
		if (ours)
			unseen->id[0] = '\0';
	}
	if (err)
		return;
	unseen->written |= ours;
	write_expect(reconciler->caches, write, answer, &reconciler->arena, now_us);
	eviction_tell_written(reconciler, tenant);
}

void eviction_written(void *context, uint32_t tenant, const struct work_write *write,
		      const struct kube_answer *answer, const struct error *err)
{
	struct eviction_reconciler *reconciler = context;
	int64_t now_us = loop_now(reconciler->loop);

	if (evict_written(&(struct evict_books){reconciler->cluster, reconciler->evictions, now_us},
			  write, answer, err))
		cluster_mark_tenant_dirty(reconciler->cluster, tenant);
	else if (write->type == &api_tenants)
		receipts_written(reconciler, tenant, write, answer, err);
}
