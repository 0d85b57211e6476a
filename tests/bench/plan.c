/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one plan costs: N nodes of eight cards, all taken by eight training pods each, of which
 * every fourth is too young to go; an inference pod of one card, of two cards of one NUMA node in
 * turn, waits. Each round the clock is a second further, so that no two cost the same.
 *
 *   plan N [CARDS]     prints the microseconds of a plan, on average, from new to finish
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/random.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "lib/crowd.h"
#include "lib/layouts.h"
#include "plan/plan.h"

#define CARDS  8
#define ROUNDS 50
#define SPACES 10 /* of training; one more of inference */
#define STEP   128
#define NOW    (2000000 * USEC_PER_SEC)

struct scene {
	struct cluster *cluster;
	struct machine machine;
	struct random random;
	struct place_memory memory;
	struct placement_weights weights;
	struct arena arena;
};

static void add_node(struct scene *s, unsigned int number)
{
	struct device_offer offer = {.resource = STR("nvidia.com/gpu"),
				     .product = STR("NVIDIA-H100-80GB-HBM3"),
				     .unit_memory = 80 * GIB,
				     .min_memory = 80 * GIB,
				     .count = CARDS,
				     .allocatable = CARDS,
				     .sharing = DEVICE_WHOLE};
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
}

static void add_tenant(struct scene *s, const char *stem, unsigned int number,
		       enum tenant_tier tier)
{
	struct str value = crowd_text(stem, number);
	struct label_requirement requirement = {STR("team"), LABEL_IN, &value, 1};
	struct label label = {STR("team"), value};
	struct tenant_facts tenant = {.name = value,
				      .uid = value,
				      .spec = {.namespaces = {&requirement, 1},
					       .tier = tier,
					       .ceiling = AMOUNT_NONE,
					       .ceiling_gpus = AMOUNT_NONE,
					       .topology = TOPOLOGY_SPEC_DEFAULT,
					       .preemptible = PREEMPTIBLE_DEFAULT}};
	struct namespace_facts namespace = {
		.name = value, .uid = value, .labels = &label, .n_labels = 1};
	struct quota_facts quota = {.namespace = value,
				    .name = STR("q"),
				    .uid = STR("q"),
				    .spec = {.gpu_memory = 10000000 * GIB,
					     .gpus = AMOUNT_NONE,
					     .pod_gpu_memory = AMOUNT_NONE,
					     .pod_gpus = AMOUNT_NONE},
				    .has_status = true,
				    .status = {.granted = 10000000 * GIB,
					       .effective = 10000000 * GIB,
					       .tenant = value}};
	struct error err = {0};

	crowd_check(cluster_apply_tenant(s->cluster, &tenant, &err), &err);
	crowd_check(cluster_apply_namespace(s->cluster, &namespace, &err), &err);
	crowd_check(cluster_apply_quota(s->cluster, &quota, &err), &err);
}

/* @node: -1 where it waits; of several cards it requires that they lie together. */
static void add_pod(struct scene *s, struct str namespace, unsigned int number, int64_t cards,
		    int node)
{
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), cards);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	char id[64];
	struct str device = {id, 0};
	struct pod_facts facts = {
		.namespace = namespace,
		.name = crowd_text("pod", number),
		.uid = crowd_text("pod-uid", number),
		.created_us =
			NOW - (int64_t)(number % 4 == 0 ? random_below(&s->random, 60)
							: 60 + random_below(&s->random, 100000)) *
				      USEC_PER_SEC,
		.node = node < 0 ? STR_NONE : crowd_text("node", (unsigned int)node),
		.phase = node < 0 ? POD_PENDING : POD_RUNNING,
		.containers = &container,
		.n_containers = 1,
		.alignment = {.guaranteed = true,
			      .whole_cpus = true,
			      .cpus = 4,
			      .wished = true,
			      .policy = cards > 1 ? TOPOLOGY_REQUIRED : TOPOLOGY_NONE},
		.device_ids = &device,
		.n_device_ids = node >= 0,
	};
	struct error err = {0};

	device.len = (size_t)snprintf(id, sizeof(id), "GPU-%06u", number);
	crowd_check(cluster_apply_pod(s->cluster, &facts, &err), &err);
}

static void fill(struct scene *s, unsigned int nodes, int64_t cards)
{
	uint32_t tenant, namespace;

	for (unsigned int i = 0; i < SPACES; i++)
		add_tenant(s, "train", i, TIER_TRAINING);
	add_tenant(s, "chat", 0, TIER_INFERENCE);
	for (unsigned int node = 0; node < nodes; node++)
		add_node(s, node);
	for (unsigned int number = 0; number < nodes * CARDS; number++)
		add_pod(s, crowd_text("train", number % SPACES), number, 1, (int)(number / CARDS));
	add_pod(s, crowd_text("chat", 0), nodes * CARDS, cards, -1);
	while (cluster_take_dirty_tenant(s->cluster, &tenant))
		cluster_refresh_tenant(s->cluster, tenant);
	while (cluster_take_dirty(s->cluster, &namespace))
		cluster_refresh(s->cluster, namespace);
}

/* What the processor spent on this program, which others do not add to. */
static double cpu_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* @ret_step: the longest step. */
static double plan_us(struct scene *s, uint32_t pod, int64_t now_us, double *ret_step,
		      bool *ret_found)
{
	struct place_tools tools = {s->cluster, &s->weights, &s->memory, &s->arena, NULL};
	struct plan_ask ask = {.pod = pod,
			       .tier = TIER_INFERENCE,
			       .protection = PROTECTION_DEFAULT,
			       .most = 16,
			       .now_us = now_us,
			       .now_real_us = now_us};
	struct plan_found found;
	double from = cpu_us(), before = from;
	struct plan *plan = plan_new(&tools, &ask);
	bool over = false;

	while (!over) {
		over = plan_step(plan, STEP);
		if (cpu_us() - before > *ret_step)
			*ret_step = cpu_us() - before;
		before = cpu_us();
	}
	*ret_found = plan_finish(plan, &found);
	plan_free(plan);
	return cpu_us() - from;
}

int main(int argc, char **argv)
{
	static const struct hash_key fixed = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
	static struct scene s;
	unsigned int nodes = argc >= 2 ? (unsigned int)strtoul(argv[1], NULL, 10) : 0;
	int64_t cards = argc >= 3 ? (int64_t)strtoul(argv[2], NULL, 10) : 1;
	double sum = 0, step = 0;
	uint32_t pod;
	bool found = true;

	if (nodes < 1 || nodes > 5000 || cards < 1 || cards > CARDS)
		return 2;
	s.cluster = cluster_new(&fixed);
	s.weights = PLACEMENT_WEIGHTS_DEFAULT;
	random_init(&s.random, 1);
	arena_init(&s.arena, 16 << 20);
	machine_dgx_h100(&s.machine);
	s.machine.layout.kubelet = (struct layout_kubelet){LAYOUT_POLICY_SINGLE_NUMA, false, true};
	fill(&s, nodes, cards);
	pod = cluster_pod_find(s.cluster, crowd_text("chat", 0), crowd_text("pod", nodes * CARDS),
			       crowd_text("pod-uid", nodes * CARDS));
	for (unsigned int round = 0; round < ROUNDS && found; round++)
		sum += plan_us(&s, pod, NOW + round * USEC_PER_SEC, &step, &found);
	printf("{\"found\": %s, \"microseconds\": %.1f, \"longest_step\": %.1f}\n",
	       found ? "true" : "false", sum / ROUNDS, step);
	place_memory_clear(&s.memory);
	cluster_free(s.cluster);
	arena_clear(&s.arena);
	return 0;
}
