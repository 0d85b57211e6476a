/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CMD_AGENT_FLAGS_H
#define GPUQOS_CMD_AGENT_FLAGS_H

#include <stdbool.h>
#include <stdio.h>

#include "agent/sources.h"
#include "base/error.h"
#include "runtime/process.h"

/* The command line of gpuqos-agent. Texts are borrowed from argv, the environment, or static. */
struct flags {
	struct sources_options sources;
	/* With --print */
	bool print, json, ascii;
	/* Without */
	struct process_settings process;
	const char *node_name;       /* NULL: nobody said */
	const char *lease_namespace; /* NULL: the pod's, else the kubeconfig context's */
	const char *kubelet_address, *kubelet_ca_file, *kubelet_server_name; /* agent/agent.h */
	const char *pod_resources;                                           /* likewise */
	int64_t resync_us, spread_us;
};

/* INVALID names the flag. */
int flags_parse(int argc, char **argv, struct flags *ret_flags, enum flag_outcome *ret_outcome,
		struct error *err);

void flags_print_help(FILE *file);

#endif
