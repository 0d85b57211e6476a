/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_WORLD_EVENTS_H
#define GPUQOS_TESTS_WORLD_EVENTS_H

#include "lib/world.h"

/* What happens in the world. */

/* Hardware, tenants and namespaces to begin with. */
void world_begin(struct world *w);
/* One thing: somebody does something, a watch tells, our controller takes a turn. */
void world_step(struct world *w);
/*
 * Nobody does anything any more, and what is under way comes to its end. False where it does not
 * within what should be enough.
 */
bool world_settle(struct world *w);
/* Everybody goes home: no pod, no claim is left. */
void world_empty(struct world *w);
/* Nothing is left at all, and the caches have seen it. */
void world_remove_all(struct world *w);

/* world_people.c: what admins and other controllers do, each when it finds something to do it to.
 */
void world_people_step(struct world *w);
/* world_pods.c: what users, the scheduler and kubelets do. */
void world_pods_step(struct world *w);
/* Kubelets and collectors finish what was begun; true where that was anything. */
bool world_pods_settle(struct world *w);

#endif
