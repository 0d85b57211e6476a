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

	for (size_t i = 0; room->told && i < ARRAY_SIZE(order); i++)
		if (room->asked[order[i]] > 0 && room->asked[order[i]] > have[order[i]])
			return host_lacks(order[i]);
	return HOST_FITS;
}

static enum host_verdict admit(const struct cluster *cluster, struct cluster_terms *terms,
			       const struct cluster_host_room *room, uint32_t node)
{
	static const enum host_verdict verdicts[] = {
		[TERMS_ADMIT] = HOST_FITS,
		[TERMS_TAINTED] = HOST_TAINTED,
		[TERMS_UNSELECTED] = HOST_UNSELECTED,
		[TERMS_SHUNNED] = HOST_SHUNNED,
		[TERMS_VOLUMES_ELSEWHERE] = HOST_VOLUMES_ELSEWHERE,
		[TERMS_VOLUMES_FULL] = HOST_VOLUMES_FULL,
	};

	if (room->cordoned && !terms->passes_cordons)
		return HOST_CORDONED;
	return verdicts[cluster_terms_on(cluster, terms, node)];
}

static enum host_verdict compare_ports(const struct cluster *cluster, const struct cluster_ask *ask,
				       const struct cluster_terms *terms, uint32_t node, bool now)
{
	struct cluster_ports_taken taken = cluster_ports_taken(cluster, ask, terms, node);

	return (now ? taken.pods : taken.forever) > 0 ? HOST_NO_PORT : HOST_FITS;
}

static enum host_verdict judge(const struct cluster *cluster, const struct cluster_ask *ask,
			       struct cluster_terms *terms, uint32_t node, bool now)
{
	struct cluster_host_room room;
	enum host_verdict verdict;

	cluster_host_room(cluster, ask, node, &room);
	verdict = admit(cluster, terms, &room, node);
	if (verdict == HOST_FITS)
		verdict = compare_ports(cluster, ask, terms, node, now);
	return verdict != HOST_FITS ? verdict : compare(&room, now ? room.free : room.most);
}

enum host_verdict host_could_fit(const struct cluster *cluster, const struct cluster_ask *ask,
				 struct cluster_terms *terms, uint32_t node)
{
	return judge(cluster, ask, terms, node, false);
}

enum host_verdict host_fit(const struct cluster *cluster, const struct cluster_ask *ask,
			   struct cluster_terms *terms, uint32_t node)
{
	return judge(cluster, ask, terms, node, true);
}

enum host_verdict host_has_room(const struct cluster *cluster, const struct cluster_ask *ask,
				const struct cluster_terms *terms, uint32_t node)
{
	enum host_verdict verdict = compare_ports(cluster, ask, terms, node, true);
	struct cluster_host_room room;

	if (verdict != HOST_FITS)
		return verdict;
	cluster_host_room(cluster, ask, node, &room);
	return compare(&room, room.free);
}

static void describe_beyond(unsigned int beyond, struct buf *buf)
{
	const char *joint =
		"gpuqos cannot prove where kube-scheduler would let it, since it asks for ";

	for (unsigned int i = 0; i < BEYOND_COUNT; i++) {
		if (!(beyond >> i & 1))
			continue;
		buf_printf(buf, "%s%s", joint, terms_beyond_text((enum terms_beyond)i));
		joint = ", and for ";
	}
}

void host_describe_doubt(const struct terms_doubt *doubt, struct buf *buf)
{
	if (doubt->beyond != 0)
		describe_beyond(doubt->beyond, buf);
	else if (doubt->volume != VOLUME_DOUBT_NONE)
		buf_printf(buf,
			   "no node is known to be one that kube-scheduler lets it on: its "
			   "claim %s %s",
			   doubt->claim, volume_doubt_text(doubt->volume));
	else
		buf_add_cstr(buf, "what it asks of its node is too much to be compared");
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
