/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CMD_KUBECTL_SIMULATE_FLAGS_H
#define GPUQOS_CMD_KUBECTL_SIMULATE_FLAGS_H

#include <stdio.h>

#include "base/flag.h"
#include "cli/simulate.h"

struct simulate_flags {
	const char *nodes, *pods;     /* files; borrowed from argv, as all texts */
	bool openb_nodes, openb_pods; /* these are CSV lists, else dumps of kubectl */
	const char *svg;              /* file to write; NULL: none */
	bool json, picture, ascii;
	bool incident; /* the scenario, in place of lists */
	enum sim_policy policies[SIM_POLICY_COUNT];
	size_t n_policies;
	int64_t first_seed;
	uint32_t n_seeds;
};

/* @argv[0] is the command's own name. INVALID: with what is wrong in words for whoever typed it. */
int simulate_flags_parse(int argc, char **argv, struct simulate_flags *ret_flags,
			 enum flag_outcome *ret_outcome, struct error *err);
void simulate_flags_help(FILE *file);

#endif
