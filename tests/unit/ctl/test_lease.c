/* SPDX-License-Identifier: Apache-2.0 */
/* Leader election, as scripts: each line is what happened, and the step that must come out of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "ctl/lease.h"

#define MAX_LINES      16
#define REAL_OFFSET_US (1000 * USEC_PER_SEC)
#define ANY            (-1)

enum op { NO_OP, NEXT, READ, READ_NONE, SEEN, SEEN_NONE, WRITTEN, FAIL, RELEASE };

/* Times are in ms. What is written is answered as the machine wrote it. */
struct line {
	enum op op;
	int64_t now;
	/* what arrives */
	const char *holder, *version;
	int64_t renewed, sent;
	int32_t duration_s;
	bool created; /* the record is of no transition */
	enum error_kind kind;
	int64_t retry_after;
	/* what must come out */
	enum lease_action action;
	int64_t least, most; /* of WAIT, from now */
	int64_t fence;       /* 0: does not lead */
	int64_t timeout;
	const char *writes; /* the holder */
	const char *at;     /* the precondition */
	int32_t transitions;
	int64_t acquired;
};

struct script {
	const char *name;
	struct line lines[MAX_LINES];
};

#define T(ms)              .now = (ms)
#define BY(who, rv, renew) .holder = (who), .version = (rv), .renewed = (renew)
#define OTHER(rv, renew)   BY("other", rv, renew)
#define GETS               .action = LEASE_GET
#define UPDATES(rv)        .action = LEASE_UPDATE, .at = (rv), .writes = "me"
#define CREATES            .action = LEASE_CREATE, .writes = "me"
#define FREES(rv)          .action = LEASE_UPDATE, .at = (rv), .writes = ""
#define WAITS(from, to)    .action = LEASE_WAIT, .least = (from), .most = (to)
#define BUSY               .action = LEASE_NONE
#define STOPS              .action = LEASE_STOPPED
#define LEADS(ms)          .fence = (ms)
#define KIND(k)            .kind = ERROR_##k

#define TO_GET                   \
	{                        \
		NEXT, T(0), GETS \
	}
/* We found no Lease, made it, and lead by a request that left at 10 ms. */
#define TO_LEADER                                                                           \
	TO_GET, {READ_NONE, T(10), CREATES},                                                \
	{                                                                                   \
		WRITTEN, T(20), .version = "1", .sent = 10, WAITS(2000, 2000), LEADS(10010) \
	}
/* Another one holds it, as read at 0. */
#define TO_STANDBY                                           \
	TO_GET,                                              \
	{                                                    \
		READ, T(0), OTHER("5", 1), WAITS(2000, 4400) \
	}

static const struct script scripts[] = {
	{"a Lease that nobody made is created, and we lead from when the request left",
	 {TO_LEADER, {NEXT, T(100), WAITS(1920, 1920), LEADS(10010)}}},
	{"nothing else is sent while a request is under way",
	 {TO_GET, {NEXT, T(100), BUSY}, {READ_NONE, T(200), CREATES}, {NEXT, T(300), BUSY}}},
	{"a Lease that nobody holds is taken at once, with one transition more",
	 {TO_GET, {READ, T(10), BY("", "5", 1), UPDATES("5"), .transitions = 4}}},
	{"a Lease held by another is left alone and read again, with jitter",
	 {TO_STANDBY, {NEXT, T(4400), GETS}, {READ, T(4401), OTHER("6", 2), WAITS(2000, 4400)}}},
	{"it is free when its record has not changed for its duration, and no earlier",
	 {TO_STANDBY,
	  {NEXT, T(4400), GETS},
	  {READ, T(14000), OTHER("5", 1), WAITS(1000, 1000)},
	  {NEXT, T(14999), WAITS(1, 1)},
	  {NEXT, T(15000), UPDATES("5"), .transitions = 4},
	  {WRITTEN, T(15100), .version = "6", .sent = 15000, WAITS(2000, 2000), LEADS(25000)}}},
	{"another resourceVersion alone does not make the holder look alive, but is the precondition",
	 {TO_STANDBY,
	  {SEEN, T(10000), OTHER("8", 1), WAITS(ANY, 5000)},
	  {NEXT, T(15000), UPDATES("8"), .transitions = 4}}},
	{"the duration in the record counts, whoever wrote it",
	 {TO_GET,
	  {READ, T(0), OTHER("5", 1), .duration_s = 3, WAITS(2000, 3000)},
	  {SEEN, T(1), OTHER("6", 2), .duration_s = 60, WAITS(ANY, 4400)},
	  {NEXT, T(59000), GETS},
	  {READ, T(59500), OTHER("6", 2), .duration_s = 60, WAITS(501, 501)},
	  {NEXT, T(60001), UPDATES("6"), .transitions = 4}}},
	{"a record without a duration is given ours",
	 {TO_GET,
	  {READ, T(0), OTHER("5", 1), .duration_s = -1, WAITS(2000, 4400)},
	  {SEEN, T(1), OTHER("6", 2), .duration_s = -1, WAITS(ANY, 4400)},
	  {NEXT, T(15001), UPDATES("6"), .transitions = 4}}},
	{"a watch shows a release and it is taken at once",
	 {TO_STANDBY, {SEEN, T(500), BY("", "6", 2), UPDATES("6"), .transitions = 4}}},
	{"a watch that shows renewals moves the take-over",
	 {TO_STANDBY,
	  {SEEN, T(1000), OTHER("6", 2), WAITS(ANY, 4400)},
	  {SEEN, T(3000), OTHER("7", 3), WAITS(ANY, 4400)},
	  {NEXT, T(17999), GETS},
	  {READ, T(17999), OTHER("7", 3), WAITS(1, 1)},
	  {NEXT, T(18000), UPDATES("7"), .transitions = 4}}},
	{"a watch that lags is not believed",
	 {TO_STANDBY, {SEEN, T(1000), BY("", "4", 0), WAITS(ANY, 4400)}, {NEXT, T(4400), GETS}}},
	{"a conflict is followed by a read, and after two reads by a rest and a read",
	 {TO_GET,
	  {READ, T(10), BY("", "5", 1), UPDATES("5"), .transitions = 4},
	  {FAIL, T(20), KIND(CONFLICT), GETS},
	  {READ, T(30), BY("", "6", 2), UPDATES("6"), .transitions = 4},
	  {FAIL, T(40), KIND(CONFLICT), WAITS(2000, 4400)},
	  {NEXT, T(5000), GETS},
	  {READ, T(5020), OTHER("7", 3), WAITS(2000, 4400)}}},
	{"a create that came second is followed by a read",
	 {TO_STANDBY,
	  {SEEN_NONE, T(500), .version = "6", WAITS(ANY, 4400)},
	  {NEXT, T(15500), CREATES},
	  {FAIL, T(15510), KIND(EXISTS), GETS},
	  {READ, T(15520), OTHER("9", 9), WAITS(2000, 4400)}}},
	{"a deleted Lease is not created before any holder must have given up",
	 {TO_STANDBY,
	  {SEEN_NONE, T(500), .version = "6", WAITS(ANY, 4400)},
	  {NEXT, T(15499), GETS},
	  {READ_NONE, T(15499), WAITS(1, 1)},
	  {NEXT, T(15500), CREATES}}},
	{"a deleted Lease that was free when last seen may have been held since",
	 {TO_GET,
	  {READ, T(10), BY("", "5", 1), .duration_s = 1, UPDATES("5"), .transitions = 4},
	  {FAIL, T(500), KIND(NOT_FOUND), GETS},
	  {READ_NONE, T(510), WAITS(2000, 4400)},
	  {NEXT, T(15499), GETS},
	  {READ_NONE, T(15499), WAITS(1, 1)},
	  {NEXT, T(15500), CREATES}}},
	{"a standby that cannot read goes on trying, as slowly as the server wishes",
	 {TO_GET,
	  {FAIL, T(10), KIND(UNAVAILABLE), WAITS(2000, 4400)},
	  {NEXT, T(5000), GETS},
	  {FAIL, T(5010), KIND(THROTTLED), .retry_after = 9000, WAITS(9000, 9000)},
	  {NEXT, T(15000), GETS},
	  {FAIL, T(15010), KIND(THROTTLED), .retry_after = 9000000, WAITS(15000, 15000)}}},
	{"a namespace that is missing is no reason to hurry",
	 {TO_GET,
	  {READ_NONE, T(10), CREATES},
	  {FAIL, T(20), KIND(NOT_FOUND), GETS},
	  {FAIL, T(30), KIND(NOT_FOUND), CREATES},
	  {FAIL, T(40), KIND(NOT_FOUND), WAITS(2000, 4400)}}},

	{"a leader renews by what it knows, without reading, and moves its fence",
	 {TO_LEADER,
	  {NEXT, T(2020), UPDATES("1"), LEADS(10010), .acquired = 10, .timeout = 5000},
	  {WRITTEN, T(2050), .version = "2", .sent = 2030, WAITS(2000, 2000), LEADS(12030)},
	  {NEXT, T(4050), UPDATES("2"), LEADS(12030), .acquired = 10}}},
	{"a leader whose renewal fails reads, and renews by what it read",
	 {TO_LEADER,
	  {NEXT, T(2020), UPDATES("1"), LEADS(10010), .acquired = 10},
	  {FAIL, T(7020), KIND(TIMEOUT), GETS, LEADS(10010), .timeout = 2990},
	  {READ, T(7030), BY("me", "2", 1), UPDATES("2"), LEADS(10010), .transitions = 3,
	   .timeout = 2980},
	  {WRITTEN, T(7040), .version = "3", .sent = 7030, WAITS(2000, 2000), LEADS(17030)}}},
	{"a leader that cannot reach the server tries at its pace until the deadline, then does not lead",
	 {TO_LEADER,
	  {NEXT, T(2020), UPDATES("1"), LEADS(10010), .acquired = 10},
	  {FAIL, T(2030), KIND(UNAVAILABLE), GETS, LEADS(10010)},
	  {FAIL, T(2040), KIND(UNAVAILABLE), WAITS(2000, 2000), LEADS(10010)},
	  {NEXT, T(8500), UPDATES("1"), LEADS(10010), .acquired = 10, .timeout = 1510},
	  {FAIL, T(8510), KIND(THROTTLED), .retry_after = 30000, WAITS(1500, 1500), LEADS(10010)},
	  {NEXT, T(10009), WAITS(1, 1), LEADS(10010)},
	  {NEXT, T(10010), UPDATES("1"), .acquired = 10}}},
	{"a renewal that is answered after the deadline does not count; another one does",
	 {TO_LEADER,
	  {NEXT, T(9000), UPDATES("1"), LEADS(10010), .acquired = 10, .timeout = 1010},
	  {WRITTEN, T(10010), .version = "2", .sent = 9000, WAITS(0, 0)},
	  {NEXT, T(10010), UPDATES("2"), .acquired = 10},
	  {WRITTEN, T(10020), .version = "3", .sent = 10010, WAITS(2000, 2000), LEADS(20010)}}},
	{"an answer that comes later than the deadline it would set makes no leader",
	 {TO_GET,
	  {READ, T(10), BY("", "5", 1), UPDATES("5"), .transitions = 4},
	  {WRITTEN, T(10010), .version = "6", .sent = 10, WAITS(0, 0)},
	  {NEXT, T(10010), UPDATES("6"), .transitions = 4}}},
	{"a create that is answered so late is not even believed to be of now",
	 {TO_GET,
	  {READ_NONE, T(10), CREATES},
	  {WRITTEN, T(10010), .version = "1", .sent = 10, WAITS(0, 0)},
	  {NEXT, T(10010), GETS}}},
	{"a leader that wakes up after the deadline is no leader, and tries again",
	 {TO_LEADER,
	  {NEXT, T(3600000), UPDATES("1"), .acquired = 10},
	  {FAIL, T(3600010), KIND(CONFLICT), GETS},
	  {READ, T(3600020), OTHER("7", 5), WAITS(2000, 4400)}}},
	{"a leader that sees another holder stops at once",
	 {TO_LEADER, {SEEN, T(1000), OTHER("2", 5), WAITS(ANY, 4400)}}},
	{"a leader that sees its Lease deleted stops at once and makes it again",
	 {TO_LEADER, {SEEN_NONE, T(1000), .version = "2", CREATES}}},
	{"a leader whose renewal finds nothing stops at once and makes it again",
	 {TO_LEADER,
	  {NEXT, T(2020), UPDATES("1"), LEADS(10010), .acquired = 10},
	  {FAIL, T(2030), KIND(NOT_FOUND), CREATES},
	  {WRITTEN, T(2040), .version = "9", .sent = 2030, WAITS(2000, 2000), LEADS(12030)}}},
	{"a leader is not disturbed by the echo of its own writes, nor by older ones",
	 {TO_LEADER,
	  {NEXT, T(2020), UPDATES("1"), LEADS(10010), .acquired = 10},
	  {SEEN, T(2025), BY("me", "2", 9), BUSY, LEADS(10010)},
	  {WRITTEN, T(2030), .version = "2", .sent = 2020, WAITS(2000, 2000), LEADS(12020)},
	  {SEEN, T(2040), BY("other", "1", 1), WAITS(1990, 1990), LEADS(12020)}}},
	{"a version that went back with the server is taken from a read",
	 {TO_LEADER,
	  {NEXT, T(2020), UPDATES("1"), LEADS(10010), .acquired = 10},
	  {WRITTEN, T(2030), .version = "200", .sent = 2020, WAITS(2000, 2000), LEADS(12020)},
	  {NEXT, T(4030), UPDATES("200"), LEADS(12020), .acquired = 10},
	  {FAIL, T(4040), KIND(CONFLICT), GETS, LEADS(12020)},
	  {READ, T(4050), BY("me", "100", 2), UPDATES("100"), LEADS(12020), .transitions = 3}}},

	{"our own identity in the record makes no leader; a write of ours does, as the same term",
	 {TO_GET,
	  {READ, T(10), BY("me", "5", 1), UPDATES("5"), .transitions = 3, .acquired = 77},
	  {WRITTEN, T(20), .version = "6", .sent = 10, WAITS(2000, 2000), LEADS(10010)}}},
	{"an update whose answer was lost is found by the read after it, and good",
	 {TO_GET,
	  {READ, T(10), BY("", "5", 1), UPDATES("5"), .transitions = 4},
	  {FAIL, T(5010), KIND(TIMEOUT), GETS},
	  {READ, T(5020), BY("me", "6", 2), UPDATES("6"), .transitions = 3, .acquired = 77}}},
	{"a create whose answer was lost may be older than another's term, and waits for its end",
	 {TO_GET,
	  {READ_NONE, T(10), CREATES},
	  {FAIL, T(5010), KIND(TIMEOUT), GETS},
	  {READ, T(5020), BY("me", "1", 1), .created = true, WAITS(2000, 4400)},
	  {NEXT, T(20019), GETS},
	  {READ, T(20019), BY("me", "1", 1), .created = true, WAITS(1, 1)},
	  {NEXT, T(20020), UPDATES("1"), .acquired = 77},
	  {WRITTEN, T(20030), .version = "2", .sent = 20020, WAITS(2000, 2000), LEADS(30020)},
	  {NEXT, T(22030), UPDATES("2"), LEADS(30020), .acquired = 77},
	  {FAIL, T(22040), KIND(TIMEOUT), GETS, LEADS(30020)},
	  {READ, T(22050), BY("me", "3", 2), .created = true, UPDATES("3"), LEADS(30020),
	   .acquired = 77}}},
	{"a create that was refused is not lost",
	 {TO_GET,
	  {READ_NONE, T(10), CREATES},
	  {FAIL, T(20), KIND(EXISTS), GETS},
	  {READ, T(30), BY("me", "1", 1), .created = true, UPDATES("1"), .acquired = 77}}},
	{"a view without a version is never a precondition",
	 {TO_GET, {READ, T(10), BY("", "", 1), WAITS(2000, 4400)}, {NEXT, T(4500), GETS}}},

	{"a leader that is released writes an empty holder, leads no more at once, and stops",
	 {TO_LEADER,
	  {RELEASE, T(1000), FREES("1")},
	  {NEXT, T(1001), BUSY},
	  {WRITTEN, T(1010), .version = "2", .sent = 1000, WAITS(0, 0)},
	  {NEXT, T(1010), STOPS},
	  {NEXT, T(90000), STOPS},
	  {SEEN, T(90000), BY("", "9", 9), STOPS}}},
	{"a renewal under way is awaited before the release",
	 {TO_LEADER,
	  {NEXT, T(2020), UPDATES("1"), LEADS(10010), .acquired = 10},
	  {RELEASE, T(2030), BUSY},
	  {WRITTEN, T(2040), .version = "2", .sent = 2020, WAITS(0, 0)},
	  {NEXT, T(2040), FREES("2")}}},
	{"a release that meets a conflict reads and writes again",
	 {TO_LEADER,
	  {RELEASE, T(1000), FREES("1")},
	  {FAIL, T(1010), KIND(CONFLICT), GETS},
	  {READ, T(1020), BY("me", "2", 1), FREES("2"), .transitions = 3}}},
	{"a release does not touch the Lease of another",
	 {TO_LEADER,
	  {RELEASE, T(1000), FREES("1")},
	  {FAIL, T(1010), KIND(CONFLICT), GETS},
	  {READ, T(1020), OTHER("2", 1), STOPS}}},
	{"a release that does not get through is given up after two retry periods",
	 {TO_LEADER,
	  {RELEASE, T(1000), FREES("1"), .timeout = 4000},
	  {FAIL, T(1010), KIND(UNAVAILABLE), GETS, .timeout = 3990},
	  {FAIL, T(1020), KIND(UNAVAILABLE), WAITS(500, 500)},
	  {NEXT, T(1520), FREES("1"), .timeout = 3480},
	  {FAIL, T(5000), KIND(TIMEOUT), GETS},
	  {FAIL, T(5001), KIND(TIMEOUT), WAITS(500, 500)},
	  {NEXT, T(5501), STOPS}}},
	{"a standby that is released stops at once", {TO_STANDBY, {RELEASE, T(1000), STOPS}}},
	{"a release before the first step stops", {{RELEASE, T(0), STOPS}}},
	{"a release under way is not restarted by a second one",
	 {TO_LEADER,
	  {RELEASE, T(1000), FREES("1")},
	  {RELEASE, T(2000), BUSY},
	  {FAIL, T(5000), KIND(THROTTLED), WAITS(500, 500)},
	  {NEXT, T(5500), STOPS}}},
};

static struct lease_view view_of(const struct line *l, const struct lease_step *step)
{
	struct lease_view view = {
		.exists = l->op != READ_NONE && l->op != SEEN_NONE,
		.resource_version = str_from(l->version),
		.record = {str_from(l->holder), 15, 3, 77, l->renewed},
	};

	if (l->duration_s != 0)
		view.record.duration_s = l->duration_s;
	if (l->created)
		view.record.transitions = 0;
	if (l->op == WRITTEN)
		view.record = step->record;
	return view;
}

static void happen(struct lease *lease, const struct line *l, struct lease_step *step)
{
	struct lease_view view = view_of(l, step);
	struct error err = {.kind = l->kind, .retry_after_us = l->retry_after * USEC_PER_MSEC};
	int64_t now_us = l->now * USEC_PER_MSEC, real_us = now_us + REAL_OFFSET_US;

	switch (l->op) {
	case NEXT:
		lease_next(lease, now_us, real_us, step);
		break;
	case READ:
	case READ_NONE:
		lease_on_read(lease, &view, now_us, real_us, step);
		break;
	case SEEN:
	case SEEN_NONE:
		lease_on_watched(lease, &view, now_us, real_us, step);
		break;
	case WRITTEN:
		lease_on_written(lease, &view, l->sent * USEC_PER_MSEC, now_us, step);
		break;
	case FAIL:
		lease_on_failed(lease, &err, now_us, real_us, step);
		break;
	case RELEASE:
		lease_release(lease, now_us, real_us, step);
		break;
	case NO_OP:
		break;
	}
}

static void check_write(const struct line *l, const struct lease_step *step)
{
	assert_true(str_equal(step->record.holder, str_from(l->writes)));
	assert_int_equal(step->record.duration_s, l->writes[0] ? 15 : 1);
	assert_int_equal(step->record.transitions, l->transitions);
	assert_int_equal(step->record.renew_us, l->now * USEC_PER_MSEC + REAL_OFFSET_US);
	if (l->action == LEASE_UPDATE)
		assert_true(str_equal(step->resource_version, str_from(l->at)));
	if (l->acquired == 77)
		assert_int_equal(step->record.acquire_us, 77);
	else if (l->acquired > 0)
		assert_int_equal(step->record.acquire_us,
				 l->acquired * USEC_PER_MSEC + REAL_OFFSET_US);
}

static void check(const struct lease *lease, const struct line *l, const struct lease_step *step)
{
	int64_t now_us = l->now * USEC_PER_MSEC;

	assert_int_equal(step->action, l->action);
	assert_int_equal(step->leads, l->fence > 0);
	assert_int_equal(step->fence_us, l->fence * USEC_PER_MSEC);
	assert_int_equal(lease_leads(lease, now_us), l->fence > 0);
	assert_false(lease_leads(lease, l->fence * USEC_PER_MSEC));
	if (l->action == LEASE_WAIT) {
		if (l->least != ANY)
			assert_true(step->wait_until_us >= now_us + l->least * USEC_PER_MSEC);
		assert_true(step->wait_until_us <= now_us + l->most * USEC_PER_MSEC);
	}
	if (l->timeout > 0)
		assert_int_equal(step->timeout_us, l->timeout * USEC_PER_MSEC);
	if (l->action < LEASE_WAIT)
		assert_in_range(step->timeout_us, 1, 5 * USEC_PER_SEC);
	if (l->writes)
		check_write(l, step);
}

static const struct lease_options defaults = {
	"me",
	15 * USEC_PER_SEC,
	10 * USEC_PER_SEC,
	2 * USEC_PER_SEC,
};

static void test_script(void **state)
{
	const struct script *script = *state;

	/* Whatever the dice say. */
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct lease *lease CLEANUP(lease_free) = NULL;
		struct lease_step step = {0};

		assert_int_equal(lease_new(&defaults, seed, &lease, NULL), 0);
		for (size_t i = 0; script->lines[i].op != NO_OP; i++) {
			print_message("line %zu\n", i);
			happen(lease, &script->lines[i], &step);
			check(lease, &script->lines[i], &step);
		}
	}
}

static void test_timings_keep_their_order(void **state)
{
	static const struct {
		const char *name;
		struct lease_options options;
		int rc;
	} cases[] = {
		{"client-go's defaults", {"me", 15000000, 10000000, 2000000}, 0},
		{"no identity", {NULL, 15000000, 10000000, 2000000}, -1},
		{"an empty identity", {"", 15000000, 10000000, 2000000}, -1},
		{"a duration of no more than the deadline", {"me", 10, 10, 2}, -1},
		{"a deadline of no more than 1.2 retries", {"me", 30, 12, 10}, -1},
		{"a deadline just over it", {"me", 30, 13, 10}, 0},
		{"no retry period", {"me", 30, 13, 0}, -1},
		{"a duration that the field cannot hold", {"me", INT64_MAX, 13, 10}, -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct lease *lease CLEANUP(lease_free) = NULL;
		struct error err = {0};

		if (lease_new(&cases[i].options, 1, &lease, &err) != cases[i].rc)
			fail_msg("%s", cases[i].name);
		assert_int_equal(err.kind, cases[i].rc ? ERROR_INVALID : ERROR_NONE);
	}
}

/* Others watch the record for changes; a real clock that stands still must not hide a renewal. */
static void test_every_renewal_changes_the_record(void **state)
{
	struct lease *lease CLEANUP(lease_free) = NULL;
	struct lease_view view = {.exists = false};
	struct lease_step step;
	static const char versions[] = "12345";
	int64_t renewed_us = -1;

	(void)state;
	assert_int_equal(lease_new(&defaults, 1, &lease, NULL), 0);
	lease_next(lease, 0, 5, &step);
	lease_on_read(lease, &view, 0, 5, &step);
	for (int64_t i = 0; i < 5; i++) {
		assert_int_not_equal(step.record.renew_us, renewed_us);
		renewed_us = step.record.renew_us;
		view = (struct lease_view){true, step.record, {&versions[i], 1}};
		lease_on_written(lease, &view, i, i, &step);
		lease_next(lease, step.wait_until_us, 5, &step);
	}
}

static void test_a_short_duration_is_written_rounded_up(void **state)
{
	static const struct lease_options quick = {"me", 1500000, 1000000, 300000};
	struct lease *lease CLEANUP(lease_free) = NULL;
	struct lease_view view = {.exists = false};
	struct lease_step step;

	(void)state;
	assert_int_equal(lease_new(&quick, 1, &lease, NULL), 0);
	lease_next(lease, 0, 0, &step);
	lease_on_read(lease, &view, 0, 0, &step);
	assert_int_equal(step.record.duration_s, 2);
}

static void test_the_holder_is_told(void **state)
{
	struct lease *lease CLEANUP(lease_free) = NULL;
	struct lease_view view = {true, {STR("other"), 15, 0, 0, 0}, STR("3")};
	struct lease_step step;

	(void)state;
	assert_int_equal(lease_new(&defaults, 1, &lease, NULL), 0);
	assert_true(str_empty(lease_holder(lease)));
	lease_next(lease, 0, 0, &step);
	lease_on_read(lease, &view, 0, 0, &step);
	assert_true(str_equal(lease_holder(lease), STR("other")));
	view.exists = false;
	lease_on_watched(lease, &view, 1, 1, &step);
	assert_true(str_empty(lease_holder(lease)));
}

static void test_free_accepts_null(void **state)
{
	(void)state;
	lease_free(NULL);
}

#define FIXED_TESTS 5

int main(void)
{
	const struct CMUnitTest fixed[FIXED_TESTS] = {
		cmocka_unit_test(test_timings_keep_their_order),
		cmocka_unit_test(test_every_renewal_changes_the_record),
		cmocka_unit_test(test_a_short_duration_is_written_rounded_up),
		cmocka_unit_test(test_the_holder_is_told),
		cmocka_unit_test(test_free_accepts_null),
	};
	struct CMUnitTest tests[ARRAY_SIZE(scripts) + FIXED_TESTS];

	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++)
		tests[i] = (struct CMUnitTest){scripts[i].name, test_script, NULL, NULL,
					       (void *)(uintptr_t)&scripts[i]};
	memcpy(tests + ARRAY_SIZE(scripts), fixed, sizeof(fixed));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
