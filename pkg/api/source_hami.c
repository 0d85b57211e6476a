/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HAMi (Project-HAMi/HAMi, pkg/device/nvidia). A container asks for nvidia.com/gpu cards (none
 * given: one, as HAMi's own webhook would write) and of each for gpumem MiB, else for
 * gpumem-percentage, else for all memory. gpucores limits time and costs no memory, but asks for a
 * card. Only nvidia.com/gpu is in a node's capacity, as units that the cards are split into; the
 * cards themselves are in an annotation. After binding, an annotation tells what was allocated.
 */
#include "api/keys.h"
#include "api/source_common.h"

#define GPU     "nvidia.com/gpu"
#define MEMORY  "nvidia.com/gpumem"
#define PERCENT "nvidia.com/gpumem-percentage"
#define CORES   "nvidia.com/gpucores"

static bool speaks(struct str resource)
{
	return str_equal(resource, STR(MEMORY)) || str_equal(resource, STR(PERCENT)) ||
	       str_equal(resource, STR(CORES));
}

static bool reads(struct str resource)
{
	return !str_equal(resource, STR(CORES));
}

static void ask(struct source_request *request)
{
	struct source_share share = {STR(MEMORY), STR(PERCENT), STR(GPU), 0, 0, 0};

	share.cards = source_take(request, STR(GPU));
	share.memory = source_take(request, STR(MEMORY));
	share.percent = source_take(request, STR(PERCENT));
	source_ask_share(&request->asks, &share);
}

static void annotations(struct source_pod *pod)
{
	source_raise_allocated(pod, STR(KEY_HAMI_ALLOCATED), STR(MEMORY));
}

static bool registered(const struct source_node *node, struct source_register *ret_register)
{
	return source_capacity(node, STR(GPU)) > 0 &&
	       source_read_register(node, STR(KEY_HAMI_REGISTER), ret_register);
}

static void measure(struct source_node *node)
{
	struct source_register reg;

	if (registered(node, &reg))
		node->card.by[MEMORY_FROM_HAMI] = reg.largest;
}

/* A unit of nvidia.com/gpu is a card, of which a pod may take as little as a MiB. */
static void offer(struct source_node *node)
{
	struct source_register reg;
	struct device_offer *cards;

	if (!registered(node, &reg))
		return;
	cards = source_offer(node, STR(GPU), source_capacity(node, STR(GPU)));
	cards->product = source_product(node, STR(GPU), ".product");
	cards->sharing = DEVICE_WHOLE;
	cards->min_memory = MIB;
	source_price(cards, &node->card, 1);
	source_offer_parts(node, STR(MEMORY), STR(PERCENT), reg.cards);
}

const struct source source_hami = {
	.name = "hami",
	.speaks = speaks,
	.reads = reads,
	.ask = ask,
	.annotations = annotations,
	.measure = measure,
	.offer = offer,
};
