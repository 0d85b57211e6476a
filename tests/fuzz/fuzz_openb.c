/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of nodes and pods from anybody: read or refused, and what was read is within bounds. */
#include <assert.h>

#include "base/macros.h"
#include "cli/openb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(sim_input_clear) struct sim_input input = {0};
	struct str text = {(const char *)data, size};
	struct error err = {0};

	if (openb_add_nodes(&input, text, "nodes", &err) < 0)
		assert(err.kind != ERROR_NONE);
	err = (struct error){0};
	if (openb_add_pods(&input, text, "pods", &err) < 0)
		assert(err.kind != ERROR_NONE);
	for (size_t i = 0; i < input.n_nodes; i++)
		assert(input.nodes[i].gpu.cards <= LIMIT_LAYOUT_GPUS);
	for (size_t i = 0; i < input.n_pods; i++) {
		const struct frag_ask *ask = &input.asks[input.pods[i].ask];

		assert(ask->gpu_milli <= FRAG_WHOLE && ask->gpus <= LIMIT_LAYOUT_GPUS);
		assert((ask->gpus == 0) == (ask->gpu_milli == 0));
	}
	return 0;
}
