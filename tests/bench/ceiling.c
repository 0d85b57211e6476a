/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tenants cost. T tenants of N namespaces each, every namespace with a GpuMemoryQuota and
 * pods; one pod more in one of them, and what follows from it: its tenant is decided anew, and then
 * the namespaces whose part changed.
 *
 *   ceiling T N     prints the tenants decided, and the microseconds of one decision: the median of
 *                   many, from the look at the members to what was granted
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "lib/crowd.h"
#include "quota/tenant.h"

#define ROUNDS 201

static void add_tenant(struct cluster *cluster, unsigned int number, unsigned int n_namespaces)
{
	struct str value = crowd_text("tenant", number);
	struct label_requirement requirement = {STR("tenant"), LABEL_IN, &value, 1};
	struct tenant_facts facts = {.name = crowd_text("tenant", number),
				     .uid = crowd_text("tenant-uid", number),
				     .resource_version = 1,
				     .created_us = 1700000000 * USEC_PER_SEC,
				     .generation = 1,
				     .spec = {.namespaces = {&requirement, 1},
					      .ceiling = n_namespaces * 1024 * GIB,
					      .ceiling_gpus = AMOUNT_NONE}};
	struct error err = {0};

	crowd_check(cluster_apply_tenant(cluster, &facts, &err), &err);
	for (unsigned int i = 0; i < n_namespaces; i++)
		crowd_add_namespace(cluster, number, number * n_namespaces + i);
}

static void decide(struct cluster *cluster, uint32_t tenant, struct arena *arena)
{
	struct tenant_lookup lookup;
	struct tenant_grant *grants;
	struct tenant_sums sums;
	struct error err = {0};

	arena_reset(arena);
	cluster_refresh_tenant(cluster, tenant);
	crowd_check(cluster_tenant_view(cluster, tenant, arena, &lookup, &err), &err);
	grants = arena_alloc(arena, lookup.view.n_members * sizeof(*grants));
	if (!grants)
		exit(1);
	crowd_check(tenant_decide(&lookup.view, arena, grants, &sums, &err), &err);
	cluster_grant(cluster, tenant,
		      &(struct tenant_decision){lookup.namespaces, grants, lookup.view.n_members,
						&sums, THROTTLE_NOTHING});
}

static unsigned int decide_dirty(struct cluster *cluster, struct arena *arena)
{
	uint32_t tenant, namespace;
	unsigned int count = 0;

	for (; cluster_take_dirty_tenant(cluster, &tenant); count++)
		decide(cluster, tenant, arena);
	while (cluster_take_dirty(cluster, &namespace))
		cluster_refresh(cluster, namespace);
	return count;
}

static unsigned int measured_event(struct cluster *cluster, unsigned int namespace,
				   struct arena *arena)
{
	crowd_add_pod(cluster, namespace, CROWD_PODS);
	return decide_dirty(cluster, arena);
}

static unsigned int (*volatile one_event)(struct cluster *cluster, unsigned int namespace,
					  struct arena *arena) = measured_event;

static int ascending(const void *a, const void *b)
{
	const int64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* Each after a pod that came or went, so that there is something to find. */
static int64_t median_us(struct cluster *cluster, struct arena *arena)
{
	const struct clock *clock = clock_system();
	int64_t took[ROUNDS];
	uint32_t tenant = cluster_tenant_find(cluster, STR("tenant-000000"));

	for (size_t i = 0; i < ROUNDS; i++) {
		if (i % 2)
			cluster_delete(cluster, CLUSTER_PODS, STR("team-000000"),
				       crowd_text("worker", CROWD_PODS));
		else
			crowd_add_pod(cluster, 0, CROWD_PODS);
		took[i] = clock_monotonic(clock);
		decide(cluster, tenant, arena);
		took[i] = clock_monotonic(clock) - took[i];
		decide_dirty(cluster, arena);
	}
	qsort(took, ROUNDS, sizeof(took[0]), ascending);
	return took[ROUNDS / 2];
}

int main(int argc, char **argv)
{
	static const struct hash_key fixed = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
	unsigned int tenants = argc == 3 ? (unsigned int)strtoul(argv[1], NULL, 10) : 0;
	unsigned int namespaces = argc == 3 ? (unsigned int)strtoul(argv[2], NULL, 10) : 0;
	struct cluster *cluster = cluster_new(&fixed);
	struct arena arena;
	unsigned int decided;

	arena_init(&arena, LIMIT_DECODE_ARENA);
	for (unsigned int i = 0; i < CROWD_NODES; i++)
		crowd_add_node(cluster, i);
	for (unsigned int i = 0; i < tenants; i++)
		add_tenant(cluster, i, namespaces);
	decide_dirty(cluster, &arena);
	decided = one_event(cluster, tenants / 2 * namespaces, &arena);
	printf("{\"decided\": %u, \"microseconds\": %lld}\n", decided,
	       (long long)median_us(cluster, &arena));
	cluster_free(cluster);
	arena_clear(&arena);
	return decided == 1 ? 0 : 1;
}
