/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number is right: random histories of a whole cluster, in which our controller's pure code
 * runs against an API server that keeps Kubernetes' own rules. After every step nobody may hold
 * more than the ceiling, the books balance to the byte, and the ledger is what the objects say;
 * whenever the world comes to rest, everything that was to be done is done, and nothing more is
 * written. tests/lib/world*.h say what the world has and what must hold in it.
 *
 * GPUQOS_SEED=n repeats one history, GPUQOS_SOAK=1 runs many more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cluster/read.h"
#include "lib/world_events.h"
#include "lib/world_shell.h"
#include "lib/world_watcher.h"
#include "quota/tenant_plan.h"

enum { STEPS = 500, HISTORIES = 200, SOAK_HISTORIES = 20000, STEPS_TO_REST = 100 };

/* What one kind of device worlds may be of. */
static const struct {
	int profile, shape;
} kinds[] = {
	{WORLD_NODE_H100, 0},   {WORLD_NODE_H100, 2},         {WORLD_NODE_SINGLE, 0},
	{WORLD_NODE_SLICED, 7}, {WORLD_NODE_KOORDINATOR, 13}, {WORLD_NODE_AMD, 17},
};

static void rest(struct world *w)
{
	world_say("--- nothing happens any more");
	if (!world_settle(w))
		fail_msg("the world does not come to rest");
	world_check_rest(w);
	world_say("--- and on");
}

static void end(struct world *w)
{
	struct cluster_stats stats;

	rest(w);
	world_empty(w);
	rest(w);
	world_remove_all(w);
	while (world_shell_turn(w))
		;
	cluster_stats(w->shell->cluster, &stats);
	for (int kind = 0; kind < CLUSTER_KIND_COUNT; kind++)
		assert_int_equal(stats.objects[kind], 0);
	assert_int_equal(cluster_namespace_next(w->shell->cluster, 0), UINT32_MAX);
}

/* One in three worlds has one kind of device; half are calm: there the gates are exact. One in four
 * is strict. */
static void run(struct world *w, uint64_t seed)
{
	world_init(w, seed);
	w->strict = seed % 4 == 1;
	if (!w->strict && seed % 3 == 0) {
		size_t kind = (size_t)world_below(w, ARRAY_SIZE(kinds));

		w->only_profile = kinds[kind].profile;
		w->only_shape = kinds[kind].shape;
	}
	world_begin(w);
	if (w->strict)
		rest(w);
	for (int i = 0; i < STEPS; i++) {
		w->calm = w->strict || (seed % 2 == 0 && i > STEPS_TO_REST);
		world_step(w);
		if (i % STEPS_TO_REST == STEPS_TO_REST - 1)
			rest(w);
	}
	end(w);
	world_clear(w);
}

static struct world world;
static uint64_t running;

static int tell(void **state)
{
	(void)state;
	if (running == 0)
		return 0;
	print_message("seed %llu failed (GPUQOS_SEED=%llu repeats it), after:\n",
		      (unsigned long long)running, (unsigned long long)running);
	world_print_events();
	return 0;
}

static void test_the_number_is_right(void **state)
{
	const char *only = getenv("GPUQOS_SEED"), *soak = getenv("GPUQOS_SOAK");
	uint64_t first = only ? strtoull(only, NULL, 10) : 1;
	uint64_t n = only ? 1 : soak ? SOAK_HISTORIES : HISTORIES;
	uint64_t admitted = 0, refused = 0, written = 0, ceilings = 0, excused = 0;

	(void)state;
	for (uint64_t seed = first; seed < first + n; seed++) {
		running = seed;
		run(&world, seed);
		if (world.strict)
			assert_int_equal(world.ceilings_excused, 0);
		admitted += world.admitted;
		refused += world.refused;
		written += world.written;
		ceilings += world.ceilings;
		excused += world.ceilings_excused;
	}
	running = 0;
	/* The checks say something only of worlds in which something happens that is not excused.
	 */
	if (!only) {
		assert_true(admitted > 0 && refused > 0 && written > 0);
		assert_in_range(3 * excused, 0, 2 * ceilings);
	}
	print_message("seeds %llu to %llu, %d steps each: %llu admitted, %llu refused, %llu "
		      "writes; %llu looks at a ceiling, %llu%% of them excused\n",
		      (unsigned long long)first, (unsigned long long)(first + n - 1), STEPS,
		      (unsigned long long)admitted, (unsigned long long)refused,
		      (unsigned long long)written, (unsigned long long)ceilings,
		      (unsigned long long)(100 * excused / MAX(ceilings, 1u)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_the_number_is_right, tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
