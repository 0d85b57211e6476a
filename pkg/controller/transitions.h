/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_TRANSITIONS_H
#define GPUQOS_CONTROLLER_TRANSITIONS_H

#include "model/quota.h"
#include "runtime/recorder.h"

/*
 * An Event on an object for each of its conditions that turned for the worse or became good again:
 * what `kubectl describe` shows beside the conditions. What is merely on its way (Pending) is no
 * news.
 */
struct transitions {
	struct body_reference object;
	const struct condition *before; /* NULL: no status yet; then only what is wrong is told */
	const struct condition *after;
	const enum condition_status *bad; /* which status of each is the bad one */
	size_t n;
};

void transitions_record(struct recorder *recorder, const struct transitions *transitions);

#endif
