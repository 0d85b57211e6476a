/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_SIM_FGD_H
#define GPUQOS_SIM_FGD_H

#include "place/frag.h"

/*
 * Fragmentation as the published runs computed it: the F of place/frag.h in doubles, added up in
 * the order in which their program does, since its score is cut to an integer and so depends on the
 * last bit. For comparison alone: the policy gpuqos uses place/frag.h.
 */
struct fgd {
	struct frag_ask asks[FRAG_ASKS]; /* most frequent first */
	double shares[FRAG_ASKS];        /* of the weight; sum 1 */
	uint32_t count;
};

void fgd_init(struct fgd *fgd, const struct frag_ask *asks, size_t count);

/* F of @node, millicards. */
double fgd_of(const struct fgd *fgd, const struct frag_node *node);

/*
 * The score of @ask on @node, of which @before is F: 0 to 100, floor(100 * sigmoid(decrease /
 * 1000)), and the cards that it is for: of shares the first of the best, whole cards as they come.
 */
int64_t fgd_score(const struct fgd *fgd, const struct frag_node *node, double before,
		  const struct frag_ask *ask, uint64_t *ret_cards);

#endif
