/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pod of a namespace is asked to go. The receipt is an Event named after the pod's uid: it is
 * written once however often the eviction is tried, and before the first try. What came of the try
 * is told to the cluster, which remembers it until the watch shows it.
 */
#include "api/body.h"
#include "cluster/holders.h"
#include "controller/quota/turn.h"
#include "controller/writes.h"

#define REASON_EVICTED "Evicted"
#define ACTION_EVICT   "Evict"
#define SUBRESOURCE    "eviction"

static struct body_reference pod_reference(const struct quota_turn *turn,
					   const struct quota_holder *pod)
{
	return (struct body_reference){STR("v1"), str_from(api_pods.kind), turn->namespace.name,
				       pod->name, pod->uid};
}

static void add_note(struct buf *note, const struct quota_spec *spec,
		     const struct quota_status *status, const struct quota_holder *pod)
{
	const struct condition *exceeded = &status->conditions[QUOTA_EXCEEDED];

	buf_printf(note, "Pod %.*s", STR_ARGS(pod->name));
	if (!str_empty(pod->owner_name))
		buf_printf(note, " of %.*s %.*s", STR_ARGS(pod->owner_kind),
			   STR_ARGS(pod->owner_name));
	buf_printf(note,
		   " holds %s of GPU memory and is asked to go (onShrink %s): the namespace holds "
		   "%s and is allowed %s. %s",
		   amount_text(pod->charge).text, shrink_policy_text(spec->on_shrink),
		   amount_text(status->used).text, amount_text(status->effective).text,
		   exceeded->message);
}

static int write_receipt(struct quota_turn *turn, const struct quota_identity *identity,
			 struct str note, const struct quota_holder *pod, struct error *err)
{
	struct quota_reconciler *reconciler = turn->reconciler;
	struct body_event event = {
		.namespace = turn->namespace.name,
		.regarding = {STR(API_GROUP_VERSION), str_from(api_gpu_memory_quotas.kind),
			      identity->namespace, identity->name, identity->uid},
		.related = pod_reference(turn, pod),
		.type = STR("Warning"),
		.reason = STR(REASON_EVICTED),
		.action = STR(ACTION_EVICT),
		.note = note,
		.controller = str_from(reconciler->reporting_controller),
		.instance = str_from(reconciler->instance),
		.event_us = clock_real(loop_clock(reconciler->loop)),
	};
	struct work_write *write;
	struct buf name, body;

	buf_init(&name, LIMIT_NAME);
	buf_printf(&name, "gpuqos-evicted.%.*s", STR_ARGS(pod->uid));
	event.name = buf_str(&name);
	buf_init(&body, LIMIT_JSON_OUTPUT);
	api_body_event(&body, &event);
	write = work_set_add(turn->set, KUBE_CREATE, &api_events, turn->namespace.name, STR_NONE);
	write->exists_is_fine = true;
	buf_clear(&name);
	return write_give_body(write, &body, err);
}

int quota_write_eviction(struct quota_turn *turn, const struct quota_identity *identity,
			 const struct quota_spec *spec, const struct quota_plan *plan,
			 struct error *err)
{
	const struct condition *exceeded = &plan->status.conditions[QUOTA_EXCEEDED];
	const struct quota_holder *pod = plan->evict;
	struct work_write *write;
	struct buf note, body;

	if (!pod)
		return 0;
	buf_init(&note, LIMIT_EVENT_NOTE);
	add_note(&note, spec, &plan->status, pod);
	int r = write_receipt(turn, identity, buf_str(&note), pod, err);

	if (r == 0)
		recorder_event(turn->reconciler->recorder, &(struct recorder_event){
								   pod_reference(turn, pod),
								   "Warning",
								   REASON_EVICTED,
								   ACTION_EVICT,
								   buf_str(&note),
							   });
	buf_clear(&note);
	if (r < 0)
		return -1;
	buf_init(&body, LIMIT_JSON_OUTPUT);
	api_body_eviction(&body, turn->namespace.name, pod->name, pod->uid, -1);
	write = work_set_add(turn->set, KUBE_CREATE, &api_pods, turn->namespace.name, pod->name);
	write->subresource = SUBRESOURCE;
	write->missing_is_fine = true;
	write->may_fail = true;
	write->reason = quota_reason_text(exceeded->reason);
	work_write_set_uid(write, pod->uid);
	return write_give_body(write, &body, err);
}

/*
 * kind of the error, what the cluster is told, the metric's label. Who was not answered may have
 * evicted all the same: that counts as issued, lest a second pod goes for the same bytes. A pod of
 * another uid by now (409) is one that this uid will not be found again.
 */
static const struct {
	enum error_kind kind;
	enum eviction_outcome outcome;
	const char *result;
} outcomes[] = {
	{ERROR_BUDGET, EVICTION_BUDGET, "budget"},
	{ERROR_CONFLICT, EVICTION_FAILED, "changed"},
	{ERROR_FORBIDDEN, EVICTION_FORBIDDEN, "forbidden"},
	{ERROR_TIMEOUT, EVICTION_ISSUED, "unanswered"},
	{ERROR_THROTTLED, EVICTION_THROTTLED, "throttled"},
};

void quota_eviction_written(struct quota_reconciler *reconciler, const struct work_write *write,
			    const struct kube_answer *answer, const struct error *err)
{
	struct eviction eviction = {
		.namespace = str_from(write->namespace),
		.name = str_from(write->name),
		.uid = str_from(write->uid),
		.outcome = err ? EVICTION_FAILED : EVICTION_ISSUED,
		.now_us = loop_now(reconciler->loop),
	};
	const char *result = err ? "failed" : answer ? "issued" : "gone";

	if (write->type != &api_pods || (err && err->kind == ERROR_FENCED))
		return;
	for (size_t i = 0; err && i < ARRAY_SIZE(outcomes); i++)
		if (outcomes[i].kind == err->kind) {
			eviction.outcome = outcomes[i].outcome;
			result = outcomes[i].result;
		}
	cluster_note_eviction(reconciler->cluster, &eviction);
	metric_add(reconciler->evictions,
		   (const char *const[]){write->namespace, write->reason, result}, 1);
}
