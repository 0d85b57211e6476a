/* SPDX-License-Identifier: Apache-2.0 */
/* An array that grows with the handles. */
#include "controller/moments.h"

#include "base/mem.h"

#define LONG_AGO (INT64_MIN / 2)

void moments_clear(struct moments *moments)
{
	mem_free(moments->at_us);
	*moments = (struct moments){0};
}

int64_t *moments_of(struct moments *moments, uint32_t handle)
{
	size_t had = moments->capacity;

	if (handle >= had) {
		mem_grow((void **)&moments->at_us, &moments->capacity, (size_t)handle + 1,
			 sizeof(int64_t));
		for (size_t i = had; i < moments->capacity; i++)
			moments->at_us[i] = LONG_AGO;
	}
	return &moments->at_us[handle];
}
