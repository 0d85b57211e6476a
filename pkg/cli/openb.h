/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CLI_OPENB_H
#define GPUQOS_CLI_OPENB_H

#include "base/error.h"
#include "sim/input.h"

/*
 * The node and pod lists of the openb trace (Alibaba's GPU cluster trace v2023), or any list of
 * that form: lines of comma-separated fields without quotes, the first of which names the columns,
 * in any order. Others than these are not looked at:
 *
 *	nodes  cpu_milli, gpu (cards, 0 to 64); may have sn (name), memory_mib, model
 *	pods   cpu_milli, num_gpu, gpu_milli (of each card, 1 to 1000; 0 where num_gpu is);
 *	       may have memory_mib and gpu_spec (models that are good, between '|')
 *
 * Without memory_mib memory is not looked at. Errors name @origin, the line and the column; what
 * was added before stays in @input.
 */
#define OPENB_FIELDS 64         /* in a line */
#define OPENB_AMOUNT 1000000000 /* cpu_milli and memory_mib, most */

int openb_add_nodes(struct sim_input *input, struct str text, const char *origin,
		    struct error *err);
int openb_add_pods(struct sim_input *input, struct str text, const char *origin, struct error *err);

#endif
