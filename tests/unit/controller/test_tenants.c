/* SPDX-License-Identifier: Apache-2.0 */
/* A tenant and a cut in the whole controller, over an API server that answers when the test says
 * so: what is written, in which order, and what a refusal holds up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "controller/controller.h"
#include "lib/fake_kube.h"

#define CARD "79Gi"
#define UID  "00000000-0000-4000-8000-00000000000" /* of a pod, but for its last digit */

/* But the budgets, which setup completes. */
static const char *const watches[] = {"WATCH jobs",
				      "WATCH pods",
				      "WATCH gpumemoryquotas",
				      "WATCH nodes",
				      "WATCH namespaces",
				      "WATCH resourcequotas",
				      "WATCH limitranges",
				      "WATCH tenantqos",
				      "WATCH validatingadmissionpolicybindings",
				      "WATCH resourceclaims",
				      "WATCH resourceslices",
				      "WATCH deviceclasses",
				      "WATCH leases",
				      "WATCH gpunodes",
				      "WATCH devices",
				      "WATCH noderesourcetopologies"};

static const char node[] =
	"{\"metadata\":{\"name\":\"n\",\"uid\":\"n\",\"resourceVersion\":\"10\",\"labels\":{"
	"\"nvidia.com/gpu.product\":\"H100\",\"nvidia.com/gpu.memory\":\"80896\","
	"\"nvidia.com/gpu.count\":\"8\"}},\"status\":{\"capacity\":{\"nvidia.com/gpu\":\"8\"},"
	"\"allocatable\":{\"nvidia.com/gpu\":\"8\"}}}";

struct world {
	struct fake_kube_world kube;
	struct controller_config config;
	struct controller *controller;
};

static void show(struct world *w, const char *watch, const char *type, const char *object)
{
	assert_true(fake_kube_event(&w->kube, watch, type, object));
}

static void end_initial(struct world *w, const char *watch)
{
	show(w, watch, "BOOKMARK",
	     "{\"metadata\":{\"resourceVersion\":\"15\",\"annotations\":{"
	     "\"k8s.io/initial-events-end\":\"true\"}}}");
}

static int setup(void **state)
{
	struct world *w = mem_alloc(sizeof(*w));
	struct controller_options options = {.config = &w->config, .identity = "me", .seed = 1};

	fake_kube_world_init(&w->kube);
	controller_config_init(&w->config);
	assert_int_equal(controller_new(w->kube.client, &options, &w->controller, NULL), 0);
	controller_start(w->controller);
	fake_kube_settle(w->kube.client);
	end_initial(w, "WATCH poddisruptionbudgets"); /* then pods are asked for */
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	controller_free(w->controller);
	fake_kube_world_clear(&w->kube);
	mem_free(w);
	return 0;
}

/* All kinds are complete; @absent is not installed. */
static void sync_all(struct world *w, const char *absent)
{
	show(w, "WATCH nodes", "ADDED", node);
	for (size_t i = 0; i < ARRAY_SIZE(watches); i++) {
		if (!absent || strcmp(watches[i], absent) != 0)
			end_initial(w, watches[i]);
		else
			fake_kube_refuse(&w->kube, absent, ERROR_NOT_FOUND, 404);
	}
	/* Tenants are decided a moment after they changed. */
	fake_kube_pass(&w->kube, 100 * USEC_PER_MSEC);
}

static void answer(struct world *w, const char *what, const char *version)
{
	char text[128];

	snprintf(text, sizeof(text), "{\"metadata\":{\"resourceVersion\":\"%s\"}}", version);
	fake_kube_reply(&w->kube, what, text);
}

static const char *body_of(struct world *w, const char *what)
{
	return fake_kube_body(fake_kube_expect(&w->kube, what));
}

static void show_tenant(struct world *w)
{
	show(w, "WATCH namespaces", "ADDED",
	     "{\"metadata\":{\"name\":\"a\",\"uid\":\"a\",\"resourceVersion\":\"11\",\"labels\":{"
	     "\"team\":\"t\"}}}");
	show(w, "WATCH tenantqos", "ADDED",
	     "{\"metadata\":{\"name\":\"t\",\"uid\":\"u\",\"resourceVersion\":\"13\",\"generation\":1},"
	     "\"spec\":{\"tier\":\"Training\",\"ceiling\":{\"gpuMemory\":\"640Gi\"},"
	     "\"namespaceSelector\":{\"matchLabels\":{\"team\":\"t\"}}}}");
}

static void a_namespace_of_a_tenant_without_a_quota_gets_nothing_and_is_labelled(void **state)
{
	struct world *w = *state;

	show_tenant(w);
	sync_all(w, NULL);
	const char *body = body_of(w, "PATCH namespaces /a");

	assert_non_null(strstr(body, "\"gpuqos.io/managed\":\"true\""));
	assert_non_null(strstr(body, "\"gpuqos.io/tenant\":\"t\""));
	answer(w, "PATCH namespaces", "20");
	body = body_of(w, "APPLY resourcequotas a/gpuqos");
	assert_non_null(strstr(body, "\"requests.nvidia.com/gpu\":\"0\""));
	assert_non_null(strstr(body, "\"kind\":\"TenantQoS\",\"name\":\"t\",\"uid\":\"u\""));
}

static void a_tenant_writes_its_bindings_and_then_its_status(void **state)
{
	struct world *w = *state;

	show_tenant(w);
	sync_all(w, NULL);
	for (int i = 0; i < 2; i++) {
		assert_null(fake_kube_find(&w->kube, "APPLY tenantqos/status"));
		answer(w, "APPLY validatingadmissionpolicybindings /gpuqos-tenant-", "30");
	}
	assert_non_null(strstr(body_of(w, "APPLY tenantqos/status /t"), "\"namespaceCount\":1"));
}

static void without_the_kind_of_tenants_quotas_are_reconciled_all_the_same(void **state)
{
	struct world *w = *state;
	struct buf text;

	show(w, "WATCH namespaces", "ADDED",
	     "{\"metadata\":{\"name\":\"a\",\"uid\":\"a\",\"resourceVersion\":\"11\"}}");
	show(w, "WATCH gpumemoryquotas", "ADDED",
	     "{\"metadata\":{\"name\":\"team\",\"namespace\":\"a\",\"uid\":\"q\","
	     "\"resourceVersion\":\"12\",\"generation\":1},\"spec\":{\"gpuMemory\":\"320Gi\"}}");
	sync_all(w, "WATCH tenantqos");
	answer(w, "PATCH namespaces", "20");
	fake_kube_expect(&w->kube, "APPLY resourcequotas a/gpuqos");
	buf_init(&text, 8192);
	assert_true(controller_ready(w->controller, &text));
	assert_non_null(strstr(text.data, "[+] cache tenantqos: not installed, counts as empty"));
	buf_clear(&text);
}

/* --- volumes */

static void volumes_are_watched_once_somebody_may_have_room_made(void **state)
{
	static const char *const kinds[] = {"WATCH persistentvolumeclaims",
					    "WATCH persistentvolumes", "WATCH storageclasses",
					    "WATCH csinodes", "WATCH csidrivers"};
	struct world *w = *state;
	struct buf text;

	show_tenant(w);
	sync_all(w, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		assert_null(fake_kube_find(&w->kube, kinds[i]));
	show(w, "WATCH tenantqos", "MODIFIED",
	     "{\"metadata\":{\"name\":\"t\",\"uid\":\"u\",\"resourceVersion\":\"16\",\"generation\":2},"
	     "\"spec\":{\"tier\":\"Training\",\"ceiling\":{\"gpuMemory\":\"640Gi\"},"
	     "\"protection\":{\"mode\":\"DryRun\"},"
	     "\"namespaceSelector\":{\"matchLabels\":{\"team\":\"t\"}}}}");
	fake_kube_settle(w->kube.client);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		fake_kube_expect(&w->kube, kinds[i]);
	/* Nobody else waits for them. */
	buf_init(&text, 8192);
	assert_true(controller_ready(w->controller, &text));
	assert_non_null(strstr(text.data, "[-] cache persistentvolumes: "));
	buf_clear(&text);
}

/* --- a cut */

static void show_pod(struct world *w, const char *name)
{
	char text[1024];

	snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"a\",\"uid\":\"" UID "%c\","
		"\"resourceVersion\":\"14\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},"
		"\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":\"c\",\"resources\":{"
		"\"requests\":{\"nvidia.com/gpu\":\"1\"},\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]},"
		"\"status\":{\"phase\":\"Running\"}}",
		name, name[1]);
	show(w, "WATCH pods", "ADDED", text);
}

/* Two cards are held and were granted, and one is allowed from now on. */
static void show_cut(struct world *w)
{
	show(w, "WATCH namespaces", "ADDED",
	     "{\"metadata\":{\"name\":\"a\",\"uid\":\"a\",\"resourceVersion\":\"11\",\"labels\":{"
	     "\"gpuqos.io/managed\":\"true\"}}}");
	show(w, "WATCH gpumemoryquotas", "ADDED",
	     "{\"metadata\":{\"name\":\"team\",\"namespace\":\"a\",\"uid\":\"q\","
	     "\"resourceVersion\":\"12\",\"generation\":2},\"spec\":{\"gpuMemory\":\"" CARD
	     "\",\"onShrink\":\"Evict\"},\"status\":{\"observedGeneration\":1,"
	     "\"effective\":\"158Gi\",\"granted\":\"158Gi\",\"used\":\"158Gi\","
	     "\"lent\":\"0\",\"borrowed\":\"0\",\"live\":\"158Gi\",\"released\":\"0\"}}");
	show_pod(w, "p1");
	show_pod(w, "p2");
	sync_all(w, NULL);
}

static void pass_gates(struct world *w)
{
	answer(w, "APPLY resourcequotas a/gpuqos", "20");
	answer(w, "APPLY gpumemoryquotas/status a/team", "21");
}

/* The receipt is in the set; other Events may be under way beside it. */
static struct kube_call *receipt_of(struct world *w, const char *uid)
{
	char name[80];

	snprintf(name, sizeof(name), "\"name\":\"gpuqos-evicted.%s\"", uid);
	for (size_t i = 0; i < fake_kube_open(w->kube.client); i++) {
		struct kube_call *call = fake_kube_nth(w->kube.client, i);

		if (strstr(fake_kube_body(call), name))
			return call;
	}
	return NULL;
}

static void an_eviction_follows_its_receipt_and_the_gates_come_before(void **state)
{
	struct world *w = *state;

	show_cut(w);
	assert_null(receipt_of(w, UID "1"));
	pass_gates(w);
	struct kube_call *receipt = receipt_of(w, UID "1");

	assert_non_null(receipt);
	assert_null(fake_kube_find(&w->kube, "CREATE pods/eviction"));
	assert_non_null(strstr(fake_kube_body(receipt),
			       "\"related\":{\"apiVersion\":\"v1\",\"kind\":"
			       "\"Pod\",\"namespace\":\"a\",\"name\":\"p1\""));
	fake_kube_answer(receipt, "{}");
	fake_kube_settle(w->kube.client);
	assert_non_null(strstr(body_of(w, "CREATE pods/eviction a/p1"), "\"uid\":\"" UID "1\""));
}

static void without_a_receipt_nobody_is_evicted(void **state)
{
	struct world *w = *state;

	show_cut(w);
	pass_gates(w);
	fake_kube_fail(receipt_of(w, UID "1"), ERROR_UNAVAILABLE, 503);
	fake_kube_settle(w->kube.client);
	assert_null(fake_kube_find(&w->kube, "CREATE pods/eviction"));
}

static void a_pod_that_a_budget_keeps_makes_room_for_the_next(void **state)
{
	struct world *w = *state;
	struct kube_call *eviction;

	show_cut(w);
	pass_gates(w);
	fake_kube_fail(receipt_of(w, UID "1"), ERROR_EXISTS, 409); /* of an earlier try */
	fake_kube_settle(w->kube.client);
	eviction = fake_kube_expect(&w->kube, "CREATE pods/eviction a/p1");
	/* The watches have shown what was written before the answer comes. */
	show(w, "WATCH resourcequotas", "ADDED",
	     "{\"metadata\":{\"name\":\"gpuqos\",\"namespace\":\"a\",\"uid\":\"r\",\"resourceVersion\":"
	     "\"20\",\"ownerReferences\":[{\"apiVersion\":\"gpuqos.io/v1alpha1\",\"kind\":"
	     "\"GpuMemoryQuota\",\"name\":\"team\",\"uid\":\"q\",\"controller\":true}]},\"spec\":{"
	     "\"hard\":{\"requests.nvidia.com/gpu\":\"1\"}},\"status\":{\"hard\":{"
	     "\"requests.nvidia.com/gpu\":\"1\"}}}");
	fake_kube_fail(eviction, ERROR_BUDGET, 429);
	fake_kube_settle(w->kube.client);
	fake_kube_pass(&w->kube, USEC_PER_SEC);
	assert_non_null(receipt_of(w, UID "2"));
	assert_null(fake_kube_find(&w->kube, "CREATE pods/eviction a/p1"));
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(a_namespace_of_a_tenant_without_a_quota_gets_nothing_and_is_labelled),
		CASE(a_tenant_writes_its_bindings_and_then_its_status),
		CASE(without_the_kind_of_tenants_quotas_are_reconciled_all_the_same),
		CASE(volumes_are_watched_once_somebody_may_have_room_made),
		CASE(an_eviction_follows_its_receipt_and_the_gates_come_before),
		CASE(without_a_receipt_nobody_is_evicted),
		CASE(a_pod_that_a_budget_keeps_makes_room_for_the_next),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
