/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of a namespace, from its first refused pod on: counts of Events in a table of fixed
 * size, by hash, and sums in slots of time. A slot that holds a time of long ago is empty.
 */
#include "cluster/tenants/refusals.h"

#include "base/checked.h"
#include "base/mem.h"
#include "cluster/internal.h"

#define SLOT_US (CLUSTER_REFUSALS_US / CLUSTER_REFUSAL_SLOTS)
/* The slot that the time asked for begins in, and the next one, which clocks may be ahead to. */
#define SLOTS (CLUSTER_REFUSAL_SLOTS + 2)

struct refusal_event {
	uint64_t key; /* 0: free */
	int64_t count;
};

struct refusal_slot {
	int64_t number; /* of the stretch of time */
	int64_t n;
};

struct refusals {
	struct refusal_event events[CLUSTER_REFUSAL_EVENTS];
	struct refusal_slot slots[SLOTS];
};

static struct refusals *refusals_of(struct namespace_record *record)
{
	if (!record->refusals)
		record->refusals = mem_alloc(sizeof(*record->refusals));
	return record->refusals;
}

static struct refusal_event *event_of(const struct cluster *cluster, struct refusals *refusals,
				      struct str uid)
{
	uint64_t key = hash_bytes(&cluster->key, uid.data, uid.len) | 1;
	struct refusal_event *event = &refusals->events[(key >> 1) % CLUSTER_REFUSAL_EVENTS];

	if (event->key != key)
		*event = (struct refusal_event){.key = key};
	return event;
}

/* How many more than the Event said before. One that counts down began anew. */
static int64_t more_of(const struct cluster *cluster, struct refusals *refusals,
		       const struct refusal_facts *facts)
{
	struct refusal_event *event = event_of(cluster, refusals, facts->uid);
	int64_t before = event->count;

	event->count = facts->count;
	return before > 0 && before <= facts->count ? facts->count - before : 1;
}

static bool is_of_now(int64_t at_us, int64_t now_real_us)
{
	return at_us > now_real_us - CLUSTER_REFUSALS_US && at_us <= now_real_us + SLOT_US;
}

/* Of the stretch of time of this number; what it held of another is forgotten. */
static struct refusal_slot *slot_of(struct refusals *refusals, int64_t number)
{
	struct refusal_slot *slot = &refusals->slots[number % SLOTS];

	if (slot->number != number)
		*slot = (struct refusal_slot){.number = number};
	return slot;
}

void cluster_apply_refusal(struct cluster *cluster, const struct refusal_facts *facts,
			   int64_t now_real_us)
{
	uint32_t namespace = namespace_find(cluster, facts->namespace);
	struct refusals *refusals;
	struct refusal_slot *slot;
	int64_t more;

	if (!facts->ours || namespace == TABLE_NONE)
		return;
	refusals = refusals_of(namespace_at(cluster, namespace));
	more = more_of(cluster, refusals, facts);
	if (!is_of_now(facts->last_us, now_real_us))
		return;
	slot = slot_of(refusals, facts->last_us / SLOT_US);
	slot->n = saturating_add(slot->n, more);
}

size_t refusals_bytes(const struct cluster *cluster)
{
	const struct table *namespaces = &cluster->namespaces;
	size_t bytes = 0;

	for (uint32_t h = table_next(namespaces, 0); h != TABLE_NONE;
	     h = table_next(namespaces, h + 1))
		if (namespace_at(cluster, h)->refusals)
			bytes += sizeof(struct refusals);
	return bytes;
}

int64_t cluster_refusals(const struct cluster *cluster, uint32_t namespace, int64_t now_real_us)
{
	const struct refusals *refusals = namespace_at(cluster, namespace)->refusals;
	int64_t first = (now_real_us - CLUSTER_REFUSALS_US) / SLOT_US + 1, n = 0;

	for (size_t i = 0; refusals && i < SLOTS; i++)
		if (refusals->slots[i].number >= first)
			n = saturating_add(n, refusals->slots[i].n);
	return n;
}
