/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_AMOUNT_H
#define GPUQOS_MODEL_AMOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/*
 * Amounts. Memory is bytes, devices are a count of an extended resource's units, both int64_t and
 * never negative. What is not known is AMOUNT_UNKNOWN, what was not asked for or is not limited is
 * AMOUNT_NONE; neither is 0, and neither may enter a sum.
 */
#define AMOUNT_UNKNOWN (-1LL)
#define AMOUNT_NONE    (-2LL)

#define MIB (1024LL * 1024)
#define GIB (1024LL * MIB)

/* So many units of an extended resource, by its full name ("nvidia.com/gpu"). */
struct resource_amount {
	struct str resource;
	int64_t count;
};

/* For qsort() and bsearch(): by name. */
int resource_amount_compare(const void *a, const void *b);

#define AMOUNT_TEXT_SIZE 24

struct amount_text {
	char text[AMOUNT_TEXT_SIZE];
};

/*
 * Bytes for people: exact where four digits or a whole number of the largest unit say it ("320Gi",
 * "9984Mi", "79.5Gi"), else rounded to one decimal and marked so ("~79.6Gi"). AMOUNT_UNKNOWN is
 * "unknown", AMOUNT_NONE "none". By value, so that several fit into one printf:
 *	amount_text(used).text
 */
struct amount_text amount_text(int64_t bytes);

#endif
