/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that were judged before a watch has shown them, and nodes that pods are about to go to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "extender/internal.h"

struct world {
	struct manual_clock clock;
	struct loop *loop;
	struct extender *extender;
};

static int setup(void **state)
{
	struct world *w = mem_alloc(sizeof(*w));

	manual_clock_init(&w->clock, USEC_PER_SEC, 0);
	w->loop = loop_new(&w->clock.clock);
	w->extender = mem_alloc(sizeof(*w->extender));
	w->extender->loop = w->loop;
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	mem_free(w->extender);
	loop_free(w->loop);
	mem_free(w);
	return 0;
}

/* The loop looks at its clock once a turn. */
static void pass(struct world *w, int64_t us)
{
	manual_clock_advance(&w->clock, us);
	loop_turn_begin(w->loop);
	loop_turn_end(w->loop, "test");
}

static void an_unseen_pod_is_remembered_until_its_place_is_needed(void **state)
{
	struct world *w = *state;

	assert_false(unseen_has(w->extender, 1));
	assert_true(unseen_add(w->extender, 1));
	pass(w, 2 * EXTENDER_UNSEEN_US);
	assert_true(unseen_has(w->extender, 1));
	for (uint64_t pod = 2; pod < 2 + EXTENDER_UNSEEN; pod++)
		assert_true(unseen_add(w->extender, pod));
	assert_false(unseen_has(w->extender, 1));
}

static void where_too_many_are_unseen_the_next_one_is_refused(void **state)
{
	struct world *w = *state;

	for (uint64_t pod = 1; pod <= EXTENDER_UNSEEN; pod++)
		assert_true(unseen_add(w->extender, pod));
	assert_false(unseen_add(w->extender, EXTENDER_UNSEEN + 1));
	assert_true(unseen_add(w->extender, 1));
	pass(w, EXTENDER_UNSEEN_US);
	assert_true(unseen_add(w->extender, EXTENDER_UNSEEN + 1));
}

static void one_that_is_judged_again_keeps_its_place(void **state)
{
	struct world *w = *state;

	assert_true(unseen_add(w->extender, 1));
	pass(w, EXTENDER_UNSEEN_US - 1);
	assert_true(unseen_add(w->extender, 1));
	for (uint64_t pod = 2; pod <= EXTENDER_UNSEEN; pod++)
		assert_true(unseen_add(w->extender, pod));
	pass(w, 1);
	assert_false(unseen_add(w->extender, EXTENDER_UNSEEN + 1));
	assert_true(unseen_has(w->extender, 1));
	pass(w, EXTENDER_UNSEEN_US - 2);
	assert_true(unseen_add(w->extender, 1));
	pass(w, 1);
	for (uint64_t pod = 1; pod < EXTENDER_UNSEEN; pod++)
		assert_true(unseen_add(w->extender, EXTENDER_UNSEEN + pod));
	assert_true(unseen_has(w->extender, 1));
}

static bool is_taken(const struct extender *extender, uint64_t pod, uint32_t node)
{
	struct soft_set set;

	soft_set_make(extender, pod, &set);
	return soft_set_has(&set, node);
}

static void a_node_is_taken_for_others_and_a_while(void **state)
{
	struct world *w = *state;

	soft_take(w->extender, 1, 7);
	assert_true(is_taken(w->extender, 2, 7));
	assert_false(is_taken(w->extender, 1, 7));
	assert_false(is_taken(w->extender, 2, 8));
	soft_take(w->extender, 1, 8);
	assert_false(is_taken(w->extender, 2, 7));
	pass(w, EXTENDER_SOFT_US);
	assert_false(is_taken(w->extender, 2, 8));
}

static void who_is_bound_takes_no_node_any_more(void **state)
{
	struct world *w = *state;

	soft_take(w->extender, 1, 7);
	soft_end(w->extender, 1);
	assert_false(is_taken(w->extender, 2, 7));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define UNSEEN_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		UNSEEN_TEST(an_unseen_pod_is_remembered_until_its_place_is_needed),
		UNSEEN_TEST(where_too_many_are_unseen_the_next_one_is_refused),
		UNSEEN_TEST(one_that_is_judged_again_keeps_its_place),
		UNSEEN_TEST(a_node_is_taken_for_others_and_a_while),
		UNSEEN_TEST(who_is_bound_takes_no_node_any_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
