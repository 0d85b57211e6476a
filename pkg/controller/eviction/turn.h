/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_EVICTION_TURN_H
#define GPUQOS_CONTROLLER_EVICTION_TURN_H

#include "controller/eviction/reconcile.h"
#include "model/tenant.h"
#include "plan/cause.h"
#include "plan/limits.h"

/*
 * How the reconcile of a tenant's evictions is made:
 *   reconcile.c  gather, in which order what is done, the receipts' write
 *   settle.c     what came of open receipts
 *   served.c     likewise, where somebody went for one that stays
 *   receipt.c    a new receipt
 *   tell.c       Events, log, metrics
 *   room.c       for which pod that waits who goes
 *   relieve.c    who goes for a bad objective
 *   move.c       which pod is moved
 *   own.c        who goes for taking too much, or for doing nothing
 */
struct eviction_turn {
	struct eviction_reconciler *reconciler;
	uint32_t tenant; /* handle */
	struct tenant_facts facts;
	struct receipt *receipts; /* its own, the oldest first; with room for one more */
	size_t n_receipts;
	bool changed;      /* they are to be written */
	bool in_vain;      /* there is a pod for which nobody may go; why is told */
	bool undecided;    /* who is in vain may not be known yet: what was told before holds on */
	struct str issued; /* id of a new receipt; empty: there is none */
	struct limits_view limits;
	struct work_set *set;
	int64_t now_us, now_real_us;
};

/* Writes of one turn after which no eviction is asked for again; beside them there is a receipt
 * with its own. */
#define EVICTION_AGAIN_MOST 8

/* For how long a new receipt is waited for once its write is over: where nobody answered it may be
 * seen all the same; one that was answered may wait for its watch to be back. How often it is
 * looked for. */
#define EVICTION_UNSEEN_MOST_US    (2 * USEC_PER_SEC)
#define EVICTION_UNSEEN_WRITTEN_US (30 * USEC_PER_SEC)
#define EVICTION_UNSEEN_US         (20 * USEC_PER_MSEC)
/* At watches that are not back yet; for how long they are not before it is told. */
#define EVICTION_BEHIND_US      (USEC_PER_SEC / 10)
#define EVICTION_BEHIND_TOLD_US (2 * USEC_PER_SEC)
#define EVICTION_RELOOK_US      (10 * USEC_PER_SEC) /* at pods that wait to be moved */

void eviction_look_again(struct eviction_turn *turn, int64_t real_us);
/* When what came of asking it counts no more. */
void eviction_look_again_at(struct eviction_turn *turn, const struct cluster_victim *victim);
/* In the arena; empty where that is full. */
struct str eviction_text_kept(struct eviction_turn *turn, struct str text);
/* Likewise; @text is cleared. */
struct str eviction_text_take(struct eviction_turn *turn, struct buf *text);
/*
 * A receipt is to come to its outcome: logged, counted, told in an Event of the pod and of the
 * tenant, once its write was answered (written), or its tenant's status shows it in a later turn
 * (seen); else it is forgotten, but for a new receipt that is waited for (struct eviction_unseen).
 * The last forgets a tenant's, or all with TABLE_NONE.
 */
void eviction_tell(struct eviction_turn *turn, const struct receipt *receipt, struct str note);
void eviction_tell_written(struct eviction_reconciler *reconciler, uint32_t tenant);
void eviction_tell_seen(struct eviction_turn *turn);
void eviction_tell_none(struct eviction_reconciler *reconciler, uint32_t tenant);

/* What a plan of the turn's tenant asks for; of nobody in particular with TABLE_NONE. Nobody is
 * left alone yet (cause_left_alone()). */
struct plan_ask eviction_plan_ask(const struct eviction_turn *turn, uint32_t pod, size_t most);

/* Writes are added to the turn's set by both. */
int eviction_settle(struct eviction_turn *turn, struct error *err);
/* The pod as a receipt names it; texts in the arena, or the cluster's. False where that is full. */
bool eviction_name_pod(struct eviction_turn *turn, uint32_t pod, struct receipt_pod *ret_pod);
/* Several, in the arena; NULL. */
const struct receipt_pod *eviction_name_pods(struct eviction_turn *turn, const uint32_t *pods,
					     size_t n);
/* Who was chosen on a node, and why a pod that was not; borrowed. */
struct eviction_choice {
	uint32_t node;
	const uint32_t *victims;
	size_t n_victims;
	const struct plan_ask *ask;
	const char *(*why)(const struct cluster *cluster, const struct plan_ask *ask, uint32_t pod);
};

/* Fills in who is spared on that node, of the pods that hold GPUs. False: the arena is full. */
bool eviction_spare(struct eviction_turn *turn, const struct eviction_choice *choice,
		    struct receipt *draft);
/*
 * Adds a receipt of @draft: cause, beneficiary, objective, node, cards, proof, victims and who is
 * spared; reserves its room, for what @pod asks for, or TABLE_NONE. At most one in a turn. False:
 * there is none.
 */
bool eviction_issue(struct eviction_turn *turn, const struct receipt *draft, uint32_t pod);

/* A plan for a pod of the tenant is under way, and is not complete with this turn's nodes: until it
 * is, nothing else is looked at, so that a turn costs what its nodes do. */
bool eviction_searches(struct eviction_turn *turn);
/* Of a pod that has waited long enough, or else one whose objective is bad, for which nobody goes
 * now: what is known of @behind may be old (caches_behind()). Whoever of the tenant is in vain is
 * tried again once it is not. */
void eviction_tell_behind(struct eviction_turn *turn, struct str behind);
/* The worst pod of the first objective that is bad and that nobody was asked to go for, and to @why
 * which one that is; false: there is none. */
bool eviction_name_slowed(struct eviction_turn *turn, struct receipt_pod *self, struct buf *why);
/* Of those for whom nobody may go, who is in need no more: a pod that was bound, or all of whose
 * objectives were met. Whatever else a turn comes to: what is a need later is a new one, and begins
 * without back-off. */
void eviction_forget_met(struct eviction_turn *turn);
/* Before the writes, each of them unless there is a new receipt. */
void eviction_make_room(struct eviction_turn *turn);
void eviction_relieve(struct eviction_turn *turn);
void eviction_move(struct eviction_turn *turn);
void eviction_offend(struct eviction_turn *turn);
void eviction_reclaim(struct eviction_turn *turn);
/*
 * Nobody may go for a pod: its condition says so, and once an Event of it, but while help for it or
 * another pod of its workload is under way; it is tried again later.
 * @why: a clause that goes on after the pod's name.
 */
void eviction_in_vain(struct eviction_turn *turn, uint32_t pod, const struct receipt_pod *self,
		      struct str why);
/* Whether that was not long ago, and the pod has been in need ever since. */
bool eviction_waits_in_vain(struct eviction_turn *turn, uint32_t pod);
/* An outcome, with its sentence. */
void eviction_end(struct eviction_turn *turn, struct receipt *receipt, enum receipt_outcome outcome,
		  const char *format, ...) PRINTF_LIKE(4, 5);
/* Of causes whose beneficiary is not a victim itself. */
int eviction_judge_served(struct eviction_turn *turn, struct receipt *receipt, struct error *err);
/* Whether an open receipt's victims may be asked now, or again: not by what may be old, nor under
 * the brake. */
bool eviction_may_ask(struct eviction_turn *turn);
/* One victim's notice and eviction, where it is there still and the set has room for both. */
int eviction_ask_one(struct eviction_turn *turn, const struct receipt *receipt,
		     const struct receipt_pod *pod, struct error *err);
/* The victims' notice and eviction; those for whom the set has no room are asked in a later turn.
 */
int eviction_ask(struct eviction_turn *turn, const struct receipt *receipt, struct error *err);

/* Of OFFENDER and IDLE: whether it is over, which is told; whether a victim may still be asked. */
bool eviction_own_ended(struct eviction_turn *turn, struct receipt *receipt,
			const struct cause_seen *seen);
bool eviction_own_may_go(struct eviction_turn *turn, const struct receipt *receipt, uint32_t pod);

#endif
