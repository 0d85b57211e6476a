/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_QUOTA_TENANT_INTERNAL_H
#define GPUQOS_QUOTA_TENANT_INTERNAL_H

#include "base/checked.h"
#include "base/macros.h"
#include "quota/tenant.h"

/*
 * The steps of tenant_decide(), for tenant*.c alone: accept, lend, give, book, in this order. Each
 * reads what is before it.
 */

/* Exact for as many amounts of int64_t as there can be members. */
__extension__ typedef __int128 wide_sum;

/* Who carries a loan, in this order. Amounts are bytes of one member's own grant. */
enum lending {
	LENDING_WELL,   /* lent already, with two reserves of room left */
	LENDING_TIGHT,  /* lent already, with one to two left */
	LENDING_MORE,   /* not lent, and two are left when it is */
	LENDING_CALLED, /* lent already, and wanted back */
	LENDINGS
};

/* Room is given in this order, within each to the oldest first. */
enum giving {
	GIVING_AGAIN, /* what was given before, and may be on its way */
	GIVING_OWN,   /* what it is granted and does not lend */
	GIVING_ALL,   /* what it borrows, too */
	GIVINGS
};

/* Of one kind of amount: memory or whole cards. */
struct tenant_share {
	int64_t held;           /* what it holds whatever is decided now */
	int64_t goals[GIVINGS]; /* how far each pass raises it; the last is the whole target */
	int64_t given;          /* what it may hold from now on */
};

struct tenant_party {
	const struct tenant_member *member; /* borrowed */
	struct tenant_grant *grant;         /* of the result, borrowed */
	struct tenant_share memory, gpus;

	/* Of a borrower, bytes. */
	int64_t stands; /* what it holds of what it borrowed */
	int64_t keeps;  /* of that: what it need not give back by itself */
	int64_t wishes; /* what it would borrow in all */
	int64_t loan;   /* what it may borrow in all from now on */
	/* Of a donor, bytes. */
	int64_t lendings[LENDINGS]; /* what it can carry yet of each */
	int64_t carries;            /* of what stands */
	int64_t adds;               /* of what is to be lent anew */
};

struct tenant_work {
	const struct tenant_view *view;
	struct tenant_party *parties; /* oldest first */
	size_t n;
};

/* tenant_grant.c: granted, granted_gpus, outcome (but WAITS), missing, missing_gpus. */
void tenant_accept(struct tenant_work *d);
/* tenant_lend.c: loan, stands, carries, adds: what is to be, and what is on its way back. */
void tenant_lend(struct tenant_work *d);
/* tenant_grant.c: how much of its target each member may hold now. */
void tenant_give(struct tenant_work *d);
/* tenant_lend.c: borrowed, lent, recalled, by what is given. */
void tenant_book(struct tenant_work *d);

/* What a member counts as using, bytes. */
static inline int64_t tenant_use(const struct tenant_member *member)
{
	return saturating_add(MAX(member->used, 0), MAX(member->assumed, 0));
}

#endif
