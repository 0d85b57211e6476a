/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/place/scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cluster/read.h"
#include "lib/cards.h"
#include "lib/team.h"

void scene_add_node(struct scene *s, const char *name)
{
	cards_add_node(s->cluster, 8,
		       (struct node_facts){.name = str_from(name), .ready = NODE_READY});
}

void scene_add_tenant(struct scene *s, const char *name, enum tenant_tier tier,
		      const struct receipt *receipts, size_t n)
{
	team_add_of(s->cluster, &(struct team){name, tier, AMOUNT_NONE, receipts, n});
}

int scene_setup(void **state)
{
	static const struct hash_key key = {1, 2};
	struct scene *s = test_calloc(1, sizeof(*s));

	s->cluster = cluster_new(&key);
	s->weights = PLACEMENT_WEIGHTS_DEFAULT;
	arena_init(&s->arena, 16 << 20);
	scene_add_node(s, "n");
	scene_add_tenant(s, "chat", TIER_INFERENCE, NULL, 0);
	scene_add_tenant(s, "train", TIER_TRAINING, NULL, 0);
	*state = s;
	return 0;
}

int scene_teardown(void **state)
{
	struct scene *s = *state;

	cluster_free(s->cluster);
	place_memory_clear(&s->memory);
	arena_clear(&s->arena);
	test_free(s);
	return 0;
}

void scene_tell_pod(struct scene *s, const char *namespace, const char *name, int64_t gpus,
		    const char *node)
{
	struct device_ask ask = device_ask_units(STR("nvidia.com/gpu"), gpus);
	struct container_facts container = {CONTAINER_NORMAL, &ask, 1};
	struct pod_facts facts = {
		.namespace = str_from(namespace),
		.name = str_from(name),
		.uid = str_from(name),
		.owner_kind = STR("Job"),
		.owner_name = STR("work"),
		.created_us = NOW,
		.node = node ? str_from(node) : STR_NONE,
		.phase = node ? POD_RUNNING : POD_PENDING,
		.containers = &container,
		.n_containers = 1,
	};

	assert_int_equal(cluster_apply_pod(s->cluster, &facts, NULL), 0);
}

uint32_t scene_pod(const struct scene *s, const char *namespace, const char *name)
{
	return cluster_pod_find(s->cluster, str_from(namespace), str_from(name), str_from(name));
}

uint32_t scene_node(const struct scene *s, const char *name)
{
	return cluster_node_find(s->cluster, str_from(name));
}

enum place_verdict scene_verdict(struct scene *s, const char *namespace, const char *name)
{
	struct place_tools tools = {s->cluster, &s->weights, &s->memory, &s->arena, NULL};
	struct cluster_ask asked;

	team_refresh(s->cluster);
	arena_reset(&s->arena);
	cluster_ask_of_pod(s->cluster, scene_pod(s, namespace, name), &asked);
	place_begin(&s->place, &tools, &asked);
	return place_fit(&s->place, scene_node(s, "n")).verdict;
}

void scene_hold_as(struct scene *s, const char *pod, struct str owner)
{
	struct cluster_hold hold = {
		.id = STR("r1"),
		.tenant = STR("chat"),
		.node = scene_node(s, "n"),
		.tier = TIER_INFERENCE,
		.namespace = STR("chat"),
		.name = str_from(pod),
		.uid = str_from(pod),
		.owner = owner,
		.since_us = NOW,
		.until_us = UNTIL,
		.pod = scene_pod(s, "chat", pod),
	};

	assert_true(cluster_reserve(s->cluster, &hold));
}

void scene_hold(struct scene *s, const char *pod)
{
	scene_hold_as(s, pod, STR_NONE);
}
