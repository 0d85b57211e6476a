/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_QUOTA_EVENTS_H
#define GPUQOS_CONTROLLER_QUOTA_EVENTS_H

#include "cluster/read.h"
#include "runtime/recorder.h"

/*
 * Events on the quota: a condition that turned for the worse or became good again
 * (controller/transitions.h), and what its tenant gave, lent or took back.
 * @before may be NULL (no status yet); then only what is wrong is told.
 */
void quota_record_changes(struct recorder *recorder, const struct quota_identity *identity,
			  const struct quota_status *before, const struct quota_status *after);

#endif
