/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_PLAN_SCENE_H
#define TESTS_UNIT_PLAN_SCENE_H

#include "base/clock.h"
#include "lib/layouts.h"
#include "plan/plan.h"

#define NOW (1000000 * USEC_PER_SEC)

/* A cluster of two tenants, chat (Inference) and train (Training), each of a namespace of its name,
 * and plans in it. */
struct scene {
	struct cluster *cluster;
	struct machine machine; /* of nodes that have a layout; a test's own to fill in */
	struct place_memory memory;
	struct arena arena;
	struct placement_weights weights;
	struct plan_ask ask;
	struct plan *plan; /* the last */
	struct plan_found found;
	char said[1024];
};

/* To be given back by scene_teardown(). */
struct scene *scene_new(void);
int scene_teardown(void **state);

/* A pod whose uid is its name. */
uint32_t scene_pod(const struct scene *s, const char *namespace, const char *name);

/* The ask of a plan for this pod of chat's, who goes for it being @most at most. */
void scene_ask(struct scene *s, const char *pod, size_t most);
/* Searches by s->ask; the last plan is gone. */
void scene_search(struct scene *s);
/* What was found, and what the plan says, in s->found and s->said. */
bool scene_finish(struct scene *s);

#endif
