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
 *
 * kube-scheduler keeps BIND_IDLE_MOST idle connections for bindings, closes those that become idle
 * beyond, and shakes hands anew for the next binding: in a burst, where etcd finishes several at a
 * time, for every other one, at the cost of both sides' processors. So the answer that would make
 * one idle too many is kept until another binding has taken one, for BIND_KEEP_US at most: the pod
 * is bound by then, and no decision waits for the answer.
 */
#define BIND_WAIT_US      USEC_PER_SEC
#define BIND_WAITING_MOST 64
#define BIND_IDLE_MOST    2 /* of Go's http.Transport, unless it is told otherwise */
#define BIND_KEEP_US      (50 * USEC_PER_MSEC)

struct extender;

struct bindings {
	struct list waiting; /* for a watch; the oldest first */
	struct list posted;
	struct list kept;  /* bound, and to be answered; the oldest first */
	unsigned int idle; /* connections, as far as what was asked and answered tells */
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
