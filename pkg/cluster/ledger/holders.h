/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLUSTER_LEDGER_HOLDERS_H
#define GPUQOS_CLUSTER_LEDGER_HOLDERS_H

#include "base/arena.h"
#include "base/clock.h"
#include "cluster/cluster.h"
#include "quota/decide.h"

/*
 * Who holds a namespace's memory, and what became of asking them to go. An eviction that was asked
 * for is remembered until the watch shows it, so that nobody is asked twice and no second one is
 * asked in its place.
 */

/* name, why the API server did not evict; NULL where it did, or may have: who was not answered
 * does not know */
#define EVICTION_OUTCOMES(X)                                       \
	X(ISSUED, NULL)                                            \
	X(UNANSWERED, NULL)                                        \
	X(BUDGET, "a PodDisruptionBudget allows no eviction now")  \
	X(THROTTLED, "the API server takes no more evictions now") \
	X(FORBIDDEN, "gpuqos has no right to evict it")            \
	X(FAILED, "the API server could not evict it")

enum eviction_outcome {
#define X(name, text) EVICTION_##name,
	EVICTION_OUTCOMES(X)
#undef X
};

/* Why it did not; NULL where it did. Borrowed, static. */
const char *eviction_text(enum eviction_outcome outcome);

/* An eviction counts as under way for so long if no watch shows it. Where the cache does not keep
 * the pod, no watch can: then until its claims are gone. */
#define EVICTION_SHOWN_US (60 * USEC_PER_SEC)
/* One that was not answered: a watch shows by then that it was heard, or it is asked for again. */
#define EVICTION_UNANSWERED_US (5 * USEC_PER_SEC)
/* Who refused is asked again after the first, later after twice the time, at most the second. */
#define EVICTION_BACKOFF_US      (10 * USEC_PER_SEC)
#define EVICTION_BACKOFF_MOST_US (160 * USEC_PER_SEC)

struct eviction {
	struct str namespace, name, uid; /* of the pod; nothing happens if there is no such pod */
	enum eviction_outcome outcome;
	int64_t now_us; /* monotonic */
};

/* Marks the namespace dirty. */
void cluster_note_eviction(struct cluster *cluster, const struct eviction *eviction);

/* Evictions that were issued and are not yet seen on a watch. */
uint32_t cluster_evictions_issued(const struct cluster *cluster, int64_t now_us);

struct holders {
	const struct quota_holder *list; /* in no order */
	size_t n;
	int64_t look_again_us; /* monotonic, when one that is blocked may be asked again or one that
				  was asked to go counts as here again; TIME_NEVER */
};

/*
 * All that are charged to the namespace: pods, and ResourceClaims. A pod's claim is an entry of its
 * own, with the pod's name and uid; one that is no pod's is named itself, and blocked, since nobody
 * evicts claims. One whose eviction is under way counts as terminating. A namespace that is not
 * known has none.
 *
 * @now_us: monotonic. False when the arena is full.
 */
bool cluster_holders(const struct cluster *cluster, uint32_t namespace, int64_t now_us,
		     struct arena *arena, struct holders *ret_holders);

#endif
