/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_SIM_CARDS_H
#define GPUQOS_SIM_CARDS_H

#include "place/frag.h"

/* How the published policies choose cards of a node on which an ask fits. */

static inline bool ask_is_share(const struct frag_ask *ask)
{
	return ask->gpus == 1 && ask->gpu_milli < FRAG_WHOLE;
}

/* The first cards that have enough left. */
uint64_t cards_first(const struct frag_node *node, const struct frag_ask *ask);

/* A share: the first of those with the least left; else cards_first(). */
uint64_t cards_tightest(const struct frag_node *node, const struct frag_ask *ask);

/* Millicards free on all cards, and cards of which all is free. */
int64_t cards_left(const struct frag_node *node);
uint32_t cards_whole(const struct frag_node *node);

#endif
