/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CTL_WATCH_H
#define GPUQOS_CTL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macros.h"

/*
 * The watch of one resource as a state machine: what happened goes in, what to do next comes out.
 * It never touches a socket, so that every order of faults can be tried in a unit test.
 *
 *   START ──► STREAM_LIST (sendInitialEvents) ──bookmark "initial-events-end"──► WATCH ◄─┐
 *                 │ refused (400, 422): remembered; or broken 3 times in a row     ▲  │  │
 *                 ▼                                                                │  └──┘
 *             LIST_PAGE ──last page────────────────────────────────────────────────┘
 *
 * A WATCH that ends, is cut, or is answered 429 or 5xx goes on from the last version. Expired (410,
 * ERROR event), a version that the server does not know or that went back, 404: a new full state.
 * Full states are always the most recent ones (resourceVersion ""), so the store never goes back in
 * time; from 1.31 on the server answers them from its cache.
 *
 * Every fault is retried for ever, with back-off: rights may be granted and kinds installed later.
 * Protocol: Kubernetes API concepts, "Efficient detection of changes"; constants are client-go's
 * reflector (watch time-out random 5 to 10 min, back-off 800 ms doubling to 30 s, each with up to
 * as much again, starting over after 2 quiet minutes). Times are monotonic µs.
 */
enum watch_action {
	WATCH_STREAM_LIST, /* watch with sendInitialEvents=true, resourceVersionMatch=NotOlderThan,
			      bookmarks, no resourceVersion */
	WATCH_LIST_PAGE,   /* GET a page, no resourceVersion; `continue_token` empty: the first */
	WATCH_WATCH,       /* open a watch with bookmarks from `resource_version` */
	WATCH_WAIT,        /* nothing before `wait_until_us`, then watch_next() */
	WATCH_CONTINUE,    /* the stream or request that is open goes on */
};

/* Events of the sink: how the caller's store has to treat what comes next. */
enum watch_effect {
	WATCH_EFFECT_NONE,
	WATCH_EFFECT_BEGIN_REPLACE, /* a new full state begins: mark everything as not seen */
	WATCH_EFFECT_END_REPLACE,   /* complete: drop what was not seen; the store is synced */
	WATCH_EFFECT_ABORT_REPLACE, /* it broke off: keep what there is, unmark */
};

/*
 * The effect comes before the action. A BEGIN is followed by exactly one END or ABORT. Any action
 * but CONTINUE ends the stream or request that was open.
 */
struct watch_step {
	enum watch_action action;
	enum watch_effect effect;
	int64_t wait_until_us; /* of WAIT */
	int64_t timeout_us;    /* of STREAM_LIST and WATCH: ask the server to end it after this */
	/* Never NULL; borrowed from the machine until its next step. */
	const char *resource_version, *continue_token;
};

enum watch_event_type { WATCH_ADDED, WATCH_MODIFIED, WATCH_DELETED, WATCH_BOOKMARK, WATCH_ERROR };

struct watch; /* opaque */

/* @seed spreads time-outs and back-offs of many watches and replicas. */
struct watch *watch_new(uint64_t seed);
void watch_free(struct watch *watch);
/*
 * Before the first step: the type may not be installed (a CRD, an API group). Then a list or stream
 * is answered 404, which counts as a full state of nothing (BEGIN, END and a WAIT of 15 to 18 s,
 * after which it is looked for again). A type that was there must be missed three times in a row.
 */
void watch_set_optional(struct watch *watch);

/* What to do first, and again whenever a WAIT is over. */
void watch_next(struct watch *watch, int64_t now_us, struct watch_step *ret_step);

/*
 * An object or bookmark arrived with this version; @initial_events_end as annotated on the
 * bookmark. The object is to be applied only when the action is CONTINUE: ask before applying.
 * ERROR events go to watch_on_failed() as typed error. An empty version is ignored.
 */
void watch_on_event(struct watch *watch, enum watch_event_type type, const char *resource_version,
		    bool initial_events_end, int64_t now_us, struct watch_step *ret_step);
/* A page was read whole. @continue_token empty: it was the last. Either may be NULL for "". */
void watch_on_page(struct watch *watch, const char *resource_version, const char *continue_token,
		   int64_t now_us, struct watch_step *ret_step);
/* The stream ended by itself. */
void watch_on_ended(struct watch *watch, int64_t now_us, struct watch_step *ret_step);
/*
 * The request or stream failed. What counts: EXPIRED (to be used too for a 504 with the cause
 * ResourceVersionTooLarge), INVALID with status 400 or 422 (refused), NOT_FOUND, and
 * retry_after_us, which is granted up to 5 minutes. NULL: nobody knows why.
 */
void watch_on_failed(struct watch *watch, const struct error *err, int64_t now_us,
		     struct watch_step *ret_step);

/*
 * The store wants a new full state of a watch that works: as if its version had expired. True: the
 * stream is to be ended and the step to be taken; false: nothing is to be done, since one is under
 * way, or comes when the wait is over.
 */
bool watch_relist(struct watch *watch, int64_t now_us, struct watch_step *ret_step);
/* As that, and a full state that is under way is given up for one that begins from now on: what it
 * shows may be from before. */
bool watch_read_anew(struct watch *watch, int64_t now_us, struct watch_step *ret_step);
/*
 * The server has just taken another watch: one that waits after a fault is to come back soon, and
 * not at the end of its own back-off, but not before the server wished. True: the wait is shorter
 * now.
 */
bool watch_hurry(struct watch *watch, int64_t now_us, struct watch_step *ret_step);

bool watch_synced(const struct watch *watch);           /* a full state was once complete */
bool watch_absent(const struct watch *watch);           /* optional, and not installed */
int64_t watch_last_heard_us(const struct watch *watch); /* event, bookmark, page; 0: none yet */
/* Streams and lists begun after the first; the watch that belongs to a paged list is not one. */
uint64_t watch_restarts(const struct watch *watch);
uint64_t watch_relists(const struct watch *watch); /* full states begun after the first */

DEFINE_CLEANUP(struct watch *, watch_free)

#endif
