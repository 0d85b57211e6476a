/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was last seen of the Lease, whether we lead and until when, and what is under way. Work
 * goes in rounds: a write by what is known; if that fails, a read and another write; then rest.
 * Every entry first lets leading lapse, so that a suspended machine wakes up as no leader.
 */
#include "ctl/lease.h"

#include "base/buf.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/random.h"
#include "ctl/version.h"

/* client-go, tools/leaderelection: candidates wait up to this share longer. */
#define JITTER_FACTOR 1.2
/* After so many the server is asked no more before a rest, however often others win. */
#define READS_PER_ROUND 2

enum phase { IDLE, READING, CREATING, UPDATING, STOPPED };

struct lease {
	struct lease_options options;
	struct random random;
	enum phase phase;

	/* The Lease as last seen; a deleted one keeps its record. */
	bool known, exists;
	bool held; /* apart from the text, which may have been too long to keep */
	struct lease_record record;
	struct buf holder, version;
	int64_t changed_us; /* when the record was last seen to change */
	int64_t create_us;  /* when one that does not exist may be made */
	bool create_lost;   /* one of ours may still arrive at the server */

	bool leads;
	int64_t fence_us;

	int64_t retry_us, wait_until_us;
	unsigned int reads; /* in this round */
	bool doubtful;      /* a conflict said that what is known is not what is */
	bool overtaken;     /* the watch spoke while a GET was under way */
	bool renews;        /* the write under way was sent as a leader */
	bool releases;
	int64_t give_up_us; /* of the release */
	struct lease_record write;
};

static int check_options(const struct lease_options *o, struct error *err)
{
	if (!o->identity || o->identity[0] == '\0')
		return error_set(err, ERROR_INVALID, "a lease needs an identity");
	if (o->retry_period_us <= 0)
		return error_set(err, ERROR_INVALID, "the lease retry period must be positive");
	if ((double)o->renew_deadline_us <= JITTER_FACTOR * (double)o->retry_period_us)
		return error_set(err, ERROR_INVALID,
				 "the lease renew deadline must be more than %.1f times the retry "
				 "period",
				 JITTER_FACTOR);
	if (o->duration_us <= o->renew_deadline_us)
		return error_set(err, ERROR_INVALID,
				 "the lease duration must be more than the renew deadline");
	if (o->duration_us > INT32_MAX * USEC_PER_SEC)
		return error_set(err, ERROR_INVALID, "the lease duration is too long");
	return 0;
}

int lease_new(const struct lease_options *options, uint64_t seed, struct lease **ret_lease,
	      struct error *err)
{
	struct lease *lease;

	if (check_options(options, err) < 0)
		return -1;
	lease = mem_alloc(sizeof(*lease));
	lease->options = *options;
	lease->wait_until_us = lease->retry_us = INT64_MIN;
	random_init(&lease->random, seed);
	buf_init(&lease->holder, LIMIT_STRING);
	buf_init(&lease->version, LIMIT_NAME);
	*ret_lease = lease;
	return 0;
}

void lease_free(struct lease *lease)
{
	if (!lease)
		return;
	buf_clear(&lease->holder);
	buf_clear(&lease->version);
	mem_free(lease);
}

/* --- what is known of the Lease */

static bool is_ours(const struct lease *lease)
{
	return lease->held && !lease->holder.overflowed &&
	       str_equal(buf_str(&lease->holder), str_from(lease->options.identity));
}

/* How long the record gives its holder. */
static int64_t granted_us(const struct lease *lease)
{
	int64_t duration_us = lease->record.duration_s * USEC_PER_SEC;

	return duration_us > 0 ? duration_us : lease->options.duration_us;
}

/*
 * A record of ours that we did not see succeed. An update has the record before as precondition,
 * so it is as good as one; a create that was lost on its way may arrive when somebody else has led
 * meanwhile and the Lease was deleted again.
 */
static bool is_suspect(const struct lease *lease)
{
	return lease->create_lost && lease->record.transitions == 0 && !lease->leads;
}

/* When the Lease may be taken. */
static int64_t free_us(const struct lease *lease)
{
	if (!lease->exists)
		return lease->create_us;
	if (!lease->held || (is_ours(lease) && !is_suspect(lease)))
		return INT64_MIN;
	return saturating_add(lease->changed_us, granted_us(lease));
}

static void stop_leading(struct lease *lease)
{
	lease->leads = false;
	lease->fence_us = 0;
}

static void lapse(struct lease *lease, int64_t now_us)
{
	if (lease->leads && now_us >= lease->fence_us)
		stop_leading(lease);
}

static bool same_record(const struct lease *lease, const struct lease_record *seen)
{
	const struct lease_record *kept = &lease->record;

	return !lease->holder.overflowed && str_equal(buf_str(&lease->holder), seen->holder) &&
	       kept->duration_s == seen->duration_s && kept->transitions == seen->transitions &&
	       kept->acquire_us == seen->acquire_us && kept->renew_us == seen->renew_us;
}

static void set_text(struct buf *buf, struct str text)
{
	buf_reset(buf);
	buf_add_str(buf, text);
}

/*
 * Somebody may hold the deleted Lease and not know yet, even somebody whose record we never saw;
 * unless it is us.
 */
static bool observe_absence(struct lease *lease, int64_t now_us)
{
	bool changed = !lease->known || lease->exists;
	int64_t patience_us = MAX(granted_us(lease), lease->options.duration_us);

	if (!lease->known || lease->leads)
		lease->create_us = now_us;
	else if (lease->exists)
		lease->create_us = saturating_add(now_us, patience_us);
	lease->known = true;
	lease->exists = false;
	set_text(&lease->version, STR_NONE);
	stop_leading(lease);
	return changed;
}

/*
 * Takes over what was seen; true when the record changed. Whoever renews changes it, so other
 * writes to the object (labels) do not make a dead holder look alive.
 */
static bool observe(struct lease *lease, const struct lease_view *view, int64_t now_us)
{
	bool changed;

	lease->doubtful = false;
	if (!view->exists)
		return observe_absence(lease, now_us);
	changed = !lease->known || !lease->exists || !same_record(lease, &view->record);
	lease->known = lease->exists = true;
	set_text(&lease->version, view->resource_version);
	if (changed) {
		lease->record = view->record;
		lease->held = !str_empty(view->record.holder);
		set_text(&lease->holder, view->record.holder);
		lease->changed_us = now_us;
	}
	if (!is_ours(lease))
		stop_leading(lease);
	return changed;
}

/* Whether what is known is newer. */
static bool is_old(const struct lease *lease, const struct lease_view *view)
{
	return version_is_older(view->resource_version, buf_str(&lease->version));
}

/* --- steps */

static void set_step(const struct lease *lease, enum lease_action action, struct lease_step *step)
{
	*step = (struct lease_step){
		.action = action,
		.record = lease->write,
		.resource_version = buf_str(&lease->version),
		.wait_until_us = lease->wait_until_us,
		.leads = lease->leads,
		.fence_us = lease->fence_us,
	};
}

static void set_request(struct lease *lease, enum phase phase, int64_t now_us,
			struct lease_step *step)
{
	static const enum lease_action actions[] = {
		[READING] = LEASE_GET,
		[CREATING] = LEASE_CREATE,
		[UPDATING] = LEASE_UPDATE,
	};
	int64_t timeout_us = lease->options.renew_deadline_us / 2; /* as client-go's client */

	if (lease->leads)
		timeout_us = MIN(timeout_us, lease->fence_us - now_us);
	if (lease->releases)
		timeout_us = MIN(timeout_us, lease->give_up_us - now_us);
	lease->phase = phase;
	lease->renews = lease->leads;
	lease->overtaken = false;
	set_step(lease, actions[phase], step);
	step->timeout_us = MAX(timeout_us, 1);
}

static void read_again(struct lease *lease, int64_t now_us, struct lease_step *step)
{
	lease->reads++;
	set_request(lease, READING, now_us, step);
}

static void stop(struct lease *lease, struct lease_step *step)
{
	lease->phase = STOPPED;
	set_step(lease, LEASE_STOPPED, step);
}

/* Waits for the next round, or for what makes one necessary before. */
static void idle(struct lease *lease, int64_t now_us, struct lease_step *step)
{
	int64_t until_us = lease->retry_us;

	if (lease->leads)
		until_us = MIN(until_us, lease->fence_us);
	else if (lease->known && free_us(lease) > now_us)
		until_us = MIN(until_us, free_us(lease));
	lease->wait_until_us = until_us;
	set_step(lease, LEASE_WAIT, step);
}

/* The round is over. A leader keeps its pace whatever the server wishes: a takeover costs more. */
static void rest(struct lease *lease, const struct error *err, int64_t now_us,
		 struct lease_step *step)
{
	const struct lease_options *o = &lease->options;
	int64_t wish_us = err ? MIN(err->retry_after_us, o->duration_us) : 0;
	int64_t pause_us = o->retry_period_us;

	if (lease->releases)
		pause_us /= 4;
	else if (!lease->leads)
		pause_us = MAX(random_jitter(&lease->random, pause_us, JITTER_FACTOR), wish_us);
	lease->retry_us = saturating_add(now_us, pause_us);
	idle(lease, now_us, step);
}

/* The step where nothing has changed. */
static void stay(struct lease *lease, int64_t now_us, struct lease_step *step)
{
	if (lease->phase == IDLE)
		idle(lease, now_us, step);
	else
		set_step(lease, lease->phase == STOPPED ? LEASE_STOPPED : LEASE_NONE, step);
}

/* --- writing */

static void compose_hold(struct lease *lease, int64_t real_us)
{
	const struct lease_record *seen = &lease->record;
	bool keeps = lease->exists && is_ours(lease);
	struct lease_record *write = &lease->write;

	*write = (struct lease_record){
		.holder = str_from(lease->options.identity),
		.duration_s =
			(int32_t)((lease->options.duration_us + USEC_PER_SEC - 1) / USEC_PER_SEC),
		.acquire_us = keeps && seen->acquire_us > 0 ? seen->acquire_us : real_us,
		.renew_us = real_us,
	};
	if (lease->exists)
		write->transitions = seen->transitions + (!keeps && seen->transitions < INT32_MAX);
	/* Others wait for a change: a real clock that stands or was set back must not hide it. */
	if (keeps && write->renew_us == seen->renew_us)
		write->renew_us++;
}

static void compose_release(struct lease *lease, int64_t real_us)
{
	lease->write = (struct lease_record){
		.duration_s = 1,
		.transitions = lease->record.transitions,
		.acquire_us = real_us,
		.renew_us = real_us,
	};
}

/* Never without precondition: a version that is missing or was too long is read again. */
static bool can_update(const struct lease *lease)
{
	return lease->exists && lease->version.len > 0;
}

static bool act_on_release(struct lease *lease, int64_t now_us, int64_t real_us,
			   struct lease_step *step)
{
	if (now_us >= lease->give_up_us || !is_ours(lease) || !can_update(lease)) {
		stop(lease, step);
		return true;
	}
	compose_release(lease, real_us);
	set_request(lease, UPDATING, now_us, step);
	return true;
}

/* Does what the known state calls for; false when that is nothing. */
static bool act(struct lease *lease, int64_t now_us, int64_t real_us, struct lease_step *step)
{
	if (lease->releases)
		return act_on_release(lease, now_us, real_us, step);
	if (!lease->known || now_us < free_us(lease) || (lease->exists && !can_update(lease)))
		return false;
	compose_hold(lease, real_us);
	set_request(lease, lease->exists ? UPDATING : CREATING, now_us, step);
	return true;
}

/* --- what happened */

void lease_next(struct lease *lease, int64_t now_us, int64_t real_us, struct lease_step *ret_step)
{
	lapse(lease, now_us);
	if (lease->phase != IDLE || now_us < lease->wait_until_us) {
		stay(lease, now_us, ret_step);
		return;
	}
	lease->reads = 0;
	if ((lease->doubtful && !lease->releases) || !act(lease, now_us, real_us, ret_step))
		read_again(lease, now_us, ret_step);
}

void lease_on_watched(struct lease *lease, const struct lease_view *view, int64_t now_us,
		      int64_t real_us, struct lease_step *ret_step)
{
	bool changed;

	lapse(lease, now_us);
	if (lease->phase == STOPPED || is_old(lease, view)) {
		stay(lease, now_us, ret_step);
		return;
	}
	changed = observe(lease, view, now_us);
	lease->overtaken = true;
	if (lease->phase == IDLE && changed && !lease->leads && !lease->releases) {
		lease->reads = 0;
		if (act(lease, now_us, real_us, ret_step))
			return;
	}
	stay(lease, now_us, ret_step);
}

void lease_on_read(struct lease *lease, const struct lease_view *view, int64_t now_us,
		   int64_t real_us, struct lease_step *ret_step)
{
	if (lease->phase != READING) {
		lease_on_watched(lease, view, now_us, real_us, ret_step);
		return;
	}
	lapse(lease, now_us);
	lease->phase = IDLE;
	/* A read is the newest state, even where its version went back, unless the watch was
	 * faster than its answer. */
	if (!lease->overtaken || !is_old(lease, view))
		observe(lease, view, now_us);
	if (!act(lease, now_us, real_us, ret_step))
		rest(lease, NULL, now_us, ret_step);
}

void lease_on_written(struct lease *lease, const struct lease_view *view, int64_t sent_us,
		      int64_t now_us, struct lease_step *ret_step)
{
	int64_t fence_us = saturating_add(sent_us, lease->options.renew_deadline_us);
	bool in_time;

	lapse(lease, now_us);
	if (lease->phase != CREATING && lease->phase != UPDATING) {
		stay(lease, now_us, ret_step);
		return;
	}
	in_time = now_us < fence_us && lease->renews == lease->leads;
	lease->create_lost |= lease->phase == CREATING && !in_time;
	lease->phase = IDLE;
	if (is_old(lease, view))
		in_time = false;
	else
		observe(lease, view, now_us);
	if (in_time && is_ours(lease) && !lease->releases) {
		lease->leads = true;
		lease->fence_us = MAX(lease->fence_us, fence_us);
	} else if (is_ours(lease) || lease->releases) {
		/* Ours, but not by this answer; or to be released. Both want another write. */
		lease->retry_us = now_us;
		idle(lease, now_us, ret_step);
		return;
	}
	rest(lease, NULL, now_us, ret_step);
}

/* Whether the server may have done, or may still do, what was asked. */
static bool is_uncertain(const struct error *err)
{
	return !err || err->kind == ERROR_TIMEOUT || err->kind == ERROR_UNAVAILABLE ||
	       err->kind == ERROR_SYSTEM || err->kind == ERROR_CANCELLED;
}

/* Faults after which a read would fail or be unwelcome as well. */
static bool forbids_reading(const struct error *err)
{
	return err && (err->kind == ERROR_THROTTLED || err->kind == ERROR_FORBIDDEN ||
		       err->kind == ERROR_UNAUTHORIZED);
}

void lease_on_failed(struct lease *lease, const struct error *err, int64_t now_us, int64_t real_us,
		     struct lease_step *ret_step)
{
	static const struct lease_view gone = {.exists = false};
	enum phase failed = lease->phase;
	bool missing = err && err->kind == ERROR_NOT_FOUND;

	lapse(lease, now_us);
	if (failed == IDLE || failed == STOPPED) {
		stay(lease, now_us, ret_step);
		return;
	}
	lease->phase = IDLE;
	lease->create_lost |= failed == CREATING && is_uncertain(err);
	/* A create that finds nothing misses the namespace. */
	if (missing && failed != CREATING) {
		observe(lease, &gone, now_us);
		if (act(lease, now_us, real_us, ret_step))
			return;
	}
	lease->doubtful = err && (err->kind == ERROR_CONFLICT || err->kind == ERROR_EXISTS);
	if (lease->reads >= READS_PER_ROUND || failed == READING || forbids_reading(err))
		rest(lease, err, now_us, ret_step);
	else
		read_again(lease, now_us, ret_step);
}

void lease_release(struct lease *lease, int64_t now_us, int64_t real_us,
		   struct lease_step *ret_step)
{
	stop_leading(lease);
	if (!lease->releases)
		lease->give_up_us = saturating_add(now_us, 2 * lease->options.retry_period_us);
	lease->releases = true;
	lease->reads = 0;
	if (lease->phase != IDLE || !act(lease, now_us, real_us, ret_step))
		stay(lease, now_us, ret_step);
}

bool lease_leads(const struct lease *lease, int64_t now_us)
{
	return lease->leads && now_us < lease->fence_us;
}

struct str lease_holder(const struct lease *lease)
{
	return lease->exists ? buf_str(&lease->holder) : STR_NONE;
}
