/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods with GPUs that were judged before a watch has shown them: bind must not take them for pods
 * without. Nothing that may still matter is forgotten: where there is no room, filter refuses.
 */
#include "extender/internal.h"

static size_t find(const struct extender *extender, uint64_t pod)
{
	size_t i = 0;

	while (i < EXTENDER_UNSEEN &&
	       (extender->unseen[i].pod != pod || extender->unseen[i].until_us == 0))
		i++;
	return i;
}

bool unseen_has(const struct extender *extender, uint64_t pod)
{
	return find(extender, pod) < EXTENDER_UNSEEN;
}

bool unseen_add(struct extender *extender, uint64_t pod)
{
	struct unseen *slot = &extender->unseen[extender->next_unseen];
	int64_t now_us = loop_now(extender->loop);
	size_t known = find(extender, pod);

	if (known < EXTENDER_UNSEEN) {
		extender->unseen[known].until_us = now_us + EXTENDER_UNSEEN_US;
		return true;
	}
	if (slot->until_us > now_us)
		return false;
	*slot = (struct unseen){pod, now_us + EXTENDER_UNSEEN_US};
	extender->next_unseen = (extender->next_unseen + 1) % EXTENDER_UNSEEN;
	return true;
}
