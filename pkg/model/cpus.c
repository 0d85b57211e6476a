/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of CPUs, read; sets of them as bits, since ranges may come in any order. */
#include "model/cpus.h"

enum cpus_outcome cpus_take(struct str *list, struct cpu_range *ret_range)
{
	struct str range, from, to;
	int64_t first, last;

	if (str_empty(*list))
		return CPUS_END;
	if (str_split(*list, ',', &range, list) && str_empty(*list))
		return CPUS_BAD; /* ends with a comma */
	if (!str_split(range, '-', &from, &to))
		to = from;
	if (!str_to_int64(from, 0, LIMIT_LAYOUT_CPUS - 1, &first) ||
	    !str_to_int64(to, first, LIMIT_LAYOUT_CPUS - 1, &last))
		return CPUS_BAD;
	*ret_range = (struct cpu_range){(uint16_t)first, (uint16_t)last};
	return CPUS_RANGE;
}

bool cpu_set_add(struct cpu_set *set, struct str list)
{
	struct cpu_range range;
	enum cpus_outcome outcome;

	while ((outcome = cpus_take(&list, &range)) == CPUS_RANGE)
		for (uint32_t cpu = range.first; cpu <= range.last; cpu++)
			set->words[cpu / 64] |= UINT64_C(1) << cpu % 64;
	return outcome == CPUS_END;
}

size_t cpu_set_ranges(const struct cpu_set *set, struct cpu_range *ret_ranges, size_t most)
{
	uint32_t first = 0;
	bool inside = false;
	size_t n = 0;

	for (uint32_t cpu = 0; cpu <= LIMIT_LAYOUT_CPUS; cpu++) {
		bool has = cpu < LIMIT_LAYOUT_CPUS && cpu_set_has(set, cpu);

		if (!inside && cpu < LIMIT_LAYOUT_CPUS && set->words[cpu / 64] == 0) {
			cpu |= 63;
			continue;
		}
		if (has && !inside)
			first = cpu;
		if (!has && inside && n++ < most)
			ret_ranges[n - 1] =
				(struct cpu_range){(uint16_t)first, (uint16_t)(cpu - 1)};
		inside = has;
	}
	return n;
}
