/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_API_PACK_DEMAND_H
#define GPUQOS_API_PACK_DEMAND_H

#include "api/wire.h"
#include "model/host.h"

/*
 * What a pod takes of its node beside GPUs, and what a node has of that. What a container does not
 * request it takes by its limits, as the API server fills in. What is no quantity is taken for the
 * most, so that nothing is thought to be left beside it. Inside api only.
 */
struct demand pack_demand(const struct wire_pod_spec *spec);
struct host_facts pack_host(const struct wire_node *wire);

#endif
