/* SPDX-License-Identifier: Apache-2.0 */
/* Objects are told to the cluster as a watch would; pods go through the readers of their JSON. */
#include "scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/pack.h"
#include "base/mem.h"
#include "cluster/looks.h"
#include "cluster/read.h"
#include "extender/internal.h"
#include "served.h"

static const struct hash_key key = {1, 2};

static bool may_answer(void *context)
{
	return ((struct scene *)context)->may_answer;
}

static void touched(void *context)
{
	((struct scene *)context)->touched++;
}

void scene_show_namespace(struct scene *s)
{
	struct namespace_facts facts = {.name = STR("a"), .uid = STR("a")};

	assert_int_equal(cluster_apply_namespace(s->cluster, &facts, NULL), 0);
	extender_look_again(s->extender);
}

int scene_setup(void **state)
{
	struct scene *s = test_calloc(1, sizeof(*s));
	struct extender_options options = {.address = "127.0.0.1:0",
					   .may_answer = may_answer,
					   .touched = touched,
					   .context = s,
					   .hash_key = key};

	fake_kube_world_init(&s->kube);
	s->cluster = cluster_new(&key);
	s->weights = PLACEMENT_WEIGHTS_DEFAULT;
	s->recorder = recorder_new(s->kube.client, &(struct recorder_options){"test", "test-0", 1});
	s->may_answer = true;
	buf_init(&s->text, LIMIT_METRICS_PAGE);
	machine_dgx_h100(&s->machine);
	options.cluster = s->cluster;
	options.weights = &s->weights;
	options.margin = PLACEMENT_MARGIN_MOST;
	options.client = s->kube.client;
	options.recorder = s->recorder;
	assert_int_equal(extender_new(&options, &s->extender, NULL), 0);
	scene_show_namespace(s);
	*state = s;
	return 0;
}

int scene_teardown(void **state)
{
	struct scene *s = *state;

	extender_free(s->extender);
	recorder_free(s->recorder);
	cluster_free(s->cluster);
	fake_kube_world_clear(&s->kube);
	buf_clear(&s->text);
	test_free(s);
	return 0;
}

/* --- what watches show */

void scene_add_node(struct scene *s, const char *name, enum scene_node kind)
{
	static const char *const resources[] = {
		[SCENE_STRICT] = "nvidia.com/gpu",        [SCENE_LOOSE] = "nvidia.com/gpu",
		[SCENE_UNKNOWN] = "nvidia.com/gpu",       [SCENE_OTHER] = "amd.com/gpu",
		[SCENE_SHARED] = "nvidia.com/gpu.shared",
	};
	struct device_offer offer = {.resource = str_from(resources[kind]),
				     .product = STR("card"),
				     .unit_memory = 80 * GIB,
				     .count = 8,
				     .allocatable = 8,
				     .sharing = kind == SCENE_SHARED ? DEVICE_TIME_SLICED
								     : DEVICE_WHOLE};
	bool known = kind != SCENE_UNKNOWN && kind != SCENE_OTHER;
	struct node_facts facts = {.name = str_from(name),
				   .uid = str_from(name),
				   .ready = NODE_READY,
				   .offers = &offer,
				   .n_offers = 1,
				   .layout = known ? &s->machine.layout : NULL,
				   .layout_state = known ? LAYOUT_IS_KNOWN : LAYOUT_IS_ABSENT};

	s->machine.layout.kubelet = (struct layout_kubelet){
		kind == SCENE_LOOSE ? LAYOUT_POLICY_NONE : LAYOUT_POLICY_SINGLE_NUMA, false, true};
	assert_int_equal(cluster_apply_node(s->cluster, &facts, NULL), 0);
}

void scene_remove_node(struct scene *s, const char *name)
{
	uint32_t node;

	cluster_delete(s->cluster, CLUSTER_NODES, STR_NONE, str_from(name));
	while (cluster_take_node(s->cluster, &node))
		;
}

void scene_set_quota(struct scene *s, int64_t bytes)
{
	struct quota_facts quota = {.namespace = STR("a"),
				    .name = STR("q"),
				    .uid = STR("q"),
				    .spec = {.gpu_memory = bytes,
					     .gpus = AMOUNT_NONE,
					     .pod_gpu_memory = AMOUNT_NONE,
					     .pod_gpus = AMOUNT_NONE}};

	assert_int_equal(cluster_apply_quota(s->cluster, &quota, NULL), 0);
}

const char *scene_pod_json(const struct scene_pod *pod)
{
	static char text[4096];
	char cards[200] = "", policy[100] = "", node[100] = "", devices[1000] = "";

	if (pod->cards > 0)
		snprintf(cards, sizeof(cards), ",\"%s\":\"%d\"%s",
			 pod->resource ? pod->resource : "nvidia.com/gpu", pod->cards,
			 pod->requests ? pod->requests : "");
	if (pod->policy)
		snprintf(policy, sizeof(policy),
			 ",\"annotations\":{\"gpuqos.io/topology-policy\":\"%s\"}", pod->policy);
	if (pod->node)
		snprintf(node, sizeof(node), "\"nodeName\":\"%s\",", pod->node);
	if (pod->devices)
		snprintf(devices, sizeof(devices),
			 ",\"containerStatuses\":[{\"name\":\"main\",\"allocatedResourcesStatus\":"
			 "[{\"name\":\"nvidia.com/gpu\",\"resources\":[%s]}]}]",
			 pod->devices);
	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"namespace\":\"a\",\"name\":\"%s\",\"uid\":\"%s\"%s},"
		 "\"spec\":{%s%s\"containers\":[{\"name\":\"main\",\"resources\":{"
		 "\"requests\":{\"cpu\":\"%s\",\"memory\":\"1Gi\"%s},"
		 "\"limits\":{\"cpu\":\"4\",\"memory\":\"1Gi\"%s}}}]},"
		 "\"status\":{\"phase\":\"%s\",\"qosClass\":\"%s\"%s}}",
		 pod->name, pod->name, policy, pod->spec ? pod->spec : "", node,
		 pod->burstable ? "2" : "4", cards, cards, pod->node ? "Running" : "Pending",
		 pod->burstable ? "Burstable" : "Guaranteed", devices);
	return text;
}

void scene_show(struct scene *s, const struct scene_pod *pod)
{
	struct buf body CLEANUP(buf_clear);
	struct arena arena;
	struct extender_args args;
	struct pod_facts facts;
	struct error err = {0};

	buf_init(&body, 8192);
	buf_printf(&body, "{\"Pod\":%s,\"NodeNames\":[]}", scene_pod_json(pod));
	arena_init(&arena, 1 << 20);
	if (extender_read_args(buf_str(&body), &arena, &args, &err) < 0 ||
	    api_pack_pod(&args.pod, NULL, &arena, &facts, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(cluster_apply_pod(s->cluster, &facts, &err), 0);
	extender_look_again(s->extender);
	arena_clear(&arena);
}

void scene_show_gone(struct scene *s, const char *name)
{
	cluster_delete(s->cluster, CLUSTER_PODS, STR("a"), str_from(name));
	extender_look_again(s->extender);
}

/* --- what kube-scheduler asks */

const char *scene_post(struct scene *s, const char *path, const char *body, int status)
{
	struct served *served = served_call(s->extender->server, path, body);

	buf_reset(&s->text);
	buf_add_cstr(&s->text, served_text(served));
	buf_add(&s->text, "", 1);
	assert_int_equal(served->reply.status, status);
	served_free(served);
	return s->text.data;
}

static const char *ask(struct scene *s, const char *path, const struct scene_pod *pod,
		       const char *names)
{
	struct buf body CLEANUP(buf_clear);

	buf_init(&body, LIMIT_EXTENDER_BODY);
	buf_printf(&body, "{\"Pod\":%s,\"NodeNames\":%s}", scene_pod_json(pod), names);
	buf_add(&body, "", 1);
	return scene_post(s, path, body.data, 200);
}

const char *scene_filter(struct scene *s, const struct scene_pod *pod, const char *names)
{
	return ask(s, "/filter", pod, names);
}

const char *scene_prioritize(struct scene *s, const struct scene_pod *pod, const char *names)
{
	return ask(s, "/prioritize", pod, names);
}

struct served *scene_bind(struct scene *s, const char *pod, const char *node)
{
	char body[512];

	snprintf(body, sizeof(body),
		 "{\"PodName\":\"%s\",\"PodNamespace\":\"a\",\"PodUID\":\"%s\",\"Node\":\"%s\"}",
		 pod, pod, node);
	return served_call(s->extender->server, "/bind", body);
}

void scene_expect(struct served *served, const char *error)
{
	struct buf expected CLEANUP(buf_clear);

	buf_init(&expected, 4096);
	extender_write_bind(&expected, str_from(error));
	buf_add(&expected, "", 1);
	assert_string_equal(served_text(served), expected.data);
	assert_int_equal(served->reply.status, 200);
	served_free(served);
}

void scene_refuses(struct scene *s, const char *pod, const char *node, const char *error)
{
	unsigned int made = fake_kube_made(s->kube.client);

	scene_expect(scene_bind(s, pod, node), error);
	assert_int_equal(fake_kube_made(s->kube.client), made);
}
