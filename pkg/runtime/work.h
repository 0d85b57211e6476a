/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_RUNTIME_WORK_H
#define GPUQOS_RUNTIME_WORK_H

#include "base/limits.h"
#include "base/metrics.h"
#include "ctl/queue.h"
#include "kube/client.h"

/*
 * Reconciles: takes keys from a work queue, one per loop turn, asks for their writes and sends
 * these in order, each when the one before it is answered, one set per key in flight. All done, or
 * one failed: the key is done, and queued again by what came of it (a change seen by a watch, a
 * back-off after a failure, a time the decision named). A write that the server refuses for good,
 * INVALID or FORBIDDEN, is a failure too, but the others of the set are sent all the same.
 * Reconcilers read state and return intent; how a write went is told to `written`, for what no
 * watch will show.
 */
struct work_write {
	enum kube_verb verb; /* CREATE, UPDATE, APPLY, MERGE_PATCH, DELETE */
	const struct api_type *type;
	char namespace[LIMIT_NAME + 1], name[LIMIT_NAME + 1];
	const char *subresource; /* static or NULL */
	char *body;              /* owned: JSON, mem_free() */
	size_t body_len;
	bool missing_is_fine; /* NOT_FOUND counts as done: a delete of what is gone */
	bool exists_is_fine;  /* likewise EXISTS: a create of what bears a name of its own */
	/* An eviction, say: that it fails is for `written` to judge, and neither holds up the
	 * writes behind it nor makes its key fail. Unless the server does not answer at all. */
	bool may_fail;
	/* What is written behind it must not be where this was not: a refusal, or a 500, ends the
	 * set. */
	bool required;
	/* The write behind it is sent without waiting for its answer, and may be done first. Not
	 * where it is required. */
	bool unawaited;
	const char *field_manager; /* static or NULL: the controller's (kube/client.h) */
	const char *reason;        /* static or NULL; why, for `written` */
	char uid[LIMIT_NAME + 1];  /* of the object that is meant; for `written` */
};

struct work_set {
	struct work_write writes[LIMIT_WRITES_PER_RECONCILE];
	size_t n_writes;
	int64_t look_again_us; /* monotonic; TIME_NEVER for none */
};

void work_set_clear(struct work_set *set);
/* The next write of the set, zeroed and borrowed. Asserts that there is room, and that names are no
 * longer than LIMIT_NAME. */
struct work_write *work_set_add(struct work_set *set, enum kube_verb verb,
				const struct api_type *type, struct str namespace, struct str name);

/* Cut to what a uid can be. */
void work_write_set_uid(struct work_write *write, struct str uid);

struct work_options {
	const char *name; /* of the controller, for metrics */
	/* Gather and decide. 0 with writes (or none) in @set, -1 with @err: backed off. */
	int (*reconcile)(void *context, uint32_t key, struct work_set *set, struct error *err);
	/* A write of @key was answered (err NULL) or failed: for expectations. @answer is the
	 * object as stored; NULL where it failed, or its object is gone and that is fine. May be
	 * NULL. */
	void (*written)(void *context, uint32_t key, const struct work_write *write,
			const struct kube_answer *answer, const struct error *err);
	void (*describe)(void *context, uint32_t key, struct buf *text); /* the key for the log */
	void *context;
	struct log *log;         /* borrowed; NULL: silent */
	struct metrics *metrics; /* borrowed; NULL: not measured. Several may share it */
	uint64_t seed;           /* of the back-off's jitter */
};

struct work;

/* @client and all that @options point to are borrowed for life; so are those of a work whose sets
 * are in flight, until the client has told how they ended. */
struct work *work_new(struct kube_client *client, const struct work_options *options);
void work_free(struct work *work);

/* Reconciles run only between start and stop: this replica leads and its caches are full. Stop lets
 * go of sets in flight. */
void work_start(struct work *work);
void work_stop(struct work *work);
bool work_running(const struct work *work);

void work_add(struct work *work, uint32_t key);
void work_add_at(struct work *work, uint32_t key, int64_t due_us); /* as queue_add_at() */
void work_drop(struct work *work, uint32_t key);                   /* as queue_drop() */
size_t work_depth(const struct work *work);                        /* as queue_depth() */
bool work_due(const struct work *work); /* a key is ready and waits for a turn, or is in flight */
/* Monotonic: when a key was last taken or done, or became due where none was. */
int64_t work_last_progress_us(const struct work *work);
DEFINE_CLEANUP(struct work *, work_free)

#endif
