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
#include "quota/decide.h"

#define PODS_PER_NAMESPACE 4
#define NODES              50

static const struct device_ask one_card = {.resource = {"nvidia.com/gpu", 14}, .count = 1};
static const struct container_facts container = {CONTAINER_NORMAL, &one_card, 1};

static void check(int result, const struct error *err)
{
	if (result == 0)
		return;
	fprintf(stderr, "tenant: %s\n", err->message);
	exit(1);
}

/* Four texts live at a time. */
static struct str text(const char *stem, unsigned int number)
{
	static char buffers[4][64];
	static unsigned int next;
	char *buffer = buffers[next++ % 4];

	snprintf(buffer, sizeof(buffers[0]), "%s-%06u", stem, number);
	return str_from(buffer);
}

static void add_node(struct cluster *cluster, unsigned int number)
{
	struct device_offer offer = {.resource = STR("nvidia.com/gpu"),
				     .product = STR("NVIDIA-H100-80GB-HBM3"),
				     .unit_memory = 80 * GIB,
				     .count = 8,
				     .sharing = DEVICE_WHOLE};
	struct error err = {0};

	check(cluster_apply_node(cluster,
				 &(struct node_facts){.name = text("node", number),
						      .uid = text("node-uid", number),
						      .resource_version = 1,
						      .offers = &offer,
						      .n_offers = 1},
				 &err),
	      &err);
}

static void add_pod(struct cluster *cluster, unsigned int namespace, unsigned int number)
{
	struct error err = {0};

	check(cluster_apply_pod(
		      cluster,
		      &(struct pod_facts){.namespace = text("team", namespace),
					  .name = text("worker", number),
					  .uid = text("pod-uid", namespace * 100 + number),
					  .resource_version = number + 1,
					  .node = text("node", (namespace + number) % NODES),
					  .phase = POD_RUNNING,
					  .created_us = 1700000000 * USEC_PER_SEC,
					  .containers = &container,
					  .n_containers = 1},
		      &err),
	      &err);
}

static void add_namespace(struct cluster *cluster, unsigned int number)
{
	struct namespace_facts facts = {.name = text("team", number),
					.uid = text("uid", number),
					.resource_version = 1,
					.managed = true};
	struct quota_facts quota = {.namespace = facts.name,
				    .name = STR("team"),
				    .uid = text("quota-uid", number),
				    .resource_version = 1,
				    .created_us = 1700000000 * USEC_PER_SEC,
				    .generation = 1,
				    .spec = {.gpu_memory = 1024 * GIB}};
	struct error err = {0};

	check(cluster_apply_namespace(cluster, &facts, &err), &err);
	check(cluster_apply_quota(cluster, &quota, &err), &err);
	for (unsigned int pod = 0; pod < PODS_PER_NAMESPACE; pod++)
		add_pod(cluster, number, pod);
}

/* What a reconcile gathers and decides. */
static void reconcile(struct cluster *cluster, uint32_t namespace, struct arena *arena)
{
	uint32_t quota = cluster_quota_nth(cluster, namespace, 0);
	struct quota_lookup lookup;
	struct quota_plan plan;
	struct error err = {0};

	arena_reset(arena);
	cluster_refresh(cluster, namespace);
	check(cluster_quota_view(cluster, quota, arena, &lookup, &err), &err);
	lookup.view.now_us = USEC_PER_SEC;
	lookup.view.now_real_us = 1700000000 * USEC_PER_SEC;
	check(quota_decide(&lookup.view, arena, &plan, &err), &err);
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
	add_pod(cluster, namespace, PODS_PER_NAMESPACE);
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
	for (unsigned int i = 0; i < NODES; i++)
		add_node(cluster, i);
	for (unsigned int i = 0; i < n; i++)
		add_namespace(cluster, i);
	reconcile_dirty(cluster, &arena);
	decided = one_event(cluster, n / 2, &arena);
	printf("{\"namespaces\": %u, \"decided\": %u}\n", n, decided);
	cluster_free(cluster);
	arena_clear(&arena);
	return decided == 1 ? 0 : 1;
}
