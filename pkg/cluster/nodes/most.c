/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether kubelet looks at all of a pod's devices of a resource at once. With topology manager
 * scope container it does so where the first container that asks for some asks for as many as the
 * pod has in all: then it is the only one, or an init container from which the later ones take over
 * what they need. Else a later container's may lie elsewhere than those before it. Where what an
 * init container got has to be used on, the topology manager may then reject the pod, however much
 * is free.
 */
#include "base/checked.h"
#include "base/limits.h"
#include "base/macros.h"
#include "cluster/internal.h"
#include "quota/charge.h"

static int64_t devices_of(const struct device_ask *ask)
{
	return str_empty(ask->device) ? ask->count : ask->devices;
}

static int64_t sum_of(const struct container_facts *container)
{
	int64_t sum = 0;

	for (size_t i = 0; i < container->n_asks; i++)
		sum = saturating_add(sum, devices_of(&container->asks[i]));
	return sum;
}

/* What a container asks for of a row. */
static int64_t asks_for(const struct container_facts *container, const struct device_ask *row)
{
	int64_t sum = 0;

	for (size_t i = 0; i < container->n_asks; i++)
		if (device_ask_compare(&container->asks[i], row) == 0)
			sum = saturating_add(sum, devices_of(&container->asks[i]));
	return sum;
}

/* Devices of a row that are looked at together at most, and in which container. */
struct group {
	int64_t most;
	size_t first;
	bool all;
};

static struct group group_of(const struct pod_facts *facts, const struct device_ask *row)
{
	struct group group = {0, facts->n_containers, false};
	bool used_on = false;

	for (size_t i = 0; i < facts->n_containers; i++) {
		int64_t asks = asks_for(&facts->containers[i], row);

		if (asks > 0 && group.first == facts->n_containers) {
			group.first = i;
			group.all = asks == devices_of(row);
		}
		used_on |= asks > 0 && facts->containers[i].kind == CONTAINER_INIT;
		group.most = MAX(group.most, asks);
	}
	if (!group.all)
		group.most = used_on ? 0 : MIN(group.most, devices_of(row) - 1);
	return group;
}

/* Which row are whole cards is for the node to say: of rows in which they differ the least. */
static int64_t most_of_rows(const struct pod_facts *facts)
{
	struct device_ask rows[LIMIT_RESOURCES_PER_POD];
	size_t n = quota_pod_request(facts, rows, ARRAY_SIZE(rows)), first = 0;
	int64_t least = INT64_MAX, most = 0, sum = 0;
	bool one = true;

	for (size_t i = 0; i < n; i++) {
		struct group group = group_of(facts, &rows[i]);

		first = i == 0 ? group.first : first;
		one = one && group.first == first;
		most = MAX(most, group.most);
		sum = saturating_add(sum, group.most);
		if (!group.all)
			least = MIN(least, group.most);
	}
	if (least != INT64_MAX)
		return least;
	return one ? sum : most;
}

uint32_t pod_most_devices(const struct pod_facts *facts)
{
	size_t n_asking = 0;
	int64_t most = 0;

	for (size_t i = 0; i < facts->n_containers; i++) {
		n_asking += facts->containers[i].n_asks > 0;
		most = MAX(most, sum_of(&facts->containers[i]));
	}
	if (n_asking > 1 || facts->n_own > 0)
		most = most_of_rows(facts);
	return (uint32_t)MIN(MAX(most, 0), (int64_t)VECTOR_DEVICES_MOST);
}
