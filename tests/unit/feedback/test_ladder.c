/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder of throttling, as stories: at which second which verdict, and where it stands then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "feedback/ladder.h"

#define START_US (1000000 * USEC_PER_SEC)

static const struct feedback_pace pace = FEEDBACK_PACE_DEFAULT;
#define MOMENTS 16

#define BAD                           \
	.outcome = FEEDBACK_ABNORMAL, \
	.bad = FEEDBACK_BIT(FEEDBACK_MEMORY) | FEEDBACK_BIT(FEEDBACK_PCIE)
#define GOOD .outcome = FEEDBACK_NORMAL
#define NONE .outcome = FEEDBACK_CANNOT_TELL

struct moment {
	int64_t at_s;
	struct feedback_verdict verdict;
	enum throttle_step step;
	int64_t percent;
	int64_t until_s; /* 0: no time of its own */
};

struct story {
	const char *sentence;
	struct feedback_spec spec;
	struct moment moments[MOMENTS]; /* as long as at_s rises */
};

/* The usual spec, but for what is named: that comes last, and counts. */
#pragma GCC diagnostic ignored "-Woverride-init"
#define SPEC(...)                                                                      \
	{                                                                              \
		.mode = FEEDBACK_THROTTLE, .decrease = 30, .recover = 10, .floor = 50, \
		.override = AMOUNT_NONE, __VA_ARGS__                                   \
	}

static const struct story stories[] = {
	{"alert, down step by step to the floor, and up when the cause is gone",
	 SPEC(),
	 {{0, {BAD}, THROTTLE_ALERT, 100, 60},
	  {59, {BAD}, THROTTLE_ALERT, 100, 60},
	  {60, {BAD}, THROTTLE_NO_NEW_GRANTS, 70, 240},
	  {239, {BAD}, THROTTLE_NO_NEW_GRANTS, 70, 240},
	  {240, {BAD}, THROTTLE_NO_NEW_GRANTS, 50, 840},
	  {360, {GOOD}, THROTTLE_RELEASE, 50, 420},
	  {419, {GOOD}, THROTTLE_RELEASE, 50, 420},
	  {420, {GOOD}, THROTTLE_RELEASE, 60, 480},
	  {660, {GOOD}, THROTTLE_NONE, 100, 0}}},
	{"an alert that is answered in time takes nothing",
	 SPEC(),
	 {{0, {BAD}, THROTTLE_ALERT, 100, 60}, {30, {GOOD}, THROTTLE_NONE, 100, 0}}},
	{"with mode Alert nothing is ever taken",
	 SPEC(.mode = FEEDBACK_ALERT),
	 {{0, {BAD}, THROTTLE_ALERT, 100, 60},
	  {600, {BAD}, THROTTLE_ALERT, 100, 60},
	  {6000, {BAD}, THROTTLE_ALERT, 100, 60},
	  {6001, {GOOD}, THROTTLE_NONE, 100, 0}}},
	{"with mode Off nothing is told",
	 SPEC(.mode = FEEDBACK_OFF),
	 {{0, {BAD}, THROTTLE_NONE, 100, 0}}},
	{"unknown begins nothing",
	 SPEC(),
	 {{0, {NONE}, THROTTLE_NONE, 100, 0}, {600, {NONE}, THROTTLE_NONE, 100, 0}}},
	{"an alert of which nobody can tell any more throttles nobody",
	 SPEC(),
	 {{0, {BAD}, THROTTLE_ALERT, 100, 60}, {60, {NONE}, THROTTLE_NONE, 100, 0}}},
	{"where nobody can tell, the next step is up",
	 SPEC(),
	 {{0, {BAD}, THROTTLE_ALERT, 100, 60},
	  {60, {BAD}, THROTTLE_NO_NEW_GRANTS, 70, 240},
	  {100, {NONE}, THROTTLE_NO_NEW_GRANTS, 70, 240},
	  {240, {NONE}, THROTTLE_RELEASE, 70, 300},
	  {300, {NONE}, THROTTLE_RELEASE, 80, 360},
	  {420, {NONE}, THROTTLE_NONE, 100, 0}}},
	{"who has just begun to look waits until it has seen enough",
	 SPEC(),
	 {{0, {BAD}, THROTTLE_ALERT, 100, 60},
	  {60, {BAD}, THROTTLE_NO_NEW_GRANTS, 70, 240},
	  {250, {NONE, .fresh = true}, THROTTLE_NO_NEW_GRANTS, 70, 240},
	  {300, {BAD}, THROTTLE_NO_NEW_GRANTS, 50, 900}}},
	{"abnormal again on the way up goes down from there",
	 SPEC(),
	 {{0, {BAD}, THROTTLE_ALERT, 100, 60},
	  {60, {BAD}, THROTTLE_NO_NEW_GRANTS, 70, 240},
	  {120, {GOOD}, THROTTLE_RELEASE, 70, 180},
	  {240, {GOOD}, THROTTLE_RELEASE, 90, 300},
	  {250, {BAD}, THROTTLE_NO_NEW_GRANTS, 63, 430}}},
	{"without effect it is released, rests, and rests for longer after the next try",
	 SPEC(.recover = 50),
	 {{0, {BAD}, THROTTLE_ALERT, 100, 60},
	  {60, {BAD}, THROTTLE_NO_NEW_GRANTS, 70, 240},
	  {240, {BAD}, THROTTLE_NO_NEW_GRANTS, 50, 840},
	  {840, {BAD}, THROTTLE_RELEASE, 50, 900},
	  {860, {BAD}, THROTTLE_RELEASE, 50, 900},
	  {900, {BAD}, THROTTLE_REST, 100, 1800},
	  {1060, {BAD}, THROTTLE_REST, 100, 1800},
	  {1800, {BAD}, THROTTLE_ALERT, 100, 1860},
	  {1860, {BAD}, THROTTLE_NO_NEW_GRANTS, 70, 2040},
	  {2040, {BAD}, THROTTLE_NO_NEW_GRANTS, 50, 2640},
	  {2640, {BAD}, THROTTLE_RELEASE, 50, 2700},
	  {2700, {BAD}, THROTTLE_REST, 100, 4500},
	  {4500, {GOOD}, THROTTLE_NONE, 100, 0},
	  {4501, {BAD}, THROTTLE_ALERT, 100, 4561}}},
	{"the offender goes where that is allowed and it is known, after the time at the floor",
	 SPEC(.evict_offender = true, .floor = 70),
	 {{0, {BAD}, THROTTLE_ALERT, 100, 60},
	  {60, {BAD}, THROTTLE_NO_NEW_GRANTS, 70, 660},
	  {600, {BAD, .has_offender = true}, THROTTLE_NO_NEW_GRANTS, 70, 660},
	  {660, {BAD, .has_offender = true}, THROTTLE_EVICT_OFFENDER, 70, 1260},
	  {700, {GOOD}, THROTTLE_RELEASE, 70, 760}}},
	{"an eviction that did not help is not waited for",
	 SPEC(.evict_offender = true, .floor = 70),
	 {{0, {BAD}, THROTTLE_ALERT, 100, 60},
	  {60, {BAD}, THROTTLE_NO_NEW_GRANTS, 70, 660},
	  {660, {BAD, .has_offender = true}, THROTTLE_EVICT_OFFENDER, 70, 1260},
	  {1260, {BAD, .has_offender = true}, THROTTLE_RELEASE, 70, 1320},
	  {1330, {BAD}, THROTTLE_RELEASE, 80, 1380},
	  {1340, {BAD}, THROTTLE_RELEASE, 80, 1380},
	  {1500, {BAD}, THROTTLE_REST, 100, 2400}}},
	{"a try that does have an effect ends the row of those that had none",
	 SPEC(.recover = 50, .floor = 70),
	 {{0, {BAD}, THROTTLE_ALERT, 100, 60},
	  {60, {BAD}, THROTTLE_NO_NEW_GRANTS, 70, 660},
	  {660, {BAD}, THROTTLE_RELEASE, 70, 720},
	  {720, {BAD}, THROTTLE_REST, 100, 1620},
	  {1620, {BAD}, THROTTLE_ALERT, 100, 1680},
	  {1680, {BAD}, THROTTLE_NO_NEW_GRANTS, 70, 2280},
	  {1700, {GOOD}, THROTTLE_RELEASE, 70, 1760},
	  {1760, {GOOD}, THROTTLE_NONE, 100, 0}}},
	{"nobody goes where the spec does not allow it",
	 SPEC(.floor = 70),
	 {{0, {BAD}, THROTTLE_ALERT, 100, 60},
	  {60, {BAD, .has_offender = true}, THROTTLE_NO_NEW_GRANTS, 70, 660},
	  {660, {BAD, .has_offender = true}, THROTTLE_RELEASE, 70, 720}}},
	{"nobody goes where no pod is proven to be the one",
	 SPEC(.evict_offender = true, .floor = 70),
	 {{0, {BAD}, THROTTLE_ALERT, 100, 60},
	  {60, {BAD}, THROTTLE_NO_NEW_GRANTS, 70, 660},
	  {660, {BAD}, THROTTLE_RELEASE, 70, 720}}},
	{"an override holds whatever is seen, also with Off and under the floor",
	 SPEC(.mode = FEEDBACK_OFF, .override = 20),
	 {{0, {BAD}, THROTTLE_OVERRIDE, 20, 0}, {6000, {GOOD}, THROTTLE_OVERRIDE, 20, 0}}},
	{"an override that ends gives everything back at once",
	 SPEC(.override = 20, .override_until_us = START_US + 100 * USEC_PER_SEC),
	 {{0, {GOOD}, THROTTLE_OVERRIDE, 20, 100},
	  {99, {BAD}, THROTTLE_OVERRIDE, 20, 100},
	  {100, {BAD}, THROTTLE_NONE, 100, 0},
	  {101, {BAD}, THROTTLE_ALERT, 100, 161}}},
	{"a floor of 100 takes nothing and comes to an end all the same",
	 SPEC(.floor = 100),
	 {{0, {BAD}, THROTTLE_ALERT, 100, 60},
	  {60, {BAD}, THROTTLE_NO_NEW_GRANTS, 100, 660},
	  {660, {BAD}, THROTTLE_REST, 100, 1560}}},
};

static void tell(const struct story *story, const struct moment *moment, const struct throttle *got)
{
	int64_t until_s = got->until_us ? (got->until_us - START_US) / USEC_PER_SEC : 0;

	if (got->step == moment->step && got->percent == moment->percent &&
	    until_s == moment->until_s)
		return;
	fail_msg("%s: at %lld s it is %s, %lld %%, until %lld s", story->sentence,
		 (long long)moment->at_s, throttle_step_text(got->step), (long long)got->percent,
		 (long long)until_s);
}

static void test_stories(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(stories); i++) {
		struct throttle t = THROTTLE_NOTHING;

		for (size_t j = 0; j < MOMENTS; j++) {
			const struct moment *m = &stories[i].moments[j];

			if (j > 0 && m->at_s <= m[-1].at_s)
				break;
			t = feedback_step(&t, &stories[i].spec, &pace, &m->verdict,
					  START_US + m->at_s * USEC_PER_SEC);
			tell(&stories[i], m, &t);
		}
	}
}

static const struct feedback_verdict abnormal = {BAD}, normal = {GOOD}, cannot_tell = {NONE};

static void test_a_release_ends_with_nothing_left(void **state)
{
	const struct feedback_spec spec = SPEC();
	struct throttle t = {THROTTLE_RELEASE, 90, 5, START_US, START_US, 0};

	(void)state;
	t = feedback_step(&t, &spec, &pace, &normal, START_US);
	assert_true(throttle_equal(&t, &THROTTLE_NOTHING));
}

static void test_minutes_that_nobody_was_there_for_count(void **state)
{
	const struct feedback_spec spec = SPEC();
	struct throttle t = {THROTTLE_RELEASE, 50, 5, START_US, START_US, 0};

	(void)state;
	t = feedback_step(&t, &spec, &pace, &normal, START_US + 3 * USEC_PER_MIN);
	assert_int_equal(t.percent, 90);
	assert_true(t.until_us == START_US + 4 * USEC_PER_MIN);
}

static void test_who_changes_the_mode_is_released(void **state)
{
	const struct feedback_spec off = SPEC(.mode = FEEDBACK_OFF),
				   alert = SPEC(.mode = FEEDBACK_ALERT);
	const struct throttle at = {THROTTLE_NO_NEW_GRANTS,  50, 5, START_US,
				    START_US + USEC_PER_MIN, 0};

	(void)state;
	assert_int_equal(feedback_step(&at, &off, &pace, &abnormal, START_US).step,
			 THROTTLE_RELEASE);
	assert_int_equal(feedback_step(&at, &alert, &pace, &abnormal, START_US).step,
			 THROTTLE_RELEASE);
}

static void test_no_rest_is_for_ever(void **state)
{
	const struct feedback_spec spec = SPEC(.recover = 100);
	struct throttle t = {THROTTLE_RELEASE, 50, 5, START_US, START_US, THROTTLE_TRIES_MOST};

	(void)state;
	t = feedback_step(&t, &spec, &pace, &abnormal, START_US);
	assert_int_equal(t.step, THROTTLE_REST);
	assert_true(t.until_us == START_US + FEEDBACK_REST_TIMES * FEEDBACK_REST_US);
}

static void test_a_raised_floor_holds_at_once(void **state)
{
	const struct feedback_spec spec = SPEC(.floor = 80);
	const struct throttle at = {THROTTLE_NO_NEW_GRANTS,  50, 5, START_US,
				    START_US + USEC_PER_MIN, 0};

	(void)state;
	assert_int_equal(feedback_step(&at, &spec, &pace, &abnormal, START_US).percent, 80);
}

static void test_a_clock_that_is_set_back_keeps_nobody_down(void **state)
{
	const struct feedback_spec spec = SPEC();
	const struct throttle at = {THROTTLE_NO_NEW_GRANTS,       50, 5, START_US,
				    START_US + FEEDBACK_FLOOR_US, 0};
	struct throttle t = feedback_step(&at, &spec, &pace, &cannot_tell, START_US / 2);

	(void)state;
	assert_true(t.since_us <= START_US / 2);
	assert_true(t.until_us <= START_US / 2 + FEEDBACK_FLOOR_US);
}

static void test_the_cause_stands_with_it(void **state)
{
	const struct feedback_spec spec = SPEC();
	struct throttle t = THROTTLE_NOTHING;
	char text[THROTTLE_CAUSE_SIZE];

	(void)state;
	t = feedback_step(&t, &spec, &pace, &abnormal, START_US);
	assert_int_equal(t.signals, abnormal.bad);
	throttle_cause(t.signals, text);
	assert_string_equal(text, "pods use more GPU memory than they were granted and pods move "
				  "more over PCIe than isolation allows");
	throttle_cause(FEEDBACK_BIT(FEEDBACK_SIGNAL_COUNT) - 1, text);
	assert_true(strlen(text) < THROTTLE_CAUSE_SIZE - 1);
	assert_non_null(strstr(text, "and containers crash over and over"));
	throttle_cause(0, text);
	assert_string_equal(text, "");
}

static void test_a_part_is_never_too_much(void **state)
{
	(void)state;
	assert_true(throttle_part(INT64_MAX, 100) == INT64_MAX);
	assert_int_equal(throttle_part(199, 50), 99);
	assert_int_equal(throttle_part(1, 99), 0);
	assert_int_equal(throttle_part(7, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stories),
		cmocka_unit_test(test_a_release_ends_with_nothing_left),
		cmocka_unit_test(test_minutes_that_nobody_was_there_for_count),
		cmocka_unit_test(test_who_changes_the_mode_is_released),
		cmocka_unit_test(test_no_rest_is_for_ever),
		cmocka_unit_test(test_a_raised_floor_holds_at_once),
		cmocka_unit_test(test_a_clock_that_is_set_back_keeps_nobody_down),
		cmocka_unit_test(test_the_cause_stands_with_it),
		cmocka_unit_test(test_a_part_is_never_too_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
