/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing statuses: what a reader would see, and what of it may wait. */
#include <string.h>

#include "quota/internal.h"

static bool same_entitlement(const struct quota_status *a, const struct quota_status *b)
{
	return a->observed_generation == b->observed_generation && a->effective == b->effective &&
	       a->granted == b->granted && a->lent == b->lent && a->borrowed == b->borrowed &&
	       a->granted_gpus == b->granted_gpus && a->effective_gpus == b->effective_gpus &&
	       str_equal(a->tenant, b->tenant) && a->dry_run.since_us == b->dry_run.since_us;
}

static bool same_use(const struct quota_status *a, const struct quota_status *b)
{
	return a->used == b->used && a->live == b->live && a->gpus_used == b->gpus_used &&
	       a->used_percent == b->used_percent && a->pods == b->pods &&
	       a->released == b->released && a->released_pods == b->released_pods;
}

static bool same_dry_run(const struct dry_run_status *a, const struct dry_run_status *b)
{
	if (a->through_us != b->through_us || a->refused != b->refused || a->n_rows != b->n_rows)
		return false;
	for (size_t i = 0; i < a->n_rows; i++)
		if (!str_equal(a->rows[i].kind, b->rows[i].kind) ||
		    !str_equal(a->rows[i].name, b->rows[i].name) ||
		    a->rows[i].pods != b->rows[i].pods ||
		    a->rows[i].gpu_memory != b->rows[i].gpu_memory)
			return false;
	return true;
}

/* All of the rows but their use. */
static bool same_offers(const struct quota_status *a, const struct quota_status *b)
{
	if (a->n_rows != b->n_rows)
		return false;
	for (size_t i = 0; i < a->n_rows; i++) {
		const struct quota_row *left = &a->rows[i], *right = &b->rows[i];

		if (!str_equal(left->resource, right->resource) ||
		    !str_equal(left->product, right->product) ||
		    left->unit_memory != right->unit_memory || left->hard != right->hard ||
		    left->sharing != right->sharing)
			return false;
	}
	return true;
}

static bool same_classes(const struct quota_classes *a, const struct quota_classes *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!str_equal(a->list[i].name, b->list[i].name) ||
		    !str_equal(a->list[i].resource, b->list[i].resource))
			return false;
	return true;
}

static bool same_row_use(const struct quota_status *a, const struct quota_status *b)
{
	for (size_t i = 0; i < a->n_rows; i++)
		if (a->rows[i].used != b->rows[i].used)
			return false;
	return true;
}

static bool same_verdicts(const struct quota_status *a, const struct quota_status *b)
{
	for (int i = 0; i < QUOTA_CONDITION_COUNT; i++)
		if (a->conditions[i].status != b->conditions[i].status ||
		    a->conditions[i].reason != b->conditions[i].reason)
			return false;
	return true;
}

/* These messages carry amounts in use; all others change with entitlements alone. */
static bool tells_use(int condition)
{
	return condition == QUOTA_EXCEEDED || condition == QUOTA_PRICED;
}

static bool same_messages(const struct quota_status *a, const struct quota_status *b, bool of_use)
{
	for (int i = 0; i < QUOTA_CONDITION_COUNT; i++)
		if (tells_use(i) == of_use &&
		    strcmp(a->conditions[i].message, b->conditions[i].message) != 0)
			return false;
	return true;
}

bool quota_status_urgent(const struct quota_status *old, const struct quota_status *new)
{
	return !same_entitlement(old, new) || !same_offers(old, new) ||
	       !same_classes(&old->classes, &new->classes) || !same_verdicts(old, new) ||
	       !same_messages(old, new, false);
}

bool quota_status_equal(const struct quota_status *a, const struct quota_status *b)
{
	return a->unshown == b->unshown && !quota_status_urgent(a, b) && same_use(a, b) &&
	       same_row_use(a, b) && same_dry_run(&a->dry_run, &b->dry_run) &&
	       same_messages(a, b, true);
}
