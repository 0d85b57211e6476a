/* SPDX-License-Identifier: Apache-2.0 */
/* TenantQoS: what a spec means, why some cannot be used, and the status read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/body.h"
#include "api/pack.h"
#include "base/limits.h"
#include "base/macros.h"
#include "codec/json.h"
#include "recorded.h"

static void recorded_tenant(struct fixture *f, const char *name, struct tenant_facts *ret_facts)
{
	struct wire_tenant wire;

	buf_reset(&f->text);
	recorded_decode(&wire_tenant_schema, name, &f->text, &f->arena, &wire);
	if (api_pack_tenant(&wire, &f->arena, ret_facts, &f->err) < 0)
		fail_msg("%s: %s", name, f->err.message);
}

/* @rest: what follows the object's name and uid. */
static void sample_tenant(struct fixture *f, const char *rest, struct tenant_facts *ret_facts)
{
	struct wire_tenant wire;
	char json[4096];

	snprintf(json, sizeof(json), "{'metadata':{'name':'t','uid':'u'},%s}", rest);
	sample_decode(&wire_tenant_schema, json, &f->arena, &wire);
	if (api_pack_tenant(&wire, &f->arena, ret_facts, &f->err) < 0)
		fail_msg("%s: %s", rest, f->err.message);
}

static void a_recorded_tenant_is_read_whole(void **state)
{
	const struct label plain[] = {{STR("team"), STR("vision")}, {STR("gpu"), STR("")}};
	const struct label test[] = {
		{STR("team"), STR("vision")}, {STR("gpu"), STR("")}, {STR("env"), STR("ci")}};
	struct fixture f CLEANUP(fixture_clear);
	struct tenant_facts facts;

	(void)state;
	fixture_init(&f);
	recorded_tenant(&f, "tenantqos.new", &facts);
	assert_true(str_equal(facts.name, STR("vision")));
	assert_null(facts.invalid);
	assert_false(facts.has_status);
	assert_int_equal(facts.generation, 1);
	assert_true(facts.created_us > 0 && facts.resource_version > 0);
	assert_int_equal(facts.spec.namespaces.n_requirements, 3);
	assert_true(label_selector_matches(&facts.spec.namespaces, plain, ARRAY_SIZE(plain)));
	assert_false(label_selector_matches(&facts.spec.namespaces, test, ARRAY_SIZE(test)));
	assert_int_equal(facts.spec.tier, TIER_TRAINING);
	assert_int_equal(facts.spec.ceiling, 640 * GIB);
	assert_int_equal(facts.spec.ceiling_gpus, 8);
	assert_int_equal(facts.spec.qos, POD_QOS_GUARANTEED);
	assert_true(facts.spec.qos_denies);
	assert_int_equal(facts.spec.n_priority_classes, 2);
	assert_true(str_equal(facts.spec.priority_classes[1], STR("best-effort")));
}

static void a_recorded_status_is_read_back(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct tenant_facts facts;

	(void)state;
	fixture_init(&f);
	recorded_tenant(&f, "tenantqos.status", &facts);
	assert_true(facts.has_status);
	assert_int_equal(facts.status.ceiling, 640 * GIB);
	assert_int_equal(facts.status.ceiling_gpus, 8);
	assert_int_equal(facts.status.granted, 480 * GIB);
	assert_int_equal(facts.status.granted_gpus, 6);
	assert_int_equal(facts.status.used, 163118 * MIB);
	assert_int_equal(facts.status.used_gpus, 2);
	assert_int_equal(facts.status.lent, 81559 * MIB);
	assert_int_equal(facts.status.n_namespaces, 2);
	assert_int_equal(facts.status.n_namespaces_listed, 2);
	assert_true(str_equal(facts.status.namespaces[0], STR("speech")));
	assert_int_equal(facts.status.conditions[TENANT_READY].status, CONDITION_TRUE);
	assert_int_equal(facts.status.conditions[TENANT_EXCEEDED].status, CONDITION_UNKNOWN);
}

#define SELECTOR "'namespaceSelector':{'matchLabels':{'team':'a'}}"

static void assert_topology(const struct tenant_facts *facts, enum topology_policy policy,
			    enum layout_scope scope, enum topology_mismatch on_mismatch)
{
	assert_int_equal(facts->spec.topology.policy, policy);
	assert_int_equal(facts->spec.topology.scope, scope);
	assert_int_equal(facts->spec.topology.on_mismatch, on_mismatch);
}

static void what_is_left_out_is_no_limit(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct tenant_facts facts;

	(void)state;
	fixture_init(&f);
	sample_tenant(&f, "'spec':{" SELECTOR ",'tier':'Inference'}", &facts);
	assert_null(facts.invalid);
	assert_int_equal(facts.spec.tier, TIER_INFERENCE);
	assert_int_equal(facts.spec.ceiling, AMOUNT_NONE);
	assert_int_equal(facts.spec.ceiling_gpus, AMOUNT_NONE);
	assert_int_equal(facts.spec.qos, POD_QOS_ANY);
	assert_topology(&facts, TOPOLOGY_NONE, LAYOUT_NUMA, MISMATCH_ALERT);
	assert_int_equal(facts.spec.n_priority_classes, 0);

	sample_tenant(&f,
		      "'spec':{" SELECTOR ",'tier':'BestEffort','ceiling':{'gpus':0},"
		      "'qosClass':{'class':'Burstable'}}",
		      &facts);
	assert_null(facts.invalid);
	assert_int_equal(facts.spec.tier, TIER_BEST_EFFORT);
	assert_int_equal(facts.spec.ceiling, AMOUNT_NONE);
	assert_int_equal(facts.spec.ceiling_gpus, 0);
	assert_int_equal(facts.spec.qos, POD_QOS_BURSTABLE);
	assert_false(facts.spec.qos_denies);
}

static void a_topology_is_read_with_its_defaults(void **state)
{
#define TOPOLOGY(members) "'spec':{" SELECTOR ",'tier':'Training','topology':{" members "}}"
	struct fixture f CLEANUP(fixture_clear);
	struct tenant_facts facts;

	(void)state;
	fixture_init(&f);
	sample_tenant(&f, TOPOLOGY("'policy':'Required'"), &facts);
	assert_null(facts.invalid);
	assert_topology(&facts, TOPOLOGY_REQUIRED, LAYOUT_NUMA, MISMATCH_ALERT);
	sample_tenant(&f, TOPOLOGY("'policy':'Preferred','scope':'NVLink','onMismatch':'Migrate'"),
		      &facts);
	assert_null(facts.invalid);
	assert_topology(&facts, TOPOLOGY_PREFERRED, LAYOUT_NVLINK, MISMATCH_MIGRATE);
	sample_tenant(&f, TOPOLOGY("'policy':'None','scope':'PCIeSwitch','onMismatch':'Ignore'"),
		      &facts);
	assert_null(facts.invalid);
	assert_topology(&facts, TOPOLOGY_NONE, LAYOUT_PCIE_SWITCH, MISMATCH_IGNORE);
}

#define OBJECTIVE(members) SELECTOR ",'tier':'Training','objectives':[{" members "}]"

/* Those of presets are times. */
static void thresholds_may_have_units(void **state)
{
	static const struct {
		const char *text;
		int64_t us; /* 0: not read */
	} cases[] = {{"200ms", 200000}, {"0.2s", 200000}, {"1.5ms", 1500}, {"500us", 500},
		     {"30s", 30000000}, {"200m", 200000}, {"ms", 0},       {"1m30s", 0},
		     {"s", 0},          {"-1s", 0},       {"1ks", 0},      {"1e3s", 0},
		     {"2 s", 0},        {"200mms", 0},    {"0ms", 0},      {"5ns", 0},
		     {"1.2.3s", 0},     {"0.0000001s", 1}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f CLEANUP(fixture_clear);
		struct tenant_facts facts;
		char rest[512];

		fixture_init(&f);
		snprintf(rest, sizeof(rest),
			 "'spec':{" OBJECTIVE("'name':'a','preset':'tgi-queue-time',"
					      "'threshold':'%s'") "}",
			 cases[i].text);
		sample_tenant(&f, rest, &facts);
		if (!facts.invalid != (cases[i].us > 0) ||
		    (!facts.invalid && facts.spec.objectives->threshold != cases[i].us))
			fail_msg("%s: %s", cases[i].text,
				 facts.invalid ? facts.invalid : "another time");
	}
}

static void objectives_are_read_with_their_defaults(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct tenant_facts facts;
	const struct objective_spec *objective;

	(void)state;
	fixture_init(&f);
	sample_tenant(&f,
		      "'spec':{" OBJECTIVE("'name':'ttft','preset':'vllm-time-to-first-token',"
					   "'threshold':'200m'") ",'pendingSeconds':60}",
		      &facts);
	assert_null(facts.invalid);
	assert_int_equal(facts.spec.pending_us, 60000000);
	assert_int_equal(facts.spec.n_objectives, 1);
	objective = facts.spec.objectives;
	assert_true(str_equal(objective->name, STR("ttft")));
	assert_int_equal(objective->preset, PRESET_VLLM_FIRST_TOKEN);
	assert_int_equal(objective->percentile, 95);
	assert_int_equal(objective->threshold, 200000);
	assert_int_equal(objective->direction, OBJECTIVE_BELOW);
	assert_int_equal(objective->for_us, 60000000);
	sample_tenant(&f,
		      "'spec':{" OBJECTIVE("'name':'rate','query':'up','threshold':2.5,"
					   "'direction':'Above','for':'5m'") "}",
		      &facts);
	assert_null(facts.invalid);
	assert_int_equal(facts.spec.pending_us, AMOUNT_NONE);
	objective = facts.spec.objectives;
	assert_int_equal(objective->preset, PRESET_NONE);
	assert_int_equal(objective->percentile, 0);
	assert_true(str_equal(objective->query, STR("up")));
	assert_int_equal(objective->threshold, 2500000);
	assert_int_equal(objective->direction, OBJECTIVE_ABOVE);
	assert_int_equal(objective->for_us, 300000000);
}

#define EXPRESSION(expression) \
	"'namespaceSelector':{'matchExpressions':[" expression "]},'tier':'Training'"
#define NO_GOOD_EXPRESSION                                                                  \
	"spec.namespaceSelector.matchExpressions has an operator or values that do not go " \
	"together"

static const struct {
	const char *spec, *invalid;
} unusable[] = {
	{"'tier':'Training'",
	 "spec.namespaceSelector is empty; name at least one label, since no tenant has every "
	 "namespace"},
	{"'namespaceSelector':{'matchLabels':{}},'tier':'Training'",
	 "spec.namespaceSelector is empty; name at least one label, since no tenant has every "
	 "namespace"},
	{EXPRESSION("{'key':'a','operator':'Gt','values':['1']}"), NO_GOOD_EXPRESSION},
	{EXPRESSION("{'key':'a','operator':'In'}"), NO_GOOD_EXPRESSION},
	{EXPRESSION("{'key':'a','operator':'Exists','values':['1']}"), NO_GOOD_EXPRESSION},
	{EXPRESSION("{'operator':'Exists'}"), NO_GOOD_EXPRESSION},
	{SELECTOR, "spec.tier is missing; it is Inference, Training or BestEffort"},
	{SELECTOR ",'tier':'Gold'",
	 "spec.tier Gold is not known to this version; it may be BestEffort, Training or "
	 "Inference"},
	{SELECTOR ",'tier':'Training','ceiling':{'gpuMemory':'640'}",
	 "spec.ceiling.gpuMemory 640 means 640 bytes; did you mean 640Gi?"},
	{SELECTOR ",'tier':'Training','ceiling':{'gpuMemory':'lots'}",
	 "spec.ceiling.gpuMemory \"lots\" is no amount of memory; write it like 320Gi"},
	{SELECTOR ",'tier':'Training','ceiling':{'gpus':-1}",
	 "spec.ceiling.gpus -1 must be 0 or more"},
	{SELECTOR ",'tier':'Training','qosClass':{'action':'Deny'}",
	 "spec.qosClass.class is missing; it is Guaranteed or Burstable"},
	{SELECTOR ",'tier':'Training','qosClass':{'class':'BestEffort'}",
	 "spec.qosClass.class BestEffort is not known to this version; it may be Guaranteed or "
	 "Burstable"},
	{SELECTOR ",'tier':'Training','qosClass':{'class':'Burstable','action':'Log'}",
	 "spec.qosClass.action Log is not known to this version; it may be Warn or Deny"},
	{SELECTOR ",'tier':'Training','priorityClasses':['a','']",
	 "spec.priorityClasses has \"\", which no PriorityClass can be called"},
	{SELECTOR ",'tier':'Training','topology':{'scope':'NUMA'}",
	 "spec.topology.policy is missing; it is Required, Preferred or None"},
	{SELECTOR ",'tier':'Training','topology':{'policy':'Always'}",
	 "spec.topology.policy Always is not known to this version; it may be None, Preferred or "
	 "Required"},
	{SELECTOR ",'tier':'Training','topology':{'policy':'None','scope':'Rack'}",
	 "spec.topology.scope Rack is not known to this version; it may be NUMA, PCIeSwitch or "
	 "NVLink"},
	{SELECTOR ",'tier':'Training','topology':{'policy':'None','onMismatch':'Evict'}",
	 "spec.topology.onMismatch Evict is not known to this version; it may be Ignore, Alert or "
	 "Migrate"},
	{OBJECTIVE("'name':'','query':'up','threshold':'1'"),
	 "spec.objectives has a name of 0 characters; it has 1 to 63"},
	{OBJECTIVE("'name':'a','threshold':'1'"),
	 "spec.objectives: a must have exactly one of preset and query"},
	{OBJECTIVE("'name':'a','preset':'tgi-queue-time','query':'up','threshold':'1'"),
	 "spec.objectives: a must have exactly one of preset and query"},
	{OBJECTIVE("'name':'a','query':'up','percentile':95,'threshold':'1'"),
	 "spec.objectives: a has a percentile, and is no preset that has percentiles"},
	{OBJECTIVE("'name':'a','preset':'triton-queue-time','percentile':95,'threshold':'1'"),
	 "spec.objectives: a has a percentile, and is no preset that has percentiles"},
	{OBJECTIVE("'name':'a','preset':'tgi-queue-time','percentile':42,'threshold':'1'"),
	 "spec.objectives: the percentile of a must be 50, 90, 95 or 99"},
	{OBJECTIVE("'name':'a','query':'up','threshold':'0'"),
	 "spec.objectives: the threshold \"0\" of a must be a number above 0, such as 200m or 0.2"},
	{OBJECTIVE("'name':'a','query':'up'"),
	 "spec.objectives: the threshold \"\" of a must be a number above 0, such as 200m or 0.2"},
	{OBJECTIVE("'name':'a','query':'up','threshold':'200ms'"),
	 "spec.objectives: the threshold \"200ms\" of a must be a number above 0, such as 200m or "
	 "0.2"},
	{OBJECTIVE("'name':'a','preset':'tgi-queue-time','threshold':'fast'"),
	 "spec.objectives: the threshold \"fast\" of a must be a number above 0, such as 200ms or "
	 "0.2"},
	{OBJECTIVE("'name':'a','query':'up','threshold':'1','direction':'Near'"),
	 "spec.objectives.direction Near is not known to this version; it may be Below or Above"},
	{OBJECTIVE("'name':'a','query':'up','threshold':'1','for':'2h'"),
	 "spec.objectives: for \"2h\" of a must be between 5s and 1h, such as 30s or 5m"},
	{OBJECTIVE("'name':'a','query':'up','threshold':'1'},{'name':'a','query':'down',"
		   "'threshold':'1'"),
	 "spec.objectives has a twice"},
	{SELECTOR ",'tier':'Training','pendingSeconds':0",
	 "spec.pendingSeconds 0 must be between 1 and 86400"},
};

static void an_unusable_spec_says_why(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(unusable); i++) {
		struct fixture f CLEANUP(fixture_clear);
		struct tenant_facts facts;
		char rest[1024];

		fixture_init(&f);
		snprintf(rest, sizeof(rest), "'spec':{%s}", unusable[i].spec);
		sample_tenant(&f, rest, &facts);
		if (!facts.invalid || strcmp(facts.invalid, unusable[i].invalid) != 0)
			fail_msg("%s: %s", unusable[i].spec,
				 facts.invalid ? facts.invalid : "valid");
	}
}

/* A name that is no label's value, selectors and lists that are larger than kept. */
static void what_is_too_large_says_so(void **state)
{
	static struct str many[LIMIT_SELECTOR_VALUES + 1];
	static char name[LIMIT_LABEL_VALUE + 1];
	struct wire_requirement requirement = {
		.key = STR("k"), .op = STR("In"), .values = {many, LIMIT_SELECTOR_VALUES - 1}};
	struct wire_tenant wire = {.meta.name = STR("t"), .meta.uid = STR("u")};
	struct fixture f CLEANUP(fixture_clear);
	struct tenant_facts facts;
	size_t i;

	(void)state;
	fixture_init(&f);
	for (i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = STR("v");
	wire.spec.tier = STR("Training");
	wire.spec.namespaces.requirements = (struct wire_list){&requirement, 1};
	assert_int_equal(api_pack_tenant(&wire, &f.arena, &facts, &f.err), 0);
	assert_null(facts.invalid);
	requirement.values.len++;
	assert_int_equal(api_pack_tenant(&wire, &f.arena, &facts, &f.err), 0);
	assert_string_equal(facts.invalid,
			    "spec.namespaceSelector has more than 256 requirements and values");
	requirement.values.len = 1;
	wire.spec.priority_classes = (struct wire_list){many, LIMIT_PRIORITY_CLASSES + 1};
	assert_int_equal(api_pack_tenant(&wire, &f.arena, &facts, &f.err), 0);
	assert_string_equal(facts.invalid, "spec.priorityClasses names more than 32 classes");
	memset(name, 'x', sizeof(name));
	wire.meta.name = (struct str){name, sizeof(name)};
	assert_int_equal(api_pack_tenant(&wire, &f.arena, &facts, &f.err), 0);
	assert_non_null(strstr(facts.invalid, "longer than 63 characters"));
}

static void unreadable_status_counts_as_none(void **state)
{
	static const struct {
		const char *status;
		bool readable;
	} cases[] = {
#define AMOUNTS "'granted':'0','used':'0','lent':'0'"
		{"{" AMOUNTS "}", true},
		{"{}", false},
		{"{'granted':'-1','used':'0','lent':'0'}", false},
		{"{" AMOUNTS ",'usedGPUs':-1}", false},
		{"{" AMOUNTS ",'namespaceCount':-1}", false},
		{"{" AMOUNTS ",'namespaces':['']}", false},
		{"{" AMOUNTS ",'ceiling':{'gpuMemory':'x'}}", false},
		{"{" AMOUNTS ",'ceiling':{'gpus':-1}}", false},
		{"{" AMOUNTS ",'conditions':[{'type':'Later','reason':'Enforced'},"
		 "{'type':'Ready','reason':'Later','status':'True'}]}",
		 true},
	};
	struct fixture f CLEANUP(fixture_clear);
	struct tenant_facts facts;
	char rest[1024];
	size_t i;

	(void)state;
	fixture_init(&f);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(rest, sizeof(rest), "'spec':{" SELECTOR ",'tier':'Training'},'status':%s",
			 cases[i].status);
		sample_tenant(&f, rest, &facts);
		if (facts.has_status != cases[i].readable)
			fail_msg("%s", cases[i].status);
		assert_int_equal(facts.status.conditions[TENANT_READY].status, CONDITION_UNKNOWN);
	}
}

static void assert_status_equal(const struct tenant_status *a, const struct tenant_status *b)
{
	size_t i;

	assert_int_equal(a->unshown, b->unshown);
	assert_int_equal(a->observed_generation, b->observed_generation);
	assert_int_equal(a->ceiling, b->ceiling);
	assert_int_equal(a->ceiling_gpus, b->ceiling_gpus);
	assert_int_equal(a->granted, b->granted);
	assert_int_equal(a->granted_gpus, b->granted_gpus);
	assert_int_equal(a->used, b->used);
	assert_int_equal(a->used_gpus, b->used_gpus);
	assert_int_equal(a->lent, b->lent);
	assert_int_equal(a->n_namespaces, b->n_namespaces);
	assert_int_equal(a->n_namespaces_listed, b->n_namespaces_listed);
	for (i = 0; i < a->n_namespaces_listed; i++)
		assert_true(str_equal(a->namespaces[i], b->namespaces[i]));
	for (i = 0; i < TENANT_CONDITION_COUNT; i++) {
		assert_int_equal(a->conditions[i].status, b->conditions[i].status);
		assert_int_equal(a->conditions[i].reason, b->conditions[i].reason);
		assert_int_equal(a->conditions[i].since_us, b->conditions[i].since_us);
		assert_string_equal(a->conditions[i].message, b->conditions[i].message);
	}
}

/* What is written is read back the same: else it would be written again and again. */
static void a_written_status_is_read_back_the_same(void **state)
{
	const struct str namespaces[] = {STR("a"), STR("b")};
	struct tenant_status status = {
		.observed_generation = 3,
		.ceiling = 640 * GIB,
		.ceiling_gpus = AMOUNT_NONE,
		.granted = 1,
		.used = 12345,
		.lent = 3 * MIB,
		.granted_gpus = 4,
		.used_gpus = 5,
		.n_namespaces = 300,
		.namespaces = namespaces,
		.n_namespaces_listed = ARRAY_SIZE(namespaces),
	};
	int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		struct fixture f CLEANUP(fixture_clear);
		struct wire_tenant wire;
		struct tenant_facts facts;

		fixture_init(&f);
		status.ceiling = i & 1 ? 640 * GIB : AMOUNT_NONE;
		status.ceiling_gpus = i & 2 ? 8 : AMOUNT_NONE;
		status.conditions[i % TENANT_CONDITION_COUNT] = (struct condition){
			(enum condition_status)(i % 3), QUOTA_REASON_NAMESPACE_CONFLICT,
			1767323045000000, "line \"1\"\n"};
		api_body_tenant_status(&f.text, STR("t"), STR("u"), &status);
		assert_false(f.text.overflowed);
		if (json_decode(&wire_tenant_schema, buf_str(&f.text), &f.arena, &wire, &f.err) < 0)
			fail_msg("%s", f.err.message);
		assert_int_equal(api_pack_tenant(&wire, &f.arena, &facts, &f.err), 0);
		assert_true(facts.has_status);
		assert_status_equal(&facts.status, &status);
	}
}

static void a_tenant_without_uid_is_an_error(void **state)
{
	struct wire_tenant wire = {.meta.name = STR("t")};
	struct fixture f CLEANUP(fixture_clear);
	struct tenant_facts facts;

	(void)state;
	fixture_init(&f);
	assert_int_equal(api_pack_tenant(&wire, &f.arena, &facts, &f.err), -1);
	assert_string_equal(f.err.message, "TenantQoS t: has no uid");
}

static void an_outline_is_invalid_and_says_why(void **state)
{
	struct wire_object wire = {.meta = {.name = STR("q"), .uid = STR("u"), .creation_us = 7}};
	struct tenant_facts facts;
	struct error err = {0};

	(void)state;
	assert_int_equal(api_pack_tenant_outline(&wire, "it is odd", &facts, &err), 0);
	assert_true(str_equal(facts.name, STR("q")));
	assert_int_equal(facts.created_us, 7);
	assert_string_equal(facts.invalid, "it is odd");
	assert_false(facts.has_status);
	wire.meta.name = STR_NONE;
	assert_int_equal(api_pack_tenant_outline(&wire, "it is odd", &facts, &err), -1);
	assert_string_equal(err.message, "TenantQoS : has no name");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_outline_is_invalid_and_says_why),
		cmocka_unit_test(a_recorded_tenant_is_read_whole),
		cmocka_unit_test(a_recorded_status_is_read_back),
		cmocka_unit_test(what_is_left_out_is_no_limit),
		cmocka_unit_test(a_topology_is_read_with_its_defaults),
		cmocka_unit_test(objectives_are_read_with_their_defaults),
		cmocka_unit_test(thresholds_may_have_units),
		cmocka_unit_test(an_unusable_spec_says_why),
		cmocka_unit_test(what_is_too_large_says_so),
		cmocka_unit_test(unreadable_status_counts_as_none),
		cmocka_unit_test(a_written_status_is_read_back_the_same),
		cmocka_unit_test(a_tenant_without_uid_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
