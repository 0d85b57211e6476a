/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLI_DUMP_H
#define GPUQOS_CLI_DUMP_H

#include "base/error.h"
#include "sim/input.h"

/*
 * Nodes and pods as `kubectl get -o json` prints them: a List, of which items of other kinds are
 * refused; or the same as YAML, of at most LIMIT_YAML_DOCUMENT bytes.
 *
 *	nodes  allocatable cpu, memory, and nvidia.com/gpu or amd.com/gpu, each unit a card; the
 *	       product by the label nvidia.com/gpu.product
 *	pods   requests of the containers, or of the largest init container where that is more: the
 *	       same resources, whole cards alone; the product by the nodeSelector. A pod without
 *	       requests for CPU or memory asks for none
 *
 * Where pods are bound, and whether they are finished, is not looked at: they are what pods are
 * drawn from. Other resources, shares of cards among them, are not read.
 */
#define DUMP_FILE (256 * 1024 * 1024) /* bytes of a JSON list, most */

int dump_add_nodes(struct sim_input *input, struct str text, const char *origin, struct error *err);
int dump_add_pods(struct sim_input *input, struct str text, const char *origin, struct error *err);

#endif
