/* SPDX-License-Identifier: Apache-2.0 */
/* A short memory of the nodes that pods are about to be bound to; the oldest is forgotten first. */
#include "base/macros.h"
#include "extender/internal.h"

static size_t first_slot(const struct soft_set *set, uint32_t node)
{
	return (node * 0x9e3779b1u >> 16) % ARRAY_SIZE(set->nodes);
}

static size_t slot_of(const struct soft_set *set, uint32_t node)
{
	size_t at = first_slot(set, node);

	while (set->nodes[at] != node && set->nodes[at] != TABLE_NONE)
		at = (at + 1) % ARRAY_SIZE(set->nodes);
	return at;
}

void soft_set_make(const struct extender *extender, uint64_t pod, struct soft_set *ret_set)
{
	int64_t now_us = loop_now(extender->loop);

	memset(ret_set, 0xff, sizeof(*ret_set)); /* TABLE_NONE */
	for (size_t i = 0; i < EXTENDER_SOFT_MOST; i++) {
		const struct soft *soft = &extender->soft[i];

		if (soft->until_us > now_us && soft->pod != pod)
			ret_set->nodes[slot_of(ret_set, soft->node)] = soft->node;
	}
}

bool soft_set_has(const struct soft_set *set, uint32_t node)
{
	return set->nodes[slot_of(set, node)] == node;
}

void soft_take(struct extender *extender, uint64_t pod, uint32_t node)
{
	soft_end(extender, pod);
	extender->soft[extender->next_soft] =
		(struct soft){pod, node, loop_now(extender->loop) + EXTENDER_SOFT_US};
	extender->next_soft = (extender->next_soft + 1) % EXTENDER_SOFT_MOST;
}

void soft_end(struct extender *extender, uint64_t pod)
{
	for (size_t i = 0; i < EXTENDER_SOFT_MOST; i++)
		if (extender->soft[i].pod == pod)
			extender->soft[i].until_us = 0;
}
