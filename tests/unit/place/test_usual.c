/* SPDX-License-Identifier: Apache-2.0 */
/* What is learned of the usual asks, and that it decides where a pod leaves most to them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/macros.h"
#include "cluster/read.h"
#include "place/internal.h"

struct scene {
	struct cluster *cluster;
	struct place_memory memory;
	struct placement_weights weights;
	struct arena arena;
	struct place place;
};

static struct scene *scene_new(void)
{
	static const struct hash_key key = {1, 2};
	struct scene *s = test_calloc(1, sizeof(*s));

	s->cluster = cluster_new(&key);
	s->weights = PLACEMENT_WEIGHTS_DEFAULT;
	arena_init(&s->arena, 1 << 20);
	return s;
}

static void scene_free(struct scene *s)
{
	place_memory_clear(&s->memory);
	cluster_free(s->cluster);
	arena_clear(&s->arena);
	test_free(s);
}

static void add_node(struct scene *s, const char *name, const struct device_offer *offer)
{
	struct device_offer offered = *offer;
	struct node_facts facts = {.name = str_from(name),
				   .uid = str_from(name),
				   .offers = &offered,
				   .n_offers = 1,
				   .layout_state = LAYOUT_IS_ABSENT};

	offered.allocatable = offered.count;
	assert_int_equal(cluster_apply_node(s->cluster, &facts, NULL), 0);
}

static void add_cards(struct scene *s, const char *name, const char *product, int64_t cards)
{
	add_node(s, name,
		 &(struct device_offer){.resource = STR("nvidia.com/gpu"),
					.product = str_from(product),
					.unit_memory = 80 * GIB,
					.count = cards,
					.sharing = DEVICE_WHOLE});
}

struct pod {
	const char *resource;
	int64_t units;
	const char *node, *product; /* NULL: none, any */
};

static void add_pod(struct scene *s, unsigned int number, struct pod pod)
{
	char name[16];
	struct device_ask ask = device_ask_units(
		pod.resource ? str_from(pod.resource) : STR("nvidia.com/gpu"), pod.units);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = {
		.namespace = STR("a"),
		.node = pod.node ? str_from(pod.node) : STR_NONE,
		.product = pod.product ? str_from(pod.product) : STR_NONE,
		.containers = &container,
		.n_containers = 1,
	};

	snprintf(name, sizeof(name), "pod-%u", number);
	facts.name = facts.uid = str_from(name);
	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
}

static void ask(struct scene *s, unsigned int number)
{
	struct place_tools tools = {s->cluster, &s->weights, &s->memory, &s->arena, NULL};
	struct cluster_ask asked;
	char name[16];

	snprintf(name, sizeof(name), "pod-%u", number);
	cluster_ask_of_pod(s->cluster,
			   cluster_pod_find(s->cluster, STR("a"), str_from(name), str_from(name)),
			   &asked);
	place_begin(&s->place, &tools, &asked);
}

static int64_t term(struct scene *s, const char *node)
{
	return place_score(&s->place, cluster_node_find(s->cluster, str_from(node))).fragmentation;
}

static const struct place_mix *mix_of(const struct scene *s, const char *resource)
{
	for (uint32_t i = 0; i < s->memory.usual.n; i++)
		if (strcmp(cluster_name(s->cluster, s->memory.usual.mixes[i].resource), resource) ==
		    0)
			return &s->memory.usual.mixes[i];
	return NULL;
}

/* --- */

static void a_pod_goes_where_it_leaves_most_to_the_usual_ones(void **state)
{
	struct scene *s = scene_new();
	unsigned int number = 0;

	(void)state;
	add_cards(s, "whole", "H100", 8);
	add_cards(s, "broken", "H100", 8);
	add_pod(s, number++, (struct pod){NULL, 1, "broken", NULL});
	for (; number < 12; number++)
		add_pod(s, number, (struct pod){NULL, 8, NULL, NULL});
	add_pod(s, number, (struct pod){NULL, 1, NULL, NULL});
	ask(s, number);
	/* most take all eight cards: one that takes one goes where one is gone already */
	assert_true(term(s, "broken") > term(s, "whole"));
	assert_true(term(s, "broken") > PLACE_TERM_MOST / 2);
	assert_true(term(s, "whole") < PLACE_TERM_MOST / 2);
	scene_free(s);
}

static void of_nodes_alike_to_the_usual_ones_the_fuller_is_better(void **state)
{
	struct scene *s = scene_new();

	(void)state;
	add_cards(s, "full", "H100", 8);
	add_cards(s, "empty", "H100", 8);
	add_pod(s, 0, (struct pod){NULL, 2, "full", NULL});
	add_pod(s, 1, (struct pod){NULL, 2, NULL, NULL});
	ask(s, 1);
	assert_true(term(s, "full") > term(s, "empty"));
	scene_free(s);
}

static void a_product_that_others_insist_on_is_left_to_them(void **state)
{
	struct scene *s = scene_new();
	const struct place_mix *mix;

	(void)state;
	add_cards(s, "rare", "H100", 8);
	add_cards(s, "common", "L4", 8);
	add_pod(s, 0, (struct pod){NULL, 1, NULL, NULL});
	for (unsigned int number = 1; number < 4; number++)
		add_pod(s, number, (struct pod){NULL, 1, NULL, "H100"});
	add_pod(s, 4, (struct pod){NULL, 1, NULL, "nobody has it"});
	ask(s, 0);
	assert_true(term(s, "common") > term(s, "rare"));
	mix = mix_of(s, "nvidia.com/gpu");
	assert_int_equal(mix->mix.count, 2);
	assert_int_equal(mix->mix.weight, 4);
	assert_int_equal(mix->n_products, 2);
	for (uint32_t i = 0; i < mix->n_products; i++) /* three of four, of half of the cards */
		assert_int_equal(
			mix->mix.pressure[i],
			strcmp(cluster_name(s->cluster, mix->products[i]), "H100") == 0 ? 1500 : 0);
	scene_free(s);
}

static void each_resource_has_usual_asks_of_its_own(void **state)
{
	struct scene *s = scene_new();
	char name[32];

	(void)state;
	add_cards(s, "whole", "H100", 8);
	for (unsigned int i = 0; i < 2 * PLACE_MIXES; i++) {
		snprintf(name, sizeof(name), "nvidia.com/mig-%ug.10gb", i + 1);
		add_node(s, name,
			 &(struct device_offer){.resource = str_from(name),
						.product = STR("H100"),
						.unit_memory = 10 * GIB,
						.count = 7,
						.sharing = DEVICE_MIG});
		for (unsigned int k = 0; k <= i; k++)
			add_pod(s, 100 * i + k, (struct pod){name, 1, NULL, NULL});
	}
	ask(s, 100);
	/* the most wanted ones; one that is not among them is judged by what is left alone */
	assert_int_equal(s->memory.usual.n, PLACE_MIXES);
	assert_non_null(mix_of(s, "nvidia.com/mig-16g.10gb"));
	assert_int_equal(mix_of(s, "nvidia.com/mig-16g.10gb")->mix.weight, 16);
	assert_null(mix_of(s, "nvidia.com/mig-2g.10gb"));
	assert_int_equal(term(s, "nvidia.com/mig-2g.10gb"), place_fragmentation(6 * 4000));
	scene_free(s);
}

static void what_is_usual_is_learned_anew_when_enough_has_changed(void **state)
{
	struct scene *s = scene_new();
	unsigned int number = 0;
	uint64_t made;

	(void)state;
	add_cards(s, "n", "H100", 8);
	for (; number < 100; number++)
		add_pod(s, number, (struct pod){NULL, 1, NULL, NULL});
	ask(s, 0);
	made = s->memory.usual.made;
	for (; number < 103; number++)
		add_pod(s, number, (struct pod){NULL, 4, NULL, NULL});
	ask(s, 0);
	assert_int_equal(s->memory.usual.made, made);
	add_pod(s, number++, (struct pod){NULL, 4, NULL, NULL});
	ask(s, 0);
	assert_int_equal(s->memory.usual.made, made + 1);
	assert_int_equal(mix_of(s, "nvidia.com/gpu")->mix.weight, 100); /* 96 % are enough */
	scene_free(s);
}

static void a_term_falls_as_the_cost_rises(void **state)
{
	(void)state;
	assert_int_equal(place_fragmentation(0), PLACE_TERM_MOST / 2);
	for (int64_t cost = -64 * FRAG_MICROCARDS; cost < 64 * FRAG_MICROCARDS; cost += 100007) {
		assert_in_range(place_fragmentation(cost), 1, PLACE_TERM_MOST - 1);
		assert_true(place_fragmentation(cost) > place_fragmentation(cost + 100007));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_goes_where_it_leaves_most_to_the_usual_ones),
		cmocka_unit_test(of_nodes_alike_to_the_usual_ones_the_fuller_is_better),
		cmocka_unit_test(a_product_that_others_insist_on_is_left_to_them),
		cmocka_unit_test(each_resource_has_usual_asks_of_its_own),
		cmocka_unit_test(what_is_usual_is_learned_anew_when_enough_has_changed),
		cmocka_unit_test(a_term_falls_as_the_cost_rises),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
