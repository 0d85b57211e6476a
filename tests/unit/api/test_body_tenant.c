/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies for TenantQoS, byte for byte; ' stands for ". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/body.h"
#include "base/limits.h"
#include "base/macros.h"
#include "written.h"

#define CONDITION(type)                                                         \
	"{'type':'" type "','status':'True','reason':'Accepted','message':'m'," \
	"'lastTransitionTime':'2026-01-02T03:04:05Z','observedGeneration':3}"

static void a_status_has_all_amounts_and_conditions(void **state)
{
	const struct str namespaces[] = {STR("a"), STR("b")};
	const struct objective_status objectives[] = {
		{STR("ttft"), OBJECTIVE_MET, OBJECTIVE_REASON_WITHIN, 213000, 1767323045000000},
		{STR("queue"), OBJECTIVE_UNKNOWN, OBJECTIVE_REASON_ABSENT, OBJECTIVE_NO_VALUE, 0},
	};
	struct tenant_status status = {
		.objectives = objectives,
		.n_objectives = ARRAY_SIZE(objectives),
		.observed_generation = 3,
		.ceiling = 640 * GIB,
		.ceiling_gpus = 8,
		.granted = 480 * GIB,
		.granted_gpus = 6,
		.used = 81559 * MIB - 1,
		.used_gpus = 1,
		.n_namespaces = 2,
		.namespaces = namespaces,
		.n_namespaces_listed = ARRAY_SIZE(namespaces),
		.throttle = {THROTTLE_NO_NEW_GRANTS, 70,
			     FEEDBACK_BIT(FEEDBACK_MEMORY) | FEEDBACK_BIT(FEEDBACK_TOPOLOGY),
			     1767323045000000, 1767323105000000, 2},
	};
	size_t i;

	(void)state;
	for (i = 0; i < TENANT_CONDITION_COUNT; i++)
		status.conditions[i] = (struct condition){CONDITION_TRUE, QUOTA_REASON_ACCEPTED,
							  1767323045000000, "m"};
	api_body_tenant_status(&body, STR("t"), STR("u"), &status);
	assert_body(
		"{'apiVersion':'gpuqos.io/v1alpha1','kind':'TenantQoS','metadata':{'name':'t',"
		"'uid':'u'},'status':{'observedGeneration':3,'namespaces':['a','b'],"
		"'namespaceCount':2,'ceiling':{'gpuMemory':'640Gi','gpus':8},'granted':'480Gi',"
		"'grantedGPUs':6,'used':'85520809983','usedGPUs':1,'lent':'0','shown':{'granted':'480Gi',"
		"'used':'81559Mi','lent':'0'},'objectives':[{'name':"
		"'ttft','value':'0.213','state':'Met','reason':'WithinThreshold','since':"
		"'2026-01-02T03:04:05Z'},{'name':'queue','state':'Unknown','reason':'Absent'}],"
		"'objectivesSummary':'1 Met, 1 Unknown',"
		"'throttle':{'step':'NoNewGrants','percent':70,'cause':'pods use more GPU memory "
		"than they were granted and cards of pods do not lie as is required','signals':["
		"'MemoryOvershoot','TopologyMismatch'],'since':'2026-01-02T03:04:05Z',"
		"'until':'2026-01-02T03:05:05Z','futileTries':2},'conditions':[" CONDITION("Ready") "," CONDITION("Accepted") "," CONDITION("Exceeded") "," CONDITION(
			"Abnormal") "," CONDITION("Throttled") "," CONDITION("TopologyMismatch") "," CONDITION("Objectives") "," CONDITION("Unprotected") "," CONDITION("IdleGPUs") "]}}");
}

static void a_status_without_ceiling_leaves_it_out(void **state)
{
	struct tenant_status status = {.ceiling = AMOUNT_NONE, .ceiling_gpus = AMOUNT_NONE};

	(void)state;
	api_body_tenant_status(&body, STR("t"), STR("u"), &status);
	assert_non_null(strstr(body.data, "\"namespaces\":[],\"namespaceCount\":0,\"granted\""));
	assert_null(strstr(body.data, "ceiling"));
}

static void a_binding_belongs_to_its_parameter(void **state)
{
	const struct str values[] = {STR("vision")};
	const struct label_requirement in = {STR("gpuqos.io/tenant"), LABEL_IN, values, 1};
	const struct label_requirement exists = {STR("team"), LABEL_EXISTS, NULL, 0};
	const struct body_owner owner = {STR("gpuqos.io/v1alpha1"), STR("TenantQoS"), STR("vision"),
					 STR("u")};
	struct policy_binding binding = {
		.policy = STR("gpuqos-tenant-pods"),
		.param = STR("vision"),
		.denies = true,
		.namespaces = {&in, 1},
	};

	(void)state;
#define HEAD                                                                                 \
	"{'apiVersion':'admissionregistration.k8s.io/v1','kind':"                            \
	"'ValidatingAdmissionPolicyBinding','metadata':{'name':'b','labels':{"               \
	"'app.kubernetes.io/name':'gpuqos','gpuqos.io/tenant':'vision'},'ownerReferences':[" \
	"{'apiVersion':'gpuqos.io/v1alpha1','kind':'TenantQoS','name':'vision','uid':'u',"   \
	"'controller':true}]},'spec':{'policyName':'gpuqos-tenant-pods','paramRef':{'name':" \
	"'vision','parameterNotFoundAction':'Deny'},'matchResources':"
	api_body_binding(&body, STR("b"), &owner, &binding);
	assert_body(HEAD "{'namespaceSelector':{'matchExpressions':[{'key':'gpuqos.io/tenant',"
			 "'operator':'In','values':['vision']}]}},'validationActions':['Deny']}}");
	buf_reset(&body);
	binding.denies = false;
	binding.namespaces.n_requirements = 0;
	binding.objects = (struct label_selector){&exists, 1};
	api_body_binding(&body, STR("b"), &owner, &binding);
	assert_body(HEAD
		    "{'objectSelector':{'matchExpressions':[{'key':'team','operator':'Exists'}]}"
		    "},'validationActions':['Warn']}}");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, body_setup, body_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_status_has_all_amounts_and_conditions),
		TEST(a_status_without_ceiling_leaves_it_out),
		TEST(a_binding_belongs_to_its_parameter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
