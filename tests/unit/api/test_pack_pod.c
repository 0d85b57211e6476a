/* SPDX-License-Identifier: Apache-2.0 */
/* Pods and namespaces: what recorded ones ask for, and odd ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/pack.h"
#include "base/limits.h"
#include "base/macros.h"
#include "recorded.h"

/* "normal nvidia.com/gpu=2; init nvidia.com/gpu=8": containers that ask for GPUs. */
static void describe(const struct pod_facts *facts, struct buf *text)
{
	static const char *const kinds[] = {
		[CONTAINER_NORMAL] = "normal",
		[CONTAINER_INIT] = "init",
		[CONTAINER_SIDECAR] = "sidecar",
	};
	size_t i, k;

	for (i = 0; i < facts->n_containers; i++) {
		const struct container_facts *container = &facts->containers[i];

		if (container->n_asks == 0)
			continue;
		buf_printf(text, "%s%s", text->len ? "; " : "", kinds[container->kind]);
		for (k = 0; k < container->n_asks; k++)
			buf_printf(text, " %.*s=%lld", STR_ARGS(container->asks[k].resource),
				   (long long)container->asks[k].count);
	}
	for (k = 0; k < facts->n_own; k++)
		buf_printf(text, "; overhead %.*s=%lld", STR_ARGS(facts->own[k].resource),
			   (long long)facts->own[k].count);
}

static const struct {
	const char *name, *product;
	size_t n_containers;
	const char *gpus;
} recorded_pods[] = {
	{"pod.deployment-vllm", "NVIDIA-H100-80GB-HBM3", 1, "normal nvidia.com/gpu=2"},
	{"pod.deployment-mig", "", 2, "normal nvidia.com/mig-1g.10gb=1"},
	{"pod.deployment-mps", "NVIDIA-H100-80GB-HBM3-SHARED", 1, "normal nvidia.com/gpu=1"},
	{"pod.deployment-cpu", "", 1, ""},
	{"pod.statefulset-notebook", "", 1, "normal nvidia.com/gpu.shared=1"},
	{"pod.job-finetune", "NVIDIA-A100-SXM4-40GB", 2,
	 "init nvidia.com/gpu=8; normal nvidia.com/gpu=8"},
	{"pod.job-amd", "AMD_Instinct_MI300X_OAM", 1, "normal amd.com/gpu=4"},
	{"pod.cronjob-batch", "Tesla-T4", 1, "normal nvidia.com/gpu=1"},
	{"pod.gang-coscheduling", "", 2, "normal nvidia.com/gpu=2"},
	{"pod.gang-volcano", "", 1, "normal nvidia.com/gpu=8"},
	{"pod.gang-leaderworkerset", "NVIDIA-H200", 1, "normal nvidia.com/gpu=8"},
	{"pod.gang-jobset", "NVIDIA-H100-80GB-HBM3", 2, "normal nvidia.com/gpu=8"},
	{"pod.gang-pytorchjob", "NVIDIA-A100-SXM4-40GB", 2, "normal nvidia.com/gpu=8"},
	{"pod.hami", "", 1, "normal nvidia.com/gpumem=10240"},
	{"pod.dra-claim", "", 1, ""},
	{"pod.sidecars", "NVIDIA-H100-80GB-HBM3", 5,
	 "sidecar nvidia.com/gpu=1; init nvidia.com/gpu=4; normal nvidia.com/gpu=2"},
	{"pod.overhead", "", 1, "normal nvidia.com/gpu=1; overhead nvidia.com/gpu=1"},
	{"pod.terminating", "", 1, "normal nvidia.com/gpu=1"},
	{"pod.gated", "", 1, "normal nvidia.com/gpu=1"},
};

static void recorded_pods_ask_for_what_their_manifests_say(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(recorded_pods); i++) {
		struct arena arena CLEANUP(arena_clear);
		struct buf text CLEANUP(buf_clear);
		struct buf gpus CLEANUP(buf_clear);
		struct wire_pod wire;
		struct pod_facts facts;
		struct error err = {0};

		arena_init(&arena, LIMIT_DECODE_ARENA);
		buf_init(&text, LIMIT_WATCH_FRAME);
		buf_init(&gpus, 1024);
		buf_add_cstr(&gpus, "");
		recorded_decode(&wire_pod_schema, recorded_pods[i].name, &text, &arena, &wire);
		if (api_pack_pod(&wire, NULL, &arena, &facts, &err) < 0)
			fail_msg("%s: %s", recorded_pods[i].name, err.message);
		describe(&facts, &gpus);
		if (!str_equal(buf_str(&gpus), str_from(recorded_pods[i].gpus)))
			fail_msg("%s: %.*s", recorded_pods[i].name, STR_ARGS(buf_str(&gpus)));
		if (!str_equal(facts.product, str_from(recorded_pods[i].product)))
			fail_msg("%s: product %.*s", recorded_pods[i].name,
				 STR_ARGS(facts.product));
		if (facts.n_containers != recorded_pods[i].n_containers)
			fail_msg("%s: %zu containers", recorded_pods[i].name, facts.n_containers);
		assert_int_equal(facts.uid.len, 36);
		assert_int_not_equal(facts.resource_version, 0);
		assert_true(facts.created_us > 1577836800000000);
		assert_int_equal(facts.terminating,
				 strcmp(recorded_pods[i].name, "pod.terminating") == 0);
		assert_int_equal(facts.gated, strcmp(recorded_pods[i].name, "pod.gated") == 0);
	}
}

static void recorded_pods_have_their_owners(void **state)
{
	static const struct {
		const char *name, *kind;
		bool hashed;
	} cases[] = {
		{"pod.deployment-vllm", "ReplicaSet", true},
		{"pod.statefulset-notebook", "StatefulSet", false},
		{"pod.job-finetune", "Job", false},
		{"pod.terminating", "", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct arena arena CLEANUP(arena_clear);
		struct buf text CLEANUP(buf_clear);
		struct wire_pod wire;
		struct pod_facts facts;

		arena_init(&arena, LIMIT_DECODE_ARENA);
		buf_init(&text, LIMIT_WATCH_FRAME);
		recorded_decode(&wire_pod_schema, cases[i].name, &text, &arena, &wire);
		assert_int_equal(api_pack_pod(&wire, NULL, &arena, &facts, NULL), 0);
		if (!str_equal(facts.owner_kind, str_from(cases[i].kind)))
			fail_msg("%s: %.*s %.*s", cases[i].name, STR_ARGS(facts.owner_kind),
				 STR_ARGS(facts.owner_name));
		if (cases[i].hashed)
			assert_true(str_ends_with(facts.owner_name, facts.template_hash));
		assert_int_equal(!str_empty(facts.template_hash), cases[i].hashed);
		assert_int_equal(facts.deletion_us >= facts.created_us, facts.terminating);
		assert_int_equal(facts.deletion_us == 0, !facts.terminating);
	}
}

static int pack(const char *rest, struct arena *arena, struct pod_facts *ret_facts,
		struct error *err)
{
	struct wire_pod wire;
	static char json[128 * 1024];

	snprintf(json, sizeof(json),
		 "{'metadata':{'name':'p','namespace':'n','uid':'u','resourceVersion':'7'},%s}",
		 rest);
	sample_decode(&wire_pod_schema, json, arena, &wire);
	return api_pack_pod(&wire, NULL, arena, ret_facts, err);
}

#define ONE(resources) "'spec':{'containers':[{'name':'c','resources':{" resources "}}]}"

static void containers_ask_by_requests_then_limits(void **state)
{
	static const struct {
		const char *name, *rest, *gpus;
	} cases[] = {
		{"requests count", ONE("'requests':{'nvidia.com/gpu':'2'}"),
		 "normal nvidia.com/gpu=2"},
		{"limits count where there is no request", ONE("'limits':{'nvidia.com/gpu':'2'}"),
		 "normal nvidia.com/gpu=2"},
		{"a request beats a limit",
		 ONE("'requests':{'nvidia.com/gpu':'1'},'limits':{'nvidia.com/gpu':'2'}"),
		 "normal nvidia.com/gpu=1"},
		{"each resource by itself",
		 ONE("'requests':{'nvidia.com/gpu':'1'},'limits':{'nvidia.com/mig-1g.10gb':'2'}"),
		 "normal nvidia.com/gpu=1 nvidia.com/mig-1g.10gb=2"},
		{"zero is no GPU", ONE("'requests':{'nvidia.com/gpu':'0'}"), ""},
		{"zero beside some is left out",
		 ONE("'limits':{'nvidia.com/gpu':'2','nvidia.com/mig-1g.10gb':'0'}"),
		 "normal nvidia.com/gpu=2"},
		{"other resources do not count",
		 ONE("'requests':{'cpu':'4','memory':'1Gi','rdma/hca':'1','nvidia.com/gpux':'1'}"),
		 ""},
		{"KAI's rows are asked for by annotation alone",
		 "'spec':{'overhead':{'kai.scheduler/gpu-memory':'9'},'containers':[{'resources':{"
		 "'limits':{'kai.scheduler/gpu-fraction':'9','kai.scheduler/gpu-memory':'9'}}}]}",
		 ""},
		{"ephemeral containers hold nothing",
		 "'spec':{'ephemeralContainers':[{'name':'e','resources':{'limits':{"
		 "'nvidia.com/gpu':'1'}}}]}",
		 ""},
		{"init containers come first, whatever the order of the keys",
		 "'spec':{'containers':[{'resources':{'limits':{'amd.com/gpu':1}}}],"
		 "'initContainers':[{'restartPolicy':'Always','resources':{'limits':{"
		 "'amd.com/gpu':'3'}}},{'resources':{'limits':{'amd.com/gpu':'2'}}}]}",
		 "sidecar amd.com/gpu=3; init amd.com/gpu=2; normal amd.com/gpu=1"},
		{"a pod may have no spec at all", "'status':{}", ""},
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct arena arena CLEANUP(arena_clear);
		struct buf gpus CLEANUP(buf_clear);
		struct pod_facts facts;
		struct error err = {0};

		arena_init(&arena, LIMIT_DECODE_ARENA);
		buf_init(&gpus, 1024);
		if (pack(cases[i].rest, &arena, &facts, &err) < 0)
			fail_msg("%s: %s", cases[i].name, err.message);
		describe(&facts, &gpus);
		if (!str_equal(buf_str(&gpus), str_from(cases[i].gpus)))
			fail_msg("%s: %.*s", cases[i].name, STR_ARGS(buf_str(&gpus)));
	}
}

static void phases_and_places_are_read(void **state)
{
	static const struct {
		const char *text;
		enum pod_phase phase;
	} phases[] = {
		{"Pending", POD_PENDING},       {"Running", POD_RUNNING},
		{"Succeeded", POD_SUCCEEDED},   {"Failed", POD_FAILED},
		{"Unknown", POD_PHASE_UNKNOWN}, {"", POD_PHASE_UNKNOWN},
	};
	struct arena arena CLEANUP(arena_clear);
	struct pod_facts facts;
	struct error err = {0};
	char rest[256];
	size_t i;

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	for (i = 0; i < ARRAY_SIZE(phases); i++) {
		snprintf(rest, sizeof(rest), "'status':{'phase':'%s'},'spec':{'nodeName':'node-1'}",
			 phases[i].text);
		assert_int_equal(pack(rest, &arena, &facts, &err), 0);
		assert_int_equal(facts.phase, phases[i].phase);
		assert_true(str_equal(facts.node, STR("node-1")));
		assert_int_equal(facts.resource_version, 7);
	}
	assert_int_equal(pack("'spec':{'nodeSelector':{'amd.com/gpu.product-name':'A',"
			      "'nvidia.com/gpu.product':'N'}}",
			      &arena, &facts, &err),
			 0);
	assert_true(str_equal(facts.product, STR("N")));
}

static void what_is_no_number_is_a_unit_that_cannot_be_read(void **state)
{
	static const char *const cases[] = {
		ONE("'requests':{'nvidia.com/gpu':'two','amd.com/gpu':2}"),
		ONE("'requests':{'nvidia.com/gpu':'-1','amd.com/gpu':2}"),
		ONE("'limits':{'amd.com/gpu':2,'nvidia.com/gpu':'8Ei'}"),
	};
	struct arena arena CLEANUP(arena_clear);
	struct pod_facts facts;
	struct wire_pod wire;
	struct error err = {0};
	size_t i;

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(pack(cases[i], &arena, &facts, &err), 0);
		assert_int_equal(facts.containers[0].n_asks, 2);
		assert_true(str_equal(facts.containers[0].asks[0].resource, STR("amd.com/gpu")));
		assert_int_equal(facts.containers[0].asks[0].count, 2);
		assert_true(
			str_equal(facts.containers[0].asks[1].resource, STR(DEVICE_UNREADABLE)));
		assert_int_equal(facts.containers[0].asks[1].count, 1);
	}
	assert_int_equal(pack("'spec':{'overhead':{'nvidia.com/gpu':'8Ei'}}", &arena, &facts, &err),
			 0);
	assert_int_equal(facts.n_own, 1);
	sample_decode(&wire_pod_schema, "{'metadata':{'uid':'u'}}", &arena, &wire);
	assert_int_equal(api_pack_pod(&wire, NULL, &arena, &facts, &err), -1);
	assert_string_equal(err.message, "Pod : has no name");
}

/* Names in one container, by their numbers. */
struct names {
	const char *prefix;
	size_t zeros, count; /* asked for 0 times, which come first, and once */
};

static struct container_facts pack_names(const struct names *names, size_t n, struct arena *arena)
{
	struct buf rest CLEANUP(buf_clear);
	struct pod_facts facts;
	struct error err = {0};
	const char *comma = "";

	buf_init(&rest, LIMIT_WATCH_FRAME);
	buf_add_cstr(&rest, "'spec':{'containers':[{'resources':{'limits':{");
	for (size_t k = 0; k < n; k++) {
		for (size_t i = 0; i < names[k].zeros + names[k].count; i++) {
			buf_printf(&rest, "%s'%s%zu':'%d'", comma, names[k].prefix, i,
				   i >= names[k].zeros);
			comma = ",";
		}
	}
	buf_add_cstr(&rest, "}}}]}");
	assert_int_equal(pack(rest.data, arena, &facts, &err), 0);
	return facts.containers[0];
}

static int64_t asked(const struct container_facts *container, struct str resource)
{
	for (size_t i = 0; i < container->n_asks; i++)
		if (str_equal(container->asks[i].resource, resource))
			return container->asks[i].count;
	return 0;
}

/* Else a pod could hide from the ledger behind them. */
static void no_names_are_too_many(void **state)
{
	static const struct {
		struct names names[2];
		size_t asks;
		int64_t unreadable;
	} cases[] = {
		{{{"nvidia.com/mig-", 0, LIMIT_RESOURCES_PER_POD}}, LIMIT_RESOURCES_PER_POD, 0},
		{{{"nvidia.com/mig-", 0, LIMIT_RESOURCES_PER_POD + 3}},
		 LIMIT_RESOURCES_PER_POD + 1,
		 3},
		{{{"nvidia.com/mig-", 3000, LIMIT_RESOURCES_PER_POD}}, LIMIT_RESOURCES_PER_POD, 0},
		{{{"koordinator.sh/gpu-x", 0, 3000}, {"nvidia.com/mig-", 0, 2}}, 3, 0},
		{{{"volcano.sh/vgpu-x", 0, 3000}, {"nvidia.com/mig-", 0, 2}}, 3, 0},
	};
	struct arena arena CLEANUP(arena_clear);

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct container_facts container = pack_names(cases[i].names, 2, &arena);

		assert_int_equal(container.n_asks, cases[i].asks);
		assert_int_equal(asked(&container, STR(DEVICE_UNREADABLE)), cases[i].unreadable);
	}
}

/* Names that a way of asking does not know are beside it, and cost what it costs. */
static void unknown_names_ask_in_their_source_s_way(void **state)
{
	const struct names koordinator[] = {{"koordinator.sh/gpu-x", 0, 69}, {"a/b", 0, 0}};
	struct arena arena CLEANUP(arena_clear);
	struct container_facts container;

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	container = pack_names(koordinator, 2, &arena);
	assert_int_equal(container.n_asks, 1);
	assert_int_equal(asked(&container, STR("koordinator.sh/gpu-memory-ratio")), 100);
}

static void nothing_is_allocated_before_a_pod_has_a_node(void **state)
{
	struct wire_pair annotations[] = {
		{STR("hami.io/vgpu-devices-allocated"), STR("GPU-1,NVIDIA,9000,30:;")},
	};
	struct wire_pair requests[] = {{STR("nvidia.com/gpumem"), STR("1000")}};
	struct wire_container container = {.resources.requests = {requests, 1}};
	struct wire_pod wire = {.meta = {.name = STR("p"), .uid = STR("u")}};
	struct arena arena CLEANUP(arena_clear);
	struct pod_facts facts;

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	wire.meta.annotations = (struct wire_list){annotations, 1};
	wire.spec.containers = (struct wire_list){&container, 1};
	for (int bound = 0; bound < 2; bound++) {
		wire.spec.node_name = bound ? STR("n") : STR_NONE;
		assert_int_equal(api_pack_pod(&wire, NULL, &arena, &facts, NULL), 0);
		assert_int_equal(facts.containers[0].asks[0].count, 1000);
		assert_int_equal(facts.containers[0].asks[0].told, bound ? 8000 : 0);
		assert_int_equal(facts.annotated, bound);
	}
}

static void refuses_names_that_are_none(void **state)
{
	struct wire_pod wire = {0};
	struct pod_facts facts;
	struct error err = {0};
	char name[LIMIT_NAME + 1];

	(void)state;
	memset(name, 'x', sizeof(name));
	wire.meta.name = STR("p");
	wire.meta.uid = STR("u");
	wire.spec.node_name = (struct str){name, sizeof(name)};
	assert_int_equal(api_pack_pod(&wire, NULL, &(struct arena){0}, &facts, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_int_equal(api_pack_pod_outline(&wire, &facts, &err), -1);
	wire.spec.node_name = STR_NONE;
	wire.meta.name = (struct str){name, sizeof(name)};
	assert_int_equal(api_pack_pod(&wire, NULL, &(struct arena){0}, &facts, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

static void an_outline_says_who_and_where_and_that_no_more_is_known(void **state)
{
	struct arena arena CLEANUP(arena_clear);
	struct pod_facts facts;
	struct wire_pod wire;
	struct error err = {0};

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	sample_decode(&wire_pod_outline_schema,
		      "{'metadata':{'name':'p','namespace':'n','uid':'u','resourceVersion':'7',"
		      "'labels':7,'annotations':'odd'},'spec':{'nodeName':'m','containers':1},"
		      "'status':{'phase':'Failed'}}",
		      &arena, &wire);
	assert_int_equal(api_pack_pod_outline(&wire, &facts, &err), 0);
	assert_true(str_equal(facts.namespace, STR("n")));
	assert_true(str_equal(facts.name, STR("p")));
	assert_true(str_equal(facts.node, STR("m")));
	assert_int_equal(facts.resource_version, 7);
	assert_int_equal(facts.phase, POD_FAILED);
	assert_true(facts.unreadable);
	assert_int_equal(facts.n_own, 1);
	assert_true(str_equal(facts.own[0].resource, STR(DEVICE_UNREADABLE)));
	assert_int_equal(facts.own[0].count, 1);
}

static void versions_are_numbers_or_nothing(void **state)
{
	(void)state;
	assert_int_equal(api_version_number(STR("12345")), 12345);
	assert_int_equal(api_version_number(STR("")), 0);
	assert_int_equal(api_version_number(STR("12a")), 0);
	assert_int_equal(api_version_number(STR("-1")), 0);
	assert_int_equal(api_version_number(STR("99999999999999999999")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_pods_ask_for_what_their_manifests_say),
		cmocka_unit_test(recorded_pods_have_their_owners),
		cmocka_unit_test(containers_ask_by_requests_then_limits),
		cmocka_unit_test(phases_and_places_are_read),
		cmocka_unit_test(what_is_no_number_is_a_unit_that_cannot_be_read),
		cmocka_unit_test(no_names_are_too_many),
		cmocka_unit_test(unknown_names_ask_in_their_source_s_way),
		cmocka_unit_test(nothing_is_allocated_before_a_pod_has_a_node),
		cmocka_unit_test(refuses_names_that_are_none),
		cmocka_unit_test(an_outline_says_who_and_where_and_that_no_more_is_known),
		cmocka_unit_test(versions_are_numbers_or_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
