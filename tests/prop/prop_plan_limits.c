/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tenants that evict as often as the limits let them, over hours: counted by hand, no limit is ever
 * exceeded; time alone never takes anything away; and neither the order of receipts nor a restart
 * that keeps only what a status keeps changes an answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "base/random.h"
#include "plan/limits.h"

#define ROUNDS  300
#define STEPS   120
#define TENANTS 2
#define START   (1000000 * USEC_PER_SEC)

struct world {
	struct random random;
	struct protection_spec spec;
	struct receipt receipts[TENANTS][STEPS];
	size_t n[TENANTS];
	int64_t now_us;
};

static struct receipt_pod victims[RECEIPT_VICTIMS];

static struct receipt_pod beneficiary(uint64_t i)
{
	static const char *const uids[] = {"a", "b", "c"};
	static const char *const owners[] = {"Job/a", "", "Job/a"};

	return (struct receipt_pod){.namespace = STR("ns"),
				    .uid = str_from(uids[i % 3]),
				    .owner = str_from(owners[i % 3])};
}

static struct limits_view view_of(const struct world *w, size_t tenant)
{
	return (struct limits_view){.own = w->receipts[tenant],
				    .n_own = w->n[tenant],
				    .others = w->receipts[1 - tenant],
				    .n_others = w->n[1 - tenant],
				    .nodes = 10,
				    .now_real_us = w->now_us};
}

static struct limits_answer ask(const struct world *w, const struct limits_view *view,
				const struct receipt_pod *for_whom)
{
	struct limits_answer answer;

	limits_decide(view, &w->spec, for_whom, &answer);
	return answer;
}

/* --- what must hold, counted anew */

static void check_minute(const struct world *w, size_t tenant)
{
	for (size_t i = 0; i < w->n[tenant]; i++) {
		const struct receipt *from = &w->receipts[tenant][i];
		size_t sum = 0;

		for (size_t j = 0; j < w->n[tenant]; j++) {
			const struct receipt *receipt = &w->receipts[tenant][j];

			if (receipt->outcome != RECEIPT_REFUSED && receipt->at_us >= from->at_us &&
			    receipt->at_us < from->at_us + 60 * USEC_PER_SEC)
				sum += receipt->n_victims;
		}
		assert_true(sum <= w->spec.per_minute);
	}
}

static void check_in_flight(const struct world *w)
{
	size_t open = 0;

	for (size_t t = 0; t < TENANTS; t++)
		for (size_t i = 0; i < w->n[t]; i++)
			if (w->receipts[t][i].outcome == RECEIPT_ISSUED)
				open += w->receipts[t][i].n_victims;
	assert_true(open <= LIMITS_IN_FLIGHT);
}

static void check_cooldown(const struct world *w, size_t tenant, const struct receipt *last)
{
	for (size_t i = 0; i + 1 < w->n[tenant]; i++) {
		const struct receipt *before = &w->receipts[tenant][i];

		if (before->outcome == RECEIPT_REFUSED ||
		    !str_equal(before->beneficiary.uid, last->beneficiary.uid))
			continue;
		assert_true(last->at_us - before->at_us >= w->spec.cooldown_us);
	}
}

/* Later there is at least as much; and who is told when to ask again is not told the past. */
static void check_time(struct world *w, size_t tenant, const struct receipt_pod *for_whom)
{
	struct limits_view view = view_of(w, tenant);
	struct limits_answer now = ask(w, &view, for_whom), later;

	view.now_real_us += (int64_t)random_below(&w->random, 4000 * USEC_PER_SEC);
	later = ask(w, &view, for_whom);
	assert_true(later.left >= now.left);
	assert_true(now.left > 0 || now.again_us > w->now_us);
}

static bool is_kept(const struct world *w, size_t tenant, size_t i)
{
	const struct receipt *receipt = &w->receipts[tenant][i];

	return receipt->outcome == RECEIPT_ISSUED ||
	       MAX(receipt->at_us, receipt->settled_us) + RECEIPT_LOOKS_BACK_US > w->now_us ||
	       i + RECEIPTS_KEPT >= w->n[tenant];
}

/* The same from what a status keeps, in another order. */
static void check_restart(struct world *w, size_t tenant, const struct receipt_pod *for_whom)
{
	static struct receipt kept[STEPS];
	struct limits_view view = view_of(w, tenant);
	struct limits_answer before = ask(w, &view, for_whom), after;
	size_t n = 0;

	for (size_t i = 0; i < w->n[tenant]; i++)
		if (is_kept(w, tenant, i))
			kept[n++] = w->receipts[tenant][i];
	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)random_below(&w->random, i);
		struct receipt other = kept[i - 1];

		kept[i - 1] = kept[j];
		kept[j] = other;
	}
	view.own = kept;
	view.n_own = n;
	after = ask(w, &view, for_whom);
	/* An older one in vain, before the hour, lengthens a wait no more. */
	if (before.verdict == LIMITED_INEFFECTIVE)
		return;
	assert_int_equal(after.verdict, before.verdict);
	assert_int_equal(after.left, before.left);
	assert_int_equal(after.again_us, before.again_us);
}

/* --- what happens */

static void issue(struct world *w, size_t tenant, const struct receipt_pod *for_whom, size_t most)
{
	struct receipt *receipt = &w->receipts[tenant][w->n[tenant]++];

	*receipt = (struct receipt){.id = STR("r"),
				    .outcome = RECEIPT_ISSUED,
				    .at_us = w->now_us,
				    .beneficiary = *for_whom,
				    .held_until_us = w->now_us + w->spec.observation_us,
				    .victims = victims,
				    .n_victims = 1 + (size_t)random_below(&w->random, most)};
	check_minute(w, tenant);
	check_in_flight(w);
	check_cooldown(w, tenant, receipt);
}

static void settle(struct world *w)
{
	static const enum receipt_outcome outcomes[] = {RECEIPT_HELPED, RECEIPT_INEFFECTIVE,
							RECEIPT_REFUSED, RECEIPT_MOOT};

	for (size_t t = 0; t < TENANTS; t++)
		for (size_t i = 0; i < w->n[t]; i++) {
			struct receipt *receipt = &w->receipts[t][i];

			if (receipt->outcome != RECEIPT_ISSUED ||
			    (random_below(&w->random, 4) && w->now_us < receipt->held_until_us))
				continue;
			receipt->outcome = outcomes[random_below(&w->random, 4)];
			receipt->settled_us = w->now_us;
		}
}

static void step(struct world *w)
{
	size_t tenant = (size_t)random_below(&w->random, TENANTS);
	struct receipt_pod for_whom = beneficiary(random_u64(&w->random));
	struct limits_view view;
	struct limits_answer answer;

	w->now_us += (int64_t)random_below(&w->random, 90 * USEC_PER_SEC);
	settle(w);
	view = view_of(w, tenant);
	answer = ask(w, &view, &for_whom);
	assert_int_equal(answer.left == 0, answer.verdict != LIMITED_FREE);
	check_time(w, tenant, &for_whom);
	check_restart(w, tenant, &for_whom);
	if (answer.left > 0)
		issue(w, tenant, &for_whom, answer.left);
}

static void no_limit_is_ever_exceeded(void **state)
{
	static struct world w;

	(void)state;
	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		memset(&w, 0, sizeof(w));
		random_init(&w.random, seed);
		w.now_us = START;
		w.spec = PROTECTION_DEFAULT;
		w.spec.mode = PROTECTION_ENFORCE;
		w.spec.per_minute = 1 + (uint32_t)random_below(&w.random, 60);
		w.spec.cooldown_us = (int64_t)random_below(&w.random, 600 * USEC_PER_SEC);
		for (int i = 0; i < STEPS; i++)
			step(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(no_limit_is_ever_exceeded)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
