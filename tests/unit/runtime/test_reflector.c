/* SPDX-License-Identifier: Apache-2.0 */
/* A reflector over an API server that answers when the test says so: the store it keeps, and what
 * the sink is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/wire.h"
#include "base/mem.h"
#include "lib/fake_kube.h"
#include "runtime/reflector.h"

struct world {
	struct fake_kube_world kube;
	struct reflector *reflector;
	char log[512]; /* what the sink was told, in order */
	int synced;
	bool refuses;
};

static void note(struct world *w, const char *what, struct str name)
{
	size_t len = strlen(w->log);

	snprintf(w->log + len, sizeof(w->log) - len, "%s%s%.*s", len ? " " : "", what,
		 STR_ARGS(name));
}

static void on_begin(void *context)
{
	note(context, "begin", STR_NONE);
}

static void on_end(void *context)
{
	note(context, "end", STR_NONE);
}

static void on_abort(void *context)
{
	note(context, "abort", STR_NONE);
}

static int on_apply(void *context, const void *object, struct arena *arena UNUSED,
		    struct error *err)
{
	struct world *w = context;

	if (w->refuses)
		return error_set(err, ERROR_INVALID, "as the test wished");
	note(w, "+", ((const struct wire_object *)object)->meta.name);
	return 0;
}

static int on_outline(void *context, const void *object, const char *why,
		      struct arena *arena UNUSED, struct error *err UNUSED)
{
	note(context, "?", ((const struct wire_object *)object)->meta.name);
	note(context, "(", str_from(why));
	note(context, ")", STR_NONE);
	return 0;
}

static int on_remove(void *context, const void *object, struct arena *arena UNUSED,
		     struct error *err UNUSED)
{
	note(context, "-", ((const struct wire_object *)object)->meta.name);
	return 0;
}

static void on_synced(void *context)
{
	((struct world *)context)->synced++;
}

static int begin(void **state, bool optional)
{
	struct world *w = mem_alloc(sizeof(*w));

	fake_kube_world_init(&w->kube);
	w->reflector = reflector_new(w->kube.client, &(struct reflector_options){
							     .type = &api_namespaces,
							     .sink = {.begin_replace = on_begin,
								      .end_replace = on_end,
								      .abort_replace = on_abort,
								      .apply = on_apply,
								      .outline = on_outline,
								      .remove = on_remove,
								      .synced = on_synced,
								      .context = w},
							     .optional = optional,
							     .seed = 7,
						     });
	reflector_start(w->reflector);
	fake_kube_settle(w->kube.client);
	*state = w;
	return 0;
}

static int setup(void **state)
{
	return begin(state, false);
}

static int setup_optional(void **state)
{
	return begin(state, true);
}

static int teardown(void **state)
{
	struct world *w = *state;

	reflector_free(w->reflector);
	fake_kube_world_clear(&w->kube);
	mem_free(w);
	return 0;
}

/* Back-offs are over after it. */
static void pass(struct world *w)
{
	fake_kube_pass(&w->kube, USEC_PER_MIN);
}

static const char *object(const char *name, int version)
{
	static char text[256];

	snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"%s\",\"resourceVersion\":\"%d\"}}",
		 name, version);
	return text;
}

static bool event(struct world *w, const char *type, const char *name, int version)
{
	return fake_kube_event(&w->kube, "WATCH", type, object(name, version));
}

static void end_of_initial_events(struct world *w, int version)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%d\","
		 "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}",
		 version);
	assert_true(fake_kube_part(fake_kube_first(w->kube.client), FRAME_OBJECT, text));
	fake_kube_settle(w->kube.client);
}

static void error_event(struct world *w, int code, const char *reason)
{
	char text[256];

	snprintf(
		text, sizeof(text),
		"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":%d,\"reason\":\"%s\"}}",
		code, reason);
	assert_false(fake_kube_part(fake_kube_first(w->kube.client), FRAME_OBJECT, text));
	fake_kube_settle(w->kube.client);
}

static void fail_request(struct world *w, enum error_kind kind, int status)
{
	fake_kube_fail(fake_kube_first(w->kube.client), kind, status);
	fake_kube_settle(w->kube.client);
}

static void assert_asks(struct world *w, const char *what, const char *from)
{
	assert_int_equal(fake_kube_open(w->kube.client), 1);
	assert_string_equal(fake_kube_what(fake_kube_first(w->kube.client)), what);
	assert_string_equal(fake_kube_from(fake_kube_first(w->kube.client)), from);
}

static void sync(struct world *w)
{
	assert_true(event(w, "ADDED", "a", 5));
	end_of_initial_events(w, 6);
	assert_int_equal(w->synced, 1);
}

static void initial_events_fill_the_store_and_the_watch_goes_on(void **state)
{
	struct world *w = *state;

	assert_asks(w, "WATCH namespaces /", "+initial  ");
	sync(w);
	event(w, "ADDED", "b", 7);
	event(w, "MODIFIED", "a", 8);
	event(w, "DELETED", "b", 9);
	assert_string_equal(w->log, "begin +a end +b +a -b");
}

static void a_full_state_that_breaks_off_is_taken_back_and_begun_again(void **state)
{
	struct world *w = *state;

	event(w, "ADDED", "a", 5);
	fail_request(w, ERROR_UNAVAILABLE, 0);
	assert_string_equal(w->log, "begin +a abort");
	pass(w);
	assert_asks(w, "WATCH namespaces /", "+initial  ");
	sync(w);
	assert_string_equal(w->log, "begin +a abort begin +a end");
}

static void a_watch_that_is_cut_goes_on_from_the_last_version(void **state)
{
	struct world *w = *state;

	sync(w);
	event(w, "MODIFIED", "a", 8);
	fail_request(w, ERROR_UNAVAILABLE, 0);
	pass(w);
	assert_asks(w, "WATCH namespaces /", "8 ");
	event(w, "DELETED", "a", 9);
	assert_string_equal(w->log, "begin +a end +a -a");
	assert_int_equal(w->synced, 1);
}

static void a_watch_that_the_server_ends_goes_on_from_the_last_version(void **state)
{
	struct world *w = *state;

	sync(w);
	fake_kube_answer(fake_kube_first(w->kube.client), "");
	pass(w);
	assert_asks(w, "WATCH namespaces /", "6 ");
}

static int64_t current_since(const struct world *w)
{
	struct reflector_stats stats;

	reflector_stats(w->reflector, &stats);
	return stats.current_us;
}

/* From when a stream was taken, not from when it was asked for or something came of it. */
static void it_is_current_while_a_watch_is_open(void **state)
{
	struct world *w = *state;
	int64_t since_us;

	fake_kube_begin(fake_kube_first(w->kube.client));
	assert_true(event(w, "ADDED", "a", 5));
	assert_int_equal(current_since(w), 0);
	end_of_initial_events(w, 6);
	since_us = current_since(w);
	assert_int_equal(since_us, loop_now(w->kube.loop));
	fail_request(w, ERROR_UNAVAILABLE, 0);
	assert_int_equal(current_since(w), 0);
	pass(w);
	assert_asks(w, "WATCH namespaces /", "6 ");
	assert_int_equal(current_since(w), 0);
	fake_kube_begin(fake_kube_first(w->kube.client));
	since_us = current_since(w);
	assert_int_equal(since_us, loop_now(w->kube.loop));
	pass(w);
	assert_true(event(w, "ADDED", "b", 7));
	assert_int_equal(current_since(w), since_us);
	reflector_read_anew(w->reflector);
	assert_int_equal(current_since(w), 0);
	pass(w);
	assert_true(event(w, "ADDED", "a", 8));
	assert_int_equal(current_since(w), 0);
	end_of_initial_events(w, 9);
	assert_int_equal(current_since(w), loop_now(w->kube.loop));
}

static void an_expired_version_asks_for_a_new_full_state(void **state)
{
	struct world *w = *state;

	sync(w);
	error_event(w, 410, "Expired");
	pass(w);
	assert_asks(w, "WATCH namespaces /", "+initial  ");
	event(w, "ADDED", "c", 20);
	end_of_initial_events(w, 21);
	assert_string_equal(w->log, "begin +a end begin +c end");
	assert_int_equal(w->synced, 1);
}

static void other_error_events_go_on_from_the_last_version(void **state)
{
	struct world *w = *state;

	sync(w);
	error_event(w, 500, "InternalError");
	pass(w);
	assert_asks(w, "WATCH namespaces /", "6 ");
}

static void a_version_that_went_back_asks_for_a_new_full_state(void **state)
{
	struct world *w = *state;

	sync(w);
	assert_false(event(w, "MODIFIED", "a", 2));
	pass(w);
	assert_asks(w, "WATCH namespaces /", "+initial  ");
	assert_string_equal(w->log, "begin +a end begin");
}

static void meta(struct world *w, int version, const char *token)
{
	char text[128];

	snprintf(text, sizeof(text), "{\"resourceVersion\":\"%d\",\"continue\":\"%s\"}", version,
		 token);
	assert_true(fake_kube_part(fake_kube_first(w->kube.client), FRAME_LIST_META, text));
}

static void page(struct world *w, const char *name, int version, const char *token)
{
	assert_true(fake_kube_part(fake_kube_first(w->kube.client), FRAME_OBJECT, object(name, 1)));
	meta(w, version, token);
	fake_kube_answer(fake_kube_first(w->kube.client), "");
	fake_kube_settle(w->kube.client);
}

static void a_server_without_initial_events_is_listed_in_pages(void **state)
{
	struct world *w = *state;

	fail_request(w, ERROR_INVALID, 400);
	assert_asks(w, "LIST namespaces /", " ");
	page(w, "a", 30, "next");
	assert_asks(w, "LIST namespaces /", "30 next"); /* the client leaves the version out */
	page(w, "b", 31, "");
	assert_string_equal(w->log, "begin +a +b end");
	assert_int_equal(w->synced, 1);
	assert_asks(w, "WATCH namespaces /", "30 ");
}

static void a_page_without_metadata_is_no_page(void **state)
{
	struct world *w = *state;

	fail_request(w, ERROR_INVALID, 400);
	page(w, "a", 30, "next");
	fake_kube_answer(fake_kube_first(w->kube.client), "");
	pass(w);
	/* What the first page said would make it one more page, of nothing. */
	assert_int_equal(w->synced, 1);
	assert_string_equal(w->log, "begin +a end");
}

static void what_cannot_be_read_is_told_in_outline_and_counted(void **state)
{
	struct world *w = *state;
	struct reflector_stats stats;

	sync(w);
	w->refuses = true;
	assert_true(event(w, "ADDED", "b", 7));
	w->refuses = false;
	assert_true(event(w, "ADDED", "c", 8));
	reflector_stats(w->reflector, &stats);
	assert_int_equal(stats.unreadable, 1);
	assert_string_equal(w->log, "begin +a end ?b (as the test wished ) +c");
}

static const char *odd_object(const char *name)
{
	static char text[256];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"%s\",\"resourceVersion\":\"9\",\"labels\":{\"x\":7}}}",
		 name);
	return text;
}

/* Neither a watch nor a list takes it for gone, and gone it may be all the same. */
static void what_cannot_be_decoded_is_there_until_it_is_deleted(void **state)
{
	struct world *w = *state;
	struct reflector_stats stats;

	sync(w);
	*w->log = '\0';
	assert_true(fake_kube_event(&w->kube, "WATCH", "MODIFIED", odd_object("a")));
	assert_true(fake_kube_event(&w->kube, "WATCH", "DELETED", odd_object("a")));
	assert_true(strncmp(w->log, "?a (Namespace: metadata.labels[0]: ", 35) == 0);
	assert_string_equal(w->log + strlen(w->log) - 4, ") -a");
	reflector_stats(w->reflector, &stats);
	assert_int_equal(stats.unreadable, 1);
}

static void what_is_no_event_ends_the_stream(void **state)
{
	struct world *w = *state;
	struct reflector_stats stats;

	sync(w);
	assert_false(fake_kube_part(fake_kube_first(w->kube.client), FRAME_OBJECT,
				    "{\"type\":\"ODD\"}"));
	reflector_stats(w->reflector, &stats);
	assert_int_equal(stats.last_error.kind, ERROR_INVALID);
	pass(w);
	assert_asks(w, "WATCH namespaces /", "6 ");
	event(w, "ADDED", "b", 7);
	reflector_stats(w->reflector, &stats);
	assert_int_equal(stats.last_error.kind, ERROR_NONE);
}

static void a_type_that_must_be_there_is_waited_for(void **state)
{
	struct world *w = *state;
	struct reflector_stats stats;

	fail_request(w, ERROR_NOT_FOUND, 404);
	reflector_stats(w->reflector, &stats);
	assert_false(stats.synced);
	assert_int_equal(stats.last_error.kind, ERROR_NOT_FOUND);
	assert_string_equal(w->log, "begin abort");
}

static void a_type_that_may_be_missing_is_empty_until_it_comes(void **state)
{
	struct world *w = *state;
	struct reflector_stats stats;

	fail_request(w, ERROR_NOT_FOUND, 404);
	reflector_stats(w->reflector, &stats);
	assert_true(stats.synced && stats.absent);
	assert_int_equal(stats.last_error.kind, ERROR_NONE);
	assert_int_equal(w->synced, 1);
	pass(w);
	assert_asks(w, "WATCH namespaces /", "+initial  ");
	event(w, "ADDED", "a", 5);
	end_of_initial_events(w, 6);
	reflector_stats(w->reflector, &stats);
	assert_true(stats.synced && !stats.absent);
	assert_int_equal(w->synced, 1);
	assert_string_equal(w->log, "begin end begin +a end");
}

static void what_was_known_of_a_type_goes_with_it(void **state)
{
	struct world *w = *state;

	sync(w);
	for (int i = 0; i < 4; i++) {
		fail_request(w, ERROR_NOT_FOUND, 404);
		pass(w);
	}
	assert_string_equal(w->log, "begin +a end begin abort begin abort begin end begin");
}

/* What leaks or is used afterwards, the sanitizers tell. */
static void it_may_be_freed_while_it_watches(void **state)
{
	struct world *w = *state;

	sync(w);
	reflector_free(w->reflector);
	w->reflector = NULL;
	fake_kube_settle(w->kube.client);
	assert_int_equal(fake_kube_open(w->kube.client), 0);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(initial_events_fill_the_store_and_the_watch_goes_on),
		CASE(a_full_state_that_breaks_off_is_taken_back_and_begun_again),
		CASE(a_watch_that_is_cut_goes_on_from_the_last_version),
		CASE(a_watch_that_the_server_ends_goes_on_from_the_last_version),
		CASE(it_is_current_while_a_watch_is_open),
		CASE(an_expired_version_asks_for_a_new_full_state),
		CASE(other_error_events_go_on_from_the_last_version),
		CASE(a_version_that_went_back_asks_for_a_new_full_state),
		CASE(a_server_without_initial_events_is_listed_in_pages),
		CASE(a_page_without_metadata_is_no_page),
		CASE(what_cannot_be_read_is_told_in_outline_and_counted),
		CASE(what_cannot_be_decoded_is_there_until_it_is_deleted),
		CASE(what_is_no_event_ends_the_stream),
		CASE(a_type_that_must_be_there_is_waited_for),
		cmocka_unit_test_setup_teardown(a_type_that_may_be_missing_is_empty_until_it_comes,
						setup_optional, teardown),
		cmocka_unit_test_setup_teardown(what_was_known_of_a_type_goes_with_it,
						setup_optional, teardown),
		CASE(it_may_be_freed_while_it_watches),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
