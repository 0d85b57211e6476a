/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The annotation gpuqos.io/topology. A layout that is read holds to what its header promises, and
 * is written so that it reads as equal.
 */
#include <stdlib.h>

#include "api/layout.h"
#include "base/limits.h"
#include "lib/layouts.h"

/* A value that is written is not always as short as it was. */
#define ROOM (8 * LIMIT_LAYOUT)

static void check(bool good)
{
	if (!good)
		abort();
}

static bool is_amount(int64_t amount, int64_t min)
{
	return amount == AMOUNT_UNKNOWN || (amount >= min && amount <= LIMIT_LAYOUT_AMOUNT);
}

static void check_gpu(const struct layout *layout, const struct layout_gpu *gpu)
{
	check(gpu->numa == LAYOUT_NONE || gpu->numa < layout->n_numas);
	check(gpu->bridge == LAYOUT_NONE || gpu->bridge < layout->n_bridges);
	check(is_amount(gpu->memory, 1) && is_amount(gpu->speed, 1));
	check(!str_empty(gpu->pci));
	for (size_t i = 0; i < gpu->n_migs; i++)
		check(gpu->migs[i].count > 0 && is_amount(gpu->migs[i].memory, 1));
}

static void check_layout(const struct layout *layout)
{
	check(layout->n_numas <= LIMIT_LAYOUT_NUMAS && layout->n_gpus <= LIMIT_LAYOUT_GPUS);
	check(layout->n_bridges <= LIMIT_LAYOUT_BRIDGES);
	for (size_t i = 0; i < layout->n_numas; i++)
		check(is_amount(layout->numas[i].memory, 0));
	for (size_t i = 0; layout->distances && i < layout->n_numas * layout->n_numas; i++)
		check(layout->distances[i] >= 10 && layout->distances[i] <= 255);
	for (size_t i = 0; i < layout->n_bridges; i++)
		check(layout->bridges[i].parent == LAYOUT_NONE || layout->bridges[i].parent < i);
	for (size_t i = 0; i < layout->n_gpus; i++)
		check_gpu(layout, &layout->gpus[i]);
	for (size_t i = 0; i < layout->n_links; i++) {
		const struct layout_link *link = &layout->links[i];

		check(link->a < link->b && link->b < layout->n_gpus && link->bandwidth > 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena CLEANUP(arena_clear) = {0};
	struct buf body CLEANUP(buf_clear);
	struct layout layout, again;

	arena_init(&arena, LIMIT_DECODE_ARENA);
	buf_init(&body, ROOM);
	if (api_read_layout((struct str){(const char *)data, size}, &arena, &layout, NULL) < 0)
		return 0;
	check_layout(&layout);
	api_body_layout(&body, &layout);
	check(!body.overflowed);
	if (body.len > LIMIT_LAYOUT)
		return 0;
	check(api_read_layout(buf_str(&body), &arena, &again, NULL) == 0);
	check(layouts_equal(&layout, &again));
	return 0;
}
