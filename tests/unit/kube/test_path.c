/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and queries of requests, as the API server expects them. */
#include "fixture.h"

#define NAMED(ns, n) .namespace = {ns, sizeof(ns) - 1}, .name = {n, sizeof(n) - 1}
#define TEXT(text)                     \
	{                              \
		text, sizeof(text) - 1 \
	}

#define WRITE "?fieldManager=gpuqos-controller&fieldValidation=Strict"

static const struct {
	const char *name;
	struct kube_request request;
	const char *path; /* NULL: refused */
} paths[] = {
	{"one of a core type",
	 {.verb = KUBE_GET, .type = &api_pods, NAMED("a", "b")},
	 "/api/v1/namespaces/a/pods/b"},
	{"one without namespaces",
	 {.verb = KUBE_GET, .type = &api_nodes, NAMED("", "n.example")},
	 "/api/v1/nodes/n.example"},
	{"one of a group",
	 {.verb = KUBE_GET, .type = &api_leases, NAMED("kube-system", "l")},
	 "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l"},
	{"a name with a colon and one to be encoded",
	 {.verb = KUBE_GET, .type = &api_nodes, NAMED("", "system:a b?c")},
	 "/api/v1/nodes/system:a%20b%3Fc"},
	{"a list of all namespaces", {.verb = KUBE_LIST, .type = &api_pods}, "/api/v1/pods"},
	{"a page",
	 {.verb = KUBE_LIST,
	  .type = &api_pods,
	  .namespace = TEXT("a"),
	  .limit = 500,
	  .resource_version = TEXT("0"),
	  .label_selector = TEXT("a in (b,c),!d"),
	  .field_selector = TEXT("status.phase!=Failed")},
	 "/api/v1/namespaces/a/pods?labelSelector=a%20in%20(b,c),!d&fieldSelector=status."
	 "phase!%3DFailed&limit=500&resourceVersion=0"},
	{"a page that continues says no version",
	 {.verb = KUBE_LIST,
	  .type = &api_pods,
	  .limit = 2,
	  .resource_version = TEXT("7"),
	  .continue_token = TEXT("a+/=")},
	 "/api/v1/pods?limit=2&continue=a%2B%2F%3D"},
	{"a watch",
	 {.verb = KUBE_STREAM,
	  .type = &api_pods,
	  .resource_version = TEXT("7"),
	  .watch_timeout_us = 300 * USEC_PER_SEC},
	 "/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=7"
	 "&timeoutSeconds=300"},
	{"a watch with initial events",
	 {.verb = KUBE_STREAM, .type = &api_gpu_memory_quotas, .send_initial_events = true},
	 "/apis/gpuqos.io/v1alpha1/gpumemoryquotas?watch=true&allowWatchBookmarks=true"
	 "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"},
	{"a create",
	 {.verb = KUBE_CREATE, .type = &api_leases, .namespace = TEXT("a")},
	 "/apis/coordination.k8s.io/v1/namespaces/a/leases" WRITE},
	{"an eviction",
	 {.verb = KUBE_CREATE, .type = &api_pods, NAMED("a", "b"), .subresource = "eviction"},
	 "/api/v1/namespaces/a/pods/b/eviction" WRITE},
	{"an apply takes over",
	 {.verb = KUBE_APPLY, .type = &api_resource_quotas, NAMED("a", "gpuqos")},
	 "/api/v1/namespaces/a/resourcequotas/gpuqos" WRITE "&force=true"},
	{"a patch of a status",
	 {.verb = KUBE_MERGE_PATCH,
	  .type = &api_gpu_memory_quotas,
	  NAMED("a", "b"),
	  .subresource = "status"},
	 "/apis/gpuqos.io/v1alpha1/namespaces/a/gpumemoryquotas/b/status" WRITE},
	{"a delete",
	 {.verb = KUBE_DELETE, .type = &api_pods, NAMED("a", "b")},
	 "/api/v1/namespaces/a/pods/b"},
	{"a get without name", {.verb = KUBE_GET, .type = &api_nodes}, NULL},
	{"a get without namespace", {.verb = KUBE_GET, .type = &api_pods, NAMED("", "b")}, NULL},
	{"a namespace of what has none",
	 {.verb = KUBE_GET, .type = &api_nodes, NAMED("a", "b")},
	 NULL},
	{"a list with a name", {.verb = KUBE_LIST, .type = &api_nodes, NAMED("", "b")}, NULL},
	{"a create with a name", {.verb = KUBE_CREATE, .type = &api_nodes, NAMED("", "b")}, NULL},
	{"an eviction of nobody",
	 {.verb = KUBE_CREATE,
	  .type = &api_pods,
	  .namespace = TEXT("a"),
	  .subresource = "eviction"},
	 NULL},
	{"a step up", {.verb = KUBE_GET, .type = &api_nodes, NAMED("", "..")}, NULL},
	{"a slash", {.verb = KUBE_GET, .type = &api_pods, NAMED("a/b", "c")}, NULL},
	{"a percent sign", {.verb = KUBE_GET, .type = &api_pods, NAMED("a", "%2e")}, NULL},
	{"a line end", {.verb = KUBE_GET, .type = &api_pods, NAMED("a", "b\r\nc")}, NULL},
	{"a zero byte", {.verb = KUBE_GET, .type = &api_pods, NAMED("a", "b\0c")}, NULL},
};

static void test_paths(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		CLEANUP(buf_clear) struct buf path;
		struct error err = {0};
		int result;

		buf_init(&path, LIMIT_HTTP_URL);
		buf_add_cstr(&path, "@");
		result = kube_request_path(&paths[i].request, &path, &err);
		if (!paths[i].path && (result != -1 || err.kind != ERROR_INVALID || path.len != 1))
			fail_msg("%s: is accepted", paths[i].name);
		if (paths[i].path && (result || strcmp(path.data + 1, paths[i].path) != 0))
			fail_msg("%s: %s", paths[i].name, result ? err.message : path.data);
	}
}

static void test_limits(void **state)
{
	CLEANUP(buf_clear) struct buf path;
	char name[LIMIT_HTTP_URL];
	struct kube_request request = {.verb = KUBE_GET, .type = &api_nodes};
	struct error err = {0};

	(void)state;
	memset(name, 'a', sizeof(name));
	buf_init(&path, LIMIT_HTTP_URL);
	request.name = (struct str){name, LIMIT_NAME};
	assert_int_equal(kube_request_path(&request, &path, &err), 0);
	request.name.len++;
	assert_int_equal(kube_request_path(&request, &path, &err), -1);
	assert_int_equal(err.kind, ERROR_INVALID);
	request = (struct kube_request){.verb = KUBE_LIST, .type = &api_nodes};
	request.continue_token = (struct str){name, sizeof(name)};
	assert_int_equal(kube_request_path(&request, &path, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
