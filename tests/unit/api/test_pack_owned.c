/* SPDX-License-Identifier: Apache-2.0 */
/* ResourceQuota and LimitRange: as we write them, and as others change them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/pack.h"
#include "base/limits.h"
#include "base/macros.h"
#include "codec/pb.h"
#include "recorded.h"

static void assert_amounts(const struct resource_amount *amounts, size_t len, const char *wanted)
{
	struct buf text CLEANUP(buf_clear);
	size_t i;

	buf_init(&text, 1024);
	for (i = 0; i < len; i++)
		buf_printf(&text, "%s%.*s=%lld", i ? " " : "", STR_ARGS(amounts[i].resource),
			   (long long)amounts[i].count);
	if (!str_equal(buf_str(&text), str_from(wanted)))
		fail_msg("%.*s, not %s", STR_ARGS(buf_str(&text)), wanted);
}

static void quota_of(struct fixture *f, const char *name, struct resource_quota_facts *ret_facts)
{
	struct wire_resource_quota wire;

	recorded_decode(&wire_resource_quota_schema, name, &f->text, &f->arena, &wire);
	if (api_pack_resource_quota(&wire, &f->arena, ret_facts, &f->err) < 0)
		fail_msg("%s: %s", name, f->err.message);
}

static void our_quota_is_ours_alone(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct resource_quota_facts facts;

	(void)state;
	fixture_init(&f);
	quota_of(&f, "resourcequota.ours", &facts);
	assert_true(str_equal(facts.name, STR("gpuqos")));
	assert_int_equal(facts.owner_uid.len, 36);
	assert_amounts(facts.hard, facts.n_hard, "nvidia.com/gpu=4 nvidia.com/mig-1g.10gb=7");
	assert_amounts(facts.status_hard, facts.n_status_hard,
		       "nvidia.com/gpu=4 nvidia.com/mig-1g.10gb=7");
	assert_false(facts.other_keys);
	assert_true(str_empty(facts.foreign_manager));
}

static void keys_of_every_form_are_read_back(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct resource_quota_facts facts;

	(void)state;
	fixture_init(&f);
	quota_of(&f, "resourcequota.keys", &facts);
#define KEYS                              \
	"limits.nvidia.com/gpumem=81920 " \
	"mig.nvidia.com.deviceclass.resource.k8s.io/devices=7 nvidia.com/gpumem=81920"
	assert_amounts(facts.hard, facts.n_hard, KEYS);
	assert_amounts(facts.status_hard, facts.n_status_hard, KEYS);
	assert_false(facts.other_keys);
}

/* Both encodings have the managed fields in a different form. */
static void an_edited_quota_names_its_editor(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct resource_quota_facts facts;
	struct wire_resource_quota wire;
	struct pb_envelope envelope;

	(void)state;
	fixture_init(&f);
	quota_of(&f, "resourcequota.edited", &facts);
	assert_amounts(facts.hard, facts.n_hard, "nvidia.com/gpu=8 nvidia.com/mig-1g.10gb=7");
	assert_true(facts.other_keys);
	assert_true(str_equal(facts.foreign_manager, STR("kubectl-edit")));

	buf_reset(&f.text);
	recorded_read("resourcequota.edited", ".pb", &f.text);
	assert_int_equal(pb_open_envelope(buf_str(&f.text), &envelope, &f.err), 0);
	assert_int_equal(
		pb_decode(&wire_resource_quota_schema, envelope.raw, &f.arena, &wire, &f.err), 0);
	assert_int_equal(api_pack_resource_quota(&wire, &f.arena, &facts, &f.err), 0);
	assert_true(str_equal(facts.foreign_manager, STR("kubectl-edit")));
}

static void limit_range_of(struct fixture *f, const char *name, struct limit_range_facts *ret_facts)
{
	struct wire_limit_range wire;

	recorded_decode(&wire_limit_range_schema, name, &f->text, &f->arena, &wire);
	if (api_pack_limit_range(&wire, &f->arena, ret_facts, &f->err) < 0)
		fail_msg("%s: %s", name, f->err.message);
}

static void limit_ranges_are_ours_or_name_their_editor(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct limit_range_facts facts;

	(void)state;
	fixture_init(&f);
	limit_range_of(&f, "limitrange.ours", &facts);
	assert_amounts(facts.defaults, facts.n_defaults, "nvidia.com/gpu=1");
	assert_int_equal(facts.owner_uid.len, 36);
	assert_false(facts.other_limits);
	assert_true(str_empty(facts.foreign_manager));

	buf_reset(&f.text);
	limit_range_of(&f, "limitrange.edited", &facts);
	assert_amounts(facts.defaults, facts.n_defaults, "nvidia.com/gpu=1");
	assert_true(facts.other_limits);
	assert_true(str_equal(facts.foreign_manager, STR("kubectl-edit")));
}

#define META "'metadata':{'name':'gpuqos','namespace':'n','uid':'u'}"

static void odd_quotas_are_read_as_they_are(void **state)
{
	static const struct {
		const char *hard, *wanted;
		bool others;
	} cases[] = {
		{"", "", false},
		{"'requests.nvidia.com/gpu':'0'", "nvidia.com/gpu=0", false},
		{"'requests.nvidia.com/gpu':'1k'", "nvidia.com/gpu=1000", false},
		{"'requests.nvidia.com/mig-1g.10gb':'2','requests.amd.com/gpu':'1'",
		 "amd.com/gpu=1 nvidia.com/mig-1g.10gb=2", false},
		{"'limits.nvidia.com/gpumem':'100','requests.nvidia.com/gpumem':'2'",
		 "limits.nvidia.com/gpumem=100 nvidia.com/gpumem=2", false},
		{"'a.b.deviceclass.resource.k8s.io/devices':'4'",
		 "a.b.deviceclass.resource.k8s.io/devices=4", false},
		{"'requests.huawei.com/Ascend910B':'8'", "huawei.com/Ascend910B=8", false},
		{"'limits.nvidia.com/gpu':'100','requests.kai.scheduler/gpu-memory':'2'", "", true},
		{"'requests.a.b.deviceclass.resource.k8s.io/devices':'4'", "", true},
		{"'nvidia.com/gpu':'2'", "", true},
		{"'requests.cpu':'2'", "", true},
		{"'pods':'2'", "", true},
		{"'requests.nvidia.com/gpu':'x'", "", true},
		{"'requests.nvidia.com/gpu':'1e30','requests.amd.com/gpu':'1'", "amd.com/gpu=1",
		 true},
	};
	struct fixture f CLEANUP(fixture_clear);
	struct resource_quota_facts facts;
	struct wire_resource_quota wire;
	char json[512];
	size_t i;

	(void)state;
	fixture_init(&f);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(json, sizeof(json), "{" META ",'spec':{'hard':{%s}}}", cases[i].hard);
		sample_decode(&wire_resource_quota_schema, json, &f.arena, &wire);
		assert_int_equal(api_pack_resource_quota(&wire, &f.arena, &facts, &f.err), 0);
		assert_amounts(facts.hard, facts.n_hard, cases[i].wanted);
		assert_int_equal(facts.other_keys, cases[i].others);
		assert_true(str_empty(facts.owner_uid));
		assert_false(facts.scoped);
	}
	sample_decode(&wire_resource_quota_schema,
		      "{" META ",'spec':{'scopes':['NotTerminating']}}", &f.arena, &wire);
	assert_int_equal(api_pack_resource_quota(&wire, &f.arena, &facts, &f.err), 0);
	assert_true(facts.scoped);
	sample_decode(&wire_resource_quota_schema,
		      "{" META ",'spec':{'scopeSelector':{'matchExpressions':[]}}}", &f.arena,
		      &wire);
	assert_int_equal(api_pack_resource_quota(&wire, &f.arena, &facts, &f.err), 0);
	assert_true(facts.scoped);
}

static void only_fields_of_the_spec_make_a_foreign_manager(void **state)
{
	static const struct {
		const char *entry, *manager;
	} cases[] = {
		{"'manager':'m','fieldsV1':{'f:spec':{'f:hard':{}}}", "m"},
		{"'fieldsV1':{'f:spec':{}}", "unknown"},
		{"'manager':'m','fieldsV1':{'f:metadata':{'f:spec':{}}}", ""},
		{"'manager':'m','subresource':'status','fieldsV1':{'f:spec':{}}", ""},
		{"'manager':'gpuqos-controller','fieldsV1':{'f:spec':{}}", ""},
		{"'manager':'m'", ""},
	};
	struct fixture f CLEANUP(fixture_clear);
	struct resource_quota_facts facts;
	struct wire_resource_quota wire;
	char json[512];
	size_t i;

	(void)state;
	fixture_init(&f);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(json, sizeof(json),
			 "{'metadata':{'name':'a','uid':'u','ownerReferences':[{'uid':'x'},"
			 "{'uid':'y','controller':true}],'managedFields':[{%s}]}}",
			 cases[i].entry);
		sample_decode(&wire_resource_quota_schema, json, &f.arena, &wire);
		assert_int_equal(api_pack_resource_quota(&wire, &f.arena, &facts, &f.err), 0);
		assert_true(str_equal(facts.foreign_manager, str_from(cases[i].manager)));
		assert_true(str_equal(facts.owner_uid, STR("y")));
	}
	wire.meta.managed_fields.len = 1;
	((struct wire_managed_fields *)wire.meta.managed_fields.items)->fields = STR("{'");
	assert_int_equal(api_pack_resource_quota(&wire, &f.arena, &facts, &f.err), -1);
	assert_int_equal(f.err.kind, ERROR_INVALID);
}

static void limits_that_are_not_ours_are_told(void **state)
{
	static const struct {
		const char *limits, *wanted;
		bool others;
	} cases[] = {
		{"", "", false},
		{"{'type':'Container'}", "", false},
		{"{'type':'Container','default':{'nvidia.com/gpu':'1'}}", "", true},
		{"{'type':'Container','default':{'nvidia.com/gpu':'1'},"
		 "'defaultRequest':{'nvidia.com/gpu':'2'}}",
		 "", true},
		{"{'type':'Container','default':{'cpu':'1'},'defaultRequest':{'cpu':'1'}}", "",
		 true},
		{"{'type':'Container','min':{'nvidia.com/gpu':'1'}}", "", true},
		{"{'type':'Container'},{'type':'Container'}", "", true},
		{"{'type':'Pod','max':{'nvidia.com/gpu':'1'}}", "", true},
		{"{'type':'Container','default':{'nvidia.com/gpu':'1e30'},"
		 "'defaultRequest':{'nvidia.com/gpu':'1e30'}}",
		 "", true},
	};
	struct fixture f CLEANUP(fixture_clear);
	struct limit_range_facts facts;
	struct wire_limit_range wire;
	char json[512];
	size_t i;

	(void)state;
	fixture_init(&f);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(json, sizeof(json), "{" META ",'spec':{'limits':[%s]}}", cases[i].limits);
		sample_decode(&wire_limit_range_schema, json, &f.arena, &wire);
		assert_int_equal(api_pack_limit_range(&wire, &f.arena, &facts, &f.err), 0);
		assert_amounts(facts.defaults, facts.n_defaults, cases[i].wanted);
		assert_int_equal(facts.other_limits, cases[i].others);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_quota_is_ours_alone),
		cmocka_unit_test(keys_of_every_form_are_read_back),
		cmocka_unit_test(an_edited_quota_names_its_editor),
		cmocka_unit_test(limit_ranges_are_ours_or_name_their_editor),
		cmocka_unit_test(odd_quotas_are_read_as_they_are),
		cmocka_unit_test(only_fields_of_the_spec_make_a_foreign_manager),
		cmocka_unit_test(limits_that_are_not_ours_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
