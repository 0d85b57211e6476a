/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_PORT_H
#define GPUQOS_MODEL_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/*
 * A port of its node that a pod has for itself, as kube-scheduler compares them (its plugin
 * NodePorts; HostPortInfo of k8s.io/kube-scheduler/framework). Borrowed.
 */
struct host_port {
	struct str ip;       /* HOST_PORT_ALL: of all addresses */
	struct str protocol; /* "TCP" */
	int32_t number;      /* 1 to 65535; HOST_PORT_ANY: nobody knows which */
};

#define HOST_PORT_ALL "0.0.0.0"
#define HOST_PORT_ANY 0

/* Whether two pods cannot have them on one node. Addresses are compared as texts. */
bool host_ports_clash(const struct host_port *a, const struct host_port *b);

#endif
