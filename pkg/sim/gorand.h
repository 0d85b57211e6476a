/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_SIM_GORAND_H
#define GPUQOS_SIM_GORAND_H

#include <stdint.h>

/*
 * The generator of Go's math/rand (the one that rand.Seed() starts), number for number: what was
 * published with a seed of it can be played again. An additive lagged Fibonacci generator,
 * y[n] = y[n - 607] + y[n - 273] modulo 2^64, whose start is mixed with a table that Go has as
 * constants; here it is computed, a few ms once.
 */
#define GORAND_LENGTH 607

struct gorand_table {
	uint64_t words[GORAND_LENGTH];
};

struct gorand {
	uint64_t words[GORAND_LENGTH];
	uint32_t tap, feed;
};

void gorand_table_init(struct gorand_table *table);
void gorand_init(struct gorand *rand, const struct gorand_table *table, int64_t seed);

int64_t gorand_int63(struct gorand *rand);
/* As rand.Intn: uniform in [0, bound); @bound from 1 to 2^31 - 1. */
uint32_t gorand_below(struct gorand *rand, uint32_t bound);
/* As rand.Shuffle. */
void gorand_shuffle(struct gorand *rand, uint32_t *items, uint32_t count);
/* As rand.Perm: the numbers below @count. */
void gorand_permute(struct gorand *rand, uint32_t *ret_items, uint32_t count);

#endif
