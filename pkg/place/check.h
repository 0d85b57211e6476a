/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PLACE_CHECK_H
#define GPUQOS_PLACE_CHECK_H

#include "cluster/looks.h"

/*
 * Afterwards: whether the cards that kubelet gave to a pod lie as its topology policy asks. Pure.
 *
 * Where the policy is None, or onMismatch Ignore, and of pods that hold nothing (yet, or no more),
 * nothing is checked. One device lies in one domain whichever it is; of several it must be known
 * which they are and how their node is wired. What is known to span does so whatever is not known.
 */
enum topology_check place_check(const struct cluster_held *held);

#endif
