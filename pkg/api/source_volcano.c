/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Volcano's vGPUs (volcano-sh/volcano, Project-HAMi/volcano-vgpu-device-plugin). A container asks
 * for vgpu-number cards (none given: one) and of each for vgpu-memory MiB, else for
 * vgpu-memory-percentage, else for all memory; vgpu-cores costs no memory. The node's capacity has
 * them, and an annotation tells of the cards. The older volcano.sh/gpu-memory is none of these:
 * nothing prices it.
 */
#include "api/keys.h"
#include "api/source_common.h"
#include "base/checked.h"

#define NUMBER  "volcano.sh/vgpu-number"
#define MEMORY  "volcano.sh/vgpu-memory"
#define PERCENT "volcano.sh/vgpu-memory-percentage"

static bool speaks(struct str resource)
{
	return str_starts_with(resource, STR("volcano.sh/vgpu-"));
}

static bool reads(struct str resource)
{
	return str_equal(resource, STR(NUMBER)) || str_equal(resource, STR(MEMORY)) ||
	       str_equal(resource, STR(PERCENT));
}

static void ask(struct source_request *request)
{
	struct source_share share = {STR(MEMORY), STR(PERCENT), STR(NUMBER), 0, 0, 0};

	share.cards = source_take(request, STR(NUMBER));
	share.memory = source_take(request, STR(MEMORY));
	share.percent = source_take(request, STR(PERCENT));
	source_ask_share(&request->asks, &share);
}

static void annotations(struct source_pod *pod)
{
	source_raise_allocated(pod, STR(KEY_VOLCANO_ALLOCATED), STR(MEMORY));
}

static bool registered(const struct source_node *node, struct source_register *ret_register)
{
	return source_read_register(node, STR(KEY_VOLCANO_REGISTER), ret_register);
}

static void measure(struct source_node *node)
{
	struct source_register reg;

	if (source_capacity(node, STR(NUMBER)) > 0 && registered(node, &reg))
		node->card.by[MEMORY_FROM_VOLCANO] = reg.largest;
}

static void offer(struct source_node *node)
{
	int64_t number = source_capacity(node, STR(NUMBER));
	int64_t memory = source_capacity(node, STR(MEMORY));
	struct source_register reg = {.cards = number};
	struct device_offer *cards;

	if (number == 0)
		return;
	registered(node, &reg);
	cards = source_offer(node, STR(NUMBER), number);
	cards->product = source_product(node, STR("nvidia.com/gpu"), ".product");
	cards->sharing = DEVICE_WHOLE;
	cards->min_memory = MIB;
	source_price(cards, &node->card, 1);
	source_offer_parts(node, STR(MEMORY), STR(PERCENT), reg.cards);
	if (memory > 0)
		source_offer_find(node, STR(MEMORY))->count = memory;
}

const struct source source_volcano = {
	.name = "volcano",
	.speaks = speaks,
	.reads = reads,
	.ask = ask,
	.annotations = annotations,
	.measure = measure,
	.offer = offer,
};
