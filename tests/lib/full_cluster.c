/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/full_cluster.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/random.h"
#include "cluster/placing/placement.h"
#include "cluster/read.h"
#include "cluster/tenants/tenants.h"
#include "lib/crowd.h"
#include "lib/layouts.h"
#include "lib/team.h"

#define CARDS  FULL_CLUSTER_CARDS
#define NOW    FULL_CLUSTER_NOW_US
#define LABELS 40 /* of a node */
#define SPACES 10 /* of training; one more of inference */

struct scene {
	struct cluster *cluster;
	struct machine machine;
	struct random random;
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
	static const struct taint taint = {
		{"nvidia.com/gpu", 14}, {"present", 7}, TAINT_NO_SCHEDULE};
	static char keys[LABELS][40];
	struct label labels[LABELS];
	struct host_facts host = {.allocatable = {{192000, 2048 * GIB, 1024 * GIB}},
				  .pods = 110,
				  .labels = labels,
				  .n_labels = LABELS,
				  .taints = &taint,
				  .n_taints = 1};
	struct node_facts facts = {.name = crowd_text(FULL_CLUSTER_NODE, number),
				   .uid = crowd_text("node-uid", number),
				   .ready = NODE_READY,
				   .offers = &offer,
				   .n_offers = 1,
				   .layout = &s->machine.layout,
				   .layout_state = LAYOUT_IS_KNOWN,
				   .host = &host};
	struct error err = {0};

	for (unsigned int i = 0; i < LABELS; i++) {
		snprintf(keys[i], sizeof(keys[i]), "feature.example.com/kind-%u", i);
		labels[i] = (struct label){str_from(keys[i]), STR("true")};
	}
	labels[0] = (struct label){STR("kubernetes.io/hostname"), facts.name};
	labels[1] = (struct label){STR("pool"), STR("gpu")};
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
	struct tenant_facts tenant = {
		.name = value,
		.uid = value,
		.spec = {.namespaces = {&requirement, 1},
			 .tier = tier,
			 .ceiling = AMOUNT_NONE,
			 .ceiling_gpus = AMOUNT_NONE,
			 .pending_us = tier == TIER_INFERENCE ? USEC_PER_SEC : AMOUNT_NONE,
			 .protection = PROTECTION_DEFAULT,
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

	if (tier == TIER_INFERENCE)
		tenant.spec.protection.mode = PROTECTION_ENFORCE;
	crowd_check(cluster_apply_tenant(s->cluster, &tenant, &err), &err);
	crowd_check(cluster_apply_namespace(s->cluster, &namespace, &err), &err);
	crowd_check(cluster_apply_quota(s->cluster, &quota, &err), &err);
}

/* @node: -1 where it waits; of several cards it requires that they lie together. */
static void add_pod(struct scene *s, struct str namespace, unsigned int number, int64_t cards,
		    int node)
{
	static const struct str reserved = {"reserved", 8};
	static const struct label selector = {{"pool", 4}, {"gpu", 3}};
	static const struct toleration toleration = {
		{"nvidia.com/gpu", 14}, {"", 0}, true, TAINT_ANY};
	static const struct node_requirement requirement = {
		{"feature.example.com/kind-7", 26}, NODE_NOT_IN, &reserved, 1};
	static const struct node_term term = {.labels = &requirement, .n_labels = 1};
	static const struct pod_terms terms = {.selector = &selector,
					       .n_selector = 1,
					       .chooses = true,
					       .terms = &term,
					       .n_terms = 1,
					       .tolerations = &toleration,
					       .n_tolerations = 1};
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
		.node = node < 0 ? STR_NONE : crowd_text(FULL_CLUSTER_NODE, (unsigned int)node),
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
		.demand = {{4000, 32 * GIB, GIB}},
		.terms = &terms,
	};
	struct error err = {0};

	device.len = (size_t)snprintf(id, sizeof(id), "GPU-%06u", number);
	crowd_check(cluster_apply_pod(s->cluster, &facts, &err), &err);
}

static void fill(struct scene *s, unsigned int nodes, int64_t cards)
{
	for (unsigned int i = 0; i < SPACES; i++)
		add_tenant(s, "train", i, TIER_TRAINING);
	add_tenant(s, "chat", 0, TIER_INFERENCE);
	for (unsigned int node = 0; node < nodes; node++)
		add_node(s, node);
	for (unsigned int number = 0; number < nodes * CARDS; number++)
		add_pod(s, crowd_text("train", number % SPACES), number, 1, (int)(number / CARDS));
	add_pod(s, crowd_text("chat", 0), nodes * CARDS, cards, -1);
	team_refresh(s->cluster);
}

uint32_t full_cluster_make(struct cluster *cluster, unsigned int nodes, int64_t cards)
{
	struct scene s = {.cluster = cluster};

	random_init(&s.random, 1);
	machine_dgx_h100(&s.machine);
	s.machine.layout.kubelet = (struct layout_kubelet){LAYOUT_POLICY_SINGLE_NUMA, false, true};
	fill(&s, nodes, cards);
	return cluster_pod_find(cluster, crowd_text("chat", 0), crowd_text("pod", nodes * CARDS),
				crowd_text("pod-uid", nodes * CARDS));
}
