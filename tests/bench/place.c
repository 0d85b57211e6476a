/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one decision about placement costs: N nodes of eight cards, half full, and pods of one to
 * eight cards, of which some require a scope and some prefer one. For each pod every node is asked
 * for, those that fit are scored, and the best is assumed; now and then one leaves.
 *
 *   place N            prints the microseconds of a decision, on average
 *   place N filter     asks for one pod whether it fits the nodes, each state of a node being new
 *   place N again      likewise, where a pod of its sort was asked about before
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/limits.h"
#include "base/random.h"
#include "cluster/placing/assume.h"
#include "cluster/read.h"
#include "lib/crowd.h"
#include "lib/layouts.h"
#include "place/place.h"

#define CARDS  8
#define PODS   64 /* that wait */
#define ROUNDS 2000

struct scene {
	struct cluster *cluster;
	struct machine machine;
	struct random random;
	struct place_memory memory;
	struct placement_weights weights;
	struct arena arena;
	unsigned int n_nodes;
	uint32_t nodes[5000];
};

static void add_node(struct scene *s, unsigned int number)
{
	struct device_offer offer = {.resource = STR("nvidia.com/gpu"),
				     .product = STR("NVIDIA-H100-80GB-HBM3"),
				     .unit_memory = 80 * GIB,
				     .min_memory = 80 * GIB,
				     .count = CARDS,
				     .allocatable = CARDS};
	struct node_facts facts = {.name = crowd_text("node", number),
				   .uid = crowd_text("node-uid", number),
				   .ready = NODE_READY,
				   .offers = &offer,
				   .n_offers = 1,
				   .layout = &s->machine.layout,
				   .layout_state = LAYOUT_IS_KNOWN};
	struct error err = {0};

	for (unsigned int card = 0; card < CARDS; card++) {
		snprintf(s->machine.uuids[card], sizeof(s->machine.uuids[card]), "GPU-%06u",
			 number * CARDS + card);
		s->machine.gpus[card].uuid = str_from(s->machine.uuids[card]);
	}
	crowd_check(cluster_apply_node(s->cluster, &facts, &err), &err);
	s->nodes[s->n_nodes++] = cluster_node_find(s->cluster, facts.name);
}

/* @first: the first of its cards, where kubelet has given it some. */
static void add_pod(struct scene *s, unsigned int number, int64_t cards, int node,
		    unsigned int first)
{
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), cards);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	char ids[CARDS][64];
	struct str devices[CARDS];
	struct pod_facts facts = {
		.namespace = crowd_text("team", number % 10),
		.name = crowd_text("pod", number),
		.uid = crowd_text("pod-uid", number),
		.node = node < 0 ? STR_NONE : crowd_text("node", (unsigned int)node),
		.phase = node < 0 ? POD_PENDING : POD_RUNNING,
		.containers = &container,
		.n_containers = 1,
		.alignment = {.guaranteed = true,
			      .whole_cpus = true,
			      .cpus = (uint32_t)cards * 4,
			      .wished = true,
			      .policy = (enum topology_policy)(number % 3)},
		.device_ids = devices,
	};
	struct error err = {0};

	for (int64_t i = 0; node >= 0 && i < cards; i++) {
		snprintf(ids[i], sizeof(ids[i]), "GPU-%06u",
			 (unsigned int)node * CARDS + first + (unsigned int)i);
		devices[facts.n_device_ids++] = str_from(ids[i]);
	}
	crowd_check(cluster_apply_pod(s->cluster, &facts, &err), &err);
}

static void fill(struct scene *s)
{
	unsigned int number = PODS;

	for (unsigned int node = 0; node < s->n_nodes; node++)
		for (unsigned int first = 0; first < CARDS;) {
			unsigned int size = 1u << random_below(&s->random, 3);

			if (first % size == 0 && first + size <= CARDS) {
				if (random_below(&s->random, 2) == 0)
					add_pod(s, number++, size, (int)node, first);
				first += size;
			}
		}
	for (unsigned int pod = 0; pod < PODS; pod++)
		add_pod(s, pod, 1 << pod % 4, -1, 0);
}

static void begin(struct scene *s, unsigned int pod, struct place *place)
{
	struct place_tools tools = {s->cluster, &s->weights, &s->memory, &s->arena, NULL};
	struct cluster_ask ask;

	arena_reset(&s->arena);
	cluster_ask_of_pod(s->cluster,
			   cluster_pod_find(s->cluster, crowd_text("team", pod % 10),
					    crowd_text("pod", pod), crowd_text("pod-uid", pod)),
			   &ask);
	place_begin(place, &tools, &ask);
}

static unsigned int measured_event(struct scene *s, struct place *place)
{
	unsigned int fits = 0;

	for (unsigned int i = 0; i < s->n_nodes; i++)
		fits += place_fit(place, s->nodes[i]).verdict == PLACE_FITS;
	return fits;
}

static unsigned int (*volatile filter)(struct scene *s, struct place *place) = measured_event;

static uint32_t decide(struct scene *s, struct place *place)
{
	uint32_t best = UINT32_MAX;
	int64_t most = -1;

	for (unsigned int i = 0; i < s->n_nodes; i++) {
		int64_t total;

		place_ahead(place, &s->nodes[i], s->n_nodes - i);
		if (place_fit(place, s->nodes[i]).verdict != PLACE_FITS)
			continue;
		total = place_score(place, s->nodes[i]).total;
		if (total <= most)
			continue;
		most = total;
		best = s->nodes[i];
	}
	return best;
}

/* What the processor spent on this program, which others do not add to. */
static double cpu_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Of what is timed, assuming is no part. */
static double mean_us(struct scene *s)
{
	double took = 0;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		unsigned int pod = round % PODS;
		double from = cpu_us();
		struct place place;
		uint64_t cards = 0;
		uint32_t node;

		begin(s, pod, &place);
		node = decide(s, &place);
		if (node != UINT32_MAX)
			cards = place_cards(&place, node);
		took += cpu_us() - from;
		if (round % 3 == 2)
			cluster_unassume(s->cluster, place.ask.pod);
		else if (node != UINT32_MAX)
			cluster_assume(s->cluster, place.ask.pod, node, cards, INT64_MAX);
	}
	return took / ROUNDS;
}

int main(int argc, char **argv)
{
	static const struct hash_key fixed = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
	static struct scene s;
	unsigned int n = argc >= 2 ? (unsigned int)strtoul(argv[1], NULL, 10) : 0;
	bool again = argc == 3 && strcmp(argv[2], "again") == 0;
	bool filters = again || (argc == 3 && strcmp(argv[2], "filter") == 0);

	if (n < 1 || n > 5000 || (argc > 2 && !filters))
		return 2;
	s.cluster = cluster_new(&fixed);
	s.weights = PLACEMENT_WEIGHTS_DEFAULT;
	random_init(&s.random, 1);
	arena_init(&s.arena, 16 << 20);
	machine_dgx_h100(&s.machine);
	s.machine.numas[0].n_cpus = s.machine.numas[1].n_cpus = 56;
	s.machine.layout.kubelet = (struct layout_kubelet){LAYOUT_POLICY_SINGLE_NUMA, false, true};
	for (unsigned int i = 0; i < n; i++)
		add_node(&s, i);
	fill(&s);
	for (unsigned int i = 0; i < 10; i++)
		cluster_refresh(s.cluster,
				cluster_namespace_find(s.cluster, crowd_text("team", i)));
	if (filters) {
		struct place place;

		begin(&s, 5, &place); /* two cards, Required */
		if (again)
			(void)decide(&s, &place);
		printf("{\"fits\": %u}\n", filter(&s, &place));
	} else {
		printf("{\"microseconds\": %.1f}\n", mean_us(&s));
	}
	place_memory_clear(&s.memory);
	cluster_free(s.cluster);
	arena_clear(&s.arena);
	return 0;
}
