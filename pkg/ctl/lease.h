/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CTL_LEASE_H
#define GPUQOS_CTL_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"

/*
 * Leader election on a coordination.k8s.io/v1 Lease as a state machine, compatible with
 * client-go's tools/leaderelection: same fields, same timings, so that both kinds of replicas may
 * compete for one Lease.
 *
 * Expiry is judged by the local monotonic clock only: a Lease held by another is free when its
 * record has not been *seen to change* for the duration in it. Leading ends, without waiting for
 * anybody, when no renewal has succeeded within the renew deadline; that deadline counts from when
 * the successful request was *sent*, and is what the write fence compares with. Since others wait
 * for the duration from when they saw the write's effect, there is the difference of the two
 * between an old leader and a new one. Times are monotonic µs.
 *
 * Where client-go leaves the process, this machine stops leading and is a candidate again. It is
 * stricter in three points: a record with our own identity from before does not make a leader, an
 * update of ours that succeeds does; a renewal answered after the deadline does not either; and a
 * Lease that was seen to be deleted is created by its leader at once and by others only after the
 * duration, since its leader may not know yet. (Who never saw it creates it at once;
 * and a Lease that is deleted twice within seconds can deceive.)
 */
struct lease_options {
	const char *identity; /* borrowed for the life of the machine; unique per process start */
	/* 15 s, 10 s, 2 s; duration > renew deadline > 1.2 * retry */
	int64_t duration_us, renew_deadline_us, retry_period_us;
};

/* The record in the Lease's spec. Strings are borrowed; times are real µs, 0 where absent. */
struct lease_record {
	struct str holder;  /* empty: nobody */
	int32_t duration_s; /* 0 or less: absent, our own counts; written rounded up */
	int32_t transitions;
	int64_t acquire_us, renew_us;
};

/* What the server was seen to hold; borrowed for the call. */
struct lease_view {
	bool exists;
	struct lease_record record;
	struct str resource_version; /* of the deletion where the Lease does not exist, if known */
};

enum lease_action {
	LEASE_GET,     /* read the Lease; answer with lease_on_read() */
	LEASE_CREATE,  /* create it with `record` */
	LEASE_UPDATE,  /* replace it with `record`, precondition `resource_version` */
	LEASE_WAIT,    /* until `wait_until_us`, then lease_next(); it may be now */
	LEASE_NONE,    /* a request is under way */
	LEASE_STOPPED, /* released or given up: nothing more will come */
};

struct lease_step {
	enum lease_action action;
	struct lease_record record;  /* of CREATE and UPDATE; borrowed until the next call */
	struct str resource_version; /* of UPDATE; borrowed until the next call */
	int64_t wait_until_us;
	/* Of a request: it must have been answered, or failed and been cancelled, after this. A
	 * leader's never lasts past its fence. */
	int64_t timeout_us;
	bool leads;       /* after this step */
	int64_t fence_us; /* writes are allowed before this moment; 0 when not leading */
};

struct lease; /* opaque */

/* INVALID when the timings do not keep their order, or there is no identity. */
int lease_new(const struct lease_options *options, uint64_t seed, struct lease **ret_lease,
	      struct error *err);
void lease_free(struct lease *lease);

/* First, and when a WAIT is over. @real_us goes into the record and is never compared. */
void lease_next(struct lease *lease, int64_t now_us, int64_t real_us, struct lease_step *ret_step);
/* The answer to a GET. Without a GET under way it is taken as lease_on_watched(). */
void lease_on_read(struct lease *lease, const struct lease_view *view, int64_t now_us,
		   int64_t real_us, struct lease_step *ret_step);
/*
 * The watch on the Lease shows this, at any time. Optional, but it lets a standby take over as
 * soon as the duration is over or the Lease is released, and a leader see at once that it was
 * robbed. Views older than what is known (watches lag) are ignored.
 */
void lease_on_watched(struct lease *lease, const struct lease_view *view, int64_t now_us,
		      int64_t real_us, struct lease_step *ret_step);
/*
 * A CREATE or UPDATE succeeded; the view as the server answered it. @sent_us: when the request
 * left. What else must be written now comes from lease_next() after a WAIT until now.
 */
void lease_on_written(struct lease *lease, const struct lease_view *view, int64_t sent_us,
		      int64_t now_us, struct lease_step *ret_step);
/* A request failed or timed out. NOT_FOUND and THROTTLED are told apart, all else is the same. */
void lease_on_failed(struct lease *lease, const struct error *err, int64_t now_us, int64_t real_us,
		     struct lease_step *ret_step);
/*
 * Stop: `leads` is false at once. Where the Lease is ours an empty holder with duration 1 s is
 * written, after the request that is under way; then, or after two retry periods, STOPPED.
 */
void lease_release(struct lease *lease, int64_t now_us, int64_t real_us,
		   struct lease_step *ret_step);

bool lease_leads(const struct lease *lease, int64_t now_us);
struct str lease_holder(const struct lease *lease); /* as last seen; borrowed until the next call */

DEFINE_CLEANUP(struct lease *, lease_free)

#endif
