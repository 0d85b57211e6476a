/* SPDX-License-Identifier: Apache-2.0 */
/* The choice among holders: one pass, which keeps the best. */
#include "quota/shrink.h"

static int64_t units_held(const struct quota_holder *holder, struct str resource)
{
	for (size_t i = 0; i < holder->n_units; i++)
		if (str_equal(holder->units[i].resource, resource))
			return holder->units[i].count;
	return 0;
}

/* How much of what there is too much of would end with the holder. */
static int64_t held_of(const struct quota_excess *excess, const struct quota_holder *holder)
{
	switch (excess->kind) {
	case EXCESS_MEMORY:
		return holder->charge;
	case EXCESS_GPUS:
		return holder->gpus;
	case EXCESS_RESOURCE:
		return units_held(holder, excess->name);
	case EXCESS_NONE:
	case EXCESS_PRODUCT_MEMORY:
	case EXCESS_PRODUCT_GPUS:
		break;
	}
	return 0;
}

static bool goes_before(const struct quota_holder *a, const struct quota_holder *b)
{
	if (!b)
		return true;
	if (a->created_us != b->created_us)
		return a->created_us > b->created_us;
	return str_compare(a->name, b->name) < 0;
}

const struct quota_holder *quota_shrink_next(const struct quota_excess *excess,
					     const struct quota_holder *holders, size_t n_holders,
					     struct quota_blocked *ret_blocked)
{
	const struct quota_holder *next = NULL;
	struct quota_blocked blocked = {0};

	*ret_blocked = blocked;
	for (size_t i = 0; i < n_holders; i++) {
		const struct quota_holder *holder = &holders[i];

		if (holder->terminating)
			return NULL;
		if (held_of(excess, holder) > 0 && !holder->blocked && goes_before(holder, next))
			next = holder;
	}
	for (size_t i = 0; i < n_holders; i++) {
		const struct quota_holder *holder = &holders[i];

		if (!holder->blocked || held_of(excess, holder) <= 0 ||
		    (next && goes_before(next, holder)))
			continue;
		blocked.n++;
		if (goes_before(holder, blocked.first))
			blocked.first = holder;
	}
	*ret_blocked = blocked;
	return next;
}
