/* SPDX-License-Identifier: Apache-2.0 */
/* What a hundred thousand pods weigh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/random.h"
#include "cluster/read.h"
#include "cluster/volumes/volumes.h"

#define PODS       100000
#define NODES      5000
#define NAMESPACES 500
#define MOST_BYTES 330 /* of a pod, everything included */

static const struct device_ask kinds[] = {
	{{"nvidia.com/gpu", 14}, 1, {NULL, 0}, 0, 0},
	{{"nvidia.com/gpu", 14}, 8, {NULL, 0}, 0, 0},
	{{"nvidia.com/mig-1g.10gb", 22}, 1, {NULL, 0}, 0, 0},
	{{"nvidia.com/gpumem", 17}, 3000, {"nvidia.com/gpu", 14}, 1, 0},
};

static void add_nodes(struct cluster *cluster)
{
	const struct device_offer offers[] = {
		{.resource = STR("nvidia.com/gpu"),
		 .product = STR("NVIDIA-H100-80GB-HBM3"),
		 .unit_memory = 81559 * MIB,
		 .count = 8},
		{.resource = STR("nvidia.com/mig-1g.10gb"),
		 .product = STR("NVIDIA-A100-SXM4-80GB"),
		 .unit_memory = 9728 * MIB,
		 .count = 7,
		 .sharing = DEVICE_MIG},
	};
	char name[64];

	for (int i = 0; i < NODES; i++) {
		struct node_facts node = {.uid = STR("node"), .offers = offers, .n_offers = 2};

		snprintf(name, sizeof(name), "gpu-worker-%04d.cluster.example", i);
		node.name = str_from(name);
		assert_int_equal(cluster_apply_node(cluster, &node, NULL), 0);
	}
}

static void add_pods(struct cluster *cluster)
{
	struct container_facts container = {CONTAINER_NORMAL, NULL, 1};
	struct random random;
	char ns[64], name[96], uid[64], node[64];

	random_init(&random, 7);
	for (int i = 0; i < PODS; i++) {
		struct pod_facts pod = {.phase = POD_RUNNING, .containers = &container};
		unsigned int r = (unsigned int)random_below(&random, 1u << 31);

		pod.n_containers = 1;
		container.asks = &kinds[(i / 1000) % 4];
		snprintf(ns, sizeof(ns), "team-%03d-inference", i % NAMESPACES);
		snprintf(name, sizeof(name), "chat-frontend-%08x-%05x", (unsigned int)i / 50,
			 r & 0xfffff);
		snprintf(uid, sizeof(uid), "%08x-1111-2222-3333-%012x", r, (unsigned int)i);
		snprintf(node, sizeof(node), "gpu-worker-%04d.cluster.example", i % NODES);
		pod.namespace = str_from(ns);
		pod.name = str_from(name);
		pod.uid = str_from(uid);
		pod.node = str_from(node);
		assert_int_equal(cluster_apply_pod(cluster, &pod, NULL), 0);
	}
}

static void test_a_pod_is_small(void **state)
{
	const struct hash_key key = {3, 4};
	CLEANUP(cluster_free) struct cluster *cluster = cluster_new(&key);
	struct cluster_stats stats;
	size_t total, nodes;

	(void)state;
	add_nodes(cluster);
	cluster_stats(cluster, &stats);
	nodes = stats.bytes[CLUSTER_NODES] + stats.shared_bytes;
	add_pods(cluster);
	cluster_stats(cluster, &stats);
	assert_true(stats.objects[CLUSTER_PODS] > PODS * 99 / 100); /* a few names collide */
	total = stats.bytes[CLUSTER_PODS] + stats.bytes[CLUSTER_NAMESPACES] +
		stats.bytes[CLUSTER_NODES] + stats.shared_bytes - nodes;
	print_message("%u pods: %zu bytes each (records and index %zu, names and vectors %zu, "
		      "namespaces %zu); a node %zu\n",
		      stats.objects[CLUSTER_PODS], total / stats.objects[CLUSTER_PODS],
		      stats.bytes[CLUSTER_PODS] / PODS, stats.shared_bytes / PODS,
		      stats.bytes[CLUSTER_NAMESPACES] / PODS, nodes / NODES);
	assert_true(total / stats.objects[CLUSTER_PODS] <= MOST_BYTES);
}

#define VOLUMES           50000
#define MOST_VOLUME_BYTES 260 /* of a claim with its volume, likewise */

static void add_volumes(struct cluster *cluster)
{
	const struct str zone = STR("eu-west-1a");
	const struct node_requirement in = {STR("topology.kubernetes.io/zone"), NODE_IN, &zone, 1};
	const struct node_term term = {.labels = &in, .n_labels = 1};
	char name[64], claim[64];

	for (uint32_t i = 0; i < VOLUMES; i++) {
		snprintf(name, sizeof(name), "pvc-%08x-9c1b-4b7e-8f00-1d2c3b4a%04x", i, i & 0xffff);
		snprintf(claim, sizeof(claim), "weights-llama-70b-%u", i);
		const struct volume_facts volume = {.name = str_from(name),
						    .driver = STR("ebs.csi.aws.com"),
						    .handle = str_from(name),
						    .chooses = true,
						    .terms = &term,
						    .n_terms = 1};
		const struct volume_claim_facts facts = {.namespace = STR("team"),
							 .name = str_from(claim),
							 .volume = str_from(name),
							 .class = STR("gp3"),
							 .bound = true};

		assert_int_equal(cluster_apply_volume(cluster, &volume, NULL), 0);
		assert_int_equal(cluster_apply_volume_claim(cluster, &facts, NULL), 0);
	}
}

static void test_a_volume_is_small(void **state)
{
	const struct hash_key key = {3, 4};
	CLEANUP(cluster_free) struct cluster *cluster = cluster_new(&key);
	struct cluster_stats stats;
	size_t before, total;

	(void)state;
	cluster_stats(cluster, &stats);
	before = stats.shared_bytes;
	add_volumes(cluster);
	cluster_stats(cluster, &stats);
	assert_int_equal(stats.objects[CLUSTER_VOLUMES], VOLUMES);
	total = stats.bytes[CLUSTER_VOLUME_CLAIMS] + stats.bytes[CLUSTER_VOLUMES] +
		stats.shared_bytes - before;
	print_message("a claim with its volume: %zu bytes\n", total / VOLUMES);
	assert_true(total / VOLUMES <= MOST_VOLUME_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_pod_is_small),
		cmocka_unit_test(test_a_volume_is_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
