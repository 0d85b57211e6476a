/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts: each fault of a signal by name, then how states begin and end. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "slo/slo.h"

#define SEC  USEC_PER_SEC
#define REAL (1700000000 * SEC)
#define OLD  (REAL - 600 * SEC)

/* A latency below 200 ms, looked at each 5 s, for a minute. */
static const struct objective_spec spec = {
	.preset = PRESET_VLLM_FIRST_TOKEN,
	.percentile = 95,
	.threshold = 200000,
	.direction = OBJECTIVE_BELOW,
	.for_us = 60 * SEC,
};
#define INTERVAL (5 * SEC)

/* --- one reading */

struct fault {
	const char *name;
	struct slo_point points[3];
	size_t n;
	int64_t answered_us;
	bool failed;
	enum objective_reason reason; /* also why there is no answer */
};

static const struct fault faults[] = {
	{"absent: no series at all", {{.value = 0}}, 0, 0, false, OBJECTIVE_REASON_ABSENT},
	{"stale: the newest scrape is ten minutes old",
	 {{0.1, 3, OLD, 1, false}, {0.2, 4, OLD, 2, false}},
	 2,
	 0,
	 false,
	 OBJECTIVE_REASON_STALE},
	{"stale: the series are scraped no more",
	 {{0.1, 3, 0, 1, true}, {0.2, 4, 0, 2, true}},
	 2,
	 0,
	 false,
	 OBJECTIVE_REASON_STALE},
	{"stale: an old pod is no voice against all zero",
	 {{0.1, 3, REAL, 1, true}, {NAN, 0, REAL, 2, false}},
	 2,
	 0,
	 false,
	 OBJECTIVE_REASON_ALL_ZERO},
	{"NaN: quantiles of empty histograms",
	 {{NAN, NAN, REAL, 1, false}},
	 1,
	 0,
	 false,
	 OBJECTIVE_REASON_NAN},
	{"NaN: infinity is no latency",
	 {{INFINITY, 1, REAL, 1, false}},
	 1,
	 0,
	 false,
	 OBJECTIVE_REASON_NAN},
	{"cloned: the same figures for all pods of a shared card",
	 {{0.3, 5, REAL, 1, false}, {0.3, 5, REAL, 2, false}, {0.3, 5, REAL, 3, false}},
	 3,
	 0,
	 false,
	 OBJECTIVE_REASON_CLONED},
	{"cloned: of a query that tells no sums",
	 {{0.3, NAN, REAL, 1, false}, {0.3, NAN, REAL, 2, false}},
	 2,
	 0,
	 false,
	 OBJECTIVE_REASON_CLONED},
	{"all zero: counters that nobody drives",
	 {{NAN, 0, REAL, 1, false}, {NAN, 0, REAL, 2, false}},
	 2,
	 0,
	 false,
	 OBJECTIVE_REASON_ALL_ZERO},
	{"all zero: gauges that nobody sets",
	 {{0, NAN, REAL, 1, false}, {0, NAN, REAL, 2, false}},
	 2,
	 0,
	 false,
	 OBJECTIVE_REASON_ALL_ZERO},
	{"clock skew: a sample from the future",
	 {{0.1, 3, REAL + 600 * SEC, 1, false}},
	 1,
	 0,
	 false,
	 OBJECTIVE_REASON_CLOCK_SKEW},
	{"clock skew: Prometheus's clock is behind",
	 {{0.1, 3, 0, 1, false}},
	 1,
	 REAL - 60 * SEC,
	 false,
	 OBJECTIVE_REASON_CLOCK_SKEW},
	{"source down", {{.value = 0}}, 0, 0, true, OBJECTIVE_REASON_SOURCE_DOWN},
	{"no query: nobody configured a Prometheus",
	 {{.value = 0}},
	 0,
	 0,
	 true,
	 OBJECTIVE_REASON_NO_QUERY},
};

static struct slo_reading reading_of(const struct fault *fault)
{
	return (struct slo_reading){.points = fault->points,
				    .n_points = fault->n,
				    .answered_us = fault->answered_us,
				    .failed = fault->reason,
				    .has_failed = fault->failed};
}

static void test_each_fault_of_a_signal_is_named(void **state)
{
	const struct slo_moment moment = {1, REAL, INTERVAL};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		struct slo_reading reading = reading_of(&faults[i]);
		struct slo_sample sample = slo_judge(&spec, &reading, &moment);

		if (sample.good || sample.reason != faults[i].reason)
			fail_msg("%s: %s", faults[i].name,
				 sample.good ? "good" : objective_reason_text(sample.reason));
	}
}

static void test_the_pod_that_is_worst_off_counts(void **state)
{
	static const struct slo_point points[] = {{0.1, 3, REAL, 7, false},
						  {NAN, 0, REAL, 8, false},
						  {0.25, 4, REAL, 9, false},
						  {9, 4, REAL, 6, true},
						  {9, 4, REAL - SLO_STALE_US - SEC, 5, false}};
	const struct slo_moment moment = {1, REAL, INTERVAL};
	const struct slo_reading reading = {.points = points, .n_points = ARRAY_SIZE(points)};
	struct objective_spec above = spec;
	struct slo_sample sample = slo_judge(&spec, &reading, &moment);

	(void)state;
	assert_true(sample.good);
	assert_int_equal(sample.value, 250000);
	assert_int_equal(sample.worst, 9);
	above.direction = OBJECTIVE_ABOVE;
	sample = slo_judge(&above, &reading, &moment);
	assert_int_equal(sample.value, 100000);
	assert_int_equal(sample.worst, 7);
}

static void test_the_same_answer_again_is_stale(void **state)
{
	static const struct slo_point points[] = {{0.1, 3, REAL, 7, false}};
	struct slo_moment moment = {1, REAL, INTERVAL};
	struct slo_reading reading = {.points = points, .n_points = 1, .answered_us = REAL};
	struct slo_state slo;

	(void)state;
	slo_init(&slo);
	for (int i = 0; i < 5; i++) {
		slo_take(&slo, &spec, &reading, &moment);
		moment.now_us += SEC;
	}
	assert_int_equal(slo.verdict.state, OBJECTIVE_UNKNOWN);
	assert_int_equal(slo.verdict.reason, OBJECTIVE_REASON_STALE);
	for (int i = 0; i < SLO_SAMPLES; i++) {
		reading.answered_us += SEC;
		slo_take(&slo, &spec, &reading, &moment);
		moment.now_us += SEC;
	}
	assert_int_equal(slo.verdict.state, OBJECTIVE_MET);
}

static void test_alike_in_value_alone_is_no_clone(void **state)
{
	/* Both quantiles lie in the last bucket. */
	static const struct slo_point points[] = {{10, 31.5, REAL, 1, false},
						  {10, 29.25, REAL, 2, false}};
	const struct slo_moment moment = {1, REAL, INTERVAL};
	const struct slo_reading reading = {.points = points, .n_points = 2};

	(void)state;
	assert_true(slo_judge(&spec, &reading, &moment).good);
}

/* --- states */

struct world {
	struct slo_state state;
	struct slo_moment moment;
};

static struct world world(void)
{
	struct world w = {.moment = {1000 * SEC, REAL, INTERVAL}};

	slo_init(&w.state);
	return w;
}

static void pass_time(struct world *w, int64_t us)
{
	w->moment.now_us += us;
	w->moment.real_us += us;
}

/* So many readings of one value, an interval apart. */
static void feed(struct world *w, double value, int n)
{
	for (int i = 0; i < n; i++) {
		struct slo_point point = {value, 1, w->moment.real_us, 5, false};
		struct slo_reading reading = {.points = &point, .n_points = 1};

		pass_time(w, INTERVAL);
		point.at_us = w->moment.real_us;
		slo_take(&w->state, &spec, &reading, &w->moment);
	}
}

static void feed_fault(struct world *w, size_t fault)
{
	struct slo_reading reading = reading_of(&faults[fault]);

	pass_time(w, INTERVAL);
	slo_take(&w->state, &spec, &reading, &w->moment);
}

static void check(const struct world *w, enum objective_state state, enum objective_reason reason)
{
	assert_string_equal(objective_state_text(w->state.verdict.state),
			    objective_state_text(state));
	assert_string_equal(objective_reason_text(w->state.verdict.reason),
			    objective_reason_text(reason));
}

static void test_three_readings_make_a_verdict(void **state)
{
	struct world w = world();

	(void)state;
	check(&w, OBJECTIVE_UNKNOWN, OBJECTIVE_REASON_RESTARTED);
	feed(&w, 0.1, 2);
	check(&w, OBJECTIVE_UNKNOWN, OBJECTIVE_REASON_RESTARTED);
	assert_true(w.state.verdict.value == OBJECTIVE_NO_VALUE);
	feed(&w, 0.1, 1);
	check(&w, OBJECTIVE_MET, OBJECTIVE_REASON_WITHIN);
	assert_int_equal(w.state.verdict.value, 100000);
	assert_int_equal(w.state.verdict.since_us, w.moment.real_us);
}

static void test_risk_is_told_before_the_violation(void **state)
{
	struct world w = world();
	int bad = 0;

	(void)state;
	feed(&w, 0.1, 40);
	while (w.state.verdict.state == OBJECTIVE_MET) {
		feed(&w, 0.3, 1);
		bad++;
	}
	check(&w, OBJECTIVE_AT_RISK, OBJECTIVE_REASON_BURNING);
	assert_in_range(bad, 3, 6);
	assert_true(slo_is_bad(&w.state.verdict));
	while (w.state.verdict.state == OBJECTIVE_AT_RISK) {
		feed(&w, 0.3, 1);
		bad++;
	}
	check(&w, OBJECTIVE_VIOLATED, OBJECTIVE_REASON_PAST);
	assert_int_equal(bad, 13);
	assert_int_equal(w.state.verdict.worst, 5);
}

static void test_a_violation_ends_after_as_long(void **state)
{
	struct world w = world();

	(void)state;
	feed(&w, 0.1, 3);
	feed(&w, 0.3, 13);
	feed(&w, 0.1, 12);
	check(&w, OBJECTIVE_VIOLATED, OBJECTIVE_REASON_PAST);
	feed(&w, 0.1, 1);
	check(&w, OBJECTIVE_MET, OBJECTIVE_REASON_WITHIN);
}

static void test_just_under_the_threshold_is_not_well(void **state)
{
	struct world w = world();

	(void)state;
	feed(&w, 0.1, 3);
	feed(&w, 0.3, 13);
	feed(&w, 0.195, 40);
	check(&w, OBJECTIVE_VIOLATED, OBJECTIVE_REASON_PAST);
	feed(&w, 0.19, 13);
	check(&w, OBJECTIVE_MET, OBJECTIVE_REASON_WITHIN);
}

static void test_bad_now_and_then_is_a_risk(void **state)
{
	struct world w = world();

	(void)state;
	feed(&w, 0.1, 36);
	for (int i = 0; i < 12; i++) {
		feed(&w, 0.1, 1);
		feed(&w, 0.3, 1);
	}
	check(&w, OBJECTIVE_AT_RISK, OBJECTIVE_REASON_BURNING);
	feed(&w, 0.1, 7);
	check(&w, OBJECTIVE_MET, OBJECTIVE_REASON_WITHIN);
}

static void test_one_bad_reading_is_nothing(void **state)
{
	struct world w = world();

	(void)state;
	feed(&w, 0.1, 36);
	feed(&w, 9, 1);
	check(&w, OBJECTIVE_MET, OBJECTIVE_REASON_WITHIN);
}

static void test_each_fault_holds_everything(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		struct world w = world();

		feed(&w, 0.1, 3);
		feed(&w, 0.3, 13);
		feed_fault(&w, i);
		if (w.state.verdict.state != OBJECTIVE_UNKNOWN ||
		    w.state.verdict.reason != faults[i].reason ||
		    w.state.verdict.value != OBJECTIVE_NO_VALUE || w.state.verdict.worst != 0)
			fail_msg("%s", faults[i].name);
		feed(&w, 0.3, 2);
		check(&w, OBJECTIVE_UNKNOWN, OBJECTIVE_REASON_TOO_FEW);
		feed(&w, 0.3, 1);
		check(&w, OBJECTIVE_VIOLATED, OBJECTIVE_REASON_PAST);
	}
}

static void test_faults_in_between_never_add_up_to_a_violation(void **state)
{
	struct world w = world();

	(void)state;
	feed(&w, 0.1, 3);
	for (int i = 0; i < 50; i++) {
		feed(&w, 0.3, 4);
		feed_fault(&w, 0);
		assert_true(w.state.held != OBJECTIVE_VIOLATED);
	}
}

static void test_a_long_hole_starts_anew(void **state)
{
	struct world w = world();

	(void)state;
	feed(&w, 0.1, 3);
	feed(&w, 0.3, 13);
	for (int i = 0; i < SLO_HOLE_INTERVALS; i++)
		feed_fault(&w, 0);
	feed(&w, 0.1, 3);
	check(&w, OBJECTIVE_MET, OBJECTIVE_REASON_WITHIN);
}

static void test_silence_is_stale(void **state)
{
	struct world w = world();

	(void)state;
	feed(&w, 0.3, 20);
	pass_time(&w, 3 * INTERVAL);
	assert_false(slo_pass(&w.state, &w.moment));
	check(&w, OBJECTIVE_VIOLATED, OBJECTIVE_REASON_PAST);
	pass_time(&w, 1);
	assert_true(slo_pass(&w.state, &w.moment));
	check(&w, OBJECTIVE_UNKNOWN, OBJECTIVE_REASON_STALE);
	assert_false(slo_pass(&w.state, &w.moment));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_fault_of_a_signal_is_named),
		cmocka_unit_test(test_the_pod_that_is_worst_off_counts),
		cmocka_unit_test(test_alike_in_value_alone_is_no_clone),
		cmocka_unit_test(test_three_readings_make_a_verdict),
		cmocka_unit_test(test_risk_is_told_before_the_violation),
		cmocka_unit_test(test_a_violation_ends_after_as_long),
		cmocka_unit_test(test_just_under_the_threshold_is_not_well),
		cmocka_unit_test(test_bad_now_and_then_is_a_risk),
		cmocka_unit_test(test_one_bad_reading_is_nothing),
		cmocka_unit_test(test_each_fault_holds_everything),
		cmocka_unit_test(test_faults_in_between_never_add_up_to_a_violation),
		cmocka_unit_test(test_a_long_hole_starts_anew),
		cmocka_unit_test(test_silence_is_stale),
		cmocka_unit_test(test_the_same_answer_again_is_stale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
