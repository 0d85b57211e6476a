/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes as calls name them, and those that other pods are about to be bound to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cluster/looks.h"
#include "cluster/read.h"
#include "extender/internal.h"

static const struct hash_key key = {1, 2};

static struct extender *scene_new(void)
{
	struct extender *extender = mem_alloc(sizeof(*extender));

	extender->options.cluster = cluster_new(&key);
	extender->options.hash_key = key;
	extender->loop = loop_new(clock_system());
	return extender;
}

static void scene_free(struct extender *extender)
{
	cluster_free(extender->options.cluster);
	loop_free(extender->loop);
	mem_free(extender);
}

static void add_node(struct extender *extender, const char *name)
{
	struct node_facts facts = {.name = str_from(name), .uid = str_from(name)};
	struct error err = {0};

	assert_int_equal(cluster_apply_node(extender->options.cluster, &facts, &err), 0);
}

/* Its handle is given up once whoever looks at nodes has seen that it is gone. */
static void remove_node(struct extender *extender, const char *name)
{
	struct cluster *cluster = extender->options.cluster;
	uint32_t node;

	cluster_delete(cluster, CLUSTER_NODES, STR_NONE, str_from(name));
	while (cluster_take_node(cluster, &node))
		;
}

static uint32_t find(struct extender *extender, const char *name)
{
	struct str text = str_from(name);
	uint32_t node;

	names_find(extender, &text, 1, &node);
	assert_int_equal(node, cluster_node_find(extender->options.cluster, text));
	return node;
}

static void names_are_found_as_the_cluster_finds_them(void **state)
{
	enum { N = 5000 };
	static char texts[N][80];
	static struct str names[N];
	static uint32_t nodes[N];
	struct extender *extender = scene_new();

	(void)state;
	for (size_t i = 0; i < N; i++) {
		/* some of them longer than what is kept */
		snprintf(texts[i], sizeof(texts[i]), i % 7 == 0 ? "node-%060zu" : "node-%zu", i);
		names[i] = str_from(texts[i]);
		if (i % 5 != 0)
			add_node(extender, texts[i]);
	}
	for (int turn = 0; turn < 2; turn++) {
		names_find(extender, names, N, nodes);
		for (size_t i = 0; i < N; i++)
			assert_int_equal(nodes[i],
					 cluster_node_find(extender->options.cluster, names[i]));
	}
	scene_free(extender);
}

static void a_node_that_has_gone_is_not_found_under_its_old_handle(void **state)
{
	struct extender *extender = scene_new();
	uint32_t first;

	(void)state;
	add_node(extender, "a");
	first = find(extender, "a");
	assert_int_not_equal(first, TABLE_NONE);
	remove_node(extender, "a");
	assert_int_equal(find(extender, "a"), TABLE_NONE);
	add_node(extender, "b");
	assert_int_equal(find(extender, "b"), first);
	assert_int_equal(find(extender, "a"), TABLE_NONE);
	scene_free(extender);
}

/* Nodes that come and go under names of their own, until there is no more room for names. */
static void names_of_nodes_that_are_gone_give_way(void **state)
{
	struct extender *extender = scene_new();
	char name[32];

	(void)state;
	add_node(extender, "stays");
	for (size_t i = 0; i < EXTENDER_NAMES_LINES; i++) {
		snprintf(name, sizeof(name), "node-%zu", i);
		add_node(extender, name);
		assert_int_not_equal(find(extender, name), TABLE_NONE);
		remove_node(extender, name);
		assert_int_not_equal(find(extender, "stays"), TABLE_NONE);
	}
	assert_int_equal(find(extender, name), TABLE_NONE);
	scene_free(extender);
}

static void a_node_is_taken_by_others_and_never_by_the_pod_itself(void **state)
{
	struct extender *extender = scene_new();
	struct soft_set set;

	(void)state;
	for (uint32_t i = 0; i < EXTENDER_SOFT_MOST + 44; i++)
		soft_take(extender, i + 1, i * 3);
	soft_end(extender, 101);
	soft_set_make(extender, 201, &set);
	for (uint32_t node = 0; node < 3 * (EXTENDER_SOFT_MOST + 44); node++)
		assert_int_equal(soft_set_has(&set, node),
				 node % 3 == 0 && node / 3 >= 44 && node != 300 && node != 600);
	scene_free(extender);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found_as_the_cluster_finds_them),
		cmocka_unit_test(a_node_that_has_gone_is_not_found_under_its_old_handle),
		cmocka_unit_test(names_of_nodes_that_are_gone_give_way),
		cmocka_unit_test(a_node_is_taken_by_others_and_never_by_the_pod_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
