/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A round: list the labelled pods of our namespace; take the label off the first that is not ours
 * and list again, until only ours may be left; then label our own pod if it was not among them.
 * A label that an earlier process of our pod has left is taken off first: one that is already there
 * gives the pod no new resourceVersion.
 * Each request is one step, decided from what the last one showed.
 */
#include "controller/leader_label.h"

#include "api/body.h"
#include "api/watch_event.h"
#include "base/arena.h"
#include "base/mem.h"
#include "controller/writes.h"

#define ROUND_US (60 * USEC_PER_SEC)
#define RETRY_US (2 * USEC_PER_SEC)
#define NEXT_US  (50 * USEC_PER_MSEC) /* between pods: what puts the label back must not spin us */
/* Of the time for a stop, so that the Lease is given back even where this hangs. */
#define RETIRE_US (2 * USEC_PER_SEC)
#define LEADER    "leader"

struct leader_label {
	struct kube_client *client;
	struct loop *loop;
	struct log *log;
	char *namespace, *pod;
	struct kube_call *call;
	struct loop_timer timer;
	struct arena arena;
	bool leading;
	uint64_t version; /* of our pod with the label; 0: not known */

	/* What the list of this round showed. */
	bool ours_labelled;
	char *other; /* a pod that is not ours, NULL for none */
	loop_fn retired;
	void *retired_context;
};

static void list_labelled(void *context);

static void again(struct leader_label *label, int64_t in_us)
{
	if (label->leading)
		loop_timer_set(&label->timer, loop_now(label->loop) + in_us);
}

static void ended(struct leader_label *label, const struct error *err)
{
	if (err && err->kind != ERROR_CANCELLED && err->kind != ERROR_FENCED)
		log_warning(label->log, "the leader's pod label is not right, will try again",
			    LOG_CSTR("error", err->message));
	again(label, err ? RETRY_US : ROUND_US);
}

static void send(struct leader_label *label, const struct kube_request *request,
		 int (*on_part)(void *, enum frame_part, struct str, bool, struct error *),
		 void (*on_done)(void *, const struct kube_answer *, const struct error *))
{
	struct kube_handlers handlers = {.on_part = on_part, .on_done = on_done, .context = label};

	label->call = kube_send(label->client, KUBE_WRITE, request, &handlers);
}

static void patch(struct leader_label *label, const char *pod, bool leader,
		  void (*on_done)(void *, const struct kube_answer *, const struct error *))
{
	struct kube_request request = {
		.verb = KUBE_MERGE_PATCH,
		.type = &api_pods,
		.namespace = str_from(label->namespace),
		.name = str_from(pod),
		.timeout_us = label->retired ? RETIRE_US : 0,
		.fenced = true,
	};
	const struct label role = {STR(API_LABEL_ROLE), leader ? STR(LEADER) : STR_NONE};
	struct buf body;

	buf_init(&body, LIMIT_JSON_OUTPUT);
	api_body_label_patch(&body, STR_NONE, &role, 1);
	request.body = buf_str(&body);
	send(label, &request, NULL, on_done);
	buf_clear(&body);
}

static void on_labelled(void *context, const struct kube_answer *answer, const struct error *err)
{
	struct leader_label *label = context;

	label->call = NULL;
	if (!err)
		label->version = write_answered_version(answer, &label->arena);
	ended(label, err);
}

static void on_unlabelled(void *context, const struct kube_answer *answer, const struct error *err)
{
	struct leader_label *label = context;

	(void)answer;
	label->call = NULL;
	if (err && err->kind != ERROR_NOT_FOUND)
		ended(label, err);
	else
		again(label, NEXT_US);
}

static int on_listed_pod(void *context, enum frame_part part, struct str bytes, bool protobuf,
			 struct error *err)
{
	struct leader_label *label = context;
	struct api_identity pod;

	if (part != FRAME_OBJECT)
		return 0;
	arena_reset(&label->arena);
	if (api_identity_read((struct api_bytes){bytes, protobuf}, &label->arena, &pod, err) < 0)
		return -1;
	if (str_equal(pod.name, str_from(label->pod)))
		label->ours_labelled = true;
	else if (!label->other)
		label->other = mem_strndup(pod.name.data, pod.name.len);
	return 0;
}

static void on_listed(void *context, const struct kube_answer *answer, const struct error *err)
{
	struct leader_label *label = context;

	(void)answer;
	label->call = NULL;
	if (err)
		ended(label, err);
	else if (label->other)
		patch(label, label->other, false, on_unlabelled);
	else if (!label->ours_labelled)
		patch(label, label->pod, true, on_labelled);
	else if (label->version == 0)
		patch(label, label->pod, false, on_unlabelled);
	else
		ended(label, NULL);
}

static void list_labelled(void *context)
{
	struct leader_label *label = context;
	struct kube_request request = {
		.verb = KUBE_LIST,
		.type = &api_pods,
		.namespace = str_from(label->namespace),
		.label_selector = STR(API_LABEL_ROLE "=" LEADER),
	};

	if (!label->leading || label->call)
		return;
	label->ours_labelled = false;
	mem_free(TAKE(label->other));
	send(label, &request, on_listed_pod, on_listed);
}

struct leader_label *leader_label_new(struct kube_client *client, struct str namespace,
				      struct str pod, struct log *log)
{
	struct leader_label *label = mem_alloc(sizeof(*label));

	label->client = client;
	label->loop = kube_client_loop(client);
	label->log = log;
	label->namespace = mem_strndup(namespace.data, namespace.len);
	label->pod = mem_strndup(pod.data, pod.len);
	arena_init(&label->arena, LIMIT_DECODE_ARENA);
	loop_timer_init(&label->timer, label->loop, "leader-label", list_labelled, label);
	return label;
}

static void stop(struct leader_label *label)
{
	label->leading = false;
	loop_timer_set(&label->timer, TIME_NEVER);
	kube_abandon(TAKE(label->call));
}

void leader_label_free(struct leader_label *label)
{
	if (!label)
		return;
	stop(label);
	loop_timer_clear(&label->timer);
	arena_clear(&label->arena);
	mem_free(label->namespace);
	mem_free(label->pod);
	mem_free(label->other);
	mem_free(label);
}

uint64_t leader_label_version(const struct leader_label *label)
{
	return label->version;
}

void leader_label_lead(struct leader_label *label)
{
	label->leading = true;
	label->version = 0;
	again(label, 0);
}

/* One that retires is left to the fence: it ends the request, and who waits for that is told. */
void leader_label_lost(struct leader_label *label)
{
	if (!label->retired)
		stop(label);
}

static void on_retired(void *context, const struct kube_answer *answer, const struct error *err)
{
	struct leader_label *label = context;

	(void)answer;
	label->call = NULL;
	if (err && err->kind != ERROR_NOT_FOUND)
		log_warning(label->log, "the leader's pod label stays on",
			    LOG_CSTR("error", err->message));
	label->retired(label->retired_context);
}

void leader_label_retire(struct leader_label *label, loop_fn done, void *context)
{
	stop(label);
	label->retired = done;
	label->retired_context = context;
	patch(label, label->pod, false, on_retired);
}
