/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the nodes that fit filter lets pass: the best, and how much worse ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/random.h"
#include "extender/internal.h"
#include "scene.h"

#define PASSED(names)                          \
	"{\"Nodes\":null,\"NodeNames\":" names \
	",\"FailedNodes\":{},\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}"

/* --- of many nodes the best */

#define NODES 6

static const char all_nodes[] = "[\"n0\",\"n1\",\"n2\",\"n3\",\"n4\",\"n5\"]";

/* Six that differ in what is free: a fuller one is better, and n3 is full. */
static void add_nodes(struct scene *s)
{
	static const int held[NODES] = {0, 2, 1, 8, 4, 3};

	for (int i = 0; i < NODES; i++) {
		char node[16], holder[16];

		snprintf(node, sizeof(node), "n%d", i);
		snprintf(holder, sizeof(holder), "h%d", i);
		scene_add_node(s, node, SCENE_STRICT);
		if (held[i] > 0)
			scene_show(s, &(struct scene_pod){
					      .name = holder, .cards = held[i], .node = node});
	}
}

/* What prioritize says of each: -1 of who is not asked about. */
static void scores_of(struct scene *s, const struct scene_pod *pod, const char *names,
		      int ret_scores[NODES])
{
	const char *at = scene_prioritize(s, pod, names);

	memset(ret_scores, 0xff, NODES * sizeof(ret_scores[0]));
	while ((at = strstr(at, "{\"Host\":\"n"))) {
		int node, score;

		assert_int_equal(sscanf(at, "{\"Host\":\"n%d\",\"Score\":%d}", &node, &score), 2);
		ret_scores[node] = score;
		at++;
	}
}

static bool passes(const char *answer, int node)
{
	const char *names = strstr(answer, "\"NodeNames\":"), *end = strchr(names, ']');
	char name[8];
	const char *at;

	snprintf(name, sizeof(name), "\"n%d\"", node);
	at = strstr(names, name);
	return at && at < end;
}

static void of_many_that_fit_the_best_pass(void **state)
{
	struct scene *s = *state;
	const struct scene_pod pod = {.name = "p", .cards = 1};
	const char *fitting = "[\"n0\",\"n1\",\"n2\",\"n4\",\"n5\"]";
	int scores[NODES];

	add_nodes(s);
	scores_of(s, &pod, fitting, scores);
	for (int most = 1; most < NODES; most++) {
		int worst = INT32_MAX, best = -1, n = 0;
		const char *answer;

		s->extender->options.candidates = (size_t)most;
		answer = scene_filter(s, &pod, all_nodes);
		for (int i = 0; i < NODES; i++) {
			if (passes(answer, i) && ++n)
				worst = MIN(worst, scores[i]);
			else
				best = MAX(best, scores[i]);
		}
		assert_int_equal(n, most);
		assert_true(worst >= best);
		/* Who does not fit is told why, who was left out is not mentioned. */
		assert_non_null(strstr(answer, "\"n3\":\"fewer than 1"));
		assert_null(strstr(strstr(answer, "FailedNodes"), "\"n0\""));
	}
}

static void all_that_fit_pass(struct scene *s, const struct scene_pod *pod)
{
	const char *answer = scene_filter(s, pod, all_nodes);

	for (int i = 0; i < NODES; i++)
		assert_int_equal(passes(answer, i), i != 3);
}

static void of_few_that_fit_all_pass(void **state)
{
	struct scene *s = *state;

	add_nodes(s);
	s->extender->options.candidates = 5;
	all_that_fit_pass(s, &(struct scene_pod){.name = "p", .cards = 1});
	s->extender->options.candidates = 0;
	all_that_fit_pass(s, &(struct scene_pod){.name = "p", .cards = 1});
}

static void what_only_kube_scheduler_scores_needs_all_nodes(void **state)
{
	static const char *const wishes[] = {
#define PREFERRED(kind)                                                                      \
	"\"affinity\":{\"" kind "\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{" \
	"\"weight\":1}]}},"
		PREFERRED("nodeAffinity"),
		PREFERRED("podAffinity"),
		PREFERRED("podAntiAffinity"),
		"\"topologySpreadConstraints\":[{\"maxSkew\":1}],",
	};
	struct scene *s = *state;

	add_nodes(s);
	s->extender->options.candidates = 1;
	for (size_t i = 0; i < ARRAY_SIZE(wishes); i++)
		all_that_fit_pass(s,
				  &(struct scene_pod){.name = "p", .cards = 1, .spec = wishes[i]});
}

/* Required terms are filters, of which kube-scheduler asked before us. */
static void what_is_required_is_no_wish(void **state)
{
	struct scene *s = *state;
	const char *answer;
	int n = 0;

	add_nodes(s);
	s->extender->options.candidates = 1;
	answer = scene_filter(
		s,
		&(struct scene_pod){
			.name = "p",
			.cards = 1,
			.spec = "\"affinity\":{\"nodeAffinity\":{"
				"\"preferredDuringSchedulingIgnoredDuringExecution\":[],"
				"\"requiredDuringSchedulingIgnoredDuringExecution\":{"
				"\"nodeSelectorTerms\":[{}]}}},"},
		all_nodes);
	for (int i = 0; i < NODES; i++)
		n += passes(answer, i);
	assert_int_equal(n, 1);
}

/* The node that another pod is about to be bound to is behind all others. */
static void a_node_that_another_is_about_to_have_is_left_out_first(void **state)
{
	struct scene *s = *state;
	const struct scene_pod first = {.name = "p", .cards = 1},
			       second = {.name = "q", .cards = 1};

	add_nodes(s);
	scene_prioritize(s, &first, "[\"n4\"]");
	s->extender->options.candidates = 4;
	assert_false(passes(scene_filter(s, &second, all_nodes), 4));
	assert_true(passes(scene_filter(s, &first, all_nodes), 4));
}

static int by_size(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->total != y->total ? (x->total > y->total ? -1 : 1) : (int)x->at - (int)y->at;
}

static void the_best_are_those_that_sorting_puts_first(void **state UNUSED)
{
	struct random random;

	random_init(&random, 1);
	for (int round = 0; round < 2000; round++) {
		struct ranked all[40] = {{0}};
		struct best best;
		struct arena arena;
		size_t n = random_below(&random, ARRAY_SIZE(all) + 1),
		       most = 1 + random_below(&random, 20);

		arena_init(&arena, 1 << 16);
		assert_int_equal(best_init(&best, &arena, most), 0);
		for (size_t i = 0; i < n; i++) {
			all[i] = (struct ranked){(int64_t)random_below(&random, 8) - 4, i};
			best_offer(&best, all[i].total, i);
		}
		qsort(all, n, sizeof(all[0]), by_size);
		qsort(best.items, best.len, sizeof(all[0]), by_size);
		assert_int_equal(best.len, MIN(n, most));
		for (size_t i = 0; i < best.len; i++)
			assert_int_equal(best.items[i].at, all[i].at);
		arena_clear(&arena);
	}
}

/* --- how much worse than the best */

static int passing(const char *answer)
{
	int n = 0;

	for (int i = 0; i < NODES; i++)
		n += passes(answer, i);
	return n;
}

static void without_a_margin_those_that_none_is_better_than_pass(void **state)
{
	struct scene *s = *state;
	const struct scene_pod pod = {.name = "p", .cards = 1};
	int scores[NODES];
	const char *answer;

	add_nodes(s);
	scores_of(s, &pod, "[\"n0\",\"n1\",\"n2\",\"n4\",\"n5\"]", scores);
	s->extender->options.margin = 0;
	answer = scene_filter(s, &pod, all_nodes);
	for (int i = 0; i < NODES; i++)
		assert_int_equal(passes(answer, i), scores[i] == 10);
	/* Who does not fit is told why, who was left out is not mentioned. */
	assert_non_null(strstr(answer, "\"n3\":\"fewer than 1"));
	assert_null(strstr(strstr(answer, "FailedNodes"), "\"n0\""));
}

/* Of each node, as rank_least() is compared with them. */
static void totals_of(struct scene *s, const struct scene_pod *pod, int64_t ret_totals[NODES])
{
	static const struct str names[NODES] = {{"n0", 2}, {"n1", 2}, {"n2", 2},
						{"n3", 2}, {"n4", 2}, {"n5", 2}};
	struct soft_set nobody;
	uint32_t nodes[NODES];

	soft_set_make(s->extender, 0, &nobody);
	scene_prioritize(s, pod, all_nodes);
	names_find(s->extender, names, NODES, nodes);
	for (int i = 0; i < NODES; i++)
		ret_totals[i] = rank_total(s->extender, &nobody, nodes[i]);
}

static void those_that_are_not_too_much_worse_pass(void **state)
{
	struct scene *s = *state;
	const struct placement_weights *weights = s->extender->options.weights;
	const struct scene_pod pod = {.name = "p", .cards = 1};
	const int64_t percent =
		(weights->alignment + weights->nvlink + weights->pcie + weights->fragmentation) *
		PLACE_TERM_MOST / 100;
	int64_t totals[NODES], best = INT64_MIN;
	bool only_some = false;

	add_nodes(s);
	totals_of(s, &pod, totals);
	for (int i = 0; i < NODES; i++)
		best = i == 3 ? best : MAX(best, totals[i]);
	for (int margin = 0; margin < 100; margin++) {
		const char *answer;
		int n = 0;

		s->extender->options.margin = margin;
		answer = scene_filter(s, &pod, all_nodes);
		for (int i = 0; i < NODES; i++) {
			bool near = i != 3 && totals[i] >= best - margin * percent;

			assert_int_equal(passes(answer, i), near);
			n += near;
		}
		only_some |= margin > 0 && n > 1 && n < NODES - 1;
	}
	assert_true(only_some);
}

static void a_wider_margin_lets_more_pass_until_all_do(void **state)
{
	struct scene *s = *state;
	const struct scene_pod pod = {.name = "p", .cards = 1};
	int before = 0;

	add_nodes(s);
	for (int margin = 0; margin <= 100; margin++) {
		int n;

		s->extender->options.margin = margin;
		n = passing(scene_filter(s, &pod, all_nodes));
		assert_true(n >= before);
		before = n;
	}
	assert_int_equal(before, NODES - 1);
}

static void equally_good_nodes_pass_together(void **state)
{
	struct scene *s = *state;
	const struct scene_pod pod = {.name = "p", .cards = 2};

	for (int i = 0; i < NODES; i++) {
		char node[16];

		snprintf(node, sizeof(node), "n%d", i);
		scene_add_node(s, node, i < 4 ? SCENE_STRICT : SCENE_UNKNOWN);
	}
	s->extender->options.margin = 0;
	assert_string_equal(scene_filter(s, &pod, all_nodes),
			    PASSED("[\"n0\",\"n1\",\"n2\",\"n3\"]"));
	s->extender->options.candidates = 3;
	assert_string_equal(scene_filter(s, &pod, all_nodes), PASSED("[\"n0\",\"n1\",\"n2\"]"));
}

static void wishes_need_all_nodes_without_a_margin_too(void **state)
{
	struct scene *s = *state;

	add_nodes(s);
	s->extender->options.margin = 0;
	all_that_fit_pass(
		s, &(struct scene_pod){.name = "p",
				       .cards = 1,
				       .spec = "\"topologySpreadConstraints\":[{\"maxSkew\":1}],"});
}

/* kube-scheduler asks no further about it, but about the next pod before this one is bound. */
static void a_node_that_passed_alone_is_about_to_be_had(void **state)
{
	struct scene *s = *state;
	const struct scene_pod first = {.name = "p", .cards = 1},
			       second = {.name = "q", .cards = 1};
	int node = 0;
	const char *answer;

	add_nodes(s);
	s->extender->options.margin = 0;
	s->extender->options.candidates = 1;
	answer = scene_filter(s, &first, all_nodes);
	assert_int_equal(passing(answer), 1);
	while (!passes(answer, node))
		node++;
	answer = scene_filter(s, &second, all_nodes);
	assert_int_equal(passing(answer), 1);
	assert_false(passes(answer, node));
	assert_true(passes(scene_filter(s, &first, all_nodes), node));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
		IN_SCENE(of_many_that_fit_the_best_pass),
		IN_SCENE(of_few_that_fit_all_pass),
		IN_SCENE(what_only_kube_scheduler_scores_needs_all_nodes),
		IN_SCENE(what_is_required_is_no_wish),
		IN_SCENE(a_node_that_another_is_about_to_have_is_left_out_first),
		IN_SCENE(without_a_margin_those_that_none_is_better_than_pass),
		IN_SCENE(those_that_are_not_too_much_worse_pass),
		IN_SCENE(a_wider_margin_lets_more_pass_until_all_do),
		IN_SCENE(equally_good_nodes_pass_together),
		IN_SCENE(wishes_need_all_nodes_without_a_margin_too),
		IN_SCENE(a_node_that_passed_alone_is_about_to_be_had),
		cmocka_unit_test(the_best_are_those_that_sorting_puts_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
