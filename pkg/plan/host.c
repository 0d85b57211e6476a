/* SPDX-License-Identifier: Apache-2.0 */
/* What kube-scheduler's own filters say of a node. */
#include "plan/host.h"

#include "base/macros.h"

enum host_verdict host_lacks(size_t amount)
{
	static const enum host_verdict verdicts[HOST_AMOUNTS] = {
		[DEMAND_CPU] = HOST_NO_CPU,
		[DEMAND_MEMORY] = HOST_NO_MEMORY,
		[DEMAND_STORAGE] = HOST_NO_STORAGE,
		[HOST_PODS] = HOST_FULL,
	};

	return verdicts[amount];
}

/* What is not asked for may be as short as it likes. */
static enum host_verdict compare(const struct cluster_host_room *room, const int64_t *have)
{
	static const size_t order[] = {HOST_PODS, DEMAND_CPU, DEMAND_MEMORY, DEMAND_STORAGE};

	if (!room->told)
		return HOST_FITS;
	if (room->cordoned)
		return HOST_CORDONED;
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (room->asked[order[i]] > 0 && room->asked[order[i]] > have[order[i]])
			return host_lacks(order[i]);
	return HOST_FITS;
}

enum host_verdict host_could_fit(const struct cluster_host_room *room)
{
	return compare(room, room->most);
}

enum host_verdict host_fit(const struct cluster *cluster, const struct cluster_ask *ask,
			   uint32_t node)
{
	struct cluster_host_room room;

	cluster_host_room(cluster, ask, node, &room);
	return compare(&room, room.free);
}

void host_describe(const uint32_t counts[HOST_VERDICT_COUNT], const char *before, struct buf *buf)
{
	static const char *const texts[] = {
#define X(name, text) [HOST_##name] = (text),
		HOST_VERDICTS(X)
#undef X
	};
	const char *joint = "nodes with enough cards: ";

	for (size_t i = HOST_FITS + 1; i < HOST_VERDICT_COUNT; i++) {
		if (counts[i] == 0)
			continue;
		buf_printf(buf, "%s%s%u %s", before, joint, counts[i], texts[i]);
		before = "";
		joint = ", ";
	}
}
