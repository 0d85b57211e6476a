/* SPDX-License-Identifier: Apache-2.0 */
/* One step of the world, and the way to rest. */
#include "lib/world_events.h"

#include "base/clock.h"
#include "lib/world_api.h"
#include "lib/world_gates.h"
#include "lib/world_shell.h"
#include "lib/world_watcher.h"

static const enum cluster_kind kinds[] = {
#define X(id, member, text) CLUSTER_##id,
	WORLD_KINDS_X(X)
#undef X
};

static void deliver_some(struct world *w)
{
	enum cluster_kind kind = kinds[world_below(w, ARRAY_SIZE(kinds))];

	for (int64_t n = 1 + world_below(w, 4); n > 0 && world_deliver(w, kind); n--)
		;
}

static enum world_luck some_luck(struct world *w)
{
	if (world_chance(w, 12))
		return WORLD_REFUSED_WRITE;
	return world_chance(w, 30) ? WORLD_ANSWER_LOST : WORLD_ANSWERED;
}

static void rare(struct world *w)
{
	switch (world_below(w, 4)) {
	case 0:
		world_say("the controller restarts");
		world_shell_restart(w);
		break;
	case 1:
		world_say("the lease goes and comes back");
		world_shell_lead_again(w);
		break;
	case 2:
		world_relist(w, kinds[world_below(w, ARRAY_SIZE(kinds))]);
		break;
	default:
		w->now_us += 30 * WORLD_SECOND;
		break;
	}
}

void world_step(struct world *w)
{
	int64_t what = world_below(w, 100);

	w->now_us += world_below(w, 400) * 1000;
	if (what < 26)
		world_pods_step(w);
	else if (what < 32)
		world_people_step(w);
	else if (what < 56)
		deliver_some(w);
	else if (what < 72)
		world_shell_turn(w);
	else if (what < 88)
		world_shell_write(w, some_luck(w));
	else if (what < 94)
		world_sync_quota(w, (int)world_below(w, WORLD_SPACES));
	else if (what < 98)
		world_policy_sees(w, (int)world_below(w, WORLD_SPACES * WORLD_QUOTAS));
	else if (world_chance(w, 4))
		rare(w);
	world_check_step(w);
}

/* --- rest */

enum { ROUNDS = 1000 };

static bool carry_on(struct world *w)
{
	bool some = world_pods_settle(w);

	for (int s = 0; s < WORLD_SPACES; s++)
		some |= world_sync_quota(w, s);
	for (int q = 0; q < WORLD_SPACES * WORLD_QUOTAS; q++)
		world_policy_sees(w, q);
	some |= !world_all_seen(w);
	world_deliver_all(w);
	while (world_shell_turn(w))
		some = true;
	while (world_shell_write(w, WORLD_ANSWERED))
		some = true;
	world_check_step(w);
	return some;
}

static void lift_budgets(struct world *w)
{
	for (int i = 0; i < WORLD_SPACES * WORLD_PODS; i++)
		w->api.pods[i].protected = false;
}

/* Whom a budget keeps is asked again and again: that ends when the budgets do. */
bool world_settle(struct world *w)
{
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t written = w->written;
		int64_t again_us;

		if (round == ROUNDS / 10)
			lift_budgets(w);
		if (carry_on(w) && w->written != written)
			continue;
		if (!world_shell_is_idle(w, &again_us))
			continue;
		if (again_us == TIME_NEVER)
			return true;
		w->now_us = MAX(w->now_us, again_us);
	}
	return false;
}
