/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_RANDOM_H
#define GPUQOS_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/*
 * A small seeded generator (xoshiro256**) for jitter and tests: same seed, same run. Not for
 * secrets: see random_bytes().
 */
struct random {
	uint64_t state[4];
};

void random_init(struct random *random, uint64_t seed);
uint64_t random_u64(struct random *random);
/* Uniform in [0, bound); @bound at least 1. */
uint64_t random_below(struct random *random, uint64_t bound);
/* Uniform in [0, 1). */
double random_unit(struct random *random);
/* @base_us + uniform [0, @base_us * @factor): the jitter of client-go's wait.Jitter. */
int64_t random_jitter(struct random *random, int64_t base_us, double factor);

/* Bytes from the kernel, for seeds and hash keys; ends the program when the kernel has none. */
void random_bytes(void *ret_bytes, size_t len);

#endif
