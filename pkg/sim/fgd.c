/* SPDX-License-Identifier: Apache-2.0 */
/* Seven sums, one for each reason why an ask leaves something unused, of which six are the F. */
#include "sim/fgd.h"

#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "base/mem.h"
#include "sim/cards.h"

enum quarter { LACKS_BOTH, LACKS_GPU, SATISFIED, LACKS_CPU, NO_GPU, NO_GPU_LACKS_CPU, NO_ACCESS };
#define QUARTERS 7

void fgd_init(struct fgd *fgd, const struct frag_ask *asks, size_t count)
{
	struct frag_ask *all CLEANUP(mem_free) = mem_alloc_array(count, sizeof(*all));
	double total = 0, kept = 0;

	*fgd = (struct fgd){0};
	if (count == 0)
		return;
	memcpy(all, asks, count * sizeof(*all));
	for (size_t i = 0; i < count; i++)
		total += all[i].weight;
	fgd->count = (uint32_t)frag_usual(all, count);
	memcpy(fgd->asks, all, fgd->count * sizeof(*all));
	for (uint32_t i = 0; i < fgd->count; i++)
		kept += fgd->asks[i].weight;
	for (uint32_t i = 0; i < fgd->count; i++) {
		fgd->shares[i] = fgd->asks[i].weight / total;
		if (kept < total)
			fgd->shares[i] /= kept / total;
	}
}

static uint32_t left_of(const struct frag_node *node, uint32_t below, uint32_t *ret_too_small)
{
	uint32_t sum = 0;

	*ret_too_small = 0;
	for (uint32_t i = 0; i < node->cards; i++) {
		sum += node->left[i];
		if (node->left[i] < below)
			*ret_too_small += node->left[i];
	}
	return sum;
}

static uint32_t cards_for(const struct frag_node *node, const struct frag_ask *ask)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < node->cards; i++)
		n += node->left[i] >= ask->gpu_milli;
	return n;
}

static enum quarter quarter_of(const struct frag_node *node, const struct frag_ask *ask)
{
	bool cpu = node->cpu_milli >= ask->cpu_milli;

	if (ask->gpu_milli == 0)
		return cpu ? NO_GPU : NO_GPU_LACKS_CPU;
	if (ask->products != 0 && (ask->products & node->product) == 0)
		return NO_ACCESS;
	if (cards_for(node, ask) >= ask->gpus)
		return cpu ? SATISFIED : LACKS_CPU;
	return cpu ? LACKS_GPU : LACKS_BOTH;
}

double fgd_of(const struct fgd *fgd, const struct frag_node *node)
{
	double sums[QUARTERS] = {0};

	for (uint32_t i = 0; i < fgd->count; i++) {
		const struct frag_ask *ask = &fgd->asks[i];
		enum quarter quarter = quarter_of(node, ask);
		uint32_t too_small, total = left_of(node, ask->gpu_milli, &too_small);

		if (quarter == SATISFIED)
			sums[LACKS_GPU] += fgd->shares[i] * too_small;
		else
			sums[quarter] += fgd->shares[i] * total;
	}
	return sums[LACKS_BOTH] + sums[LACKS_GPU] + sums[LACKS_CPU] + sums[NO_GPU] +
	       sums[NO_GPU_LACKS_CPU] + sums[NO_ACCESS];
}

static int64_t score_on(const struct fgd *fgd, const struct frag_node *node, double before,
			const struct frag_ask *ask, uint64_t cards)
{
	struct frag_node after = *node;
	double decrease;

	frag_take(&after, ask, cards);
	decrease = (before - fgd_of(fgd, &after)) / 1000;
	return (int64_t)(1.0 / (1.0 + exp(-decrease)) * 100.0);
}

int64_t fgd_score(const struct fgd *fgd, const struct frag_node *node, double before,
		  const struct frag_ask *ask, uint64_t *ret_cards)
{
	int64_t best = -1;

	if (!ask_is_share(ask)) {
		*ret_cards = cards_first(node, ask);
		return score_on(fgd, node, before, ask, *ret_cards);
	}
	for (uint32_t i = 0; i < node->cards; i++) {
		int64_t score;

		if (node->left[i] < ask->gpu_milli)
			continue;
		score = score_on(fgd, node, before, ask, UINT64_C(1) << i);
		if (score > best) {
			best = score;
			*ret_cards = UINT64_C(1) << i;
		}
	}
	return best;
}
