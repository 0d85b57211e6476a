/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random signals, specs and faults. A verdict is never bad on what is not known; it does not flap
 * faster than its spec allows, whatever the noise; worse values never give a better one; and the
 * same input gives the same output.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/macros.h"
#include "base/random.h"
#include "slo/slo.h"

#define SEEDS 400
#define STEPS 600
#define REAL  (1700000000 * USEC_PER_SEC)

struct run {
	struct random random;
	struct objective_spec spec;
	struct slo_moment moment;
};

static int64_t between(struct random *random, int64_t least, int64_t most)
{
	return least + (int64_t)random_below(random, (uint64_t)(most - least + 1));
}

static struct run run_of(uint64_t seed)
{
	struct run run = {0};

	random_init(&run.random, seed);
	run.moment.interval_us = between(&run.random, 1, 30) * USEC_PER_SEC;
	run.moment.now_us = between(&run.random, 0, 1000000);
	run.moment.real_us = REAL;
	run.spec.threshold = between(&run.random, 1000, 10000000);
	run.spec.direction = random_below(&run.random, 2) ? OBJECTIVE_BELOW : OBJECTIVE_ABOVE;
	run.spec.for_us = between(&run.random, 5, 600) * USEC_PER_SEC;
	return run;
}

/* Around the threshold, in units of the metric. */
static double noise(struct run *run)
{
	return (double)run->spec.threshold / 1e6 * (double)between(&run->random, 80, 120) / 100;
}

static void step(struct run *run)
{
	int64_t us = run->moment.interval_us;

	us += between(&run->random, -us / 10, us / 10);
	run->moment.now_us += us;
	run->moment.real_us += us;
}

static bool take(struct run *run, struct slo_state *state, double value)
{
	const struct slo_point point = {value, 1, run->moment.real_us, 1, false};
	const struct slo_reading reading = {.points = &point, .n_points = 1};

	return slo_take(state, &run->spec, &reading, &run->moment);
}

/* --- flapping */

static void assert_rate(const struct run *run, const int *begun, int64_t begin_us)
{
	int64_t us = run->moment.now_us - begin_us;

	/* Each needs all of `for` bad to begin, and well to end; half of it. */
	if (begun[OBJECTIVE_VIOLATED] > us / run->spec.for_us + 1)
		fail_msg("violated %d times", begun[OBJECTIVE_VIOLATED]);
	if (begun[OBJECTIVE_AT_RISK] > us / (run->spec.for_us / 2) + 1)
		fail_msg("at risk %d times", begun[OBJECTIVE_AT_RISK]);
}

static void test_noise_does_not_make_it_flap(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct run run = run_of(seed);
		int64_t begin_us = run.moment.now_us;
		int begun[OBJECTIVE_STATE_COUNT] = {0};
		struct slo_state slo;

		slo_init(&slo);
		for (int i = 0; i < STEPS; i++) {
			enum objective_state before = slo.verdict.state;

			step(&run);
			take(&run, &slo, noise(&run));
			if (slo.verdict.state != before)
				begun[slo.verdict.state]++;
		}
		assert_rate(&run, begun, begin_us);
	}
}

/* --- unknown */

static double with_faults(struct run *run)
{
	static const double none[] = {NAN, INFINITY, 0};

	if (random_below(&run->random, 4) == 0)
		return none[random_below(&run->random, ARRAY_SIZE(none))];
	return noise(run);
}

static void test_unknown_is_never_bad(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct run run = run_of(seed);
		struct slo_state slo;
		int good = 0, bad = 0;

		slo_init(&slo);
		for (int i = 0; i < STEPS; i++) {
			double value = with_faults(&run);
			enum objective_state held = slo.held;

			step(&run);
			take(&run, &slo, value);
			good = isfinite(value) && value != 0 ? good + 1 : 0;
			bad = good && slo.bad_in_row > 0 ? bad + 1 : 0;
			assert_true((slo.verdict.state == OBJECTIVE_UNKNOWN) ==
				    (good < SLO_SAMPLES));
			assert_true((slo.verdict.value == OBJECTIVE_NO_VALUE) ==
				    (good < SLO_SAMPLES));
			/* Only an unbroken row of bad ones makes a violation. */
			if (slo.held == OBJECTIVE_VIOLATED && held != OBJECTIVE_VIOLATED)
				assert_true(bad >= SLO_SAMPLES);
		}
	}
}

/* --- worse is never better */

static void test_worse_values_never_give_a_better_verdict(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct run run = run_of(seed);
		double sign = run.spec.direction == OBJECTIVE_BELOW ? 1 : -1;
		struct slo_state better, worse;

		slo_init(&better);
		slo_init(&worse);
		for (int i = 0; i < STEPS; i++) {
			double value = noise(&run);
			double more = value * (double)random_below(&run.random, 20) / 100;

			step(&run);
			take(&run, &better, value);
			take(&run, &worse, value + sign * more);
			if (worse.verdict.state < better.verdict.state)
				fail_msg("seed %llu, step %d", (unsigned long long)seed, i);
		}
	}
}

/* --- before the breach */

static void test_risk_comes_before_each_violation(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct run run = run_of(seed);
		double threshold = (double)run.spec.threshold / 1e6;
		double well = run.spec.direction == OBJECTIVE_BELOW ? 0.5 : 2;
		bool warned = false;
		struct slo_state slo;

		run.spec.for_us = run.moment.interval_us * between(&run.random, 5, 40);
		slo_init(&slo);
		for (int i = 0; i < 150; i++) {
			step(&run);
			take(&run, &slo, threshold * well);
		}
		assert_int_equal(slo.verdict.state, OBJECTIVE_MET);
		for (int i = 0; i < 150 && slo.verdict.state != OBJECTIVE_VIOLATED; i++) {
			step(&run);
			take(&run, &slo, threshold / well);
			warned |= slo.verdict.state == OBJECTIVE_AT_RISK;
		}
		assert_int_equal(slo.verdict.state, OBJECTIVE_VIOLATED);
		assert_true(warned);
	}
}

/* --- the same again */

static void test_the_same_input_gives_the_same_verdicts(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct slo_state states[2];

		memset(states, 0, sizeof(states));
		for (int k = 0; k < 2; k++) {
			struct run run = run_of(seed);

			slo_init(&states[k]);
			for (int i = 0; i < STEPS; i++) {
				step(&run);
				take(&run, &states[k], with_faults(&run));
			}
		}
		assert_int_equal(states[0].verdict.state, states[1].verdict.state);
		assert_int_equal(states[0].verdict.since_us, states[1].verdict.since_us);
		assert_memory_equal(states[0].slots, states[1].slots, sizeof(states[0].slots));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_noise_does_not_make_it_flap),
		cmocka_unit_test(test_unknown_is_never_bad),
		cmocka_unit_test(test_worse_values_never_give_a_better_verdict),
		cmocka_unit_test(test_risk_comes_before_each_violation),
		cmocka_unit_test(test_the_same_input_gives_the_same_verdicts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
