/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tenant's decision from its steps: members in their order, what the ceiling grants them, what
 * they lend each other, how much of it each may hold now, and the books.
 */
#include "quota/tenant.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/macros.h"
#include "quota/tenant_internal.h"

/* Older first. */
static int compare(const struct tenant_member *a, const struct tenant_member *b)
{
	if (a->created_us != b->created_us)
		return a->created_us < b->created_us ? -1 : 1;
	return str_compare(a->name, b->name);
}

static int compare_parties(const void *a, const void *b)
{
	const struct tenant_party *left = a, *right = b;

	return compare(left->member, right->member);
}

static void start(struct tenant_party *p, const struct tenant_member *m, struct tenant_grant *grant)
{
	*grant = (struct tenant_grant){0};
	*p = (struct tenant_party){.member = m, .grant = grant};
	p->memory.held = MAX(m->enforced, tenant_use(m));
	p->gpus.held = MAX(MAX(m->enforced_gpus, saturating_add(m->used_gpus, m->assumed_gpus)), 0);
}

static void order(struct tenant_work *d, struct tenant_grant *grants)
{
	const struct tenant_member *members = d->view->members;
	bool sorted = true;

	for (size_t i = 0; i < d->n; i++) {
		start(&d->parties[i], &members[i], &grants[i]);
		sorted = sorted && (i == 0 || compare(&members[i - 1], &members[i]) <= 0);
	}
	if (!sorted)
		qsort(d->parties, d->n, sizeof(*d->parties), compare_parties);
}

/* Somebody is given less than is meant for it, or has not given back what it should. */
static bool is_moving(const struct tenant_party *p)
{
	return p->memory.given < p->memory.goals[GIVING_ALL] ||
	       p->gpus.given < p->gpus.goals[GIVING_ALL] || p->grant->borrowed > p->loan;
}

static struct tenant_sums add_up(const struct tenant_work *d)
{
	struct tenant_sums sums = {0};

	for (size_t i = 0; i < d->n; i++) {
		const struct tenant_party *p = &d->parties[i];
		const struct tenant_grant *grant = p->grant;

		sums.granted = saturating_add(sums.granted, grant->granted);
		sums.granted_gpus = saturating_add(sums.granted_gpus, grant->granted_gpus);
		sums.used = saturating_add(sums.used, MAX(p->member->used, 0));
		sums.used_gpus = saturating_add(sums.used_gpus, MAX(p->member->used_gpus, 0));
		sums.lent = saturating_add(sums.lent, grant->lent);
		sums.moving = sums.moving || is_moving(p);
	}
	return sums;
}

int tenant_decide(const struct tenant_view *view, struct arena *arena,
		  struct tenant_grant *ret_grants, struct tenant_sums *ret_sums, struct error *err)
{
	struct tenant_work d = {.view = view, .n = view->n_members};

	d.parties = arena_alloc(arena, d.n * sizeof(*d.parties));
	if (!d.parties)
		return error_set(err, ERROR_LIMIT, "the decision takes more memory than it may");
	order(&d, ret_grants);
	tenant_accept(&d);
	tenant_lend(&d);
	tenant_give(&d);
	tenant_book(&d);
	*ret_sums = add_up(&d);
	return 0;
}
