/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What came of open receipts: whether the victims went, and whether who it was for has what was
 * made for it. A receipt ends at the latest when its room is no more held.
 */
#include <stdarg.h>

#include "api/body.h"
#include "base/checked.h"
#include "cluster/leaving/victims.h"
#include "cluster/looks.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "controller/evict_write.h"
#include "controller/eviction/turn.h"
#include "controller/writes.h"
#include "place/check.h"

/* --- asking */

static int64_t grace_s(const struct cluster_victim *victim)
{
	return MIN(victim->grace_us, victim->preemptible.grace_us) / USEC_PER_SEC;
}

static int write_notice(struct eviction_turn *turn, const struct receipt_pod *pod,
			struct str receipt, struct error *err)
{
	struct work_write *write =
		work_set_add(turn->set, KUBE_MERGE_PATCH, &api_pods, pod->namespace, pod->name);
	struct buf body;

	write->missing_is_fine = true;
	write->may_fail = true;
	write->unawaited = true;
	buf_init(&body, LIMIT_JSON_OUTPUT);
	api_body_eviction_notice(&body, pod->uid, receipt, turn->now_real_us);
	return write_give_body(write, &body, err);
}

int eviction_ask_one(struct eviction_turn *turn, const struct receipt *receipt,
		     const struct receipt_pod *pod, struct error *err)
{
	const struct cluster *cluster = turn->reconciler->cluster;
	uint32_t handle = cluster_pod_find(cluster, pod->namespace, pod->name, pod->uid);
	struct cluster_victim victim;

	if (handle == TABLE_NONE || turn->set->n_writes + 2 > LIMIT_WRITES_PER_RECONCILE)
		return 0;
	cluster_victim(cluster, handle, turn->now_us, turn->now_real_us, &victim);
	if (write_notice(turn, pod, receipt->id, err) < 0)
		return -1;
	return evict_write(turn->set,
			   &(struct evict_ask){pod->namespace, pod->name, pod->uid,
					       grace_s(&victim),
					       receipt_cause_text(receipt->cause)},
			   err);
}

int eviction_ask(struct eviction_turn *turn, const struct receipt *receipt, struct error *err)
{
	for (size_t i = 0; i < receipt->n_victims; i++)
		if (eviction_ask_one(turn, receipt, &receipt->victims[i], err) < 0)
			return -1;
	return 0;
}

/* --- settling */

void eviction_end(struct eviction_turn *turn, struct receipt *receipt, enum receipt_outcome outcome,
		  const char *format, ...)
{
	struct buf text;
	va_list args;

	buf_init(&text, LIMIT_RECEIPT_TEXT);
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	receipt->outcome = outcome;
	receipt->settled_us = turn->now_real_us;
	receipt->message = eviction_text_take(turn, &text);
	/* Its room is let go when its status is seen: it may not come to that. */
	turn->changed = true;
	eviction_tell(turn, receipt, receipt->message);
}

/* Where the successor of the pod that went is, as far as it is known. */
struct successor {
	uint32_t pod;      /* TABLE_NONE: none is seen */
	bool bound, there; /* there: on the node where room is held */
	enum topology_check check;
};

static bool is_successor(const struct cluster *cluster, uint32_t pod, const struct receipt *receipt)
{
	struct cluster_pod_name name = cluster_pod_name(cluster, pod);
	char uid[UID_TEXT_SIZE];

	uid_text(name.uid, uid);
	return !str_empty(name.owner) && str_equal(name.owner, receipt->beneficiary.owner) &&
	       !str_equal(str_from(uid), receipt->beneficiary.uid) &&
	       name.created_us >= receipt->at_us - receipt->at_us % USEC_PER_SEC;
}

static struct successor view_successor(const struct cluster *cluster, uint32_t pod,
				       const struct receipt *receipt)
{
	struct cluster_held held = cluster_held(cluster, pod);
	struct cluster_pod_name name = cluster_pod_name(cluster, pod);

	return (struct successor){pod, !str_empty(name.node), str_equal(name.node, receipt->node),
				  place_check(&held)};
}

static int rank(const struct successor *successor)
{
	return (successor->pod != TABLE_NONE) + successor->bound + 2 * successor->there +
	       4 * (successor->check == CHECK_AS_ASKED);
}

/* Of several the one for which it went best. */
static struct successor find_successor(const struct cluster *cluster, const struct receipt *receipt)
{
	uint32_t namespace = cluster_namespace_find(cluster, receipt->beneficiary.namespace);
	struct successor best = {TABLE_NONE, false, false, CHECK_UNCHECKED};

	if (namespace == TABLE_NONE)
		return best;
	for (uint32_t pod = cluster_namespace_pod(cluster, namespace); pod != TABLE_NONE;
	     pod = cluster_namespace_pod_next(cluster, pod)) {
		struct successor one;

		if (cluster_pod_finished(cluster, pod) || !is_successor(cluster, pod, receipt))
			continue;
		one = view_successor(cluster, pod, receipt);
		if (rank(&one) > rank(&best))
			best = one;
	}
	return best;
}

static void settle_in_the_end(struct eviction_turn *turn, struct receipt *receipt,
			      const struct successor *successor)
{
	struct cluster_pod_name name;

	if (successor->pod == TABLE_NONE) {
		eviction_end(turn, receipt, RECEIPT_INEFFECTIVE,
			     "%.*s made no other pod until the room was let go.",
			     STR_ARGS(receipt->beneficiary.owner));
		return;
	}
	name = cluster_pod_name(turn->reconciler->cluster, successor->pod);
	if (successor->there)
		eviction_end(turn, receipt, RECEIPT_HELPED,
			     "Pod %.*s is on node %.*s; which cards it has is not known.",
			     STR_ARGS(name.name), STR_ARGS(name.node));
	else if (successor->bound)
		eviction_end(turn, receipt, RECEIPT_INEFFECTIVE,
			     "Pod %.*s is on node %.*s, and not where room was held.",
			     STR_ARGS(name.name), STR_ARGS(name.node));
	else
		eviction_end(turn, receipt, RECEIPT_INEFFECTIVE,
			     "Pod %.*s was bound to no node until the room was let go.",
			     STR_ARGS(name.name));
}

static void judge_successor(struct eviction_turn *turn, struct receipt *receipt)
{
	struct successor successor = find_successor(turn->reconciler->cluster, receipt);
	struct cluster_pod_name name;

	if (successor.bound &&
	    (successor.check == CHECK_AS_ASKED || successor.check == CHECK_OTHER_CARDS ||
	     successor.check == CHECK_SPANS)) {
		bool spans = successor.check == CHECK_SPANS;

		name = cluster_pod_name(turn->reconciler->cluster, successor.pod);
		eviction_end(turn, receipt, spans ? RECEIPT_INEFFECTIVE : RECEIPT_HELPED,
			     "Pod %.*s is on node %.*s, and its cards %s.", STR_ARGS(name.name),
			     STR_ARGS(name.node),
			     spans ? "do not lie as is required either" : "lie as is required");
	} else if (turn->now_real_us >= receipt->held_until_us) {
		settle_in_the_end(turn, receipt, &successor);
	} else {
		eviction_look_again(turn, receipt->held_until_us);
	}
}

/*
 * Whether its tenant still wants it to be moved: a receipt says what was so when it was written,
 * and only who may be evicted by what is so now is asked again.
 */
static bool may_ask_again(const struct eviction_turn *turn, uint32_t pod,
			  const struct receipt_pod *moved, const struct cluster_victim *victim)
{
	const struct cluster *cluster = turn->reconciler->cluster;
	struct cluster_held held = cluster_held(cluster, pod);
	uint32_t namespace = cluster_namespace_find(cluster, moved->namespace);

	return !turn->facts.terminating && !turn->facts.invalid &&
	       turn->facts.spec.protection.mode != PROTECTION_DRY_RUN && namespace != TABLE_NONE &&
	       cluster_tenant_of(cluster, namespace) == turn->tenant &&
	       held.topology.policy == TOPOLOGY_REQUIRED &&
	       held.topology.on_mismatch == MISMATCH_MIGRATE && !victim->daemon &&
	       !victim->mirror && !victim->final && victim->gang == TABLE_NONE;
}

/* It is there still. */
static int judge_victim(struct eviction_turn *turn, struct receipt *receipt, uint32_t pod,
			struct error *err)
{
	struct cluster_victim victim;

	cluster_victim(turn->reconciler->cluster, pod, turn->now_us, turn->now_real_us, &victim);
	if (!victim.terminating && victim.refused) {
		eviction_end(turn, receipt, RECEIPT_REFUSED, "The pod was not evicted: %s.",
			     victim.refused);
		return 0;
	}
	if (turn->now_real_us >= receipt->held_until_us) {
		eviction_end(turn, receipt, RECEIPT_INEFFECTIVE,
			     "The pod was there still when the room was let go.");
		return 0;
	}
	eviction_look_again(turn, receipt->held_until_us);
	eviction_look_again_at(turn, &victim);
	if (victim.terminating || victim.finished || turn->set->n_writes >= EVICTION_AGAIN_MOST ||
	    !eviction_may_ask(turn) || !may_ask_again(turn, pod, &receipt->beneficiary, &victim))
		return 0;
	return eviction_ask_one(turn, receipt, &receipt->beneficiary, err);
}

static int judge_move(struct eviction_turn *turn, struct receipt *receipt, struct error *err)
{
	const struct receipt_pod *moved = &receipt->beneficiary;
	uint32_t pod = cluster_pod_find(turn->reconciler->cluster, moved->namespace, moved->name,
					moved->uid);

	if (pod != TABLE_NONE && !cluster_pod_finished(turn->reconciler->cluster, pod))
		return judge_victim(turn, receipt, pod, err);
	judge_successor(turn, receipt);
	return 0;
}

int eviction_settle(struct eviction_turn *turn, struct error *err)
{
	for (size_t i = 0; i < turn->n_receipts; i++) {
		struct receipt *receipt = &turn->receipts[i];
		int r = 0;

		if (receipt->outcome != RECEIPT_ISSUED)
			continue;
		if (receipt_is_ahead(receipt->at_us, turn->now_real_us)) {
			eviction_end(
				turn, receipt, RECEIPT_INEFFECTIVE,
				"Its time is more than an hour ahead of the controller's clock.");
			continue;
		}
		r = receipt->cause == RECEIPT_MISMATCH ? judge_move(turn, receipt, err)
						       : eviction_judge_served(turn, receipt, err);
		if (r < 0)
			return -1;
	}
	return 0;
}
