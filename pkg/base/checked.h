/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_BASE_CHECKED_H
#define GPUQOS_BASE_CHECKED_H

#include <stdint.h>

/*
 * Arithmetic on amounts that stops at the ends of int64_t, for sums where "more than can be
 * counted" must stay more than any limit.
 */
static inline int64_t saturating_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (!__builtin_add_overflow(a, b, &sum))
		return sum;
	return b > 0 ? INT64_MAX : INT64_MIN;
}

static inline int64_t saturating_sub(int64_t a, int64_t b)
{
	int64_t difference;

	if (!__builtin_sub_overflow(a, b, &difference))
		return difference;
	return b < 0 ? INT64_MAX : INT64_MIN;
}

static inline int64_t saturating_mul(int64_t a, int64_t b)
{
	int64_t product;

	if (!__builtin_mul_overflow(a, b, &product))
		return product;
	return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

#endif
