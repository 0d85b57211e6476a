/* SPDX-License-Identifier: Apache-2.0 */
/* A short memory of the nodes that pods are about to be bound to; the oldest is forgotten first. */
#include "extender/internal.h"

bool soft_is_taken(const struct extender *extender, uint64_t pod, uint32_t node)
{
	int64_t now_us = loop_now(extender->loop);

	for (size_t i = 0; i < EXTENDER_SOFT_MOST; i++) {
		const struct soft *soft = &extender->soft[i];

		if (soft->until_us > now_us && soft->node == node && soft->pod != pod)
			return true;
	}
	return false;
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
