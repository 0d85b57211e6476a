/* SPDX-License-Identifier: Apache-2.0 */
/* Claims, volumes, classes and drivers: what of them is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/pack_storage.h"
#include "base/limits.h"
#include "base/macros.h"
#include "recorded.h"

#define META(more) "'metadata':{'name':'x','namespace':'n','uid':'u'" more "}"

static void claims_are_read(void **state)
{
	static const struct {
		const char *what, *json;
		struct volume_claim_facts facts;
	} cases[] = {
		{"bound",
		 META(",'annotations':{'pv.kubernetes.io/bind-completed':'yes'}") ","
										  "'spec':{'volumeName':'pv','storageClassName':'fast','accessModes':['ReadWriteMany']}",
		 {.volume = {"pv", 2}, .class = {"fast", 4}, .bound = true}},
		{"about to be bound",
		 META("") ",'spec':{'volumeName':'pv'}",
		 {.volume = {"pv", 2}}},
		{"for one pod",
		 META("") ",'spec':{'accessModes':['ReadWriteOncePod']}",
		 {.once = true}},
		{"lost", META("") ",'status':{'phase':'Lost'}", {.lost = true}},
		{"going",
		 META(",'deletionTimestamp':'2026-01-02T03:04:05Z'") ",'status':{'phase':'Bound'}",
		 {.terminating = true}},
		{"its class by annotation, which counts also where it is empty",
		 META(",'annotations':{'volume.beta.kubernetes.io/storage-class':''}") ","
										       "'spec':{'storageClassName':'fast'}",
		 {.bound = false}},
		{"a node was chosen",
		 META(",'annotations':{'volume.kubernetes.io/selected-node':'a','other':'b'}"),
		 {.chosen = true, .node = {"a", 1}}},
		{"a node was chosen that has no name",
		 META(",'annotations':{'volume.kubernetes.io/selected-node':''}"),
		 {.chosen = true}},
		{"of a pod",
		 META(",'ownerReferences':[{'kind':'X','uid':'1'},"
		      "{'kind':'Pod','uid':'2','controller':true}]"),
		 {.owner_uid = {"2", 1}}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct volume_claim_facts *want = &cases[i].facts;
		struct fixture f CLEANUP(fixture_clear);
		struct wire_persistent_volume_claim wire;
		struct volume_claim_facts facts;
		char json[512];

		fixture_init(&f);
		snprintf(json, sizeof(json), "{%s}", cases[i].json);
		sample_decode(&wire_persistent_volume_claim_schema, json, &f.arena, &wire);
		assert_int_equal(api_pack_volume_claim(&wire, &facts, &f.err), 0);
		if (!str_equal(facts.volume, want->volume) ||
		    !str_equal(facts.class, want->class) || !str_equal(facts.node, want->node) ||
		    !str_equal(facts.owner_uid, want->owner_uid) || facts.bound != want->bound ||
		    facts.lost != want->lost || facts.terminating != want->terminating ||
		    facts.once != want->once || facts.chosen != want->chosen)
			fail_msg("%s", cases[i].what);
		assert_true(str_equal(facts.name, STR("x")));
		assert_true(str_equal(facts.namespace, STR("n")));
	}
}

static struct volume_facts volume_of(struct fixture *f, const char *more, const char *spec)
{
	struct wire_persistent_volume wire;
	struct volume_facts facts;
	char json[1024];

	snprintf(json, sizeof(json), "{'metadata':{'name':'x','uid':'u'%s},'spec':{%s}}", more,
		 spec);
	sample_decode(&wire_persistent_volume_schema, json, &f->arena, &wire);
	assert_int_equal(api_pack_volume(&wire, &f->arena, &facts, &f->err), 0);
	return facts;
}

static void volumes_are_read(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct volume_facts facts;

	(void)state;
	fixture_init(&f);
	facts = volume_of(
		&f, ",'labels':{'topology.kubernetes.io/zone':'a__b','app':'x'}",
		"'csi':{'driver':'d','volumeHandle':'h'},'nodeAffinity':{'required':"
		"{'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone','operator':'In',"
		"'values':['a']}]},{}]}}");
	assert_true(str_equal(facts.driver, STR("d")) && str_equal(facts.handle, STR("h")));
	assert_true(facts.chooses && !facts.translated && !facts.unread);
	assert_int_equal(facts.n_terms, 1); /* one that is empty matches nothing */
	assert_int_equal(facts.n_zones, 1);
	assert_true(str_equal(facts.zones[0].value, STR("a__b")));
	facts = volume_of(&f, "", "'nfs':{'server':'s','path':'/'}");
	assert_true(!facts.chooses && !facts.translated && str_empty(facts.driver));
	facts = volume_of(&f, "", "'awsElasticBlockStore':{'volumeID':'v'}");
	assert_true(facts.translated);
	/* No term at all matches nothing. */
	facts = volume_of(&f, "", "'local':{'path':'/'},'nodeAffinity':{'required':{}}");
	assert_true(facts.chooses && facts.n_terms == 0);
}

static void classes_are_read(void **state)
{
	static const struct {
		const char *what, *json;
		bool waits, chooses;
		size_t terms;
	} cases[] = {
		{"of any node", "'volumeBindingMode':'WaitForFirstConsumer'", true, false, 0},
		{"at once", "'volumeBindingMode':'Immediate'", false, false, 0},
		{"no mode", "'provisioner':'d'", false, false, 0},
		{"in zones",
		 "'allowedTopologies':[{'matchLabelExpressions':[{'key':'z','values':['a','b']}]}]",
		 false, true, 1},
		{"a term that is empty matches nothing",
		 "'allowedTopologies':[{},{'matchLabelExpressions':[{'key':'z'}]}]", false, true,
		 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f CLEANUP(fixture_clear);
		struct wire_storage_class wire;
		struct storage_class_facts facts;
		char json[512];

		fixture_init(&f);
		snprintf(json, sizeof(json), "{" META("") ",%s}", cases[i].json);
		sample_decode(&wire_storage_class_schema, json, &f.arena, &wire);
		assert_int_equal(api_pack_storage_class(&wire, &f.arena, &facts, &f.err), 0);
		if (facts.waits != cases[i].waits || facts.chooses != cases[i].chooses ||
		    facts.n_terms != cases[i].terms || facts.unread)
			fail_msg("%s", cases[i].what);
	}
}

static void drivers_are_read(void **state)
{
	struct fixture f CLEANUP(fixture_clear);
	struct wire_csi_node node;
	struct wire_csi_driver driver;
	struct csi_node_facts facts;
	struct csi_driver_facts about;

	(void)state;
	fixture_init(&f);
	sample_decode(&wire_csi_node_schema,
		      "{" META("") ",'spec':{'drivers':[{'name':'a','allocatable':{'count':3}},"
				   "{'name':'b','allocatable':{}},{'name':'c'}]}}",
		      &f.arena, &node);
	assert_int_equal(api_pack_csi_node(&node, &f.arena, &facts, &f.err), 0);
	assert_int_equal(facts.n_drivers, 3);
	assert_int_equal(facts.drivers[0].most, 3);
	assert_int_equal(facts.drivers[1].most, -1);
	assert_int_equal(facts.drivers[2].most, -1);
	sample_decode(&wire_csi_driver_schema,
		      "{" META("") ",'spec':{'storageCapacity':true,"
				   "'preventPodSchedulingIfMissing':true}}",
		      &f.arena, &driver);
	assert_int_equal(api_pack_csi_driver(&driver, &about, &f.err), 0);
	assert_true(about.tells_capacity && about.must_be_there);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claims_are_read),
		cmocka_unit_test(volumes_are_read),
		cmocka_unit_test(classes_are_read),
		cmocka_unit_test(drivers_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
