/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of Events in a table of fixed size, by hash; counts of namespaces in slots of time. A slot
 * that holds a time of long ago is empty.
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

static struct refusal_event *event_of(struct cluster *cluster, struct str uid)
{
	uint64_t key = hash_bytes(&cluster->key, uid.data, uid.len) | 1;
	struct refusal_event *event;

	if (!cluster->refusal_events)
		cluster->refusal_events = mem_alloc_array(CLUSTER_REFUSAL_EVENTS, sizeof(*event));
	event = &cluster->refusal_events[(key >> 1) % CLUSTER_REFUSAL_EVENTS];
	if (event->key != key)
		*event = (struct refusal_event){.key = key};
	return event;
}

/* How many more than the Event said before. One that counts down began anew. */
static int64_t more_of(struct cluster *cluster, const struct refusal_facts *facts)
{
	struct refusal_event *event = event_of(cluster, facts->uid);
	int64_t before = event->count;

	event->count = facts->count;
	return before > 0 && before <= facts->count ? facts->count - before : 1;
}

static bool is_of_now(int64_t at_us, int64_t now_real_us)
{
	return at_us > now_real_us - CLUSTER_REFUSALS_US && at_us <= now_real_us + SLOT_US;
}

/* Of the stretch of time of this number; what it held of another is forgotten. */
static struct refusal_slot *slot_of(struct namespace_record *record, int64_t number)
{
	struct refusal_slot *slot;

	if (!record->refusals)
		record->refusals = mem_alloc_array(SLOTS, sizeof(*record->refusals));
	slot = &record->refusals[number % SLOTS];
	if (slot->number != number)
		*slot = (struct refusal_slot){.number = number};
	return slot;
}

void cluster_apply_refusal(struct cluster *cluster, const struct refusal_facts *facts,
			   int64_t now_real_us)
{
	uint32_t namespace = namespace_find(cluster, facts->namespace);
	struct refusal_slot *slot;
	int64_t more;

	if (!facts->ours || namespace == TABLE_NONE)
		return;
	more = more_of(cluster, facts);
	if (!is_of_now(facts->last_us, now_real_us))
		return;
	slot = slot_of(namespace_at(cluster, namespace), facts->last_us / SLOT_US);
	slot->n = saturating_add(slot->n, more);
}

int64_t cluster_refusals(const struct cluster *cluster, uint32_t namespace, int64_t now_real_us)
{
	const struct refusal_slot *slots = namespace_at(cluster, namespace)->refusals;
	int64_t first = (now_real_us - CLUSTER_REFUSALS_US) / SLOT_US + 1, n = 0;

	for (size_t i = 0; slots && i < SLOTS; i++)
		if (slots[i].number >= first)
			n = saturating_add(n, slots[i].n);
	return n;
}
