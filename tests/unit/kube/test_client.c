/* SPDX-License-Identifier: Apache-2.0 */
/* The client against a server that says what it is told; time is moved by hand. */
#include "fixture.h"

#include <stdio.h>

struct world {
	struct manual_clock clock;
	struct loop *loop;
	struct fake_server *server;
	struct kube_client *client;
	bool may_send;
	int fence_questions;
	char counted[64]; /* the last request that was counted */
};

/* What came of one call. */
struct outcome {
	int done, parts;
	struct error error;
	int status;
	char body[256];
	enum frame_part last_part;
};

static int on_part(void *context, enum frame_part part, struct str bytes, bool protobuf,
		   struct error *err UNUSED)
{
	struct outcome *outcome = context;

	assert_false(protobuf);
	assert_true(bytes.len > 0);
	outcome->parts++;
	outcome->last_part = part;
	return 0;
}

static void on_done(void *context, const struct kube_answer *answer, const struct error *err)
{
	struct outcome *outcome = context;

	outcome->done++;
	if (err) {
		outcome->error = *err;
		return;
	}
	outcome->status = answer->status;
	snprintf(outcome->body, sizeof(outcome->body), "%.*s", STR_ARGS(answer->body));
}

static void on_request(void *context, const char *verb, const struct api_type *type, int status,
		       int64_t took_us)
{
	struct world *w = context;

	assert_true(took_us >= 0);
	snprintf(w->counted, sizeof(w->counted), "%s %s %d", verb, type->plural, status);
}

static bool may_send(void *context, int64_t now_us)
{
	struct world *w = context;

	assert_true(now_us > 0);
	w->fence_questions++;
	return w->may_send;
}

static void world_start(struct world *w, const struct fake_answer *answers, size_t n,
			const char *user)
{
	struct kube_config *config = NULL;
	struct error err = {0};
	char text[1024];

	manual_clock_init(&w->clock, USEC_PER_SEC, 1800000000 * USEC_PER_SEC);
	w->loop = loop_new(&w->clock.clock);
	w->server = fake_server_new(w->loop, answers, n);
	snprintf(text, sizeof(text),
		 "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
		 "clusters: [{name: c, cluster: {server: '%s'}}]\n"
		 "users: [{name: u, user: %s}]\n",
		 fake_server_url(w->server), user);
	write_file("config", text);
	if (kube_config_load(&(struct kube_config_options){.path = path_of("config")}, &config,
			     &err))
		fail_msg("%s", err.message);
	w->client = kube_client_new(w->loop, config,
				    &(struct kube_client_options){.user_agent = "gpuqos/test",
								  .on_request = on_request,
								  .context = w});
}

static void world_stop(struct world *w)
{
	kube_client_free(w->client);
	fake_server_free(w->server);
	loop_free(w->loop);
}

static struct kube_call *start(struct world *w, const struct kube_request *request,
			       struct outcome *outcome)
{
	struct kube_handlers handlers = {
		.on_part = on_part, .on_done = on_done, .context = outcome};
	struct kube_call *call = kube_send(w->client, KUBE_WRITE, request, &handlers);

	assert_int_equal(outcome->done, 0);
	return call;
}

static void wait_done(struct world *w, const struct outcome *outcome)
{
	WAIT_UNTIL(w->loop, outcome->done);
	assert_int_equal(outcome->done, 1);
}

static void wait_requests(struct world *w, size_t n)
{
	WAIT_UNTIL(w->loop, fake_server_count(w->server) >= n);
	assert_int_equal(fake_server_count(w->server), n);
}

static struct outcome run(struct world *w, const struct kube_request *request)
{
	struct outcome outcome = {0};

	start(w, request, &outcome);
	wait_done(w, &outcome);
	return outcome;
}

static const struct kube_request get_node = {
	.verb = KUBE_GET, .type = &api_nodes, .name = {"n", 1}};
static const struct kube_request get_quota = {
	.verb = KUBE_GET, .type = &api_gpu_memory_quotas, .namespace = {"a", 1}, .name = {"q", 1}};

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" lacks \"%s\"", text, part);
}

static void test_what_is_sent(void **state)
{
	static const struct fake_answer answers[] = {
		{"GET /api/v1/nodes/n ", REPLY_JSON("200 OK", "{\"a\":1}")},
		{"PATCH ", REPLY_JSON("200 OK", "{}")},
		{"DELETE ", REPLY_JSON("200 OK", "{}")},
	};
	const struct kube_request apply = {.verb = KUBE_APPLY,
					   .type = &api_gpu_memory_quotas,
					   .namespace = STR("a"),
					   .name = STR("q"),
					   .body = STR("{\"b\":2}")};
	struct kube_request other = apply;
	struct world w = {0};
	struct outcome outcome;
	const char *request;

	(void)state;
	world_start(&w, answers, ARRAY_SIZE(answers),
		    "{token: t0k, as: jane, as-uid: '7', as-groups: [g, h]}");
	outcome = run(&w, &get_node);
	assert_int_equal(outcome.status, 200);
	assert_string_equal(outcome.body, "{\"a\":1}");
	assert_string_equal(w.counted, "GET nodes 200");
	request = fake_server_request(w.server, 0);
	assert_has(request, "\r\nAccept: application/vnd.kubernetes.protobuf,application/json\r\n");
	assert_has(request, "\r\nAuthorization: Bearer t0k\r\n");
	assert_has(request, "\r\nUser-Agent: gpuqos/test\r\n");
	assert_has(request, "\r\nImpersonate-User: jane\r\n");
	assert_has(request, "\r\nImpersonate-Uid: 7\r\n");
	assert_has(request, "\r\nImpersonate-Group: g\r\n");
	assert_has(request, "\r\nImpersonate-Group: h\r\n");
	assert_null(strstr(request, "Content-Type"));

	run(&w, &apply);
	request = fake_server_request(w.server, 1);
	assert_has(request, "\r\nAccept: application/json\r\n");
	assert_has(request, "\r\nContent-Type: application/apply-patch+yaml\r\n");
	assert_has(request, "&force=true HTTP/1.1");
	assert_has(request, "\r\n\r\n{\"b\":2}");
	assert_string_equal(w.counted, "APPLY gpumemoryquotas 200");

	other.verb = KUBE_JSON_PATCH;
	run(&w, &other);
	assert_has(fake_server_request(w.server, 2), "Content-Type: application/json-patch+json");
	other.verb = KUBE_MERGE_PATCH;
	run(&w, &other);
	assert_has(fake_server_request(w.server, 3), "Content-Type: application/merge-patch+json");
	other.verb = KUBE_DELETE;
	run(&w, &other);
	assert_has(fake_server_request(w.server, 4), "Content-Type: application/json\r\n");
	world_stop(&w);
}

static void test_lists_come_in_parts(void **state)
{
	static const struct fake_answer answers[] = {
		{"GET /apis/gpuqos.io/v1alpha1/gpumemoryquotas?watch",
		 REPLY_JSON("200 OK", "{\"type\":\"ADDED\",\"object\":{}}\n"
				      "{\"type\":\"DELETED\",\"object\":{}}\n")},
		{"GET /apis/gpuqos.io/v1alpha1/namespaces/cut/",
		 REPLY_JSON("200 OK", "{\"items\":[{\"a\":1},{\"a\"")},
		{"GET /apis/", REPLY_JSON("200 OK", "{\"metadata\":{\"continue\":\"c\"},"
						    "\"items\":[{\"a\":1},{\"a\":2}]}")},
	};
	struct kube_request list = {.verb = KUBE_LIST, .type = &api_gpu_memory_quotas};
	struct world w = {0};
	struct outcome outcome;

	(void)state;
	world_start(&w, answers, ARRAY_SIZE(answers), "{}");
	outcome = run(&w, &list);
	assert_int_equal(outcome.error.kind, ERROR_NONE);
	assert_int_equal(outcome.parts, 3);
	assert_string_equal(outcome.body, "");

	list.namespace = STR("cut");
	outcome = run(&w, &list);
	assert_int_equal(outcome.error.kind, ERROR_INVALID);
	assert_has(outcome.error.message,
		   "GET /apis/gpuqos.io/v1alpha1/namespaces/cut/gpumemoryquotas: ");

	list = (struct kube_request){.verb = KUBE_STREAM, .type = &api_gpu_memory_quotas};
	outcome = run(&w, &list);
	assert_int_equal(outcome.error.kind, ERROR_NONE);
	assert_int_equal(outcome.parts, 2);
	assert_string_equal(w.counted, "WATCH gpumemoryquotas 200");
	world_stop(&w);
}

static void test_refusals(void **state)
{
	static const struct fake_answer answers[] = {
		{"GET /api/v1/nodes/n ",
		 REPLY_JSON("404 Not Found", "{\"kind\":\"Status\",\"message\":\"no node\","
					     "\"reason\":\"NotFound\",\"code\":404}")},
		{"GET /apis/", "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\n"
			       "Retry-After: 3\r\nConnection: close\r\n\r\nToo many requests\n"},
		{"PUT ", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: "
			 "close\r\n\r\n<html>log in"},
	};
	struct kube_request update = get_node;
	struct world w = {0};
	struct outcome outcome;

	(void)state;
	world_start(&w, answers, ARRAY_SIZE(answers), "{}");
	outcome = run(&w, &get_node);
	assert_int_equal(outcome.error.kind, ERROR_NOT_FOUND);
	assert_int_equal(outcome.error.http_status, 404);
	assert_string_equal(outcome.error.message, "GET /api/v1/nodes/n: no node");
	assert_string_equal(w.counted, "GET nodes 404");

	outcome = run(&w, &get_quota);
	assert_int_equal(outcome.error.kind, ERROR_THROTTLED);
	assert_int_equal(outcome.error.retry_after_us, 3 * USEC_PER_SEC);

	update.verb = KUBE_UPDATE;
	update.body = STR("{}");
	outcome = run(&w, &update);
	assert_int_equal(outcome.error.kind, ERROR_INVALID);
	assert_has(outcome.error.message, "is this a Kubernetes API server?");
	world_stop(&w);
}

static void test_a_bad_request_is_told_later(void **state)
{
	struct kube_request request = get_node;
	struct world w = {0};
	struct outcome outcome;

	(void)state;
	world_start(&w, NULL, 0, "{}");
	request.name = STR("..");
	outcome = run(&w, &request);
	assert_int_equal(outcome.error.kind, ERROR_INVALID);
	assert_int_equal(fake_server_count(w.server), 0);
	world_stop(&w);
}

static const struct fake_answer silence[] = {{"GET ", NULL}, {"PUT ", NULL}};

static void test_time_outs(void **state)
{
	struct kube_request request = get_node;
	struct world w = {0};
	struct outcome usual = {0}, shorter = {0}, watch = {0};

	(void)state;
	world_start(&w, silence, ARRAY_SIZE(silence), "{}");
	start(&w, &request, &usual);
	request.timeout_us = 2 * USEC_PER_SEC;
	start(&w, &request, &shorter);
	start(&w, &(struct kube_request){.verb = KUBE_STREAM, .type = &api_nodes}, &watch);
	wait_requests(&w, 3);
	manual_clock_advance(&w.clock, 3 * USEC_PER_SEC);
	wait_done(&w, &shorter);
	assert_int_equal(shorter.error.kind, ERROR_TIMEOUT);
	assert_int_equal(usual.done + watch.done, 0);
	manual_clock_advance(&w.clock, 28 * USEC_PER_SEC);
	wait_done(&w, &usual);
	wait_done(&w, &watch);
	assert_int_equal(usual.error.kind, ERROR_TIMEOUT);
	assert_int_equal(watch.error.kind, ERROR_TIMEOUT);
	world_stop(&w);
}

static const struct kube_request watch_quotas = {.verb = KUBE_STREAM,
						 .type = &api_gpu_memory_quotas};

#define WATCH_PATH "GET /apis/gpuqos.io/v1alpha1/gpumemoryquotas?watch"
/* Its end would come after 1000 bytes. */
#define ONE_EVENT(connection)                                                           \
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n" \
	"Connection: " connection "\r\n\r\n"                                            \
	"{\"type\":\"ADDED\",\"object\":{}}\n"

static void test_a_watch_that_is_cut(void **state)
{
	static const struct fake_answer answers[] = {{WATCH_PATH, ONE_EVENT("close")}};
	struct world w = {0};
	struct outcome outcome;

	(void)state;
	world_start(&w, answers, ARRAY_SIZE(answers), "{}");
	outcome = run(&w, &watch_quotas);
	assert_int_equal(outcome.parts, 1);
	assert_int_equal(outcome.error.kind, ERROR_UNAVAILABLE);
	world_stop(&w);
}

static void test_a_watch_may_be_silent_until_its_time_is_over(void **state)
{
	static const struct fake_answer answers[] = {
		{"GET /apis/gpuqos.io/v1alpha1/gpumemoryquotas?", ONE_EVENT("keep-alive")}};
	const struct kube_request request = {.verb = KUBE_STREAM,
					     .type = &api_gpu_memory_quotas,
					     .watch_timeout_us = 300 * USEC_PER_SEC};
	struct world w = {0};
	struct outcome outcome = {0};

	(void)state;
	world_start(&w, answers, ARRAY_SIZE(answers), "{}");
	start(&w, &request, &outcome);
	WAIT_UNTIL(w.loop, outcome.parts == 1);
	manual_clock_advance(&w.clock, 329 * USEC_PER_SEC);
	loop_run_once(w.loop, 0);
	assert_int_equal(outcome.done, 0);
	manual_clock_advance(&w.clock, 2 * USEC_PER_SEC);
	wait_done(&w, &outcome);
	assert_int_equal(outcome.error.kind, ERROR_TIMEOUT);
	world_stop(&w);
}

/* New credentials serve new requests at once; a watch under the old ones ends within 10 s. */
static void test_new_tls_credentials(void **state)
{
	static const struct fake_answer answers[] = {
		{WATCH_PATH, ONE_EVENT("keep-alive")},
		{"GET /api/v1/nodes/n ", REPLY_JSON("200 OK", "{}")},
	};
	struct world w = {0};
	struct outcome watch = {0};

	(void)state;
	make_pair("old");
	make_pair("new");
	copy_file("old.pem", "tls.pem");
	copy_file("old.key", "tls.key");
	world_start(&w, answers, ARRAY_SIZE(answers),
		    "{client-certificate: tls.pem, client-key: tls.key}");
	start(&w, &watch_quotas, &watch);
	WAIT_UNTIL(w.loop, watch.parts == 1);
	copy_file("new.pem", "tls.pem");
	copy_file("new.key", "tls.key");
	manual_clock_advance(&w.clock, 11 * USEC_PER_SEC);
	assert_int_equal(run(&w, &get_node).status, 200);
	manual_clock_advance(&w.clock, 10 * USEC_PER_SEC);
	wait_done(&w, &watch);
	assert_int_equal(watch.error.kind, ERROR_UNAVAILABLE);
	assert_has(watch.error.message, "the credentials were replaced: connect again");
	world_stop(&w);
}

static void test_cancel_and_abandon(void **state)
{
	struct world w = {0};
	struct outcome cancelled = {0}, abandoned = {0};
	struct kube_call *first, *second;

	(void)state;
	world_start(&w, silence, ARRAY_SIZE(silence), "{}");
	first = start(&w, &get_node, &cancelled);
	second = start(&w, &get_node, &abandoned);
	wait_requests(&w, 2);
	kube_cancel(first);
	kube_abandon(second);
	kube_abandon(NULL);
	assert_int_equal(cancelled.done, 0);
	wait_done(&w, &cancelled);
	assert_int_equal(cancelled.error.kind, ERROR_CANCELLED);
	loop_run_once(w.loop, 0);
	assert_int_equal(abandoned.done, 0);
	world_stop(&w);
	assert_int_equal(abandoned.done, 0);
}

static void test_free_cancels(void **state)
{
	struct world w = {0};
	struct outcome under_way = {0}, fresh = {0};

	(void)state;
	world_start(&w, silence, ARRAY_SIZE(silence), "{}");
	start(&w, &get_node, &under_way);
	wait_requests(&w, 1);
	start(&w, &get_node, &fresh);
	world_stop(&w);
	assert_int_equal(under_way.done, 1);
	assert_int_equal(under_way.error.kind, ERROR_CANCELLED);
	assert_int_equal(fresh.done, 1);
	assert_int_equal(fresh.error.kind, ERROR_CANCELLED);
}

static void test_the_fence(void **state)
{
	struct kube_request write = get_node;
	struct world w = {0};
	struct outcome outcome, fenced = {0}, plain = {0};

	(void)state;
	write.verb = KUBE_UPDATE;
	write.fenced = true;
	write.body = STR("{}");
	world_start(&w, silence, ARRAY_SIZE(silence), "{}");
	outcome = run(&w, &write);
	assert_int_equal(outcome.error.kind, ERROR_FENCED);

	kube_client_set_fence(w.client, may_send, &w);
	outcome = run(&w, &write);
	assert_int_equal(outcome.error.kind, ERROR_FENCED);
	assert_int_equal(w.fence_questions, 1);
	assert_int_equal(fake_server_count(w.server), 0);

	w.may_send = true;
	start(&w, &write, &fenced);
	start(&w, &get_node, &plain);
	wait_requests(&w, 2);
	kube_client_fence(w.client);
	wait_done(&w, &fenced);
	assert_int_equal(fenced.error.kind, ERROR_FENCED);
	assert_int_equal(plain.done, 0);
	assert_int_equal(w.fence_questions, 2);
	world_stop(&w);
}

static void test_nothing_leaves_the_write_channel_after_the_lease(void **state)
{
	struct kube_request write = get_node;
	struct world w = {0};
	struct outcome outcome = {0};

	(void)state;
	write.verb = KUBE_UPDATE;
	write.fenced = true;
	write.body = STR("{}");
	world_start(&w, silence, ARRAY_SIZE(silence), "{}");
	kube_client_set_fence(w.client, may_send, &w);
	kube_client_limit_fenced(w.client, 5 * USEC_PER_SEC);
	w.may_send = true;
	start(&w, &write, &outcome);
	wait_requests(&w, 1);
	assert_has(fake_server_request(w.server, 0), "timeout=5000ms");
	kube_client_fence_at(w.client, 0);
	wait_done(&w, &outcome);
	assert_int_equal(outcome.error.kind, ERROR_UNAVAILABLE);
	world_stop(&w);
}

static const struct fake_answer refuses_old[] = {
	{"GET /api/v1/nodes/n ", REPLY_JSON("401 Unauthorized", "{}")},
};

static void test_a_refused_token_file_is_read_again(void **state)
{
	struct world w = {0};

	(void)state;
	write_file("token", "old");
	world_start(&w, refuses_old, ARRAY_SIZE(refuses_old), "{tokenFile: token}");
	assert_int_equal(run(&w, &get_node).error.kind, ERROR_UNAUTHORIZED);
	write_file("token", "new");
	run(&w, &get_node);
	assert_has(fake_server_request(w.server, 0), "Bearer old");
	assert_has(fake_server_request(w.server, 1), "Bearer new");
	world_stop(&w);
}

#define PLUGIN                                                                          \
	"{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, " \
	"command: ./plugin}}"

static void test_calls_wait_for_a_plugin(void **state)
{
	static const struct fake_answer answers[] = {
		{"GET /api/v1/nodes/n ", REPLY_JSON("200 OK", "{}")},
	};
	struct world w = {0};
	struct outcome first = {0}, second = {0};

	(void)state;
	write_script("plugin",
		     "#!/bin/sh\necho '{\"apiVersion\":\"client.authentication.k8s.io/v1\","
		     "\"kind\":\"ExecCredential\",\"status\":{\"token\":\"fresh\"}}'\n");
	world_start(&w, answers, ARRAY_SIZE(answers), PLUGIN);
	start(&w, &get_node, &first);
	start(&w, &get_node, &second);
	wait_done(&w, &first);
	wait_done(&w, &second);
	assert_int_equal(first.status, 200);
	assert_has(fake_server_request(w.server, 1), "Bearer fresh");
	world_stop(&w);
}

static void test_calls_do_not_wait_for_ever(void **state)
{
	struct world w = {0};
	struct outcome late = {0}, cancelled = {0}, fenced = {0}, freed = {0};
	struct kube_request write = get_node;

	(void)state;
	write_script("plugin", "#!/bin/sh\nkill -STOP $$\n");
	world_start(&w, NULL, 0, PLUGIN);
	start(&w, &get_node, &late);
	kube_cancel(start(&w, &get_node, &cancelled));
	write.verb = KUBE_UPDATE;
	write.fenced = true;
	start(&w, &write, &fenced);
	kube_client_fence(w.client);
	wait_done(&w, &cancelled);
	wait_done(&w, &fenced);
	assert_int_equal(cancelled.error.kind, ERROR_CANCELLED);
	assert_int_equal(fenced.error.kind, ERROR_FENCED);
	assert_int_equal(late.done, 0);
	manual_clock_advance(&w.clock, 31 * USEC_PER_SEC);
	wait_done(&w, &late);
	assert_int_equal(late.error.kind, ERROR_TIMEOUT);
	assert_has(late.error.message, "no credentials in time");
	start(&w, &get_node, &freed);
	world_stop(&w);
	assert_int_equal(freed.error.kind, ERROR_CANCELLED);
}

static void test_a_failed_plugin_fails_the_call(void **state)
{
	struct world w = {0};
	struct outcome outcome;

	(void)state;
	write_script("plugin", "#!/bin/sh\necho sorry >&2; exit 1\n");
	world_start(&w, NULL, 0, PLUGIN);
	outcome = run(&w, &get_node);
	assert_int_equal(outcome.error.kind, ERROR_UNAUTHORIZED);
	assert_has(outcome.error.message, "it said: sorry");
	world_stop(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_sent),
		cmocka_unit_test(test_lists_come_in_parts),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_a_bad_request_is_told_later),
		cmocka_unit_test(test_time_outs),
		cmocka_unit_test(test_a_watch_that_is_cut),
		cmocka_unit_test(test_a_watch_may_be_silent_until_its_time_is_over),
		cmocka_unit_test(test_new_tls_credentials),
		cmocka_unit_test(test_cancel_and_abandon),
		cmocka_unit_test(test_free_cancels),
		cmocka_unit_test(test_the_fence),
		cmocka_unit_test(test_nothing_leaves_the_write_channel_after_the_lease),
		cmocka_unit_test(test_a_refused_token_file_is_read_again),
		cmocka_unit_test(test_calls_wait_for_a_plugin),
		cmocka_unit_test(test_calls_do_not_wait_for_ever),
		cmocka_unit_test(test_a_failed_plugin_fails_the_call),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
