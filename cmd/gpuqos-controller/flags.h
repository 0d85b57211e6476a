/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CMD_CONTROLLER_FLAGS_H
#define GPUQOS_CMD_CONTROLLER_FLAGS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "controller/config.h"
#include "runtime/process.h"

/* The command line of gpuqos-controller. Texts are borrowed from argv or static. Flags win over
 * --config. */
struct extender_flags {
	const char *address; /* NULL: it is not served */
	const char *cert_file, *key_file, *client_ca_file;
};

struct flags {
	struct process_settings process;
	bool leader_elect;
	const char *lease_namespace; /* NULL: the pod's, else the kubeconfig context's */
	struct extender_flags extender;
	struct controller_config config;
};

/* INVALID names the flag; a --config file that cannot be read or used is named with its path. */
int flags_parse(int argc, char **argv, struct flags *ret_flags, enum flag_outcome *ret_outcome,
		struct error *err);

void flags_print_help(FILE *file);

#endif
