/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every key that the queue has to remember is one item with one due time. An item stands in one
 * of four places: in the heap of delayed ones, in the list of ready ones, in processing (where a
 * due time means "again, once done"), or nowhere, when only its failures are kept.
 */
#include "ctl/queue.h"

#include <assert.h>
#include <limits.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/table.h"
#include "ctl/backoff.h"

struct item {
	struct list ready;
	struct heap_entry delayed;
	int64_t due_us;   /* TIME_NEVER: not wanted */
	int64_t ready_us; /* while in the ready list: since when */
	uint32_t key;
	uint32_t handle; /* in queue->items */
	unsigned int failures;
	bool processing;
	bool dropped; /* during this processing, and not added since */
};

struct queue {
	struct queue_options options;
	struct random random;
	struct map index;   /* key to handle */
	struct table items; /* of struct item *: list and heap need addresses that stay */
	struct list ready;
	struct heap delayed;
	size_t wanted, processing;
};

struct queue *queue_new(const struct queue_options *options, uint64_t seed)
{
	struct queue *queue = mem_alloc(sizeof(*queue));

	assert(options->backoff_base_us > 0 && options->backoff_base_us <= options->backoff_cap_us);
	queue->options = *options;
	random_init(&queue->random, seed);
	table_init(&queue->items, sizeof(struct item *));
	list_init(&queue->ready);
	return queue;
}

static struct item *item_at(const struct queue *queue, uint32_t handle)
{
	return *(struct item **)table_at(&queue->items, handle);
}

void queue_free(struct queue *queue)
{
	if (!queue)
		return;
	heap_clear(&queue->delayed); /* touches the items */
	for (uint32_t h = table_next(&queue->items, 0); h != TABLE_NONE;
	     h = table_next(&queue->items, h + 1))
		mem_free(item_at(queue, h));
	table_clear(&queue->items);
	map_clear(&queue->index);
	mem_free(queue);
}

/* Keys are our own handles, no tenant chooses them: mixing is enough (MurmurHash3's finaliser). */
static uint32_t key_hash(uint32_t key)
{
	key = (key ^ (key >> 16)) * 0x85ebca6bu;
	key = (key ^ (key >> 13)) * 0xc2b2ae35u;
	return key ^ (key >> 16);
}

static bool item_has_key(const void *context, uint32_t handle, const void *key)
{
	return item_at(context, handle)->key == *(const uint32_t *)key;
}

static struct item *find(const struct queue *queue, uint32_t key)
{
	uint32_t handle = map_find(&queue->index, key_hash(key), item_has_key, queue, &key);

	return handle == MAP_NONE ? NULL : item_at(queue, handle);
}

static struct item *find_or_make(struct queue *queue, uint32_t key)
{
	struct item *item = find(queue, key);

	if (item)
		return item;
	item = mem_alloc(sizeof(*item));
	item->key = key;
	item->due_us = TIME_NEVER;
	item->handle = table_add(&queue->items);
	*(struct item **)table_at(&queue->items, item->handle) = item;
	map_insert(&queue->index, key_hash(key), item->handle);
	return item;
}

static void release_if_idle(struct queue *queue, struct item *item)
{
	if (item->due_us != TIME_NEVER || item->processing || item->failures > 0)
		return;
	map_remove(&queue->index, key_hash(item->key), item->handle);
	table_remove(&queue->items, item->handle);
	mem_free(item);
}

static void make_ready(struct queue *queue, struct item *item, int64_t since_us)
{
	heap_remove(&queue->delayed, &item->delayed);
	item->ready_us = since_us;
	list_append(&queue->ready, &item->ready);
}

/* Before anything else becomes ready: what was due earlier stands before it. */
static void promote_due(struct queue *queue, int64_t now_us)
{
	struct heap_entry *first;

	while ((first = heap_first(&queue->delayed)) && first->due_us <= now_us)
		make_ready(queue, container_of(first, struct item, delayed), first->due_us);
}

/* Puts a wanted item that is not processed where its due time says. */
static void place(struct queue *queue, struct item *item, int64_t now_us)
{
	if (item->due_us > now_us)
		heap_set(&queue->delayed, &item->delayed, item->due_us);
	else
		make_ready(queue, item, now_us);
}

static void want(struct queue *queue, struct item *item, int64_t due_us, int64_t now_us)
{
	promote_due(queue, now_us);
	if (due_us >= item->due_us || list_linked(&item->ready))
		return;
	if (item->due_us == TIME_NEVER)
		queue->wanted++;
	item->due_us = due_us;
	if (!item->processing)
		place(queue, item, now_us);
}

static void unwant(struct queue *queue, struct item *item)
{
	if (item->due_us == TIME_NEVER)
		return;
	list_unlink(&item->ready);
	heap_remove(&queue->delayed, &item->delayed);
	item->due_us = TIME_NEVER;
	queue->wanted--;
}

void queue_add(struct queue *queue, uint32_t key, int64_t now_us)
{
	queue_add_at(queue, key, now_us, now_us);
}

void queue_add_at(struct queue *queue, uint32_t key, int64_t due_us, int64_t now_us)
{
	struct item *item;

	if (due_us == TIME_NEVER)
		return;
	item = find_or_make(queue, key);
	item->dropped = false;
	want(queue, item, MAX(due_us, now_us), now_us);
}

void queue_add_failed(struct queue *queue, uint32_t key, int64_t at_least_us, int64_t now_us)
{
	const struct queue_options *options = &queue->options;
	struct item *item = find_or_make(queue, key);
	int64_t delay_us;

	if (item->dropped)
		return;
	if (item->failures < UINT_MAX)
		item->failures++;
	delay_us = backoff_delay(options->backoff_base_us, options->backoff_cap_us, item->failures);
	/* A Retry-After is jittered too: it was told to many at the same moment. */
	delay_us =
		random_jitter(&queue->random, MAX(delay_us, at_least_us), options->backoff_jitter);
	want(queue, item, MIN(saturating_add(now_us, delay_us), TIME_NEVER - 1), now_us);
}

void queue_forget(struct queue *queue, uint32_t key)
{
	struct item *item = find(queue, key);

	if (!item)
		return;
	item->failures = 0;
	release_if_idle(queue, item);
}

void queue_drop(struct queue *queue, uint32_t key)
{
	struct item *item = find(queue, key);

	if (!item)
		return;
	unwant(queue, item);
	item->failures = 0;
	item->dropped = item->processing;
	release_if_idle(queue, item);
}

enum queue_outcome queue_take(struct queue *queue, int64_t now_us, uint32_t *ret_key,
			      int64_t *ret_waited_us)
{
	struct list *first;
	struct item *item;

	promote_due(queue, now_us);
	first = list_first(&queue->ready);
	if (!first)
		return QUEUE_EMPTY;
	item = container_of(first, struct item, ready);
	unwant(queue, item);
	item->processing = true;
	queue->processing++;
	*ret_key = item->key;
	if (ret_waited_us)
		*ret_waited_us = now_us - item->ready_us;
	return QUEUE_KEY;
}

void queue_done(struct queue *queue, uint32_t key, int64_t now_us)
{
	struct item *item = find(queue, key);

	assert(item && item->processing);
	item->processing = item->dropped = false;
	queue->processing--;
	promote_due(queue, now_us);
	if (item->due_us != TIME_NEVER)
		place(queue, item, now_us);
	else
		release_if_idle(queue, item);
}

int64_t queue_next_due(const struct queue *queue, int64_t now_us)
{
	const struct heap_entry *first = heap_first(&queue->delayed);

	if (!list_empty(&queue->ready))
		return now_us;
	return first ? MAX(first->due_us, now_us) : TIME_NEVER;
}

size_t queue_depth(const struct queue *queue)
{
	return queue->wanted;
}

size_t queue_processing(const struct queue *queue)
{
	return queue->processing;
}

unsigned int queue_failures(const struct queue *queue, uint32_t key)
{
	const struct item *item = find(queue, key);

	return item ? item->failures : 0;
}
