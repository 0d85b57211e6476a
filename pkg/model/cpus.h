/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_MODEL_CPUS_H
#define GPUQOS_MODEL_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/str.h"

/* Lists of CPUs as the kernel writes them: "0-23,48". All numbers are below LIMIT_LAYOUT_CPUS. */

struct cpu_range {
	uint16_t first, last;
};

enum cpus_outcome { CPUS_RANGE, CPUS_END, CPUS_BAD };

/* Takes the first range from @list. BAD: what comes next is none; @list is then anything. */
enum cpus_outcome cpus_take(struct str *list, struct cpu_range *ret_range);

/* To be zeroed. */
struct cpu_set {
	uint64_t words[LIMIT_LAYOUT_CPUS / 64];
};

static inline bool cpu_set_has(const struct cpu_set *set, uint32_t cpu)
{
	return set->words[cpu / 64] >> cpu % 64 & 1;
}

/* Adds all that @list names. False: it is none, and what came before that is in the set. */
bool cpu_set_add(struct cpu_set *set, struct str list);

/* Ranges of it in order, as few as there can be. At most @most are written; returns how many there
 * are. */
size_t cpu_set_ranges(const struct cpu_set *set, struct cpu_range *ret_ranges, size_t most);

#endif
