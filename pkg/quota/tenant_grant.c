/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two ends of a tenant's decision: who is granted how much of the ceiling, and how much of it
 * each may hold now, when others may still hold what was theirs before.
 */
#include "base/checked.h"
#include "base/macros.h"
#include "model/feedback.h"
#include "quota/tenant_internal.h"

/* --- accept */

/* What the ceiling has left. Without one it does not get less. */
struct room {
	bool endless;
	int64_t left;
};

static struct room room_of(int64_t ceiling)
{
	if (ceiling == AMOUNT_NONE)
		return (struct room){true, INT64_MAX};
	return (struct room){false, MAX(ceiling, 0)};
}

static int64_t take(struct room *room, int64_t amount)
{
	amount = MIN(amount, room->left);
	if (!room->endless)
		room->left -= amount;
	return amount;
}

static int64_t wants(const struct tenant_member *m)
{
	return m->asks ? MAX(m->wants, 0) : 0;
}

static int64_t wants_gpus(const struct tenant_member *m)
{
	return m->asks ? MAX(m->wants_gpus, 0) : 0;
}

/* The oldest take first, so what a cut ceiling lacks is the youngest's. Who keeps no memory keeps
 * no cards: they would be nobody's. */
static void keep_granted(struct tenant_work *d, struct room *memory, struct room *gpus)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct tenant_member *m = d->parties[i].member;
		struct tenant_grant *grant = d->parties[i].grant;

		grant->granted = take(memory, MIN(MAX(m->granted, 0), wants(m)));
		if (grant->granted > 0)
			grant->granted_gpus =
				take(gpus, MIN(MAX(m->granted_gpus, 0), wants_gpus(m)));
	}
}

static void raise_granted(struct tenant_work *d, struct room *memory, struct room *gpus)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct tenant_member *m = d->parties[i].member;
		struct tenant_grant *grant = d->parties[i].grant;
		int64_t more = wants(m) - grant->granted;
		int64_t more_gpus = wants_gpus(m) - grant->granted_gpus;

		grant->outcome = GRANT_FULL;
		if (more > memory->left || more_gpus > gpus->left) {
			grant->outcome = GRANT_NO_ROOM;
			continue;
		}
		grant->granted += take(memory, more);
		grant->granted_gpus += take(gpus, more_gpus);
	}
}

void tenant_accept(struct tenant_work *d)
{
	struct room memory = room_of(d->view->ceiling), gpus = room_of(d->view->ceiling_gpus);

	keep_granted(d, &memory, &gpus);
	raise_granted(d, &memory, &gpus);
	for (size_t i = 0; i < d->n; i++) {
		const struct tenant_member *m = d->parties[i].member;
		struct tenant_grant *grant = d->parties[i].grant;

		if (grant->outcome != GRANT_NO_ROOM)
			continue;
		grant->missing = MAX(wants(m) - grant->granted - memory.left, 0);
		grant->missing_gpus = MAX(wants_gpus(m) - grant->granted_gpus - gpus.left, 0);
	}
}

/* --- give */

/* More than any number of members can hold. */
#define ENDLESS ((wide_sum)INT64_MAX * INT64_MAX)

static void set_goals(struct tenant_share *share, int64_t before, int64_t own, int64_t target)
{
	share->goals[GIVING_AGAIN] = MIN(target, MAX(before, 0));
	share->goals[GIVING_OWN] = own;
	share->goals[GIVING_ALL] = target;
}

/*
 * Up to what it holds anyway costs no room. Where there is too little already, this goes no further
 * than both what was decided before and what is enforced: use may fall, and what is seen may be
 * old.
 */
static void give_held(struct tenant_share *share, int64_t enforced, wide_sum room)
{
	share->given = MIN(share->goals[GIVING_ALL], share->held);
	if (room < 0)
		share->given = MIN(share->given, MIN(share->goals[GIVING_AGAIN], MAX(enforced, 0)));
}

static void give(struct tenant_share *share, enum giving pass, wide_sum *room)
{
	int64_t more = share->goals[pass] - share->given;

	/* Where there is room, it is given no less than it holds or is meant to: this is on top. */
	if (more <= 0 || *room <= 0)
		return;
	more = (int64_t)MIN((wide_sum)more, *room);
	share->given += more;
	*room -= more;
}

/*
 * Without a ceiling own grants wait for nobody. What is borrowed waits all the same, for what
 * donors let go: beside the grants only those who have no part in loans may hold more.
 */
static wide_sum give_without_ceiling(struct tenant_work *d)
{
	wide_sum room = 0;

	for (size_t i = 0; i < d->n; i++) {
		struct tenant_party *p = &d->parties[i];
		struct tenant_share *share = &p->memory;
		bool apart = p->loan == 0 && p->stands == 0 && p->carries == 0 && p->adds == 0;
		int64_t granted = p->grant->granted;

		share->given = MAX(share->given, share->goals[GIVING_OWN]);
		room += apart ? MAX(granted, share->held) : granted;
		room -= MAX(share->given, share->held);
	}
	return room;
}

/* What the ceiling leaves. Where somebody may hold anything, that may be too little already. */
static wide_sum room_left(const struct tenant_work *d, int64_t ceiling, wide_sum held)
{
	wide_sum room = (wide_sum)MAX(ceiling, 0) - held;

	if (ceiling == AMOUNT_NONE)
		return ENDLESS;
	for (size_t i = 0; i < d->n; i++)
		if (d->parties[i].member->unknown)
			return MIN(room, -1);
	return room;
}

static void give_memory(struct tenant_work *d)
{
	wide_sum held = 0, room;

	for (size_t i = 0; i < d->n; i++) {
		struct tenant_party *p = &d->parties[i];
		int64_t lends = saturating_add(p->carries, p->adds);
		int64_t own = MAX(saturating_sub(p->grant->granted, lends), 0);

		set_goals(&p->memory, p->member->effective, own, saturating_add(own, p->loan));
		held += p->memory.held;
	}
	room = room_left(d, d->view->ceiling, held);
	for (size_t i = 0; i < d->n; i++)
		give_held(&d->parties[i].memory, d->parties[i].member->enforced, room);
	if (d->view->ceiling == AMOUNT_NONE)
		room = give_without_ceiling(d);
	for (int pass = 0; pass < GIVINGS; pass++)
		for (size_t i = 0; i < d->n; i++)
			give(&d->parties[i].memory, (enum giving)pass, &room);
}

static void give_gpus(struct tenant_work *d)
{
	wide_sum held = 0, room;

	for (size_t i = 0; i < d->n; i++) {
		struct tenant_party *p = &d->parties[i];
		int64_t granted = p->grant->granted_gpus;

		set_goals(&p->gpus, p->member->effective_gpus, granted, granted);
		held += p->gpus.held;
	}
	room = room_left(d, d->view->ceiling_gpus, held);
	for (size_t i = 0; i < d->n; i++)
		give_held(&d->parties[i].gpus, d->parties[i].member->enforced_gpus, room);
	for (int pass = 0; pass < GIVINGS; pass++)
		for (size_t i = 0; i < d->n; i++)
			give(&d->parties[i].gpus, (enum giving)pass, &room);
}

static bool waits(const struct tenant_share *share)
{
	return share->given < share->goals[GIVING_OWN];
}

static void withhold(struct tenant_grant *grant, int64_t percent)
{
	int64_t left = throttle_part(MAX(grant->effective, 0), THROTTLE_WHOLE - percent);

	if (percent == 0)
		return;
	grant->withheld = MAX(grant->effective, 0) - left;
	grant->withheld_gpus = throttle_part(MAX(grant->effective_gpus, 0), percent);
}

void tenant_give(struct tenant_work *d)
{
	give_memory(d);
	give_gpus(d);
	for (size_t i = 0; i < d->n; i++) {
		struct tenant_party *p = &d->parties[i];

		p->grant->effective = p->memory.given;
		p->grant->effective_gpus = p->gpus.given;
		withhold(p->grant, d->view->withhold);
		if (p->grant->outcome == GRANT_FULL && (waits(&p->memory) || waits(&p->gpus)))
			p->grant->outcome = GRANT_WAITS;
	}
}
