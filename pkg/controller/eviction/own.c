/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offender and IdleGPU: pods that go for their own doing. Nothing is held for anybody. One offender
 * goes for each time that the ladder comes to that step, so that the next one is only after
 * something has changed.
 */
#include "plan/own.h"
#include "cluster/looks.h"
#include "cluster/nodes/gpunodes.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "cluster/tenants/users.h"
#include "controller/eviction/turn.h"
#include "plan/cause.h"

/* --- the receipt */

static void say_use(const struct eviction_turn *turn, uint32_t pod, struct buf *text)
{
	const struct cluster *cluster = turn->reconciler->cluster;
	struct cluster_usage usage = cluster_pod_usage(cluster, pod);
	struct cluster_user user;

	cluster_user(cluster, pod, turn->now_real_us, &user);
	if (usage.memory >= 0 && user.granted > 0)
		buf_printf(text, "uses %lld MiB of GPU memory where %lld MiB are granted",
			   (long long)(usage.memory / MIB), (long long)(user.granted / MIB));
	else
		buf_add_cstr(text, "uses GPU memory that nothing tells");
	if (usage.sm_percent >= 0)
		buf_printf(text, " and %d %% of its cards", usage.sm_percent / (int)usage.cards);
}

static struct str prove_offender(struct eviction_turn *turn, const struct own_found *found,
				 uint32_t signals)
{
	const struct cluster *cluster = turn->reconciler->cluster;
	struct cluster_pod_name name = cluster_pod_name(cluster, found->pod);
	struct cluster_victim sufferer;
	char cause[THROTTLE_CAUSE_SIZE];
	struct buf text;

	cluster_victim(cluster, found->sufferer, turn->now_us, turn->now_real_us, &sufferer);
	throttle_cause(signals, cause);
	buf_init(&text, LIMIT_RECEIPT_TEXT);
	buf_printf(&text, "On node %.*s %.*s/%.*s ", STR_ARGS(name.node), STR_ARGS(name.namespace),
		   STR_ARGS(name.name));
	say_use(turn, found->pod, &text);
	buf_printf(&text,
		   ", by its own processes (%s). It has a card in common with a pod of %.*s, ",
		   cause, STR_ARGS(cluster_tenant_name(cluster, sufferer.tenant)));
	if (str_empty(found->objective))
		buf_add_cstr(&text, "whose containers crash over and over.");
	else
		buf_printf(&text, "whose objective %.*s is bad.", STR_ARGS(found->objective));
	return eviction_text_take(turn, &text);
}

static struct str prove_idle(struct eviction_turn *turn, const struct own_found *found)
{
	const struct cluster *cluster = turn->reconciler->cluster;
	struct cluster_pod_name name = cluster_pod_name(cluster, found->pod);
	struct cluster_usage usage = cluster_pod_usage(cluster, found->pod);
	struct cluster_victim victim;
	struct buf text;

	cluster_victim(cluster, found->pod, turn->now_us, turn->now_real_us, &victim);
	buf_init(&text, LIMIT_RECEIPT_TEXT);
	buf_printf(&text,
		   "On node %.*s the processes of %.*s/%.*s have done nothing on its %u card%s for "
		   "%lld seconds, of %lld%s.",
		   STR_ARGS(name.node), STR_ARGS(name.namespace), STR_ARGS(name.name), usage.cards,
		   usage.cards == 1 ? "" : "s",
		   (long long)((turn->now_us - usage.idle_since_us) / USEC_PER_SEC),
		   (long long)(turn->reconciler->config->pace.idle_us / USEC_PER_SEC),
		   victim.borrowing ? ", and its namespace holds borrowed memory" : "");
	return eviction_text_take(turn, &text);
}

static void issue(struct eviction_turn *turn, enum receipt_cause cause,
		  const struct receipt_pod *self, const struct own_found *found, struct str proof)
{
	struct receipt draft = {
		.cause = cause,
		.beneficiary = *self,
		.proof = proof,
		.victims = eviction_name_pods(turn, found->pods, found->n),
		.n_victims = found->n,
	};

	if (draft.victims && !str_empty(proof))
		eviction_issue(turn, &draft, TABLE_NONE);
}

/* --- what both ask */

/* False where the arena is full. */
static bool make_ask(struct eviction_turn *turn, struct plan_ask *ret_ask)
{
	*ret_ask = eviction_plan_ask(turn, TABLE_NONE, RECEIPT_VICTIMS);
	ret_ask->own = true;
	return cause_left_alone(turn->reconciler->cluster, &turn->limits, &turn->reconciler->arena,
				&ret_ask->left_alone);
}

/* Whether so many may go now, and it was not planned or asked for lately. */
static bool limits_allow(struct eviction_turn *turn, const struct receipt_pod *self, size_t n)
{
	struct limits_answer limits;

	if (cause_is_served(&turn->limits, turn->facts.spec.protection.mode, self))
		return false;
	limits_decide(&turn->limits, &turn->facts.spec.protection, self, &limits);
	if (limits.verdict == LIMITED_FREE && limits.left >= n)
		return true;
	eviction_look_again(turn, MIN(limits.again_us, turn->now_real_us + EVICTION_RELOOK_US));
	return false;
}

static void tell_stays(struct eviction_turn *turn, const struct own_found *found)
{
	struct cluster_pod_name name = cluster_pod_name(turn->reconciler->cluster, found->pod);

	log_debug(turn->reconciler->log, "a pod stays", LOG_STR("tenant", turn->facts.name),
		  LOG_STR("namespace", name.namespace), LOG_STR("pod", name.name),
		  LOG_CSTR("why", own_text(found)));
}

/* --- the offender */

/* By a clock that was set back since the step began it cannot be told. */
static bool went_already(const struct eviction_turn *turn)
{
	if (turn->facts.status.throttle.since_us > turn->now_real_us)
		return true;
	for (size_t i = 0; i < turn->n_receipts; i++)
		if (turn->receipts[i].cause == RECEIPT_OFFENDER &&
		    turn->receipts[i].at_us >= turn->facts.status.throttle.since_us)
			return true;
	return false;
}

static bool is_its_step(const struct eviction_turn *turn)
{
	const struct feedback_spec *spec = &turn->facts.spec.feedback;

	return spec->evict_offender && spec->mode == FEEDBACK_THROTTLE && turn->facts.has_status &&
	       turn->facts.status.throttle.step == THROTTLE_EVICT_OFFENDER;
}

/* Why nobody goes; empty where somebody does. */
static struct str offend(struct eviction_turn *turn, const struct plan_ask *ask)
{
	struct receipt_pod self;
	struct own_found found;
	struct cluster_blame blame =
		cluster_blamed(turn->reconciler->cluster, turn->tenant, turn->now_us);

	own_offender(&(struct own_view){turn->reconciler->cluster, ask, turn->tenant}, blame.pod,
		     blame.signals, &found);
	if (found.verdict == OWN_GO && eviction_name_pod(turn, blame.pod, &self) &&
	    !limits_allow(turn, &self, found.n))
		found.verdict = OWN_LIMITED;
	if (found.verdict != OWN_GO)
		return str_from(own_text(&found));
	issue(turn, RECEIPT_OFFENDER, &self, &found, prove_offender(turn, &found, blame.signals));
	return STR_NONE;
}

void eviction_offend(struct eviction_turn *turn)
{
	struct str kept = STR_NONE;
	struct plan_ask ask;

	if (is_its_step(turn) && !went_already(turn) && make_ask(turn, &ask)) {
		eviction_look_again(turn, turn->now_real_us + EVICTION_RELOOK_US);
		kept = offend(turn, &ask);
	}
	cluster_tell_kept(turn->reconciler->cluster, turn->tenant, kept);
}

/* --- the idle */

void eviction_reclaim(struct eviction_turn *turn)
{
	struct receipt_pod self;
	struct own_found found;
	struct plan_ask ask;

	if (!turn->facts.spec.feedback.reclaim_idle || !make_ask(turn, &ask))
		return;
	own_idle(&(struct own_view){turn->reconciler->cluster, &ask, turn->tenant},
		 turn->reconciler->config->pace.idle_us, &found);
	if (found.verdict == OWN_NOBODY)
		return;
	eviction_look_again(turn, turn->now_real_us + EVICTION_RELOOK_US);
	if (found.verdict != OWN_GO)
		tell_stays(turn, &found);
	else if (eviction_name_pod(turn, found.pod, &self) && limits_allow(turn, &self, found.n))
		issue(turn, RECEIPT_IDLE, &self, &found, prove_idle(turn, &found));
}

/* --- what came of it */

bool eviction_own_may_go(struct eviction_turn *turn, const struct receipt *receipt, uint32_t pod)
{
	const struct feedback_spec *spec = &turn->facts.spec.feedback;
	const struct cluster *cluster = turn->reconciler->cluster;
	struct cluster_victim victim;
	struct plan_ask ask;

	if (turn->facts.terminating || turn->facts.invalid || !make_ask(turn, &ask) ||
	    turn->facts.spec.protection.mode == PROTECTION_DRY_RUN)
		return false;
	/* What its own receipt took of its workload does not count against it. */
	ask.left_alone = (struct plan_left_alone){0};
	cluster_victim(cluster, pod, turn->now_us, turn->now_real_us, &victim);
	if (victim.tenant != turn->tenant || plan_exempt(&ask, pod, &victim) != PLAN_NONE)
		return false;
	return receipt->cause == RECEIPT_OFFENDER
		       ? is_its_step(turn) /* use may be normal by now, or a human decided */
		       : spec->reclaim_idle &&
				 own_is_idle(&(struct own_view){cluster, &ask, turn->tenant}, pod,
					     turn->reconciler->config->pace.idle_us);
}

static void end_gone(struct eviction_turn *turn, struct receipt *receipt)
{
	if (receipt->cause == RECEIPT_IDLE)
		eviction_end(turn, receipt, RECEIPT_HELPED, "What was idle is free.");
	else if (cluster_blamed(turn->reconciler->cluster, turn->tenant, turn->now_us).normal)
		eviction_end(turn, receipt, RECEIPT_HELPED, "It went, and use is normal again.");
	else if (turn->now_real_us >= receipt->held_until_us)
		eviction_end(turn, receipt, RECEIPT_INEFFECTIVE,
			     "It went, and use is abnormal still.");
	else
		eviction_look_again(turn, turn->now_real_us + EVICTION_RELOOK_US);
}

bool eviction_own_ended(struct eviction_turn *turn, struct receipt *receipt,
			const struct cause_seen *seen)
{
	if (receipt->n_victims > 0 && seen->refused == receipt->n_victims)
		eviction_end(turn, receipt, RECEIPT_REFUSED,
			     "The API server evicted none of %zu pods.", receipt->n_victims);
	else if (seen->staying + seen->leaving == 0)
		end_gone(turn, receipt);
	else if (turn->now_real_us >= receipt->held_until_us)
		eviction_end(turn, receipt, RECEIPT_INEFFECTIVE, "Of %zu pods %zu are there still.",
			     receipt->n_victims, seen->staying + seen->leaving);
	else
		eviction_look_again(turn, receipt->held_until_us);
	return receipt->outcome != RECEIPT_ISSUED;
}
