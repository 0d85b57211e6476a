/* SPDX-License-Identifier: Apache-2.0 */
/* GpuNode: containers put together to pods, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/pack.h"
#include "base/limits.h"
#include "base/macros.h"
#include "recorded.h"

/* @status: of an object "n". */
static int pack(struct fixture *f, const char *status, struct gpu_node_facts *ret_facts)
{
	struct wire_gpu_node wire;
	char json[4096];

	snprintf(json, sizeof(json),
		 "{'metadata':{'name':'n','uid':'u','resourceVersion':'7'},'status':{%s}}", status);
	sample_decode(&wire_gpu_node_schema, json, &f->arena, &wire);
	return api_pack_gpu_node(&wire, &f->arena, ret_facts, &f->err);
}

static void assert_range(struct cpu_range range, unsigned int first, unsigned int last)
{
	assert_int_equal(range.first, first);
	assert_int_equal(range.last, last);
}

static void containers_become_pods(void **state)
{
	static const char status[] =
		"'pods':[{'namespace':'a','name':'p','containers':["
		"{'name':'x','cpus':'8,2-3','devices':[{'resource':'r','ids':['G1'],'cards':['c1']},"
		"{'resource':'r','ids':['M1','M2'],'cards':['c1','c2']}]},"
		"{'name':'y','cpus':'20'},"
		"{'name':'z','cpus':'4-5','devices':[{'resource':'r','ids':['Q1','Q2']}]},"
		"{'name':'d','cpus':'6','claims':[{'name':'c','driver':'gpu.example.com'}]},"
		"{'name':'e','cpus':'7','claims':[{'name':'c','driver':'nic.example.com'}]}]},"
		"{'namespace':'b','name':'q','containers':[]}],'otherCpus':'0,21-22'";
	struct fixture f CLEANUP(fixture_clear);
	struct gpu_node_facts facts;

	(void)state;
	fixture_init(&f);
	assert_int_equal(pack(&f, status, &facts), 0);
	assert_true(str_equal(facts.name, STR("n")));
	assert_int_equal(facts.resource_version, 7);
	assert_int_equal(facts.n_pods, 2);
	assert_true(str_equal(facts.pods[0].namespace, STR("a")));
	assert_int_equal(facts.pods[0].n_cards, 2);
	assert_true(str_equal(facts.pods[0].cards[1], STR("c2")));
	assert_int_equal(facts.pods[0].others, 2);
	assert_int_equal(facts.pods[0].n_cpus, 2);
	assert_range(facts.pods[0].cpus[0], 2, 6);
	assert_range(facts.pods[0].cpus[1], 8, 8);
	assert_int_equal(facts.pods[1].n_cards + facts.pods[1].n_cpus, 0);
	assert_int_equal(facts.n_cpus, 3);
	assert_range(facts.cpus[0], 0, 0);
	assert_range(facts.cpus[1], 2, 8);
	assert_range(facts.cpus[2], 20, 22);
}

static void what_is_measured_may_be_unknown(void **state)
{
	static const char status[] =
		"'users':[{'card':'c1','podUID':'u1','memory':'1Gi','smPercent':40,'processes':2,"
		"'pcieBytesPerSecond':'2G','pcieEstimated':true,'shared':true},"
		"{'card':'c2','memory':'-1','smPercent':101},"
		"{'card':'c2','memory':'16Ei','pcieBytesPerSecond':'x'}]";
	struct fixture f CLEANUP(fixture_clear);
	struct gpu_node_facts facts;

	(void)state;
	fixture_init(&f);
	assert_int_equal(pack(&f, status, &facts), 0);
	assert_int_equal(facts.n_uses, 3);
	assert_int_equal(facts.uses[0].memory, GIB);
	assert_int_equal(facts.uses[0].pcie, 2000000000);
	assert_int_equal(facts.uses[0].sm_percent, 40);
	assert_true(facts.uses[0].pcie_estimated && facts.uses[0].shared);
	for (size_t i = 1; i < 3; i++) {
		assert_true(str_empty(facts.uses[i].uid));
		assert_int_equal(facts.uses[i].memory, AMOUNT_UNKNOWN);
		assert_int_equal(facts.uses[i].pcie, AMOUNT_UNKNOWN);
		assert_int_equal(facts.uses[i].sm_percent, -1);
	}
}

static void what_is_refused(void **state)
{
	static const struct {
		const char *status, *why;
	} rows[] = {
		{"'pods':[{'namespace':'a','containers':[]}]", "a pod without a name"},
		{"'pods':[{'name':'a','containers':[]}]", "a pod without a name"},
		{"'pods':[{'namespace':'a','name':'p','containers':[{'cpus':'3-2'}]}]", "cpus"},
		{"'otherCpus':'8192'", "cpus"},
		{"'otherCpus':'1,'", "cpus"},
		{"'pods':[{'namespace':'a','name':'p','containers':[{'devices':[{'cards':['']}]}]}]",
		 "a card without an address"},
		{"'users':[{'memory':'1'}]", "a user of no card"},
	};
	struct fixture f CLEANUP(fixture_clear);
	struct gpu_node_facts facts = {.n_pods = 99};

	(void)state;
	fixture_init(&f);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(pack(&f, rows[i].status, &facts), -1);
		assert_int_equal(f.err.kind, ERROR_INVALID);
		assert_non_null(strstr(f.err.message, "GpuNode n"));
		if (!strstr(f.err.message, rows[i].why))
			fail_msg("%s: %s", rows[i].status, f.err.message);
	}
	assert_int_equal(facts.n_pods, 99);
}

static void a_pod_with_more_cards_than_there_are_is_refused(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct buf status CLEANUP(buf_clear);
	struct gpu_node_facts facts;

	(void)state;
	fixture_init(&f);
	buf_init(&status, 4096);
	buf_add_cstr(&status, "'pods':[{'namespace':'a','name':'p','containers':[{'devices':[{"
			      "'cards':['c'");
	for (int i = 0; i < LIMIT_LAYOUT_GPUS; i++)
		buf_printf(&status, ",'%d'", i);
	buf_add_cstr(&status, "]}]}]}]");
	assert_int_equal(pack(&f, status.data, &facts), -1);
	assert_int_equal(f.err.kind, ERROR_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(containers_become_pods),
		cmocka_unit_test(what_is_measured_may_be_unknown),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(a_pod_with_more_cards_than_there_are_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
