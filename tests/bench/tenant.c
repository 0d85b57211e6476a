/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One tenant's event in a cluster of N namespaces, each with a GpuMemoryQuota and pods: what
 * follows from it, up to the plan of writes. The instructions of measured_event() should not depend
 * on N.
 *
 *   tenant N
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "cluster/read.h"
#include "lib/crowd.h"
#include "quota/decide.h"

/* What a reconcile gathers and decides. */
static void reconcile(struct cluster *cluster, uint32_t namespace, struct arena *arena)
{
	uint32_t quota = cluster_quota_nth(cluster, namespace, 0);
	struct quota_lookup lookup;
	struct quota_plan plan;
	struct error err = {0};

	arena_reset(arena);
	cluster_refresh(cluster, namespace);
	crowd_check(cluster_quota_view(cluster, quota, arena, &lookup, &err), &err);
	lookup.view.now_us = USEC_PER_SEC;
	lookup.view.now_real_us = 1700000000 * USEC_PER_SEC;
	crowd_check(quota_decide(&lookup.view, arena, &plan, &err), &err);
}

static unsigned int reconcile_dirty(struct cluster *cluster, struct arena *arena)
{
	uint32_t namespace;
	unsigned int count = 0;

	for (; cluster_take_dirty(cluster, &namespace); count++)
		reconcile(cluster, namespace, arena);
	return count;
}

static unsigned int measured_event(struct cluster *cluster, unsigned int namespace,
				   struct arena *arena)
{
	crowd_add_pod(cluster, namespace, CROWD_PODS);
	return reconcile_dirty(cluster, arena);
}

static unsigned int (*volatile one_event)(struct cluster *cluster, unsigned int namespace,
					  struct arena *arena) = measured_event;

int main(int argc, char **argv)
{
	static const struct hash_key fixed = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
	unsigned int n = argc == 2 ? (unsigned int)strtoul(argv[1], NULL, 10) : 0;
	struct cluster *cluster = cluster_new(&fixed);
	struct arena arena;
	unsigned int decided;

	arena_init(&arena, LIMIT_DECODE_ARENA);
	for (unsigned int i = 0; i < CROWD_NODES; i++)
		crowd_add_node(cluster, i);
	for (unsigned int i = 0; i < n; i++)
		crowd_add_namespace(cluster, 0, i);
	reconcile_dirty(cluster, &arena);
	decided = one_event(cluster, n / 2, &arena);
	printf("{\"namespaces\": %u, \"decided\": %u}\n", n, decided);
	cluster_free(cluster);
	arena_clear(&arena);
	return decided == 1 ? 0 : 1;
}
