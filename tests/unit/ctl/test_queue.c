/* SPDX-License-Identifier: Apache-2.0 */
/* The work queue, as scripts: each case is a list of calls with what they must answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "ctl/queue.h"

#define BASE_US   5000
#define CAP_US    60000
#define MAX_STEPS 16

enum op { END, ADD, ADD_AT, FAIL, FORGET, DROP, TAKE, NOTHING, DONE, DUE, DEPTH, FAILURES };

/* @arg: the due time, the least delay, what was waited, or the number that must come back. */
struct step {
	enum op op;
	uint32_t key;
	int64_t now_us, arg;
};

struct script {
	const char *name;
	struct step steps[MAX_STEPS];
};

static const struct script scripts[] = {
	{"a new queue has nothing and nothing to wait for",
	 {{NOTHING, 0, 0, 0}, {DUE, 0, 7, TIME_NEVER}, {DEPTH, 0, 0, 0}}},
	{"keys come in order of addition and say how long they were ready",
	 {{ADD, 3, 10, 0},
	  {ADD, 1, 11, 0},
	  {ADD, 2, 12, 0},
	  {DEPTH, 0, 0, 3},
	  {TAKE, 3, 20, 10},
	  {TAKE, 1, 20, 9},
	  {TAKE, 2, 21, 9},
	  {NOTHING, 0, 21, 0}}},
	{"a key that is added often waits once, since the first addition",
	 {{ADD, 1, 10, 0},
	  {ADD, 1, 11, 0},
	  {ADD, 1, 12, 0},
	  {DEPTH, 0, 0, 1},
	  {TAKE, 1, 20, 10},
	  {NOTHING, 0, 20, 0},
	  {DONE, 1, 21, 0},
	  {NOTHING, 0, 22, 0}}},
	{"a key that is processed is not handed out again before it is done",
	 {{ADD, 1, 0, 0},
	  {TAKE, 1, 0, 0},
	  {ADD, 1, 1, 0},
	  {ADD, 1, 2, 0},
	  {NOTHING, 0, 3, 0},
	  {DEPTH, 0, 0, 1},
	  {DUE, 0, 3, TIME_NEVER},
	  {DONE, 1, 5, 0},
	  {DUE, 0, 5, 5},
	  {TAKE, 1, 9, 4},
	  {DONE, 1, 9, 0},
	  {NOTHING, 0, 9, 0}}},
	{"a key added while processed stands behind those that waited before it was done",
	 {{ADD, 1, 0, 0},
	  {TAKE, 1, 0, 0},
	  {ADD, 1, 1, 0},
	  {ADD, 2, 2, 0},
	  {DONE, 1, 3, 0},
	  {TAKE, 2, 4, 2},
	  {TAKE, 1, 4, 1}}},
	{"a delayed key comes when it is due and not before",
	 {{ADD_AT, 1, 0, 100},
	  {NOTHING, 0, 99, 0},
	  {DUE, 0, 50, 100},
	  {DEPTH, 0, 0, 1},
	  {DUE, 0, 130, 130},
	  {TAKE, 1, 130, 30}}},
	{"of two dues the earlier one stays, whichever came first",
	 {{ADD_AT, 1, 0, 100},
	  {ADD_AT, 1, 0, 50},
	  {ADD_AT, 1, 0, 200},
	  {DUE, 0, 0, 50},
	  {DEPTH, 0, 0, 1},
	  {TAKE, 1, 50, 0},
	  {DONE, 1, 50, 0},
	  {NOTHING, 0, 300, 0}}},
	{"an addition makes a delayed key ready at once, and only once",
	 {{ADD_AT, 1, 0, 100},
	  {ADD, 1, 10, 0},
	  {TAKE, 1, 10, 0},
	  {DONE, 1, 11, 0},
	  {NOTHING, 0, 200, 0}}},
	{"a key that is ready stays ready when it is also delayed",
	 {{ADD, 1, 0, 0},
	  {ADD_AT, 1, 0, 100},
	  {TAKE, 1, 1, 1},
	  {DONE, 1, 1, 0},
	  {NOTHING, 0, 200, 0}}},
	{"keys that became due stand before keys added after that moment",
	 {{ADD_AT, 1, 0, 50},
	  {ADD_AT, 2, 0, 40},
	  {ADD, 3, 45, 0},
	  {ADD, 4, 60, 0},
	  {TAKE, 2, 70, 30},
	  {TAKE, 3, 70, 25},
	  {TAKE, 1, 70, 20},
	  {TAKE, 4, 70, 10}}},
	{"a due in the past is a plain addition", {{ADD_AT, 1, 100, 20}, {TAKE, 1, 100, 0}}},
	{"a due that never comes adds nothing",
	 {{ADD_AT, 1, 0, TIME_NEVER}, {DEPTH, 0, 0, 0}, {DUE, 0, 0, TIME_NEVER}}},
	{"a delay asked for while the key is processed begins to count only when it is done",
	 {{ADD, 1, 0, 0},
	  {TAKE, 1, 0, 0},
	  {ADD_AT, 1, 1, 100},
	  {DUE, 0, 1, TIME_NEVER},
	  {DONE, 1, 10, 0},
	  {DUE, 0, 10, 100},
	  {TAKE, 1, 100, 0}}},
	{"a delay that passed while the key was processed makes it ready when done",
	 {{ADD, 1, 0, 0},
	  {TAKE, 1, 0, 0},
	  {ADD_AT, 1, 1, 100},
	  {DONE, 1, 150, 0},
	  {TAKE, 1, 160, 10}}},
	{"failures double the delay up to the cap, and forgetting starts over",
	 {{FAIL, 1, 0, 0},
	  {DUE, 0, 0, 5000},
	  {TAKE, 1, 5000, 0},
	  {FAIL, 1, 5000, 0},
	  {DONE, 1, 5000, 0},
	  {DUE, 0, 5000, 15000},
	  {TAKE, 1, 15000, 0},
	  {DONE, 1, 15000, 0},
	  {FAILURES, 1, 0, 2},
	  {FORGET, 1, 0, 0},
	  {FAILURES, 1, 0, 0},
	  {FAIL, 1, 20000, 0},
	  {DUE, 0, 20000, 25000}}},
	{"a server's wish to wait longer than the back-off is granted",
	 {{FAIL, 1, 0, 30000}, {DUE, 0, 0, 30000}, {NOTHING, 0, 29999, 0}, {TAKE, 1, 30000, 0}}},
	{"an event brings a key that backs off forward and keeps its count",
	 {{FAIL, 1, 0, 0}, {ADD, 1, 10, 0}, {TAKE, 1, 10, 0}, {FAILURES, 1, 0, 1}}},
	{"a dropped key waits no more, whether ready or delayed, and its failures are gone",
	 {{ADD, 1, 0, 0},
	  {ADD_AT, 2, 0, 5},
	  {FAIL, 3, 0, 0},
	  {DROP, 1, 0, 0},
	  {DROP, 2, 0, 0},
	  {DROP, 3, 0, 0},
	  {DROP, 4, 0, 0},
	  {DEPTH, 0, 0, 0},
	  {FAILURES, 3, 0, 0},
	  {NOTHING, 0, 90000, 0}}},
	{"a key dropped while it is processed does not come again, also not by its failure",
	 {{ADD, 1, 0, 0},
	  {TAKE, 1, 0, 0},
	  {ADD, 1, 1, 0},
	  {DROP, 1, 0, 0},
	  {FAIL, 1, 2, 0},
	  {DONE, 1, 3, 0},
	  {DEPTH, 0, 0, 0},
	  {FAILURES, 1, 0, 0},
	  {NOTHING, 0, 90000, 0}}},
	{"a key dropped while it is processed and added after that comes again",
	 {{ADD, 1, 0, 0},
	  {TAKE, 1, 0, 0},
	  {DROP, 1, 0, 0},
	  {ADD, 1, 2, 0},
	  {FAIL, 1, 2, 0},
	  {FAILURES, 1, 0, 1},
	  {DONE, 1, 3, 0},
	  {TAKE, 1, 3, 0}}},
};

static void expect_key(struct queue *queue, const struct step *s)
{
	uint32_t key;
	int64_t waited_us;

	assert_int_equal(queue_take(queue, s->now_us, &key, &waited_us), QUEUE_KEY);
	assert_int_equal(key, s->key);
	assert_int_equal(waited_us, s->arg);
}

static void expect_nothing(struct queue *queue, const struct step *s)
{
	uint32_t key = 12345;
	int64_t waited_us = -1;

	assert_int_equal(queue_take(queue, s->now_us, &key, &waited_us), QUEUE_EMPTY);
	assert_int_equal(key, 12345);
	assert_int_equal(waited_us, -1);
}

static void play(struct queue *queue, const struct step *s)
{
	switch (s->op) {
	case ADD:
		queue_add(queue, s->key, s->now_us);
		break;
	case ADD_AT:
		queue_add_at(queue, s->key, s->arg, s->now_us);
		break;
	case FAIL:
		queue_add_failed(queue, s->key, s->arg, s->now_us);
		break;
	case FORGET:
		queue_forget(queue, s->key);
		break;
	case DROP:
		queue_drop(queue, s->key);
		break;
	case DONE:
		queue_done(queue, s->key, s->now_us);
		break;
	case TAKE:
		expect_key(queue, s);
		break;
	case NOTHING:
		expect_nothing(queue, s);
		break;
	case DUE:
		assert_int_equal(queue_next_due(queue, s->now_us), s->arg);
		break;
	case DEPTH:
		assert_int_equal(queue_depth(queue), s->arg);
		break;
	case FAILURES:
		assert_int_equal(queue_failures(queue, s->key), s->arg);
		break;
	case END:
		break;
	}
}

static void test_script(void **state)
{
	static const struct queue_options plain = {BASE_US, CAP_US, 0};
	const struct script *script = *state;
	struct queue *queue CLEANUP(queue_free) = queue_new(&plain, 1);

	for (const struct step *s = script->steps; s->op != END; s++)
		play(queue, s);
}

static void test_backoff_stays_within_its_bounds(void **state)
{
	static const struct queue_options jittered = {BASE_US, CAP_US, 0.2};
	struct queue *queue CLEANUP(queue_free) = queue_new(&jittered, 7);
	int64_t expected_us = BASE_US, now_us = 0;

	(void)state;
	for (int n = 0; n < 200; n++) {
		uint32_t key;
		int64_t due_us;

		queue_add_failed(queue, 9, 0, now_us);
		due_us = queue_next_due(queue, now_us);
		assert_in_range(due_us - now_us, expected_us, expected_us + expected_us / 5);
		expected_us = MIN(expected_us * 2, CAP_US);
		now_us = due_us;
		assert_int_equal(queue_take(queue, now_us, &key, NULL), QUEUE_KEY);
		queue_done(queue, key, now_us);
	}
	assert_int_equal(queue_failures(queue, 9), 200);
}

static void test_delays_at_the_end_of_time(void **state)
{
	static const struct queue_options endless = {1, TIME_NEVER, 0.2};
	struct queue *queue CLEANUP(queue_free) = queue_new(&endless, 7);

	(void)state;
	queue_add_failed(queue, 1, TIME_NEVER, TIME_NEVER - 10);
	assert_int_equal(queue_depth(queue), 1);
	assert_int_equal(queue_next_due(queue, 0), TIME_NEVER - 1);
}

static void test_free_accepts_null(void **state)
{
	(void)state;
	queue_free(NULL);
}

int main(void)
{
	struct CMUnitTest tests[ARRAY_SIZE(scripts) + 3];
	size_t n = 0;

	for (; n < ARRAY_SIZE(scripts); n++)
		tests[n] = (struct CMUnitTest){scripts[n].name, test_script, NULL, NULL,
					       (void *)(uintptr_t)&scripts[n]};
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_backoff_stays_within_its_bounds);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_delays_at_the_end_of_time);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_free_accepts_null);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
