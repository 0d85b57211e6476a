/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ordered list of limits. Each looks at the receipts and says how many victims it leaves, and
 * when to ask again where that is none; the first that leaves none gives the verdict.
 */
#include "plan/limits.h"

#include "base/checked.h"
#include "base/clock.h"
#include "base/macros.h"

#define MINUTE_US (60 * USEC_PER_SEC)

struct question {
	const struct limits_view *view;
	const struct protection_spec *spec;
	const struct receipt_pod *beneficiary;
};

/* What one limit says. */
struct share {
	size_t left;
	int64_t again_us;
};

static const struct share no_limit = {SIZE_MAX, TIME_NEVER};

/* --- receipts */

static bool evicted(const struct receipt *receipt)
{
	return receipt->outcome != RECEIPT_PLANNED && receipt->outcome != RECEIPT_REFUSED;
}

static bool counts(const struct receipt *receipt, const struct protection_spec *spec)
{
	return evicted(receipt) ||
	       (receipt->outcome == RECEIPT_PLANNED && spec->mode == PROTECTION_DRY_RUN);
}

static bool is_within(const struct receipt *receipt, int64_t span_us, int64_t now_real_us)
{
	return saturating_add(receipt->at_us, span_us) > now_real_us;
}

static bool is_same(const struct receipt_pod *a, const struct receipt_pod *b)
{
	if (!str_empty(a->uid) && str_equal(a->uid, b->uid))
		return true;
	return !str_empty(a->owner) && str_equal(a->owner, b->owner) &&
	       str_equal(a->namespace, b->namespace);
}

static int64_t doubled(int64_t us, size_t times)
{
	while (times-- > 0 && us < RECEIPT_LOOKS_BACK_US)
		us *= 2;
	return MIN(us, RECEIPT_LOOKS_BACK_US);
}

static size_t rest_of(size_t most, size_t used)
{
	return used < most ? most - used : 0;
}

/* --- the limits */

bool limits_brake(const struct limits_view *view)
{
	uint64_t down = (uint64_t)view->nodes_not_ready * 1000;

	return down > (uint64_t)view->nodes * LIMITS_BRAKE_PERMILLE;
}

static struct share brake(const struct question *q)
{
	return limits_brake(q->view) ? (struct share){0, TIME_NEVER} : no_limit;
}

static struct share receipts(const struct question *q)
{
	struct share share = no_limit;
	size_t n = 0, victims = 0;

	for (size_t i = 0; i < q->view->n_own; i++) {
		const struct receipt *receipt = &q->view->own[i];

		if (!is_within(receipt, RECEIPT_LOOKS_BACK_US, q->view->now_real_us))
			continue;
		n++;
		victims += receipt->n_victims;
		share.again_us =
			MIN(share.again_us, saturating_add(receipt->at_us, RECEIPT_LOOKS_BACK_US));
	}
	share.left = n < RECEIPTS_MOST ? rest_of(LIMITS_VICTIMS_KEPT, victims) : 0;
	return share;
}

static size_t used_in_a_minute(const struct limits_view *view, const struct protection_spec *spec,
			       int64_t *ret_again_us)
{
	size_t used = 0;

	*ret_again_us = TIME_NEVER;
	for (size_t i = 0; i < view->n_own; i++) {
		const struct receipt *receipt = &view->own[i];

		if (!counts(receipt, spec) || !is_within(receipt, MINUTE_US, view->now_real_us))
			continue;
		used += receipt->n_victims;
		*ret_again_us = MIN(*ret_again_us, saturating_add(receipt->at_us, MINUTE_US));
	}
	return used;
}

static struct share per_tenant(const struct question *q)
{
	struct share share;
	size_t used = used_in_a_minute(q->view, q->spec, &share.again_us);

	share.left = rest_of(q->spec->per_minute, used);
	return share;
}

static struct share until(const struct question *q, int64_t at_us)
{
	return at_us > q->view->now_real_us ? (struct share){0, at_us} : no_limit;
}

static struct share cooldown(const struct question *q)
{
	int64_t last_us = INT64_MIN;

	for (size_t i = 0; i < q->view->n_own; i++)
		if (counts(&q->view->own[i], q->spec) &&
		    is_same(&q->view->own[i].beneficiary, q->beneficiary))
			last_us = MAX(last_us, q->view->own[i].at_us);
	return until(q, saturating_add(last_us, q->spec->cooldown_us));
}

static bool was_in_vain(const struct receipt *receipt)
{
	return receipt->outcome == RECEIPT_INEFFECTIVE || receipt->outcome == RECEIPT_REFUSED;
}

/* Those in vain since the last that was not. */
static struct share ineffective(const struct question *q)
{
	int64_t useful_us = INT64_MIN, last_us = INT64_MIN;
	size_t in_vain = 0;

	for (size_t i = 0; i < q->view->n_own; i++) {
		const struct receipt *receipt = &q->view->own[i];

		if (is_same(&receipt->beneficiary, q->beneficiary) && evicted(receipt) &&
		    !was_in_vain(receipt))
			useful_us = MAX(useful_us, receipt->at_us);
	}
	for (size_t i = 0; i < q->view->n_own; i++) {
		const struct receipt *receipt = &q->view->own[i];

		if (!is_same(&receipt->beneficiary, q->beneficiary) || !was_in_vain(receipt) ||
		    receipt->at_us < useful_us)
			continue;
		in_vain++;
		last_us = MAX(last_us, MAX(receipt->at_us, receipt->settled_us));
	}
	if (in_vain == 0)
		return no_limit;
	return until(q, saturating_add(last_us, doubled(LIMITS_INEFFECTIVE_US, in_vain - 1)));
}

/* @ret_again_us: when the first of them is settled at the latest. */
static size_t open_victims(const struct receipt *list, size_t n, int64_t *ret_again_us)
{
	size_t open = 0;

	for (size_t i = 0; i < n; i++) {
		if (list[i].outcome != RECEIPT_ISSUED)
			continue;
		for (size_t j = 0; j < list[i].n_victims; j++)
			open += str_empty(list[i].victims[j].note) ? 1 : 0;
		*ret_again_us = MIN(*ret_again_us, list[i].held_until_us);
	}
	return open;
}

static size_t in_flight_of(const struct limits_view *view, int64_t *ret_again_us)
{
	*ret_again_us = TIME_NEVER;
	return view->shrinking + open_victims(view->own, view->n_own, ret_again_us) +
	       open_victims(view->others, view->n_others, ret_again_us);
}

static struct share in_flight(const struct question *q)
{
	struct share share;
	size_t open = in_flight_of(q->view, &share.again_us);

	share.left = rest_of(LIMITS_IN_FLIGHT, open);
	return share;
}

void limits_decide(const struct limits_view *view, const struct protection_spec *spec,
		   const struct receipt_pod *beneficiary, struct limits_answer *ret_answer)
{
	static const struct {
		enum limit_verdict verdict;
		struct share (*ask)(const struct question *);
	} limits[] = {
		{LIMITED_BRAKE, brake},
		{LIMITED_RECEIPTS, receipts},
		{LIMITED_PER_TENANT, per_tenant},
		{LIMITED_COOLDOWN, cooldown},
		{LIMITED_INEFFECTIVE, ineffective},
		{LIMITED_IN_FLIGHT, in_flight},
	};
	const struct question question = {view, spec, beneficiary};
	struct limits_answer answer = {LIMITED_FREE, RECEIPT_VICTIMS, TIME_NEVER};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct share share = limits[i].ask(&question);

		if (share.left == 0) {
			*ret_answer = (struct limits_answer){limits[i].verdict, 0, share.again_us};
			return;
		}
		answer.left = MIN(answer.left, share.left);
	}
	*ret_answer = answer;
}

const char *limit_verdict_text(enum limit_verdict verdict)
{
	static const char *const texts[] = {
#define X(name, text) [LIMITED_##name] = text,
		LIMIT_VERDICTS(X)
#undef X
	};

	return texts[verdict];
}

/* --- workloads */

struct losses {
	size_t n;
	int64_t last_us;
};

static bool has_victim(const struct receipt *receipt, struct str namespace, struct str owner)
{
	for (size_t i = 0; i < receipt->n_victims; i++)
		if (str_equal(receipt->victims[i].owner, owner) &&
		    str_equal(receipt->victims[i].namespace, namespace))
			return true;
	return false;
}

static void count_losses(const struct receipt *list, size_t n, const struct receipt_pod *of,
			 int64_t now_real_us, struct losses *losses)
{
	for (size_t i = 0; i < n; i++) {
		if (!evicted(&list[i]) ||
		    !is_within(&list[i], RECEIPT_LOOKS_BACK_US, now_real_us) ||
		    !has_victim(&list[i], of->namespace, of->owner))
			continue;
		losses->n++;
		losses->last_us = MAX(losses->last_us, list[i].at_us);
	}
}

int64_t limits_owner_until(const struct limits_view *view, struct str namespace, struct str owner)
{
	const struct receipt_pod of = {.namespace = namespace, .owner = owner};
	struct losses losses = {0, INT64_MIN};
	int64_t until_us;

	if (str_empty(owner))
		return 0;
	count_losses(view->own, view->n_own, &of, view->now_real_us, &losses);
	count_losses(view->others, view->n_others, &of, view->now_real_us, &losses);
	if (losses.n == 0)
		return 0;
	until_us = saturating_add(losses.last_us, doubled(LIMITS_OWNER_US, losses.n - 1));
	return until_us > view->now_real_us ? until_us : 0;
}

static bool names_victim(const struct receipt *list, size_t n, struct str uid)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < list[i].n_victims; k++)
			if (list[i].outcome == RECEIPT_ISSUED &&
			    str_equal(list[i].victims[k].uid, uid))
				return true;
	return false;
}

bool limits_helps(const struct limits_view *view, const struct receipt_pod *beneficiary)
{
	for (size_t i = 0; i < view->n_own; i++)
		if (view->own[i].outcome == RECEIPT_ISSUED &&
		    is_same(&view->own[i].beneficiary, beneficiary))
			return true;
	return false;
}

bool limits_names_victim(const struct limits_view *view, struct str uid)
{
	return names_victim(view->own, view->n_own, uid) ||
	       names_victim(view->others, view->n_others, uid);
}

void limits_describe(const struct limits_view *view, const struct protection_spec *spec,
		     struct buf *buf)
{
	int64_t again_us;

	buf_printf(buf, "%zu of %u evictions in a minute, ",
		   used_in_a_minute(view, spec, &again_us), spec->per_minute);
	buf_printf(buf, "%zu of %d under way", in_flight_of(view, &again_us), LIMITS_IN_FLIGHT);
}
