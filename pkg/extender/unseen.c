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

/* The next place whose time is over: one that is judged again and again keeps its own. */
static struct unseen *find_room(struct extender *extender, int64_t now_us)
{
	for (size_t i = 0; i < EXTENDER_UNSEEN; i++) {
		struct unseen *slot = &extender->unseen[extender->next_unseen];

		extender->next_unseen = (extender->next_unseen + 1) % EXTENDER_UNSEEN;
		if (slot->until_us <= now_us)
			return slot;
	}
	return NULL;
}

bool unseen_add(struct extender *extender, uint64_t pod)
{
	int64_t now_us = loop_now(extender->loop);
	size_t known = find(extender, pod);
	struct unseen *slot =
		known < EXTENDER_UNSEEN ? &extender->unseen[known] : find_room(extender, now_us);

	if (!slot)
		return false;
	*slot = (struct unseen){pod, now_us + EXTENDER_UNSEEN_US};
	return true;
}
