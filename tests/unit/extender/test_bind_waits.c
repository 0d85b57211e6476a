/* SPDX-License-Identifier: Apache-2.0 */
/* bind of what no watch has shown yet: what it waits for, how long, and what ends the wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/placing/assume.h"
#include "extender/internal.h"
#include "scene.h"
#include "served.h"

#define POD_UNSEEN       "gpuqos has not seen this pod yet, and will in a moment"
#define NAMESPACE_UNSEEN "gpuqos has not seen this pod's namespace yet, and will in a moment"

static const struct scene_pod eight = {.name = "p", .cards = 8}, other = {.name = "q", .cards = 1};

static void expect_waits(struct scene *s, const struct served *served)
{
	unsigned int made = fake_kube_made(s->kube.client);

	fake_kube_settle(s->kube.client);
	assert_int_equal(served->state, SERVED_WAITS);
	assert_int_equal(fake_kube_made(s->kube.client), made);
}

/* A bind of "p" to "here", which passed filter before any watch has shown it. */
static struct served *bind_early(struct scene *s)
{
	struct served *served;

	scene_add_node(s, "here", SCENE_LOOSE);
	scene_add_node(s, "there", SCENE_LOOSE);
	scene_filter(s, &eight, "[\"here\"]");
	served = scene_bind(s, "p", "here");
	expect_waits(s, served);
	return served;
}

static void bound(struct scene *s, struct served *served)
{
	fake_kube_settle(s->kube.client);
	fake_kube_reply(&s->kube, "CREATE pods/binding a/p", "{}");
	scene_expect(served, "");
}

/* Nothing was posted for it, and nothing is held. */
static void expect_no_trace(struct scene *s)
{
	assert_int_equal(fake_kube_made(s->kube.client), 0);
	assert_int_equal(cluster_assumptions(s->cluster), 0);
	assert_int_equal(s->extender->bindings.n_waiting, 0);
}

/* --- for what */

static void a_pod_is_bound_as_soon_as_a_watch_shows_it(void **state)
{
	struct scene *s = *state;
	struct served *served = bind_early(s);

	scene_show(s, &other);
	expect_waits(s, served);
	scene_show(s, &eight);
	bound(s, served);
	assert_int_equal(cluster_assumptions(s->cluster), 1);
	assert_int_equal(s->extender->bindings.n_waiting, 0);
}

static void a_pod_of_the_same_name_is_not_the_one(void **state)
{
	struct scene *s = *state;
	struct served *served = bind_early(s);
	struct pod_facts facts = {.namespace = STR("a"), .name = STR("p"), .uid = STR("another")};

	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
	extender_look_again(s->extender);
	expect_waits(s, served);
	scene_show(s, &eight);
	bound(s, served);
}

static void a_pod_waits_for_its_namespace_too(void **state)
{
	struct scene *s = *state;
	struct served *served;

	cluster_delete(s->cluster, CLUSTER_NAMESPACES, STR_NONE, STR("a"));
	served = bind_early(s);
	scene_show(s, &eight);
	expect_waits(s, served);
	scene_show_namespace(s);
	bound(s, served);
}

static void for_a_namespace_too_the_wait_has_an_end(void **state)
{
	struct scene *s = *state;
	struct served *served;

	scene_show(s, &eight);
	cluster_delete(s->cluster, CLUSTER_NAMESPACES, STR_NONE, STR("a"));
	served = scene_bind(s, "p", "here");
	expect_waits(s, served);
	fake_kube_pass(&s->kube, BIND_WAIT_US);
	scene_expect(served, NAMESPACE_UNSEEN);
}

static void what_is_true_when_it_is_shown_decides(void **state)
{
	struct scene *s = *state;
	struct served *served = bind_early(s);

	scene_show(s, &(struct scene_pod){.name = "q", .cards = 1, .node = "here"});
	scene_show(s, &eight);
	fake_kube_settle(s->kube.client);
	scene_expect(served, "gpuqos: fewer than 8 nvidia.com/gpu are free");
	expect_no_trace(s);
}

static void who_came_first_is_bound_first(void **state)
{
	struct scene *s = *state;
	struct served *first = bind_early(s), *second;

	scene_filter(s, &other, "[\"here\"]");
	second = scene_bind(s, "q", "here");
	expect_waits(s, second);
	scene_show(s, &other);
	scene_show(s, &eight);
	bound(s, first);
	scene_expect(second, "gpuqos: fewer than 1 nvidia.com/gpu are free");
}

static void a_pod_goes_to_one_node_alone(void **state)
{
	struct scene *s = *state;
	struct served *first = bind_early(s), *second = scene_bind(s, "p", "there");

	expect_waits(s, second);
	scene_show(s, &eight);
	fake_kube_settle(s->kube.client);
	scene_expect(second, "gpuqos: an earlier binding of the pod to node here may still come "
			     "true");
	bound(s, first);
}

/* --- how long */

static void past_its_time_it_is_told_so_and_nothing_is_posted(void **state)
{
	struct scene *s = *state;
	struct served *served = bind_early(s);

	fake_kube_pass(&s->kube, BIND_WAIT_US - 1);
	expect_waits(s, served);
	fake_kube_pass(&s->kube, 1);
	scene_expect(served, POD_UNSEEN);
	expect_no_trace(s);
	/* kube-scheduler brings it again. */
	scene_show(s, &eight);
	served = scene_bind(s, "p", "here");
	bound(s, served);
}

static void wait_and_api_server_together_take_no_more_than_kube_scheduler_does(void **state)
{
	struct scene *s = *state;
	struct served *served = bind_early(s);

	fake_kube_pass(&s->kube, BIND_WAIT_US - 1);
	scene_show(s, &eight);
	fake_kube_settle(s->kube.client);
	assert_true(BIND_WAIT_US + fake_kube_timeout(fake_kube_first(s->kube.client)) <
		    5 * USEC_PER_SEC);
	bound(s, served);
}

/* As after a gap of the watch: it is then a pod that never was. */
static void a_pod_that_came_and_went_ends_with_the_time(void **state)
{
	struct scene *s = *state;
	struct served *served = bind_early(s);

	scene_show(s, &eight);
	scene_show_gone(s, "p");
	expect_waits(s, served);
	fake_kube_pass(&s->kube, BIND_WAIT_US);
	scene_expect(served, POD_UNSEEN);
	expect_no_trace(s);
}

static void only_so_many_wait(void **state)
{
	struct scene *s = *state;
	struct served *waiting[BIND_WAITING_MOST];

	waiting[0] = bind_early(s);
	for (size_t i = 1; i < BIND_WAITING_MOST; i++) {
		waiting[i] = scene_bind(s, "p", "here");
		expect_waits(s, waiting[i]);
	}
	scene_refuses(s, "p", "here", POD_UNSEEN);
	waiting[0]->left = true;
	scene_show(s, &other);
	fake_kube_settle(s->kube.client);
	assert_int_equal(waiting[0]->state, SERVED_CLOSED);
	served_free(waiting[0]);
	waiting[0] = scene_bind(s, "p", "here");
	expect_waits(s, waiting[0]);
	fake_kube_pass(&s->kube, BIND_WAIT_US);
	for (size_t i = 0; i < BIND_WAITING_MOST; i++)
		scene_expect(waiting[i], POD_UNSEEN);
	expect_no_trace(s);
}

/* --- what else ends it */

static void expect_another_is_to_be_asked(struct served *served)
{
	assert_int_equal(served->state, SERVED_ANSWERED);
	assert_int_equal(served->reply.status, 503);
	assert_true(served->reply.close);
	served_free(served);
}

static void who_no_longer_leads_says_so_at_once(void **state)
{
	struct scene *s = *state;
	struct served *served = bind_early(s);

	s->may_answer = false;
	extender_look_again(s->extender);
	fake_kube_settle(s->kube.client);
	expect_another_is_to_be_asked(served);
	scene_show(s, &eight);
	fake_kube_settle(s->kube.client);
	expect_no_trace(s);
}

static void who_no_longer_leads_binds_nothing_that_a_watch_shows(void **state)
{
	struct scene *s = *state;
	struct served *served = bind_early(s);

	s->may_answer = false;
	scene_show(s, &eight);
	fake_kube_settle(s->kube.client);
	expect_another_is_to_be_asked(served);
	expect_no_trace(s);
}

static void for_a_client_that_has_gone_nothing_is_bound(void **state)
{
	struct scene *s = *state;
	struct served *served = bind_early(s);

	served->left = true;
	scene_show(s, &eight);
	fake_kube_settle(s->kube.client);
	assert_int_equal(served->state, SERVED_CLOSED);
	served_free(served);
	expect_no_trace(s);
}

static void at_the_end_those_that_wait_are_given_up_unanswered(void **state)
{
	struct scene *s = *state;
	struct served *served = bind_early(s), *posted;

	scene_show(s, &other);
	posted = scene_bind(s, "q", "there");
	extender_look_again(s->extender);
	extender_free(TAKE(s->extender));
	assert_int_equal(served->state, SERVED_CLOSED);
	assert_int_equal(posted->state, SERVED_CLOSED);
	fake_kube_pass(&s->kube, 2 * BIND_WAIT_US);
	served_free(served);
	served_free(posted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
		IN_SCENE(a_pod_is_bound_as_soon_as_a_watch_shows_it),
		IN_SCENE(a_pod_of_the_same_name_is_not_the_one),
		IN_SCENE(a_pod_waits_for_its_namespace_too),
		IN_SCENE(for_a_namespace_too_the_wait_has_an_end),
		IN_SCENE(what_is_true_when_it_is_shown_decides),
		IN_SCENE(who_came_first_is_bound_first),
		IN_SCENE(a_pod_goes_to_one_node_alone),
		IN_SCENE(past_its_time_it_is_told_so_and_nothing_is_posted),
		IN_SCENE(wait_and_api_server_together_take_no_more_than_kube_scheduler_does),
		IN_SCENE(a_pod_that_came_and_went_ends_with_the_time),
		IN_SCENE(only_so_many_wait),
		IN_SCENE(who_no_longer_leads_says_so_at_once),
		IN_SCENE(who_no_longer_leads_binds_nothing_that_a_watch_shows),
		IN_SCENE(for_a_client_that_has_gone_nothing_is_bound),
		IN_SCENE(at_the_end_those_that_wait_are_given_up_unanswered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
