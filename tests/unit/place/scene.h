/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_PLACE_SCENE_H
#define TESTS_UNIT_PLACE_SCENE_H

#include "base/clock.h"
#include "cluster/placing/reserve.h"
#include "place/place.h"

#define NOW   (1000 * USEC_PER_SEC)
#define UNTIL (2000 * USEC_PER_SEC)

/* One node of eight cards; namespaces chat, train and rest, of an Inference, a Training and no
 * tenant. */
struct scene {
	struct cluster *cluster;
	struct place_memory memory;
	struct arena arena;
	struct placement_weights weights;
	struct place place;
};

int scene_setup(void **state);
int scene_teardown(void **state);

void scene_add_node(struct scene *s, const char *name);
void scene_add_tenant(struct scene *s, const char *name, enum tenant_tier tier,
		      const struct receipt *receipts, size_t n);
/* A pod of Job/work whose uid is its name; without @node it waits. */
void scene_tell_pod(struct scene *s, const char *namespace, const char *name, int64_t gpus,
		    const char *node);

uint32_t scene_pod(const struct scene *s, const char *namespace, const char *name);
uint32_t scene_node(const struct scene *s, const char *name);
/* Of node "n", in s->place. */
enum place_verdict scene_verdict(struct scene *s, const char *namespace, const char *name);

/* By receipt r1: on "n" what this pod of chat asks for, for it, or where @owner is not empty for
 * who comes in its place. */
void scene_hold_as(struct scene *s, const char *pod, struct str owner);
void scene_hold(struct scene *s, const char *pod);

#endif
