/* SPDX-License-Identifier: Apache-2.0 */
/* When bind answers, so that kube-scheduler keeps its connections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "extender/internal.h"
#include "scene.h"
#include "served.h"

#define PODS 6

static const char *const names[PODS] = {"p0", "p1", "p2", "p3", "p4", "p5"};

static struct scene *pods_wait(void **state)
{
	struct scene *s = *state;

	scene_add_node(s, "here", SCENE_LOOSE);
	for (size_t i = 0; i < PODS; i++)
		scene_show(s, &(struct scene_pod){.name = names[i], .cards = 1});
	return s;
}

static struct served *ask(struct scene *s, size_t pod)
{
	struct served *served = scene_bind(s, names[pod], "here");

	assert_int_equal(served->state, SERVED_WAITS);
	fake_kube_settle(s->kube.client);
	return served;
}

/* The API server has bound the pod that was asked for first. */
static void bound(struct scene *s)
{
	fake_kube_reply(&s->kube, "CREATE pods/binding", "{}");
}

/* Three that were asked for at the same time; the last answer is kept. */
static void three_at_once(struct scene *s, struct served *ret[3])
{
	for (size_t i = 0; i < 3; i++)
		ret[i] = ask(s, i);
	for (size_t i = 0; i < 3; i++)
		bound(s);
	assert_int_equal(ret[0]->state, SERVED_ANSWERED);
	assert_int_equal(ret[1]->state, SERVED_ANSWERED);
	assert_int_equal(ret[2]->state, SERVED_WAITS);
	scene_expect(ret[0], "");
	scene_expect(ret[1], "");
}

static void what_comes_one_by_one_is_answered_at_once(void **state)
{
	struct scene *s = pods_wait(state);

	for (size_t i = 0; i < PODS; i++) {
		struct served *served = ask(s, i);

		bound(s);
		scene_expect(served, "");
	}
}

static void an_answer_too_many_is_given_when_a_connection_is_taken(void **state)
{
	struct scene *s = pods_wait(state);
	struct served *served[3], *next;

	three_at_once(s, served);
	next = ask(s, 3);
	scene_expect(served[2], "");
	bound(s);
	assert_int_equal(next->state, SERVED_WAITS);
	fake_kube_pass(&s->kube, BIND_KEEP_US);
	scene_expect(next, "");
}

static void the_oldest_is_answered_first(void **state)
{
	struct scene *s = pods_wait(state);
	struct served *served[3], *fourth, *fifth;

	for (size_t i = 0; i < 3; i++)
		served[i] = ask(s, i);
	fourth = ask(s, 3);
	for (size_t i = 0; i < 4; i++)
		bound(s);
	fifth = ask(s, 4);
	scene_expect(served[2], "");
	assert_int_equal(fourth->state, SERVED_WAITS);
	fake_kube_pass(&s->kube, BIND_KEEP_US);
	scene_expect(fourth, "");
	bound(s);
	fake_kube_pass(&s->kube, BIND_KEEP_US);
	scene_expect(fifth, "");
	scene_expect(served[0], "");
	scene_expect(served[1], "");
}

static void no_answer_is_kept_for_long(void **state)
{
	struct scene *s = pods_wait(state);
	struct served *served[3];

	three_at_once(s, served);
	fake_kube_pass(&s->kube, BIND_KEEP_US - 1);
	assert_int_equal(served[2]->state, SERVED_WAITS);
	fake_kube_pass(&s->kube, 1);
	scene_expect(served[2], "");
}

/* It is as good a connection as any. */
static void one_that_was_refused_gives_its_connection_back(void **state)
{
	struct scene *s = pods_wait(state);
	struct served *first = ask(s, 0), *second = ask(s, 1);

	scene_refuses(s, "p2", "ghost", "gpuqos: gpuqos has not seen the node yet");
	bound(s);
	bound(s);
	scene_expect(first, "");
	assert_int_equal(second->state, SERVED_WAITS);
	fake_kube_pass(&s->kube, BIND_KEEP_US);
	scene_expect(second, "");
}

static void so_does_what_is_no_binding(void **state)
{
	struct scene *s = pods_wait(state);
	struct served *first = ask(s, 0), *second = ask(s, 1);

	assert_non_null(strstr(scene_post(s, "/bind", "{", 200), "\"Error\":\""));
	bound(s);
	bound(s);
	scene_expect(first, "");
	assert_int_equal(second->state, SERVED_WAITS);
	fake_kube_pass(&s->kube, BIND_KEEP_US);
	scene_expect(second, "");
}

static void at_the_end_none_is_kept(void **state)
{
	struct scene *s = pods_wait(state);
	struct served *served[3];

	three_at_once(s, served);
	extender_free(TAKE(s->extender));
	assert_int_equal(served[2]->state, SERVED_CLOSED);
	fake_kube_pass(&s->kube, 2 * BIND_KEEP_US);
	served_free(served[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
		IN_SCENE(what_comes_one_by_one_is_answered_at_once),
		IN_SCENE(an_answer_too_many_is_given_when_a_connection_is_taken),
		IN_SCENE(the_oldest_is_answered_first),
		IN_SCENE(no_answer_is_kept_for_long),
		IN_SCENE(one_that_was_refused_gives_its_connection_back),
		IN_SCENE(so_does_what_is_no_binding),
		IN_SCENE(at_the_end_none_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
