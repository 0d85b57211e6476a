/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_EXTENDER_BIND_H
#define GPUQOS_EXTENDER_BIND_H

#include "base/list.h"
#include "base/metrics.h"
#include "http/server.h"

/*
 * The verb that posts. kube-scheduler may know of a pod before we do, since its watch is another
 * than ours: what it has bound too early waits until ours has caught up, and is judged then.
 * Meanwhile nothing is answered. Past BIND_WAIT_US, and at once where BIND_WAITING_MOST wait
 * already, kube-scheduler is told what has not been seen, and brings the pod again.
 */
#define BIND_WAIT_US      USEC_PER_SEC
#define BIND_WAITING_MOST 64

struct extender;

struct bindings {
	struct list waiting; /* for a watch; the oldest first */
	struct list posted;
	size_t n_waiting;
	struct loop_timer look; /* at all that wait */
	struct metric_family *results, *waits;
};

void bindings_init(struct bindings *bindings, struct extender *extender, struct metrics *metrics);
/* Ends what is under way, unanswered. */
void bindings_clear(struct bindings *bindings);
/* In a turn of its own those that wait are judged anew. */
void bindings_look_again(struct bindings *bindings);

/* Answers at once where it comes to no Binding and nothing is waited for, else later. */
void verb_bind(struct extender *extender, const struct http_server_request *request,
	       struct http_server_reply *reply);

#endif
