/* SPDX-License-Identifier: Apache-2.0 */
/* What filter answers: every reason that a node may not pass for, and what is said of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "cluster/placing/assume.h"
#include "cluster/read.h"
#include "extender/internal.h"
#include "scene.h"

#define PASSED(names)                          \
	"{\"Nodes\":null,\"NodeNames\":" names \
	",\"FailedNodes\":{},\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}"
#define FAILED(text)                                                      \
	"{\"Nodes\":null,\"NodeNames\":[],\"FailedNodes\":{\"n\":\"" text \
	"\"},\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}"
#define UNRESOLVABLE(text)                                                                    \
	"{\"Nodes\":null,\"NodeNames\":[],\"FailedNodes\":{},\"FailedAndUnresolvableNodes\":" \
	"{\"n\":\"" text "\"},\"Error\":\"\"}"
#define ERROR(text)                                              \
	"{\"Nodes\":null,\"NodeNames\":null,\"FailedNodes\":{}," \
	"\"FailedAndUnresolvableNodes\":{},\"Error\":\"" text "\"}"

/* One node, "n"; what it holds already; who asks; the answer. */
static const struct row {
	const char *sentence;
	enum scene_node kind;
	struct scene_pod held; /* no name: nobody is there */
	struct scene_pod asks;
	int64_t quota; /* 0: the namespace has none */
	const char *answer;
} rows[] = {
	{"a pod that has room passes",
	 SCENE_STRICT,
	 {0},
	 {.name = "p", .cards = 4, .policy = "Required"},
	 0,
	 PASSED("[\"n\"]")},
	{"where others have all cards, some going would help",
	 SCENE_STRICT,
	 {.name = "held", .cards = 8, .node = "n"},
	 {.name = "p", .cards = 1},
	 0,
	 FAILED("fewer than 1 nvidia.com/gpu are free")},
	{"what the namespace may hold is said with the numbers",
	 SCENE_STRICT,
	 {.name = "held", .cards = 3, .node = "n"},
	 {.name = "p", .cards = 2},
	 320 * GIB,
	 FAILED("The pod asks for 160Gi of GPU memory in its namespace, of which 240Gi of 320Gi are "
		"held.")},
	{"Required on a node that publishes nothing waits for its agent",
	 SCENE_UNKNOWN,
	 {0},
	 {.name = "p", .cards = 1, .policy = "Required"},
	 0,
	 UNRESOLVABLE("its topology is not known (NotPublished)")},
	{"without a policy a node that publishes nothing is as good as others",
	 SCENE_UNKNOWN,
	 {0},
	 {.name = "p", .cards = 8},
	 0,
	 PASSED("[\"n\"]")},
	{"what kubelet would reject is not tried",
	 SCENE_STRICT,
	 {0},
	 {.name = "p", .cards = 5, .policy = "Required"},
	 0,
	 FAILED("kubelet's topology manager would reject the pod: its NUMA nodes have too few free "
		"cards, or CPUs beside them, each")},
	{"what kubelet may reject, since nobody knows who has which card, is not tried either",
	 SCENE_STRICT,
	 {.name = "held", .cards = 3, .node = "n"},
	 {.name = "p", .cards = 4, .policy = "Required"},
	 0,
	 FAILED("kubelet's topology manager may reject the pod: it is not known which cards and "
		"CPUs the pods that came before it have, or which NUMA node the cards lie in")},
	{"Required where any two cards may be given says where they lie",
	 SCENE_LOOSE,
	 {0},
	 {.name = "p", .cards = 2, .policy = "Required"},
	 0,
	 UNRESOLVABLE("free cards lie in more than one NUMA node and kubelet may mix them: set its "
		      "topologyManagerPolicy to single-numa-node, or have the cards named by DRA "
		      "or HAMi")},
	{"Required where its CPUs may be another NUMA node's",
	 SCENE_LOOSE,
	 {0},
	 {.name = "p", .cards = 1, .policy = "Required"},
	 0,
	 UNRESOLVABLE(
		 "kubelet may pin the pod to CPUs of another NUMA node than its cards: set its "
		 "topologyManagerPolicy to single-numa-node")},
	{"Required of a pod that kubelet does not align",
	 SCENE_STRICT,
	 {0},
	 {.name = "p", .cards = 2, .policy = "Required", .burstable = true},
	 0,
	 UNRESOLVABLE("free cards lie in more than one NUMA node, and kubelet aligns only "
		      "Guaranteed pods: give all containers limits equal to requests for CPU and "
		      "memory")},
	{"Required of parts that may be of cards far apart",
	 SCENE_SHARED,
	 {0},
	 {.name = "p", .cards = 2, .resource = "nvidia.com/gpu.shared", .policy = "Required"},
	 0,
	 UNRESOLVABLE("parts of several cards are asked for, and nothing tells of which")},
};

static void every_reason_is_told(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		struct scene *s;

		print_message("%s\n", row->sentence);
		scene_setup(state);
		s = *state;
		scene_add_node(s, "n", row->kind);
		if (row->quota)
			scene_set_quota(s, row->quota);
		if (row->held.name)
			scene_show(s, &row->held);
		scene_show(s, &row->asks);
		assert_string_equal(scene_filter(s, &row->asks, "[\"n\"]"), row->answer);
		scene_teardown(state);
	}
}

static void a_node_that_does_not_offer_what_another_does_is_told_so(void **state)
{
	struct scene *s = *state;
	const struct scene_pod pod = {.name = "p", .cards = 1};

	scene_add_node(s, "n", SCENE_OTHER);
	scene_add_node(s, "good", SCENE_STRICT);
	scene_show(s, &pod);
	assert_string_equal(scene_filter(s, &pod, "[\"n\",\"good\"]"),
			    "{\"Nodes\":null,\"NodeNames\":[\"good\"],\"FailedNodes\":{},"
			    "\"FailedAndUnresolvableNodes\":{\"n\":\"it does not offer "
			    "nvidia.com/gpu\"},\"Error\":\"\"}");
}

static void a_resource_that_no_node_offers_is_named(void **state)
{
	struct scene *s = *state;
	const struct scene_pod pod = {
		.name = "p", .cards = 1, .resource = "nvidia.com/mig-1g.10gb"};

	scene_add_node(s, "n", SCENE_STRICT);
	assert_string_equal(scene_filter(s, &pod, "[\"n\"]"),
			    UNRESOLVABLE("no node offers nvidia.com/mig-1g.10gb"));
}

static void a_node_that_no_watch_has_shown_fits_nothing(void **state)
{
	struct scene *s = *state;
	const struct scene_pod pod = {.name = "p", .cards = 1};

	scene_add_node(s, "m", SCENE_STRICT);
	scene_show(s, &pod);
	assert_string_equal(scene_filter(s, &pod, "[\"n\"]"),
			    UNRESOLVABLE("gpuqos has not seen the node yet"));
	scene_add_node(s, "n", SCENE_STRICT);
	assert_string_equal(scene_filter(s, &pod, "[\"n\"]"), PASSED("[\"n\"]"));
	scene_remove_node(s, "n");
	assert_string_equal(scene_filter(s, &pod, "[\"n\"]"),
			    UNRESOLVABLE("gpuqos has not seen the node yet"));
}

static void names_keep_their_order_and_their_number(void **state)
{
	struct scene *s = *state;
	const struct scene_pod pod = {.name = "p", .cards = 1};

	scene_add_node(s, "a", SCENE_STRICT);
	scene_add_node(s, "b", SCENE_STRICT);
	scene_show(s, &pod);
	assert_string_equal(scene_filter(s, &pod, "[\"b\",\"a\",\"b\"]"),
			    PASSED("[\"b\",\"a\",\"b\"]"));
	assert_string_equal(scene_filter(s, &pod, "[]"), PASSED("[]"));
}

/* Also a name that is no node, spaces, and an escape. */
static void a_pod_without_gpus_gets_its_names_back_as_they_came(void **state)
{
	struct scene *s = *state;
	const struct scene_pod pod = {.name = "p"};

	assert_string_equal(scene_filter(s, &pod, "[ \"x\\u0041\",\n\"y\" , \"y\"]"),
			    PASSED("[ \"x\\u0041\",\n\"y\" , \"y\"]"));
}

static void a_pod_that_no_watch_has_shown_is_judged_by_what_is_said_of_it(void **state)
{
	struct scene *s = *state;
	const struct scene_pod pod = {.name = "p", .cards = 5, .policy = "Required"};

	scene_add_node(s, "n", SCENE_STRICT);
	assert_string_equal(
		scene_filter(s, &pod, "[\"n\"]"),
		FAILED("kubelet's topology manager would reject the pod: its NUMA nodes have "
		       "too few free cards, or CPUs beside them, each"));
}

static void more_unseen_pods_than_can_be_remembered_have_to_wait(void **state)
{
	struct scene *s = *state;
	char name[16];
	struct scene_pod pod = {.name = name, .cards = 1};

	scene_add_node(s, "n", SCENE_STRICT);
	for (int i = 0; i < EXTENDER_UNSEEN; i++) {
		snprintf(name, sizeof(name), "p-%d", i);
		assert_string_equal(scene_filter(s, &pod, "[\"n\"]"), PASSED("[\"n\"]"));
	}
	snprintf(name, sizeof(name), "another");
	assert_string_equal(scene_filter(s, &pod, "[\"n\"]"),
			    ERROR("gpuqos has not seen this pod yet, nor many others: its watch of "
				  "pods is behind"));
	scene_show(s, &pod);
	assert_string_equal(scene_filter(s, &pod, "[\"n\"]"), PASSED("[\"n\"]"));
}

/* --- Events */

static void assert_told(struct scene *s, const char *pod, const char *note)
{
	struct kube_call *call = fake_kube_expect(&s->kube, "CREATE events a/");

	assert_non_null(strstr(fake_kube_body(call), note));
	assert_non_null(strstr(fake_kube_body(call), "\"NoGpuNodeFits\""));
	assert_non_null(strstr(fake_kube_body(call), pod));
	fake_kube_answer(call, "{}");
	fake_kube_settle(s->kube.client);
}

static void a_refusal_is_told_once_for_each_set_of_reasons(void **state)
{
	struct scene *s = *state;
	const struct scene_pod pod = {.name = "waits", .cards = 2, .policy = "Required"};

	scene_add_node(s, "n", SCENE_UNKNOWN);
	scene_add_node(s, "m", SCENE_UNKNOWN);
	scene_show(s, &pod);
	for (int i = 0; i < 5; i++)
		scene_filter(s, &pod, "[\"n\",\"m\"]");
	fake_kube_settle(s->kube.client);
	assert_int_equal(fake_kube_open(s->kube.client), 1);
	assert_told(s, "\"waits\"",
		    "0 of 2 nodes fit: 2: its topology is not known (NotPublished)");
	/* fewer nodes, the same reason */
	scene_filter(s, &pod, "[\"n\"]");
	fake_kube_settle(s->kube.client);
	assert_int_equal(fake_kube_open(s->kube.client), 0);
	/* one more reason */
	scene_filter(s, &pod, "[\"n\",\"ghost\"]");
	fake_kube_settle(s->kube.client);
	assert_int_equal(fake_kube_open(s->kube.client), 1);
}

static void nothing_is_told_of_who_passes(void **state)
{
	struct scene *s = *state;
	const struct scene_pod pod = {.name = "p", .cards = 2};

	scene_add_node(s, "n", SCENE_STRICT);
	scene_show(s, &pod);
	scene_filter(s, &pod, "[\"n\",\"ghost\"]");
	scene_filter(s, &pod, "[]");
	fake_kube_settle(s->kube.client);
	assert_int_equal(fake_kube_made(s->kube.client), 0);
}

/* --- a pod that may be bound already */

static void only_the_node_that_it_may_be_bound_to_passes(void **state)
{
	struct scene *s = *state;
	const struct scene_pod pod = {.name = "p", .cards = 2};
	const char *bound =
		ERROR("gpuqos: an earlier binding of the pod to node here may still come true");
	uint32_t handle;

	scene_add_node(s, "here", SCENE_STRICT);
	scene_add_node(s, "there", SCENE_STRICT);
	scene_show(s, &pod);
	handle = cluster_pod_find(s->cluster, STR("a"), STR("p"), STR("p"));
	cluster_assume(s->cluster, handle, cluster_node_find(s->cluster, STR("here")), 0x3,
		       2000 * USEC_PER_SEC);
	assert_string_equal(scene_filter(s, &pod, "[\"here\",\"there\"]"), PASSED("[\"here\"]"));
	assert_string_equal(scene_filter(s, &pod, "[\"there\"]"), bound);
	scene_remove_node(s, "here");
	assert_string_equal(scene_filter(s, &pod, "[\"there\"]"), PASSED("[\"there\"]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reason_is_told),
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
		IN_SCENE(a_node_that_does_not_offer_what_another_does_is_told_so),
		IN_SCENE(a_resource_that_no_node_offers_is_named),
		IN_SCENE(a_node_that_no_watch_has_shown_fits_nothing),
		IN_SCENE(names_keep_their_order_and_their_number),
		IN_SCENE(a_pod_without_gpus_gets_its_names_back_as_they_came),
		IN_SCENE(a_pod_that_no_watch_has_shown_is_judged_by_what_is_said_of_it),
		IN_SCENE(more_unseen_pods_than_can_be_remembered_have_to_wait),
		IN_SCENE(a_refusal_is_told_once_for_each_set_of_reasons),
		IN_SCENE(nothing_is_told_of_who_passes),
		IN_SCENE(only_the_node_that_it_may_be_bound_to_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
