/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_RUNTIME_ELECTOR_H
#define GPUQOS_RUNTIME_ELECTOR_H

#include "ctl/lease.h"
#include "kube/client.h"

/*
 * Runs ctl/lease.h against a Lease object on the lease channel, and watches that Lease so that a
 * standby learns at once when it is released. Installs itself as the client's fence: fenced
 * requests pass only while this replica's own renewal is younger than the renew deadline.
 */
struct elector_options {
	struct str namespace, name;        /* of the Lease; borrowed for life */
	struct lease_options lease;        /* its identity is borrowed for life */
	void (*on_leading)(void *context); /* in a turn of the loop, as the two below */
	void (*on_lost)(void *context);    /* writes are fenced already */
	void (*on_new_holder)(void *context, struct str holder); /* may be NULL */
	void *context;
	uint64_t seed;   /* of the candidates' jitter */
	struct log *log; /* borrowed; NULL: silent */
};

struct elector;

/* @client is borrowed for life. INVALID: the timings do not keep their order, or no object can have
 * such a name. */
int elector_new(struct kube_client *client, const struct elector_options *options,
		struct elector **ret_elector, struct error *err);
/* Takes the fence off: nothing fenced is sent any more. The Lease is left to run out. */
void elector_free(struct elector *elector);
void elector_start(struct elector *elector); /* to watch, and to try to lead */
/* Gives the Lease back; @released is called when that succeeded, failed, or was not needed. */
void elector_release(struct elector *elector, loop_fn released, void *context);
bool elector_leads(const struct elector *elector); /* by the clock as it is now */
DEFINE_CLEANUP(struct elector *, elector_free)

#endif
