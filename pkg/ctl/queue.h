/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CTL_QUEUE_H
#define GPUQOS_CTL_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/*
 * The work queue of a level-triggered controller: a set of 32-bit keys to be reconciled, with the
 * semantics of client-go's util/workqueue. A key waits at most once however often it is added; a
 * key added while it is being processed waits until queue_done() and is then handed out again;
 * nothing is handed out twice at the same time. Keys come in the order in which they became
 * ready: by addition, or by their due time. Failures back off per key: base * 2^(n-1), at most
 * the cap, with jitter; queue_forget() resets it.
 *
 * A key has one due time. Where client-go fires every delayed addition, two additions here become
 * the earlier one: a reconcile that still wants the later one asks for it again.
 *
 * Pure: time comes by parameter (monotonic µs), nothing is called back. All operations are
 * O(log n) in the delayed keys. A key that neither waits, nor is processed, nor has failures
 * takes no memory.
 */
struct queue;

struct queue_options {
	int64_t backoff_base_us; /* after the first failure; client-go: 5 ms */
	int64_t backoff_cap_us;  /* client-go: 1000 s; ours: 60 s, since an admin waits */
	double backoff_jitter;   /* 0.2: up to 20 % longer */
};

struct queue *queue_new(const struct queue_options *options, uint64_t seed);
void queue_free(struct queue *queue);

void queue_add(struct queue *queue, uint32_t key, int64_t now_us);
/*
 * Ready at @due_us; keeps the earlier of two dues. A key that is already ready stays ready.
 * TIME_NEVER adds nothing.
 */
void queue_add_at(struct queue *queue, uint32_t key, int64_t due_us, int64_t now_us);
/*
 * The processing of the key failed: counts that and adds the key after its back-off, at least
 * @at_least_us from now (a server's Retry-After; else 0). To be called before queue_done(); of no
 * effect when the key was dropped during this processing and not added since.
 */
void queue_add_failed(struct queue *queue, uint32_t key, int64_t at_least_us, int64_t now_us);
void queue_forget(struct queue *queue, uint32_t key);
/*
 * Drops a key whose object is gone: not waiting, not delayed, no failures; if it is being
 * processed it will not come again, unless it is added after this.
 */
void queue_drop(struct queue *queue, uint32_t key);

enum queue_outcome { QUEUE_KEY, QUEUE_EMPTY };
/*
 * The next key that is due; it is being processed until queue_done(). @ret_waited_us: how long it
 * was ready (may be NULL). Outputs are untouched when the queue is empty.
 */
enum queue_outcome queue_take(struct queue *queue, int64_t now_us, uint32_t *ret_key,
			      int64_t *ret_waited_us);
/* The key must have been taken and not been done. */
void queue_done(struct queue *queue, uint32_t key, int64_t now_us);

/*
 * When to look again: the earliest due of a delayed key, now when a key is ready, TIME_NEVER when
 * there is nothing. A key that was added while it is processed counts from its queue_done() on.
 */
int64_t queue_next_due(const struct queue *queue, int64_t now_us);

/* Keys that will be handed out: ready, delayed, or added while they are processed. */
size_t queue_depth(const struct queue *queue);
size_t queue_processing(const struct queue *queue); /* handed out and not done */
unsigned int queue_failures(const struct queue *queue, uint32_t key);

DEFINE_CLEANUP(struct queue *, queue_free)

#endif
