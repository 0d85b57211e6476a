/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CONTROLLER_EVICTION_WORLD_H
#define TESTS_CONTROLLER_EVICTION_WORLD_H

#include "base/macros.h"
#include "controller/eviction/turn.h"
#include "lib/fake_kube.h"
#include "lib/full_cluster.h"

#define TURNS 100 /* are more than a plan among the nodes of a world takes */

/* An evictor, of a cluster whose cards are all taken, and in which one pod waits. */
struct world {
	struct fake_kube_world kube;
	struct cluster *cluster;
	struct controller_config config;
	struct recorder *recorder;
	struct caches *caches;
	struct eviction_reconciler reconciler;
	struct metrics *metrics;
	uint32_t pod, tenant;
};

/* For cmocka: *state is a world of the test's own. */
int setup(void **state);
int teardown(void **state);

/* Turns until there is a receipt, or TURNS. Returns how many that were. */
int decide(struct world *w, struct work_set *ret_set);
/* One, so much later. */
void turn(struct world *w, int64_t later_us, struct work_set *ret_set);
/* All kinds that are watched; nothing of them is told. */
void begin_to_watch(struct world *w);
/* Another tenant, of no namespace. */
uint32_t add_other(struct world *w);
/* As the status shows the one receipt that was decided. */
void show_receipt(struct world *w, const struct work_write *victim, struct str id);
/* How many evictions are. */
size_t asked_of(const struct work_set *set);

#endif
