/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lending between a tenant's members. Loans have no two ends: what borrowers hold in all is carried
 * by donors in all, so one donor can take over what another wants back, and no borrower notices.
 *
 * What is called back stays on the books while it is held. What is to be lent anew comes on them
 * only as it is given; until then the donor is merely lowered. So a borrower that may hold less
 * than it borrowed is one that is called back, and a restart sees that, too.
 */
#include "base/checked.h"
#include "base/macros.h"
#include "quota/tenant_internal.h"

/* Over all members. */
struct sums {
	wide_sum stands, keeps;
	wide_sum asked_back; /* of what is kept: called back before, and still held */
	wide_sum lendings[LENDINGS];
};

/* --- what each could do */

static void look_at_borrower(struct tenant_party *p, int64_t borrowed)
{
	const struct tenant_member *m = p->member;
	int64_t granted = p->grant->granted, reserve = MAX(m->reserve, 0);
	int64_t room = saturating_sub(granted, tenant_use(m));
	int64_t holds = MAX(p->memory.held, m->effective);
	bool may = m->asks && granted > 0 && room < saturating_mul(reserve, 2);
	int64_t limit = may ? MAX(m->borrow_limit, 0) : 0;

	p->stands = MIN(borrowed, MAX(saturating_sub(holds, granted), 0));
	p->keeps = MIN(p->stands, limit);
	p->wishes = room < reserve ? limit : p->keeps;
	p->loan = p->keeps;
}

static void look_at_donor(struct tenant_party *p, int64_t borrowed, int64_t lent)
{
	const struct tenant_member *m = p->member;
	int64_t reserve = MAX(m->reserve, 0);
	int64_t room = saturating_sub(p->grant->granted, tenant_use(m));
	int64_t most = MAX(saturating_sub(room, saturating_mul(reserve, 2)), 0);
	int64_t well;

	if (borrowed > 0)
		return;
	well = MIN(lent, most);
	p->lendings[LENDING_WELL] = well;
	p->lendings[LENDING_MORE] = most - well;
	if (saturating_sub(room, lent) < reserve)
		p->lendings[LENDING_CALLED] = lent - well;
	else
		p->lendings[LENDING_TIGHT] = lent - well;
}

static void look(struct tenant_party *p)
{
	const struct tenant_member *m = p->member;
	int64_t borrowed = MAX(m->borrowed, 0), lent = MAX(m->lent, 0);
	int64_t both = MIN(borrowed, lent); /* statuses of different times; it holds the same */

	look_at_borrower(p, borrowed - both);
	look_at_donor(p, borrowed - both, lent - both);
}

static int64_t asked_back(const struct tenant_party *p)
{
	int64_t loan = saturating_sub(p->member->effective, MAX(p->member->granted, 0));

	return MAX(p->keeps - MAX(loan, 0), 0);
}

static struct sums add_up(struct tenant_work *d)
{
	struct sums sums = {0};

	for (size_t i = 0; i < d->n; i++) {
		const struct tenant_party *p = &d->parties[i];

		sums.stands += p->stands;
		sums.keeps += p->keeps;
		sums.asked_back += asked_back(p);
		for (int k = 0; k < LENDINGS; k++)
			sums.lendings[k] += p->lendings[k];
	}
	return sums;
}

/* --- calling back */

/* Takes @amount off what borrowers may keep, the youngest first; returns what is left of it. */
static wide_sum call_back(struct tenant_work *d, wide_sum amount, bool unused_only)
{
	for (size_t i = d->n; i-- > 0 && amount > 0;) {
		struct tenant_party *p = &d->parties[i];
		int64_t beyond = saturating_sub(tenant_use(p->member), p->grant->granted);
		int64_t needs = unused_only ? MIN(MAX(beyond, 0), p->keeps) : 0;
		int64_t less = (int64_t)MIN((wide_sum)MAX(p->loan - needs, 0), amount);

		p->loan -= less;
		amount -= less;
	}
	return amount;
}

/*
 * One who has less than a reserve begins a recall; what was begun goes on while anybody has less
 * than two.
 */
static wide_sum to_call_back(const struct sums *sums)
{
	wide_sum most = sums->keeps - sums->lendings[LENDING_WELL] - sums->lendings[LENDING_MORE];
	wide_sum least = most - sums->lendings[LENDING_TIGHT];

	return MAX(MIN(MAX(sums->asked_back, least), most), 0);
}

/* --- lending anew */

static bool wishes_more(const struct tenant_party *p)
{
	return p->wishes > p->loan;
}

/* What it takes to lift all who wish for more to @level. */
static wide_sum cost_of(const struct tenant_work *d, int64_t level)
{
	wide_sum cost = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct tenant_party *p = &d->parties[i];
		int64_t to = MIN(level, p->wishes);

		if (to > p->loan)
			cost += to - p->loan;
	}
	return cost;
}

/* The highest level that @amount pays for. */
static int64_t level_for(const struct tenant_work *d, wide_sum amount)
{
	int64_t low = 0, high = 0;

	for (size_t i = 0; i < d->n; i++)
		if (wishes_more(&d->parties[i]))
			high = MAX(high, d->parties[i].wishes);
	while (low < high) {
		int64_t middle = low + (high - low) / 2 + (high - low) % 2;

		if (cost_of(d, middle) <= amount)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Max-min: the least loan is raised first. The bytes that no level divides are the oldest's. */
static void share_out(struct tenant_work *d, wide_sum amount)
{
	int64_t level;

	if (amount <= 0)
		return;
	level = level_for(d, amount);
	for (size_t i = 0; i < d->n; i++) {
		struct tenant_party *p = &d->parties[i];
		int64_t to = MIN(level, p->wishes);

		if (to > p->loan) {
			amount -= to - p->loan;
			p->loan = to;
		}
	}
	for (size_t i = 0; i < d->n && amount > 0; i++) {
		struct tenant_party *p = &d->parties[i];

		if (p->loan == level && wishes_more(p)) {
			p->loan++;
			amount--;
		}
	}
}

/* What no loan that stands needs, of those who keep two reserves all the same. */
static wide_sum to_lend_anew(const struct sums *sums)
{
	wide_sum well = sums->lendings[LENDING_WELL], more = sums->lendings[LENDING_MORE];
	wide_sum taken_over = sums->stands - well - sums->lendings[LENDING_TIGHT];

	return MAX(well - sums->stands, 0) + MAX(more - MAX(taken_over, 0), 0);
}

/* --- who carries it */

static wide_sum carry(struct tenant_work *d, enum lending which, wide_sum amount, bool anew)
{
	for (size_t i = d->n; i-- > 0 && amount > 0;) {
		struct tenant_party *p = &d->parties[i];
		int64_t part = (int64_t)MIN((wide_sum)p->lendings[which], amount);

		p->lendings[which] -= part;
		*(anew ? &p->adds : &p->carries) += part;
		amount -= part;
	}
	return amount;
}

/*
 * A donor may have left the tenant, or its status was lost: then nobody carries a part of what is
 * borrowed. It is no loan any more, but held beyond what is allowed.
 */
static void forget(struct tenant_work *d, wide_sum amount)
{
	for (size_t i = d->n; i-- > 0 && amount > 0;) {
		struct tenant_party *p = &d->parties[i];
		int64_t part = (int64_t)MIN((wide_sum)MAX(p->stands - p->loan, 0), amount);

		p->stands -= part;
		amount -= part;
	}
}

static void carry_all(struct tenant_work *d, wide_sum stands)
{
	wide_sum anew = 0;

	for (int k = 0; k < LENDINGS; k++)
		stands = carry(d, (enum lending)k, stands, false);
	forget(d, stands);
	for (size_t i = 0; i < d->n; i++)
		anew += MAX(d->parties[i].loan - d->parties[i].stands, 0);
	anew = carry(d, LENDING_WELL, anew, true);
	carry(d, LENDING_MORE, anew, true);
}

void tenant_lend(struct tenant_work *d)
{
	struct sums sums;
	wide_sum back;

	for (size_t i = 0; i < d->n; i++)
		look(&d->parties[i]);
	sums = add_up(d);
	back = to_call_back(&sums);
	if (back > 0)
		call_back(d, call_back(d, back, true), false);
	else
		share_out(d, to_lend_anew(&sums));
	carry_all(d, sums.stands);
}

/* --- the books */

static wide_sum book_borrowed(struct tenant_work *d)
{
	wide_sum sum = 0;

	for (size_t i = 0; i < d->n; i++) {
		struct tenant_party *p = &d->parties[i];
		int64_t holds = MAX(p->memory.given, p->memory.held);
		int64_t beyond = MAX(saturating_sub(holds, p->grant->granted), 0);

		p->grant->borrowed = MIN(beyond, MAX(p->loan, p->stands));
		p->grant->recalled = p->loan < p->keeps && p->loan < p->grant->borrowed;
		sum += p->grant->borrowed;
	}
	return sum;
}

static wide_sum book_lent(struct tenant_work *d, wide_sum amount, bool anew)
{
	for (size_t i = d->n; i-- > 0 && amount > 0;) {
		struct tenant_party *p = &d->parties[i];
		int64_t part = (int64_t)MIN((wide_sum)(anew ? p->adds : p->carries), amount);

		p->grant->lent += part;
		amount -= part;
	}
	return amount;
}

void tenant_book(struct tenant_work *d)
{
	book_lent(d, book_lent(d, book_borrowed(d), false), true);
}
