/* SPDX-License-Identifier: Apache-2.0 */
/* Timers on a clock that is moved by hand: nothing here waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "loop/loop.h"

struct world {
	struct manual_clock clock;
	struct loop *loop;
	char log[64]; /* one letter per firing */
	struct loop_timer a, b, c;
};

static void note(struct world *w, char letter)
{
	size_t len = strlen(w->log);

	assert_true(len + 1 < sizeof(w->log));
	w->log[len] = letter;
}

static void fire_a(void *context)
{
	note(context, 'a');
}

static void fire_b(void *context)
{
	note(context, 'b');
}

static void fire_c(void *context)
{
	note(context, 'c');
}

static int setup(void **state)
{
	struct world *w = mem_alloc(sizeof(*w));

	manual_clock_init(&w->clock, 1000, 0);
	w->loop = loop_new(&w->clock.clock);
	loop_timer_init(&w->a, w->loop, "a", fire_a, w);
	loop_timer_init(&w->b, w->loop, "b", fire_b, w);
	loop_timer_init(&w->c, w->loop, "c", fire_c, w);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	loop_timer_clear(&w->a);
	loop_timer_clear(&w->b);
	loop_timer_clear(&w->c);
	loop_free(w->loop);
	mem_free(w);
	return 0;
}

static void advance(struct world *w, int64_t us)
{
	manual_clock_advance(&w->clock, us);
	loop_run_once(w->loop, 0);
}

static void timers_fire_in_order_of_deadline(void **state)
{
	struct world *w = *state;

	loop_timer_set(&w->c, 1300);
	loop_timer_set(&w->a, 1100);
	loop_timer_set(&w->b, 1200);
	advance(w, 99);
	assert_string_equal(w->log, "");
	advance(w, 1);
	assert_string_equal(w->log, "a");
	advance(w, 1000);
	assert_string_equal(w->log, "abc");
	advance(w, 1000);
	assert_string_equal(w->log, "abc");
}

static void equal_deadlines_fire_in_order_of_arming(void **state)
{
	struct world *w = *state;

	loop_timer_set(&w->b, 1100);
	loop_timer_set(&w->c, 1100);
	loop_timer_set(&w->a, 1100);
	advance(w, 100);
	assert_string_equal(w->log, "bca");
}

static void a_timer_moves_and_is_disarmed(void **state)
{
	struct world *w = *state;

	loop_timer_set(&w->a, 1100);
	loop_timer_set(&w->a, 1500);
	loop_timer_set(&w->b, 1100);
	loop_timer_set(&w->b, TIME_NEVER);
	loop_timer_set(&w->c, 1100);
	loop_timer_clear(&w->c);
	assert_false(loop_timer_armed(&w->c));
	advance(w, 499);
	assert_string_equal(w->log, "");
	assert_true(loop_timer_armed(&w->a));
	advance(w, 1);
	assert_string_equal(w->log, "a");
	assert_false(loop_timer_armed(&w->a));
}

static void a_zeroed_timer_may_be_cleared(void **state UNUSED)
{
	struct loop_timer timer = {0};

	loop_timer_clear(&timer);
	loop_timer_clear(NULL);
	assert_false(loop_timer_armed(&timer));
}

static void deferred_work_runs_once_in_the_next_turn(void **state)
{
	struct world *w = *state;

	loop_timer_set(&w->a, 9999);
	loop_defer(&w->a);
	loop_defer(&w->a);
	loop_run_once(w->loop, 0);
	assert_string_equal(w->log, "a");
	loop_run_once(w->loop, 0);
	assert_string_equal(w->log, "a");
}

static void rearm(void *context)
{
	struct world *w = context;

	note(w, 'r');
	loop_timer_set(&w->a, 0);
}

static void a_timer_that_arms_itself_for_the_past_starves_nobody(void **state)
{
	struct world *w = *state;

	loop_timer_init(&w->a, w->loop, "rearm", rearm, w);
	loop_timer_set(&w->a, 0);
	loop_timer_set(&w->b, 1000);
	loop_run_once(w->loop, 0);
	assert_string_equal(w->log, "rb");
	loop_timer_set(&w->c, 1000);
	loop_run_once(w->loop, 0);
	assert_string_equal(w->log, "rbrc");
}

static void clear_others(void *context)
{
	struct world *w = context;

	note(w, 'k');
	loop_timer_clear(&w->b);
	loop_timer_clear(&w->c);
}

static void a_callback_takes_back_timers_that_are_due_too(void **state)
{
	struct world *w = *state;

	loop_timer_init(&w->a, w->loop, "kill", clear_others, w);
	loop_defer(&w->a);
	loop_defer(&w->b);
	loop_defer(&w->c);
	advance(w, 10);
	advance(w, 10);
	assert_string_equal(w->log, "k");
}

struct own {
	struct loop_timer timer;
	struct world *world;
};

static void free_itself(void *context)
{
	struct own *own = context;

	note(own->world, 'f');
	loop_timer_clear(&own->timer);
	mem_free(own);
}

static void a_timer_is_freed_in_its_own_callback(void **state)
{
	struct world *w = *state;
	struct own *own = mem_alloc(sizeof(*own));

	own->world = w;
	loop_timer_init(&own->timer, w->loop, "own", free_itself, own);
	loop_defer(&own->timer);
	loop_run_once(w->loop, 0);
	loop_run_once(w->loop, 0);
	assert_string_equal(w->log, "f");
}

static void look_at_time(void *context)
{
	struct world *w = context;
	int64_t start = loop_now(w->loop);

	manual_clock_advance(&w->clock, 77);
	assert_int_equal(loop_now(w->loop), start);
	assert_int_equal(clock_monotonic(loop_clock(w->loop)), start + 77);
	note(w, 't');
}

static void see_turn(void *context, const char *name, int64_t took_us)
{
	struct world *w = context;

	assert_string_equal(name, "look");
	assert_int_equal(took_us, 77);
	note(w, 'o');
}

static void the_time_stands_still_within_a_turn_and_turns_are_measured(void **state)
{
	struct world *w = *state;

	loop_timer_init(&w->a, w->loop, "look", look_at_time, w);
	loop_observe_turns(w->loop, see_turn, w);
	loop_defer(&w->a);
	loop_run_once(w->loop, 0);
	assert_string_equal(w->log, "to");
	assert_int_equal(loop_now(w->loop), 1077);
}

static void stop(void *context)
{
	loop_stop(context);
}

static void the_loop_waits_for_its_first_timer_by_the_real_clock(void **state UNUSED)
{
	CLEANUP(loop_free) struct loop *loop = loop_new(clock_system());
	struct loop_timer late, soon;
	int64_t start = loop_now(loop);

	loop_timer_init(&late, loop, "late", stop, loop);
	loop_timer_init(&soon, loop, "soon", stop, loop);
	loop_timer_set(&late, start + 3600 * USEC_PER_SEC);
	loop_run_once(loop, 1000); /* the alarm is set for this already */
	loop_timer_set(&soon, start + 5000);
	loop_run(loop);
	assert_true(loop_now(loop) >= start + 5000);
	assert_true(loop_timer_armed(&late));
	loop_stop(loop);
	loop_run(loop); /* was stopped before: returns */
	loop_timer_clear(&late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(timers_fire_in_order_of_deadline, setup, teardown),
		cmocka_unit_test_setup_teardown(equal_deadlines_fire_in_order_of_arming, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_timer_moves_and_is_disarmed, setup, teardown),
		cmocka_unit_test(a_zeroed_timer_may_be_cleared),
		cmocka_unit_test_setup_teardown(deferred_work_runs_once_in_the_next_turn, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_timer_that_arms_itself_for_the_past_starves_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(a_callback_takes_back_timers_that_are_due_too,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_timer_is_freed_in_its_own_callback, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			the_time_stands_still_within_a_turn_and_turns_are_measured, setup,
			teardown),
		cmocka_unit_test(the_loop_waits_for_its_first_timer_by_the_real_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
