/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binding. The pod is judged once more, alone and by what is true now; then it counts as being on
 * the node, and the Binding is posted. An answer that says no ends the assumption. No answer leaves
 * it, for the watch or its time to settle: the Binding may have been made. So does a conflict: an
 * earlier one whose answer was lost may be what is in the way. Until it is settled the pod may be
 * bound to that node alone.
 */
#include "api/body.h"
#include "base/mem.h"
#include "cluster/placing/assume.h"
#include "cluster/read.h"
#include "extender/internal.h"

#define BIND_TIMEOUT_US (4 * USEC_PER_SEC) /* kube-scheduler waits 5 s */
#define HTTP_CONFLICT   409

struct binding {
	struct extender *extender;
	struct binding *next, **link;
	struct http_later *later;
	struct kube_call *call;
	char *namespace, *pod, *uid;
	bool again; /* an earlier one to the same node may have come true */
};

static void binding_free(struct binding *binding)
{
	*binding->link = binding->next;
	if (binding->next)
		binding->next->link = binding->link;
	http_later_free(binding->later);
	mem_free(binding->namespace);
	mem_free(binding->pod);
	mem_free(binding->uid);
	mem_free(binding);
}

void bindings_abandon(struct extender *extender)
{
	while (extender->bindings) {
		kube_abandon(extender->bindings->call);
		binding_free(extender->bindings);
	}
}

/* --- the Binding */

/* What the API server said no to was not done; of the rest nobody knows. */
static bool is_refused(const struct error *err)
{
	return err->http_status >= 400 && err->http_status < 500;
}

/* A conflict says that the pod is bound, or another one, or going: a watch shows which. */
static bool is_free(const struct binding *binding, const struct error *err)
{
	return is_refused(err) && err->http_status != HTTP_CONFLICT && !binding->again;
}

static void count(const struct extender *extender, const char *result)
{
	metric_add(extender->binds, (const char *[]){result}, 1);
}

static void unassume(const struct binding *binding)
{
	struct extender *extender = binding->extender;
	uint32_t pod = cluster_pod_find(extender->options.cluster, str_from(binding->namespace),
					str_from(binding->pod), str_from(binding->uid));

	if (pod == TABLE_NONE)
		return;
	cluster_unassume(extender->options.cluster, pod);
	extender->options.touched(extender->options.context);
}

static void on_bound(void *context, const struct kube_answer *answer UNUSED,
		     const struct error *err)
{
	struct binding *binding = context;
	struct http_server_reply *reply = http_later_reply(binding->later);

	binding->call = NULL;
	if (err && is_free(binding, err))
		unassume(binding);
	count(binding->extender, !err ? "bound" : is_refused(err) ? "refused" : "unknown");
	extender_write_bind(&reply->body, err ? str_from(err->message) : STR_NONE);
	http_later_send(TAKE(binding->later));
	binding_free(binding);
}

static void post(struct extender *extender, const struct extender_bind_args *args, bool again,
		 struct http_later *later)
{
	struct binding *binding = mem_alloc(sizeof(*binding));
	struct kube_request request = {
		.verb = KUBE_CREATE,
		.type = &api_pods,
		.namespace = args->pod_namespace,
		.name = args->pod_name,
		.subresource = "binding",
		.timeout_us = BIND_TIMEOUT_US,
		.fenced = true,
	};
	struct buf body CLEANUP(buf_clear);

	*binding = (struct binding){
		.extender = extender,
		.next = extender->bindings,
		.link = &extender->bindings,
		.later = later,
		.namespace = mem_strndup(args->pod_namespace.data, args->pod_namespace.len),
		.pod = mem_strndup(args->pod_name.data, args->pod_name.len),
		.uid = mem_strndup(args->pod_uid.data, args->pod_uid.len),
		.again = again,
	};
	if (binding->next)
		binding->next->link = &binding->next;
	extender->bindings = binding;
	buf_init(&body, LIMIT_JSON_OUTPUT);
	api_body_pod_binding(&body, args->pod_namespace, args->pod_name, args->pod_uid, args->node);
	request.body = buf_str(&body);
	binding->call = kube_send(extender->options.client, KUBE_WRITE, &request,
				  &(struct kube_handlers){.on_done = on_bound, .context = binding});
}

/* --- the recheck */

/* False, with why, where the pod may not go there now. */
static bool assume(struct extender *extender, const struct extender_bind_args *args, uint32_t pod,
		   bool *ret_again, struct buf *why)
{
	const struct extender_options *options = &extender->options;
	const struct place_tools tools = {options->cluster, options->weights, &extender->memory,
					  &extender->arena, NULL};
	struct cluster_ask *ask = &extender->place.ask;
	uint32_t node = cluster_node_find(options->cluster, args->node);
	uint32_t bound_for = question_bound_for(extender, pod);
	struct place_answer answer = {PLACE_NO_NODE, 0};
	int64_t until_us = loop_now(extender->loop) + EXTENDER_ASSUME_US;

	*ret_again = bound_for != TABLE_NONE;
	if (*ret_again && bound_for != node) {
		question_describe_bound(extender, bound_for, why);
		return false;
	}
	question_refresh(extender, cluster_namespace_find(options->cluster, args->pod_namespace));
	cluster_ask_of_pod(options->cluster, pod, ask);
	if (ask->claim_unseen) {
		buf_add_cstr(why, EXTENDER_CLAIM_UNSEEN);
		return false;
	}
	if (ask->n == 0 && ask->n_claims == 0)
		return true; /* its claims are of no GPUs */
	place_begin(&extender->place, &tools, ask);
	if (node != TABLE_NONE)
		answer = place_fit(&extender->place, node);
	if (answer.verdict != PLACE_FITS) {
		buf_add_cstr(why, "gpuqos: ");
		place_describe(&extender->place, answer, why);
		return false;
	}
	if (cluster_assumptions(options->cluster) == 0) /* else an earlier one has set it */
		loop_timer_set(&extender->expiry, until_us);
	cluster_assume(options->cluster, pod, node, place_cards(&extender->place, node), until_us);
	options->touched(options->context);
	return true;
}

/* Else nobody knows yet which tenant's ceiling holds there. */
static bool namespace_is_seen(const struct extender *extender, struct str name)
{
	const struct cluster *cluster = extender->options.cluster;
	uint32_t namespace = cluster_namespace_find(cluster, name);
	struct namespace_view view;

	if (namespace == TABLE_NONE)
		return false;
	cluster_namespace_view(cluster, namespace, &view);
	return view.exists;
}

/*
 * A pod that no watch has shown asks for no GPU, unless filter was asked about it; or it is gone,
 * and then the API server says so.
 */
static bool may_bind(struct extender *extender, const struct extender_bind_args *args,
		     bool *ret_again, struct buf *why)
{
	uint32_t pod = cluster_pod_find(extender->options.cluster, args->pod_namespace,
					args->pod_name, args->pod_uid);
	uint64_t hash =
		hash_bytes(&extender->options.hash_key, args->pod_uid.data, args->pod_uid.len);

	if (pod == TABLE_NONE && unseen_has(extender, hash)) {
		buf_add_cstr(why, "gpuqos has not seen this pod yet, and will in a moment");
		return false;
	}
	if (pod == TABLE_NONE)
		return true;
	if (!namespace_is_seen(extender, args->pod_namespace)) {
		buf_add_cstr(why, "gpuqos has not seen this pod's namespace yet, and will in a "
				  "moment");
		return false;
	}
	soft_end(extender, hash);
	return assume(extender, args, pod, ret_again, why);
}

void verb_bind(struct extender *extender, const struct http_server_request *request,
	       struct http_server_reply *reply)
{
	struct extender_bind_args args;
	struct error err = {0};
	struct buf why CLEANUP(buf_clear);
	bool again = false;

	buf_init(&why, 2 * LIMIT_EVENT_NOTE);
	arena_reset(&extender->arena);
	if (extender_read_bind(request->body, &extender->arena, &args, &err) < 0) {
		extender_write_bind(&reply->body, str_from(err.message));
		return;
	}
	if (may_bind(extender, &args, &again, &why)) {
		post(extender, &args, again, http_later_new(request));
		return;
	}
	count(extender, "unfit");
	extender_write_bind(&reply->body, buf_str(&why));
}
