/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_QUOTA_INTERNAL_H
#define GPUQOS_QUOTA_INTERNAL_H

#include "quota/decide.h"

/* The steps of quota_decide(), for decide.c alone. Each reads the view and what is before it. */
struct decision {
	const struct quota_view *view; /* borrowed */
	struct arena *arena;           /* borrowed */
	bool accepted;                 /* the quota governs and its spec can be used */
	size_t rows_left_out;          /* beyond LIMIT_STATUS_RESOURCES */
	struct quota_plan plan;
};

/* hard.c: what `effective` buys. -1 with LIMIT when the arena is full. */
int decide_hard(struct decision *d, struct error *err);
int decide_rows(struct decision *d, struct error *err);

/* conditions.c: all conditions, from the finished rest of the plan. */
void decide_conditions(struct decision *d);

/* status.c: whether two statuses differ in more than use. */
bool quota_status_urgent(const struct quota_status *old, const struct quota_status *new);

/* hard.c: whether two lists sorted by name are the same. */
bool amounts_equal(const struct resource_amount *a, size_t n_a, const struct resource_amount *b,
		   size_t n_b);
/* hard.c: a copy with its names, sorted by name; NULL when the arena is full. */
struct resource_amount *amounts_copy(struct arena *arena, const struct resource_amount *amounts,
				     size_t n);
/* hard.c: LIMIT, the arena is full. Returns -1. */
int decide_no_memory(struct error *err);

#endif
