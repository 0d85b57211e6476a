/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TOPO_SET_H
#define GPUQOS_TOPO_SET_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A set of the GPUs of one node, as a word: bit i is card i of its layout, of which there are at
 * most LIMIT_LAYOUT_GPUS.
 */
static inline uint64_t topo_set_of(uint32_t card)
{
	return UINT64_C(1) << card;
}

/* The first @n cards. */
static inline uint64_t topo_set_below(uint32_t n)
{
	return n < 64 ? topo_set_of(n) - 1 : UINT64_MAX;
}

static inline bool topo_set_has(uint64_t set, uint32_t card)
{
	return set >> card & 1;
}

static inline uint32_t topo_set_count(uint64_t set)
{
	return (uint32_t)__builtin_popcountll(set);
}

/* Of a set that is not empty. */
static inline uint32_t topo_set_first(uint64_t set)
{
	return (uint32_t)__builtin_ctzll(set);
}

/* Whether @a comes before @b, of equally many cards: by the first card that only one of them has.
 */
static inline bool topo_set_before(uint64_t a, uint64_t b)
{
	uint64_t differ = a ^ b;

	return (a & differ & (~differ + 1)) != 0;
}

/* For each card of @set, in order. */
#define topo_set_for_each(card, set)                                         \
	for (uint64_t left_##card = (set), card = 0;                         \
	     left_##card != 0 && (card = topo_set_first(left_##card), true); \
	     left_##card &= left_##card - 1)

#endif
