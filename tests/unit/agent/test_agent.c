/* SPDX-License-Identifier: Apache-2.0 */
/* A whole agent over an API server that answers when the test says so, on the export of a DGX-2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/agent.h"
#include "agent/lease.h"
#include "api/agent.h"
#include "api/layout.h"
#include "base/mem.h"
#include "codec/json_out.h"
#include "lib/fake_kube.h"

#define EXPORT "tests/data/topology/nvidia-dgx2.xml"
#define RESYNC (60 * USEC_PER_SEC)

struct world {
	struct fake_kube_world kube;
	struct metrics *metrics;
	struct agent *agent;
	struct buf node, annotation; /* as the server has them */
};

static int setup(void **state)
{
	struct world *w = mem_alloc(sizeof(*w));
	struct error err = {0};

	fake_kube_world_init(&w->kube);
	buf_init(&w->node, LIMIT_JSON_OUTPUT);
	buf_init(&w->annotation, LIMIT_JSON_OUTPUT);
	w->metrics = metrics_new();
	if (agent_new(w->kube.client,
		      &(struct agent_options){.node = STR("a"),
					      .namespace = STR("system"),
					      .writer = "test",
					      .sources.hwloc_xml = EXPORT,
					      .kubelet_address = "0",
					      .resync_us = RESYNC,
					      .metrics = w->metrics,
					      .seed = 1},
		      &w->agent, &err) < 0)
		fail_msg("%s", err.message);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	agent_free(w->agent);
	fake_kube_world_clear(&w->kube);
	metrics_free(w->metrics);
	buf_clear(&w->node);
	buf_clear(&w->annotation);
	mem_free(w);
	return 0;
}

/* The Node as JSON, with the annotation that it has now. */
static const char *node(struct world *w, const char *uid)
{
	struct json_out out;

	buf_reset(&w->node);
	json_out_init(&out, &w->node);
	json_out_object(&out, NULL);
	json_out_object(&out, "metadata");
	json_out_cstring(&out, "name", "a");
	json_out_cstring(&out, "uid", uid);
	json_out_object(&out, "annotations");
	if (w->annotation.len)
		json_out_string(&out, API_LAYOUT_ANNOTATION, buf_str(&w->annotation));
	json_out_end(&out);
	json_out_end(&out);
	json_out_end(&out);
	return w->node.data;
}

/* Until the machine was read, in the job thread. */
static void look(struct world *w)
{
	struct buf page;

	buf_init(&page, LIMIT_METRICS_PAGE);
	do {
		loop_run_once(w->kube.loop, USEC_PER_SEC);
		buf_reset(&page);
		metrics_write(w->metrics, &page);
	} while (!strstr(page.data, "gpuqos_agent_gpus{"));
	buf_clear(&page);
	fake_kube_settle(w->kube.client);
}

/* What is applied becomes what the Node has. */
static void take_apply(struct world *w, const char *uid)
{
	struct kube_call *call = fake_kube_expect(&w->kube, "APPLY nodes /a");
	const char *body = fake_kube_body(call);
	CLEANUP(arena_clear) struct arena arena = {0};
	struct agent_node written;

	assert_int_equal(api_read_agent_node((struct api_bytes){str_from(body), false}, &arena,
					     &written, NULL),
			 0);
	assert_true(str_equal(written.uid, str_from(uid)));
	buf_reset(&w->annotation);
	buf_add_str(&w->annotation, written.annotation);
	fake_kube_answer(call, node(w, uid));
	fake_kube_settle(w->kube.client);
}

static bool ready(struct world *w)
{
	bool is_ready;
	struct buf text;

	buf_init(&text, 4096);
	is_ready = agent_ready(w->agent, &text);
	buf_clear(&text);
	return is_ready;
}

/* From the start to a published layout. */
static void publish(struct world *w, const char *uid)
{
	agent_start(w->agent);
	look(w);
	fake_kube_reply(&w->kube, "GET nodes /a", node(w, uid));
	take_apply(w, uid);
}

static void it_publishes_what_it_sees_and_then_renews_its_lease(void **state)
{
	struct world *w = *state;
	CLEANUP(arena_clear) struct arena arena = {0};
	struct layout layout;

	agent_start(w->agent);
	look(w);
	fake_kube_reply(&w->kube, "GET nodes /a", node(w, "one"));
	assert_null(fake_kube_find(&w->kube, "PATCH leases"));
	take_apply(w, "one");
	assert_int_equal(api_read_layout(buf_str(&w->annotation), &arena, &layout, NULL), 0);
	assert_int_equal(layout.n_gpus, 16);
	assert_int_equal(layout.generation, 1);
	assert_true(str_equal(layout.writer, STR("test")));
	assert_false(ready(w));
	fake_kube_pass(&w->kube, 3 * USEC_PER_SEC);
	fake_kube_refuse(&w->kube, "PATCH leases system/gpuqos-agent-a", ERROR_NOT_FOUND, 404);
	fake_kube_reply(&w->kube, "CREATE leases system/", "{}");
	assert_true(ready(w));
}

static void the_lease_runs_out_when_nobody_answers(void **state)
{
	struct world *w = *state;

	publish(w, "one");
	fake_kube_pass(&w->kube, 3 * USEC_PER_SEC);
	fake_kube_reply(&w->kube, "PATCH leases system/gpuqos-agent-a", "{}");
	for (int64_t us = 0; us < 30 * USEC_PER_SEC; us += AGENT_LEASE_RENEW_US / 10) {
		fake_kube_pass(&w->kube, AGENT_LEASE_RENEW_US / 10);
		if (fake_kube_find(&w->kube, "PATCH leases"))
			fake_kube_refuse(&w->kube, "PATCH leases", ERROR_UNAVAILABLE, 0);
		assert_true(ready(w));
	}
	fake_kube_pass(&w->kube, 10 * USEC_PER_SEC);
	assert_false(ready(w));
}

static void the_lease_does_not_vouch_for_what_others_wrote(void **state)
{
	struct world *w = *state;

	publish(w, "one");
	fake_kube_pass(&w->kube, 3 * USEC_PER_SEC);
	fake_kube_reply(&w->kube, "PATCH leases system/gpuqos-agent-a", "{}");
	fake_kube_pass(&w->kube, 2 * RESYNC);
	if (fake_kube_find(&w->kube, "PATCH leases"))
		fake_kube_reply(&w->kube, "PATCH leases", "{}");
	buf_reset(&w->annotation);
	buf_add_cstr(&w->annotation, "{}");
	fake_kube_reply(&w->kube, "GET nodes /a", node(w, "one"));
	fake_kube_refuse(&w->kube, "APPLY nodes /a", ERROR_FORBIDDEN, 403);
	fake_kube_pass(&w->kube, AGENT_LEASE_RENEW_US * 2);
	assert_null(fake_kube_find(&w->kube, "PATCH leases"));
	assert_false(ready(w));
}

static void a_node_that_is_another_gets_its_own(void **state)
{
	struct world *w = *state;

	publish(w, "one");
	fake_kube_pass(&w->kube, 3 * USEC_PER_SEC);
	fake_kube_reply(&w->kube, "PATCH leases system/gpuqos-agent-a", "{}");
	fake_kube_pass(&w->kube, 2 * RESYNC);
	if (fake_kube_find(&w->kube, "PATCH leases"))
		fake_kube_reply(&w->kube, "PATCH leases", "{}");
	buf_reset(&w->annotation);
	fake_kube_reply(&w->kube, "GET nodes /a", node(w, "two"));
	take_apply(w, "two");
	fake_kube_pass(&w->kube, 3 * USEC_PER_SEC);
	struct kube_call *call = fake_kube_expect(&w->kube, "PATCH leases system/gpuqos-agent-a");

	assert_non_null(strstr(fake_kube_body(call), "\"uid\":\"two\""));
}

static void a_name_that_leaves_no_room_for_a_lease_is_refused(void **state)
{
	struct world *w = *state;
	static char name[LIMIT_NAME + 1];
	struct error err = {0};
	struct agent *agent = NULL;

	memset(name, 'n', LIMIT_NAME);
	assert_int_equal(agent_new(w->kube.client,
				   &(struct agent_options){.node = str_from(name),
							   .namespace = STR("system"),
							   .resync_us = RESYNC},
				   &agent, &err),
			 -1);
	assert_int_equal(err.kind, ERROR_INVALID);
	assert_null(agent);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_publishes_what_it_sees_and_then_renews_its_lease),
		TEST(the_lease_runs_out_when_nobody_answers),
		TEST(the_lease_does_not_vouch_for_what_others_wrote),
		TEST(a_node_that_is_another_gets_its_own),
		TEST(a_name_that_leaves_no_room_for_a_lease_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
