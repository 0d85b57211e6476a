/* SPDX-License-Identifier: Apache-2.0 */
/* One pod on one node, and a cluster that is told of them. */
#include "pod_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/table.h"

const struct device_ask one_gpu = {.resource = {"nvidia.com/gpu", 14}, .count = 1};
static const struct container_facts one_gpu_container = {CONTAINER_NORMAL, &one_gpu, 1};
const struct device_offer h100 = {
	.resource = {"nvidia.com/gpu", 14},
	.product = {"H100", 4},
	.unit_memory = 80 * GIB,
	.count = 8,
};

struct pod_facts pod_facts(void)
{
	return (struct pod_facts){
		.namespace = STR("a"),
		.name = STR("p"),
		.uid = STR(POD_UID),
		.phase = POD_RUNNING,
		.node = STR("n"),
		.containers = &one_gpu_container,
		.n_containers = 1,
	};
}

struct node_facts node_facts(void)
{
	return (struct node_facts){
		.name = STR("n"), .uid = STR("node-uid"), .offers = &h100, .n_offers = 1};
}

void apply_pod(struct cluster *c, struct pod_facts facts)
{
	assert_int_equal(cluster_apply_pod(c, &facts, NULL), 0);
}

void apply_node(struct cluster *c, struct node_facts facts)
{
	assert_int_equal(cluster_apply_node(c, &facts, NULL), 0);
}

struct namespace_view view_of(struct cluster *c, const char *name)
{
	struct namespace_view view = {0};
	uint32_t namespace = cluster_namespace_find(c, str_from(name));

	if (namespace != TABLE_NONE)
		cluster_namespace_view(c, namespace, &view);
	return view;
}

int cluster_setup(void **state)
{
	const struct hash_key key = {1, 2};

	*state = cluster_new(&key);
	return 0;
}

int cluster_teardown(void **state)
{
	cluster_free(*state);
	return 0;
}
