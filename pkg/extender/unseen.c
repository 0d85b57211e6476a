/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods with GPUs that were judged before a watch has shown them: bind must not take them for pods
 * without. Nothing that may still matter is forgotten: where there is no room, filter refuses.
 */
#include "extender/internal.h"

bool unseen_has(const struct extender *extender, uint64_t pod)
{
	for (size_t i = 0; i < EXTENDER_UNSEEN; i++)
		if (extender->unseen[i].pod == pod && extender->unseen[i].until_us != 0)
			return true;
	return false;
}

bool unseen_add(struct extender *extender, uint64_t pod)
{
	struct unseen *slot = &extender->unseen[extender->next_unseen];
	int64_t now_us = loop_now(extender->loop);

	if (unseen_has(extender, pod))
		return true;
	if (slot->until_us > now_us)
		return false;
	*slot = (struct unseen){pod, now_us + EXTENDER_UNSEEN_US};
	extender->next_unseen = (extender->next_unseen + 1) % EXTENDER_UNSEEN;
	return true;
}
