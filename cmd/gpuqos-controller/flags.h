/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CMD_CONTROLLER_FLAGS_H
#define GPUQOS_CMD_CONTROLLER_FLAGS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/log.h"
#include "controller/config.h"

/* The command line of gpuqos-controller. Texts are borrowed from argv or static. Flags win over
 * --config. */
struct flags {
	const char *kubeconfig, *context; /* NULL: see kube/config.h */
	bool leader_elect;
	const char *lease_namespace; /* NULL: the pod's, else the kubeconfig context's */
	const char *metrics_address, *health_address; /* "0" turns a server off */
	enum log_level level;
	enum log_format format;
	struct controller_config config;
};

enum flags_outcome { FLAGS_RUN, FLAGS_SHOW_VERSION, FLAGS_SHOW_HELP };

/* INVALID names the flag; a --config file that cannot be read or used is named with its path. */
int flags_parse(int argc, char **argv, struct flags *ret_flags, enum flags_outcome *ret_outcome,
		struct error *err);

void flags_print_help(FILE *file);

#endif
