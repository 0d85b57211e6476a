/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binding. The pod is judged once more, alone and by what is true now; then it counts as being on
 * the node, and the Binding is posted. An answer that says no ends the assumption. No answer leaves
 * it, for the watch or its time to settle: the Binding may have been made. So does a conflict: an
 * earlier one whose answer was lost may be what is in the way. Until it is settled the pod may be
 * bound to that node alone.
 *
 * What cannot be judged before a watch has shown more waits. It is as if the call came when it is
 * judged: by then this replica may lead no longer, and who asked may have gone.
 */
#include "extender/bind.h"

#include "api/body.h"
#include "base/mem.h"
#include "cluster/placing/assume.h"
#include "cluster/read.h"
#include "extender/internal.h"

#define BIND_TIMEOUT_US (4 * USEC_PER_SEC) /* with the wait; kube-scheduler waits 5 s */
#define HTTP_CONFLICT   409

static const double wait_buckets[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1};

struct binding {
	struct list link;
	struct extender *extender;
	struct http_later *later; /* NULL while it is judged for the first time */
	struct kube_call *call;   /* NULL before it is posted */
	struct loop_timer patience;
	int64_t begun_us;
	char *namespace, *pod, *uid, *node;
	bool waits; /* for a watch; it is among those then */
	bool again; /* an earlier one to the same node may have come true */
};

static void on_time(void *context);

static char *copy(struct str text)
{
	return mem_strndup(text.data, text.len);
}

static struct binding *binding_new(struct extender *extender, const struct extender_bind_args *args)
{
	struct binding *binding = mem_alloc(sizeof(*binding));

	*binding = (struct binding){
		.extender = extender,
		.begun_us = loop_now(extender->loop),
		.namespace = copy(args->pod_namespace),
		.pod = copy(args->pod_name),
		.uid = copy(args->pod_uid),
		.node = copy(args->node),
	};
	loop_timer_init(&binding->patience, extender->loop, "bindings", on_time, binding);
	return binding;
}

static void stop_waiting(struct binding *binding)
{
	struct bindings *bindings = &binding->extender->bindings;
	int64_t waited_us = loop_now(binding->extender->loop) - binding->begun_us;

	if (!binding->waits)
		return;
	binding->waits = false;
	bindings->n_waiting--;
	list_unlink(&binding->link);
	loop_timer_clear(&binding->patience);
	metric_observe(bindings->waits, NULL, (double)waited_us / USEC_PER_SEC);
}

/* Unanswered, where nobody has answered. */
static void binding_free(struct binding *binding)
{
	stop_waiting(binding);
	list_unlink(&binding->link);
	loop_timer_clear(&binding->patience);
	kube_abandon(binding->call);
	http_later_free(binding->later);
	mem_free(binding->namespace);
	mem_free(binding->pod);
	mem_free(binding->uid);
	mem_free(binding->node);
	mem_free(binding);
}

static void connection_given_back(struct bindings *bindings)
{
	if (bindings->idle < BIND_IDLE_MOST)
		bindings->idle++;
}

static void count(const struct binding *binding, const char *result)
{
	metric_add(binding->extender->bindings.results, (const char *[]){result}, 1);
}

/* Ends it with what its reply says. */
static void binding_answer(struct binding *binding)
{
	connection_given_back(&binding->extender->bindings);
	http_later_send(TAKE(binding->later));
	binding_free(binding);
}

/* --- connections of kube-scheduler */

/* A binding has come by one, which makes room for another that becomes idle. */
static void connection_taken(struct bindings *bindings)
{
	if (bindings->idle > 0)
		bindings->idle--;
	if (!list_empty(&bindings->kept))
		binding_answer(container_of(list_first(&bindings->kept), struct binding, link));
}

static void answer_or_keep(struct binding *binding)
{
	struct bindings *bindings = &binding->extender->bindings;

	if (bindings->idle < BIND_IDLE_MOST) {
		binding_answer(binding);
		return;
	}
	list_unlink(&binding->link);
	list_append(&bindings->kept, &binding->link);
	loop_timer_set(&binding->patience, loop_now(binding->extender->loop) + BIND_KEEP_US);
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
	count(binding, !err ? "bound" : is_refused(err) ? "refused" : "unknown");
	extender_write_bind(&reply->body, err ? str_from(err->message) : STR_NONE);
	answer_or_keep(binding);
}

static void post(struct binding *binding)
{
	struct extender *extender = binding->extender;
	struct str namespace = str_from(binding->namespace), pod = str_from(binding->pod);
	int64_t waited_us = loop_now(extender->loop) - binding->begun_us;
	struct kube_request request = {
		.verb = KUBE_CREATE,
		.type = &api_pods,
		.namespace = namespace,
		.name = pod,
		.subresource = "binding",
		.timeout_us = BIND_TIMEOUT_US - waited_us,
		.fenced = true,
	};
	struct buf body CLEANUP(buf_clear);

	stop_waiting(binding);
	list_append(&extender->bindings.posted, &binding->link);
	buf_init(&body, LIMIT_JSON_OUTPUT);
	api_body_pod_binding(&body, namespace, pod, str_from(binding->uid),
			     str_from(binding->node));
	request.body = buf_str(&body);
	binding->call = kube_send(extender->options.client, KUBE_WRITE, &request,
				  &(struct kube_handlers){.on_done = on_bound, .context = binding});
}

/* --- the recheck */

enum outcome { BIND_MAY, BIND_MAY_NOT, BIND_WAITS };

/* With why, but where it may. */
static enum outcome assume(struct binding *binding, uint32_t pod, struct buf *why)
{
	struct extender *extender = binding->extender;
	const struct extender_options *options = &extender->options;
	const struct place_tools tools = {options->cluster, options->weights, &extender->memory,
					  &extender->arena, NULL};
	struct cluster_ask *ask = &extender->place.ask;
	uint32_t node = cluster_node_find(options->cluster, str_from(binding->node));
	uint32_t bound_for = question_bound_for(extender, pod);
	struct place_answer answer = {PLACE_NO_NODE, 0};
	int64_t until_us = loop_now(extender->loop) + EXTENDER_ASSUME_US;

	binding->again = bound_for != TABLE_NONE;
	if (binding->again && bound_for != node) {
		question_describe_bound(extender, bound_for, why);
		return BIND_MAY_NOT;
	}
	question_refresh(extender,
			 cluster_namespace_find(options->cluster, str_from(binding->namespace)));
	cluster_ask_of_pod(options->cluster, pod, ask);
	if (ask->claim_unseen) {
		buf_add_cstr(why, EXTENDER_CLAIM_UNSEEN);
		return BIND_WAITS;
	}
	if (ask->n == 0 && ask->n_claims == 0)
		return BIND_MAY; /* its claims are of no GPUs */
	place_begin(&extender->place, &tools, ask);
	if (node != TABLE_NONE)
		answer = place_fit(&extender->place, node);
	if (answer.verdict != PLACE_FITS) {
		buf_add_cstr(why, "gpuqos: ");
		place_describe(&extender->place, answer, why);
		return BIND_MAY_NOT;
	}
	if (cluster_assumptions(options->cluster) == 0) /* else an earlier one has set it */
		loop_timer_set(&extender->expiry, until_us);
	cluster_assume(options->cluster, pod, node, place_cards(&extender->place, node), until_us);
	options->touched(options->context);
	return BIND_MAY;
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
static enum outcome judge(struct binding *binding, struct buf *why)
{
	struct extender *extender = binding->extender;
	struct str namespace = str_from(binding->namespace), uid = str_from(binding->uid);
	uint32_t pod =
		cluster_pod_find(extender->options.cluster, namespace, str_from(binding->pod), uid);
	uint64_t hash = hash_bytes(&extender->options.hash_key, uid.data, uid.len);

	arena_reset(&extender->arena);
	if (pod == TABLE_NONE && unseen_has(extender, hash)) {
		buf_add_cstr(why, "gpuqos has not seen this pod yet, and will in a moment");
		return BIND_WAITS;
	}
	if (pod == TABLE_NONE)
		return BIND_MAY;
	if (!namespace_is_seen(extender, namespace)) {
		buf_add_cstr(why, "gpuqos has not seen this pod's namespace yet, and will in a "
				  "moment");
		return BIND_WAITS;
	}
	soft_end(extender, hash);
	return assume(binding, pod, why);
}

static void refuse(struct binding *binding, enum outcome outcome, const struct buf *why,
		   struct http_server_reply *reply)
{
	count(binding, outcome == BIND_WAITS ? "unseen" : "unfit");
	extender_write_bind(&reply->body, buf_str(why));
}

/* --- the wait */

static bool begin_waiting(struct binding *binding)
{
	struct bindings *bindings = &binding->extender->bindings;

	if (bindings->n_waiting == BIND_WAITING_MOST)
		return false;
	binding->waits = true;
	bindings->n_waiting++;
	list_append(&bindings->waiting, &binding->link);
	loop_timer_set(&binding->patience, binding->begun_us + BIND_WAIT_US);
	return true;
}

/* What kube-scheduler has given up, or another replica is asked for now, is not posted behind its
 * back. */
static void judge_again(struct binding *binding, bool may_wait)
{
	struct http_server_reply *reply = http_later_reply(binding->later);
	struct buf why CLEANUP(buf_clear);
	enum outcome outcome;

	buf_init(&why, 2 * LIMIT_EVENT_NOTE);
	if (http_later_is_left(binding->later)) {
		binding_free(binding);
		return;
	}
	if (!extender_answers(binding->extender, reply)) {
		binding_answer(binding);
		return;
	}
	outcome = judge(binding, &why);
	if (outcome == BIND_MAY) {
		post(binding);
	} else if (outcome == BIND_MAY_NOT || !may_wait) {
		refuse(binding, outcome, &why, reply);
		binding_answer(binding);
	}
}

static void on_time(void *context)
{
	struct binding *binding = context;

	if (binding->waits)
		judge_again(binding, false);
	else
		binding_answer(binding);
}

static void look(void *context)
{
	struct bindings *bindings = context;

	list_for_each_safe(it, &bindings->waiting)
		judge_again(container_of(it, struct binding, link), true);
}

void bindings_look_again(struct bindings *bindings)
{
	if (bindings->n_waiting > 0)
		loop_defer(&bindings->look);
}

void bindings_init(struct bindings *bindings, struct extender *extender, struct metrics *metrics)
{
	list_init(&bindings->waiting);
	list_init(&bindings->posted);
	list_init(&bindings->kept);
	loop_timer_init(&bindings->look, extender->loop, "bindings", look, bindings);
	if (!metrics)
		return;
	bindings->results = metrics_counter(
		metrics, "gpuqos_extender_bindings_total",
		"Bindings, by what came of them: bound, refused by the API server, unknown, unfit, "
		"unseen (no watch showed the pod in time).",
		(const char *[]){"result", NULL});
	bindings->waits = metrics_histogram(
		metrics, "gpuqos_extender_bind_wait_seconds",
		"How long bindings waited for a watch to show what kube-scheduler had seen; of "
		"those alone that had to.",
		(const char *[]){NULL}, wait_buckets, ARRAY_SIZE(wait_buckets));
}

static void free_all(struct list *bindings)
{
	list_for_each_safe(it, bindings)
		binding_free(container_of(it, struct binding, link));
}

void bindings_clear(struct bindings *bindings)
{
	free_all(&bindings->waiting);
	free_all(&bindings->posted);
	free_all(&bindings->kept);
	loop_timer_clear(&bindings->look);
}

void verb_bind(struct extender *extender, const struct http_server_request *request,
	       struct http_server_reply *reply)
{
	struct extender_bind_args args;
	struct error err = {0};
	struct buf why CLEANUP(buf_clear);
	struct binding *binding;
	enum outcome outcome;

	buf_init(&why, 2 * LIMIT_EVENT_NOTE);
	connection_taken(&extender->bindings);
	arena_reset(&extender->arena);
	if (extender_read_bind(request->body, &extender->arena, &args, &err) < 0) {
		extender_write_bind(&reply->body, str_from(err.message));
		connection_given_back(&extender->bindings);
		return;
	}
	binding = binding_new(extender, &args);
	outcome = judge(binding, &why);
	if (outcome == BIND_MAY || (outcome == BIND_WAITS && begin_waiting(binding))) {
		binding->later = http_later_new(request);
		if (outcome == BIND_MAY)
			post(binding);
		return;
	}
	refuse(binding, outcome, &why, reply);
	connection_given_back(&extender->bindings);
	binding_free(binding);
}
