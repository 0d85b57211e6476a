/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PROM_ALERTMANAGER_H
#define GPUQOS_PROM_ALERTMANAGER_H

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "loop/loop.h"
#include "prom/access.h"

/*
 * A client of Alertmanager's API v2 (POST /api/v2/alerts). Level-based: it is told of every alert
 * as it is now, and posts all that fire every ALERTS_REPEAT_US with an end ALERTS_HOLD_US ahead, so
 * that alerts of a sender that is gone resolve by themselves. One that stops is posted with its end
 * until a post was answered. One post at a time; after a failed one the next comes later, up to
 * ALERTS_REPEAT_US, with what is so then: nothing is queued but the alerts themselves.
 */
#define ALERTS_REPEAT_US (60LL * 1000 * 1000)
#define ALERTS_HOLD_US   (5LL * 60 * 1000 * 1000)
#define ALERTS_MOST      1024 /* that fire or stop; further ones are not told of, and counted */
#define ALERTS_TEXT      512  /* bytes of each text; longer ones are cut */

struct alertmanager_options {
	struct prom_access access;
	int64_t timeout_us; /* of one post */
};

struct alertmanager;

/* INVALID for options that do not go together; errors of the files. Options are copied. */
int alertmanager_new(struct loop *loop, const struct alertmanager_options *options,
		     struct alertmanager **ret_alerts, struct error *err);
void alertmanager_free(struct alertmanager *alerts);

/* Name and subject, as labels alertname and tenant, tell an alert from others. */
struct alert {
	struct str name, tenant;
	struct str severity; /* "warning" */
	struct str summary;  /* for people */
};

/* As it is now; again and again is fine. @firing false of one that did not fire does nothing. */
void alertmanager_tell(struct alertmanager *alerts, const struct alert *alert, bool firing);

/* Whoever leads next tells: nothing is resolved, and nothing posted any more. */
void alertmanager_forget(struct alertmanager *alerts);

struct alertmanager_counts {
	uint64_t posts, failed; /* answered with 200; not */
	uint64_t dropped;       /* beyond ALERTS_MOST */
	size_t firing;
	struct str error; /* of the last post, borrowed; empty: it was taken */
};

/* Of NULL: nothing. */
struct alertmanager_counts alertmanager_counts(const struct alertmanager *alerts);

DEFINE_CLEANUP(struct alertmanager *, alertmanager_free)

#endif
