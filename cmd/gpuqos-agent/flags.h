/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CMD_AGENT_FLAGS_H
#define GPUQOS_CMD_AGENT_FLAGS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

/* The command line of gpuqos-agent. Texts are borrowed from argv. */
struct flags {
	const char *hwloc_xml; /* NULL: this machine */
	bool json;             /* as the annotation has it, not a picture */
	bool ascii;
};

enum flags_outcome { FLAGS_PRINT, FLAGS_SHOW_VERSION, FLAGS_SHOW_HELP };

/* INVALID says what is wrong; getopt_long() has then not written anything itself. */
int flags_parse(int argc, char **argv, struct flags *ret_flags, enum flags_outcome *ret_outcome,
		struct error *err);

void flags_print_help(FILE *file);

#endif
