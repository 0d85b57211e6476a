/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of writes, byte for byte; ' stands for ". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/body.h"
#include "base/limits.h"
#include "base/macros.h"
#include "written.h"

#define OWNER \
	(&(struct body_owner){STR("gpuqos.io/v1alpha1"), STR("GpuMemoryQuota"), STR("q"), STR("u")})
#define OWNED                                                                           \
	"'metadata':{'name':'gpuqos','namespace':'n','ownerReferences':[{'apiVersion':" \
	"'gpuqos.io/v1alpha1','kind':'GpuMemoryQuota','name':'q','uid':'u','controller':true}]}"

static void resource_quota_has_requests_keys(void **state)
{
	const struct resource_amount hard[] = {{STR("nvidia.com/gpu"), 4},
					       {STR("nvidia.com/mig-1g.10gb"), 0}};

	(void)state;
	api_body_resource_quota(&body, STR("n"), OWNER, hard, ARRAY_SIZE(hard));
	assert_body("{'apiVersion':'v1','kind':'ResourceQuota'," OWNED
		    ",'spec':{'hard':{'requests.nvidia.com/gpu':'4',"
		    "'requests.nvidia.com/mig-1g.10gb':'0'}}}");
}

/* DRA counts a DeviceClass under its own key, HAMi reads a limit; KAI has no key. */
static void resource_quota_keys_have_the_form_that_counts(void **state)
{
	const struct resource_amount hard[] = {
		{STR("kai.scheduler/gpu-memory"), 5},
		{STR("limits.nvidia.com/gpumem"), 81920},
		{STR("mig.nvidia.com.deviceclass.resource.k8s.io/devices"), 3},
		{STR("nvidia.com/gpumem"), 81920},
	};

	(void)state;
	api_body_resource_quota(&body, STR("n"), OWNER, hard, ARRAY_SIZE(hard));
	assert_body("{'apiVersion':'v1','kind':'ResourceQuota'," OWNED
		    ",'spec':{'hard':{'limits.nvidia.com/gpumem':'81920',"
		    "'mig.nvidia.com.deviceclass.resource.k8s.io/devices':'3',"
		    "'requests.nvidia.com/gpumem':'81920'}}}");
}

static void resource_quota_may_be_empty(void **state)
{
	(void)state;
	api_body_resource_quota(&body, STR("n"), OWNER, NULL, 0);
	assert_body("{'apiVersion':'v1','kind':'ResourceQuota'," OWNED ",'spec':{'hard':{}}}");
}

static void a_name_longer_than_any_overflows(void **state)
{
	const struct str suffix = STR(".deviceclass.resource.k8s.io/devices");
	char name[LIMIT_INTERNED_STRING + 32];
	struct resource_amount hard = {{name, sizeof(name)}, 1};

	(void)state;
	memset(name, 'x', sizeof(name));
	memcpy(name + sizeof(name) - suffix.len, suffix.data, suffix.len);
	api_body_resource_quota(&body, STR("n"), OWNER, &hard, 1);
	assert_true(body.overflowed);
}

static void limit_range_has_limit_and_request_alike(void **state)
{
	const struct resource_amount defaults = {STR("nvidia.com/gpu"), 1};

	(void)state;
	api_body_limit_range(&body, STR("n"), OWNER, &defaults, 1);
	assert_body("{'apiVersion':'v1','kind':'LimitRange'," OWNED
		    ",'spec':{'limits':[{'type':'Container','default':{'nvidia.com/gpu':'1'},"
		    "'defaultRequest':{'nvidia.com/gpu':'1'}}]}}");
}

static void label_patch_sets_or_removes(void **state)
{
	const struct label labels[] = {
		{STR("gpuqos.io/managed"), STR("true")},
		{STR("gpuqos.io/tenant"), STR_NONE},
	};

	(void)state;
	api_body_label_patch(&body, STR("u"), labels, ARRAY_SIZE(labels));
	assert_body("{'metadata':{'uid':'u','labels':{'gpuqos.io/managed':'true',"
		    "'gpuqos.io/tenant':null}}}");
	buf_reset(&body);
	api_body_label_patch(&body, STR_NONE, labels, 1);
	assert_body("{'metadata':{'labels':{'gpuqos.io/managed':'true'}}}");
}

static void lease_is_created_without_version_and_updated_with(void **state)
{
	struct body_lease lease = {
		.namespace = STR("n"),
		.name = STR("l"),
		.holder = STR("h"),
		.duration_s = 15,
		.transitions = 2,
		.acquire_us = 1767323045678901,
		.renew_us = 1767323046000001,
	};

	(void)state;
	api_body_lease(&body, &lease);
	assert_body("{'apiVersion':'coordination.k8s.io/v1','kind':'Lease','metadata':{'name':'l',"
		    "'namespace':'n'},'spec':{'holderIdentity':'h','leaseDurationSeconds':15,"
		    "'acquireTime':'2026-01-02T03:04:05.678901Z',"
		    "'renewTime':'2026-01-02T03:04:06.000001Z','leaseTransitions':2}}");
	buf_reset(&body);
	lease.resource_version = STR("42");
	lease.holder = STR("");
	lease.duration_s = 1;
	api_body_lease(&body, &lease);
	assert_body("{'apiVersion':'coordination.k8s.io/v1','kind':'Lease','metadata':{'name':'l',"
		    "'namespace':'n','resourceVersion':'42'},'spec':{'holderIdentity':'',"
		    "'leaseDurationSeconds':1,'acquireTime':'2026-01-02T03:04:05.678901Z',"
		    "'renewTime':'2026-01-02T03:04:06.000001Z','leaseTransitions':2}}");
}

static struct body_event event_of(struct str note)
{
	return (struct body_event){
		.namespace = STR("n"),
		.name = STR("q.1"),
		.regarding = {STR("gpuqos.io/v1alpha1"), STR("GpuMemoryQuota"), STR("n"), STR("q"),
			      STR("u")},
		.type = STR("Warning"),
		.reason = STR("OverLimit"),
		.action = STR("Freeze"),
		.note = note,
		.controller = STR("gpuqos.io/controller"),
		.instance = STR("pod-1"),
		.event_us = 1767323045678901,
	};
}

#define EVENT_HEAD                                                                                 \
	"{'apiVersion':'events.k8s.io/v1','kind':'Event','metadata':{'name':'q.1','namespace':"    \
	"'n'},'regarding':{'apiVersion':'gpuqos.io/v1alpha1','kind':'GpuMemoryQuota','namespace':" \
	"'n','name':'q','uid':'u'},'type':'Warning','reason':'OverLimit','action':'Freeze',"
#define EVENT_TAIL                                                                              \
	"'reportingController':'gpuqos.io/controller','reportingInstance':'pod-1','eventTime':" \
	"'2026-01-02T03:04:05.678901Z'"

static void event_has_what_the_server_demands(void **state)
{
	struct body_event event = event_of(STR("a \t note"));

	(void)state;
	api_body_event(&body, &event);
	assert_body(EVENT_HEAD "'note':'a \\t note'," EVENT_TAIL "}");
	buf_reset(&body);
	event.series_count = 2;
	event.series_last_us = 1767323046000000;
	api_body_event(&body, &event);
	assert_body(EVENT_HEAD "'note':'a \\t note'," EVENT_TAIL
			       ",'series':{'count':2,'lastObservedTime':"
			       "'2026-01-02T03:04:06.000000Z'}}");
	buf_reset(&body);
	api_body_event_series(&body, 3, 1767323046000000);
	assert_body("{'series':{'count':3,'lastObservedTime':'2026-01-02T03:04:06.000000Z'}}");
}

/* The server counts bytes, and half a character would be no text. */
static void a_long_note_is_cut_between_characters(void **state)
{
	char note[LIMIT_EVENT_NOTE + 8];
	struct body_event event;

	(void)state;
	memset(note, 'x', sizeof(note));
	note[LIMIT_EVENT_NOTE - 2] = '\xe2';
	note[LIMIT_EVENT_NOTE - 1] = '\x82';
	note[LIMIT_EVENT_NOTE] = '\xac';
	event = event_of((struct str){note, sizeof(note)});
	api_body_event(&body, &event);
	note[LIMIT_EVENT_NOTE - 2] = '\0';
	assert_non_null(strstr(body.data, note));
	assert_null(strstr(body.data, "\xe2"));
	assert_null(strstr(body.data, "\xef\xbf\xbd"));
}

static void removals_name_the_object_they_mean(void **state)
{
	(void)state;
	api_body_delete(&body, STR("u"));
	assert_body("{'apiVersion':'v1','kind':'DeleteOptions','preconditions':{'uid':'u'}}");
	buf_reset(&body);
	api_body_delete(&body, STR(""));
	assert_body("{'apiVersion':'v1','kind':'DeleteOptions'}");
	buf_reset(&body);
	api_body_eviction(&body, STR("n"), STR("p"), STR("u"), 30);
	assert_body("{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'p',"
		    "'namespace':'n'},'deleteOptions':{'gracePeriodSeconds':30,"
		    "'preconditions':{'uid':'u'}}}");
	buf_reset(&body);
	api_body_eviction(&body, STR("n"), STR("p"), STR("u"), -1);
	assert_body("{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'p',"
		    "'namespace':'n'},'deleteOptions':{'preconditions':{'uid':'u'}}}");
}

static void status_has_all_amounts_rows_and_conditions(void **state)
{
	const struct quota_row row = {STR("nvidia.com/gpu"), STR("T4"), 15 * GIB, 2, 4,
				      DEVICE_WHOLE};
	const struct quota_class classes[] = {{STR("gpu"), STR("nvidia.com/gpu")},
					      {STR("nic"), STR("")}};
	struct quota_status status = {
		.observed_generation = 3,
		.effective = 60 * GIB,
		.used = 30 * GIB,
		.used_percent = 50,
		.gpus_used = 2,
		.granted_gpus = 3,
		.effective_gpus = 1,
		.pods = 1,
		.rows = &row,
		.n_rows = 1,
		.classes = {classes, 2, 0},
	};
	struct condition *ready = &status.conditions[QUOTA_READY];

	(void)state;
	ready->status = CONDITION_TRUE;
	ready->reason = QUOTA_REASON_ENFORCED;
	ready->since_us = 1767323045000000;
	snprintf(ready->message, sizeof(ready->message), "all \"good\"");
	api_body_quota_status(&body, STR("n"), STR("q"), STR("u"), &status);
	assert_non_null(strstr(
		body.data,
		"{\"apiVersion\":\"gpuqos.io/v1alpha1\",\"kind\":\"GpuMemoryQuota\",\"metadata\":"
		"{\"name\":\"q\",\"namespace\":\"n\",\"uid\":\"u\"},\"status\":{"
		"\"observedGeneration\":3,\"effective\":\"60Gi\",\"granted\":\"0\",\"used\":\"30Gi\","
		"\"lent\":\"0\",\"borrowed\":\"0\",\"live\":\"0\",\"released\":\"0\","
		"\"releasedPods\":0,\"usedPercent\":50,\"pods\":1,\"gpus\":2,"
		"\"grantedGPUs\":3,\"effectiveGPUs\":1,"
		"\"shown\":{\"effective\":\"60Gi\",\"granted\":\"0\",\"used\":\"30Gi\","
		"\"lent\":\"0\",\"borrowed\":\"0\"},"
		"\"resources\":[{\"name\":\"nvidia.com/gpu\",\"product\":\"T4\",\"unitMemory\":"
		"\"15Gi\",\"sharing\":\"None\",\"used\":2,\"hard\":4}],\"deviceClasses\":["
		"{\"name\":\"gpu\",\"resource\":\"nvidia.com/gpu\"},"
		"{\"name\":\"nic\",\"resource\":\"\"}],\"conditions\":["
		"{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"Enforced\",\"message\":"
		"\"all \\\"good\\\"\",\"lastTransitionTime\":\"2026-01-02T03:04:05Z\","
		"\"observedGeneration\":3},{\"type\":\"Accepted\","));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, body_setup, body_teardown)
	const struct CMUnitTest tests[] = {
		TEST(resource_quota_has_requests_keys),
		TEST(resource_quota_keys_have_the_form_that_counts),
		TEST(resource_quota_may_be_empty),
		TEST(a_name_longer_than_any_overflows),
		TEST(limit_range_has_limit_and_request_alike),
		TEST(label_patch_sets_or_removes),
		TEST(lease_is_created_without_version_and_updated_with),
		TEST(event_has_what_the_server_demands),
		TEST(a_long_note_is_cut_between_characters),
		TEST(removals_name_the_object_they_mean),
		TEST(status_has_all_amounts_rows_and_conditions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
