/* SPDX-License-Identifier: Apache-2.0 */
/* When the Node is read and when its annotation is written, as a machine without I/O. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/publish.h"
#include "api/layout.h"
#include "base/clock.h"

#define START  (1000 * USEC_PER_SEC)
#define SPREAD (10 * USEC_PER_SEC)
#define WRITE  (10 * USEC_PER_SEC)
#define READ   (60 * USEC_PER_SEC)

struct world {
	struct publish publish;
	struct buf text; /* of annotation() */
	int64_t now_us;
};

static const struct layout_numa numas[] = {{0, {"0-3", 3}, 4, 1 << 30},
					   {1, {"4-7", 3}, 4, 1 << 30}};
static const struct layout one_numa = {.writer = {"w", 1}, .numas = numas, .n_numas = 1};
static const struct layout two_numas = {.writer = {"w", 1}, .numas = numas, .n_numas = 2};

static void begin(struct world *w, const struct layout *wanted, uint64_t seed)
{
	*w = (struct world){.now_us = START};
	buf_init(&w->text, 2 * LIMIT_LAYOUT);
	publish_init(&w->publish, &(struct publish_options){SPREAD, WRITE, READ, seed}, START);
	if (wanted)
		publish_want(&w->publish, wanted);
}

static void end(struct world *w)
{
	publish_clear(&w->publish);
	buf_clear(&w->text);
}

static struct str annotation(struct world *w, const struct layout *layout, uint64_t generation)
{
	struct layout copy = *layout;

	copy.generation = generation;
	buf_reset(&w->text);
	api_body_layout(&w->text, &copy);
	return buf_str(&w->text);
}

/* The next step; where it is to wait, time passes until it is not. */
static struct publish_step pass(struct world *w)
{
	struct publish_step step = publish_next(&w->publish, w->now_us);

	if (step.action == PUBLISH_WAIT) {
		assert_true(step.until_us > w->now_us);
		w->now_us = step.until_us;
		step = publish_next(&w->publish, w->now_us);
	}
	assert_int_not_equal(step.action, PUBLISH_WAIT);
	return step;
}

static void expect_read(struct world *w)
{
	assert_int_equal(pass(w).action, PUBLISH_READ);
}

static void expect_write(struct world *w, uint64_t generation)
{
	struct publish_step step = pass(w);

	assert_int_equal(step.action, PUBLISH_WRITE);
	assert_int_equal(step.generation, generation);
}

/* Nothing but reads for an hour, of a Node that stays as it is. */
static void expect_quiet(struct world *w, const struct layout *layout, uint64_t generation)
{
	int64_t begun_us = w->now_us;
	int reads = 0;

	for (; w->now_us < begun_us + 60 * USEC_PER_MIN; reads++) {
		expect_read(w);
		publish_on_read(&w->publish, annotation(w, layout, generation), w->now_us);
	}
	assert_in_range(reads, 50, 61);
	assert_true(publish_done(&w->publish));
}

static void refuse(struct world *w, enum error_kind kind)
{
	struct error err = {0};

	error_set(&err, kind, "no");
	publish_on_failed(&w->publish, &err, w->now_us);
}

static void the_node_is_read_first_and_written_once(void **state UNUSED)
{
	struct world w;

	begin(&w, &two_numas, 1);
	expect_read(&w);
	publish_on_read(&w.publish, STR_NONE, w.now_us);
	assert_false(publish_done(&w.publish));
	expect_write(&w, 1);
	publish_on_written(&w.publish, annotation(&w, &two_numas, 1), w.now_us);
	expect_quiet(&w, &two_numas, 1);
	end(&w);
}

static void what_is_there_already_is_left(void **state UNUSED)
{
	struct world w;

	begin(&w, &two_numas, 1);
	expect_read(&w);
	publish_on_read(&w.publish, annotation(&w, &two_numas, 41), w.now_us);
	expect_quiet(&w, &two_numas, 41);
	end(&w);
}

static void nothing_is_written_before_it_is_known_what(void **state UNUSED)
{
	struct world w;

	begin(&w, NULL, 1);
	expect_read(&w);
	publish_on_read(&w.publish, STR_NONE, w.now_us);
	assert_false(publish_done(&w.publish));
	expect_read(&w);
	publish_on_read(&w.publish, STR_NONE, w.now_us);
	publish_want(&w.publish, &one_numa);
	expect_write(&w, 1);
	end(&w);
}

static void agents_that_start_at_once_do_not_come_at_once(void **state UNUSED)
{
	int early = 0, agents = 1000;

	for (uint64_t seed = 0; seed < (uint64_t)agents; seed++) {
		struct world w;

		begin(&w, &one_numa, seed);
		expect_read(&w);
		assert_in_range(w.now_us, START, START + SPREAD);
		early += w.now_us < START + SPREAD / 10;
		end(&w);
	}
	assert_in_range(early, agents / 20, agents / 5);
}

static void a_layout_that_changes_all_the_time_is_written_every_ten_seconds(void **state UNUSED)
{
	uint64_t generation = 0;
	struct world w;

	begin(&w, &one_numa, 1);
	expect_read(&w);
	publish_on_read(&w.publish, STR_NONE, w.now_us);
	int64_t begun_us = w.now_us;

	while (w.now_us < begun_us + 10 * USEC_PER_MIN) {
		const struct layout *wanted = generation % 2 ? &one_numa : &two_numas;
		struct publish_step step;

		publish_want(&w.publish, wanted);
		step = pass(&w);
		if (step.action == PUBLISH_WRITE)
			publish_on_written(&w.publish, annotation(&w, wanted, ++generation),
					   w.now_us);
		else
			publish_on_read(
				&w.publish,
				annotation(&w, generation % 2 ? &two_numas : &one_numa, generation),
				w.now_us);
	}
	assert_in_range(generation, 55, 61);
	end(&w);
}

static void generations_count_on_from_what_can_be_believed(void **state UNUSED)
{
	static const struct {
		const char *what;
		uint64_t generation; /* of a readable one */
		const char *text;
		uint64_t next;
	} cases[] = {
		{"another layout", 7, NULL, 8},
		{"the largest but one that is believed", PUBLISH_GENERATION_MAX - 1, NULL,
		 PUBLISH_GENERATION_MAX},
		{"the largest that is believed", PUBLISH_GENERATION_MAX, NULL, 1},
		{"one beyond", PUBLISH_GENERATION_MAX + 1, NULL, 1},
		{"as large as can be", INT64_MAX, NULL, 1},
		{"nonsense", 0, "nonsense", 1},
		{"of a version to come", 0, "{\"version\": 2, \"generation\": 9}", 1},
		{"less than nothing", 0, "{\"version\": 1, \"generation\": -9}", 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world w;

		begin(&w, &two_numas, 1);
		expect_read(&w);
		publish_on_read(&w.publish,
				cases[i].text ? str_from(cases[i].text)
					      : annotation(&w, &one_numa, cases[i].generation),
				w.now_us);
		struct publish_step step = pass(&w);

		if (step.action != PUBLISH_WRITE || step.generation != cases[i].next)
			fail_msg("%s: %llu", cases[i].what, (unsigned long long)step.generation);
		end(&w);
	}
}

static void what_others_write_is_written_over_in_its_turn(void **state UNUSED)
{
	struct world w;

	begin(&w, &two_numas, 1);
	expect_read(&w);
	publish_on_read(&w.publish, annotation(&w, &two_numas, 5), w.now_us);
	expect_read(&w);
	publish_on_read(&w.publish, STR("{}"), w.now_us);
	assert_false(publish_done(&w.publish));
	expect_write(&w, 6);
	publish_on_written(&w.publish, annotation(&w, &two_numas, 6), w.now_us);
	expect_quiet(&w, &two_numas, 6);
	end(&w);
}

static void a_refused_write_is_tried_ever_more_seldom(void **state UNUSED)
{
	int writes = 0;
	struct world w;

	begin(&w, &two_numas, 1);
	expect_read(&w);
	publish_on_read(&w.publish, STR_NONE, w.now_us);
	int64_t begun_us = w.now_us;

	while (w.now_us < begun_us + 60 * USEC_PER_MIN) {
		if (pass(&w).action == PUBLISH_READ) {
			publish_on_read(&w.publish, STR_NONE, w.now_us);
		} else {
			writes++;
			refuse(&w, ERROR_FORBIDDEN);
		}
	}
	assert_in_range(writes, 30, 70);
	end(&w);
}

static void a_write_that_is_stored_otherwise_is_not_repeated_at_full_speed(void **state UNUSED)
{
	int writes = 0;
	struct world w;

	begin(&w, &two_numas, 1);
	expect_read(&w);
	publish_on_read(&w.publish, STR_NONE, w.now_us);
	int64_t begun_us = w.now_us;

	while (w.now_us < begun_us + 60 * USEC_PER_MIN) {
		bool is_write = pass(&w).action == PUBLISH_WRITE;

		writes += is_write;
		if (is_write)
			publish_on_written(&w.publish, STR("{}"), w.now_us);
		else
			publish_on_read(&w.publish, STR("{}"), w.now_us);
	}
	assert_in_range(writes, 30, 75);
	end(&w);
}

static void a_node_that_is_gone_is_not_written(void **state UNUSED)
{
	struct world w;

	begin(&w, &two_numas, 1);
	expect_read(&w);
	publish_on_read(&w.publish, STR_NONE, w.now_us);
	expect_write(&w, 1);
	refuse(&w, ERROR_NOT_FOUND);
	for (int i = 0; i < 5; i++) {
		expect_read(&w);
		refuse(&w, ERROR_NOT_FOUND);
	}
	assert_false(publish_done(&w.publish));
	expect_read(&w);
	publish_on_read(&w.publish, STR_NONE, w.now_us);
	expect_write(&w, 2);
	end(&w);
}

static void the_servers_wish_to_wait_is_heard(void **state UNUSED)
{
	struct error err = {0};
	struct world w;

	begin(&w, &two_numas, 1);
	expect_read(&w);
	error_set(&err, ERROR_THROTTLED, "busy");
	err.retry_after_us = 300 * USEC_PER_SEC;
	int64_t begun_us = w.now_us;

	publish_on_failed(&w.publish, &err, w.now_us);
	expect_read(&w);
	assert_true(w.now_us >= begun_us + 300 * USEC_PER_SEC);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_node_is_read_first_and_written_once),
		cmocka_unit_test(what_is_there_already_is_left),
		cmocka_unit_test(nothing_is_written_before_it_is_known_what),
		cmocka_unit_test(agents_that_start_at_once_do_not_come_at_once),
		cmocka_unit_test(a_layout_that_changes_all_the_time_is_written_every_ten_seconds),
		cmocka_unit_test(generations_count_on_from_what_can_be_believed),
		cmocka_unit_test(what_others_write_is_written_over_in_its_turn),
		cmocka_unit_test(a_refused_write_is_tried_ever_more_seldom),
		cmocka_unit_test(a_write_that_is_stored_otherwise_is_not_repeated_at_full_speed),
		cmocka_unit_test(a_node_that_is_gone_is_not_written),
		cmocka_unit_test(the_servers_wish_to_wait_is_heard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
