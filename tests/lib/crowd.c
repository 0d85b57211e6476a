/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of eight cards, and namespaces of a quota and a few pods, as many as are asked for. */
#include "lib/crowd.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

#define CREATED_US (1700000000 * USEC_PER_SEC)

static const struct device_ask one_card = {.resource = {"nvidia.com/gpu", 14}, .count = 1};
static const struct container_facts container = {CONTAINER_NORMAL, &one_card, 1};

void crowd_check(int result, const struct error *err)
{
	if (result == 0)
		return;
	fprintf(stderr, "crowd: %s\n", err->message);
	exit(1);
}

/* Eight texts live at a time. */
struct str crowd_text(const char *stem, unsigned int number)
{
	static char buffers[8][64];
	static unsigned int next;
	char *buffer = buffers[next++ % 8];

	snprintf(buffer, sizeof(buffers[0]), "%s-%06u", stem, number);
	return str_from(buffer);
}

void crowd_add_node(struct cluster *cluster, unsigned int number)
{
	struct device_offer offer = {.resource = STR("nvidia.com/gpu"),
				     .product = STR("NVIDIA-H100-80GB-HBM3"),
				     .unit_memory = 80 * GIB,
				     .min_memory = 80 * GIB,
				     .count = 8,
				     .sharing = DEVICE_WHOLE};
	struct error err = {0};

	crowd_check(cluster_apply_node(cluster,
				       &(struct node_facts){.name = crowd_text("node", number),
							    .uid = crowd_text("node-uid", number),
							    .resource_version = 1,
							    .offers = &offer,
							    .n_offers = 1},
				       &err),
		    &err);
}

void crowd_add_pod(struct cluster *cluster, unsigned int namespace, unsigned int number)
{
	struct error err = {0};

	crowd_check(cluster_apply_pod(
			    cluster,
			    &(struct pod_facts){
				    .namespace = crowd_text("team", namespace),
				    .name = crowd_text("worker", number),
				    .uid = crowd_text("pod-uid", namespace * 1000 + number),
				    .resource_version = number + 1,
				    .node = crowd_text("node", (namespace + number) % CROWD_NODES),
				    .phase = POD_RUNNING,
				    .created_us = CREATED_US,
				    .containers = &container,
				    .n_containers = 1},
			    &err),
		    &err);
}

void crowd_add_namespace(struct cluster *cluster, unsigned int tenant, unsigned int number)
{
	struct label label = {STR("tenant"), crowd_text("tenant", tenant)};
	struct namespace_facts facts = {.name = crowd_text("team", number),
					.uid = crowd_text("uid", number),
					.resource_version = 1,
					.managed = true,
					.labels = &label,
					.n_labels = 1};
	struct quota_facts quota = {.namespace = facts.name,
				    .name = STR("team"),
				    .uid = crowd_text("quota-uid", number),
				    .resource_version = 1,
				    .created_us = CREATED_US + number,
				    .generation = 1,
				    .spec = {.gpu_memory = 1024 * GIB,
					     .gpus = AMOUNT_NONE,
					     .pod_gpu_memory = AMOUNT_NONE,
					     .pod_gpus = AMOUNT_NONE,
					     .borrow_limit = number % 2 ? 512 * GIB : 0}};
	struct error err = {0};

	crowd_check(cluster_apply_namespace(cluster, &facts, &err), &err);
	crowd_check(cluster_apply_quota(cluster, &quota, &err), &err);
	for (unsigned int pod = 0; pod < CROWD_PODS; pod++)
		crowd_add_pod(cluster, number, pod);
}
