/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pod of a namespace is asked to go. The receipt is an Event named after the pod's uid: it is
 * written once however often the eviction is tried, and before the first try. What came of the try
 * is told to the cluster, which remembers it until the watch shows it (controller/evict_write.h).
 */
#include "api/body.h"
#include "cluster/ledger/holders.h"
#include "controller/evict_write.h"
#include "controller/quota/turn.h"
#include "controller/writes.h"
#include "plan/limits.h"

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
		.reason = STR(EVICT_REASON),
		.action = STR(EVICT_ACTION),
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
	struct buf note;

	if (!pod)
		return 0;
	if (cluster_evictions_issued(turn->reconciler->cluster, turn->now_us) >= LIMITS_IN_FLIGHT) {
		quota_turn_look_again(turn, turn->now_us + WRITE_WATCH_LAG_US);
		return 0;
	}
	buf_init(&note, LIMIT_EVENT_NOTE);
	add_note(&note, spec, &plan->status, pod);
	int r = write_receipt(turn, identity, buf_str(&note), pod, err);

	if (r == 0)
		recorder_event(turn->reconciler->recorder, &(struct recorder_event){
								   pod_reference(turn, pod),
								   "Warning",
								   EVICT_REASON,
								   EVICT_ACTION,
								   buf_str(&note),
							   });
	buf_clear(&note);
	if (r < 0)
		return -1;
	return evict_write(turn->set,
			   &(struct evict_ask){turn->namespace.name, pod->name, pod->uid, -1,
					       quota_reason_text(exceeded->reason)},
			   err);
}
