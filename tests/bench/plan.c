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
#include "lib/full_cluster.h"
#include "plan/plan.h"

#define ROUNDS 50

struct scene {
	struct cluster *cluster;
	struct place_memory memory;
	struct placement_weights weights;
	struct arena arena;
};

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
		over = plan_step(plan, PLAN_STEP_NODES);
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

	if (nodes < 1 || nodes > 5000 || cards < 1 || cards > FULL_CLUSTER_CARDS)
		return 2;
	s.cluster = cluster_new(&fixed);
	s.weights = PLACEMENT_WEIGHTS_DEFAULT;
	arena_init(&s.arena, 16 << 20);
	pod = full_cluster_make(s.cluster, nodes, cards);
	for (unsigned int round = 0; round < ROUNDS && found; round++)
		sum += plan_us(&s, pod, FULL_CLUSTER_NOW_US + round * USEC_PER_SEC, &step, &found);
	printf("{\"found\": %s, \"microseconds\": %.1f, \"longest_step\": %.1f}\n",
	       found ? "true" : "false", sum / ROUNDS, step);
	place_memory_clear(&s.memory);
	cluster_free(s.cluster);
	arena_clear(&s.arena);
	return 0;
}
