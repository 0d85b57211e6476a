/* SPDX-License-Identifier: Apache-2.0 */
/* The eviction of one pod, and a table of what the API server may say to it. */
#include "controller/evict_write.h"

#include "api/body.h"
#include "base/macros.h"
#include "controller/writes.h"

#define SUBRESOURCE "eviction"

struct metric_family *evict_metric(struct metrics *metrics)
{
	static const char *const labels[] = {"namespace", "reason", "result", NULL};

	return metrics ? metrics_counter(metrics, "gpuqos_evictions_total",
					 "Evictions asked for, and what came of it.", labels)
		       : NULL;
}

int evict_write(struct work_set *set, const struct evict_ask *ask, struct error *err)
{
	struct work_write *write;
	struct buf body;

	buf_init(&body, LIMIT_JSON_OUTPUT);
	api_body_eviction(&body, ask->namespace, ask->name, ask->uid, ask->grace_s);
	write = work_set_add(set, KUBE_CREATE, &api_pods, ask->namespace, ask->name);
	write->subresource = SUBRESOURCE;
	write->missing_is_fine = true;
	write->may_fail = true;
	write->reason = ask->reason;
	work_write_set_uid(write, ask->uid);
	return write_give_body(write, &body, err);
}

/*
 * kind of the error, what the cluster is told, the metric's label. A pod of another uid by now
 * (409) is one that this uid will not be found again.
 */
static const struct {
	enum error_kind kind;
	enum eviction_outcome outcome;
	const char *result;
} outcomes[] = {
	{ERROR_BUDGET, EVICTION_BUDGET, "budget"},
	{ERROR_CONFLICT, EVICTION_FAILED, "changed"},
	{ERROR_FORBIDDEN, EVICTION_FORBIDDEN, "forbidden"},
	{ERROR_THROTTLED, EVICTION_THROTTLED, "throttled"},
};

bool evict_written(const struct evict_books *books, const struct work_write *write,
		   const struct kube_answer *answer, const struct error *err)
{
	struct eviction eviction = {
		.namespace = str_from(write->namespace),
		.name = str_from(write->name),
		.uid = str_from(write->uid),
		.outcome = err ? EVICTION_FAILED : EVICTION_ISSUED,
		.now_us = books->now_us,
	};
	const char *result = err ? "failed" : answer ? "issued" : "gone";

	if (write->type != &api_pods || !write->subresource)
		return false;
	if (err && err->kind == ERROR_FENCED)
		return true;
	for (size_t i = 0; err && i < ARRAY_SIZE(outcomes); i++)
		if (outcomes[i].kind == err->kind) {
			eviction.outcome = outcomes[i].outcome;
			result = outcomes[i].result;
		}
	if (write_is_unanswered(err)) {
		/* it may go all the same: no second pod is to go for the same bytes */
		eviction.outcome = EVICTION_UNANSWERED;
		result = "unanswered";
	}
	cluster_note_eviction(books->cluster, &eviction);
	metric_add(books->metric, (const char *const[]){write->namespace, write->reason, result},
		   1);
	return true;
}
