/* SPDX-License-Identifier: Apache-2.0 */
/* prioritize and preempt, and what all verbs have in common: who is answered, and what cannot be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "cluster/placing/assume.h"
#include "cluster/read.h"
#include "extender/internal.h"
#include "scene.h"
#include "served.h"

static const char *const verbs[] = {"/filter", "/prioritize", "/preempt", "/bind"};

/* --- prioritize */

static void the_node_that_is_fuller_is_better(void **state)
{
	struct scene *s = *state;
	const struct scene_pod pod = {.name = "p", .cards = 2};

	scene_add_node(s, "empty", SCENE_STRICT);
	scene_add_node(s, "full", SCENE_STRICT);
	scene_show(s, &(struct scene_pod){.name = "held", .cards = 2, .node = "full"});
	scene_show(s, &(struct scene_pod){.name = "held-too", .cards = 2, .node = "full"});
	scene_show(s, &pod);
	assert_string_equal(scene_prioritize(s, &pod, "[\"empty\",\"full\"]"),
			    "[{\"Host\":\"empty\",\"Score\":0},{\"Host\":\"full\",\"Score\":10}]");
}

static void equals_are_all_the_best(void **state)
{
	struct scene *s = *state;
	const struct scene_pod pod = {.name = "p", .cards = 2};

	scene_add_node(s, "a", SCENE_STRICT);
	scene_add_node(s, "b", SCENE_STRICT);
	scene_show(s, &pod);
	assert_string_equal(scene_prioritize(s, &pod, "[\"b\",\"a\"]"),
			    "[{\"Host\":\"b\",\"Score\":10},{\"Host\":\"a\",\"Score\":10}]");
}

static void a_node_that_nobody_knows_is_the_worst(void **state)
{
	struct scene *s = *state;
	const struct scene_pod pod = {.name = "p", .cards = 2};

	scene_add_node(s, "a", SCENE_STRICT);
	scene_show(s, &pod);
	assert_string_equal(scene_prioritize(s, &pod, "[\"ghost\",\"a\"]"),
			    "[{\"Host\":\"ghost\",\"Score\":0},{\"Host\":\"a\",\"Score\":10}]");
}

/* kube-scheduler asks about the next pod before this one is bound. */
static void the_node_that_was_best_is_left_to_its_pod_for_a_moment(void **state)
{
	struct scene *s = *state;
	const struct scene_pod first = {.name = "p", .cards = 2}, next = {.name = "q", .cards = 2};
	const char *names = "[\"a\",\"b\"]";
	const char *b_is_better = "[{\"Host\":\"a\",\"Score\":0},{\"Host\":\"b\",\"Score\":10}]";
	const char *a_is_better = "[{\"Host\":\"a\",\"Score\":10},{\"Host\":\"b\",\"Score\":0}]";
	const char *equal = "[{\"Host\":\"a\",\"Score\":10},{\"Host\":\"b\",\"Score\":10}]";

	scene_add_node(s, "a", SCENE_STRICT);
	scene_add_node(s, "b", SCENE_STRICT);
	scene_show(s, &first);
	scene_show(s, &next);
	assert_string_equal(scene_prioritize(s, &first, names), equal);
	assert_string_equal(scene_prioritize(s, &first, names), equal);
	assert_string_equal(scene_prioritize(s, &next, names), b_is_better);
	assert_string_equal(scene_prioritize(s, &first, names), a_is_better);
	fake_kube_pass(&s->kube, EXTENDER_SOFT_US + USEC_PER_MSEC);
	assert_string_equal(scene_prioritize(s, &next, names), equal);
}

static void of_a_pod_without_gpus_nothing_is_said(void **state)
{
	struct scene *s = *state;

	scene_add_node(s, "a", SCENE_STRICT);
	assert_string_equal(scene_prioritize(s, &(struct scene_pod){.name = "p"}, "[\"a\",\"b\"]"),
			    "[]");
}

/* --- preempt */

static void preempt(struct scene *s, const struct scene_pod *pod, const char *expected)
{
	struct buf body CLEANUP(buf_clear);

	buf_init(&body, 8192);
	buf_printf(&body,
		   "{\"Pod\":%s,\"NodeNameToMetaVictims\":{\"a\":{\"Pods\":[{\"UID\":\"v\"}]}}}",
		   scene_pod_json(pod));
	buf_add(&body, "", 1);
	assert_string_equal(scene_post(s, "/preempt", body.data, 200), expected);
}

static void for_a_pod_with_gpus_nobody_is_to_go(void **state)
{
	preempt(*state, &(struct scene_pod){.name = "p", .cards = 1},
		"{\"NodeNameToMetaVictims\":{}}");
}

static void for_others_kube_schedulers_choice_stands(void **state)
{
	preempt(*state, &(struct scene_pod){.name = "p"},
		"{\"NodeNameToMetaVictims\":{\"a\":{\"Pods\":[{\"UID\":\"v\"}]}}}");
}

/* --- all verbs */

static void who_does_not_lead_sends_its_clients_elsewhere(void **state)
{
	struct scene *s = *state;

	s->may_answer = false;
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		struct served *served = served_call(s->extender->server, verbs[i], "{}");

		assert_int_equal(served->reply.status, 503);
		assert_true(served->reply.close);
		assert_string_equal(served_text(served),
				    "this replica does not lead, or has not seen all yet\n");
		served_free(served);
	}
	assert_int_equal(fake_kube_made(s->kube.client), 0);
}

static void other_paths_and_methods_are_not_found(void **state)
{
	struct scene *s = *state;
	const char *hint = "POST /filter, /prioritize, /preempt or /bind\n";

	assert_string_equal(scene_post(s, "/", "{}", 404), hint);
	assert_string_equal(scene_post(s, "/filter/", "{}", 404), hint);
	assert_string_equal(scene_post(s, "/filter", NULL, 404), hint);
}

/* Bodies that are no question. kube-scheduler sees filter's and bind's errors in their answers. */
static const struct row {
	const char *sentence, *body;
} rows[] = {
	{"nothing", ""},
	{"no JSON", "nonsense"},
	{"a JSON that ends too early", "{\"Pod\":{\"metadata\":{}"},
	{"no object", "[]"},
	{"nodes instead of their names",
	 "{\"Pod\":{\"metadata\":{\"name\":\"p\"}},\"Nodes\":{\"items\":[]},"
	 "\"NodeNameToVictims\":{}}"},
};

static void what_cannot_be_read_is_an_error_and_never_a_place(void **state)
{
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *said;

		print_message("%s\n", rows[i].sentence);
		said = scene_post(s, "/filter", rows[i].body, 200);
		assert_non_null(strstr(said, "\"NodeNames\":null"));
		assert_null(strstr(said, "\"Error\":\"\""));
		scene_post(s, "/prioritize", rows[i].body, 400);
		scene_post(s, "/preempt", rows[i].body, 400);
		assert_null(strstr(scene_post(s, "/bind", rows[i].body, 200), "\"Error\":\"\""));
	}
	assert_int_equal(fake_kube_made(s->kube.client), 0);
	assert_int_equal(cluster_assumptions(s->cluster), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
		IN_SCENE(the_node_that_is_fuller_is_better),
		IN_SCENE(equals_are_all_the_best),
		IN_SCENE(a_node_that_nobody_knows_is_the_worst),
		IN_SCENE(the_node_that_was_best_is_left_to_its_pod_for_a_moment),
		IN_SCENE(of_a_pod_without_gpus_nothing_is_said),
		IN_SCENE(for_a_pod_with_gpus_nobody_is_to_go),
		IN_SCENE(for_others_kube_schedulers_choice_stands),
		IN_SCENE(who_does_not_lead_sends_its_clients_elsewhere),
		IN_SCENE(other_paths_and_methods_are_not_found),
		IN_SCENE(what_cannot_be_read_is_an_error_and_never_a_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
