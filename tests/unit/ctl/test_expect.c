/* SPDX-License-Identifier: Apache-2.0 */
/* Expectations, as scripts of calls; ASK says whether a decision must wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/expect.h"

enum op { END, SET, SEEN, RELIST, MUST_WAIT, MAY_GO, COUNT };

/* @time: when a SET expires, or when is asked. @version: of a COUNT, how many. */
struct step {
	enum op op;
	uint64_t object, version;
	int64_t time;
};

struct script {
	const char *name;
	struct step steps[10];
};

static const struct script scripts[] = {
	{"what was not written is not waited for", {{MAY_GO, 1, 0, 0}, {COUNT, 0, 0, 0}}},
	{"a write is waited for until the watch shows its version",
	 {{SET, 1, 50, 100},
	  {MUST_WAIT, 1, 0, 1},
	  {SEEN, 1, 49, 0},
	  {MUST_WAIT, 1, 0, 2},
	  {SEEN, 1, 50, 0},
	  {MAY_GO, 1, 0, 3},
	  {COUNT, 0, 0, 0}}},
	{"a later version shows it as well",
	 {{SET, 1, 50, 100}, {SEEN, 1, 51, 0}, {MAY_GO, 1, 0, 1}}},
	{"events of other objects do not",
	 {{SET, 1, 50, 100},
	  {SET, 2, 51, 100},
	  {SEEN, 2, 60, 0},
	  {MUST_WAIT, 1, 0, 1},
	  {MAY_GO, 2, 0, 1}}},
	{"an unknown version is shown by any event",
	 {{SET, 1, 0, 100}, {MUST_WAIT, 1, 0, 1}, {SEEN, 1, 7, 0}, {MAY_GO, 1, 0, 1}}},
	{"a deletion, or a version that is no number, shows any write",
	 {{SET, 1, 50, 100}, {SEEN, 1, 0, 0}, {MAY_GO, 1, 0, 1}}},
	{"the cache is believed again when the time is over",
	 {{SET, 1, 50, 100}, {MUST_WAIT, 1, 0, 99}, {MAY_GO, 1, 0, 100}, {COUNT, 0, 0, 0}}},
	{"the later of two writes is waited for, and the longer time",
	 {{SET, 1, 50, 100},
	  {SET, 1, 60, 90},
	  {SEEN, 1, 50, 0},
	  {MUST_WAIT, 1, 0, 99},
	  {SEEN, 1, 60, 0},
	  {MAY_GO, 1, 0, 99}}},
	{"an answer that was overtaken lowers nothing",
	 {{SET, 1, 60, 100}, {SET, 1, 50, 100}, {SEEN, 1, 50, 0}, {MUST_WAIT, 1, 0, 1}}},
	{"a relist shows everything",
	 {{SET, 1, 50, 100},
	  {SET, 2, 50, 100},
	  {RELIST, 0, 0, 0},
	  {MAY_GO, 1, 0, 1},
	  {MAY_GO, 2, 0, 1},
	  {SET, 1, 70, 100},
	  {MUST_WAIT, 1, 0, 1},
	  {COUNT, 0, 1, 0}}},
	{"the first and the last object are objects like others",
	 {{SET, 0, 5, 100},
	  {SET, UINT64_MAX, 6, 100},
	  {SEEN, 0, 5, 0},
	  {MUST_WAIT, UINT64_MAX, 0, 1}}},
};

static void play(struct expectations *expectations, const struct step *s)
{
	switch (s->op) {
	case SET:
		expectations_set(expectations, s->object, s->version, s->time);
		break;
	case SEEN:
		expectations_seen(expectations, s->object, s->version);
		break;
	case RELIST:
		expectations_seen_all(expectations);
		break;
	case MUST_WAIT:
		assert_true(expectations_pending(expectations, s->object, s->time));
		break;
	case MAY_GO:
		assert_false(expectations_pending(expectations, s->object, s->time));
		break;
	case COUNT:
		assert_int_equal(expectations_count(expectations), s->version);
		break;
	case END:
		break;
	}
}

static const struct hash_key key = {1, 2};

static void test_script(void **state)
{
	const struct script *script = *state;
	struct expectations *expectations CLEANUP(expectations_free) = expectations_new(&key);

	for (const struct step *s = script->steps; s->op != END; s++)
		play(expectations, s);
}

static void test_many_objects_and_no_heap_of_forgotten_ones(void **state)
{
	struct expectations *expectations CLEANUP(expectations_free) = expectations_new(&key);

	(void)state;
	for (uint64_t object = 0; object < 5000; object++)
		expectations_set(expectations, object, object + 1, 100);
	for (uint64_t object = 0; object < 5000; object += 2)
		expectations_seen(expectations, object, object + 1);
	assert_int_equal(expectations_count(expectations), 2500);
	for (uint64_t object = 0; object < 5000; object++)
		assert_int_equal(expectations_pending(expectations, object, 50), object % 2);
	/* Questions about something else clear away what expired. */
	for (int i = 0; i < 2600; i++)
		assert_false(expectations_pending(expectations, UINT64_MAX, 200));
	assert_int_equal(expectations_count(expectations), 0);
}

static void test_free_accepts_null(void **state)
{
	(void)state;
	expectations_free(NULL);
}

int main(void)
{
	struct CMUnitTest tests[ARRAY_SIZE(scripts) + 2];
	size_t n = 0;

	for (; n < ARRAY_SIZE(scripts); n++)
		tests[n] = (struct CMUnitTest){scripts[n].name, test_script, NULL, NULL,
					       (void *)(uintptr_t)&scripts[n]};
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(
		test_many_objects_and_no_heap_of_forgotten_ones);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_free_accepts_null);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
