/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts stay far below what an int64_t holds. */
#include "model/demand.h"

#include "base/macros.h"

struct demand demand_unknown(void)
{
	struct demand demand;

	for (size_t i = 0; i < DEMAND_COUNT; i++)
		demand.of[i] = DEMAND_MOST;
	return demand;
}

void demand_add(struct demand *sum, const struct demand *more)
{
	for (size_t i = 0; i < DEMAND_COUNT; i++)
		sum->of[i] = MIN(sum->of[i] + more->of[i], DEMAND_MOST);
}

void demand_raise(struct demand *most, const struct demand *other)
{
	for (size_t i = 0; i < DEMAND_COUNT; i++)
		most->of[i] = MAX(most->of[i], other->of[i]);
}
