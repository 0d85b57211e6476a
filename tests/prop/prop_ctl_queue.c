/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random operations on the work queue and on a model of it that is too simple to be wrong: one
 * row per key, searched from end to end. Both must always give the same answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/random.h"
#include "ctl/queue.h"

#define KEYS    24
#define SEEDS   60
#define STEPS   3000
#define BASE_US 40
#define CAP_US  1000

struct row {
	bool wanted, processing, dropped;
	int64_t due_us;
	int64_t since_us; /* when it became ready; rows that wait are ordered by this, then turn */
	uint64_t turn;
	unsigned int failures;
};

struct model {
	struct row rows[KEYS];
	uint64_t turns;
};

static void model_want(struct model *model, uint32_t key, int64_t due_us, int64_t now_us)
{
	struct row *row = &model->rows[key];

	due_us = MAX(due_us, now_us);
	if (row->wanted && (row->due_us <= due_us || (!row->processing && row->due_us <= now_us)))
		return;
	row->wanted = true;
	row->due_us = row->since_us = due_us;
	row->turn = ++model->turns;
}

static void model_fail(struct model *model, uint32_t key, int64_t at_least_us, int64_t now_us)
{
	struct row *row = &model->rows[key];
	int64_t delay_us = BASE_US;

	if (row->dropped)
		return;
	for (unsigned int i = 0; i < row->failures && delay_us < CAP_US; i++)
		delay_us *= 2;
	row->failures++;
	model_want(model, key, now_us + MAX(MIN(delay_us, CAP_US), at_least_us), now_us);
}

static void model_drop(struct model *model, uint32_t key)
{
	struct row *row = &model->rows[key];

	row->wanted = false;
	row->failures = 0;
	row->dropped = row->processing;
}

static void model_done(struct model *model, uint32_t key, int64_t now_us)
{
	struct row *row = &model->rows[key];

	row->processing = row->dropped = false;
	row->since_us = MAX(row->due_us, now_us);
	row->due_us = row->since_us;
	row->turn = ++model->turns;
}

/* The row that is next, or NULL. */
static struct row *model_next(struct model *model, bool only_free)
{
	struct row *next = NULL;

	for (struct row *row = model->rows; row < model->rows + KEYS; row++) {
		if (!row->wanted || (only_free && row->processing))
			continue;
		if (!next || row->since_us < next->since_us ||
		    (row->since_us == next->since_us && row->turn < next->turn))
			next = row;
	}
	return next;
}

static void assert_same(const struct queue *queue, struct model *model, int64_t now_us)
{
	const struct row *next = model_next(model, true);
	size_t depth = 0, processing = 0;

	for (uint32_t key = 0; key < KEYS; key++) {
		depth += model->rows[key].wanted;
		processing += model->rows[key].processing;
		assert_int_equal(queue_failures(queue, key), model->rows[key].failures);
	}
	assert_int_equal(queue_depth(queue), depth);
	assert_int_equal(queue_processing(queue), processing);
	assert_int_equal(queue_next_due(queue, now_us),
			 next ? MAX(next->since_us, now_us) : TIME_NEVER);
}

static void take(struct queue *queue, struct model *model, int64_t now_us)
{
	struct row *next = model_next(model, true);
	uint32_t key;
	int64_t waited_us;

	if (!next || next->since_us > now_us) {
		assert_int_equal(queue_take(queue, now_us, &key, &waited_us), QUEUE_EMPTY);
		return;
	}
	assert_int_equal(queue_take(queue, now_us, &key, &waited_us), QUEUE_KEY);
	assert_ptr_equal(&model->rows[key], next);
	assert_int_equal(waited_us, now_us - next->since_us);
	next->wanted = false;
	next->processing = true;
}

/* Additions, failures, forgetting and dropping of one key. */
static void change(struct queue *queue, struct model *model, struct random *random, int64_t now_us)
{
	uint32_t key = (uint32_t)random_below(random, KEYS);
	int64_t us = (int64_t)random_below(random, 300);

	switch (random_below(random, 8)) {
	case 0:
		queue_drop(queue, key);
		model_drop(model, key);
		break;
	case 1:
		queue_forget(queue, key);
		model->rows[key].failures = 0;
		break;
	case 2:
		queue_add_failed(queue, key, us / 4, now_us);
		model_fail(model, key, us / 4, now_us);
		break;
	case 3:
	case 4:
		queue_add_at(queue, key, now_us + us, now_us);
		model->rows[key].dropped = false;
		model_want(model, key, now_us + us, now_us);
		break;
	default:
		queue_add(queue, key, now_us);
		model->rows[key].dropped = false;
		model_want(model, key, now_us, now_us);
	}
}

static void done(struct queue *queue, struct model *model, struct random *random, int64_t now_us)
{
	uint32_t key = (uint32_t)random_below(random, KEYS);

	if (!model->rows[key].processing)
		return;
	queue_done(queue, key, now_us);
	model_done(model, key, now_us);
}

static void walk(uint64_t seed)
{
	static const struct queue_options options = {BASE_US, CAP_US, 0};
	struct queue *queue CLEANUP(queue_free) = queue_new(&options, seed);
	struct model model = {0};
	struct random random;
	int64_t now_us = 1000;

	random_init(&random, seed);
	for (int i = 0; i < STEPS; i++) {
		uint64_t dice = random_below(&random, 10);

		now_us += (int64_t)random_below(&random, 12);
		if (dice < 4)
			change(queue, &model, &random, now_us);
		else if (dice < 7)
			take(queue, &model, now_us);
		else
			done(queue, &model, &random, now_us);
		assert_same(queue, &model, now_us);
	}
}

static void test_queue_and_model_agree(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		walk(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queue_and_model_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
