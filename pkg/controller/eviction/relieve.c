/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objective: who goes for a pod whose objective is violated, or about to be. The verdict has to be
 * that the objective is bad: what nothing is known of lets nobody act.
 */
#include "base/checked.h"
#include "cluster/looks.h"
#include "cluster/read.h"
#include "cluster/tenants/objectives.h"
#include "controller/eviction/turn.h"
#include "plan/cause.h"
#include "plan/relief.h"

static struct place_tools tools_of(struct eviction_turn *turn)
{
	return (struct place_tools){
		.cluster = turn->reconciler->cluster,
		.weights = &turn->reconciler->config->weights,
		.memory = turn->reconciler->memory,
		.arena = &turn->reconciler->search.scratch,
	};
}

static bool make_ask(struct eviction_turn *turn, uint32_t pod, size_t most,
		     struct plan_ask *ret_ask)
{
	*ret_ask = eviction_plan_ask(turn, pod, most);
	return cause_left_alone(turn->reconciler->cluster, &turn->limits, &turn->reconciler->arena,
				&ret_ask->left_alone);
}

/* --- the receipt */

static struct str describe_proof(struct eviction_turn *turn,
				 const struct cluster_objective *objective,
				 const struct relief_found *found)
{
	const struct objective_spec *spec = objective->spec;
	int64_t for_us = MAX(turn->now_real_us - objective->verdict->since_us, 0);
	struct buf text;

	buf_init(&text, LIMIT_RECEIPT_TEXT);
	buf_printf(&text, "Objective %.*s has been %s for %lld seconds: %s where ",
		   STR_ARGS(spec->name), objective_state_text(objective->verdict->state),
		   (long long)(for_us / USEC_PER_SEC),
		   objective_value_text(objective_round(objective->verdict->value)).text);
	buf_printf(&text, "at %s %s is promised. ",
		   spec->direction == OBJECTIVE_BELOW ? "most" : "least",
		   objective_value_text(spec->threshold).text);
	relief_describe(turn->reconciler->cluster, found, &text);
	buf_add_cstr(&text, ".");
	return eviction_text_take(turn, &text);
}

/* Cards of the victims on that node. */
static uint64_t freed(const struct cluster *cluster, const struct relief_found *found)
{
	uint64_t cards = 0;

	for (size_t i = 0; i < found->n_victims; i++)
		if (cluster_pod_node(cluster, found->victims[i]) == found->node)
			cards |= cluster_pod_cards(cluster, found->victims[i]);
	return cards;
}

static bool spare(struct eviction_turn *turn, const struct plan_ask *ask,
		  const struct relief_found *found, struct receipt *draft)
{
	const struct eviction_choice choice = {
		.node = found->node,
		.victims = found->victims,
		.n_victims = found->n_victims,
		.ask = ask,
		.why = relief_why_spared,
	};

	return eviction_spare(turn, &choice, draft);
}

static void issue(struct eviction_turn *turn, const struct cluster_objective *objective,
		  const struct receipt_pod *self, const struct plan_ask *ask,
		  const struct relief_found *found)
{
	const struct cluster *cluster = turn->reconciler->cluster;
	struct receipt draft = {
		.cause = RECEIPT_OBJECTIVE,
		.beneficiary = *self,
		.objective = objective->spec->name,
		.value = objective->verdict->value,
		.node = cluster_node_name(cluster, found->node),
		.cards = freed(cluster, found),
		.proof = describe_proof(turn, objective, found),
		.victims = eviction_name_pods(turn, found->victims, found->n_victims),
		.n_victims = found->n_victims,
	};

	if (draft.victims && spare(turn, ask, found, &draft))
		eviction_issue(turn, &draft, TABLE_NONE);
}

/* --- who */

static void describe(const struct cluster_objective *objective, struct buf *text)
{
	buf_printf(text, "whose objective %.*s is %s: ", STR_ARGS(objective->spec->name),
		   objective_state_text(objective->verdict->state));
}

static void tell_none(struct eviction_turn *turn, const struct cluster_objective *objective,
		      const struct receipt_pod *self, struct str why)
{
	struct buf text;

	buf_init(&text, LIMIT_EVENT_NOTE);
	describe(objective, &text);
	buf_add_str(&text, why);
	eviction_in_vain(turn, objective->pod, self, buf_str(&text));
	buf_clear(&text);
}

static void look_for_one(struct eviction_turn *turn, const struct cluster_objective *objective,
			 const struct receipt_pod *self, size_t most)
{
	struct place_tools tools = tools_of(turn);
	struct relief_found found;
	struct relief_counts counts;
	struct plan_ask ask;
	struct buf why;

	arena_reset(&turn->reconciler->search.scratch);
	if (!make_ask(turn, objective->pod, most, &ask))
		return;
	if (relief_find(&tools, &ask, &found, &counts)) {
		issue(turn, objective, self, &ask, &found);
		return;
	}
	buf_init(&why, LIMIT_EVENT_NOTE);
	relief_describe_none(&counts, &why);
	tell_none(turn, objective, self, buf_str(&why));
	buf_clear(&why);
}

/* What a query names may be any pod: another tenant's is none of its business. */
static bool is_own(const struct eviction_turn *turn, uint32_t pod)
{
	struct cluster_victim victim;

	if (pod == TABLE_NONE || cluster_pod_finished(turn->reconciler->cluster, pod))
		return false;
	cluster_victim(turn->reconciler->cluster, pod, turn->now_us, turn->now_real_us, &victim);
	return victim.tenant == turn->tenant && !victim.terminating && victim.node != TABLE_NONE;
}

/* That it is bad, and nobody helps. */
static bool is_unhelped(struct eviction_turn *turn, const struct cluster_objective *objective,
			struct receipt_pod *self)
{
	return slo_is_bad(objective->verdict) && is_own(turn, objective->pod) &&
	       eviction_name_pod(turn, objective->pod, self) &&
	       !cause_is_served(&turn->limits, turn->facts.spec.protection.mode, self);
}

bool eviction_name_slowed(struct eviction_turn *turn, struct receipt_pod *self, struct buf *why)
{
	const struct cluster *cluster = turn->reconciler->cluster;

	for (size_t i = 0; i < cluster_objective_count(cluster, turn->tenant); i++) {
		struct cluster_objective objective = cluster_objective(cluster, turn->tenant, i);

		if (!is_unhelped(turn, &objective, self))
			continue;
		describe(&objective, why);
		return true;
	}
	return false;
}

static void relieve(struct eviction_turn *turn, const struct cluster_objective *objective)
{
	struct limits_answer limits;
	struct receipt_pod self;

	if (!is_unhelped(turn, objective, &self) || eviction_waits_in_vain(turn, objective->pod))
		return;
	limits_decide(&turn->limits, &turn->facts.spec.protection, &self, &limits);
	if (limits.verdict == LIMITED_FREE)
		look_for_one(turn, objective, &self, limits.left);
	else if (limits_helps(&turn->limits, &self))
		eviction_look_again(turn, limits.again_us);
	else
		tell_none(turn, objective, &self, str_from(limit_verdict_text(limits.verdict)));
}

void eviction_relieve(struct eviction_turn *turn)
{
	const struct cluster *cluster = turn->reconciler->cluster;
	size_t before = turn->n_receipts;

	if (turn->facts.spec.protection.mode == PROTECTION_OFF)
		return;
	for (size_t i = 0; i < cluster_objective_count(cluster, turn->tenant); i++) {
		struct cluster_objective objective = cluster_objective(cluster, turn->tenant, i);

		if (turn->n_receipts == before)
			relieve(turn, &objective);
	}
}
