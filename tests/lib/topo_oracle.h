/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TESTS_TOPO_ORACLE_H
#define GPUQOS_TESTS_TOPO_ORACLE_H

#include "model/layout.h"

/*
 * The definitions of topo/domain.h and topo/score.h, and kubelet's rules, word by word from a
 * layout: slow, and by other ways than those of pkg/topo.
 */
enum oracle_answer { ORACLE_NO, ORACLE_YES, ORACLE_UNKNOWN };

enum oracle_answer oracle_in_one_domain(const struct layout *layout, enum layout_scope scope,
					uint64_t set);

/* The three sums of a set, in the order in which they count. */
struct oracle_score {
	int64_t sums[3];
};

struct oracle_score oracle_score(const struct layout *layout, uint64_t set);
/* < 0, 0, > 0 */
int oracle_compare(const struct oracle_score *a, const struct oracle_score *b);

/*
 * Whether kubelet's device manager gives a hint for @count of the @free cards that its policy
 * admits: by all masks of NUMA nodes, as kubelet goes through them.
 */
bool oracle_admits(const struct layout *layout, uint64_t free, uint32_t count);

#endif
