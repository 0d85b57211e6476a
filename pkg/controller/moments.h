/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CONTROLLER_MOMENTS_H
#define GPUQOS_CONTROLLER_MOMENTS_H

#include <stddef.h>
#include <stdint.h>

/*
 * When something was last done, by handle: what paces. Lost on restart, which costs one early turn
 * each; a handle that names another object by now makes it wait once.
 */
struct moments {
	int64_t *at_us; /* monotonic */
	size_t capacity;
};

void moments_clear(struct moments *moments);
/* Borrowed until the next call. Long ago where nothing was ever done. */
int64_t *moments_of(struct moments *moments, uint32_t handle);

#endif
