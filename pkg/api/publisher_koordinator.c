/* SPDX-License-Identifier: Apache-2.0 */
/* Koordinator's Device, of which GPUs alone are read: network cards and FPGAs are listed, too. */
#include "api/publisher.h"

#include "api/wire_koordinator.h"
#include "base/macros.h"

/* koordlet writes -1, too, where the kernel tells no NUMA node. */
static struct published_card card_of(const struct wire_koordinator_card *wire)
{
	return (struct published_card){
		.uuid = wire->id,
		.pci = wire->topology.bus,
		.index = wire_has(wire, WIRE_KOORDINATOR_MINOR) ? wire->minor : -1,
		.numa = MAX(wire->topology.node, 0),
		.healthy = wire->health,
	};
}

static bool read(const struct publisher_input *input, struct published_cards *cards)
{
	if (!input->koordinator)
		return false;
	wire_for_each(const struct wire_koordinator_card, wire, *input->koordinator) {
		const struct published_card card = card_of(wire);

		if (str_equal(wire->type, STR("gpu")) && !published_add(cards, &card))
			return false;
	}
	return true;
}

const struct publisher publisher_koordinator = {.name = "Koordinator", .read = read};
