/* SPDX-License-Identifier: Apache-2.0 */
/* What counts as abnormal, from samples every ten seconds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "feedback/watch.h"

#define START_US (1000000 * USEC_PER_SEC)
#define EVERY_US (10 * USEC_PER_SEC)

struct world {
	struct feedback_watch watch;
	struct isolation_spec spec;
	struct feedback_pod pods[2];
	struct feedback_facts facts;
	int64_t now_us;
};

static int setup(void **state)
{
	static struct world w;
	const struct feedback_pod pod = {
		.key = 1, .granted = 10 * GIB, .memory = 9 * GIB, .utilisation = 20, .pcie = 1000};

	w = (struct world){.spec = {1000000, 50, 10}, .now_us = START_US};
	w.pods[0] = w.pods[1] = pod;
	w.pods[1].key = 2;
	w.facts =
		(struct feedback_facts){.pods = w.pods, .n_pods = 2, .grace_us = FEEDBACK_GRACE_US};
	*state = &w;
	return 0;
}

#define HUNGRY (12 * GIB)
#define BUSY   80

/* Looks for so long, with samples as fresh as can be. */
static void look(struct world *w, int64_t seconds)
{
	for (int64_t end = w->now_us + seconds * USEC_PER_SEC; w->now_us < end;) {
		w->now_us += EVERY_US;
		w->pods[0].sample_us = w->pods[1].sample_us = w->now_us;
		feedback_watch_look(&w->watch, &w->spec, &w->facts, w->now_us);
	}
}

static struct feedback_verdict verdict(struct world *w, uint32_t cause)
{
	return feedback_watch_verdict(&w->watch, cause, w->now_us);
}

static void test_two_signals_for_the_grace_period_are_abnormal(void **state)
{
	struct world *w = *state;

	w->pods[0].memory = HUNGRY;
	w->pods[0].utilisation = BUSY;
	look(w, 60);
	assert_int_not_equal(verdict(w, 0).outcome, FEEDBACK_ABNORMAL);
	look(w, 10);
	assert_int_equal(verdict(w, 0).outcome, FEEDBACK_ABNORMAL);
	assert_int_equal(verdict(w, 0).bad,
			 FEEDBACK_BIT(FEEDBACK_MEMORY) | FEEDBACK_BIT(FEEDBACK_UTILISATION));
	assert_true(verdict(w, 0).has_offender);
	assert_int_equal(verdict(w, 0).offender, 1);
}

static void test_one_signal_never_is(void **state)
{
	struct world *w = *state;

	w->pods[0].memory = HUNGRY;
	look(w, 3600);
	assert_int_equal(verdict(w, 0).outcome, FEEDBACK_NORMAL);
	assert_int_equal(verdict(w, 0).bad, FEEDBACK_BIT(FEEDBACK_MEMORY));
}

static void test_two_signals_of_one_family_are_one(void **state)
{
	struct world *w = *state;

	w->pods[0].pcie = 2000000;
	w->facts.mismatched = 5;
	look(w, 600);
	assert_int_equal(verdict(w, 0).outcome, FEEDBACK_NORMAL);
	w->facts.crashes = FEEDBACK_CRASHES_BAD;
	w->pods[0].pcie = 0;
	look(w, 600);
	assert_int_equal(verdict(w, 0).outcome, FEEDBACK_ABNORMAL);
	assert_false(verdict(w, 0).has_offender);
}

static void test_two_pods_that_are_bad_in_one_thing_each_are_no_offenders(void **state)
{
	struct world *w = *state;

	w->pods[0].memory = HUNGRY;
	w->pods[1].utilisation = BUSY;
	look(w, 120);
	assert_int_equal(verdict(w, 0).outcome, FEEDBACK_ABNORMAL);
	assert_false(verdict(w, 0).has_offender);
}

static void test_what_is_the_cards_proves_nothing(void **state)
{
	struct world *w = *state;

	w->pods[0].memory = HUNGRY;
	w->pods[0].utilisation = BUSY;
	w->pods[0].shared = UINT32_MAX;
	look(w, 600);
	assert_int_equal(verdict(w, 0).outcome, FEEDBACK_NORMAL);
	assert_int_equal(verdict(w, 0).bad, 0);
	assert_true(verdict(w, 0).unknown & FEEDBACK_BIT(FEEDBACK_MEMORY));
}

static void test_a_card_of_ones_own_may_be_busy(void **state)
{
	struct world *w = *state;

	w->pods[0].memory = HUNGRY;
	w->pods[0].utilisation = 100;
	w->pods[0].alone = true;
	look(w, 600);
	assert_int_equal(verdict(w, 0).bad, FEEDBACK_BIT(FEEDBACK_MEMORY));
}

static void test_unknown_is_not_bad(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 2; i++) {
		w->pods[i].memory = AMOUNT_UNKNOWN;
		w->pods[i].utilisation = AMOUNT_UNKNOWN;
		w->pods[i].pcie = AMOUNT_UNKNOWN;
	}
	w->facts.mismatched = w->facts.refusals = w->facts.crashes = AMOUNT_UNKNOWN;
	look(w, 3600);
	assert_int_equal(verdict(w, 0).outcome, FEEDBACK_CANNOT_TELL);
	assert_int_equal(
		verdict(w, FEEDBACK_BIT(FEEDBACK_MEMORY) | FEEDBACK_BIT(FEEDBACK_PCIE)).outcome,
		FEEDBACK_CANNOT_TELL);
}

static void test_a_grant_that_nobody_knows_is_not_exceeded(void **state)
{
	struct world *w = *state;

	w->pods[0].memory = HUNGRY;
	w->pods[0].granted = AMOUNT_UNKNOWN;
	look(w, 600);
	assert_false(verdict(w, 0).bad & FEEDBACK_BIT(FEEDBACK_MEMORY));
}

static void test_what_isolation_does_not_name_is_not_looked_at(void **state)
{
	struct world *w = *state;

	w->spec = (struct isolation_spec){AMOUNT_NONE, AMOUNT_NONE, AMOUNT_NONE};
	w->pods[0].memory = HUNGRY;
	w->pods[0].utilisation = BUSY;
	w->pods[0].pcie = INT64_MAX;
	look(w, 600);
	assert_int_equal(verdict(w, 0).bad, 0);
}

static void test_the_same_sample_again_is_no_evidence(void **state)
{
	struct world *w = *state;

	w->pods[0].memory = HUNGRY;
	w->pods[0].utilisation = BUSY;
	w->pods[0].sample_us = w->pods[1].sample_us = START_US;
	for (; w->now_us < START_US + 600 * USEC_PER_SEC; w->now_us += EVERY_US) {
		feedback_watch_look(&w->watch, &w->spec, &w->facts, w->now_us);
		assert_int_not_equal(verdict(w, 0).outcome, FEEDBACK_ABNORMAL);
	}
}

static void test_a_sample_from_the_future_is_none(void **state)
{
	struct world *w = *state;

	w->pods[0].memory = HUNGRY;
	w->pods[0].utilisation = BUSY;
	for (int i = 0; i < 60; i++) {
		w->now_us += EVERY_US;
		w->pods[0].sample_us = w->pods[1].sample_us = w->now_us + 60 * USEC_PER_SEC;
		feedback_watch_look(&w->watch, &w->spec, &w->facts, w->now_us);
	}
	assert_int_equal(verdict(w, 0).bad, 0);
}

static void test_one_odd_sample_changes_nothing(void **state)
{
	struct world *w = *state;

	w->pods[0].memory = HUNGRY;
	w->pods[0].utilisation = BUSY;
	look(w, 120);
	w->pods[0].memory = 0;
	look(w, 10);
	assert_int_equal(verdict(w, 0).outcome, FEEDBACK_ABNORMAL);
	w->pods[0].memory = HUNGRY;
	look(w, 10);
	w->pods[0].memory = 0;
	look(w, 30);
	assert_int_equal(verdict(w, 0).outcome, FEEDBACK_ABNORMAL);
	look(w, 10);
	assert_int_equal(verdict(w, 0).outcome, FEEDBACK_NORMAL);
	assert_false(verdict(w, 0).has_offender);
}

static void test_what_is_not_seen_any_more_is_unknown(void **state)
{
	struct world *w = *state;

	w->pods[0].memory = HUNGRY;
	w->pods[0].utilisation = BUSY;
	look(w, 120);
	w->now_us += FEEDBACK_STALE_US;
	assert_int_equal(verdict(w, 0).outcome, FEEDBACK_CANNOT_TELL);
	assert_int_equal(verdict(w, 0).bad, 0);
}

static void test_a_pod_that_is_not_measured_hides_behind_none(void **state)
{
	struct world *w = *state;
	uint32_t cause;

	w->pods[0].memory = HUNGRY;
	w->pods[0].utilisation = BUSY;
	look(w, 120);
	cause = verdict(w, 0).bad;
	w->pods[0].memory = w->pods[0].utilisation = AMOUNT_UNKNOWN;
	look(w, 70);
	assert_int_equal(verdict(w, cause).outcome, FEEDBACK_CANNOT_TELL);
}

static void test_the_cause_goes_with_the_pod(void **state)
{
	struct world *w = *state;
	uint32_t cause;

	w->pods[0].memory = HUNGRY;
	w->pods[0].utilisation = BUSY;
	look(w, 120);
	cause = verdict(w, 0).bad;
	w->facts.n_pods = 0;
	look(w, 40);
	assert_int_equal(verdict(w, cause).outcome, FEEDBACK_NORMAL);
	assert_int_equal(w->watch.n_suspects, 1);
	look(w, 40);
	assert_int_equal(w->watch.n_suspects, 0);
}

static void test_refusals_of_who_is_throttled_are_our_own_doing(void **state)
{
	struct world *w = *state;

	w->facts.refusals = FEEDBACK_REFUSALS_BAD;
	w->facts.throttled = true;
	look(w, 120);
	assert_false(verdict(w, 0).bad & FEEDBACK_BIT(FEEDBACK_REFUSALS));
	w->facts.throttled = false;
	look(w, 120);
	assert_true(verdict(w, 0).bad & FEEDBACK_BIT(FEEDBACK_REFUSALS));
}

static void test_who_has_just_begun_to_look_says_so(void **state)
{
	struct world *w = *state;

	look(w, 10);
	assert_true(verdict(w, 0).fresh);
	look(w, 120);
	assert_false(verdict(w, 0).fresh);
}

static void test_a_clock_that_is_set_back_begins_anew(void **state)
{
	struct world *w = *state;

	w->pods[0].memory = HUNGRY;
	w->pods[0].utilisation = BUSY;
	look(w, 120);
	w->now_us = START_US / 2;
	look(w, 10);
	assert_int_not_equal(verdict(w, 0).outcome, FEEDBACK_ABNORMAL);
	look(w, 120);
	assert_int_equal(verdict(w, 0).outcome, FEEDBACK_ABNORMAL);
	assert_false(verdict(w, 0).fresh);
}

static void test_samples_that_come_too_late_are_none(void **state)
{
	struct world *w = *state;

	w->pods[0].memory = HUNGRY;
	w->pods[0].utilisation = BUSY;
	for (int i = 0; i < 60; i++) {
		w->now_us += EVERY_US;
		w->pods[0].sample_us = w->pods[1].sample_us = w->now_us - FEEDBACK_STALE_US;
		feedback_watch_look(&w->watch, &w->spec, &w->facts, w->now_us);
	}
	assert_int_equal(w->watch.n_suspects, 0);
	assert_int_equal(verdict(w, 0).bad, 0);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_two_signals_for_the_grace_period_are_abnormal),
		TEST(test_one_signal_never_is),
		TEST(test_two_signals_of_one_family_are_one),
		TEST(test_two_pods_that_are_bad_in_one_thing_each_are_no_offenders),
		TEST(test_what_is_the_cards_proves_nothing),
		TEST(test_a_card_of_ones_own_may_be_busy),
		TEST(test_unknown_is_not_bad),
		TEST(test_a_grant_that_nobody_knows_is_not_exceeded),
		TEST(test_what_isolation_does_not_name_is_not_looked_at),
		TEST(test_the_same_sample_again_is_no_evidence),
		TEST(test_a_sample_from_the_future_is_none),
		TEST(test_samples_that_come_too_late_are_none),
		TEST(test_one_odd_sample_changes_nothing),
		TEST(test_what_is_not_seen_any_more_is_unknown),
		TEST(test_a_pod_that_is_not_measured_hides_behind_none),
		TEST(test_the_cause_goes_with_the_pod),
		TEST(test_refusals_of_who_is_throttled_are_our_own_doing),
		TEST(test_who_has_just_begun_to_look_says_so),
		TEST(test_a_clock_that_is_set_back_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
