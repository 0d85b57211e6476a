/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_LEADER_LABEL_H
#define GPUQOS_CONTROLLER_LEADER_LABEL_H

#include "base/log.h"
#include "kube/client.h"

/*
 * The label gpuqos.io/role=leader, by which a Service finds the one replica that answers. Only a
 * leader touches it: a new leader takes it off every other pod of its namespace and puts it on its
 * own, looks again from time to time, and takes its own off before it gives the Lease back. A
 * leader that died keeps the label until the next one leads: it is not asked about, since it is
 * gone.
 */
struct leader_label;

struct leader_label *leader_label_new(struct kube_client *client, struct str namespace,
				      struct str pod, struct log *log);
void leader_label_free(struct leader_label *label);

/*
 * The resourceVersion of our own pod with the label on, as last answered; 0: not since we lead. All
 * that an earlier leader wrote is older.
 */
uint64_t leader_label_version(const struct leader_label *label);

void leader_label_lead(struct leader_label *label); /* puts it right now, and again every minute */
void leader_label_lost(struct leader_label *label); /* stops; writes nothing */
/* Takes it off our own pod; @done when that ended either way. */
void leader_label_retire(struct leader_label *label, loop_fn done, void *context);

DEFINE_CLEANUP(struct leader_label *, leader_label_free)

#endif
