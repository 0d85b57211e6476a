/* SPDX-License-Identifier: Apache-2.0 */
/* Cards 0 to 3 are on the first socket, 4 to 7 on the second. */
#include "sim/incident_node.h"

#define SOCKET_CARDS 4
#define FIRST_SOCKET UINT64_C(0x0f)

void incident_node_init(struct incident_node *node, enum layout_policy kubelet)
{
	static const char *const uuids[INCIDENT_CARDS] = {"GPU-0", "GPU-1", "GPU-2", "GPU-3",
							  "GPU-4", "GPU-5", "GPU-6", "GPU-7"};
	static const char *const addresses[INCIDENT_CARDS] = {
		"0000:1b:00.0", "0000:43:00.0", "0000:52:00.0", "0000:61:00.0",
		"0000:9d:00.0", "0000:c3:00.0", "0000:d1:00.0", "0000:df:00.0"};

	*node = (struct incident_node){
		.layout = {.writer = STR("simulated"),
			   .kubelet = {.policy = kubelet, .static_cpu = true},
			   .numas = node->numas,
			   .n_numas = 2,
			   .distances = node->distances,
			   .gpus = node->gpus,
			   .n_gpus = INCIDENT_CARDS},
		.numas = {{.id = 0, .cpus = STR("0-55"), .n_cpus = 56, .memory = INT64_C(1) << 40},
			  {.id = 1,
			   .cpus = STR("56-111"),
			   .n_cpus = 56,
			   .memory = INT64_C(1) << 40}},
		.distances = {10, 21, 21, 10},
	};
	for (uint32_t i = 0; i < INCIDENT_CARDS; i++)
		node->gpus[i] = (struct layout_gpu){.uuid = str_from(uuids[i]),
						    .pci = str_from(addresses[i]),
						    .product = STR("H100"),
						    .index = i,
						    .numa = i / SOCKET_CARDS,
						    .bridge = LAYOUT_NONE,
						    .speed = INT64_C(64000000000),
						    .memory = INT64_C(80) << 30,
						    .sharing = DEVICE_WHOLE,
						    .health = LAYOUT_HEALTH_OK};
}

static uint32_t count_of(uint64_t cards)
{
	return (uint32_t)__builtin_popcountll(cards);
}

static uint64_t draw(uint64_t free, uint32_t count, struct random *random)
{
	uint64_t drawn = 0;

	while (count_of(drawn) < count) {
		uint64_t card = UINT64_C(1) << random_below(random, INCIDENT_CARDS);

		drawn |= card & free;
	}
	return drawn;
}

uint64_t incident_admit(enum layout_policy kubelet, uint64_t free, uint32_t count,
			struct random *random)
{
	const uint64_t sockets[] = {free & FIRST_SOCKET, free & ~FIRST_SOCKET};

	if (kubelet != LAYOUT_POLICY_SINGLE_NUMA)
		return count_of(free) < count ? 0 : draw(free, count, random);
	for (int i = 0; i < 2; i++)
		if (count_of(sockets[i]) >= count)
			return draw(sockets[i], count, random);
	return 0;
}

bool incident_spans(uint64_t cards)
{
	return (cards & FIRST_SOCKET) && (cards & ~FIRST_SOCKET);
}
