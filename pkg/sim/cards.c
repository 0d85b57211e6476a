/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over the few cards of a node. */
#include "sim/cards.h"

uint64_t cards_first(const struct frag_node *node, const struct frag_ask *ask)
{
	uint64_t cards = 0;
	uint32_t need = ask->gpus;

	for (uint32_t i = 0; i < node->cards && need > 0; i++) {
		if (node->left[i] < ask->gpu_milli)
			continue;
		cards |= UINT64_C(1) << i;
		need--;
	}
	return cards;
}

uint64_t cards_tightest(const struct frag_node *node, const struct frag_ask *ask)
{
	uint32_t best = UINT32_MAX;
	uint64_t cards = 0;

	if (!ask_is_share(ask))
		return cards_first(node, ask);
	for (uint32_t i = 0; i < node->cards; i++) {
		if (node->left[i] < ask->gpu_milli || node->left[i] >= best)
			continue;
		best = node->left[i];
		cards = UINT64_C(1) << i;
	}
	return cards;
}

int64_t cards_left(const struct frag_node *node)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < node->cards; i++)
		sum += node->left[i];
	return sum;
}

uint32_t cards_whole(const struct frag_node *node)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < node->cards; i++)
		n += node->left[i] == FRAG_WHOLE;
	return n;
}
