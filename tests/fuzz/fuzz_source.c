/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Annotations of nodes and pods, which plugins, schedulers and tenants write. The first byte says
 * which one the rest is the value of. What is read keeps its limits, and an annotation that tells
 * what was allocated never lowers what was asked.
 */
#include <stdlib.h>

#include "api/pack.h"
#include "base/limits.h"
#include "base/macros.h"

static const char *const node_keys[] = {
	"hami.io/node-nvidia-register",
	"volcano.sh/node-vgpu-register",
};
static const char *const pod_keys[] = {
	"gpu-fraction",
	"gpu-memory",
	"gpu-fraction-num-devices",
	"hami.io/vgpu-devices-allocated",
	"volcano.sh/vgpu-ids-new",
	"scheduling.koordinator.sh/device-allocated",
};
/* Labels and a table tell memory too. */
static const char *const label_keys[] = {
	"nvidia.com/gpu.memory",
	"nvidia.com/gpu.replicas",
	"amd.com/gpu.vram",
	"example.com/memory",
};

static void check(bool good)
{
	if (!good)
		abort();
}

#define PAIR(key, value)                         \
	{                                        \
		{key, sizeof(key) - 1},          \
		{                                \
			value, sizeof(value) - 1 \
		}                                \
	}

static void read_node(struct wire_pair *pair, bool as_label, struct arena *arena)
{
	static struct wire_pair capacity[] = {
		PAIR("nvidia.com/gpu", "8"),
		PAIR("volcano.sh/vgpu-number", "20"),
		PAIR("volcano.sh/vgpu-memory", "46056"),
		PAIR("koordinator.sh/gpu-memory", "160Gi"),
		PAIR("koordinator.sh/gpu-memory-ratio", "200"),
		PAIR("amd.com/gpu", "8"),
		PAIR("example.com/gpu", "2"),
	};
	static const struct source_row row = {
		.name = {"example.com/gpu", 15},
		.unit_memory = AMOUNT_NONE,
		.memory_label = {"example.com/memory", 18},
		.memory_unit = GIB,
	};
	const struct source_table table = {&row, 1};
	struct wire_node node = {0};
	struct node_facts facts;

	node.meta.name = node.meta.uid = STR("n");
	*(as_label ? &node.meta.labels : &node.meta.annotations) = (struct wire_list){pair, 1};
	node.status.capacity = (struct wire_list){capacity, ARRAY_SIZE(capacity)};
	if (api_pack_node(&node, &table, arena, &facts, NULL) < 0)
		return;
	check(facts.n_offers <= LIMIT_OFFERS_PER_NODE);
	for (size_t i = 0; i < facts.n_offers; i++) {
		const struct device_offer *offer = &facts.offers[i];

		check(offer->count > 0 && offer->other_memory >= 0 && offer->min_memory >= 0);
		check(offer->unit_memory > 0 || offer->unit_memory == AMOUNT_UNKNOWN);
		check(offer->source < MEMORY_SOURCE_COUNT && offer->other < MEMORY_SOURCE_COUNT);
		check(i == 0 || str_compare(offer[-1].resource, offer->resource) < 0);
	}
}

static void check_asks(const struct device_ask *asks, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		check(asks[i].count > 0 && asks[i].devices >= 0 && asks[i].told >= 0);
		check(i == 0 || device_ask_compare(&asks[i - 1], &asks[i]) < 0);
	}
}

static void read_pod(struct wire_pair *pair, struct arena *arena)
{
	static struct wire_pair requests[] = {
		PAIR("nvidia.com/gpu", "1"),
		PAIR("nvidia.com/gpumem", "3000"),
		PAIR("volcano.sh/vgpu-memory", "3000"),
		PAIR("koordinator.sh/gpu-memory", "3000"),
	};
	struct wire_container container = {0};
	struct wire_pod pod = {0};
	struct pod_facts facts;

	container.resources.requests = (struct wire_list){requests, ARRAY_SIZE(requests)};
	pod.meta.name = pod.meta.uid = STR("p");
	pod.meta.annotations = (struct wire_list){pair, 1};
	pod.spec.containers = (struct wire_list){&container, 1};
	pod.spec.node_name = STR("n");
	if (api_pack_pod(&pod, NULL, arena, &facts, NULL) < 0)
		return;
	check(facts.n_containers == 1 && facts.containers[0].n_asks == 3);
	check_asks(facts.containers[0].asks, 3);
	check_asks(facts.own, facts.n_own);
	for (size_t i = 0; i < 3; i++)
		check(facts.containers[0].asks[i].count >= 3000);
	check(facts.n_own == 0 || facts.annotated);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t n_nodes = ARRAY_SIZE(node_keys), n_labels = ARRAY_SIZE(label_keys);
	CLEANUP(arena_clear) struct arena arena = {0};
	struct wire_pair pair;
	size_t which;

	if (size == 0)
		return 0;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	which = (size_t)(data[0] - 'a') % (n_nodes + n_labels + ARRAY_SIZE(pod_keys));
	pair.value = (struct str){(const char *)data + 1, size - 1};
	if (which < n_nodes) {
		pair.key = str_from(node_keys[which]);
		read_node(&pair, false, &arena);
	} else if (which < n_nodes + n_labels) {
		pair.key = str_from(label_keys[which - n_nodes]);
		read_node(&pair, true, &arena);
	} else {
		pair.key = str_from(pod_keys[which - n_nodes - n_labels]);
		read_pod(&pair, &arena);
	}
	return 0;
}
