/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PACK_EXIT_H
#define GPUQOS_API_PACK_EXIT_H

#include "api/pack_common.h"
#include "api/wire_pod.h"
#include "model/pod.h"

/*
 * facts->exit, of a pod whose owner is in @facts already. Nothing in it makes a pod unreadable:
 * what is odd counts as not said. Inside api only. -1: the arena is full.
 */
int pack_exit(const struct wire_pod *wire, const struct pack *pack, struct pod_facts *facts);

#endif
