/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the simulated world's hardware and of what pods ask for. */
#include "lib/world_sources.h"

#include "base/macros.h"

const struct str world_resource_names[WORLD_RESOURCES] = {
#define X(name, text) [WORLD_##name] = {text, sizeof(text) - 1},
	WORLD_RESOURCES_X(X)
#undef X
};

const struct str world_product_names[WORLD_PRODUCTS] = {
	[WORLD_NO_PRODUCT] = {"", 0},
	[WORLD_H100] = {"NVIDIA-H100", 11},
	[WORLD_A100] = {"NVIDIA-A100", 11},
	[WORLD_H100_MIG] = {"NVIDIA-H100-MIG-1g.10gb", 23},
	[WORLD_H100_SHARED] = {"NVIDIA-H100-SHARED", 18},
	[WORLD_MI300] = {"MI300X", 6},
	[WORLD_NPU] = {"NPU", 3},
	[WORLD_ACCELERATOR] = {"ACCELERATOR", 11},
};

int world_resource_of(struct str name)
{
	for (int r = 0; r < WORLD_RESOURCES; r++)
		if (str_equal(name, world_resource_names[r]))
			return r;
	return WORLD_NONE;
}

#define H100_CARD (80 * GIB)
#define A100_CARD (40 * GIB)
/* A small partition has less than its name says. */
#define SMALL (9984 * MIB)
#define LARGE (40448 * MIB)

#define OFFER(resource, product, unit, sharing)                                                 \
	{                                                                                       \
		WORLD_##resource, WORLD_##product, unit, 0, DEVICE_##sharing, MEMORY_FROM_LABEL \
	}
#define CUT(resource, product, unit, source)                                                     \
	{                                                                                        \
		WORLD_##resource, WORLD_##product, unit, MIB, DEVICE_WHOLE, MEMORY_FROM_##source \
	}
/* KAI cuts whatever cards are whole. */
#define KAI(product, card)                         \
	OFFER(KAI_MEMORY, product, MIB, FRACTION), \
		OFFER(KAI_FRACTION, product, (card) / 1000, FRACTION)

const struct world_profile world_profiles[WORLD_PROFILES] = {
	[WORLD_NODE_H100] =
		{"H100", 3, 0, {OFFER(GPU, H100, H100_CARD, WHOLE), KAI(H100, H100_CARD)}, {{0}}},
	[WORLD_NODE_A100] =
		{"A100", 3, 0, {OFFER(GPU, A100, A100_CARD, WHOLE), KAI(A100, A100_CARD)}, {{0}}},
	[WORLD_NODE_MIXED] = {"MIG mixed",
			      5,
			      0,
			      {OFFER(GPU, H100, H100_CARD, WHOLE),
			       OFFER(MIG_SMALL, H100, SMALL, MIG),
			       OFFER(MIG_LARGE, H100, LARGE, MIG), KAI(H100, H100_CARD)},
			      {{0}}},
	[WORLD_NODE_SINGLE] = {"MIG single", 1, 0, {OFFER(GPU, H100_MIG, SMALL, MIG)}, {{0}}},
	[WORLD_NODE_SLICED] = {"time slicing",
			       1,
			       0,
			       {OFFER(SHARED, H100_SHARED, H100_CARD / 4, TIME_SLICED)},
			       {{0}}},
	[WORLD_NODE_MPS] = {"MPS", 1, 0, {OFFER(GPU, H100_SHARED, H100_CARD / 2, MPS)}, {{0}}},
	[WORLD_NODE_HAMI] = {"HAMi",
			     5,
			     0,
			     {CUT(GPU, H100, H100_CARD, HAMI),
			      OFFER(HAMI_MEMORY, H100, MIB, FRACTION),
			      OFFER(HAMI_PERCENT, H100, H100_CARD / 100, FRACTION),
			      KAI(H100, H100_CARD)},
			     {{0}}},
	[WORLD_NODE_VOLCANO] = {"Volcano",
				3,
				0,
				{CUT(VOLCANO, H100, H100_CARD, VOLCANO),
				 OFFER(VOLCANO_MEMORY, H100, MIB, FRACTION),
				 OFFER(VOLCANO_PERCENT, H100, H100_CARD / 100, FRACTION)},
				{{0}}},
	[WORLD_NODE_KOORDINATOR] = {"Koordinator",
				    2,
				    0,
				    {OFFER(KOORDINATOR_MEMORY, A100, 1, FRACTION),
				     OFFER(KOORDINATOR_RATIO, A100, A100_CARD / 100, FRACTION)},
				    {{0}}},
	[WORLD_NODE_AMD] = {"AMD", 1, 0, {OFFER(AMD, MI300, 192 * GIB, WHOLE)}, {{0}}},
	[WORLD_NODE_TABLE] = {"the table", 1, 0, {OFFER(TABLE, NPU, 32 * GIB, WHOLE)}, {{0}}},
	[WORLD_NODE_UNLABELLED] =
		{"unlabelled", 1, 0, {OFFER(GPU, NO_PRODUCT, AMOUNT_UNKNOWN, WHOLE)}, {{0}}},
	[WORLD_NODE_DRA] = {"DRA",
			    0,
			    3,
			    {{0}},
			    {{0, WORLD_H100, H100_CARD},
			     {0, WORLD_H100, H100_CARD},
			     {1, WORLD_H100, SMALL}}},
	[WORLD_NODE_ACCELERATOR] = {"DRA by extended resource",
				    0,
				    2,
				    {{0}},
				    {{2, WORLD_ACCELERATOR, 24 * GIB},
				     {2, WORLD_ACCELERATOR, 24 * GIB}}},
	[WORLD_NODE_NETWORK] = {"network cards by DRA",
				0,
				2,
				{{0}},
				{{3, WORLD_NO_PRODUCT, AMOUNT_NONE},
				 {3, WORLD_NO_PRODUCT, AMOUNT_NONE}}},
};

const struct world_class_text world_classes[WORLD_CLASSES] = {
	{"gpu.nvidia.com", "gpu.nvidia.com", "gpu", NULL, WORLD_CLASS_CARD, false},
	{"mig.nvidia.com", "gpu.nvidia.com", "mig", NULL, WORLD_CLASS_SLICE, false},
	{"accelerator", "acc.example.com", "gpu", "example.com/accelerator", WORLD_CLASS_EXTENDED,
	 false},
	{"nic", "dra.net", "", NULL, WORLD_CLASS_FREE, true},
};

#define UNITS(resource, count)                         \
	{                                              \
		WORLD_##resource, count, WORLD_NONE, 0 \
	}
#define PART(resource, count, device, devices)                   \
	{                                                        \
		WORLD_##resource, count, WORLD_##device, devices \
	}
#define SIMPLE(name, resource, count)                                                    \
	{                                                                                \
		name, 1, 0, 1, {{CONTAINER_NORMAL, 1, {UNITS(resource, count)}}}, {{0}}, \
			{{WORLD_##resource, count}}, false                               \
	}

const struct world_shape world_shapes[WORLD_SHAPES] = {
	SIMPLE("a card", GPU, 1),
	SIMPLE("two cards", GPU, 2),
	{"two cards to start and one to run, beside a sidecar",
	 3,
	 0,
	 1,
	 {{CONTAINER_SIDECAR, 1, {UNITS(GPU, 1)}},
	  {CONTAINER_INIT, 1, {UNITS(GPU, 2)}},
	  {CONTAINER_NORMAL, 1, {UNITS(GPU, 1)}}},
	 {{0}},
	 {{WORLD_GPU, 3}},
	 false},
	{"a card and a MIG slice",
	 2,
	 0,
	 2,
	 {{CONTAINER_NORMAL, 1, {UNITS(GPU, 1)}}, {CONTAINER_NORMAL, 1, {UNITS(MIG_SMALL, 1)}}},
	 {{0}},
	 {{WORLD_GPU, 1}, {WORLD_MIG_SMALL, 1}},
	 false},
	SIMPLE("two small MIG slices", MIG_SMALL, 2),
	SIMPLE("a large MIG slice", MIG_LARGE, 1),
	SIMPLE("a time slice", SHARED, 1),
	SIMPLE("three time slices", SHARED, 3),
	{"8192Mi by HAMi",
	 1,
	 0,
	 2,
	 {{CONTAINER_NORMAL, 1, {PART(HAMI_MEMORY, 8192, GPU, 1)}}},
	 {{0}},
	 {{WORLD_HAMI_MEMORY, 8192}, {WORLD_GPU, 1}},
	 false},
	{"3000Mi of each of two cards by HAMi",
	 1,
	 0,
	 2,
	 {{CONTAINER_NORMAL, 1, {PART(HAMI_MEMORY, 6000, GPU, 2)}}},
	 {{0}},
	 {{WORLD_HAMI_MEMORY, 3000}, {WORLD_GPU, 2}},
	 false},
	{"a quarter of each of two cards by HAMi",
	 1,
	 0,
	 2,
	 {{CONTAINER_NORMAL, 1, {PART(HAMI_PERCENT, 50, GPU, 2)}}},
	 {{0}},
	 {{WORLD_HAMI_PERCENT, 25}, {WORLD_GPU, 2}},
	 false},
	{"10240Mi by Volcano",
	 1,
	 0,
	 2,
	 {{CONTAINER_NORMAL, 1, {PART(VOLCANO_MEMORY, 10240, VOLCANO, 1)}}},
	 {{0}},
	 {{WORLD_VOLCANO_MEMORY, 10240}, {WORLD_VOLCANO, 1}},
	 false},
	{"30 hundredths by Volcano",
	 1,
	 0,
	 2,
	 {{CONTAINER_NORMAL, 1, {PART(VOLCANO_PERCENT, 30, VOLCANO, 1)}}},
	 {{0}},
	 {{WORLD_VOLCANO_PERCENT, 30}, {WORLD_VOLCANO, 1}},
	 false},
	SIMPLE("8Gi by Koordinator", KOORDINATOR_MEMORY, 8 * GIB),
	SIMPLE("half a card by Koordinator", KOORDINATOR_RATIO, 50),
	{"4096Mi by KAI", 0, 1, 0, {{0}}, {PART(KAI_MEMORY, 4096, GPU, 1)}, {{0}}, false},
	{"half of each of two cards by KAI",
	 0,
	 1,
	 0,
	 {{0}},
	 {PART(KAI_FRACTION, 1000, GPU, 2)},
	 {{0}},
	 false},
	SIMPLE("an AMD card", AMD, 1),
	SIMPLE("a device of the table", TABLE, 1),
	SIMPLE("a DRA device by extended resource", CLASS_EXTENDED, 1),
	{"a DRA device by a template", 0, 0, 0, {{0}}, {{0}}, {{0}}, true},
};

/* --- Kubernetes' formula */

struct pair {
	struct world_ask ask;
	int64_t normal[2], sidecars[2], peak[2], own[2]; /* of counts, of devices */
};

static struct pair *pair_of(struct pair pairs[4], int *n, const struct world_ask *ask)
{
	for (int i = 0; i < *n; i++)
		if (pairs[i].ask.resource == ask->resource && pairs[i].ask.device == ask->device)
			return &pairs[i];
	pairs[*n] = (struct pair){.ask = *ask};
	return &pairs[(*n)++];
}

static void add(struct pair *pair, enum container_kind kind, const int64_t amounts[2])
{
	for (int k = 0; k < 2; k++) {
		if (kind == CONTAINER_NORMAL)
			pair->normal[k] += amounts[k];
		else if (kind == CONTAINER_SIDECAR)
			pair->sidecars[k] += amounts[k];
		else
			pair->peak[k] = MAX(pair->peak[k], amounts[k] + pair->sidecars[k]);
	}
}

int world_shape_asks(const struct world_shape *shape, struct world_ask ret_asks[4])
{
	struct pair pairs[4];
	int n = 0;

	for (int c = 0; c < shape->n_containers; c++)
		for (int i = 0; i < shape->containers[c].n; i++) {
			const struct world_ask *ask = &shape->containers[c].asks[i];
			const int64_t amounts[2] = {ask->count, ask->devices};

			add(pair_of(pairs, &n, ask), shape->containers[c].kind, amounts);
		}
	for (int i = 0; i < shape->n_own; i++) {
		struct pair *pair = pair_of(pairs, &n, &shape->own[i]);

		pair->own[0] += shape->own[i].count;
		pair->own[1] += shape->own[i].devices;
	}
	for (int i = 0; i < n; i++) {
		const struct pair *p = &pairs[i];

		ret_asks[i] = p->ask;
		ret_asks[i].count = MAX(p->normal[0] + p->sidecars[0], p->peak[0]) + p->own[0];
		ret_asks[i].devices = MAX(p->normal[1] + p->sidecars[1], p->peak[1]) + p->own[1];
	}
	return n;
}
