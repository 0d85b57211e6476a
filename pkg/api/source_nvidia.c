/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's device plugin, described by GPU feature discovery and MIG manager
 * (NVIDIA/k8s-device-plugin README, NVIDIA/mig-parted).
 *
 * A unit of nvidia.com/gpu has nvidia.com/gpu.memory MiB. That label is the whole card's even when
 * the card is shared, and the slice's under the single MIG strategy, which the product's name tells
 * ("...-MIG-1g.5gb"). A mixed slice has nvidia.com/mig-<profile>.memory; its product is the card's.
 * replicas above 1 divide the memory, 0 and 1 do not; where the name says shared and no label says
 * by how many, the memory is unknown.
 *
 * While MIG manager cuts the cards anew, labels may still tell of the old cut. A mixed slice has
 * its profile in its name, so its label holds; under the single strategy nothing says what a unit
 * of nvidia.com/gpu is until the state is "success" again.
 */
#include "api/source_common.h"
#include "base/macros.h"

#define GPU "nvidia.com/gpu"

static bool contains(struct str s, struct str part)
{
	for (; s.len >= part.len; s.data++, s.len--)
		if (str_starts_with(s, part))
			return true;
	return false;
}

static bool cut_suffix(struct str *s, struct str suffix)
{
	if (!str_ends_with(*s, suffix))
		return false;
	s->len -= suffix.len;
	return true;
}

/* Bytes; 0 unless the label is a positive number of MiB. */
static int64_t memory_label(const struct source_node *node, struct str base)
{
	struct str text;
	int64_t mib;

	if (!source_label(node, base, ".memory", &text) ||
	    !str_to_int64(text, 1, INT64_MAX / MIB, &mib))
		return 0;
	return mib * MIB;
}

/* Into how many units a card or slice is shared; 1 where it is not, 0 where nobody can tell. */
static int64_t replicas_of(const struct source_node *node, struct str base, bool named_shared)
{
	int64_t replicas = 0;
	struct str text;

	if (!source_label(node, base, ".replicas", &text))
		return named_shared ? 0 : 1;
	if (!str_to_int64(text, 0, INT64_MAX, &replicas))
		return 0;
	return MAX(replicas, 1);
}

static enum device_sharing strategy_of(const struct source_node *node, struct str base)
{
	struct str text;

	if (source_label(node, base, ".sharing-strategy", &text) && str_equal(text, STR("mps")))
		return DEVICE_MPS;
	return DEVICE_TIME_SLICED;
}

static struct str product_of(const struct source_node *node)
{
	return source_product(node, STR(GPU), ".product");
}

/* Cards of which every unit is a slice, or will be. */
static bool is_single_mig(const struct source_node *node)
{
	struct str strategy;

	if (contains(product_of(node), STR("-MIG-")))
		return true;
	return source_label(node, STR("nvidia.com/mig"), ".strategy", &strategy) &&
	       str_equal(strategy, STR("single"));
}

static bool is_reconfiguring(const struct source_node *node)
{
	struct str state;

	return source_label(node, STR("nvidia.com/mig"), ".config.state", &state) &&
	       !str_equal(state, STR("success"));
}

static void measure(struct source_node *node)
{
	node->reconfiguring = is_reconfiguring(node);
	if (!contains(product_of(node), STR("-MIG-")) &&
	    !(node->reconfiguring && is_single_mig(node)))
		node->card.by[MEMORY_FROM_LABEL] = memory_label(node, STR(GPU));
}

/* Cards of one node that are cut in different ways, or are being cut: no label holds then. */
static bool is_undescribed(const struct source_node *node)
{
	return contains(product_of(node), STR("-MIG-INVALID")) ||
	       (is_reconfiguring(node) && is_single_mig(node));
}

/* "nvidia.com/gpu" and "nvidia.com/mig-<profile>", with ".shared" where replicas are renamed. */
static void describe(const struct source_node *node, struct device_offer *offer)
{
	struct source_card card = node->card;
	struct str base = offer->resource;
	bool named_shared = cut_suffix(&base, STR(".shared"));
	bool mixed = !str_equal(base, STR(GPU));
	int64_t replicas;

	offer->product = product_of(node);
	offer->sharing =
		mixed || contains(offer->product, STR("-MIG-")) ? DEVICE_MIG : DEVICE_WHOLE;
	/* The product's suffix tells of whole cards, or of slices under the single strategy. */
	if (!mixed && str_ends_with(offer->product, STR("-SHARED")))
		named_shared = true;
	if (!mixed && is_undescribed(node)) {
		offer->sharing = DEVICE_MIG;
		return;
	}
	replicas = replicas_of(node, base, named_shared);
	if (replicas == 0) {
		offer->sharing = DEVICE_OTHER;
		return;
	}
	if (offer->sharing == DEVICE_MIG) {
		card = (struct source_card){{0}};
		card.by[MEMORY_FROM_LABEL] = memory_label(node, base);
	}
	if (replicas > 1)
		offer->sharing = strategy_of(node, base);
	source_price(offer, &card, replicas);
}

static bool is_device(struct str resource)
{
	return str_equal(resource, STR(GPU)) || str_equal(resource, STR(GPU ".shared")) ||
	       str_starts_with(resource, STR("nvidia.com/mig-"));
}

static void offer(struct source_node *node)
{
	for (size_t i = 0; i < node->capacity.len; i++) {
		const struct resource_amount *amount = &node->capacity.rows[i];

		if (is_device(amount->resource))
			describe(node, source_offer(node, amount->resource, amount->count));
	}
}

const struct source source_nvidia = {.name = "nvidia", .measure = measure, .offer = offer};
