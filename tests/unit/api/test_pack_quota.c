/* SPDX-License-Identifier: Apache-2.0 */
/* GpuMemoryQuotas: what their specs mean, why some cannot be used, and their status read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/body.h"
#include "api/pack.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/macros.h"
#include "codec/json.h"
#include "recorded.h"

static void pack(const char *spec, struct arena *arena, struct quota_facts *ret_facts)
{
	struct wire_gpu_memory_quota wire;
	struct error err = {0};
	char json[2048];

	snprintf(json, sizeof(json),
		 "{'metadata':{'name':'q','namespace':'n','uid':'u'},'spec':%s}", spec);
	sample_decode(&wire_gpu_memory_quota_schema, json, arena, &wire);
	if (api_pack_quota(&wire, arena, ret_facts, &err) < 0)
		fail_msg("%s: %s", spec, err.message);
}

static void a_spec_is_read_whole(void **state)
{
	struct arena arena CLEANUP(arena_clear);
	struct quota_facts facts;

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	pack("{'gpuMemory':'320Gi','gpus':4,'resources':{'nvidia.com/mig-1g.10gb':7,"
	     "'amd.com/gpu':'2'},'perPod':{'gpuMemory':'160Gi','gpus':2},"
	     "'containerDefaults':{'nvidia.com/gpu':1,'rdma/hca':'1'},'products':"
	     "[{'product':'T4','gpuMemory':'64Gi'},{'product':'H200','gpus':2,'gpuMemory':0}],"
	     "'borrowLimit':'160Gi','onShrink':'Drain','shrinkDeadlineSeconds':3600,"
	     "'releaseOn':'Terminal','terminalTimeoutSeconds':0,'enforcement':'DryRun'}",
	     &arena, &facts);
	assert_null(facts.invalid);
	assert_false(facts.has_status);
	assert_int_equal(facts.spec.gpu_memory, 320 * GIB);
	assert_int_equal(facts.spec.gpus, 4);
	assert_int_equal(facts.spec.pod_gpu_memory, 160 * GIB);
	assert_int_equal(facts.spec.pod_gpus, 2);
	assert_int_equal(facts.spec.n_caps, 2);
	assert_true(str_equal(facts.spec.caps[0].resource, STR("amd.com/gpu")));
	assert_int_equal(facts.spec.caps[0].count, 2);
	assert_true(str_equal(facts.spec.caps[1].resource, STR("nvidia.com/mig-1g.10gb")));
	assert_int_equal(facts.spec.caps[1].count, 7);
	assert_int_equal(facts.spec.n_defaults, 2);
	assert_true(str_equal(facts.spec.defaults[1].resource, STR("rdma/hca")));
	assert_int_equal(facts.spec.n_products, 2);
	assert_true(str_equal(facts.spec.products[0].product, STR("H200")));
	assert_int_equal(facts.spec.products[0].gpu_memory, 0);
	assert_int_equal(facts.spec.products[0].gpus, 2);
	assert_true(str_equal(facts.spec.products[1].product, STR("T4")));
	assert_int_equal(facts.spec.products[1].gpu_memory, 64 * GIB);
	assert_int_equal(facts.spec.products[1].gpus, AMOUNT_NONE);
	assert_int_equal(facts.spec.borrow_limit, 160 * GIB);
	assert_int_equal(facts.spec.on_shrink, SHRINK_DRAIN);
	assert_int_equal(facts.spec.shrink_deadline_us, 3600 * USEC_PER_SEC);
	assert_true(facts.spec.release_terminal);
	assert_int_equal(facts.spec.terminal_timeout_us, 0);
	assert_true(facts.spec.dry_run);
}

static void what_is_left_out_is_no_limit(void **state)
{
	struct arena arena CLEANUP(arena_clear);
	struct quota_facts facts;

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	pack("{'gpuMemory':'1Gi'}", &arena, &facts);
	assert_null(facts.invalid);
	assert_int_equal(facts.spec.gpu_memory, GIB);
	assert_int_equal(facts.spec.gpus, AMOUNT_NONE);
	assert_int_equal(facts.spec.pod_gpu_memory, AMOUNT_NONE);
	assert_int_equal(facts.spec.pod_gpus, AMOUNT_NONE);
	assert_int_equal(facts.spec.n_caps, 0);
	assert_int_equal(facts.spec.n_defaults, 0);
	assert_int_equal(facts.spec.n_products, 0);
	assert_int_equal(facts.spec.borrow_limit, 0);
	assert_int_equal(facts.spec.on_shrink, SHRINK_FREEZE);
	assert_int_equal(facts.spec.shrink_deadline_us, 600 * USEC_PER_SEC);
	assert_false(facts.spec.release_terminal);
	assert_int_equal(facts.spec.terminal_timeout_us, 300 * USEC_PER_SEC);
	assert_false(facts.spec.dry_run);

	pack("{'gpuMemory':1073741824,'gpus':0,'perPod':{'gpus':0}}", &arena, &facts);
	assert_null(facts.invalid);
	assert_int_equal(facts.spec.gpu_memory, GIB);
	assert_int_equal(facts.spec.gpus, 0);
	assert_int_equal(facts.spec.pod_gpus, 0);
}

static const struct {
	const char *spec, *invalid;
} unusable[] = {
	{"{}", "spec.gpuMemory is missing; say how much GPU memory the namespace may hold, "
	       "such as 320Gi"},
	{"{'gpuMemory':'lots'}",
	 "spec.gpuMemory \"lots\" is no amount of memory; write it like 320Gi"},
	{"{'gpuMemory':'9Ei'}",
	 "spec.gpuMemory \"9Ei\" is no amount of memory; write it like 320Gi"},
	{"{'gpuMemory':''}", "spec.gpuMemory \"\" is no amount of memory; write it like 320Gi"},
	{"{'gpuMemory':'0'}", "spec.gpuMemory 0 must be more than 0"},
	{"{'gpuMemory':'-4Gi'}", "spec.gpuMemory -4Gi must be more than 0"},
	{"{'gpuMemory':320}", "spec.gpuMemory 320 means 320 bytes; did you mean 320Gi?"},
	{"{'gpuMemory':'320Mi'}", "spec.gpuMemory 320Mi is less than 1Gi, the least there is"},
	{"{'gpuMemory':'4Gi','gpus':-1}", "spec.gpus -1 must be 0 or more"},
	{"{'gpuMemory':'4Gi','perPod':{'gpus':-2}}", "spec.perPod.gpus -2 must be 0 or more"},
	{"{'gpuMemory':'4Gi','perPod':{'gpuMemory':'x'}}",
	 "spec.perPod.gpuMemory \"x\" is no amount of memory; write it like 320Gi"},
	{"{'gpuMemory':'4Gi','perPod':{'gpuMemory':'0'}}",
	 "spec.perPod.gpuMemory 0 must be more than 0"},
	{"{'gpuMemory':'4Gi','perPod':{'gpuMemory':'5Gi'}}",
	 "spec.perPod.gpuMemory 5Gi is more than spec.gpuMemory 4Gi"},
	{"{'gpuMemory':'4Gi','resources':{'cpu':'1'}}",
	 "spec.resources: cpu is no extended resource; those are written domain/name, such "
	 "as nvidia.com/gpu"},
	{"{'gpuMemory':'4Gi','resources':{'rdma/hca':'1'}}",
	 "spec.resources: rdma/hca is no GPU resource that is known"},
	{"{'gpuMemory':'4Gi','resources':{'nvidia.com/gpu':'1.5'}}",
	 "spec.resources: nvidia.com/gpu must be a whole number, 0 or more, not \"1.5\""},
	{"{'gpuMemory':'4Gi','resources':{'nvidia.com/gpu':'-1'}}",
	 "spec.resources: nvidia.com/gpu must be a whole number, 0 or more, not \"-1\""},
	{"{'gpuMemory':'4Gi','containerDefaults':{'nvidia.com/gpu':'one'}}",
	 "spec.containerDefaults: nvidia.com/gpu must be a whole number, 0 or more, not "
	 "\"one\""},
	{"{'gpuMemory':'4Gi','containerDefaults':{'/x':'1'}}",
	 "spec.containerDefaults: /x is no extended resource; those are written "
	 "domain/name, such as nvidia.com/gpu"},
	{"{'gpuMemory':'4Gi','containerDefaults':{'a..b/x':'1'}}",
	 "spec.containerDefaults: a..b/x is no extended resource; those are written "
	 "domain/name, such as nvidia.com/gpu"},
	{"{'gpuMemory':'4Gi','containerDefaults':{'requests.nvidia.com/gpu':'1'}}",
	 "spec.containerDefaults: requests.nvidia.com/gpu is no extended resource; those are "
	 "written domain/name, such as nvidia.com/gpu"},
	{"{'gpuMemory':'4Gi','containerDefaults':{'pod.kubernetes.io/x':'1'}}",
	 "spec.containerDefaults: pod.kubernetes.io/x is no extended resource; those are "
	 "written domain/name, such as nvidia.com/gpu"},
	{"{'gpuMemory':'4Gi','containerDefaults':{'nvidia.com/gpu_':'1'}}",
	 "spec.containerDefaults: nvidia.com/gpu_ is no extended resource; those are written "
	 "domain/name, such as nvidia.com/gpu"},
	{"{'gpuMemory':'4Gi','onShrink':'Drian'}",
	 "spec.onShrink Drian is not known to this version; it may be Freeze, Drain or Evict"},
	{"{'gpuMemory':'4Gi','releaseOn':'Never'}",
	 "spec.releaseOn Never is not known to this version; it may be Deletion or Terminal"},
	{"{'gpuMemory':'4Gi','enforcement':'Off'}",
	 "spec.enforcement Off is not known to this version; it may be Enforce or DryRun"},
	{"{'gpuMemory':'4Gi','shrinkDeadlineSeconds':604801}",
	 "spec.shrinkDeadlineSeconds 604801 must be between 0 and 604800"},
	{"{'gpuMemory':'4Gi','terminalTimeoutSeconds':-1}",
	 "spec.terminalTimeoutSeconds -1 must be between 0 and 86400"},
	{"{'gpuMemory':'4Gi','borrowLimit':'x'}",
	 "spec.borrowLimit \"x\" is no amount of memory; write it like 320Gi"},
	{"{'gpuMemory':'4Gi','borrowLimit':'-1'}", "spec.borrowLimit -1 must be more than 0"},
	{"{'gpuMemory':'4Gi','borrowLimit':160}",
	 "spec.borrowLimit 160 means 160 bytes; did you mean 160Gi?"},
	{"{'gpuMemory':'4Gi','products':[{'product':'T4'}]}",
	 "spec.products[]: T4 has neither gpuMemory nor gpus"},
	{"{'gpuMemory':'4Gi','products':[{'gpus':1}]}",
	 "spec.products[] has a product that no card can have; write it as nodes are labelled, "
	 "such as NVIDIA-H200"},
	{"{'gpuMemory':'4Gi','products':[{'product':'T4','gpus':-1}]}",
	 "spec.products[].gpus -1 must be 0 or more"},
	{"{'gpuMemory':'4Gi','products':[{'product':'T4','gpuMemory':'80'}]}",
	 "spec.products[].gpuMemory 80 means 80 bytes; did you mean 80Gi?"},
	{"{'gpuMemory':'4Gi','products':[{'product':'T4','gpus':1},{'product':'A','gpus':1},"
	 "{'product':'T4','gpus':2}]}",
	 "spec.products names T4 twice"},
	{"{'gpuMemory':"
	 "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'}",
	 "spec.gpuMemory "
	 "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\" is no amount "
	 "of memory; write it like 320Gi"},
};

static void an_unusable_spec_says_why(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(unusable); i++) {
		struct arena arena CLEANUP(arena_clear);
		struct quota_facts facts;

		arena_init(&arena, LIMIT_DECODE_ARENA);
		pack(unusable[i].spec, &arena, &facts);
		if (!facts.invalid || strcmp(facts.invalid, unusable[i].invalid) != 0)
			fail_msg("%s: %s", unusable[i].spec,
				 facts.invalid ? facts.invalid : "valid");
	}
}

static void a_recorded_status_is_read_back(void **state)
{
	struct arena arena CLEANUP(arena_clear);
	struct buf text CLEANUP(buf_clear);
	struct wire_gpu_memory_quota wire;
	struct quota_facts facts;
	struct error err = {0};

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	buf_init(&text, LIMIT_WATCH_FRAME);
	recorded_decode(&wire_gpu_memory_quota_schema, "gpumemoryquota.status", &text, &arena,
			&wire);
	assert_int_equal(api_pack_quota(&wire, &arena, &facts, &err), 0);
	assert_null(facts.invalid);
	assert_true(facts.has_status);
	assert_int_equal(facts.generation, 1);
	assert_int_equal(facts.status.effective, 320 * GIB);
	assert_int_equal(facts.status.used, 163118 * MIB);
	assert_int_equal(facts.status.granted, 320 * GIB);
	assert_int_equal(facts.status.released, 81559 * MIB);
	assert_int_equal(facts.status.released_pods, 1);
	assert_true(str_equal(facts.status.tenant, STR("vision")));
	assert_int_equal(facts.status.dry_run.since_us, 1767323045000000);
	assert_int_equal(facts.status.dry_run.refused, 2);
	assert_int_equal(facts.status.dry_run.n_rows, 1);
	assert_true(str_equal(facts.status.dry_run.rows[0].name, STR("train")));
	assert_int_equal(facts.spec.n_products, 2);
	assert_int_equal(facts.spec.on_shrink, SHRINK_DRAIN);
	assert_int_equal(facts.status.n_rows, 1);
	assert_int_equal(facts.status.rows[0].unit_memory, 81559 * MIB);
	assert_int_equal(facts.status.conditions[QUOTA_READY].status, CONDITION_TRUE);
	assert_int_equal(facts.status.conditions[QUOTA_READY].since_us, 1767323045000000);
	assert_int_equal(facts.status.conditions[QUOTA_DRIFTED].status, CONDITION_UNKNOWN);

	buf_reset(&text);
	recorded_decode(&wire_gpu_memory_quota_schema, "gpumemoryquota.new", &text, &arena, &wire);
	assert_int_equal(api_pack_quota(&wire, &arena, &facts, &err), 0);
	assert_false(facts.has_status);
}

static void unreadable_status_counts_as_none(void **state)
{
	static const struct {
		const char *status;
		bool readable;
	} cases[] = {
#define AMOUNTS                                                                              \
	"'effective':'1Gi','granted':'1Gi','used':'0','lent':'0','borrowed':'0','live':'0'," \
	"'released':'0'"
		{"{" AMOUNTS "}", true},
		{"{}", false},
		{"{'effective':'x','used':'0','lent':'0','borrowed':'0','live':'0'}", false},
		{"{'effective':'1Gi','used':'0','lent':'0','borrowed':'0','live':'0'}", false},
		{"{" AMOUNTS ",'pods':-1}", false},
		{"{" AMOUNTS ",'releasedPods':-1}", false},
		{"{" AMOUNTS ",'grantedGPUs':-1}", false},
		{"{" AMOUNTS ",'grantedGPUs':3,'effectiveGPUs':2}", true},
		{"{" AMOUNTS ",'resources':[{'product':'p'}]}", false},
		{"{" AMOUNTS ",'resources':[{'name':'a/b','used':-1}]}", false},
		{"{" AMOUNTS ",'resources':[{'name':'a/b','unitMemory':'-1'}]}", false},
		{"{" AMOUNTS ",'resources':[{'name':'a/b'}]}", true},
		{"{" AMOUNTS ",'conditions':[{'type':'Later','reason':'Enforced'},"
		 "{'type':'Ready','reason':'Later','status':'True'}]}",
		 true},
	};
	struct arena arena CLEANUP(arena_clear);
	struct quota_facts facts;
	char spec[1024];
	size_t i;

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(spec, sizeof(spec), "{'gpuMemory':'1Gi'},'status':%s", cases[i].status);
		pack(spec, &arena, &facts);
		if (facts.has_status != cases[i].readable)
			fail_msg("%s", cases[i].status);
		assert_int_equal(facts.status.conditions[QUOTA_READY].status, CONDITION_UNKNOWN);
	}
}

static const struct dry_run_row workloads[] = {
	{{"Job", 3}, {"train", 5}, 7, 70 * GIB},
	{{"Pod", 3}, {"alone", 5}, 1, 1},
};

static const struct quota_class classes[] = {
	{{"gpu.nvidia.com", sizeof("gpu.nvidia.com") - 1},
	 {"nvidia.com/gpu", sizeof("nvidia.com/gpu") - 1}},
	{{"nic.example.com", sizeof("nic.example.com") - 1}, {"", 0}},
};

static void fill_status(struct quota_status *status, const struct quota_row *rows, size_t n_rows)
{
	int i;

	*status = (struct quota_status){
		.observed_generation = 7,
		.effective = 320 * GIB,
		.used = 12345,
		.lent = 1,
		.borrowed = 2 * GIB,
		.live = 3 * MIB,
		.granted = 319 * GIB,
		.released = 4,
		.released_pods = 6,
		.tenant = STR("acme"),
		.dry_run = {1767323045000000, 1767323046000000, 9, workloads,
			    ARRAY_SIZE(workloads)},
		.gpus_used = 4,
		.used_percent = 101,
		.pods = 5,
		.rows = rows,
		.n_rows = n_rows,
		.classes = {classes, ARRAY_SIZE(classes), 0},
	};
	for (i = 0; i < QUOTA_CONDITION_COUNT; i++) {
		status->conditions[i].status = (enum condition_status)(i % 3);
		status->conditions[i].reason = (enum quota_reason)i;
		status->conditions[i].since_us = 1767323045000000 + i * 1000000;
		snprintf(status->conditions[i].message, QUOTA_MESSAGE_SIZE, "line \"%d\"\n", i);
	}
}

static void assert_dry_run_equal(const struct dry_run_status *a, const struct dry_run_status *b)
{
	size_t i;

	assert_int_equal(a->since_us, b->since_us);
	assert_int_equal(a->through_us, b->through_us);
	assert_int_equal(a->refused, b->refused);
	assert_int_equal(a->n_rows, b->n_rows);
	for (i = 0; i < a->n_rows; i++) {
		assert_true(str_equal(a->rows[i].kind, b->rows[i].kind));
		assert_true(str_equal(a->rows[i].name, b->rows[i].name));
		assert_int_equal(a->rows[i].pods, b->rows[i].pods);
		assert_int_equal(a->rows[i].gpu_memory, b->rows[i].gpu_memory);
	}
}

static void assert_classes_equal(const struct quota_classes *a, const struct quota_classes *b)
{
	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		assert_true(str_equal(a->list[i].name, b->list[i].name));
		assert_true(str_equal(a->list[i].resource, b->list[i].resource));
	}
}

static void assert_status_equal(const struct quota_status *a, const struct quota_status *b)
{
	size_t i;

	assert_int_equal(a->unshown, b->unshown);
	assert_int_equal(a->observed_generation, b->observed_generation);
	assert_int_equal(a->effective, b->effective);
	assert_int_equal(a->used, b->used);
	assert_int_equal(a->lent, b->lent);
	assert_int_equal(a->borrowed, b->borrowed);
	assert_int_equal(a->live, b->live);
	assert_int_equal(a->granted, b->granted);
	assert_int_equal(a->released, b->released);
	assert_int_equal(a->released_pods, b->released_pods);
	assert_true(str_equal(a->tenant, b->tenant));
	assert_dry_run_equal(&a->dry_run, &b->dry_run);
	assert_int_equal(a->gpus_used, b->gpus_used);
	assert_int_equal(a->used_percent, b->used_percent);
	assert_int_equal(a->pods, b->pods);
	assert_int_equal(a->n_rows, b->n_rows);
	for (i = 0; i < a->n_rows; i++) {
		assert_true(str_equal(a->rows[i].resource, b->rows[i].resource));
		assert_true(str_equal(a->rows[i].product, b->rows[i].product));
		assert_int_equal(a->rows[i].unit_memory, b->rows[i].unit_memory);
		assert_int_equal(a->rows[i].used, b->rows[i].used);
		assert_int_equal(a->rows[i].hard, b->rows[i].hard);
		assert_int_equal(a->rows[i].sharing, b->rows[i].sharing);
	}
	assert_classes_equal(&a->classes, &b->classes);
	for (i = 0; i < QUOTA_CONDITION_COUNT; i++) {
		assert_int_equal(a->conditions[i].status, b->conditions[i].status);
		assert_int_equal(a->conditions[i].reason, b->conditions[i].reason);
		assert_int_equal(a->conditions[i].since_us, b->conditions[i].since_us);
		assert_string_equal(a->conditions[i].message, b->conditions[i].message);
	}
}

/* What is written is read back the same: else it would be written again and again. */
static void a_written_status_is_read_back_the_same(void **state)
{
	static const struct quota_row rows[] = {
		{{"nvidia.com/gpu", sizeof("nvidia.com/gpu") - 1},
		 {"", sizeof("") - 1},
		 AMOUNT_UNKNOWN,
		 1,
		 0,
		 DEVICE_OTHER},
		{{"nvidia.com/gpu", sizeof("nvidia.com/gpu") - 1},
		 {"NVIDIA-H200", sizeof("NVIDIA-H200") - 1},
		 143771 * MIB,
		 0,
		 2,
		 DEVICE_WHOLE},
		{{"nvidia.com/gpu.shared", sizeof("nvidia.com/gpu.shared") - 1},
		 {"T4", sizeof("T4") - 1},
		 1,
		 3,
		 4,
		 DEVICE_TIME_SLICED},
		{{"nvidia.com/mig-1g.5gb", sizeof("nvidia.com/mig-1g.5gb") - 1},
		 {"A", sizeof("A") - 1},
		 4864 * MIB,
		 5,
		 6,
		 DEVICE_MIG},
		{{"nvidia.com/x", sizeof("nvidia.com/x") - 1},
		 {"A", sizeof("A") - 1},
		 8,
		 5,
		 6,
		 DEVICE_MPS},
	};
	struct arena arena CLEANUP(arena_clear);
	struct buf body CLEANUP(buf_clear);
	struct wire_gpu_memory_quota wire;
	struct quota_status status;
	struct quota_facts facts;
	struct error err = {0};

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	buf_init(&body, LIMIT_JSON_OUTPUT);
	fill_status(&status, rows, ARRAY_SIZE(rows));
	api_body_quota_status(&body, STR("n"), STR("q"), STR("u"), &status);
	assert_false(body.overflowed);
	if (json_decode(&wire_gpu_memory_quota_schema, buf_str(&body), &arena, &wire, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(api_pack_quota(&wire, &arena, &facts, &err), 0);
	assert_true(facts.has_status);
	assert_status_equal(&facts.status, &status);
}

/* It is counted anew then; what it stands in is still ours. */
static void an_unreadable_dry_run_is_dropped_alone(void **state)
{
	static const struct {
		const char *dry_run;
		bool readable;
	} cases[] = {
#define SINCE "'since':'2026-01-02T03:04:05Z','through':'2026-01-02T03:04:06Z','refusedPods':1"
		{"{" SINCE "}", true},
		{"{" SINCE ",'workloads':[{'kind':'Job','name':'a','gpuMemory':'1Gi'}]}", true},
		{"{" SINCE ",'workloads':[{'kind':'Job','name':'a','gpuMemory':'x'}]}", false},
		{"{" SINCE ",'workloads':[{'kind':'Job','gpuMemory':'1Gi'}]}", false},
		{"{" SINCE ",'workloads':[{'kind':'Job','name':'a','gpuMemory':'1Gi','pods':-1}]}",
		 false},
		{"{'since':'2026-01-02T03:04:05Z','through':'2026-01-02T03:04:04Z'}", false},
		{"{'refusedPods':4}", false},
	};
	struct arena arena CLEANUP(arena_clear);
	struct quota_facts facts;
	char spec[1024];
	size_t i;

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(spec, sizeof(spec),
			 "{'gpuMemory':'1Gi'},'status':{" AMOUNTS ",'dryRun':%s}",
			 cases[i].dry_run);
		pack(spec, &arena, &facts);
		assert_true(facts.has_status && facts.status.unshown);
		if ((facts.status.dry_run.since_us != 0) != cases[i].readable)
			fail_msg("%s", cases[i].dry_run);
	}
}

/* Likewise: it is written anew as a whole. */
static void unreadable_device_classes_are_dropped_alone(void **state)
{
	static const struct {
		const char *classes;
		size_t n;
	} cases[] = {
		{"[{'name':'a','resource':'b/c'},{'name':'d','resource':''}]", 2},
		{"[{'name':'a'}]", 1},
		{"[{'name':'a','resource':'b/c'},{'resource':''}]", 0},
		{"[]", 0},
	};
	struct arena arena CLEANUP(arena_clear);
	struct quota_facts facts;
	char spec[1024];

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(spec, sizeof(spec),
			 "{'gpuMemory':'1Gi'},'status':{" AMOUNTS ",'deviceClasses':%s}",
			 cases[i].classes);
		pack(spec, &arena, &facts);
		assert_true(facts.has_status);
		assert_int_equal(facts.status.classes.n, cases[i].n);
	}
}

static void a_quota_without_uid_is_an_error(void **state)
{
	struct arena arena CLEANUP(arena_clear);
	struct wire_gpu_memory_quota wire;
	struct quota_facts facts;
	struct error err = {0};

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	sample_decode(&wire_gpu_memory_quota_schema, "{'metadata':{'name':'q','namespace':'n'}}",
		      &arena, &wire);
	assert_int_equal(api_pack_quota(&wire, &arena, &facts, &err), -1);
	assert_string_equal(err.message, "GpuMemoryQuota n/q: has no uid");
}

static void an_outline_is_invalid_and_says_why(void **state)
{
	struct wire_object wire = {.meta = {.name = STR("q"), .uid = STR("u"), .creation_us = 7}};
	struct quota_facts facts;
	struct error err = {0};

	(void)state;
	assert_int_equal(api_pack_quota_outline(&wire, "it is odd", &facts, &err), 0);
	assert_true(str_equal(facts.name, STR("q")));
	assert_int_equal(facts.created_us, 7);
	assert_string_equal(facts.invalid, "it is odd");
	assert_false(facts.has_status);
	wire.meta.name = STR_NONE;
	assert_int_equal(api_pack_quota_outline(&wire, "it is odd", &facts, &err), -1);
	assert_string_equal(err.message, "GpuMemoryQuota : has no name");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_outline_is_invalid_and_says_why),
		cmocka_unit_test(a_spec_is_read_whole),
		cmocka_unit_test(what_is_left_out_is_no_limit),
		cmocka_unit_test(an_unusable_spec_says_why),
		cmocka_unit_test(a_recorded_status_is_read_back),
		cmocka_unit_test(unreadable_status_counts_as_none),
		cmocka_unit_test(a_written_status_is_read_back_the_same),
		cmocka_unit_test(an_unreadable_dry_run_is_dropped_alone),
		cmocka_unit_test(unreadable_device_classes_are_dropped_alone),
		cmocka_unit_test(a_quota_without_uid_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
