/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random clusters of nodes with whole cards and with shares of cards, and pods that come, are bound
 * and go. What a pod is told of a node's fragmentation, by one memory that lives as long as the
 * cluster, is what frag.h says over the pods and the cards as they are kept here; for whole cards
 * also by the short formula: what is free, times the part of the pods that ask for more.
 *
 * GPUQOS_SEED=n repeats one history, GPUQOS_SOAK=1 runs many more.
 */
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
#include "cluster/read.h"
#include "place/internal.h"

#define HISTORIES      60
#define SOAK_HISTORIES 5000
#define STEPS          120

enum { NODES = 6, PODS = 24, CARDS = 8, PRODUCTS = 3, PART = 100 };

static const char *const products[PRODUCTS] = {"A100", "H100", "L4"};
static const struct str resources[] = {{"nvidia.com/gpu", 14},
				       {"nvidia.com/gpumem-percentage", 28}};

struct node {
	int cards, product;
	bool shares;
};

struct pod {
	bool exists, finished;
	int node, product; /* -1: none, any */
	bool shares;
	int64_t units, devices;
};

static struct world {
	struct random random;
	uint64_t seed;
	struct cluster *cluster;
	struct place_memory memory;
	struct placement_weights weights;
	struct arena arena;
	struct node nodes[NODES];
	struct pod pods[PODS];
} world;

static uint32_t below(struct world *w, uint32_t bound)
{
	return (uint32_t)random_below(&w->random, bound);
}

struct name {
	char text[16];
};

static struct name name_of(const char *kind, int number)
{
	struct name name;

	snprintf(name.text, sizeof(name.text), "%s-%d", kind, number);
	return name;
}

/* --- telling the cluster */

static void tell_node(struct world *w, int n)
{
	struct name name = name_of("node", n);
	const struct node *node = &w->nodes[n];
	struct device_offer offer = {.resource = resources[node->shares],
				     .product = str_from(products[node->product]),
				     .unit_memory = node->shares ? GIB : PART * GIB,
				     .count = node->cards * (node->shares ? PART : 1),
				     .sharing = node->shares ? DEVICE_FRACTION : DEVICE_WHOLE};
	struct node_facts facts = {.name = str_from(name.text),
				   .uid = str_from(name.text),
				   .offers = &offer,
				   .n_offers = 1,
				   .layout_state = LAYOUT_IS_ABSENT};

	offer.allocatable = offer.count;
	assert_int_equal(cluster_apply_node(w->cluster, &facts, NULL), 0);
}

static void tell_pod(struct world *w, int p)
{
	const struct pod *pod = &w->pods[p];
	struct name name = name_of("pod", p), node = name_of("node", pod->node);
	struct device_ask ask = {.resource = resources[pod->shares],
				 .count = pod->units,
				 .device = pod->shares ? resources[0] : STR_NONE,
				 .devices = pod->shares ? pod->devices : 0};
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = {
		.namespace = STR("a"),
		.name = str_from(name.text),
		.uid = str_from(name.text),
		.node = pod->node < 0 ? STR_NONE : str_from(node.text),
		.product = pod->product < 0 ? STR_NONE : str_from(products[pod->product]),
		.phase = pod->finished ? POD_SUCCEEDED : POD_RUNNING,
		.containers = &container,
		.n_containers = 1,
	};

	assert_int_equal(cluster_apply_pod(w->cluster, &facts, NULL), 0);
}

/* --- the same by hand */

static struct frag_ask ask_of(const struct place_mix *mix, const struct cluster *cluster,
			      const struct pod *pod)
{
	struct frag_ask ask = {.cpu_milli = AMOUNT_UNKNOWN, .weight = 1};

	ask.gpus = (uint32_t)(pod->shares ? pod->devices : pod->units);
	ask.gpu_milli = pod->shares ? (uint32_t)((pod->units * 1000 + pod->devices * PART - 1) /
						 (pod->devices * PART))
				    : FRAG_WHOLE;
	for (uint32_t i = 0; pod->product >= 0 && i < mix->n_products; i++)
		if (strcmp(cluster_name(cluster, mix->products[i]), products[pod->product]) == 0)
			ask.products = UINT64_C(1) << i;
	return ask;
}

static bool is_offered(const struct world *w, const struct pod *pod)
{
	for (int n = 0; n < NODES; n++)
		if (w->nodes[n].shares == pod->shares &&
		    (pod->product < 0 || pod->product == w->nodes[n].product))
			return true;
	return false;
}

static void mix_of(const struct world *w, const struct place_mix *mix, struct frag_mix *ret_mix)
{
	struct frag_ask asks[PODS];
	size_t n = 0;

	for (int p = 0; p < PODS; p++)
		if (w->pods[p].exists && is_offered(w, &w->pods[p]) &&
		    str_equal(resources[w->pods[p].shares],
			      str_from(cluster_name(w->cluster, mix->resource))))
			asks[n++] = ask_of(mix, w->cluster, &w->pods[p]);
	frag_mix_set(ret_mix, asks, n);
	/* follows the nodes when the mix is made anew */
	memcpy(ret_mix->pressure, mix->mix.pressure, sizeof(ret_mix->pressure));
}

/* What asks for shares takes the cards whole where there are no shares. */
static int64_t taken_by(const struct pod *pod, const struct node *node)
{
	if (pod->shares && !node->shares)
		return pod->devices;
	return pod->shares == node->shares ? pod->units : 0;
}

static int64_t free_of(const struct world *w, int n)
{
	int64_t free = w->nodes[n].cards * (w->nodes[n].shares ? PART : 1);

	for (int p = 0; p < PODS; p++)
		if (w->pods[p].exists && !w->pods[p].finished && w->pods[p].node == n)
			free -= taken_by(&w->pods[p], &w->nodes[n]);
	return MAX(free, 0);
}

/* With the cards that are taken, which the product leaves out. */
static struct frag_node node_of(const struct world *w, const struct place_mix *mix, int n)
{
	struct frag_node node = {.cpu_milli = AMOUNT_UNKNOWN, .cards = (uint32_t)w->nodes[n].cards};
	int64_t free = free_of(w, n), of_card = w->nodes[n].shares ? PART : 1;

	for (uint32_t i = 0; i < node.cards; i++) {
		int64_t left = MIN(free, of_card);

		node.left[i] = (uint16_t)(left * FRAG_WHOLE / of_card);
		free -= left;
	}
	for (uint32_t i = 0; i < mix->n_products; i++)
		if (strcmp(cluster_name(w->cluster, mix->products[i]),
			   products[w->nodes[n].product]) == 0)
			node.product = UINT64_C(1) << i;
	return node;
}

/* Of whole cards: F is what is free, times the part of the asks that it is not enough for. */
static double short_formula(const struct frag_mix *mix, uint64_t product, int64_t free)
{
	double lost = 0;

	for (uint32_t i = 0; i < mix->count; i++)
		if (mix->asks[i].gpus > free ||
		    (mix->asks[i].products && !(mix->asks[i].products & product)))
			lost += mix->asks[i].weight;
	return mix->weight > 0 ? (double)free * lost / mix->weight : 0;
}

static void check(struct world *w, struct place *place, int p, int n)
{
	struct name name = name_of("node", n);
	uint32_t handle = cluster_node_find(w->cluster, str_from(name.text));
	const struct pod *pod = &w->pods[p];
	const struct place_mix *mix;
	struct frag_cost cost;
	struct frag_mix fresh;
	struct frag_node node;
	struct frag_ask ask;
	uint64_t cards;
	int64_t told;

	if (place_fit(place, handle).verdict != PLACE_FITS)
		return;
	told = place_score(place, handle).fragmentation;
	mix = place_usual_of(&w->memory.usual, place->ask.cells[0].resource);
	assert_non_null(mix);
	mix_of(w, mix, &fresh);
	assert_memory_equal(&fresh, &mix->mix, sizeof(fresh));
	node = node_of(w, mix, n);
	ask = ask_of(mix, w->cluster, pod);
	if (!frag_best_cards(&fresh, &node, &ask, UINT64_MAX, &cards)) {
		assert_true(told < PLACE_TERM_MOST / 50); /* no room card by card */
		return;
	}
	cost = frag_cost(&fresh, &node, &ask, cards);
	assert_int_equal(told, place_fragmentation(frag_cost_sum(&cost, FRAG_WEIGHTS_DEFAULT)));
	if (!pod->shares) {
		double increase = short_formula(&fresh, node.product, free_of(w, n) - pod->units) -
				  short_formula(&fresh, node.product, free_of(w, n));

		assert_true(increase * 1e6 - (double)cost.increase < 1.01 &&
			    (double)cost.increase - increase * 1e6 < 1.01);
	}
}

static void ask_about(struct world *w, int p)
{
	struct place_tools tools = {w->cluster, &w->weights, &w->memory, &w->arena, NULL};
	struct name name = name_of("pod", p);
	struct cluster_ask ask;
	struct place place;

	arena_reset(&w->arena);
	cluster_refresh(w->cluster, cluster_namespace_find(w->cluster, STR("a")));
	cluster_ask_of_pod(
		w->cluster,
		cluster_pod_find(w->cluster, STR("a"), str_from(name.text), str_from(name.text)),
		&ask);
	place_begin(&place, &tools, &ask);
	for (int n = 0; n < NODES; n++)
		if (w->nodes[n].shares == w->pods[p].shares)
			check(w, &place, p, n);
}

/* --- what happens */

static void change_node(struct world *w, int n)
{
	w->nodes[n] = (struct node){.cards = 1 + (int)below(w, CARDS),
				    .product = (int)below(w, PRODUCTS),
				    .shares = below(w, 3) == 0};
	tell_node(w, n);
}

static void make_pod(struct world *w, int p)
{
	struct pod *pod = &w->pods[p];

	*pod = (struct pod){.exists = true,
			    .node = -1,
			    .product = below(w, 4) == 0 ? (int)below(w, PRODUCTS) : -1,
			    .shares = below(w, 2) == 0,
			    .devices = 1 + below(w, 2)};
	pod->units = pod->shares ? pod->devices * (10 + 10 * (int64_t)below(w, 10))
				 : INT64_C(1) << below(w, 4);
	tell_pod(w, p);
}

static void remove_pod(struct world *w, int p)
{
	struct name name = name_of("pod", p);

	cluster_delete(w->cluster, CLUSTER_PODS, STR("a"), str_from(name.text));
	w->pods[p].exists = false;
}

static void step(struct world *w)
{
	int p = (int)below(w, PODS);
	struct pod *pod = &w->pods[p];

	switch (pod->exists ? below(w, 6) : 0) {
	case 0:
		if (!pod->exists)
			make_pod(w, p);
		break;
	case 1:
		pod->finished = true;
		tell_pod(w, p);
		break;
	case 2:
		remove_pod(w, p);
		break;
	case 3: /* also where there is no room: others may have bound it */
		if (pod->node < 0 && !pod->finished) {
			pod->node = (int)below(w, NODES);
			tell_pod(w, p);
		}
		break;
	default:
		if (below(w, 20) == 0)
			change_node(w, (int)below(w, NODES));
		if (pod->node < 0 && !pod->finished)
			ask_about(w, p);
	}
}

static void every_term_is_what_the_pods_and_the_cards_make_of_it(void **state)
{
	static const struct hash_key key = {1, 2};
	const char *only = getenv("GPUQOS_SEED");
	uint64_t first = only ? strtoull(only, NULL, 10) : 1;
	uint64_t n = only ? 1 : getenv("GPUQOS_SOAK") ? SOAK_HISTORIES : HISTORIES;
	struct world *w = &world;

	(void)state;
	for (uint64_t seed = first; seed < first + n; seed++) {
		memset(w, 0, sizeof(*w));
		w->seed = seed;
		random_init(&w->random, seed);
		arena_init(&w->arena, 1 << 20);
		w->weights = PLACEMENT_WEIGHTS_DEFAULT;
		w->cluster = cluster_new(&key);
		for (int i = 0; i < NODES; i++)
			change_node(w, i);
		for (int i = 0; i < STEPS; i++)
			step(w);
		place_memory_clear(&w->memory);
		cluster_free(w->cluster);
		arena_clear(&w->arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_term_is_what_the_pods_and_the_cards_make_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
