/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent reads: kubelet's /configz, and its Node in either encoding. */
#include <stdlib.h>

#include "api/agent.h"
#include "base/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = {(const char *)data, size};
	struct arena arena CLEANUP(arena_clear) = {0};
	struct layout_kubelet kubelet;
	struct agent_node node;

	arena_init(&arena, LIMIT_DECODE_ARENA);
	if (api_read_configz(text, &arena, &kubelet, NULL) == 0 &&
	    kubelet.policy > LAYOUT_POLICY_SINGLE_NUMA)
		abort();
	for (int protobuf = 0; protobuf < 2; protobuf++)
		if (api_read_agent_node((struct api_bytes){text, protobuf}, &arena, &node, NULL) ==
			    0 &&
		    node.address.len > size)
			abort();
	return 0;
}
