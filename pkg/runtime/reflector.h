/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_RUNTIME_REFLECTOR_H
#define GPUQOS_RUNTIME_REFLECTOR_H

#include "base/arena.h"
#include "kube/client.h"

/*
 * Keeps a store equal to one resource of the API server: ctl/watch.h decides, this file does.
 * Objects are decoded through the type's schema as their bytes arrive, one at a time in one arena,
 * and handed to the sink, which packs them into its own records at once.
 */
struct reflector_sink {
	void (*begin_replace)(void *context);
	void (*end_replace)(void *context);
	void (*abort_replace)(void *context);
	/* @object: the type's wire struct, borrowed for the call, as is @arena. An error is counted
	 * and logged by name, and the watch goes on. */
	int (*apply)(void *context, const void *object, struct arena *arena, struct error *err);
	/* Instead, where the object cannot be decoded, or apply refused it, @why: it exists, and so
	 * it must not count as gone. Of @object what the outline of its type has (api/type.h). May
	 * be NULL. */
	int (*outline)(void *context, const void *object, const char *why, struct arena *arena,
		       struct error *err);
	/* Of @object the plain metadata alone: no object is too large to go. */
	int (*remove)(void *context, const void *object, struct arena *arena, struct error *err);
	/* The server has taken a watch. May be NULL. */
	void (*opened)(void *context);
	/* A full state is complete for the first time. May be NULL. */
	void (*synced)(void *context);
	void *context;
};

struct reflector_options {
	const struct api_type *type;
	struct str namespace;                        /* empty: all; borrowed for life */
	const char *field_selector, *label_selector; /* borrowed for life, or NULL */
	struct reflector_sink sink;
	/* The type may not be installed: it is then an empty kind, complete, and looked for again
	 * (ctl/watch.h). Others fail, and are never complete before they are there. */
	bool optional;
	uint64_t seed;   /* spreads back-offs and time-outs */
	struct log *log; /* may be NULL: failures of the connection and objects that cannot be read,
			    once each state */
};

struct reflector;

/* @client is borrowed for life; nothing is asked of it before reflector_start(). */
struct reflector *reflector_new(struct kube_client *client,
				const struct reflector_options *options);
void reflector_free(struct reflector *reflector);
void reflector_start(struct reflector *reflector);

/* The sink wants a full state, now: what it kept of objects is not enough any more. Nothing happens
 * where one is under way. Not from within the sink. */
void reflector_relist(struct reflector *reflector);
/* As that, and one that is under way begins anew: what it shows may be from before now. */
void reflector_read_anew(struct reflector *reflector);

/* Another watch was taken: one that waits after a fault comes back soon. */
void reflector_hurry(struct reflector *reflector);

struct reflector_stats {
	bool synced, absent;   /* absent: synced as empty, since the type is not installed */
	int64_t last_heard_us; /* monotonic; 0: never */
	/* Monotonic: since when the sink is shown all that changes, once it was shown all that is;
	 * what changed before follows at once. 0: it is not. */
	int64_t current_us;
	uint64_t restarts, relists, objects, unreadable;
	struct error last_error; /* kind NONE when the watch is up */
};

void reflector_stats(const struct reflector *reflector, struct reflector_stats *ret_stats);
/* Borrowed, static. */
const struct api_type *reflector_type(const struct reflector *reflector);
DEFINE_CLEANUP(struct reflector *, reflector_free)

#endif
