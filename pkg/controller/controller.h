/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_CONTROLLER_H
#define GPUQOS_CONTROLLER_CONTROLLER_H

#include "base/log.h"
#include "base/metrics.h"
#include "cluster/cluster.h"
#include "controller/config.h"
#include "kube/client.h"
#include "runtime/recorder.h"

/*
 * The whole controller: caches that follow the API server, the cluster they fill, the election, and
 * the reconcilers. Every replica keeps its caches warm; writes begin when this one leads, its
 * caches are full and a recount of the ledger has been made, and end when it stops leading.
 */
struct controller;

struct controller_options {
	const struct controller_config *config; /* borrowed for life */
	const char *identity;                   /* of this replica in the Lease; unique per start */
	bool leader_elect; /* false: it leads from the start; for one replica only */
	struct str lease_namespace;
	struct str pod_namespace, pod_name; /* of our own pod, which gets the leader's label; empty
					       outside a cluster */
	/* Watches have changed the cluster, or controller_may_answer() has become false. For taking
	 * note alone: in the middle of a turn. May be NULL. */
	loop_fn changed;
	void *context; /* of changed */
	struct log *log;
	struct metrics *metrics;
	uint64_t seed;
};

/* INVALID for lease timings out of order. */
int controller_new(struct kube_client *client, const struct controller_options *options,
		   struct controller **ret_controller, struct error *err);
void controller_free(struct controller *controller);
void controller_start(struct controller *controller);

/* Takes the leader's label off, gives the Lease back, and calls @stopped; the caller bounds how
 * long it waits for that. */
void controller_stop(struct controller *controller, loop_fn stopped, void *context);

/* What the scheduler's extender works with. Borrowed, for as long as the controller lives. */
struct controller_parts {
	struct cluster *cluster;
	struct recorder *recorder;
	struct hash_key hash_key;
};

struct controller_parts controller_parts(const struct controller *controller);

/*
 * Whether what this replica knows is the truth: it leads, what it has counted is complete, and its
 * caches have shown all that an earlier leader did. @controller: a struct controller.
 */
bool controller_may_answer(void *controller);
/* The cluster was changed. @controller likewise. */
void controller_touched(void *controller);

/* One line per check ("[+] cache pods: complete, heard 3 s ago"), and whether all hold. */
bool controller_ready(const struct controller *controller, struct buf *text);
/* Alive: work that is due makes progress. */
bool controller_healthy(const struct controller *controller, struct buf *text);

DEFINE_CLEANUP(struct controller *, controller_free)

#endif
