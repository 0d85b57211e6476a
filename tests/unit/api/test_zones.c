/* SPDX-License-Identifier: Apache-2.0 */
/* The layout that NodeResourceTopology objects tell, and those that tell none. */
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

#define JSON_SIZE 65536

static void pack(const char *body, struct arena *arena, struct published_facts *ret_facts)
{
	struct wire_node_topology wire;
	char json[JSON_SIZE];

	snprintf(json, sizeof(json), "{'metadata':{'name':'n','uid':'u','resourceVersion':'7'},%s}",
		 body);
	sample_decode(&wire_node_topology_schema, json, arena, &wire);
	assert_int_equal(api_pack_node_topology(&wire, arena, ret_facts, NULL), 0);
}

#define AMOUNT(name, capacity, allocatable, available)                             \
	"{'name':'" name "','capacity':'" capacity "','allocatable':'" allocatable \
	"','available':'" available "'}"
#define GPUS(n)               AMOUNT("nvidia.com/gpu", #n, #n, "0")
#define CPUS                  AMOUNT("cpu", "32", "30", "12")
#define ZONE(name, more)      "{'name':'" name "','type':'Node','resources':[" more "]}"
#define ATTRIBUTE(name, text) "{'name':'" name "','value':'" text "'}"
#define POLICY(text)          ATTRIBUTE("topologyManagerPolicy", text)
#define SCOPE(text)           ATTRIBUTE("topologyManagerScope", text)

/* As Node Feature Discovery writes one, with the zones in the order of Go's maps. */
static const char machine[] =
	"'topologyPolicies':['SingleNUMANodePodLevel'],'attributes':[" POLICY("single-numa-node") "," SCOPE("pod") "," ATTRIBUTE(
		"nodeTopologyPodsFingerprint",
		"pfp0v0012967eac29ce58cd2") "],'zones':["
					    "{'name':'node-1','type':'Node','costs':[{'name':'node-0','value':21},"
					    "{'name':'node-1','value':10}],'resources':[" CPUS
					    "," GPUS(1) "," AMOUNT(
						    "memory", "270146007040", "270146007040",
						    "270146007040") "]},"
								    "{'name':'node-0','type':'Node','costs':[{'name':'node-0','value':10},"
								    "{'name':'node-1','value':21}],'resources':[" GPUS(
									    3) "," CPUS "]},"
									       "{'name':'socket-0','type':'Socket','resources':[" GPUS(
										       4) "]}]";

static void cards_are_counted_and_each_is_on_its_numa_node(void **state)
{
	static const uint32_t numas[] = {0, 0, 0, 1}, distances[] = {10, 21, 21, 10};
	struct arena arena CLEANUP(arena_clear);
	struct published_facts facts;

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	pack(machine, &arena, &facts);
	assert_true(str_equal(facts.node, STR("n")));
	assert_int_equal(facts.resource_version, 7);
	assert_non_null(facts.layout);
	assert_true(facts.layout->counted);
	assert_false(facts.layout->cpus_unknown);
	assert_int_equal(facts.layout->n_numas, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(facts.layout->numas[i].id, i);
		assert_int_equal(facts.layout->numas[i].n_cpus, 32);
		assert_int_equal(facts.layout->numas[i].memory, AMOUNT_UNKNOWN);
	}
	assert_memory_equal(facts.layout->distances, distances, sizeof(distances));
	assert_int_equal(facts.layout->kubelet.policy, LAYOUT_POLICY_SINGLE_NUMA);
	assert_true(facts.layout->kubelet.pod_scope);
	assert_true(facts.layout->kubelet.static_cpu);
	assert_int_equal(facts.layout->n_gpus, 4);
	for (uint32_t i = 0; i < 4; i++) {
		const struct layout_gpu *gpu = &facts.layout->gpus[i];

		assert_int_equal(gpu->numa, numas[i]);
		assert_true(str_empty(gpu->uuid) && str_empty(gpu->pci));
		assert_int_equal(gpu->index, LAYOUT_NONE);
		assert_int_equal(gpu->bridge, LAYOUT_NONE);
		assert_int_equal(gpu->memory, AMOUNT_UNKNOWN);
		assert_int_equal(gpu->health, LAYOUT_HEALTH_UNKNOWN);
	}
	assert_int_equal(facts.layout->n_links, 0);
}

static void what_cannot_be_right_tells_nothing(void **state)
{
	static const struct {
		const char *sentence, *zones;
	} rows[] = {
		{"there are no zones", ""},
		{"no zone has a card", ZONE("node-0", CPUS)},
		{"no card can be given out", ZONE("node-0", GPUS(0))},
		{"a zone of another type counts nothing",
		 "{'name':'node-0','type':'Socket','resources':[" GPUS(4) "]}"},
		{"a zone has no number", ZONE("zone-0", GPUS(4))},
		{"a zone's number is none", ZONE("node-x", GPUS(4))},
		{"a zone's number is negative", ZONE("node--1", GPUS(4))},
		{"a zone's number is too large", ZONE("node-99999999999", GPUS(4))},
		{"a zone is there twice", ZONE("node-0", GPUS(4)) "," ZONE("node-0", CPUS)},
		{"a zone is there twice, written otherwise",
		 ZONE("node-1", GPUS(4)) "," ZONE("node-01", GPUS(4))},
		{"a resource is there twice", ZONE("node-0", GPUS(4) "," GPUS(4))},
		{"CPUs are there twice", ZONE("node-0", GPUS(4) "," CPUS "," CPUS)},
		{"more is given out than there is",
		 ZONE("node-0", AMOUNT("nvidia.com/gpu", "4", "5", "0"))},
		{"fewer than none", ZONE("node-0", AMOUNT("nvidia.com/gpu", "4", "-4", "0"))},
		{"no number", ZONE("node-0", AMOUNT("nvidia.com/gpu", "many", "many", "0"))},
		{"no amount at all", ZONE("node-0", "{'name':'nvidia.com/gpu'}")},
		{"more cards than a layout has", ZONE("node-0", GPUS(65))},
		{"more cards in all", ZONE("node-0", GPUS(40)) "," ZONE("node-1", GPUS(40))},
		{"more cards than there are numbers",
		 ZONE("node-0", AMOUNT("nvidia.com/gpu", "9E", "9E", "0"))},
		{"more CPUs than Linux can have",
		 ZONE("node-0", GPUS(4) "," AMOUNT("cpu", "9999", "9999", "0"))},
		{"some cards are cut",
		 ZONE("node-0", GPUS(4) "," AMOUNT("nvidia.com/mig-1g.10gb", "7", "7", "7"))},
		{"some are cut on another NUMA node",
		 ZONE("node-0", GPUS(4)) "," ZONE("node-1",
						  AMOUNT("nvidia.com/gpumem", "8", "8", "8"))},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct arena arena CLEANUP(arena_clear);
		struct published_facts facts;
		char body[4096];

		arena_init(&arena, LIMIT_DECODE_ARENA);
		snprintf(body, sizeof(body), "'zones':[%s]", rows[i].zones);
		pack(body, &arena, &facts);
		if (facts.layout)
			fail_msg("%s", rows[i].sentence);
	}
}

static void more_numa_nodes_than_a_layout_has_tell_nothing(void **state)
{
	struct arena arena CLEANUP(arena_clear);
	struct published_facts facts;
	char body[JSON_SIZE / 2];
	size_t len = (size_t)snprintf(body, sizeof(body), "'zones':[" ZONE("node-0", GPUS(4)));

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	for (int i = 1; i <= LIMIT_LAYOUT_NUMAS; i++) {
		snprintf(body + len, sizeof(body) - len, "]");
		pack(body, &arena, &facts);
		assert_non_null(facts.layout);
		len += (size_t)snprintf(body + len, sizeof(body) - len,
					",{'name':'node-%d','type':'Node'}", i);
	}
	snprintf(body + len, sizeof(body) - len, "]");
	pack(body, &arena, &facts);
	assert_null(facts.layout);
}

#define WORD(text)          "'topologyPolicies':['" text "']"
#define BOTH(policy, scope) "'attributes':[" POLICY(policy) "," SCOPE(scope) "]"

static void kubelets_settings_are_what_both_writers_write(void **state)
{
	enum { UNKNOWN = LAYOUT_POLICY_UNKNOWN, NONE = LAYOUT_POLICY_NONE };
	static const struct {
		const char *sentence, *settings;
		int policy;
		bool pod_scope;
	} rows[] = {
		{"nothing is told", "'attributes':[]", UNKNOWN, false},
		{"the attributes", BOTH("restricted", "container"), LAYOUT_POLICY_RESTRICTED,
		 false},
		{"none is a policy", BOTH("none", "container"), NONE, false},
		{"they come before the older form",
		 BOTH("best-effort", "pod") "," WORD("SingleNUMANodePodLevel"),
		 LAYOUT_POLICY_BEST_EFFORT, true},
		{"twice the same is once",
		 "'attributes':[" POLICY("restricted") "," POLICY("restricted") "," SCOPE(
			 "pod") "]",
		 LAYOUT_POLICY_RESTRICTED, true},
		{"twice another is none",
		 "'attributes':[" POLICY("restricted") "," POLICY("none") "," SCOPE("pod") "]",
		 UNKNOWN, false},
		{"no scope", "'attributes':[" POLICY("restricted") "]", UNKNOWN, false},
		{"no policy", "'attributes':[" SCOPE("pod") "]", UNKNOWN, true},
		{"a policy that nobody knows", BOTH("best", "pod"), UNKNOWN, true},
		{"a scope that nobody knows", BOTH("restricted", "node"), UNKNOWN, false},
		{"the older form", WORD("SingleNUMANodePodLevel"), LAYOUT_POLICY_SINGLE_NUMA, true},
		{"of containers", WORD("SingleNUMANodeContainerLevel"), LAYOUT_POLICY_SINGLE_NUMA,
		 false},
		{"none in the older form", WORD("None"), NONE, false},
		{"without a scope it is half of it", WORD("Restricted"), UNKNOWN, false},
		{"of two words none counts", "'topologyPolicies':['None','SingleNUMANodePodLevel']",
		 UNKNOWN, false},
		{"a word that nobody knows", WORD("SingleNUMANode"), UNKNOWN, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct arena arena CLEANUP(arena_clear);
		struct published_facts facts;
		char body[4096];

		arena_init(&arena, LIMIT_DECODE_ARENA);
		snprintf(body, sizeof(body), "'zones':[" ZONE("node-0", GPUS(4) "," CPUS) "],%s",
			 rows[i].settings);
		pack(body, &arena, &facts);
		if ((int)facts.layout->kubelet.policy != rows[i].policy ||
		    facts.layout->kubelet.pod_scope != rows[i].pod_scope ||
		    facts.layout->kubelet.static_cpu != (rows[i].policy != UNKNOWN))
			fail_msg("%s", rows[i].sentence);
	}
}

/* kubelet lists CPUs that it gives out under cpuManagerPolicy static alone. */
static void without_cpus_to_give_out_nothing_is_known_of_kubelet(void **state)
{
	static const struct {
		const char *sentence, *second;
		bool known, cpus_unknown;
	} rows[] = {
		{"one has them all", ZONE("node-1", AMOUNT("cpu", "0", "0", "0")), true, false},
		{"one does not tell", "{'name':'node-1','type':'Node'}", true, true},
	};
	struct arena arena CLEANUP(arena_clear);
	struct published_facts facts;
	char body[4096];

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(body, sizeof(body),
			 "'zones':[" ZONE("node-0", GPUS(4) "," CPUS) ",%s]," BOTH("none", "pod"),
			 rows[i].second);
		pack(body, &arena, &facts);
		if (facts.layout->cpus_unknown != rows[i].cpus_unknown ||
		    (facts.layout->kubelet.policy == LAYOUT_POLICY_NONE) != rows[i].known)
			fail_msg("%s", rows[i].sentence);
	}
	pack("'zones':[" ZONE("node-0", GPUS(4) "," AMOUNT("cpu", "32", "0", "0")) "]," BOTH("none",
											     "pod"),
	     &arena, &facts);
	assert_int_equal(facts.layout->kubelet.policy, LAYOUT_POLICY_UNKNOWN);
	pack("'zones':[" ZONE("node-0", GPUS(4)) "]," BOTH("none", "pod"), &arena, &facts);
	assert_int_equal(facts.layout->kubelet.policy, LAYOUT_POLICY_UNKNOWN);
	assert_true(facts.layout->cpus_unknown);
	assert_false(facts.layout->kubelet.static_cpu);
}

#define COST(name, value) "{'name':'" name "','value':" #value "}"

static void distances_are_all_or_none(void **state)
{
	static const struct {
		const char *sentence, *costs;
	} rows[] = {
		{"none", ""},
		{"one is missing", COST("node-0", 10)},
		{"one twice", COST("node-0", 10) "," COST("node-0", 10)},
		{"of a zone that is not there", COST("node-0", 10) "," COST("node-7", 21)},
		{"of a zone without a number", COST("node-0", 10) "," COST("here", 21)},
		{"none is closer than itself", COST("node-0", 10) "," COST("node-1", 9)},
		{"none is further than far", COST("node-0", 10) "," COST("node-1", 256)},
		{"itself is not far", COST("node-0", 11) "," COST("node-1", 21)},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct arena arena CLEANUP(arena_clear);
		struct published_facts facts;
		char body[4096];

		arena_init(&arena, LIMIT_DECODE_ARENA);
		snprintf(
			body, sizeof(body),
			"'zones':[{'name':'node-0','type':'Node','costs':[%s],'resources':[" GPUS(
				4) "]},{'name':'node-1','type':'Node','costs':[" COST("node-0",
										      21) "," COST("node-1",
												   10) "]}]",
			rows[i].costs);
		pack(body, &arena, &facts);
		if (!facts.layout || facts.layout->distances)
			fail_msg("%s", rows[i].sentence);
	}
}

static void one_without_a_name_is_an_error(void **state)
{
	struct arena arena CLEANUP(arena_clear);
	struct wire_node_topology wire;
	struct published_facts facts;
	struct error err = {0};

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	sample_decode(&wire_node_topology_schema, "{'metadata':{'uid':'u'},'zones':[]}", &arena,
		      &wire);
	assert_int_equal(api_pack_node_topology(&wire, &arena, &facts, &err), -1);
	assert_int_equal(err.kind, ERROR_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cards_are_counted_and_each_is_on_its_numa_node),
		cmocka_unit_test(what_cannot_be_right_tells_nothing),
		cmocka_unit_test(more_numa_nodes_than_a_layout_has_tell_nothing),
		cmocka_unit_test(kubelets_settings_are_what_both_writers_write),
		cmocka_unit_test(without_cpus_to_give_out_nothing_is_known_of_kubelet),
		cmocka_unit_test(distances_are_all_or_none),
		cmocka_unit_test(one_without_a_name_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
