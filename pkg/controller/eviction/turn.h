/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_EVICTION_TURN_H
#define GPUQOS_CONTROLLER_EVICTION_TURN_H

#include "controller/eviction/reconcile.h"
#include "model/tenant.h"
#include "plan/limits.h"

/*
 * How the reconcile of a tenant's evictions is made:
 *   reconcile.c  gather, in which order what is done, the receipts' write
 *   settle.c     what came of open receipts
 *   move.c       which pod is moved
 */
struct eviction_turn {
	struct eviction_reconciler *reconciler;
	uint32_t tenant; /* handle */
	struct tenant_facts facts;
	struct receipt *receipts; /* its own, the oldest first; with room for one more */
	size_t n_receipts;
	bool changed;        /* they are to be written */
	struct str reserved; /* id of a new receipt, for which room is held; empty: none */
	struct limits_view limits;
	struct work_set *set;
	int64_t now_us, now_real_us;
};

#define EVICTION_RELOOK_US (10 * USEC_PER_SEC) /* at pods that wait to be moved */

void eviction_look_again(struct eviction_turn *turn, int64_t real_us);
/* In the arena; empty where that is full. */
struct str eviction_text_kept(struct eviction_turn *turn, struct str text);
/* A receipt came to its outcome: logged, counted, told in an Event of the pod and of the tenant. */
void eviction_tell(struct eviction_turn *turn, const struct receipt *receipt, struct str note);

/* Writes are added to the turn's set by both. */
int eviction_settle(struct eviction_turn *turn, struct error *err);
/* Before the writes: adds at most one receipt, and reserves its room. */
void eviction_move(struct eviction_turn *turn);
/* The victims' notice and eviction. */
int eviction_ask(struct eviction_turn *turn, const struct receipt *receipt, bool notice,
		 struct error *err);

#endif
