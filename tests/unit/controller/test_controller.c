/* SPDX-License-Identifier: Apache-2.0 */
/* The whole controller over an API server that answers when the test says so, on a clock that is
 * moved by hand: when it begins to write, what, in which order, and when not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "controller/controller.h"
#include "lib/fake_kube.h"

#define QUOTA_WATCH "WATCH gpumemoryquotas"
#define QUOTA_HEAD  "\"metadata\":{\"name\":\"team\",\"namespace\":\"a\",\"uid\":\"q\","

static const char node[] =
	"{\"metadata\":{\"name\":\"n\",\"uid\":\"n\",\"resourceVersion\":\"10\",\"labels\":{"
	"\"nvidia.com/gpu.product\":\"NVIDIA-H100-80GB-HBM3\",\"nvidia.com/gpu.memory\":\"81559\","
	"\"nvidia.com/gpu.count\":\"8\"}},\"status\":{\"capacity\":{\"nvidia.com/gpu\":\"8\"},"
	"\"allocatable\":{\"nvidia.com/gpu\":\"8\"}}}";
static const char namespace[] =
	"{\"metadata\":{\"name\":\"a\",\"uid\":\"a\",\"resourceVersion\":\"11\"}}";
static const char quota[] = "{" QUOTA_HEAD "\"resourceVersion\":\"12\",\"generation\":1},"
			    "\"spec\":{\"gpuMemory\":\"320Gi\"}}";

static const char pod[] =
	"{\"metadata\":{\"name\":\"p\",\"namespace\":\"a\",\"uid\":\"p\",\"resourceVersion\":\"23\"},"
	"\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"nvidia.com/gpu\":\"1\"},"
	"\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}";

/* In the order in which they are begun: pods are read when the budgets are known. */
static const char *const watches[] = {"WATCH poddisruptionbudgets",
				      "WATCH jobs",
				      "WATCH pods",
				      QUOTA_WATCH,
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

struct world {
	struct fake_kube_world kube;
	struct controller_config config;
	struct controller *controller;
	int stopped;
	int changed;
	bool may_answer; /* when that was told last */
};

static void on_changed(void *context)
{
	struct world *w = context;

	w->changed++;
	w->may_answer = w->controller && controller_may_answer(w->controller);
}

static void begin(struct world *w, bool leader_elect)
{
	struct controller_options options = {
		.config = &w->config,
		.identity = "me",
		.leader_elect = leader_elect,
		.lease_namespace = STR("system"),
		.pod_namespace = STR("system"),
		.pod_name = STR("pod"),
		.changed = on_changed,
		.context = w,
		.seed = 1,
	};

	assert_int_equal(controller_new(w->kube.client, &options, &w->controller, NULL), 0);
	controller_start(w->controller);
	fake_kube_settle(w->kube.client);
}

static int setup(void **state)
{
	struct world *w = mem_alloc(sizeof(*w));

	fake_kube_world_init(&w->kube);
	controller_config_init(&w->config);
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

static bool writes_anything(struct world *w)
{
	return fake_kube_find(&w->kube, "APPLY") || fake_kube_find(&w->kube, "PATCH") ||
	       fake_kube_find(&w->kube, "CREATE") || fake_kube_find(&w->kube, "DELETE");
}

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

/* All kinds but @but are complete. */
static void sync_all(struct world *w, const char *but)
{
	show(w, "WATCH nodes", "ADDED", node);
	show(w, "WATCH namespaces", "ADDED", namespace);
	show(w, QUOTA_WATCH, "ADDED", quota);
	for (size_t i = 0; i < ARRAY_SIZE(watches); i++)
		if (!but || strcmp(watches[i], but) != 0)
			end_initial(w, watches[i]);
}

static void answer(struct world *w, const char *what, const char *version)
{
	char text[128];

	snprintf(text, sizeof(text), "{\"metadata\":{\"resourceVersion\":\"%s\"}}", version);
	fake_kube_reply(&w->kube, what, text);
}

static const char owned[] =
	"{\"metadata\":{\"name\":\"gpuqos\",\"namespace\":\"a\",\"uid\":\"r\",\"resourceVersion\":"
	"\"20\",\"ownerReferences\":[{\"apiVersion\":\"gpuqos.io/v1alpha1\",\"kind\":"
	"\"GpuMemoryQuota\",\"name\":\"team\",\"uid\":\"q\",\"controller\":true}]},\"spec\":{\"hard\":{"
	"\"requests.nvidia.com/gpu\":\"4\"}},\"status\":{\"hard\":{\"requests.nvidia.com/gpu\":"
	"\"4\"}}}";

static void nothing_is_written_before_every_kind_is_complete(void **state)
{
	struct world *w = *state;

	begin(w, false);
	sync_all(w, "WATCH limitranges");
	fake_kube_pass(&w->kube, 10 * USEC_PER_SEC);
	assert_false(writes_anything(w));
	end_initial(w, "WATCH limitranges");
	fake_kube_expect(&w->kube, "PATCH namespaces /a");
}

#define ZONES "WATCH noderesourcetopologies"

static void check_page(const struct world *w, bool ready, const char *line)
{
	struct buf text CLEANUP(buf_clear) = {0};

	buf_init(&text, 4096);
	assert_int_equal(controller_ready(w->controller, &text), ready);
	assert_non_null(strstr(text.data, line));
}

static void a_kind_of_another_project_that_cannot_be_read_holds_nothing_up(void **state)
{
	struct world *w = *state;

	begin(w, false);
	sync_all(w, ZONES);
	fake_kube_refuse(&w->kube, ZONES, ERROR_UNAVAILABLE, 500);
	fake_kube_pass(&w->kube, 55 * USEC_PER_SEC);
	assert_false(writes_anything(w));
	check_page(w, false, "[-] cache noderesourcetopologies: not complete yet");
	fake_kube_pass(&w->kube, 10 * USEC_PER_SEC);
	fake_kube_expect(&w->kube, "PATCH namespaces /a");
	check_page(w, true, "[-] cache noderesourcetopologies: cannot be read, counts as empty");
	end_initial(w, ZONES);
	check_page(w, true, "[+] cache noderesourcetopologies: complete");
}

static void the_gates_are_written_before_the_status(void **state)
{
	struct world *w = *state;

	begin(w, false);
	sync_all(w, NULL);
	assert_null(fake_kube_find(&w->kube, "APPLY"));
	assert_non_null(strstr(fake_kube_body(fake_kube_expect(&w->kube, "PATCH namespaces /a")),
			       "\"gpuqos.io/managed\":\"true\""));
	answer(w, "PATCH namespaces", "21");
	assert_null(fake_kube_find(&w->kube, "APPLY gpumemoryquotas"));
	assert_non_null(
		strstr(fake_kube_body(fake_kube_expect(&w->kube, "APPLY resourcequotas a/gpuqos")),
		       "\"requests.nvidia.com/gpu\":\"4\""));
	answer(w, "APPLY resourcequotas", "20");
	fake_kube_expect(&w->kube, "APPLY gpumemoryquotas/status a/team");
}

static void own_writes_are_not_repeated_before_the_watch_shows_them(void **state)
{
	struct world *w = *state;

	begin(w, false);
	sync_all(w, NULL);
	answer(w, "PATCH namespaces", "21");
	answer(w, "APPLY resourcequotas", "20");
	answer(w, "APPLY gpumemoryquotas/status", "22");
	/* Something else happens meanwhile. */
	show(w, "WATCH namespaces", "MODIFIED",
	     "{\"metadata\":{\"name\":\"a\",\"uid\":\"a\",\"resourceVersion\":\"21\",\"labels\":{"
	     "\"gpuqos.io/managed\":\"true\"}}}");
	fake_kube_pass(&w->kube, 5 * USEC_PER_SEC);
	assert_null(fake_kube_find(&w->kube, "APPLY"));
	show(w, "WATCH resourcequotas", "ADDED", owned);
	assert_null(fake_kube_find(&w->kube, "APPLY resourcequotas"));
}

static void a_relist_of_one_kind_forgets_no_writes_of_another(void **state)
{
	struct world *w = *state;

	begin(w, false);
	sync_all(w, NULL);
	answer(w, "PATCH namespaces", "21");
	answer(w, "APPLY resourcequotas", "20");
	answer(w, "APPLY gpumemoryquotas/status", "22");
	fake_kube_fail(fake_kube_expect(&w->kube, "WATCH nodes"), ERROR_EXPIRED, 410);
	fake_kube_pass(&w->kube, 5 * USEC_PER_SEC);
	show(w, "WATCH nodes", "ADDED", node);
	end_initial(w, "WATCH nodes");
	show(w, "WATCH pods", "ADDED", pod);
	assert_false(writes_anything(w));
	fake_kube_fail(fake_kube_expect(&w->kube, "WATCH resourcequotas"), ERROR_EXPIRED, 410);
	fake_kube_fail(fake_kube_expect(&w->kube, "WATCH namespaces"), ERROR_EXPIRED, 410);
	fake_kube_pass(&w->kube, 5 * USEC_PER_SEC);
	show(w, "WATCH namespaces", "ADDED", namespace);
	end_initial(w, "WATCH namespaces");
	end_initial(w, "WATCH resourcequotas");
	fake_kube_pass(&w->kube, 2 * USEC_PER_SEC);
	fake_kube_expect(&w->kube, "PATCH namespaces /a");
}

/* The answer to a write may be lost, and so may the event: then what the cache holds counts. */
static void what_no_watch_ever_shows_is_written_again(void **state)
{
	struct world *w = *state;

	begin(w, false);
	sync_all(w, NULL);
	answer(w, "PATCH namespaces", "21");
	answer(w, "APPLY resourcequotas", "20");
	answer(w, "APPLY gpumemoryquotas/status", "22");
	show(w, "WATCH pods", "ADDED", pod);
	fake_kube_pass(&w->kube, 20 * USEC_PER_SEC);
	assert_false(writes_anything(w));
	fake_kube_pass(&w->kube, 11 * USEC_PER_SEC);
	fake_kube_expect(&w->kube, "PATCH namespaces /a");
}

static void whoever_waits_for_a_watch_is_told_of_each_change(void **state)
{
	struct world *w = *state;
	int told;

	begin(w, false);
	sync_all(w, NULL);
	told = w->changed;
	fake_kube_pass(&w->kube, USEC_PER_SEC);
	assert_int_equal(w->changed, told);
	show(w, "WATCH pods", "ADDED", pod);
	assert_int_equal(w->changed, told + 1);
	show(w, "WATCH namespaces", "ADDED",
	     "{\"metadata\":{\"name\":\"b\",\"uid\":\"b\",\"resourceVersion\":\"31\"}}");
	assert_int_equal(w->changed, told + 2);
	show(w, "WATCH pods", "DELETED", pod);
	assert_int_equal(w->changed, told + 3);
}

static void a_replica_without_the_lease_writes_nothing_and_is_ready(void **state)
{
	struct world *w = *state;
	struct buf text;

	begin(w, true);
	sync_all(w, NULL);
	fake_kube_reply(&w->kube, "GET leases",
			"{\"metadata\":{\"resourceVersion\":\"5\"},\"spec\":{\"holderIdentity\":"
			"\"other\",\"leaseDurationSeconds\":15}}");
	show(w, "WATCH namespaces", "ADDED",
	     "{\"metadata\":{\"name\":\"b\",\"uid\":\"b\",\"resourceVersion\":\"31\"}}");
	assert_false(writes_anything(w));
	buf_init(&text, 4096);
	assert_true(controller_ready(w->controller, &text));
	assert_true(controller_healthy(w->controller, &text));
	assert_non_null(strstr(text.data, "[+] reconcile quota: 0 waiting\n"));
	assert_non_null(strstr(text.data, "[+] reconcile tenant: 0 waiting\n"));
	assert_non_null(strstr(text.data, "[+] reconcile eviction: 0 waiting\n"));
	buf_clear(&text);
}

static const char mine[] =
	"{\"metadata\":{\"resourceVersion\":\"6\"},\"spec\":{\"holderIdentity\":\"me\","
	"\"leaseDurationSeconds\":15}}";

static void lead(struct world *w)
{
	begin(w, true);
	sync_all(w, NULL);
	fake_kube_refuse(&w->kube, "GET leases", ERROR_NOT_FOUND, 404);
	fake_kube_reply(&w->kube, "CREATE leases", mine);
	/* What who led before wrote last may not have been shown yet. */
	assert_null(fake_kube_find(&w->kube, "PATCH namespaces"));
	end_initial(w, "WATCH tenantqos");
}

static void the_lease_lost_ends_what_is_written_and_the_lease_won_begins_anew(void **state)
{
	struct world *w = *state;

	lead(w);
	fake_kube_expect(&w->kube, "PATCH namespaces /a");
	fake_kube_expect(&w->kube, "LIST pods system/");
	fake_kube_pass(&w->kube, 10 * USEC_PER_SEC);
	assert_false(writes_anything(w));
	assert_null(fake_kube_find(&w->kube, "LIST"));
	fake_kube_reply(&w->kube, "UPDATE leases", mine);
	assert_null(fake_kube_find(&w->kube, "PATCH namespaces"));
	end_initial(w, "WATCH tenantqos");
	fake_kube_expect(&w->kube, "PATCH namespaces /a");
}

static void on_stopped(void *context)
{
	((struct world *)context)->stopped++;
}

static void a_stop_takes_off_the_label_gives_back_the_lease_and_ends(void **state)
{
	struct world *w = *state;

	lead(w);
	fake_kube_reply(&w->kube, "LIST pods", "");
	controller_stop(w->controller, on_stopped, w);
	fake_kube_settle(w->kube.client);
	assert_null(fake_kube_find(&w->kube, "APPLY"));
	assert_null(fake_kube_find(&w->kube, "UPDATE leases"));
	assert_non_null(strstr(fake_kube_body(fake_kube_expect(&w->kube, "PATCH pods system/pod")),
			       "null"));
	answer(w, "PATCH pods system/pod", "30");
	assert_int_equal(w->stopped, 0);
	assert_non_null(strstr(fake_kube_body(fake_kube_expect(&w->kube, "UPDATE leases")),
			       "\"holderIdentity\":\"\""));
	fake_kube_reply(&w->kube, "UPDATE leases",
			"{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{}}");
	assert_int_equal(w->stopped, 1);
	assert_false(writes_anything(w));
}

static void a_stop_of_a_standby_ends_at_once(void **state)
{
	struct world *w = *state;

	begin(w, true);
	fake_kube_refuse(&w->kube, "GET leases", ERROR_UNAVAILABLE, 503);
	controller_stop(w->controller, on_stopped, w);
	fake_kube_settle(w->kube.client);
	assert_int_equal(w->stopped, 1);
}

/* It leads, and its watch of pods has shown its label. */
static void lead_and_answer(struct world *w)
{
	lead(w);
	fake_kube_reply(&w->kube, "LIST pods", "");
	answer(w, "PATCH pods system/pod", "23");
	show(w, "WATCH pods", "ADDED", pod);
	assert_true(w->may_answer);
}

static void whoever_waits_is_told_when_this_replica_answers_no_longer(void **state)
{
	struct world *w = *state;

	lead_and_answer(w);
	fake_kube_pass(&w->kube, 10 * USEC_PER_SEC);
	assert_false(controller_may_answer(w->controller));
	assert_false(w->may_answer);
}

static void a_stop_is_told_at_once(void **state)
{
	struct world *w = *state;

	lead_and_answer(w);
	controller_stop(w->controller, on_stopped, w);
	assert_false(w->may_answer);
}

static void timings_out_of_order_are_refused(void **state)
{
	struct world *w = *state;
	struct controller_options options = {
		.config = &w->config, .identity = "me", .leader_elect = true};
	struct error err = {0};

	w->config.renew_deadline_us = w->config.lease_duration_us;
	assert_int_equal(controller_new(w->kube.client, &options, &w->controller, &err), -1);
	assert_int_equal(err.kind, ERROR_INVALID);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(nothing_is_written_before_every_kind_is_complete),
		CASE(a_kind_of_another_project_that_cannot_be_read_holds_nothing_up),
		CASE(the_gates_are_written_before_the_status),
		CASE(own_writes_are_not_repeated_before_the_watch_shows_them),
		CASE(a_relist_of_one_kind_forgets_no_writes_of_another),
		CASE(what_no_watch_ever_shows_is_written_again),
		CASE(whoever_waits_for_a_watch_is_told_of_each_change),
		CASE(whoever_waits_is_told_when_this_replica_answers_no_longer),
		CASE(a_stop_is_told_at_once),
		CASE(a_replica_without_the_lease_writes_nothing_and_is_ready),
		CASE(the_lease_lost_ends_what_is_written_and_the_lease_won_begins_anew),
		CASE(a_stop_takes_off_the_label_gives_back_the_lease_and_ends),
		CASE(a_stop_of_a_standby_ends_at_once),
		CASE(timings_out_of_order_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
