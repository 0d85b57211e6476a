/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_QUOTA_INTERNAL_H
#define GPUQOS_QUOTA_INTERNAL_H

#include "base/macros.h"
#include "quota/decide.h"

/* The steps of quota_decide(), for decide.c alone. Each reads the view and what is before it. */
struct decision {
	const struct quota_view *view; /* borrowed */
	struct arena *arena;           /* borrowed */
	bool usable;                   /* the quota governs and its spec can be used */
	bool undecided;                /* the tenant has not said yet what the namespace gets */
	bool dry_run;                  /* usable, and nothing is to be enforced */
	int64_t gpus;                  /* whole cards that are allowed now, or AMOUNT_NONE */
	int64_t granted_gpus;          /* that it is entitled to, or AMOUNT_NONE */
	size_t rows_left_out;          /* beyond LIMIT_STATUS_RESOURCES */

	struct quota_excess excess;
	enum quota_reason excess_reason; /* where there is an excess */
	int64_t excess_since_us;         /* real; of a cut, see quota_reason_is_cut() */
	int64_t evict_from_us;           /* real; TIME_NEVER: nobody is evicted */
	struct quota_blocked blocked;

	struct quota_plan plan;
};

/* hard.c: what `effective` buys. -1 with LIMIT when the arena is full. */
int decide_hard(struct decision *d, struct error *err);
int decide_rows(struct decision *d, struct error *err);

/* shrink_cause.c: what is exceeded, why, and who has to go. After decide_rows(). */
void decide_excess(struct decision *d);

/* conditions.c: all conditions, from the finished rest of the plan. */
void decide_conditions(struct decision *d);

/* conditions_use.c: those about what is in use. They always fill @c and return true. */
bool decide_exceeded(struct decision *d, struct condition *c);
bool decide_priced(struct decision *d, struct condition *c);

/* conditions.c: fills @c, and adds to its message; where that is too long its end is cut. */
PRINTF_LIKE(4, 5)
bool condition_say(struct condition *c, enum condition_status status, enum quota_reason reason,
		   const char *format, ...);
PRINTF_LIKE(2, 3)
void condition_say_more(struct condition *c, const char *format, ...);

/* decide.c: time alone may change the verdict at @at_us, monotonic. */
void decide_again(struct decision *d, int64_t at_us);

/* status.c: whether two statuses differ in more than use. */
bool quota_status_urgent(const struct quota_status *old, const struct quota_status *new);

/* hard.c: whether two lists sorted by name are the same. */
bool amounts_equal(const struct resource_amount *a, size_t n_a, const struct resource_amount *b,
		   size_t n_b);
/* hard.c: a copy with its names, sorted by name; NULL when the arena is full. */
struct resource_amount *amounts_copy(struct arena *arena, const struct resource_amount *amounts,
				     size_t n);
/* hard.c: a copy of the text, terminated; false when the arena is full. */
bool name_copy(struct arena *arena, struct str name, struct str *ret_name);
/* hard.c: LIMIT, the arena is full. Returns -1. */
int decide_no_memory(struct error *err);

/* SHRUNK, RECALLED: onShrink says what follows. */
static inline bool quota_reason_is_cut(enum quota_reason reason)
{
	return reason == QUOTA_REASON_SHRUNK || reason == QUOTA_REASON_RECALLED;
}

static inline int64_t full_second(int64_t real_us)
{
	return real_us - real_us % USEC_PER_SEC;
}

#endif
