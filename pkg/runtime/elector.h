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
	struct str namespace, name;
	struct lease_options lease;
	void (*on_leading)(void *context);
	void (*on_lost)(void *context);                          /* writes are fenced already */
	void (*on_new_holder)(void *context, struct str holder); /* may be NULL */
	void *context;
	uint64_t seed;
	struct log *log;
};

struct elector;

int elector_new(struct kube_client *client, const struct elector_options *options,
		struct elector **ret_elector, struct error *err);
void elector_free(struct elector *elector);
void elector_start(struct elector *elector);
/* Gives the Lease back; @released is called when that succeeded, failed, or was not needed. */
void elector_release(struct elector *elector, loop_fn released, void *context);
bool elector_leads(const struct elector *elector);
struct str elector_holder(const struct elector *elector);
DEFINE_CLEANUP(struct elector *, elector_free)

#endif
