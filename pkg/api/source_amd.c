/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ROCm's device plugin, described by its node labeller (ROCm/k8s-device-plugin). "192G" of a card's
 * amd.com/gpu.vram are GiB. Of a partition no label tells the memory; under amd.com/gpu too a unit
 * is one where the card is partitioned otherwise than spx.
 */
#include "api/source_common.h"
#include "model/resource.h"

static int64_t memory_of(struct str text)
{
	int64_t gib;

	if (!str_ends_with(text, STR("G")))
		return 0;
	text.len--;
	return str_to_int64(text, 1, INT64_MAX / GIB, &gib) ? gib * GIB : 0;
}

/* Older labellers used another prefix. */
static struct str label(const struct source_node *node, const char *suffix)
{
	struct str value = STR_NONE;

	if (!source_label(node, STR("amd.com/gpu"), suffix, &value))
		source_label(node, STR("beta.amd.com/gpu"), suffix, &value);
	return value;
}

static void describe(const struct source_node *node, struct device_offer *offer)
{
	struct str partition = STR("spx");
	struct source_card card = {{0}};

	offer->product = label(node, ".product-name");
	if (offer->product.len > LIMIT_NAME)
		offer->product = STR_NONE;
	source_label(node, STR("amd.com/"), "compute-memory-partition", &partition);
	if (resource_family(offer->resource) != RESOURCE_CARD ||
	    !str_starts_with(partition, STR("spx")))
		return;
	offer->sharing = DEVICE_WHOLE;
	card.by[MEMORY_FROM_LABEL] = memory_of(label(node, ".vram"));
	source_price(offer, &card, 1);
}

static void offer(struct source_node *node)
{
	for (size_t i = 0; i < node->capacity.len; i++) {
		const struct resource_amount *amount = &node->capacity.rows[i];

		if (str_starts_with(amount->resource, STR("amd.com/")) &&
		    resource_is_gpu(amount->resource))
			describe(node, source_offer(node, amount->resource, amount->count));
	}
}

const struct source source_amd = {.name = "amd", .offer = offer};
