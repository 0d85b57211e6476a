/* SPDX-License-Identifier: Apache-2.0 */
/* What kubectl might have printed: read or refused, and what was read is within bounds. */
#include <assert.h>

#include "base/macros.h"
#include "cli/dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(sim_input_clear) struct sim_input input = {0};
	struct str text = {(const char *)data, size};
	struct error err = {0};

	if (dump_add_nodes(&input, text, "nodes", &err) < 0)
		assert(err.kind != ERROR_NONE);
	err = (struct error){0};
	if (dump_add_pods(&input, text, "pods", &err) < 0)
		assert(err.kind != ERROR_NONE);
	for (size_t i = 0; i < input.n_nodes; i++)
		assert(input.nodes[i].gpu.cards <= LIMIT_LAYOUT_GPUS &&
		       input.nodes[i].gpu.cpu_milli >= 0 && input.nodes[i].memory >= 0);
	for (size_t i = 0; i < input.n_asks; i++)
		assert(input.asks[i].gpus <= LIMIT_LAYOUT_GPUS && input.asks[i].cpu_milli >= 0);
	return 0;
}
