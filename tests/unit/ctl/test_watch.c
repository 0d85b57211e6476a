/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch, as scripts: each line is what happened, and the step that must come out of it.
 *
 * size: one table of scripts, and beside it what no script can say
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/limits.h"
#include "ctl/watch.h"

#define MAX_LINES 20

enum op { NO_OP, NEXT, OBJECT, REMOVED, MARK, LAST_MARK, PAGE, ENDED, FAIL };

struct line {
	enum op op;
	int64_t now_s;
	const char *version, *token; /* of what arrives */
	struct error err;
	/* what must come out */
	enum watch_action action;
	enum watch_effect effect;
	const char *from;          /* the version or the token in the step; NULL: any */
	int64_t least_ms, most_ms; /* of WAIT */
};

struct script {
	const char *name;
	struct line lines[MAX_LINES];
};

#define BEGIN              .effect = WATCH_EFFECT_BEGIN_REPLACE
#define COMPLETE           .effect = WATCH_EFFECT_END_REPLACE
#define ABORT              .effect = WATCH_EFFECT_ABORT_REPLACE
#define GOES_ON            .action = WATCH_CONTINUE
#define WATCHES(version)   .action = WATCH_WATCH, .from = (version)
#define STREAMS            .action = WATCH_STREAM_LIST, .from = ""
#define ASKS(continuing)   .action = WATCH_LIST_PAGE, .from = (continuing)
#define WAITS(least, most) .action = WATCH_WAIT, .least_ms = (least), .most_ms = (most)
#define AT(s)              .now_s = (s)
#define RV(text)           .version = (text)
#define ERR(k, status)     .err = {.kind = ERROR_##k, .http_status = (status)}

#define TO_STREAM                           \
	{                                   \
		NEXT, AT(0), STREAMS, BEGIN \
	}
#define TO_SYNCED                                              \
	TO_STREAM,                                             \
	{                                                      \
		LAST_MARK, AT(1), RV("100"), GOES_ON, COMPLETE \
	}
#define TO_PAGES                                         \
	TO_STREAM,                                       \
	{                                                \
		FAIL, AT(0), ERR(INVALID, 422), ASKS("") \
	}

#define ABSENT(s)                                                               \
	{                                                                       \
		FAIL, AT(s), ERR(NOT_FOUND, 404), WAITS(15000, 18000), COMPLETE \
	}

static const struct script scripts[] = {
	{"a streamed list becomes a watch on the same stream",
	 {TO_STREAM,
	  {OBJECT, AT(1), RV("7"), GOES_ON},
	  {OBJECT, AT(1), RV("3"), GOES_ON},
	  {MARK, AT(1), RV("90"), GOES_ON},
	  {LAST_MARK, AT(1), RV("100"), GOES_ON, COMPLETE},
	  {OBJECT, AT(2), RV("101"), GOES_ON},
	  {NEXT, AT(2), GOES_ON, .from = "101"}}},
	{"a cut stream goes on from the last version that an object brought",
	 {TO_SYNCED,
	  {OBJECT, AT(2), RV("150"), GOES_ON},
	  {FAIL, AT(3), ERR(UNAVAILABLE, 0), WAITS(800, 1600)},
	  {NEXT, AT(5), WATCHES("150")}}},
	{"a deletion and a bookmark move the version as well",
	 {TO_SYNCED,
	  {REMOVED, AT(2), RV("160"), GOES_ON, .from = "160"},
	  {MARK, AT(3), RV("999"), GOES_ON, .from = "999"},
	  {MARK, AT(3), RV("1000"), GOES_ON, .from = "1000"}}},
	{"an event without a version leaves the version alone",
	 {TO_SYNCED, {OBJECT, AT(2), RV(""), GOES_ON, .from = "100"}}},
	{"the same version twice is no reason to worry",
	 {TO_SYNCED, {MARK, AT(2), RV("100"), GOES_ON}, {MARK, AT(3), RV("100"), GOES_ON}}},
	{"a version that went back means a full state",
	 {TO_SYNCED, {OBJECT, AT(2), RV("99"), WAITS(800, 1600)}, {NEXT, AT(5), STREAMS, BEGIN}}},
	{"versions that are no numbers have no order",
	 {TO_SYNCED,
	  {OBJECT, AT(2), RV("b"), GOES_ON},
	  {OBJECT, AT(2), RV("a"), GOES_ON},
	  {FAIL, AT(3), ERR(UNAVAILABLE, 503), WAITS(800, 1600)},
	  {NEXT, AT(5), WATCHES("a")}}},
	{"versions longer than any integer are compared as numbers",
	 {TO_SYNCED,
	  {OBJECT, AT(2), RV("99999999999999999999998"), GOES_ON},
	  {OBJECT, AT(2), RV("100000000000000000000000"), GOES_ON},
	  {OBJECT, AT(2), RV("99999999999999999999999"), WAITS(800, 1600)}}},
	{"a stream that ends when it was asked to is opened again at once",
	 {TO_SYNCED, {OBJECT, AT(2), RV("101"), GOES_ON}, {ENDED, AT(600), WATCHES("101")}}},
	{"a stream that ends before its time is opened again after a short random wait",
	 {TO_SYNCED,
	  {OBJECT, AT(2), RV("101"), GOES_ON},
	  {ENDED, AT(3), WAITS(0, 1000)},
	  {NEXT, AT(4), WATCHES("101")}}},
	{"a stream that ends within a second without an event counts as a failure",
	 {TO_SYNCED,
	  {ENDED, AT(600), WATCHES("100")},
	  {ENDED, AT(600), WAITS(800, 1600)},
	  {NEXT, AT(602), WATCHES("100")},
	  {ENDED, AT(602), WAITS(1600, 3200)},
	  {NEXT, AT(606), WATCHES("100")},
	  {MARK, AT(606), RV("100"), GOES_ON},
	  {ENDED, AT(606), WAITS(0, 1000)}}},
	{"failures wait longer and longer, up to twice 30 s",
	 {TO_SYNCED,
	  {FAIL, AT(2), ERR(UNAVAILABLE, 0), WAITS(800, 1600)},
	  {NEXT, AT(100), WATCHES("100")},
	  {FAIL, AT(100), ERR(UNAVAILABLE, 500), WAITS(1600, 3200)},
	  {NEXT, AT(200), WATCHES("100")},
	  {FAIL, AT(200), ERR(THROTTLED, 429), WAITS(3200, 6400)},
	  {NEXT, AT(300), WATCHES("100")},
	  {FAIL, AT(300), ERR(TIMEOUT, 0), WAITS(6400, 12800)},
	  {NEXT, AT(400), WATCHES("100")},
	  {FAIL, AT(400), ERR(FORBIDDEN, 403), WAITS(12800, 25600)},
	  {NEXT, AT(500), WATCHES("100")},
	  {FAIL, AT(500), ERR(UNAUTHORIZED, 401), WAITS(25600, 51200)},
	  {NEXT, AT(600), WATCHES("100")},
	  {FAIL, AT(600), ERR(UNAVAILABLE, 0), WAITS(30000, 60000)},
	  {NEXT, AT(700), WATCHES("100")},
	  {FAIL, AT(821), ERR(UNAVAILABLE, 0), WAITS(800, 1600)}}},
	{"a server's Retry-After is kept, and spread",
	 {TO_SYNCED,
	  {FAIL, AT(2), .err = {.kind = ERROR_THROTTLED, .retry_after_us = 9 * USEC_PER_SEC},
	   WAITS(9000, 13500)}}},
	{"an absurd Retry-After is cut to five minutes",
	 {TO_SYNCED,
	  {FAIL, AT(2), .err = {.kind = ERROR_THROTTLED, .retry_after_us = INT64_MAX},
	   WAITS(300000, 450000)}}},
	{"a wait is not over before it is over",
	 {TO_SYNCED,
	  {FAIL, AT(2), ERR(UNAVAILABLE, 0), WAITS(800, 1600)},
	  {NEXT, AT(2), WAITS(800, 1600)},
	  {OBJECT, AT(2), RV("120"), WAITS(800, 1600)},
	  {ENDED, AT(2), WAITS(800, 1600)},
	  {FAIL, AT(2), ERR(UNAVAILABLE, 0), WAITS(800, 1600)},
	  {NEXT, AT(4), WATCHES("100")}}},
	{"an expired version means a full state, without harm to the old one",
	 {TO_SYNCED,
	  {FAIL, AT(2), ERR(EXPIRED, 410), WAITS(800, 1600)},
	  {NEXT, AT(4), STREAMS, BEGIN},
	  {LAST_MARK, AT(5), RV("300"), GOES_ON, COMPLETE, .from = "300"}}},
	{"a version that is too large for the server means a full state",
	 {TO_SYNCED,
	  {FAIL, AT(2), ERR(EXPIRED, 504), WAITS(800, 1600)},
	  {NEXT, AT(4), STREAMS, BEGIN}}},
	{"three gateway time-outs without a word mean the same",
	 {TO_SYNCED,
	  {FAIL, AT(2), ERR(UNAVAILABLE, 0), WAITS(800, 1600)},
	  {NEXT, AT(10), WATCHES("100")},
	  {FAIL, AT(10), ERR(TIMEOUT, 504), WAITS(1600, 3200)},
	  {NEXT, AT(20), WATCHES("100")},
	  {FAIL, AT(20), ERR(TIMEOUT, 504), WAITS(3200, 6400)},
	  {NEXT, AT(30), WATCHES("100")},
	  {FAIL, AT(30), ERR(TIMEOUT, 504), WAITS(6400, 12800)},
	  {NEXT, AT(50), STREAMS, BEGIN}}},
	{"gateway time-outs of streams that spoke do not",
	 {TO_SYNCED,
	  {FAIL, AT(2), ERR(TIMEOUT, 504), WAITS(800, 1600)},
	  {NEXT, AT(10), WATCHES("100")},
	  {FAIL, AT(10), ERR(TIMEOUT, 504), WAITS(1600, 3200)},
	  {NEXT, AT(20), WATCHES("100")},
	  {MARK, AT(20), RV("100"), GOES_ON},
	  {FAIL, AT(20), ERR(TIMEOUT, 504), WAITS(3200, 6400)},
	  {NEXT, AT(30), WATCHES("100")},
	  {FAIL, AT(30), ERR(TIMEOUT, 504), WAITS(6400, 12800)},
	  {NEXT, AT(50), WATCHES("100")}}},
	{"a kind that is gone, or a version that is refused, means a full state",
	 {TO_SYNCED,
	  {FAIL, AT(2), ERR(NOT_FOUND, 404), WAITS(800, 1600)},
	  {NEXT, AT(9), STREAMS, BEGIN},
	  {LAST_MARK, AT(9), RV("5"), GOES_ON, COMPLETE},
	  {FAIL, AT(9), ERR(UNAVAILABLE, 0), WAITS(1600, 3200)},
	  {NEXT, AT(19), WATCHES("5")},
	  {FAIL, AT(19), ERR(INVALID, 400), WAITS(3200, 6400)},
	  {NEXT, AT(29), STREAMS, BEGIN}}},
	{"a streamed list that is cut is thrown away and begins anew",
	 {TO_STREAM,
	  {OBJECT, AT(1), RV("7"), GOES_ON},
	  {FAIL, AT(1), ERR(UNAVAILABLE, 0), WAITS(800, 1600), ABORT},
	  {NEXT, AT(3), STREAMS, BEGIN}}},
	{"a streamed list that ends without its bookmark is thrown away",
	 {TO_STREAM, {ENDED, AT(400), WAITS(800, 1600), ABORT}, {NEXT, AT(402), STREAMS, BEGIN}}},
	{"a streamed list whose bookmark has no version is thrown away",
	 {TO_STREAM, {LAST_MARK, AT(1), RV(""), WAITS(800, 1600), ABORT}}},
	{"a server that refuses streamed lists is asked for pages at once, and ever after",
	 {TO_PAGES,
	  {PAGE, AT(1), RV("100"), .token = "t1", ASKS("t1")},
	  {PAGE, AT(1), RV("100"), .token = "t2", ASKS("t2")},
	  {PAGE, AT(1), RV("100"), WATCHES("100"), COMPLETE},
	  {FAIL, AT(2), ERR(EXPIRED, 410), WAITS(800, 1600)},
	  {NEXT, AT(4), ASKS(""), BEGIN},
	  {PAGE, AT(5), RV("200"), WATCHES("200"), COMPLETE}}},
	{"a bad event in a streamed list is no refusal of streamed lists",
	 {TO_STREAM,
	  {OBJECT, AT(1), RV("7"), GOES_ON},
	  {FAIL, AT(1), ERR(INVALID, 400), WAITS(800, 1600), ABORT},
	  {NEXT, AT(9), STREAMS, BEGIN}}},
	{"streams that break three times are replaced by pages, this once",
	 {TO_STREAM,
	  {ENDED, AT(1), WAITS(800, 1600), ABORT},
	  {NEXT, AT(9), STREAMS, BEGIN},
	  {FAIL, AT(9), ERR(LIMIT, 0), WAITS(1600, 3200), ABORT},
	  {NEXT, AT(19), STREAMS, BEGIN},
	  {FAIL, AT(19), ERR(TIMEOUT, 0), WAITS(3200, 6400), ABORT},
	  {NEXT, AT(29), ASKS(""), BEGIN},
	  {PAGE, AT(30), RV("100"), WATCHES("100"), COMPLETE},
	  {FAIL, AT(31), ERR(EXPIRED, 410), WAITS(6400, 12800)},
	  {NEXT, AT(49), STREAMS, BEGIN}}},
	{"a server that is not there does not count against streams",
	 {TO_STREAM,
	  {FAIL, AT(0), ERR(UNAVAILABLE, 0), WAITS(800, 1600), ABORT},
	  {NEXT, AT(9), STREAMS, BEGIN},
	  {FAIL, AT(9), ERR(FORBIDDEN, 403), WAITS(1600, 3200), ABORT},
	  {NEXT, AT(19), STREAMS, BEGIN},
	  {FAIL, AT(19), ERR(UNAVAILABLE, 0), WAITS(3200, 6400), ABORT},
	  {NEXT, AT(29), STREAMS, BEGIN}}},
	{"the version of a paged list is that of its first page",
	 {TO_PAGES,
	  {PAGE, AT(1), RV("100"), .token = "t1", ASKS("t1")},
	  {PAGE, AT(1), RV("140"), WATCHES("100"), COMPLETE}}},
	{"a later page that fails in passing is asked for again",
	 {TO_PAGES,
	  {PAGE, AT(1), RV("100"), .token = "t1", ASKS("t1")},
	  {FAIL, AT(1), ERR(UNAVAILABLE, 503), WAITS(800, 1600)},
	  {NEXT, AT(5), ASKS("t1")},
	  {PAGE, AT(6), RV("100"), WATCHES("100"), COMPLETE}}},
	{"a first page that fails in passing begins anew, since another would be of another state",
	 {TO_PAGES,
	  {FAIL, AT(1), ERR(UNAVAILABLE, 503), WAITS(800, 1600), ABORT},
	  {NEXT, AT(5), ASKS(""), BEGIN}}},
	{"a continue token that expired half-way begins anew with the first page",
	 {TO_PAGES,
	  {PAGE, AT(1), RV("100"), .token = "t1", ASKS("t1")},
	  {FAIL, AT(400), ERR(EXPIRED, 410), WAITS(800, 1600), ABORT},
	  {NEXT, AT(402), ASKS(""), BEGIN},
	  {PAGE, AT(402), RV("200"), WATCHES("200"), COMPLETE}}},
	{"a continue token that comes back unchanged does not make an endless list",
	 {TO_PAGES,
	  {PAGE, AT(1), RV("100"), .token = "t1", ASKS("t1")},
	  {PAGE, AT(1), RV("100"), .token = "t1", WAITS(800, 1600), ABORT}}},
	{"a list without a version cannot be watched from and begins anew",
	 {TO_PAGES,
	  {PAGE, AT(1), RV(""), WAITS(800, 1600), ABORT},
	  {NEXT, AT(5), ASKS(""), BEGIN}}},
};

/* Of a type that may not be installed. */
static const struct script optional_scripts[] = {
	{"a type that is not installed is a complete state of nothing, and looked for again",
	 {TO_STREAM, ABSENT(0), {NEXT, AT(18), STREAMS, BEGIN}, ABSENT(18)}},
	{"a type that is installed later is read like any other",
	 {TO_STREAM,
	  ABSENT(0),
	  {NEXT, AT(18), STREAMS, BEGIN},
	  {OBJECT, AT(18), RV("7"), GOES_ON},
	  {LAST_MARK, AT(18), RV("100"), GOES_ON, COMPLETE},
	  {OBJECT, AT(19), RV("101"), GOES_ON}}},
	{"a type that was there is given up when it was missed three times in a row",
	 {TO_SYNCED,
	  {FAIL, AT(2), ERR(NOT_FOUND, 404), WAITS(800, 1600)},
	  {NEXT, AT(4), STREAMS, BEGIN},
	  {FAIL, AT(4), ERR(NOT_FOUND, 404), WAITS(1600, 3200), ABORT},
	  {NEXT, AT(9), STREAMS, BEGIN},
	  {FAIL, AT(9), ERR(NOT_FOUND, 404), WAITS(3200, 6400), ABORT},
	  {NEXT, AT(19), STREAMS, BEGIN},
	  ABSENT(19),
	  {NEXT, AT(39), STREAMS, BEGIN},
	  ABSENT(39)}},
	{"another failure in between makes the count begin anew",
	 {TO_SYNCED,
	  {FAIL, AT(2), ERR(NOT_FOUND, 404), WAITS(800, 1600)},
	  {NEXT, AT(4), STREAMS, BEGIN},
	  {FAIL, AT(4), ERR(NOT_FOUND, 404), WAITS(1600, 3200), ABORT},
	  {NEXT, AT(9), STREAMS, BEGIN},
	  {FAIL, AT(9), ERR(NOT_FOUND, 404), WAITS(3200, 6400), ABORT},
	  {NEXT, AT(19), STREAMS, BEGIN},
	  {FAIL, AT(19), ERR(UNAVAILABLE, 503), WAITS(6400, 12800), ABORT},
	  {NEXT, AT(39), STREAMS, BEGIN},
	  {FAIL, AT(39), ERR(NOT_FOUND, 404), WAITS(12800, 25600), ABORT}}},
	{"another failure of a type that was not there leaves it so",
	 {TO_STREAM,
	  ABSENT(0),
	  {NEXT, AT(18), STREAMS, BEGIN},
	  {FAIL, AT(18), ERR(FORBIDDEN, 403), WAITS(800, 1600), ABORT},
	  {NEXT, AT(20), STREAMS, BEGIN},
	  ABSENT(20)}},
	{"a first page that is not found says the same",
	 {TO_PAGES, ABSENT(0), {NEXT, AT(18), STREAMS, BEGIN}}},
	{"a later page that is not found does not",
	 {TO_PAGES,
	  {PAGE, AT(1), RV("100"), .token = "t1", ASKS("t1")},
	  {FAIL, AT(1), ERR(NOT_FOUND, 404), WAITS(800, 1600), ABORT}}},
	{"a stream that broke off after an event is no sign of absence",
	 {TO_STREAM,
	  {OBJECT, AT(1), RV("7"), GOES_ON},
	  {FAIL, AT(1), ERR(NOT_FOUND, 404), WAITS(800, 1600), ABORT}}},
};

/* More text than a URL can carry, from the server. */
static char endless[LIMIT_HTTP_URL + 2];

static void happen(struct watch *watch, const struct line *l, struct watch_step *ret_step)
{
	int64_t now_us = l->now_s * USEC_PER_SEC;

	switch (l->op) {
	case NEXT:
		watch_next(watch, now_us, ret_step);
		break;
	case OBJECT:
		watch_on_event(watch, WATCH_ADDED, l->version, false, now_us, ret_step);
		break;
	case REMOVED:
		watch_on_event(watch, WATCH_DELETED, l->version, false, now_us, ret_step);
		break;
	case MARK:
	case LAST_MARK:
		watch_on_event(watch, WATCH_BOOKMARK, l->version, l->op == LAST_MARK, now_us,
			       ret_step);
		break;
	case PAGE:
		watch_on_page(watch, l->version, l->token, now_us, ret_step);
		break;
	case ENDED:
		watch_on_ended(watch, now_us, ret_step);
		break;
	case FAIL:
		watch_on_failed(watch, &l->err, now_us, ret_step);
		break;
	case NO_OP:
		break;
	}
}

static void check(size_t number, const struct line *l, const struct watch_step *step)
{
	int64_t now_us = l->now_s * USEC_PER_SEC;

	if (step->action != l->action || step->effect != l->effect)
		fail_msg("line %zu: action %d effect %d", number, (int)step->action,
			 (int)step->effect);
	if (l->action == WATCH_WAIT &&
	    (step->wait_until_us < now_us + l->least_ms * USEC_PER_MSEC ||
	     step->wait_until_us > now_us + l->most_ms * USEC_PER_MSEC))
		fail_msg("line %zu: waits %lld us", number,
			 (long long)(step->wait_until_us - now_us));
	if (l->from)
		assert_string_equal(l->action == WATCH_LIST_PAGE ? step->continue_token
								 : step->resource_version,
				    l->from);
	if (l->action == WATCH_WATCH || l->action == WATCH_STREAM_LIST)
		assert_in_range(step->timeout_us, 5 * USEC_PER_MIN, 10 * USEC_PER_MIN);
}

static void run(const struct script *script, bool optional)
{
	/* Whatever the dice say. */
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct watch *watch CLEANUP(watch_free) = watch_new(seed);

		if (optional)
			watch_set_optional(watch);
		for (size_t i = 0; script->lines[i].op != NO_OP; i++) {
			struct watch_step step;

			happen(watch, &script->lines[i], &step);
			check(i, &script->lines[i], &step);
		}
	}
}

static void test_script(void **state)
{
	run(*state, false);
}

static void test_optional_script(void **state)
{
	run(*state, true);
}

static void test_counters_and_age(void **state)
{
	static const struct error gone = {.kind = ERROR_EXPIRED};
	static const struct error refused = {.kind = ERROR_INVALID, .http_status = 422};
	struct watch *watch CLEANUP(watch_free) = watch_new(1);
	struct watch_step step;

	(void)state;
	assert_false(watch_synced(watch));
	assert_int_equal(watch_last_heard_us(watch), 0);
	watch_next(watch, 1, &step);
	watch_on_failed(watch, &refused, 2, &step);
	watch_on_page(watch, "5", "t", 3, &step);
	assert_false(watch_synced(watch));
	watch_on_page(watch, "5", "", 4, &step);
	assert_true(watch_synced(watch));
	assert_int_equal(watch_last_heard_us(watch), 4);
	assert_int_equal(watch_restarts(watch), 0);
	assert_int_equal(watch_relists(watch), 0);
	watch_on_failed(watch, &gone, 5, &step);
	assert_true(watch_synced(watch));
	watch_next(watch, step.wait_until_us, &step);
	assert_int_equal(watch_restarts(watch), 1);
	assert_int_equal(watch_relists(watch), 1);
}

static void test_text_longer_than_its_limit_is_a_failure(void **state)
{
	struct watch *watch CLEANUP(watch_free) = watch_new(1);
	struct watch_step step;

	(void)state;
	memset(endless, '7', sizeof(endless) - 1);
	watch_next(watch, 0, &step);
	watch_on_event(watch, WATCH_BOOKMARK, endless, true, 0, &step);
	assert_int_equal(step.action, WATCH_WAIT);
	assert_int_equal(step.effect, WATCH_EFFECT_ABORT_REPLACE);
	watch_next(watch, step.wait_until_us, &step);
	watch_on_event(watch, WATCH_BOOKMARK, "9", true, step.wait_until_us, &step);
	watch_on_event(watch, WATCH_ADDED, endless, false, step.wait_until_us, &step);
	assert_int_equal(step.action, WATCH_WAIT);
	assert_string_equal(step.resource_version, "");
}

static void test_seeds_spread_reconnects(void **state)
{
	int64_t least = INT64_MAX, most = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct watch *watch CLEANUP(watch_free) = watch_new(seed);
		struct watch_step step;

		watch_next(watch, 0, &step);
		watch_on_event(watch, WATCH_BOOKMARK, "9", true, 0, &step);
		watch_on_ended(watch, 0, &step);
		least = step.wait_until_us < least ? step.wait_until_us : least;
		most = step.wait_until_us > most ? step.wait_until_us : most;
	}
	assert_true(most - least > USEC_PER_SEC / 2);
}

/* What the store kept is not enough any more. */
static void test_a_store_may_want_a_new_full_state(void **state)
{
	CLEANUP(watch_free) struct watch *watch = watch_new(1);
	struct watch_step step;

	(void)state;
	assert_false(watch_relist(watch, 0, &step));
	watch_next(watch, 0, &step);
	assert_false(watch_relist(watch, 0, &step));
	watch_on_event(watch, WATCH_BOOKMARK, "7", true, 1, &step);
	assert_int_equal(step.effect, WATCH_EFFECT_END_REPLACE);
	assert_true(watch_relist(watch, 2, &step));
	assert_int_equal(step.action, WATCH_WAIT);
	assert_int_equal(step.effect, WATCH_EFFECT_NONE);
	assert_int_equal(step.wait_until_us, 2);
	assert_false(watch_relist(watch, 2, &step));
	watch_next(watch, 2, &step);
	assert_int_equal(step.action, WATCH_STREAM_LIST);
	assert_int_equal(step.effect, WATCH_EFFECT_BEGIN_REPLACE);
	assert_string_equal(step.resource_version, "");
	assert_int_equal(watch_relists(watch), 1);
}

/* It is between two streams: the next is one. */
static void test_a_watch_that_waits_comes_back_with_a_full_state(void **state)
{
	CLEANUP(watch_free) struct watch *watch = watch_new(1);
	struct watch_step step;

	(void)state;
	watch_next(watch, 0, &step);
	watch_on_event(watch, WATCH_BOOKMARK, "7", true, 1, &step);
	watch_on_failed(watch, NULL, 2, &step);
	assert_int_equal(step.action, WATCH_WAIT);
	assert_false(watch_relist(watch, 3, &step));
	watch_next(watch, step.wait_until_us, &step);
	assert_int_equal(step.action, WATCH_STREAM_LIST);
}

static void test_a_wait_after_a_fault_ends_soon_when_another_watch_is_taken(void **state)
{
	const struct error gone = {.kind = ERROR_UNAVAILABLE};
	const struct error busy = {.kind = ERROR_THROTTLED, .retry_after_us = 9 * USEC_PER_SEC};
	struct watch *watch CLEANUP(watch_free) = watch_new(1);
	int64_t now_us = USEC_PER_SEC;
	struct watch_step step;

	(void)state;
	assert_false(watch_hurry(watch, now_us, &step)); /* it has not begun */
	watch_next(watch, now_us, &step);
	assert_false(watch_hurry(watch, now_us, &step)); /* it is open */
	for (int i = 0; i < 6; i++) {
		watch_on_failed(watch, &gone, now_us, &step);
		now_us = step.wait_until_us;
		watch_next(watch, now_us, &step);
		assert_int_equal(step.action, WATCH_STREAM_LIST);
	}
	watch_on_failed(watch, &gone, now_us, &step);
	assert_true(step.wait_until_us >= now_us + 20 * USEC_PER_SEC);
	assert_true(watch_hurry(watch, now_us, &step));
	assert_int_equal(step.action, WATCH_WAIT);
	assert_true(step.wait_until_us <= now_us + USEC_PER_SEC);
	now_us = step.wait_until_us;
	watch_next(watch, now_us, &step);
	assert_int_equal(step.action, WATCH_STREAM_LIST);
	/* The server's own wish holds. */
	watch_on_failed(watch, &busy, now_us, &step);
	watch_hurry(watch, now_us, &step);
	assert_true(step.wait_until_us >= now_us + 9 * USEC_PER_SEC);
}

/* What it shows is of a moment before the wish. */
static void test_a_full_state_under_way_is_given_up_for_one_from_now_on(void **state)
{
	CLEANUP(watch_free) struct watch *watch = watch_new(1);
	struct watch_step step;

	(void)state;
	assert_false(watch_read_anew(watch, 0, &step)); /* nothing was asked yet */
	watch_next(watch, 0, &step);
	watch_on_event(watch, WATCH_ADDED, "5", false, 1, &step);
	assert_true(watch_read_anew(watch, 2, &step));
	assert_int_equal(step.action, WATCH_WAIT);
	assert_int_equal(step.effect, WATCH_EFFECT_ABORT_REPLACE);
	assert_int_equal(step.wait_until_us, 2);
	watch_next(watch, 2, &step);
	assert_int_equal(step.action, WATCH_STREAM_LIST);
	assert_int_equal(step.effect, WATCH_EFFECT_BEGIN_REPLACE);
	watch_on_event(watch, WATCH_BOOKMARK, "7", true, 3, &step);
	assert_int_equal(step.effect, WATCH_EFFECT_END_REPLACE);
	/* A watch that works is ended for it, as by watch_relist(). */
	assert_true(watch_read_anew(watch, 4, &step));
	assert_int_equal(step.effect, WATCH_EFFECT_NONE);
	watch_next(watch, 4, &step);
	assert_int_equal(step.effect, WATCH_EFFECT_BEGIN_REPLACE);
}

/* Between two pages it is told at once that the first counts no more; the pause stays. */
static void test_a_list_between_two_pages_is_given_up_at_once(void **state)
{
	CLEANUP(watch_free) struct watch *watch = watch_new(1);
	const struct error passing = {.kind = ERROR_UNAVAILABLE},
			   refusal = {.kind = ERROR_INVALID, .http_status = 422};
	struct watch_step step;
	int64_t until_us;

	(void)state;
	watch_next(watch, 0, &step);
	watch_on_failed(watch, &refusal, 0, &step);
	watch_on_page(watch, "9", "more", 1, &step);
	watch_on_failed(watch, &passing, 2, &step);
	until_us = step.wait_until_us;
	assert_true(watch_read_anew(watch, 3, &step));
	assert_int_equal(step.effect, WATCH_EFFECT_ABORT_REPLACE);
	assert_int_equal(step.wait_until_us, until_us);
	watch_next(watch, until_us, &step);
	assert_int_equal(step.action, WATCH_LIST_PAGE);
	assert_string_equal(step.continue_token, "");
	assert_int_equal(step.effect, WATCH_EFFECT_BEGIN_REPLACE);
}

static void test_free_accepts_null(void **state)
{
	(void)state;
	watch_free(NULL);
}

int main(void)
{
	const struct CMUnitTest fixed[] = {
		cmocka_unit_test(test_counters_and_age),
		cmocka_unit_test(test_text_longer_than_its_limit_is_a_failure),
		cmocka_unit_test(test_seeds_spread_reconnects),
		cmocka_unit_test(test_a_store_may_want_a_new_full_state),
		cmocka_unit_test(test_a_watch_that_waits_comes_back_with_a_full_state),
		cmocka_unit_test(test_a_wait_after_a_fault_ends_soon_when_another_watch_is_taken),
		cmocka_unit_test(test_a_full_state_under_way_is_given_up_for_one_from_now_on),
		cmocka_unit_test(test_a_list_between_two_pages_is_given_up_at_once),
		cmocka_unit_test(test_free_accepts_null),
	};
	struct CMUnitTest
		tests[ARRAY_SIZE(scripts) + ARRAY_SIZE(optional_scripts) + ARRAY_SIZE(fixed)];
	struct CMUnitTest *next = tests;

	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++)
		*next++ = (struct CMUnitTest){scripts[i].name, test_script, NULL, NULL,
					      (void *)(uintptr_t)&scripts[i]};
	for (size_t i = 0; i < ARRAY_SIZE(optional_scripts); i++)
		*next++ = (struct CMUnitTest){optional_scripts[i].name, test_optional_script, NULL,
					      NULL, (void *)(uintptr_t)&optional_scripts[i]};
	memcpy(next, fixed, sizeof(fixed));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
