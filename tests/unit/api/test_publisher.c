/* SPDX-License-Identifier: Apache-2.0 */
/* What is made of the cards that others than the agent publish on a Node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/pack.h"
#include "base/limits.h"
#include "base/macros.h"
#include "model/layout.h"
#include "recorded.h"

static void pack_node(const char *annotations, struct arena *arena, struct node_facts *ret_facts)
{
	struct wire_node wire;
	char json[8192];

	snprintf(json, sizeof(json),
		 "{'metadata':{'name':'n','uid':'u','annotations':{%s}},'status':{'capacity':{"
		 "'nvidia.com/gpu':'4'}}}",
		 annotations);
	sample_decode(&wire_node_schema, json, arena, &wire);
	assert_int_equal(api_pack_node(&wire, NULL, arena, ret_facts, NULL), 0);
}

static void pack_hami(const char *value, struct arena *arena, struct node_facts *ret_facts)
{
	char annotations[4096];

	snprintf(annotations, sizeof(annotations), "'hami.io/node-nvidia-register':'%s'", value);
	pack_node(annotations, arena, ret_facts);
}

#define CSV                                                  \
	"GPU-a,1,81559,100,NVIDIA-H100,0,true,0,hami-core:"  \
	"GPU-b,1,81559,100,NVIDIA-H100,1,true,1,hami-core:"  \
	"GPU-c,1,81559,100,NVIDIA-H100,1,false,2,hami-core:" \
	"GPU-d,1,81559,100,NVIDIA-H100,3,true,3,hami-core:"
#define JSON                                                                                 \
	"[{\\'id\\':\\'GPU-a\\',\\'count\\':1,\\'devmem\\':81559,\\'health\\':true},"        \
	"{\\'id\\':\\'GPU-b\\',\\'count\\':1,\\'index\\':1,\\'numa\\':1,\\'health\\':true}," \
	"{\\'id\\':\\'GPU-c\\',\\'count\\':1,\\'index\\':2,\\'numa\\':1},"                   \
	"{\\'id\\':\\'GPU-d\\',\\'count\\':1,\\'index\\':3,\\'numa\\':3,\\'health\\':true}]"

static void assert_layout(const struct layout *layout)
{
	static const uint32_t numas[] = {LAYOUT_NONE, 0, 0, 1};

	assert_non_null(layout);
	assert_int_equal(layout->n_gpus, 4);
	assert_int_equal(layout->n_numas, 2);
	assert_int_equal(layout->numas[0].id, 1);
	assert_int_equal(layout->numas[1].id, 3);
	assert_true(layout->cpus_unknown);
	assert_int_equal(layout->kubelet.policy, LAYOUT_POLICY_UNKNOWN);
	for (uint32_t i = 0; i < 4; i++) {
		const struct layout_gpu *gpu = &layout->gpus[i];

		assert_int_equal(gpu->numa, numas[i]);
		assert_int_equal(gpu->index, i);
		assert_int_equal(gpu->bridge, LAYOUT_NONE);
		assert_int_equal(gpu->memory, AMOUNT_UNKNOWN);
		assert_int_equal(gpu->speed, AMOUNT_UNKNOWN);
		assert_int_equal(gpu->health, i == 2 ? LAYOUT_HEALTH_FAILED : LAYOUT_HEALTH_OK);
	}
	assert_true(str_equal(layout->gpus[1].uuid, STR("GPU-b")));
}

static void both_forms_of_hami_are_read_alike(void **state)
{
	static const char *const forms[] = {CSV, JSON};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct arena arena CLEANUP(arena_clear);
		struct node_facts facts;

		arena_init(&arena, LIMIT_DECODE_ARENA);
		pack_hami(forms[i], &arena, &facts);
		assert_int_equal(facts.layout_state, LAYOUT_IS_KNOWN);
		assert_layout(facts.layout);
	}
}

static void what_tells_of_no_cards_publishes_nothing(void **state)
{
	static const char *const values[] = {
		"",
		":",
		"GPU-a",
		"GPU-a,1,81559,100,H100,0",
		"GPU-a,1,81559,100,H100,x,true:",
		"GPU-a,1,81559,100,H100,-1,true:",
		"GPU-a,10,81559,100,H100,1,true:",
		"GPU-a,1,81559,100,H100,1,true:GPU-a,1,81559,100,H100,1,true:",
		",1,81559,100,H100,1,true:",
		"[]",
		"[{}]",
		"[{\\'id\\':\\'GPU-a\\',\\'count\\':1,\\'numa\\':1}",
		"[{\\'id\\':\\'GPU-a\\',\\'count\\':1,\\'numa\\':-1}]",
		"[{\\'id\\':\\'GPU-a\\',\\'count\\':1,\\'numa\\':\\'1\\'}]",
		"[{\\'id\\':7,\\'count\\':1}]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct arena arena CLEANUP(arena_clear);
		struct node_facts facts;

		arena_init(&arena, LIMIT_DECODE_ARENA);
		pack_hami(values[i], &arena, &facts);
		if (facts.layout || facts.layout_state != LAYOUT_IS_ABSENT)
			fail_msg("%s", values[i]);
	}
}

static void more_cards_than_a_layout_has_are_none(void **state)
{
	struct arena arena CLEANUP(arena_clear);
	struct node_facts facts;
	char value[4096] = "";
	size_t len = 0;

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	for (int i = 0; i < LIMIT_LAYOUT_GPUS; i++)
		len += (size_t)snprintf(value + len, sizeof(value) - len, "G%d,1,8,9,T,1,true:", i);
	pack_hami(value, &arena, &facts);
	assert_non_null(facts.layout);
	snprintf(value + len, sizeof(value) - len, "H,1,8,9,T,1,true:");
	pack_hami(value, &arena, &facts);
	assert_null(facts.layout);
}

static void what_the_agent_says_counts_alone(void **state)
{
	struct arena arena CLEANUP(arena_clear);
	struct node_facts facts;

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	pack_node("'hami.io/node-nvidia-register':'" CSV "','gpuqos.io/topology':'{}'", &arena,
		  &facts);
	assert_int_equal(facts.layout_state, LAYOUT_IS_MALFORMED);
	assert_null(facts.layout);
}

/* --- Koordinator */

static void pack_koordinator(const char *devices, struct arena *arena,
			     struct published_facts *ret_facts)
{
	struct wire_koordinator_device wire;
	char json[8192];

	snprintf(json, sizeof(json),
		 "{'metadata':{'name':'n','uid':'u','resourceVersion':'7'},'spec':{'devices':%s}}",
		 devices);
	sample_decode(&wire_koordinator_device_schema, json, arena, &wire);
	assert_int_equal(api_pack_koordinator_device(&wire, arena, ret_facts, NULL), 0);
}

static void the_cards_of_koordinator_are_those_that_hami_would_tell(void **state)
{
	struct arena arena CLEANUP(arena_clear);
	struct published_facts facts;

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	pack_koordinator("[{'type':'gpu','id':'GPU-a','minor':0,'health':true,'topology':{"
			 "'socketID':0,'nodeID':-1,'pcieID':'0','busID':'0000:1a:00.0'}},"
			 "{'type':'rdma','id':'0000:09:00.0','minor':0,'health':true},"
			 "{'type':'gpu','id':'GPU-b','minor':1,'health':true,'topology':{"
			 "'socketID':0,'nodeID':1,'pcieID':'0','busID':'0000:1b:00.0'}},"
			 "{'type':'gpu','id':'GPU-c','minor':2,'topology':{'nodeID':1}},"
			 "{'type':'gpu','id':'GPU-d','minor':3,'health':true,'topology':{"
			 "'nodeID':3}}]",
			 &arena, &facts);
	assert_true(str_equal(facts.node, STR("n")));
	assert_int_equal(facts.resource_version, 7);
	assert_layout(facts.layout);
	assert_true(str_equal(facts.layout->gpus[1].pci, STR("0000:1b:00.0")));
	assert_true(str_equal(facts.layout->writer, STR("Koordinator")));
}

static void what_koordinator_cannot_mean_publishes_nothing(void **state)
{
	static const char *const values[] = {
		"[]",
		"[{'type':'fpga','id':'GPU-a','minor':0,'health':true}]",
		"[{'type':'gpu','minor':0,'health':true}]",
		"[{'type':'gpu','id':'GPU-a','health':true},{'type':'gpu','id':'GPU-a'}]",
		"[{'type':'gpu','id':'GPU-a','health':true,'topology':{'nodeID':99999999999}}]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct arena arena CLEANUP(arena_clear);
		struct published_facts facts;

		arena_init(&arena, LIMIT_DECODE_ARENA);
		pack_koordinator(values[i], &arena, &facts);
		if (facts.layout)
			fail_msg("%s", values[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_forms_of_hami_are_read_alike),
		cmocka_unit_test(what_tells_of_no_cards_publishes_nothing),
		cmocka_unit_test(more_cards_than_a_layout_has_are_none),
		cmocka_unit_test(what_the_agent_says_counts_alone),
		cmocka_unit_test(the_cards_of_koordinator_are_those_that_hami_would_tell),
		cmocka_unit_test(what_koordinator_cannot_mean_publishes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
