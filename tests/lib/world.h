/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_WORLD_H
#define GPUQOS_TESTS_WORLD_H

#include "base/macros.h"
#include "base/random.h"
#include "cluster/cluster.h"
#include "lib/world_state.h"

/*
 * A world for the controller's pure code: an API server with its own rules, its watches, the
 * controllers and kubelets beside ours, and people. The objects of a moment are a struct
 * world_state: the API server's, and those that our caches have seen.
 *   world_api.c      objects, watches, what the cache is told
 *   world_gates.c    admission: the API server's own quota, our policies, the quota controller
 *   world_shell.c    our controller without its input and output: gather, decide, write
 *   world_recount.c  what everything costs, from the objects alone
 *   world_events.c   what happens
 *   world_check.c    what must hold
 */
struct world_watch;
struct world_shell;
struct world_watcher;

struct world {
	struct random random;
	uint64_t counter;             /* of uids and versions */
	int64_t now_us;               /* real; monotonic time is the same */
	bool calm;                    /* nothing happens but what quotas are for */
	int only_profile, only_shape; /* one kind of device; or WORLD_NONE */
	bool strict; /* one kind, one tenant whose ceiling stays, calm: nothing is excused */
	struct world_state api, seen;
	struct world_quota params[WORLD_SPACES * WORLD_QUOTAS]; /* what admission looks at */
	struct world_watch *watches;                            /* by cluster kind */
	struct world_shell *shell;
	struct world_watcher *watcher;       /* what is known about what must hold */
	uint64_t admitted, refused, written; /* so far */
	uint64_t ceilings, ceilings_excused; /* looks at a tenant against its ceiling */
};

int64_t world_below(struct world *w, int64_t bound);
bool world_chance(struct world *w, int one_in);

/* Now, as timestamps of objects have it. */
static inline int64_t world_second(const struct world *w)
{
	return w->now_us - w->now_us % WORLD_SECOND;
}

void world_init(struct world *w, uint64_t seed);
void world_clear(struct world *w);

/* What happened, for whoever has to find out: the last lines are kept. */
PRINTF_LIKE(1, 2)
void world_say(const char *format, ...);
void world_print_events(void);

#endif
