/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_NODES_H
#define GPUQOS_CONTROLLER_NODES_H

#include "cluster/cluster.h"
#include "loop/loop.h"
#include "runtime/recorder.h"
#include "runtime/reflector.h"

/*
 * What is told of nodes: an Event where a node that has GPUs comes to be of unknown layout, with
 * the reason, and one when it is known again; that nobody ever published one is no news. Of pods:
 * one where cards do not lie as is required (place/check.h), once for each pod and node. Who begins
 * to lead tells anew what is wrong.
 *
 * It also lets the Leases of agents run out: looked at every few seconds, however often they are
 * renewed. While the watch of Leases is down, or this process did not run, nobody's time runs.
 */
struct nodes {
	struct cluster *cluster; /* borrowed, all of them */
	struct recorder *recorder;
	const struct reflector *leases;
	struct loop *loop;
	void (*touched)(void *context); /* nodes may be to be looked at */
	void *context;
	struct loop_timer timer;
	int64_t looked_us; /* monotonic: at the Leases, last */
};

/* After its borrowed fields are set. */
void nodes_start(struct nodes *nodes);
void nodes_clear(struct nodes *nodes);

/* Takes all nodes that are to be looked at. @tells: else nothing is told, as who does not lead. */
void nodes_look(struct nodes *nodes, bool tells);

#endif
