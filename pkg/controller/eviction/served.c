/* SPDX-License-Identifier: Apache-2.0 */
/* What came of receipts by which others go for a pod that stays. */
#include "cluster/leaving/victims.h"
#include "cluster/looks.h"
#include "cluster/placing/assume.h"
#include "cluster/placing/placement.h"
#include "cluster/tenants/objectives.h"
#include "controller/eviction/turn.h"
#include "plan/cause.h"

static uint32_t find(const struct eviction_turn *turn, const struct receipt_pod *pod)
{
	const struct cluster *cluster = turn->reconciler->cluster;
	uint32_t handle = cluster_pod_find(cluster, pod->namespace, pod->name, pod->uid);

	return handle != TABLE_NONE && cluster_pod_finished(cluster, handle) ? TABLE_NONE : handle;
}

static void see_victims(const struct eviction_turn *turn, const struct receipt *receipt,
			struct cause_seen *seen)
{
	for (size_t i = 0; i < receipt->n_victims; i++) {
		uint32_t pod = find(turn, &receipt->victims[i]);
		struct cluster_victim victim;

		if (pod == TABLE_NONE)
			continue;
		cluster_victim(turn->reconciler->cluster, pod, turn->now_us, turn->now_real_us,
			       &victim);
		seen->leaving += victim.terminating;
		seen->staying += !victim.terminating;
		seen->refused += !victim.terminating && victim.refused;
	}
}

static struct str see(const struct eviction_turn *turn, const struct receipt *receipt,
		      struct cause_seen *ret_seen)
{
	uint32_t pod = find(turn, &receipt->beneficiary);
	struct cause_seen seen = {.there = pod != TABLE_NONE, .now_real_us = turn->now_real_us};
	struct str node = STR_NONE;

	if (seen.there) {
		node = cluster_pod_name(turn->reconciler->cluster, pod).node;
		seen.coming = cluster_pod_assumed(turn->reconciler->cluster, pod);
		seen.bound = !str_empty(node) && !seen.coming;
		seen.held = str_equal(node, receipt->node);
	}
	see_victims(turn, receipt, &seen);
	*ret_seen = seen;
	return node;
}

/* Whether the pod that it is for is still there, and still one of this tenant's own. */
static bool still_serves(const struct eviction_turn *turn, const struct receipt *receipt)
{
	uint32_t pod = find(turn, &receipt->beneficiary);
	struct cluster_victim self;

	if (pod == TABLE_NONE)
		return false;
	cluster_victim(turn->reconciler->cluster, pod, turn->now_us, turn->now_real_us, &self);
	return self.tenant == turn->tenant && !self.terminating;
}

/* A receipt is believed no further than this: who may not go now is not asked, whoever wrote it. */
static bool may_still_go(struct eviction_turn *turn, const struct receipt *receipt, uint32_t pod,
			 const struct cluster_victim *victim)
{
	const struct plan_ask ask = eviction_plan_ask(turn, TABLE_NONE, RECEIPT_VICTIMS);

	if (receipt->cause == RECEIPT_OFFENDER || receipt->cause == RECEIPT_IDLE)
		return eviction_own_may_go(turn, receipt, pod);
	return turn->facts.spec.protection.mode == PROTECTION_ENFORCE &&
	       still_serves(turn, receipt) && plan_exempt(&ask, pod, victim) == PLAN_NONE;
}

/* The victims that stay are asked, or asked again. */
static int ask_again(struct eviction_turn *turn, struct receipt *receipt, struct error *err)
{
	if (!eviction_may_ask(turn))
		return 0;
	for (size_t i = 0; i < receipt->n_victims; i++) {
		uint32_t pod = find(turn, &receipt->victims[i]);
		struct cluster_victim victim;

		if (pod == TABLE_NONE || turn->set->n_writes >= EVICTION_AGAIN_MOST)
			continue;
		cluster_victim(turn->reconciler->cluster, pod, turn->now_us, turn->now_real_us,
			       &victim);
		eviction_look_again_at(turn, &victim);
		if (!may_still_go(turn, receipt, pod, &victim))
			continue;
		if (eviction_ask_one(turn, receipt, &receipt->victims[i], err) < 0)
			return -1;
	}
	return 0;
}

static void end_pending(struct eviction_turn *turn, struct receipt *receipt,
			enum receipt_outcome outcome, const struct cause_seen *seen,
			struct str node)
{
	struct str name = receipt->beneficiary.name;

	if (!seen->there)
		eviction_end(turn, receipt, outcome, "Pod %.*s is gone.", STR_ARGS(name));
	else if (seen->bound && outcome == RECEIPT_MOOT)
		eviction_end(turn, receipt, outcome,
			     "Pod %.*s is on node %.*s, and %zu of %zu pods did not have to go.",
			     STR_ARGS(name), STR_ARGS(node), seen->staying, receipt->n_victims);
	else if (seen->bound)
		eviction_end(turn, receipt, outcome, "Pod %.*s is on node %.*s%s.", STR_ARGS(name),
			     STR_ARGS(node), seen->held ? "" : ", and not where room was held");
	else if (outcome == RECEIPT_REFUSED)
		eviction_end(turn, receipt, outcome, "The API server evicted none of %zu pods.",
			     receipt->n_victims);
	else
		eviction_end(turn, receipt, outcome,
			     "Pod %.*s was bound to no node until the room was let go; %zu of %zu "
			     "pods were there still.",
			     STR_ARGS(name), seen->staying + seen->leaving, receipt->n_victims);
}

static int judge_pending(struct eviction_turn *turn, struct receipt *receipt, struct error *err)
{
	struct cause_seen seen;
	struct str node = see(turn, receipt, &seen);
	enum receipt_outcome outcome = cause_judge_pending(receipt, &seen);

	if (outcome != RECEIPT_ISSUED) {
		end_pending(turn, receipt, outcome, &seen, node);
		return 0;
	}
	eviction_look_again(turn, receipt->held_until_us);
	if (!seen.coming)
		return ask_again(turn, receipt, err);
	eviction_look_again(turn, turn->now_real_us + USEC_PER_SEC);
	return 0;
}

/* --- objectives */

static struct cause_value value_now(const struct eviction_turn *turn, struct str objective)
{
	const struct cluster *cluster = turn->reconciler->cluster;

	for (size_t i = 0; i < cluster_objective_count(cluster, turn->tenant); i++) {
		struct cluster_objective one = cluster_objective(cluster, turn->tenant, i);

		if (str_equal(one.spec->name, objective))
			return (struct cause_value){one.verdict->state, one.spec->direction,
						    one.verdict->value};
	}
	return (struct cause_value){OBJECTIVE_UNKNOWN, OBJECTIVE_BELOW, OBJECTIVE_NO_VALUE};
}

static void end_objective(struct eviction_turn *turn, struct receipt *receipt,
			  enum receipt_outcome outcome, const struct cause_seen *seen,
			  const struct cause_value *now)
{
	if (!seen->there)
		eviction_end(turn, receipt, outcome, "Pod %.*s is gone.",
			     STR_ARGS(receipt->beneficiary.name));
	else if (outcome == RECEIPT_REFUSED)
		eviction_end(turn, receipt, outcome, "The API server evicted none of %zu pods.",
			     receipt->n_victims);
	else if (now->state == OBJECTIVE_UNKNOWN)
		eviction_end(turn, receipt, outcome,
			     "Nothing is known of objective %.*s at the end of the observation.",
			     STR_ARGS(receipt->objective));
	else
		eviction_end(turn, receipt, outcome,
			     "Objective %.*s is %s: %s at the end of the observation%s.",
			     STR_ARGS(receipt->objective), objective_state_text(now->state),
			     objective_value_text(objective_round(now->value)).text,
			     seen->staying + seen->leaving > 0 ? "; not all victims are gone" : "");
}

/* While nothing is known, or it is met, nobody more is asked to go. */
static int judge_objective(struct eviction_turn *turn, struct receipt *receipt, struct error *err)
{
	struct cause_value now = value_now(turn, receipt->objective);
	struct cause_seen seen;
	enum receipt_outcome outcome;

	see(turn, receipt, &seen);
	outcome = cause_judge_objective(receipt, &seen, &now);
	if (outcome != RECEIPT_ISSUED) {
		end_objective(turn, receipt, outcome, &seen, &now);
		return 0;
	}
	eviction_look_again(turn, receipt->held_until_us);
	return now.state >= OBJECTIVE_AT_RISK ? ask_again(turn, receipt, err) : 0;
}

/* Of a version that evicts for other causes; nothing of it is left under way for ever. */
static int judge_other(struct eviction_turn *turn, struct receipt *receipt)
{
	if (turn->now_real_us >= receipt->held_until_us)
		eviction_end(turn, receipt, RECEIPT_INEFFECTIVE,
			     "Nobody looked at what came of it until its time was over.");
	else
		eviction_look_again(turn, receipt->held_until_us);
	return 0;
}

static int judge_own(struct eviction_turn *turn, struct receipt *receipt, struct error *err)
{
	struct cause_seen seen = {.now_real_us = turn->now_real_us};

	see_victims(turn, receipt, &seen);
	return eviction_own_ended(turn, receipt, &seen) ? 0 : ask_again(turn, receipt, err);
}

int eviction_judge_served(struct eviction_turn *turn, struct receipt *receipt, struct error *err)
{
	switch (receipt->cause) {
	case RECEIPT_PENDING:
		return judge_pending(turn, receipt, err);
	case RECEIPT_OBJECTIVE:
		return judge_objective(turn, receipt, err);
	case RECEIPT_OFFENDER:
	case RECEIPT_IDLE:
		return judge_own(turn, receipt, err);
	case RECEIPT_MISMATCH:
	case RECEIPT_CAUSE_COUNT:
		break;
	}
	return judge_other(turn, receipt);
}
