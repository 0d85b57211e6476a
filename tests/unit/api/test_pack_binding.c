/* SPDX-License-Identifier: Apache-2.0 */
/* Policy bindings: as we write them, and as others change them. */
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
#include "codec/pb.h"
#include "recorded.h"

/* As it comes from the API server: protobuf. */
static void recorded_binding(struct fixture *f, const char *name, struct binding_facts *ret_facts)
{
	struct pb_envelope envelope;
	struct wire_binding wire;

	buf_reset(&f->text);
	recorded_read(name, ".pb", &f->text);
	assert_int_equal(pb_open_envelope(buf_str(&f->text), &envelope, &f->err), 0);
	if (pb_decode(&wire_binding_schema, envelope.raw, &f->arena, &wire, &f->err) < 0 ||
	    api_pack_binding(&wire, &f->arena, ret_facts, &f->err) < 0)
		fail_msg("%s: %s", name, f->err.message);
}

static const struct str vision[] = {{"vision", 6}};
static const struct label_requirement is_vision[] = {
	{{"gpuqos.io/tenant", 16}, LABEL_IN, vision, 1},
};
static const struct policy_binding of_pods = {
	.policy = {"gpuqos-tenant-pods", 18},
	.param = {"vision", 6},
	.denies = true,
	.namespaces = {is_vision, 1},
};

static void ours_is_as_we_wrote_it(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct binding_facts facts;

	(void)state;
	fixture_init(&f);
	recorded_binding(&f, "binding.ours", &facts);
	assert_true(str_equal(facts.name, STR("gpuqos-tenant-vision")));
	assert_int_equal(facts.uid.len, 36);
	assert_int_equal(facts.owner_uid.len, 36);
	assert_true(facts.resource_version > 0);
	assert_false(facts.other);
	assert_true(policy_binding_equal(&facts.spec, &of_pods));
}

static void an_edited_one_is_other(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct binding_facts facts;

	(void)state;
	fixture_init(&f);
	recorded_binding(&f, "binding.edited", &facts);
	assert_true(facts.other);
	assert_int_equal(facts.spec.objects.n_requirements, 1);
	recorded_binding(&f, "binding.foreign", &facts);
	assert_true(facts.other);
	assert_true(str_empty(facts.owner_uid));
	assert_true(str_empty(facts.spec.param));
}

static void pack_text(struct fixture *f, struct str json, struct binding_facts *ret_facts)
{
	struct wire_binding wire;

	if (json_decode(&wire_binding_schema, json, &f->arena, &wire, &f->err) < 0 ||
	    api_pack_binding(&wire, &f->arena, ret_facts, &f->err) < 0)
		fail_msg("%s", f->err.message);
}

static void each_thing_that_is_not_ours_makes_it_other(void **state)
{
#define META                                                                            \
	"'metadata':{'name':'b','uid':'u','labels':{'app.kubernetes.io/name':'gpuqos'," \
	"'gpuqos.io/tenant':'t'}}"
#define PARAM  "'paramRef':{'name':'t','parameterNotFoundAction':'Deny'}"
#define ACTION "'validationActions':['Warn']"
	static const struct {
		const char *json;
		bool other;
	} cases[] = {
		{"{" META ",'spec':{" PARAM "," ACTION "}}", false},
		{"{" META ",'spec':{" PARAM "," ACTION ",'matchResources':{'matchPolicy':"
		 "'Equivalent','objectSelector':{}}}}",
		 false},
		{"{" META ",'spec':{" PARAM "," ACTION
		 ",'matchResources':{'matchPolicy':'Exact'}}}",
		 true},
		{"{" META ",'spec':{" PARAM "," ACTION ",'matchResources':{'resourceRules':[{}]}}}",
		 true},
		{"{" META ",'spec':{" PARAM "," ACTION
		 ",'matchResources':{'excludeResourceRules':[{}]}}}",
		 true},
		{"{" META ",'spec':{" PARAM "," ACTION ",'matchResources':{'objectSelector':"
		 "{'matchExpressions':[{'key':'a','operator':'Later'}]}}}}",
		 true},
		{"{" META ",'spec':{" PARAM "}}", true},
		{"{" META ",'spec':{" PARAM ",'validationActions':['Audit']}}", true},
		{"{" META ",'spec':{" PARAM ",'validationActions':['Deny','Audit']}}", true},
		{"{" META ",'spec':{" ACTION ",'paramRef':{'name':'t',"
		 "'parameterNotFoundAction':'Allow'}}}",
		 true},
		{"{" META ",'spec':{" ACTION ",'paramRef':{'name':'t','namespace':'n',"
		 "'parameterNotFoundAction':'Deny'}}}",
		 true},
		{"{'metadata':{'name':'b','uid':'u','labels':{'gpuqos.io/tenant':'t'}},'spec':{" PARAM
		 "," ACTION "}}",
		 true},
		{"{'metadata':{'name':'b','uid':'u','labels':{'gpuqos.io/tenant':'other',"
		 "'app.kubernetes.io/name':'gpuqos'}},'spec':{" PARAM "," ACTION "}}",
		 true},
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f CLEANUP(fixture_clear);
		struct binding_facts facts;
		struct wire_binding wire;

		fixture_init(&f);
		sample_decode(&wire_binding_schema, cases[i].json, &f.arena, &wire);
		assert_int_equal(api_pack_binding(&wire, &f.arena, &facts, &f.err), 0);
		if (facts.other != cases[i].other)
			fail_msg("%s", cases[i].json);
	}
}

/* As the API server keeps what was applied, apart from uid and defaults. */
static void a_written_one_is_read_back_the_same(void **state)
{
	const struct str values[] = {STR("b"), STR("a")};
	const struct label_requirement requirements[] = {
		{STR("team"), LABEL_IN, values, 2},
		{STR("env"), LABEL_NOT_IN, values, 1},
		{STR("gpu"), LABEL_EXISTS, NULL, 0},
		{STR("team"), LABEL_DOES_NOT_EXIST, NULL, 0},
	};
	const struct policy_binding bindings[] = {
		of_pods,
		{STR("gpuqos-tenant-qos"), STR("vision"), false, {is_vision, 1}, {NULL, 0}},
		{STR("gpuqos-tenant-labels"), STR("vision"), true, {NULL, 0}, {requirements, 4}},
	};
	const struct body_owner owner = {STR("gpuqos.io/v1alpha1"), STR("TenantQoS"), STR("vision"),
					 STR("u")};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bindings); i++) {
		struct fixture f CLEANUP(fixture_clear);
		struct buf stored CLEANUP(buf_clear);
		struct binding_facts facts;
		const char *name;

		fixture_init(&f);
		buf_init(&stored, LIMIT_WATCH_FRAME);
		api_body_binding(&f.text, STR("b"), &owner, &bindings[i]);
		assert_false(f.text.overflowed);
		/* The server adds a uid. */
		name = strstr(f.text.data, "\"name\"");
		assert_non_null(name);
		buf_printf(&stored, "%.*s\"uid\":\"1\",%s", (int)(name - f.text.data), f.text.data,
			   name);
		pack_text(&f, buf_str(&stored), &facts);
		assert_false(facts.other);
		assert_true(str_equal(facts.owner_uid, STR("u")));
		assert_true(policy_binding_equal(&facts.spec, &bindings[i]));
		assert_false(policy_binding_equal(&facts.spec, &bindings[(i + 1) % 3]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ours_is_as_we_wrote_it),
		cmocka_unit_test(an_edited_one_is_other),
		cmocka_unit_test(each_thing_that_is_not_ours_makes_it_other),
		cmocka_unit_test(a_written_one_is_read_back_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
