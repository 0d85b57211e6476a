/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent reads of its Node and of kubelet, and what it writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/agent.h"
#include "api/wire_agent.h"
#include "base/clock.h"
#include "written.h"

static void the_tables_can_be_read_by(void **state UNUSED)
{
	struct error err = {0};

	if (schema_check(&wire_own_node_schema, &err) < 0 ||
	    schema_check(&wire_configz_schema, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(wire_configz_schema.fields[WIRE_CONFIGZ_KUBELET].name, "kubeletconfig");
}

static void a_node_tells_where_its_kubelet_is(void **state UNUSED)
{
	static const struct {
		const char *what, *json;
		struct agent_node node;
	} cases[] = {
		{"a node as it usually is",
		 "{\"metadata\":{\"uid\":\"u\",\"annotations\":{\"a\":\"b\","
		 "\"gpuqos.io/topology\":\"{}\"}},\"status\":{\"addresses\":["
		 "{\"type\":\"Hostname\",\"address\":\"n\"},"
		 "{\"type\":\"InternalIP\",\"address\":\"10.0.0.7\"},"
		 "{\"type\":\"InternalIP\",\"address\":\"fd00::7\"}],"
		 "\"daemonEndpoints\":{\"kubeletEndpoint\":{\"Port\":10250}}}}",
		 {{"u", 1}, {"{}", 2}, {"10.0.0.7", 8}, 10250}},
		{"one that says nothing", "{}", {{0}, {0}, {0}, 0}},
		{"a port that is none",
		 "{\"status\":{\"daemonEndpoints\":{\"kubeletEndpoint\":{\"Port\":70000}}}}",
		 {{0}, {0}, {0}, 0}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(arena_clear) struct arena arena = {0};
		const struct agent_node *want = &cases[i].node;
		struct agent_node node;
		struct error err = {0};

		if (api_read_agent_node((struct api_bytes){str_from(cases[i].json), false}, &arena,
					&node, &err) < 0)
			fail_msg("%s: %s", cases[i].what, err.message);
		if (!str_equal(node.uid, want->uid) ||
		    !str_equal(node.annotation, want->annotation) ||
		    !str_equal(node.address, want->address) ||
		    node.kubelet_port != want->kubelet_port)
			fail_msg("%s", cases[i].what);
	}
}

static void kubelet_tells_its_policies(void **state UNUSED)
{
	static const struct {
		const char *what, *json;
		struct layout_kubelet kubelet;
	} cases[] = {
		{"the strictest",
		 "{\"kubeletconfig\":{\"topologyManagerPolicy\":\"single-numa-node\","
		 "\"topologyManagerScope\":\"pod\",\"cpuManagerPolicy\":\"static\","
		 "\"memoryThrottlingFactor\":0.9}}",
		 {LAYOUT_POLICY_SINGLE_NUMA, true, true}},
		{"the default",
		 "{\"kubeletconfig\":{\"topologyManagerPolicy\":\"none\","
		 "\"topologyManagerScope\":\"container\",\"cpuManagerPolicy\":\"none\"}}",
		 {LAYOUT_POLICY_NONE, false, false}},
		{"policies that are to come",
		 "{\"kubeletconfig\":{\"topologyManagerPolicy\":\"single-socket\","
		 "\"topologyManagerScope\":\"node\",\"cpuManagerPolicy\":\"dynamic\"}}",
		 {LAYOUT_POLICY_UNKNOWN, false, false}},
		{"nothing of the kind",
		 "{\"kubeletconfig\":{}}",
		 {LAYOUT_POLICY_UNKNOWN, false, false}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(arena_clear) struct arena arena = {0};
		struct layout_kubelet kubelet;
		struct error err = {0};

		if (api_read_configz(str_from(cases[i].json), &arena, &kubelet, &err) < 0)
			fail_msg("%s: %s", cases[i].what, err.message);
		if (kubelet.policy != cases[i].kubelet.policy ||
		    kubelet.pod_scope != cases[i].kubelet.pod_scope ||
		    kubelet.static_cpu != cases[i].kubelet.static_cpu)
			fail_msg("%s", cases[i].what);
	}
}

static void what_is_no_configz_is_refused(void **state UNUSED)
{
	static const char *const texts[] = {"",
					    "no",
					    "{}",
					    "[]",
					    "{\"kubeletconfig\":null}",
					    "{\"kubeletconfig\":7}",
					    "{\"kubeletconfig\":{\"topologyManagerPolicy\":1}}"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(arena_clear) struct arena arena = {0};
		struct layout_kubelet kubelet;
		struct error err = {0};

		assert_int_equal(api_read_configz(str_from(texts[i]), &arena, &kubelet, &err), -1);
		assert_int_equal(err.kind, ERROR_INVALID);
	}
}

static void the_annotation_is_a_string_of_the_node(void **state UNUSED)
{
	api_body_annotation(&body, STR("n"), STR("u"), STR("{}"));
	assert_body("{'apiVersion':'v1','kind':'Node','metadata':{'name':'n','uid':'u',"
		    "'annotations':{'gpuqos.io/topology':'{}'}}}");
}

static void a_lease_is_owned_by_its_node(void **state UNUSED)
{
	api_body_agent_lease(&body, &(struct body_agent_lease){.namespace = STR("s"),
							       .node = STR("n"),
							       .node_uid = STR("u"),
							       .duration_s = 40,
							       .renew_us = USEC_PER_SEC});
	assert_body("{'apiVersion':'coordination.k8s.io/v1','kind':'Lease','metadata':{"
		    "'name':'gpuqos-agent-n','namespace':'s',"
		    "'labels':{'app.kubernetes.io/name':'gpuqos-agent'},'ownerReferences':["
		    "{'apiVersion':'v1','kind':'Node','name':'n','uid':'u'}]},"
		    "'spec':{'holderIdentity':'n','leaseDurationSeconds':40,"
		    "'renewTime':'1970-01-01T00:00:01.000000Z'}}");
}

static void a_lease_says_since_when_the_gpunode_is_true(void **state UNUSED)
{
	struct wire_pair pair = {STR("gpuqos.io/usage-seen"), STR("1970-01-01T00:00:02.000000Z")};
	struct wire_pair nonsense = {STR("gpuqos.io/usage-seen"), STR("just now")};
	struct wire_lease wire = {.meta.annotations = {.items = &pair, .len = 1}};
	struct agent_facts facts;

	api_body_agent_lease(
		&body, &(struct body_agent_lease){.node = STR("n"), .seen_us = 2 * USEC_PER_SEC});
	if (!strstr(body.data, "\"annotations\":{\"gpuqos.io/usage-seen\":"
			       "\"1970-01-01T00:00:02.000000Z\"}"))
		fail_msg("%s", body.data);
	api_pack_agent(&wire, &facts);
	assert_int_equal(facts.seen_us, 2 * USEC_PER_SEC);
	wire.meta.annotations.items = &nonsense;
	api_pack_agent(&wire, &facts);
	assert_int_equal(facts.seen_us, 0);
	api_pack_agent(&(struct wire_lease){0}, &facts);
	assert_int_equal(facts.seen_us, 0);
}

#define WITH_BODY(name) cmocka_unit_test_setup_teardown(name, body_setup, body_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tables_can_be_read_by),
		cmocka_unit_test(a_node_tells_where_its_kubelet_is),
		cmocka_unit_test(kubelet_tells_its_policies),
		cmocka_unit_test(what_is_no_configz_is_refused),
		WITH_BODY(the_annotation_is_a_string_of_the_node),
		WITH_BODY(a_lease_is_owned_by_its_node),
		WITH_BODY(a_lease_says_since_when_the_gpunode_is_true),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
