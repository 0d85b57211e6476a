/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Koordinator (koordinator-sh/koordinator, apis/extension). A container asks for gpu-memory bytes
 * or for gpu-memory-ratio hundredths of a card, in all, whatever gpu.shared says;
 * koordinator.sh/gpu is the ratio and cores at once. Where it says neither, it gets the cards that
 * gpu.shared or gpu-core tell, whole. Koordinator itself refuses a pod that says both memory and
 * ratio; here both count.
 *
 * A node's capacity has the sums over its cards, so that memory / ratio is a hundredth of one; its
 * Device object, which tells the cards apart, is not read. An annotation of the pod tells what was
 * allocated, for the pod as a whole.
 */
#include "api/keys.h"
#include "api/quantity.h"
#include "api/source_common.h"
#include "base/checked.h"
#include "base/macros.h"
#include "codec/json.h"

#define PREFIX "koordinator.sh/gpu"
#define MEMORY "koordinator.sh/gpu-memory"
#define RATIO  "koordinator.sh/gpu-memory-ratio"
#define SHARED "koordinator.sh/gpu.shared"
#define CORE   "koordinator.sh/gpu-core"

static bool speaks(struct str resource)
{
	return str_starts_with(resource, STR(PREFIX));
}

static bool reads(struct str resource)
{
	return str_equal(resource, STR(MEMORY)) || str_equal(resource, STR(RATIO)) ||
	       str_equal(resource, STR(PREFIX)) || str_equal(resource, STR(SHARED)) ||
	       str_equal(resource, STR(CORE));
}

static void ask(struct source_request *request)
{
	int64_t memory = source_take(request, STR(MEMORY));
	int64_t ratio = source_take(request, STR(RATIO)), gpu = source_take(request, STR(PREFIX));
	int64_t shared = source_take(request, STR(SHARED));
	int64_t core = source_take(request, STR(CORE));
	int64_t cards = MAX(MAX(shared, 1), core / 100 + (core % 100 > 0));

	ratio = MAX(ratio, gpu);
	if (memory == 0 && ratio == 0)
		ratio = saturating_mul(cards, 100);
	cards = MAX(cards, ratio / 100 + (ratio % 100 > 0));
	source_ask(&request->asks,
		   (struct device_ask){STR(MEMORY), memory, STR("nvidia.com/gpu"), cards, 0});
	source_ask(&request->asks,
		   (struct device_ask){STR(RATIO), ratio, STR("nvidia.com/gpu"), cards, 0});
}

/* --- what was allocated */

struct wire_allocation {
	uint64_t present;
	struct wire_list resources; /* struct wire_pair */
};

struct wire_allocations {
	uint64_t present;
	struct wire_list gpus; /* struct wire_allocation */
};

static const struct field allocation_fields[] = {
	FIELD(struct wire_allocation, resources, "resources", 0, FIELD_QUANTITIES),
};
static const struct schema allocation_schema =
	SCHEMA("allocation", struct wire_allocation, allocation_fields);
static const struct field allocations_fields[] = {
	FIELD_SUB(struct wire_allocations, gpus, "gpu", 0, FIELD_MESSAGES, &allocation_schema),
};
static const struct schema allocations_schema =
	SCHEMA("device-allocated", struct wire_allocations, allocations_fields);

static int64_t allocated(const struct wire_allocations *all, struct str resource)
{
	int64_t sum = 0, value;
	struct str text;

	wire_for_each(const struct wire_allocation, gpu, all->gpus) {
		if (wire_map_get(&gpu->resources, resource, &text) &&
		    quantity_parse(text, &value) && value > 0)
			sum = saturating_add(sum, value);
	}
	return sum;
}

/* By what all containers together lack, the first that asks for @row. */
static void raise_to(struct source_pod *pod, struct str row, int64_t total)
{
	struct device_ask *first = NULL;

	for (size_t i = 0; i < pod->n_containers; i++) {
		struct device_ask *ask = source_ask_find(&pod->containers[i], row);

		if (!ask)
			continue;
		total = saturating_sub(total, ask->count);
		first = first ? first : ask;
	}
	if (!first || total <= 0)
		return;
	first->told = total;
	pod->annotated = true;
}

static void annotations(struct source_pod *pod)
{
	struct wire_allocations all;
	struct str text;

	if (!pod->bound || !wire_map_get(pod->annotations, STR(KEY_KOORDINATOR_ALLOCATED), &text) ||
	    json_decode(&allocations_schema, text, pod->pack->arena, &all, NULL) < 0)
		return;
	raise_to(pod, STR(MEMORY), allocated(&all, STR(MEMORY)));
	raise_to(pod, STR(RATIO), allocated(&all, STR(RATIO)));
}

/* --- nodes */

static void measure(struct source_node *node)
{
	int64_t memory = source_capacity(node, STR(MEMORY));
	int64_t ratio = source_capacity(node, STR(RATIO));

	if (ratio > 0)
		node->card.by[MEMORY_FROM_KOORDINATOR] =
			saturating_add(saturating_mul(memory / ratio, 100),
				       saturating_mul(memory % ratio, 100) / ratio);
}

static void offer_part(struct source_node *node, struct str resource, bool in_bytes)
{
	int64_t count = source_capacity(node, resource);
	struct device_offer *part;

	if (count == 0)
		return;
	part = source_offer(node, resource, count);
	part->product = source_product(node, STR("nvidia.com/gpu"), ".product");
	part->sharing = DEVICE_FRACTION;
	if (in_bytes)
		part->unit_memory = 1;
	else
		source_price(part, &node->card, 100);
}

/* koordinator.sh/gpu is never asked for here, and a key of ResourceQuota that bounds it. */
static void offer(struct source_node *node)
{
	offer_part(node, STR(MEMORY), true);
	offer_part(node, STR(RATIO), false);
	offer_part(node, STR(PREFIX), false);
}

const struct source source_koordinator = {
	.name = "koordinator",
	.speaks = speaks,
	.reads = reads,
	.ask = ask,
	.annotations = annotations,
	.measure = measure,
	.offer = offer,
};
