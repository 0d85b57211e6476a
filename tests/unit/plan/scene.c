/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/plan/scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/read.h"
#include "lib/team.h"

struct scene *scene_new(void)
{
	static const struct hash_key key = {1, 2};
	struct scene *s = test_calloc(1, sizeof(*s));

	s->cluster = cluster_new(&key);
	s->weights = PLACEMENT_WEIGHTS_DEFAULT;
	arena_init(&s->arena, 16 << 20);
	team_add_of(s->cluster, &(struct team){"chat", TIER_INFERENCE, AMOUNT_NONE, NULL, 0});
	team_add_of(s->cluster, &(struct team){"train", TIER_TRAINING, AMOUNT_NONE, NULL, 0});
	return s;
}

int scene_teardown(void **state)
{
	struct scene *s = *state;

	plan_free(s->plan);
	place_memory_clear(&s->memory);
	cluster_free(s->cluster);
	arena_clear(&s->arena);
	test_free(s);
	return 0;
}

uint32_t scene_pod(const struct scene *s, const char *namespace, const char *name)
{
	return cluster_pod_find(s->cluster, str_from(namespace), str_from(name), str_from(name));
}

void scene_ask(struct scene *s, const char *pod, size_t most)
{
	s->ask = (struct plan_ask){
		.pod = scene_pod(s, "chat", pod),
		.tier = TIER_INFERENCE,
		.protection = PROTECTION_DEFAULT,
		.most = most,
		.now_us = NOW,
		.now_real_us = NOW,
	};
}

void scene_search(struct scene *s)
{
	struct place_tools tools = {s->cluster, &s->weights, &s->memory, &s->arena, NULL};

	team_refresh(s->cluster);
	plan_free(s->plan);
	s->plan = plan_new(&tools, &s->ask);
	while (!plan_step(s->plan, 1))
		;
}

bool scene_finish(struct scene *s)
{
	bool found = plan_finish(s->plan, &s->found);
	struct buf said CLEANUP(buf_clear);

	buf_init(&said, sizeof(s->said) - 1);
	plan_describe(s->plan, &said);
	memcpy(s->said, said.data, said.len);
	s->said[said.len] = '\0';
	return found;
}
