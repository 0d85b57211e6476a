/* SPDX-License-Identifier: Apache-2.0 */
/* A new receipt: pods as it names them, its room, and how it is told. */
#include <stdio.h>

#include "base/checked.h"
#include "cluster/looks.h"
#include "cluster/placing/reserve.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "controller/eviction/turn.h"

bool eviction_name_pod(struct eviction_turn *turn, uint32_t pod, struct receipt_pod *ret_pod)
{
	const struct cluster *cluster = turn->reconciler->cluster;
	struct cluster_pod_name name = cluster_pod_name(cluster, pod);
	struct cluster_victim victim;
	char uid[UID_TEXT_SIZE];
	int64_t lost_us;

	uid_text(name.uid, uid);
	cluster_victim(cluster, pod, turn->now_us, turn->now_real_us, &victim);
	lost_us = turn->now_real_us - MAX(victim.started_us, victim.checkpoint_us);
	*ret_pod = (struct receipt_pod){
		.namespace = name.namespace,
		.name = name.name,
		.uid = eviction_text_kept(turn, str_from(uid)),
		.owner = name.owner,
		.gpu_memory = victim.charge,
		.lost = saturating_mul(MAX(lost_us, 0) / USEC_PER_SEC, victim.gpus),
	};
	if (victim.tenant != TABLE_NONE)
		ret_pod->tenant = cluster_tenant_name(cluster, victim.tenant);
	return !str_empty(ret_pod->uid);
}

const struct receipt_pod *eviction_name_pods(struct eviction_turn *turn, const uint32_t *pods,
					     size_t n)
{
	struct receipt_pod *list = arena_alloc(&turn->reconciler->arena, n * sizeof(*list));

	for (size_t i = 0; list && i < n; i++)
		if (!eviction_name_pod(turn, pods[i], &list[i]))
			return NULL;
	return list;
}

static bool is_victim(const struct eviction_choice *choice, uint32_t pod)
{
	for (size_t i = 0; i < choice->n_victims; i++)
		if (choice->victims[i] == pod)
			return true;
	return false;
}

/* Who waits for it is no candidate, and not told of. */
bool eviction_spare(struct eviction_turn *turn, const struct eviction_choice *choice,
		    struct receipt *draft)
{
	const struct cluster *cluster = turn->reconciler->cluster;
	struct receipt_pod *spared =
		arena_alloc(&turn->reconciler->arena, RECEIPT_SPARED * sizeof(*spared));

	if (!spared)
		return false;
	for (uint32_t pod = cluster_node_pod(cluster, choice->node); pod != TABLE_NONE;
	     pod = cluster_node_pod_next(cluster, pod)) {
		if (cluster_pod_finished(cluster, pod) || is_victim(choice, pod) ||
		    pod == choice->ask->pod)
			continue;
		draft->n_spared_all++;
		if (draft->n_spared == RECEIPT_SPARED)
			continue;
		if (!eviction_name_pod(turn, pod, &spared[draft->n_spared]))
			return false;
		spared[draft->n_spared++].note = str_from(choice->why(cluster, choice->ask, pod));
	}
	draft->spared = spared;
	return true;
}

static struct str describe_limits(struct eviction_turn *turn)
{
	struct buf text;

	buf_init(&text, LIMIT_RECEIPT_TEXT);
	limits_describe(&turn->limits, &turn->facts.spec.protection, &text);
	return eviction_text_take(turn, &text);
}

static struct str make_id(struct eviction_turn *turn, const struct receipt *receipt)
{
	static const char *const begins[RECEIPT_CAUSE_COUNT] = {
		[RECEIPT_PENDING] = "pending",   [RECEIPT_OBJECTIVE] = "objective",
		[RECEIPT_MISMATCH] = "mismatch", [RECEIPT_OFFENDER] = "offender",
		[RECEIPT_IDLE] = "idle",
	};
	struct buf text;

	buf_init(&text, LIMIT_RECEIPT_ID);
	buf_printf(&text, "%s-%.*s-%lld", begins[receipt->cause],
		   STR_ARGS(receipt->beneficiary.uid),
		   (long long)(turn->now_real_us / USEC_PER_SEC));
	return eviction_text_take(turn, &text);
}

static bool reserve(struct eviction_turn *turn, const struct receipt *receipt, uint32_t pod)
{
	struct cluster *cluster = turn->reconciler->cluster;
	const struct receipt_pod *self = &receipt->beneficiary;

	if (str_empty(receipt->node))
		return true; /* nothing is held */
	return cluster_reserve(
		cluster,
		&(struct cluster_hold){
			.id = receipt->id,
			.tenant = turn->facts.name,
			.node = cluster_node_find(cluster, receipt->node),
			.cards = receipt->cards,
			.tier = turn->facts.spec.tier,
			.namespace = self->namespace,
			.name = self->name,
			.uid = self->uid,
			.owner = receipt->cause == RECEIPT_MISMATCH ? self->owner : STR_NONE,
			.since_us = receipt->at_us,
			.until_us = receipt->held_until_us,
			.pod = pod,
			.objective = receipt->cause == RECEIPT_OBJECTIVE,
		});
}

static void tell_new(struct eviction_turn *turn, const struct receipt *receipt)
{
	const struct receipt_pod *self = &receipt->beneficiary;
	bool planned = receipt->outcome == RECEIPT_PLANNED;
	struct buf note;

	buf_init(&note, LIMIT_EVENT_NOTE);
	if (receipt->cause == RECEIPT_MISMATCH)
		buf_printf(&note, "Pod %.*s/%.*s of %.*s %s to be made anew on node %.*s",
			   STR_ARGS(self->namespace), STR_ARGS(self->name), STR_ARGS(self->owner),
			   planned ? "would be evicted (DryRun)" : "is evicted",
			   STR_ARGS(receipt->node));
	else if (str_empty(receipt->node))
		buf_printf(&note, "Pod %.*s/%.*s%s %s", STR_ARGS(self->namespace),
			   STR_ARGS(self->name), receipt->n_victims > 1 ? " with its gang" : "",
			   planned ? "would be evicted (DryRun)" : "is evicted");
	else
		buf_printf(&note, "%zu %s of node %.*s %s for pod %.*s/%.*s", receipt->n_victims,
			   receipt->n_victims == 1 ? "pod" : "pods", STR_ARGS(receipt->node),
			   planned ? "would be evicted (DryRun)" : "to be evicted",
			   STR_ARGS(self->namespace), STR_ARGS(self->name));
	buf_printf(&note, " (receipt %.*s). %.*s", STR_ARGS(receipt->id), STR_ARGS(receipt->proof));
	eviction_tell(turn, receipt, buf_str(&note));
	buf_clear(&note);
}

/* Others learn of it when its tenant's status is seen. */
static void keep_unseen(struct eviction_turn *turn, const struct receipt *receipt)
{
	struct eviction_unseen *unseen = &turn->reconciler->unseen;

	unseen->tenant = turn->tenant;
	unseen->under_way = true;
	unseen->written = false;
	snprintf(unseen->id, sizeof(unseen->id), "%.*s", STR_ARGS(receipt->id));
}

bool eviction_issue(struct eviction_turn *turn, const struct receipt *draft, uint32_t pod)
{
	const struct protection_spec *protection = &turn->facts.spec.protection;
	bool planned = protection->mode == PROTECTION_DRY_RUN;
	struct receipt *receipt = &turn->receipts[turn->n_receipts];

	*receipt = *draft;
	receipt->id = make_id(turn, receipt);
	receipt->outcome = planned ? RECEIPT_PLANNED : RECEIPT_ISSUED;
	receipt->at_us = turn->now_real_us;
	receipt->settled_us = planned ? turn->now_real_us : 0;
	receipt->held_until_us = saturating_add(turn->now_real_us, protection->observation_us);
	receipt->limits = describe_limits(turn);
	if (str_empty(receipt->id) || (!planned && !reserve(turn, receipt, pod)))
		return false;
	turn->issued = receipt->id;
	turn->n_receipts++;
	keep_unseen(turn, receipt);
	eviction_look_again(turn, receipt->held_until_us);
	tell_new(turn, receipt);
	return true;
}
