/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces: managed or not, whose, and with which labels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/pack.h"
#include "base/limits.h"
#include "base/macros.h"
#include "recorded.h"

static void namespaces_are_managed_by_their_label(void **state)
{
	static const struct {
		const char *json;
		bool managed, terminating;
	} cases[] = {
		{"{'metadata':{'name':'a','uid':'u','labels':{'gpuqos.io/managed':'true'}}}", true,
		 false},
		{"{'metadata':{'name':'a','uid':'u','labels':{'gpuqos.io/managed':'no'}}}", false,
		 false},
		{"{'metadata':{'name':'a','uid':'u'},'status':{'phase':'Active'}}", false, false},
		{"{'metadata':{'name':'a','uid':'u'},'status':{'phase':'Terminating'}}", false,
		 true},
		{"{'metadata':{'name':'a','uid':'u','deletionTimestamp':'2026-01-01T00:00:00Z'}}",
		 false, true},
	};
	struct arena arena CLEANUP(arena_clear);
	struct namespace_facts facts;
	struct wire_namespace wire;
	struct error err = {0};
	size_t i;

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		sample_decode(&wire_namespace_schema, cases[i].json, &arena, &wire);
		assert_int_equal(api_pack_namespace(&wire, &arena, &facts, &err), 0);
		assert_int_equal(facts.managed, cases[i].managed);
		assert_int_equal(facts.terminating, cases[i].terminating);
	}
	sample_decode(&wire_namespace_schema, "{'metadata':{'name':'a'}}", &arena, &wire);
	assert_int_equal(api_pack_namespace(&wire, &arena, &facts, &err), -1);
	assert_string_equal(err.message, "Namespace a: has no uid");
}

static void labels_are_read_and_one_names_the_tenant(void **state)
{
	struct arena arena CLEANUP(arena_clear);
	struct namespace_facts facts;
	struct wire_namespace wire;
	struct error err = {0};

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	sample_decode(&wire_namespace_schema,
		      "{'metadata':{'name':'a','uid':'u','labels':{'gpuqos.io/tenant':'acme',"
		      "'team':'vision','empty':'','gpuqos.io/quota':'none'}}}",
		      &arena, &wire);
	assert_int_equal(api_pack_namespace(&wire, &arena, &facts, &err), 0);
	assert_false(facts.managed);
	assert_true(str_equal(facts.tenant, STR("acme")));
	assert_true(facts.quotaless);
	assert_int_equal(facts.n_labels, 4);
	assert_true(str_equal(facts.labels[1].key, STR("team")));
	assert_true(str_equal(facts.labels[1].value, STR("vision")));
	assert_true(str_empty(facts.labels[2].value));

	sample_decode(&wire_namespace_schema, "{'metadata':{'name':'a','uid':'u'}}", &arena, &wire);
	assert_int_equal(api_pack_namespace(&wire, &arena, &facts, &err), 0);
	assert_true(str_empty(facts.tenant));
	assert_false(facts.quotaless);
	assert_int_equal(facts.n_labels, 0);
}

/* As many as etcd lets one object have, and more; what no label can be is none. */
static void no_labels_are_too_many(void **state)
{
	static struct wire_pair pairs[200000];
	static char text[LIMIT_LABEL_KEY + 1];
	struct arena arena CLEANUP(arena_clear);
	struct wire_namespace wire = {0};
	struct namespace_facts facts;
	struct error err = {0};
	size_t i;

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	for (i = 0; i < ARRAY_SIZE(pairs); i++)
		pairs[i].key = STR("k");
	wire.meta.name = STR("a");
	wire.meta.uid = STR("u");
	wire.meta.labels = (struct wire_list){pairs, ARRAY_SIZE(pairs)};
	assert_int_equal(api_pack_namespace(&wire, &arena, &facts, &err), 0);
	assert_int_equal(facts.n_labels, ARRAY_SIZE(pairs));
	wire.meta.labels.len = 3;
	pairs[0].value = (struct str){text, LIMIT_LABEL_VALUE + 1};
	pairs[1].key = (struct str){text, sizeof(text)};
	assert_int_equal(api_pack_namespace(&wire, &arena, &facts, &err), 0);
	assert_int_equal(facts.n_labels, 1);
}

static void the_outline_has_our_own_labels(void **state)
{
	struct arena arena CLEANUP(arena_clear);
	struct namespace_facts facts;
	struct wire_namespace wire;
	struct error err = {0};

	(void)state;
	arena_init(&arena, LIMIT_DECODE_ARENA);
	sample_decode(&wire_namespace_outline_schema,
		      "{'metadata':{'name':'a','uid':'u','labels':{'team':7,"
		      "'gpuqos.io/tenant':'acme','gpuqos.io/managed':'true'}}}",
		      &arena, &wire);
	assert_int_equal(api_pack_namespace(&wire, &arena, &facts, &err), 0);
	assert_true(facts.managed);
	assert_true(str_equal(facts.tenant, STR("acme")));
	assert_int_equal(facts.n_labels, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(namespaces_are_managed_by_their_label),
		cmocka_unit_test(labels_are_read_and_one_names_the_tenant),
		cmocka_unit_test(no_labels_are_too_many),
		cmocka_unit_test(the_outline_has_our_own_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
