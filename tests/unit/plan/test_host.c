/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes have besides cards: how it is counted as pods come and go, and what a plan says of it.
 * tests/prop/prop_plan.c has that plans are right.
 */
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
#include "lib/cards.h"
#include "plan/host.h"

struct scene {
	struct cluster *cluster;
	struct arena arena;
};

static int setup(void **state)
{
	static const struct hash_key key = {1, 2};
	struct scene *s = test_calloc(1, sizeof(*s));

	s->cluster = cluster_new(&key);
	arena_init(&s->arena, 1 << 20);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	cluster_free(s->cluster);
	arena_clear(&s->arena);
	test_free(s);
	return 0;
}

static void add_node(struct scene *s, const char *name, struct host_facts host)
{
	cards_add_node(
		s->cluster, 8,
		(struct node_facts){.name = str_from(name), .ready = NODE_READY, .host = &host});
}

static struct host_facts plenty(void)
{
	return (struct host_facts){.allocatable = {{32000, 64 * GIB, 0}}, .pods = 110};
}

/* @gpus 0: a bystander. */
struct pod {
	const char *name, *node;
	int64_t gpus, milli_cpu;
	enum pod_phase phase;
};

static void add_pod(struct scene *s, struct pod pod)
{
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), pod.gpus);
	struct container_facts container = {CONTAINER_NORMAL, &ask, pod.gpus > 0};
	struct pod_facts facts = {
		.namespace = STR("team"),
		.name = str_from(pod.name),
		.uid = str_from(pod.name),
		.node = pod.node ? str_from(pod.node) : STR_NONE,
		.phase = pod.phase,
		.containers = &container,
		.n_containers = 1,
		.demand = {{pod.milli_cpu, GIB, 0}},
	};

	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
}

static void ask_of(struct scene *s, const char *name, struct cluster_ask *ask)
{
	uint32_t pod = cluster_pod_find(s->cluster, STR("team"), str_from(name), str_from(name));

	assert_int_not_equal(pod, TABLE_NONE);
	cluster_ask_of_pod(s->cluster, pod, ask);
}

static struct cluster_host_room room_of(struct scene *s, const char *node)
{
	struct cluster_host_room room;
	struct cluster_ask ask;

	ask_of(s, "asks", &ask);
	cluster_host_room(s->cluster, &ask, cluster_node_find(s->cluster, str_from(node)), &room);
	return room;
}

static void assert_free(struct scene *s, const char *node, int64_t milli_cpu, int64_t pods)
{
	struct cluster_host_room room = room_of(s, node);

	assert_true(room.told);
	assert_int_equal(room.free[DEMAND_CPU], milli_cpu);
	assert_int_equal(room.free[HOST_PODS], pods);
}

static void all_pods_of_a_node_count_until_they_end(void **state)
{
	struct scene *s = *state;

	add_pod(s, (struct pod){"asks", NULL, 1, 4000, POD_PENDING});
	/* Pods may be seen before their node is. */
	add_pod(s, (struct pod){"agent", "n", 0, 500, POD_RUNNING});
	add_pod(s, (struct pod){"train", "n", 2, 8000, POD_RUNNING});
	add_node(s, "n", plenty());
	assert_free(s, "n", 32000 - 8500, 108);
	add_pod(s, (struct pod){"agent", "n", 0, 1500, POD_RUNNING}); /* resized in place */
	assert_free(s, "n", 32000 - 9500, 108);
	add_pod(s, (struct pod){"train", "n", 2, 8000, POD_SUCCEEDED});
	assert_free(s, "n", 32000 - 1500, 109);
	add_pod(s, (struct pod){"agent", "n", 0, 1500, POD_FAILED});
	assert_free(s, "n", 32000, 110);
	add_pod(s, (struct pod){"waits", NULL, 0, 1500, POD_PENDING});
	add_pod(s, (struct pod){"waits", "n", 0, 1500, POD_PENDING});
	assert_free(s, "n", 30500, 109);
	cluster_delete(s->cluster, CLUSTER_PODS, STR("team"), STR("waits"));
	cluster_delete(s->cluster, CLUSTER_PODS, STR("team"), STR("never seen"));
	cluster_delete(s->cluster, CLUSTER_PODS, STR("team"), STR("train"));
	assert_free(s, "n", 32000, 110);
}

static void what_a_new_list_does_not_have_is_gone(void **state)
{
	struct scene *s = *state;

	add_node(s, "n", plenty());
	add_pod(s, (struct pod){"stays", "n", 0, 1000, POD_RUNNING});
	add_pod(s, (struct pod){"goes", "n", 0, 2000, POD_RUNNING});
	cluster_begin_replace(s->cluster, CLUSTER_PODS);
	add_pod(s, (struct pod){"asks", NULL, 1, 4000, POD_PENDING});
	add_pod(s, (struct pod){"stays", "n", 0, 1000, POD_RUNNING});
	cluster_end_replace(s->cluster, CLUSTER_PODS);
	assert_free(s, "n", 31000, 109);
}

static void a_pod_that_is_assumed_counts_where_it_is_assumed(void **state)
{
	struct scene *s = *state;
	struct cluster_ask other;

	add_node(s, "n", plenty());
	add_pod(s, (struct pod){"asks", NULL, 1, 4000, POD_PENDING});
	add_pod(s, (struct pod){"other", NULL, 1, 3000, POD_PENDING});
	ask_of(s, "other", &other);
	cluster_assume(s->cluster, other.pod, cluster_node_find(s->cluster, STR("n")), 0, 100);
	assert_free(s, "n", 29000, 109);
	add_pod(s, (struct pod){"other", "n", 1, 3000, POD_RUNNING});
	assert_free(s, "n", 29000, 109);
	cluster_delete(s->cluster, CLUSTER_PODS, STR("team"), STR("other"));
	ask_of(s, "asks", &other);
	cluster_assume(s->cluster, other.pod, cluster_node_find(s->cluster, STR("n")), 0, 100);
	assert_free(s, "n", 32000, 110); /* its own place is its own */
	cluster_unassume(s->cluster, other.pod);
	assert_free(s, "n", 32000, 110);
}

static enum host_verdict verdict_of(struct scene *s, const char *node)
{
	struct cluster_terms terms;
	struct cluster_ask ask;

	ask_of(s, "asks", &ask);
	arena_reset(&s->arena);
	assert_true(cluster_terms_of(s->cluster, ask.pod, &s->arena, &terms));
	return host_fit(s->cluster, &ask, &terms, cluster_node_find(s->cluster, str_from(node)));
}

static void what_is_in_the_way_is_told(void **state)
{
	static const struct taint taint = {{"dedicated", 9}, {"x", 1}, TAINT_NO_EXECUTE};
	struct host_facts tight = {.allocatable = {{3999, 64 * GIB, 0}}, .pods = 110};
	struct host_facts low = {.allocatable = {{32000, GIB - 1, 0}}, .pods = 110};
	struct host_facts full = {.allocatable = {{32000, 64 * GIB, 0}}, .pods = 0};
	struct host_facts cordoned = plenty(), tainted = plenty();
	struct scene *s = *state;

	cordoned.cordoned = true;
	tainted.taints = &taint;
	tainted.n_taints = 1;
	add_pod(s, (struct pod){"asks", NULL, 1, 4000, POD_PENDING});
	add_node(s, "good", plenty());
	add_node(s, "tight", tight);
	add_node(s, "low", low);
	add_node(s, "full", full);
	add_node(s, "cordoned", cordoned);
	add_node(s, "tainted", tainted);
	assert_int_equal(verdict_of(s, "good"), HOST_FITS);
	assert_int_equal(verdict_of(s, "tight"), HOST_NO_CPU);
	assert_int_equal(verdict_of(s, "low"), HOST_NO_MEMORY);
	assert_int_equal(verdict_of(s, "full"), HOST_FULL);
	assert_int_equal(verdict_of(s, "cordoned"), HOST_CORDONED);
	assert_int_equal(verdict_of(s, "tainted"), HOST_TAINTED);
	/* What a node says now counts. */
	add_node(s, "tainted", plenty());
	assert_int_equal(verdict_of(s, "tainted"), HOST_FITS);
}

static void reasons_are_counted_in_words(void **state)
{
	uint32_t counts[HOST_VERDICT_COUNT] = {[HOST_NO_CPU] = 12, [HOST_CORDONED] = 2};
	struct buf said CLEANUP(buf_clear);

	(void)state;
	buf_init(&said, 1024);
	host_describe(counts, "; ", &said);
	buf_add_char(&said, '|');
	host_describe_doubt(&(struct terms_doubt){1u << BEYOND_POD_AFFINITY | 1u << BEYOND_VOLUME,
						  VOLUME_DOUBT_NONE, ""},
			    &said);
	buf_add_char(&said, '|');
	host_describe_doubt(&(struct terms_doubt){0, VOLUME_DOUBT_MISSING, "weights"}, &said);
	buf_add_char(&said, '\0');
	assert_string_equal(said.data,
			    "; nodes with enough cards: 2 cordoned, 12 without enough CPU|gpuqos "
			    "cannot prove where kube-scheduler would let it, since it asks for pod "
			    "affinity, and for a disk without a PersistentVolumeClaim|no node is "
			    "known to be one that kube-scheduler lets it on: its claim weights is "
			    "not there");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_pods_of_a_node_count_until_they_end, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_a_new_list_does_not_have_is_gone, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_pod_that_is_assumed_counts_where_it_is_assumed,
						setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_in_the_way_is_told, setup, teardown),
		cmocka_unit_test(reasons_are_counted_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
