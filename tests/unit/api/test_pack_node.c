/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes offer: by recorded nodes, and by labels as they should not be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/pack.h"
#include "base/limits.h"
#include "base/macros.h"
#include "recorded.h"

struct wanted {
	const char *resource, *product;
	int64_t memory, count;
	enum device_sharing sharing;
};

static void assert_offer(const char *name, const struct device_offer *offer,
			 const struct wanted *wanted)
{
	if (!str_equal(offer->resource, str_from(wanted->resource)))
		fail_msg("%s: resource %.*s", name, STR_ARGS(offer->resource));
	if (!str_equal(offer->product, str_from(wanted->product)))
		fail_msg("%s: product %.*s", name, STR_ARGS(offer->product));
	if (offer->unit_memory != wanted->memory)
		fail_msg("%s: memory %lld", name, (long long)offer->unit_memory);
	if (offer->count != wanted->count)
		fail_msg("%s: count %lld", name, (long long)offer->count);
	if (offer->sharing != wanted->sharing)
		fail_msg("%s: sharing %s", name, device_sharing_text(offer->sharing));
}

/* All but what any node with whole cards offers to KAI; returns how many. */
static size_t other_offers(const struct node_facts *facts, const struct device_offer **ret_offers,
			   size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < facts->n_offers; i++)
		if (!str_starts_with(facts->offers[i].resource, STR("kai.scheduler/"))) {
			assert_true(n < max);
			ret_offers[n++] = &facts->offers[i];
		}
	return n;
}

#define H100 "NVIDIA-H100-80GB-HBM3"
#define A100 "NVIDIA-A100-SXM4-40GB"

static void recorded_nodes_offer_what_they_have(void **state)
{
	static const struct {
		const char *name;
		struct wanted offers[3];
	} nodes[] = {
		{"node.h100", {{"nvidia.com/gpu", H100, 81559 * MIB, 8, DEVICE_WHOLE}}},
		{"node.h200", {{"nvidia.com/gpu", "NVIDIA-H200", 143771 * MIB, 8, DEVICE_WHOLE}}},
		{"node.a100-40", {{"nvidia.com/gpu", A100, 40 * GIB, 8, DEVICE_WHOLE}}},
		{"node.t4", {{"nvidia.com/gpu", "Tesla-T4", 15 * GIB, 4, DEVICE_WHOLE}}},
		{"node.mig-mixed",
		 {{"nvidia.com/mig-1g.10gb", H100, 9984 * MIB, 16, DEVICE_MIG},
		  {"nvidia.com/mig-2g.20gb", H100, 20096 * MIB, 8, DEVICE_MIG},
		  {"nvidia.com/mig-3g.40gb", H100, 40448 * MIB, 8, DEVICE_MIG}}},
		{"node.mig-single",
		 {{"nvidia.com/gpu", A100 "-MIG-1g.5gb", 4864 * MIB, 56, DEVICE_MIG}}},
		{"node.timesliced",
		 {{"nvidia.com/gpu", H100 "-SHARED", 81559 * MIB / 10, 80, DEVICE_TIME_SLICED}}},
		{"node.timesliced-renamed",
		 {{"nvidia.com/gpu.shared", H100, 81559 * MIB / 10, 80, DEVICE_TIME_SLICED}}},
		{"node.mps", {{"nvidia.com/gpu", H100 "-SHARED", 81559 * MIB / 4, 32, DEVICE_MPS}}},
		{"node.mi300x",
		 {{"amd.com/gpu", "AMD_Instinct_MI300X_OAM", 192 * GIB, 8, DEVICE_WHOLE}}},
		{"node.cpu", {{0}}},
	};
	const struct device_offer *offers[ARRAY_SIZE(nodes[0].offers)];
	size_t i, k, n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(nodes); i++) {
		struct arena arena CLEANUP(arena_clear);
		struct buf text CLEANUP(buf_clear);
		struct wire_node wire;
		struct node_facts facts;
		struct error err = {0};

		arena_init(&arena, LIMIT_DECODE_ARENA);
		buf_init(&text, LIMIT_WATCH_FRAME);
		recorded_decode(&wire_node_schema, nodes[i].name, &text, &arena, &wire);
		if (api_pack_node(&wire, NULL, &arena, &facts, &err) < 0)
			fail_msg("%s: %s", nodes[i].name, err.message);
		assert_int_not_equal(facts.resource_version, 0);
		assert_int_equal(facts.uid.len, 36);
		n = other_offers(&facts, offers, ARRAY_SIZE(offers));
		for (k = 0; k < n; k++) {
			assert_non_null(nodes[i].offers[k].resource);
			assert_offer(nodes[i].name, offers[k], &nodes[i].offers[k]);
		}
		assert_true(k == ARRAY_SIZE(nodes[i].offers) || !nodes[i].offers[k].resource);
	}
}

static int pack_labels(const char *labels, const char *capacity, struct arena *arena,
		       struct node_facts *ret_facts, struct error *err)
{
	struct wire_node wire;
	char json[4096];

	snprintf(json, sizeof(json),
		 "{'metadata':{'name':'n','uid':'u','labels':{%s}},'status':{'capacity':{%s}}}",
		 labels, capacity);
	sample_decode(&wire_node_schema, json, arena, &wire);
	return api_pack_node(&wire, NULL, arena, ret_facts, err);
}

#define GPU    "'nvidia.com/gpu':'4'"
#define SHARED "'nvidia.com/gpu.shared':'40'"
#define MIG    "'nvidia.com/mig-1g.10gb':'7'"
#define MEMORY "'nvidia.com/gpu.memory':'81920'"

static const struct {
	const char *name, *labels, *capacity;
	struct wanted offer;
} labelled[] = {
	{"no labels leave memory unknown",
	 "",
	 GPU,
	 {"nvidia.com/gpu", "", AMOUNT_UNKNOWN, 4, DEVICE_WHOLE}},
	{"memory needs no product", MEMORY, GPU, {"nvidia.com/gpu", "", 80 * GIB, 4, DEVICE_WHOLE}},
	{"memory that is no number is unknown",
	 "'nvidia.com/gpu.memory':'80 GiB'",
	 GPU,
	 {"nvidia.com/gpu", "", AMOUNT_UNKNOWN, 4, DEVICE_WHOLE}},
	{"an empty memory is unknown",
	 "'nvidia.com/gpu.memory':''",
	 GPU,
	 {"nvidia.com/gpu", "", AMOUNT_UNKNOWN, 4, DEVICE_WHOLE}},
	{"a fraction of memory is unknown",
	 "'nvidia.com/gpu.memory':'81559.5'",
	 GPU,
	 {"nvidia.com/gpu", "", AMOUNT_UNKNOWN, 4, DEVICE_WHOLE}},
	{"zero memory is unknown",
	 "'nvidia.com/gpu.memory':'0'",
	 GPU,
	 {"nvidia.com/gpu", "", AMOUNT_UNKNOWN, 4, DEVICE_WHOLE}},
	{"negative memory is unknown",
	 "'nvidia.com/gpu.memory':'-81559'",
	 GPU,
	 {"nvidia.com/gpu", "", AMOUNT_UNKNOWN, 4, DEVICE_WHOLE}},
	{"memory beyond int64 is unknown",
	 "'nvidia.com/gpu.memory':'8796093022208'",
	 GPU,
	 {"nvidia.com/gpu", "", AMOUNT_UNKNOWN, 4, DEVICE_WHOLE}},
	{"the largest memory in MiB that fits is taken",
	 "'nvidia.com/gpu.memory':'8796093022207'",
	 GPU,
	 {"nvidia.com/gpu", "", 8796093022207 * MIB, 4, DEVICE_WHOLE}},
	{"memory of many digits is unknown",
	 "'nvidia.com/gpu.memory':'99999999999999999999999999999999'",
	 GPU,
	 {"nvidia.com/gpu", "", AMOUNT_UNKNOWN, 4, DEVICE_WHOLE}},
	{"one replica is a whole card",
	 MEMORY ",'nvidia.com/gpu.replicas':'1'",
	 GPU,
	 {"nvidia.com/gpu", "", 80 * GIB, 4, DEVICE_WHOLE}},
	{"no replicas are a whole card",
	 MEMORY ",'nvidia.com/gpu.replicas':'0'",
	 GPU,
	 {"nvidia.com/gpu", "", 80 * GIB, 4, DEVICE_WHOLE}},
	{"replicas divide and round down",
	 MEMORY ",'nvidia.com/gpu.replicas':'3'",
	 GPU,
	 {"nvidia.com/gpu", "", 80 * GIB / 3, 4, DEVICE_TIME_SLICED}},
	{"replicas divide what is not known too",
	 "'nvidia.com/gpu.replicas':'3'",
	 GPU,
	 {"nvidia.com/gpu", "", AMOUNT_UNKNOWN, 4, DEVICE_TIME_SLICED}},
	{"more replicas than bytes are unknown",
	 MEMORY ",'nvidia.com/gpu.replicas':'9223372036854775807'",
	 GPU,
	 {"nvidia.com/gpu", "", AMOUNT_UNKNOWN, 4, DEVICE_TIME_SLICED}},
	{"replicas that are no number leave all unknown",
	 MEMORY ",'nvidia.com/gpu.replicas':'many'",
	 GPU,
	 {"nvidia.com/gpu", "", AMOUNT_UNKNOWN, 4, DEVICE_OTHER}},
	{"negative replicas leave all unknown",
	 MEMORY ",'nvidia.com/gpu.replicas':'-2'",
	 GPU,
	 {"nvidia.com/gpu", "", AMOUNT_UNKNOWN, 4, DEVICE_OTHER}},
	{"replicas beyond int64 leave all unknown",
	 MEMORY ",'nvidia.com/gpu.replicas':'9223372036854775808'",
	 GPU,
	 {"nvidia.com/gpu", "", AMOUNT_UNKNOWN, 4, DEVICE_OTHER}},
	{"MPS is told by the strategy",
	 MEMORY ",'nvidia.com/gpu.replicas':'4','nvidia.com/gpu.sharing-strategy':'mps'",
	 GPU,
	 {"nvidia.com/gpu", "", 20 * GIB, 4, DEVICE_MPS}},
	{"a shared name without replicas is unknown",
	 MEMORY,
	 SHARED,
	 {"nvidia.com/gpu.shared", "", AMOUNT_UNKNOWN, 40, DEVICE_OTHER}},
	{"a shared product without replicas is unknown",
	 MEMORY ",'nvidia.com/gpu.product':'X-SHARED'",
	 GPU,
	 {"nvidia.com/gpu", "X-SHARED", AMOUNT_UNKNOWN, 4, DEVICE_OTHER}},
	{"a shared name takes the card's labels",
	 MEMORY ",'nvidia.com/gpu.replicas':'10','nvidia.com/gpu.product':'X'",
	 SHARED,
	 {"nvidia.com/gpu.shared", "X", 8 * GIB, 40, DEVICE_TIME_SLICED}},
	{"an invalid geometry is unknown",
	 "'nvidia.com/gpu.product':'X-MIG-INVALID','nvidia.com/gpu.memory':'0',"
	 "'nvidia.com/gpu.replicas':'0'",
	 GPU,
	 {"nvidia.com/gpu", "X-MIG-INVALID", AMOUNT_UNKNOWN, 4, DEVICE_MIG}},
	{"an invalid geometry's memory is not believed",
	 "'nvidia.com/gpu.product':'X-MIG-INVALID'," MEMORY,
	 GPU,
	 {"nvidia.com/gpu", "X-MIG-INVALID", AMOUNT_UNKNOWN, 4, DEVICE_MIG}},
	{"replicas of a single slice share the slice",
	 "'nvidia.com/gpu.product':'X-MIG-1g.10gb-SHARED','nvidia.com/gpu.memory':'9984',"
	 "'nvidia.com/gpu.replicas':'2'",
	 GPU,
	 {"nvidia.com/gpu", "X-MIG-1g.10gb-SHARED", 4992 * MIB, 4, DEVICE_TIME_SLICED}},
	{"a mixed slice without its label is unknown, whatever its name says",
	 MEMORY ",'nvidia.com/gpu.product':'X'",
	 MIG,
	 {"nvidia.com/mig-1g.10gb", "X", AMOUNT_UNKNOWN, 7, DEVICE_MIG}},
	{"a mixed slice has its own memory, and the card's product",
	 MEMORY ",'nvidia.com/gpu.product':'X','nvidia.com/mig-1g.10gb.memory':'9984',"
		"'nvidia.com/mig-1g.10gb.product':'X-MIG-1g.10gb'",
	 MIG,
	 {"nvidia.com/mig-1g.10gb", "X", 9984 * MIB, 7, DEVICE_MIG}},
	{"other slices' labels do not count",
	 "'nvidia.com/mig-1g.10gb.me.memory':'9984'",
	 MIG,
	 {"nvidia.com/mig-1g.10gb", "", AMOUNT_UNKNOWN, 7, DEVICE_MIG}},
	{"a media slice has its own labels",
	 "'nvidia.com/mig-1g.10gb.me.memory':'9984'",
	 "'nvidia.com/mig-1g.10gb.me':'1'",
	 {"nvidia.com/mig-1g.10gb.me", "", 9984 * MIB, 1, DEVICE_MIG}},
	{"a shared mixed slice is divided by its own replicas",
	 "'nvidia.com/mig-1g.10gb.memory':'9984','nvidia.com/mig-1g.10gb.replicas':'4',"
	 "'nvidia.com/gpu.replicas':'0'",
	 "'nvidia.com/mig-1g.10gb.shared':'28'",
	 {"nvidia.com/mig-1g.10gb.shared", "", 2496 * MIB, 28, DEVICE_TIME_SLICED}},
	{"AMD's G are GiB",
	 "'amd.com/gpu.vram':'192G'",
	 "'amd.com/gpu':'8'",
	 {"amd.com/gpu", "", 192 * GIB, 8, DEVICE_WHOLE}},
	{"AMD's older prefix is read",
	 "'beta.amd.com/gpu.vram':'16G','beta.amd.com/gpu.product-name':'P'",
	 "'amd.com/gpu':'8'",
	 {"amd.com/gpu", "P", 16 * GIB, 8, DEVICE_WHOLE}},
	{"AMD's memory in another unit is unknown",
	 "'amd.com/gpu.vram':'192'",
	 "'amd.com/gpu':'8'",
	 {"amd.com/gpu", "", AMOUNT_UNKNOWN, 8, DEVICE_WHOLE}},
	{"AMD's memory beyond int64 is unknown",
	 "'amd.com/gpu.vram':'8589934592G'",
	 "'amd.com/gpu':'8'",
	 {"amd.com/gpu", "", AMOUNT_UNKNOWN, 8, DEVICE_WHOLE}},
	{"an AMD partition is unknown",
	 "'amd.com/gpu.vram':'192G','amd.com/gpu.product-name':'P'",
	 "'amd.com/cpx_nps4':'64'",
	 {"amd.com/cpx_nps4", "P", AMOUNT_UNKNOWN, 64, DEVICE_OTHER}},
	{"an AMD partition under the plain name is unknown",
	 "'amd.com/gpu.vram':'192G','amd.com/compute-memory-partition':'cpx_nps4'",
	 "'amd.com/gpu':'64'",
	 {"amd.com/gpu", "", AMOUNT_UNKNOWN, 64, DEVICE_OTHER}},
	{"an AMD card in one part is a card",
	 "'amd.com/gpu.vram':'192G','amd.com/compute-memory-partition':'spx_nps1'",
	 "'amd.com/spx_nps1':'8'",
	 {"amd.com/spx_nps1", "", 192 * GIB, 8, DEVICE_WHOLE}},
	{"Intel tells no memory",
	 "'gpu.intel.com/product':'Max_1550'",
	 "'gpu.intel.com/i915':'4'",
	 {"gpu.intel.com/i915", "Max_1550", AMOUNT_UNKNOWN, 4, DEVICE_OTHER}},
	{"fractions have no price",
	 MEMORY,
	 "'volcano.sh/gpu-memory':'81920'",
	 {"volcano.sh/gpu-memory", "", AMOUNT_UNKNOWN, 81920, DEVICE_OTHER}},
	{"capacity may be written with a suffix",
	 MEMORY,
	 "'nvidia.com/gpu':'1k'",
	 {"nvidia.com/gpu", "", 80 * GIB, 1000, DEVICE_WHOLE}},
	{"what there is 0 of is not offered",
	 MEMORY,
	 GPU ","
	     "'nvidia.com/gpu.shared':'0'",
	 {"nvidia.com/gpu", "", 80 * GIB, 4, DEVICE_WHOLE}},
	{"other resources are not offered",
	 MEMORY,
	 GPU ",'cpu':'64','rdma/hca':'8','nvidia.com/gpux':'1'",
	 {"nvidia.com/gpu", "", 80 * GIB, 4, DEVICE_WHOLE}},
};

/* Each of these has one offer. */
static void labels_price_what_they_describe_and_nothing_else(void **state)
{
	const struct device_offer *offer;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(labelled); i++) {
		struct arena arena CLEANUP(arena_clear);
		struct node_facts facts;
		struct error err = {0};

		arena_init(&arena, LIMIT_DECODE_ARENA);
		if (pack_labels(labelled[i].labels, labelled[i].capacity, &arena, &facts, &err) < 0)
			fail_msg("%s: %s", labelled[i].name, err.message);
		if (other_offers(&facts, &offer, 1) != 1)
			fail_msg("%s: %zu offers", labelled[i].name, facts.n_offers);
		assert_offer(labelled[i].name, offer, &labelled[i].offer);
	}
}

static void refuses_with_the_node_s_name(void **state)
{
	static const struct {
		const char *capacity, *message;
	} cases[] = {
		{"'nvidia.com/gpu':'four'",
		 "Node n: capacity: nvidia.com/gpu: \"four\" is no amount"},
		{"'nvidia.com/gpu':'-4'", "Node n: capacity: nvidia.com/gpu: \"-4\" is no amount"},
		{"'nvidia.com/gpu':'99E'",
		 "Node n: capacity: nvidia.com/gpu: \"99E\" is no amount"},
	};
	struct arena arena CLEANUP(arena_clear);
	struct node_facts facts;
	struct wire_node wire;
	struct error err = {0};
	size_t i;

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(pack_labels("", cases[i].capacity, &arena, &facts, &err), -1);
		assert_string_equal(err.message, cases[i].message);
		assert_int_equal(err.kind, ERROR_INVALID);
	}
	sample_decode(&wire_node_schema, "{'metadata':{'name':'n'}}", &arena, &wire);
	assert_int_equal(api_pack_node(&wire, NULL, &arena, &facts, &err), -1);
	assert_string_equal(err.message, "Node n: has no uid");
}

static void a_node_is_ready_only_where_its_condition_says_so(void **state)
{
	static const struct {
		const char *conditions;
		enum node_ready ready;
	} cases[] = {
		{"", NODE_READY_UNKNOWN},
		{"{'type':'DiskPressure','status':'True'}", NODE_READY_UNKNOWN},
		{"{'type':'DiskPressure','status':'False'},{'type':'Ready','status':'True'}",
		 NODE_READY},
		{"{'type':'Ready','status':'False'}", NODE_NOT_READY},
		{"{'type':'Ready','status':'Unknown'}", NODE_NOT_READY},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct arena arena CLEANUP(arena_clear);
		struct node_facts facts;
		struct wire_node wire;
		char json[256];

		arena_init(&arena, LIMIT_DECODE_ARENA);
		snprintf(json, sizeof(json),
			 "{'metadata':{'name':'n','uid':'u'},'status':{'conditions':[%s]}}",
			 cases[i].conditions);
		sample_decode(&wire_node_schema, json, &arena, &wire);
		assert_int_equal(api_pack_node(&wire, NULL, &arena, &facts, NULL), 0);
		if (facts.ready != cases[i].ready)
			fail_msg("%s: %d", cases[i].conditions, (int)facts.ready);
	}
}

static void refuses_more_resources_than_it_keeps(void **state)
{
	struct arena arena CLEANUP(arena_clear);
	struct buf json CLEANUP(buf_clear);
	struct node_facts facts;
	struct error err = {0};
	size_t i;

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	buf_init(&json, LIMIT_WATCH_FRAME);
	for (i = 0; i < LIMIT_OFFERS_PER_NODE; i++)
		buf_printf(&json, "%s'nvidia.com/mig-%zug':'1'", i ? "," : "", i);
	assert_int_equal(pack_labels("", json.data, &arena, &facts, &err), 0);
	assert_int_equal(facts.n_offers, LIMIT_OFFERS_PER_NODE);
	buf_add_cstr(&json, ",'nvidia.com/gpu':'1'");
	assert_int_equal(pack_labels("", json.data, &arena, &facts, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static void a_node_is_being_cut_anew_until_its_label_says_success(void **state)
{
	static const struct {
		const char *labels;
		bool is;
	} cases[] = {
		{"", false},
		{"'nvidia.com/mig.config.state':'success'", false},
		{"'nvidia.com/mig.config.state':'pending'", true},
		{"'nvidia.com/mig.config.state':'rebooting'", true},
		{"'nvidia.com/mig.config.state':'failed'", true},
		{"'nvidia.com/mig.config.state':'other'", true},
	};
	struct arena arena CLEANUP(arena_clear);
	struct node_facts facts;

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(pack_labels(cases[i].labels, GPU, &arena, &facts, NULL), 0);
		assert_int_equal(facts.reconfiguring, cases[i].is);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_nodes_offer_what_they_have),
		cmocka_unit_test(labels_price_what_they_describe_and_nothing_else),
		cmocka_unit_test(refuses_with_the_node_s_name),
		cmocka_unit_test(a_node_is_ready_only_where_its_condition_says_so),
		cmocka_unit_test(a_node_is_being_cut_anew_until_its_label_says_success),
		cmocka_unit_test(refuses_more_resources_than_it_keeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
