/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One watch: a phase (what is under way, or comes when the wait is over) and what has to be known
 * to go on from there. Two rules carry the rest. What was seen in a broken full state may have
 * been deleted since, so only a page of the same snapshot is asked for again; all else begins
 * anew. And the version moves forward only by what the server said after the full state.
 */
#include "ctl/watch.h"

#include <string.h>

#include "base/buf.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/random.h"
#include "ctl/backoff.h"
#include "ctl/version.h"

/* client-go, tools/cache/reflector.go */
#define TIMEOUT_MIN_US   (5 * USEC_PER_MIN)
#define BACKOFF_BASE_US  (800 * USEC_PER_MSEC)
#define BACKOFF_CAP_US   (30 * USEC_PER_SEC)
#define BACKOFF_RESET_US (2 * USEC_PER_MIN)
#define BACKOFF_JITTER   1.0
#define VERY_SHORT_US    USEC_PER_SEC

/* Streams that end before they were asked to do so at the same moment in all clients. */
#define SPREAD_US USEC_PER_SEC
/* Likewise, of those that one server lets in again. */
#define HURRY_US (USEC_PER_SEC / 2)
/* A bound on what a confused server or proxy can make us wait. */
#define RETRY_AFTER_MAX_US (5 * USEC_PER_MIN)
#define RETRY_AFTER_JITTER 0.5
/* Something on the way may not let a stream through that a plain list passes. */
#define STREAM_BREAKS 3
/* 504s in a row without a word: perhaps the server does not know our version and cannot say so. */
#define SILENT_TIMEOUTS 3
/* How often a type that is not installed is looked for, and how many times in a row one that was
 * there must be missed: a proxy, or a server that has just begun, may not know it for a moment. */
#define ABSENT_US     (15 * USEC_PER_SEC)
#define ABSENT_JITTER 0.2
#define ABSENCES      3

enum phase { STREAMING, PAGING, WATCHING };

struct watch {
	struct random random;
	struct backoff backoff;
	enum phase phase;
	bool open;      /* a stream or request is under way; else wait_until_us holds */
	bool replacing; /* the caller was told BEGIN, and not yet END or ABORT */
	bool heard;     /* on the stream that is open */
	bool synced;
	bool refuses_streams;
	bool optional, absent; /* absent: the last full state was that there is no such type */
	bool faulted;          /* what is waited for is the end of a back-off */
	unsigned int stream_breaks, silent_timeouts, absences;
	int64_t wished_us; /* not before this, said the server then */
	int64_t wait_until_us, opened_us, timeout_us, last_heard_us;
	struct buf version, token; /* both travel in a URL, which bounds them */
	uint64_t begun, full_states;
};

struct watch *watch_new(uint64_t seed)
{
	struct watch *watch = mem_alloc(sizeof(*watch));

	random_init(&watch->random, seed);
	backoff_init(&watch->backoff, BACKOFF_BASE_US, BACKOFF_CAP_US, BACKOFF_JITTER,
		     BACKOFF_RESET_US);
	buf_init(&watch->version, LIMIT_HTTP_URL);
	buf_init(&watch->token, LIMIT_HTTP_URL);
	watch->phase = STREAMING;
	watch->wait_until_us = INT64_MIN;
	return watch;
}

void watch_free(struct watch *watch)
{
	if (!watch)
		return;
	buf_clear(&watch->version);
	buf_clear(&watch->token);
	mem_free(watch);
}

void watch_set_optional(struct watch *watch)
{
	watch->optional = true;
}

/* --- steps */

static const char *text_of(const struct buf *buf)
{
	return buf->len > 0 ? buf->data : "";
}

static void set_step(const struct watch *watch, enum watch_action action, struct watch_step *step)
{
	*step = (struct watch_step){
		.action = action,
		.wait_until_us = watch->wait_until_us,
		.timeout_us = watch->timeout_us,
		.resource_version = text_of(&watch->version),
		.continue_token = text_of(&watch->token),
	};
}

static void stay(const struct watch *watch, struct watch_step *step)
{
	set_step(watch, watch->open ? WATCH_CONTINUE : WATCH_WAIT, step);
}

static void wait(struct watch *watch, int64_t us, int64_t now_us, struct watch_step *step)
{
	watch->open = false;
	watch->wait_until_us = saturating_add(now_us, us);
	set_step(watch, WATCH_WAIT, step);
}

/* Opens what the phase says. A later page belongs to the list that its first page began. */
static void open_next(struct watch *watch, int64_t now_us, struct watch_step *step)
{
	static const enum watch_action actions[] = {
		[STREAMING] = WATCH_STREAM_LIST,
		[PAGING] = WATCH_LIST_PAGE,
		[WATCHING] = WATCH_WATCH,
	};

	if (watch->phase != PAGING || watch->token.len == 0)
		watch->begun++;
	watch->open = true;
	watch->faulted = false;
	watch->heard = false;
	watch->opened_us = now_us;
	watch->timeout_us = random_jitter(&watch->random, TIMEOUT_MIN_US, 1.0);
	set_step(watch, actions[watch->phase], step);
	if (watch->phase != WATCHING && !watch->replacing) {
		watch->replacing = true;
		watch->full_states++;
		step->effect = WATCH_EFFECT_BEGIN_REPLACE;
	}
}

/* --- what is tried next after a fault */

static void fail(struct watch *watch, const struct error *err, int64_t now_us,
		 struct watch_step *step)
{
	int64_t delay_us = backoff_fail(&watch->backoff, now_us, &watch->random);
	int64_t wish_us = err ? MIN(err->retry_after_us, RETRY_AFTER_MAX_US) : 0;

	if (wish_us > 0)
		wish_us = random_jitter(&watch->random, wish_us, RETRY_AFTER_JITTER);
	watch->faulted = true;
	watch->wished_us = saturating_add(now_us, wish_us);
	wait(watch, MAX(delay_us, wish_us), now_us, step);
}

/* What comes next is a full state. */
static void begin_anew(struct watch *watch)
{
	bool paged = watch->refuses_streams || watch->stream_breaks >= STREAM_BREAKS;

	watch->phase = paged ? PAGING : STREAMING;
	watch->replacing = false;
	watch->silent_timeouts = 0;
	buf_reset(&watch->version);
	buf_reset(&watch->token);
}

/* As fail(), and what comes then is a full state. */
static void fail_and_relist(struct watch *watch, const struct error *err, int64_t now_us,
			    struct watch_step *step)
{
	bool aborts = watch->replacing;

	begin_anew(watch);
	fail(watch, err, now_us, step);
	if (aborts)
		step->effect = WATCH_EFFECT_ABORT_REPLACE;
}

static bool is_refusal(const struct error *err)
{
	return err && err->kind == ERROR_INVALID &&
	       (err->http_status == 400 || err->http_status == 422);
}

/* Faults after which the same request, byte for byte, may succeed. */
static bool is_passing(const struct error *err)
{
	return err && (err->kind == ERROR_UNAVAILABLE || err->kind == ERROR_TIMEOUT ||
		       err->kind == ERROR_THROTTLED || err->kind == ERROR_UNAUTHORIZED ||
		       err->kind == ERROR_SYSTEM);
}

/* Faults that say that what a stream carries, or its length, is what does not get through. */
static bool is_of_the_stream(const struct error *err)
{
	return !err || err->kind == ERROR_TIMEOUT || err->kind == ERROR_INVALID ||
	       err->kind == ERROR_LIMIT;
}

/* The server knows no such type. A list or stream says so at its beginning or not at all. */
static bool is_missed(const struct watch *watch, const struct error *err)
{
	return watch->optional && err && err->kind == ERROR_NOT_FOUND && !watch->heard &&
	       watch->token.len == 0;
}

/* What is empty is complete. It is neither a restart nor a relist: nothing was read. */
static void type_is_absent(struct watch *watch, int64_t now_us, struct watch_step *step)
{
	watch->absent = true;
	watch->synced = true;
	watch->replacing = false;
	watch->phase = STREAMING;
	watch->refuses_streams = false;
	watch->stream_breaks = 0;
	watch->last_heard_us = now_us;
	watch->begun--;
	watch->full_states--;
	wait(watch, random_jitter(&watch->random, ABSENT_US, ABSENT_JITTER), now_us, step);
	step->effect = WATCH_EFFECT_END_REPLACE;
}

/* True: it is believed, and the step is taken. */
static bool believe_absent(struct watch *watch, const struct error *err, int64_t now_us,
			   struct watch_step *step)
{
	bool was_there = watch->synced && !watch->absent;

	if (!is_missed(watch, err)) {
		watch->absences = 0;
		return false;
	}
	if (++watch->absences < ABSENCES && was_there)
		return false;
	type_is_absent(watch, now_us, step);
	return true;
}

static void stream_list_failed(struct watch *watch, const struct error *err, int64_t now_us,
			       struct watch_step *step)
{
	if (is_refusal(err) && !watch->heard) {
		/* Nothing was seen, so the replacement that has begun is still good for the list.
		 */
		watch->refuses_streams = true;
		watch->phase = PAGING;
		watch->begun--;
		open_next(watch, now_us, step);
		return;
	}
	if (is_of_the_stream(err))
		watch->stream_breaks++;
	fail_and_relist(watch, err, now_us, step);
}

static void page_failed(struct watch *watch, const struct error *err, int64_t now_us,
			struct watch_step *step)
{
	/* Pages after the first are of one snapshot; another first page would be of another. */
	if (watch->token.len > 0 && is_passing(err))
		fail(watch, err, now_us, step);
	else
		fail_and_relist(watch, err, now_us, step);
}

static bool version_is_lost(struct watch *watch, const struct error *err)
{
	if (!err)
		return false;
	if (err->kind == ERROR_TIMEOUT && err->http_status == 504 && !watch->heard)
		return ++watch->silent_timeouts >= SILENT_TIMEOUTS;
	return err->kind == ERROR_EXPIRED || err->kind == ERROR_NOT_FOUND || is_refusal(err);
}

void watch_on_failed(struct watch *watch, const struct error *err, int64_t now_us,
		     struct watch_step *ret_step)
{
	if (!watch->open)
		stay(watch, ret_step);
	else if (watch->phase != WATCHING && believe_absent(watch, err, now_us, ret_step))
		return;
	else if (watch->phase == STREAMING)
		stream_list_failed(watch, err, now_us, ret_step);
	else if (watch->phase == PAGING)
		page_failed(watch, err, now_us, ret_step);
	else if (version_is_lost(watch, err))
		fail_and_relist(watch, err, now_us, ret_step);
	else
		fail(watch, err, now_us, ret_step);
}

void watch_on_ended(struct watch *watch, int64_t now_us, struct watch_step *ret_step)
{
	int64_t lived_us = saturating_sub(now_us, watch->opened_us);

	if (!watch->open || watch->phase != WATCHING)
		watch_on_failed(watch, NULL, now_us, ret_step);
	else if (lived_us < VERY_SHORT_US && !watch->heard)
		fail(watch, NULL, now_us, ret_step);
	else if (lived_us < watch->timeout_us - VERY_SHORT_US)
		wait(watch, (int64_t)random_below(&watch->random, SPREAD_US), now_us, ret_step);
	else
		open_next(watch, now_us, ret_step);
}

/* --- what arrives */

static bool set_text(struct buf *buf, const char *text)
{
	buf_reset(buf);
	return buf_add_cstr(buf, text);
}

static void list_is_complete(struct watch *watch)
{
	watch->phase = WATCHING;
	watch->replacing = false;
	watch->synced = true;
	watch->absent = false;
	watch->absences = 0;
	watch->stream_breaks = 0;
	buf_reset(&watch->token);
}

static void watched(struct watch *watch, const char *version, int64_t now_us,
		    struct watch_step *step)
{
	if (version[0] == '\0') {
		stay(watch, step);
		return;
	}
	/* A server that went back (restored from a backup) has changes that we shall never see. */
	if (version_is_older(str_from(version), buf_str(&watch->version)) ||
	    !set_text(&watch->version, version)) {
		fail_and_relist(watch, NULL, now_us, step);
		return;
	}
	stay(watch, step);
}

static void streamed(struct watch *watch, const char *version, bool ends, int64_t now_us,
		     struct watch_step *step)
{
	if (!ends) {
		stay(watch, step);
		return;
	}
	if (version[0] == '\0' || !set_text(&watch->version, version)) {
		watch_on_failed(watch, NULL, now_us, step);
		return;
	}
	list_is_complete(watch);
	stay(watch, step);
	step->effect = WATCH_EFFECT_END_REPLACE;
}

/* size: an event is these four facts; a struct around them would be built for every event */
void watch_on_event(struct watch *watch, enum watch_event_type type, const char *resource_version,
		    bool initial_events_end, int64_t now_us, struct watch_step *ret_step)
{
	const char *version = resource_version ? resource_version : "";

	if (!watch->open || watch->phase == PAGING) {
		stay(watch, ret_step);
		return;
	}
	watch->heard = true;
	watch->last_heard_us = now_us;
	watch->silent_timeouts = 0;
	if (type == WATCH_ERROR)
		watch_on_failed(watch, NULL, now_us, ret_step);
	else if (watch->phase == STREAMING)
		streamed(watch, version, type == WATCH_BOOKMARK && initial_events_end, now_us,
			 ret_step);
	else
		watched(watch, version, now_us, ret_step);
}

/* Goes on with the page after @token; one that was there before would go round in circles. */
static void next_page(struct watch *watch, const char *token, int64_t now_us,
		      struct watch_step *step)
{
	if (strcmp(token, text_of(&watch->token)) == 0 || !set_text(&watch->token, token))
		fail_and_relist(watch, NULL, now_us, step);
	else
		open_next(watch, now_us, step);
}

void watch_on_page(struct watch *watch, const char *resource_version, const char *continue_token,
		   int64_t now_us, struct watch_step *ret_step)
{
	const char *version = resource_version ? resource_version : "";
	const char *token = continue_token ? continue_token : "";

	if (!watch->open || watch->phase != PAGING) {
		stay(watch, ret_step);
		return;
	}
	watch->last_heard_us = now_us;
	/* The first page's version: were later ones newer, changes to its objects would be lost. */
	if (watch->token.len == 0 && (version[0] == '\0' || !set_text(&watch->version, version))) {
		fail_and_relist(watch, NULL, now_us, ret_step);
		return;
	}
	if (token[0] != '\0') {
		next_page(watch, token, now_us, ret_step);
		return;
	}
	list_is_complete(watch);
	watch->begun--; /* this watch belongs to the list */
	open_next(watch, now_us, ret_step);
	ret_step->effect = WATCH_EFFECT_END_REPLACE;
}

bool watch_relist(struct watch *watch, int64_t now_us, struct watch_step *ret_step)
{
	bool open = watch->open;

	if (watch->phase != WATCHING)
		return false;
	begin_anew(watch);
	if (open)
		wait(watch, 0, now_us, ret_step);
	return open;
}

bool watch_read_anew(struct watch *watch, int64_t now_us, struct watch_step *ret_step)
{
	bool open = watch->open, aborts = watch->replacing;

	begin_anew(watch);
	if (open)
		wait(watch, 0, now_us, ret_step);
	else
		stay(watch, ret_step);
	if (aborts)
		ret_step->effect = WATCH_EFFECT_ABORT_REPLACE;
	return open || aborts;
}

bool watch_hurry(struct watch *watch, int64_t now_us, struct watch_step *ret_step)
{
	int64_t until_us = now_us + (int64_t)random_below(&watch->random, HURRY_US);

	until_us = MAX(until_us, watch->wished_us);
	if (watch->open || !watch->faulted || until_us >= watch->wait_until_us)
		return false;
	watch->wait_until_us = until_us;
	stay(watch, ret_step);
	return true;
}

/* --- looking */

void watch_next(struct watch *watch, int64_t now_us, struct watch_step *ret_step)
{
	if (watch->open || now_us < watch->wait_until_us)
		stay(watch, ret_step);
	else
		open_next(watch, now_us, ret_step);
}

bool watch_synced(const struct watch *watch)
{
	return watch->synced;
}

bool watch_absent(const struct watch *watch)
{
	return watch->absent;
}

int64_t watch_last_heard_us(const struct watch *watch)
{
	return watch->last_heard_us;
}

uint64_t watch_restarts(const struct watch *watch)
{
	return watch->begun > 0 ? watch->begun - 1 : 0;
}

uint64_t watch_relists(const struct watch *watch)
{
	return watch->full_states > 0 ? watch->full_states - 1 : 0;
}
