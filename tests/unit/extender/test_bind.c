/* SPDX-License-Identifier: Apache-2.0 */
/* bind: what is checked once more, what is posted, and what is assumed after each answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "cluster/placing/assume.h"
#include "cluster/read.h"
#include "extender/internal.h"
#include "scene.h"
#include "served.h"

#define MAY_BE_HERE "gpuqos: an earlier binding of the pod to node here may still come true"

static const struct scene_pod eight = {.name = "p", .cards = 8}, other = {.name = "q", .cards = 1};

/* Two nodes, and a pod that takes all of one. */
static struct scene *two_nodes(void **state)
{
	struct scene *s = *state;

	scene_add_node(s, "here", SCENE_LOOSE);
	scene_add_node(s, "there", SCENE_LOOSE);
	scene_show(s, &eight);
	scene_show(s, &other);
	return s;
}

static bool has_room(struct scene *s, const char *node)
{
	char names[32];

	snprintf(names, sizeof(names), "[\"%s\"]", node);
	return strstr(scene_filter(s, &other, names), "\"FailedNodes\":{}") != NULL;
}

/* A bind of "p" to "here" that waits for the API server. */
static struct served *bind_waits(struct scene *s)
{
	struct served *served = scene_bind(s, "p", "here");

	assert_int_equal(served->state, SERVED_WAITS);
	fake_kube_settle(s->kube.client);
	fake_kube_expect(&s->kube, "CREATE pods/binding a/p");
	return served;
}

static void a_binding_names_pod_and_node_and_holds_the_cards(void **state)
{
	struct scene *s = two_nodes(state);
	struct served *served = bind_waits(s);
	struct kube_call *call = fake_kube_first(s->kube.client);

	assert_string_equal(fake_kube_body(call),
			    "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":"
			    "\"p\",\"namespace\":\"a\",\"uid\":\"p\"},\"target\":{\"apiVersion\":"
			    "\"v1\",\"kind\":\"Node\",\"name\":\"here\"}}");
	assert_true(fake_kube_timeout(call) < 5 * USEC_PER_SEC);
	assert_int_equal(s->touched, 1);
	assert_false(has_room(s, "here"));
	fake_kube_reply(&s->kube, "CREATE pods/binding", "{}");
	scene_expect(served, "");
	assert_false(has_room(s, "here"));
	assert_int_equal(cluster_assumptions(s->cluster), 1);
}

/* What the API server says; what kube-scheduler hears; whether the cards are free again. */
static const struct row {
	const char *sentence;
	enum error_kind kind;
	int http_status;
	bool free;
} rows[] = {
	{"a pod that is gone holds nothing", ERROR_NOT_FOUND, 404, true},
	{"who may not bind holds nothing", ERROR_FORBIDDEN, 403, true},
	{"a Binding that is refused as wrong holds nothing", ERROR_INVALID, 422, true},
	{"after a conflict an earlier Binding may be in force", ERROR_CONFLICT, 409, false},
	{"a server that failed may have done it", ERROR_UNAVAILABLE, 500, false},
	{"no answer in time is no answer", ERROR_TIMEOUT, 0, false},
};

static void what_the_api_server_says_decides_on_the_assumption(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct served *served;
		struct scene *s;

		print_message("%s\n", rows[i].sentence);
		scene_setup(state);
		s = two_nodes(state);
		served = bind_waits(s);
		fake_kube_refuse(&s->kube, "CREATE pods/binding", rows[i].kind,
				 rows[i].http_status);
		assert_null(strstr(served_text(served), "\"Error\":\"\""));
		served_free(served);
		assert_int_equal(has_room(s, "here"), rows[i].free);
		assert_int_equal(cluster_assumptions(s->cluster), rows[i].free ? 0 : 1);
		if (!rows[i].free)
			scene_refuses(s, "p", "there", MAY_BE_HERE);
		scene_teardown(state);
	}
}

static void what_nobody_knows_may_be_tried_again_on_the_same_node(void **state)
{
	struct scene *s = two_nodes(state);
	struct served *served = bind_waits(s);

	fake_kube_refuse(&s->kube, "CREATE pods/binding", ERROR_TIMEOUT, 0);
	served_free(served);
	served = bind_waits(s);
	/* That it is refused now does not say that the first one was. */
	fake_kube_refuse(&s->kube, "CREATE pods/binding", ERROR_FORBIDDEN, 403);
	served_free(served);
	assert_false(has_room(s, "here"));
	served = bind_waits(s);
	fake_kube_reply(&s->kube, "CREATE pods/binding", "{}");
	scene_expect(served, "");
}

static void a_watch_settles_what_nobody_knew(void **state)
{
	struct scene *s = two_nodes(state);
	struct served *served = bind_waits(s);

	fake_kube_refuse(&s->kube, "CREATE pods/binding", ERROR_CONFLICT, 409);
	served_free(served);
	scene_show(s, &(struct scene_pod){.name = "p", .cards = 8, .node = "there"});
	assert_true(has_room(s, "here"));
	assert_false(has_room(s, "there"));
}

static void an_assumption_that_nothing_settles_ends(void **state)
{
	struct scene *s = two_nodes(state);
	struct served *served = bind_waits(s);

	fake_kube_refuse(&s->kube, "CREATE pods/binding", ERROR_UNAVAILABLE, 503);
	served_free(served);
	s->touched = 0;
	fake_kube_pass(&s->kube, EXTENDER_ASSUME_US - USEC_PER_SEC);
	assert_false(has_room(s, "here"));
	fake_kube_pass(&s->kube, 2 * USEC_PER_SEC);
	assert_true(has_room(s, "here"));
	assert_int_equal(s->touched, 1);
}

/* --- what is not posted */

static void the_ledger_has_the_last_word(void **state)
{
	struct scene *s = *state;
	const struct scene_pod first = {.name = "p", .cards = 3},
			       second = {.name = "q", .cards = 2};
	struct served *served;

	scene_add_node(s, "here", SCENE_STRICT);
	scene_add_node(s, "there", SCENE_STRICT);
	scene_set_quota(s, 320 * GIB);
	scene_show(s, &first);
	scene_show(s, &second);
	/* Both passed, and the first was bound meanwhile. */
	scene_filter(s, &first, "[\"here\"]");
	assert_non_null(strstr(scene_filter(s, &second, "[\"there\"]"), "[\"there\"]"));
	served = bind_waits(s);
	scene_refuses(s, "q", "there",
		      "gpuqos: The pod asks for 160Gi of GPU memory in its namespace, of which "
		      "240Gi of 320Gi are held.");
	fake_kube_refuse(&s->kube, "CREATE pods/binding", ERROR_NOT_FOUND, 404);
	served_free(served);
	served = scene_bind(s, "q", "there");
	fake_kube_settle(s->kube.client);
	fake_kube_reply(&s->kube, "CREATE pods/binding a/q", "{}");
	scene_expect(served, "");
}

static void the_last_cards_go_to_who_is_bound_first(void **state)
{
	struct scene *s = two_nodes(state);
	struct served *served = bind_waits(s);

	scene_refuses(s, "q", "here", "gpuqos: fewer than 1 nvidia.com/gpu are free");
	fake_kube_reply(&s->kube, "CREATE pods/binding", "{}");
	scene_expect(served, "");
}

static void to_a_node_that_nobody_knows_nothing_is_bound(void **state)
{
	scene_refuses(two_nodes(state), "p", "ghost", "gpuqos: gpuqos has not seen the node yet");
}

/* No watch shows it here, and nobody asked about it: kube-scheduler binds it through us all the
 * same. */
static void a_pod_without_gpus_is_bound_and_holds_nothing(void **state)
{
	struct scene *s = *state;
	struct served *served = bind_waits(s);

	assert_int_equal(cluster_assumptions(s->cluster), 0);
	fake_kube_reply(&s->kube, "CREATE pods/binding", "{}");
	scene_expect(served, "");
}

static void what_is_no_binding_is_told_so(void **state)
{
	struct scene *s = *state;

	assert_non_null(
		strstr(scene_post(s, "/bind", "{\"PodName\":\"p\"}", 200), "{\"Error\":\""));
	assert_null(strstr(scene_post(s, "/bind", "{", 200), "\"Error\":\"\""));
	assert_int_equal(fake_kube_made(s->kube.client), 0);
}

/* --- and when this replica ends */

static void a_binding_under_way_is_given_up_unanswered(void **state)
{
	struct scene *s = two_nodes(state);
	struct served *served = bind_waits(s);

	extender_free(s->extender);
	s->extender = NULL;
	assert_int_equal(served->state, SERVED_CLOSED);
	served_free(served);
}

static void who_no_longer_leads_posts_nothing(void **state)
{
	struct scene *s = two_nodes(state);
	struct served *served = scene_bind(s, "p", "here");

	s->kube.leads = false;
	fake_kube_settle(s->kube.client);
	assert_int_equal(fake_kube_fenced(s->kube.client), 1);
	assert_null(strstr(served_text(served), "\"Error\":\"\""));
	served_free(served);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_api_server_says_decides_on_the_assumption),
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
		IN_SCENE(a_binding_names_pod_and_node_and_holds_the_cards),
		IN_SCENE(what_nobody_knows_may_be_tried_again_on_the_same_node),
		IN_SCENE(a_watch_settles_what_nobody_knew),
		IN_SCENE(an_assumption_that_nothing_settles_ends),
		IN_SCENE(the_ledger_has_the_last_word),
		IN_SCENE(the_last_cards_go_to_who_is_bound_first),
		IN_SCENE(to_a_node_that_nobody_knows_nothing_is_bound),
		IN_SCENE(a_pod_without_gpus_is_bound_and_holds_nothing),
		IN_SCENE(what_is_no_binding_is_told_so),
		IN_SCENE(a_binding_under_way_is_given_up_unanswered),
		IN_SCENE(who_no_longer_leads_posts_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
