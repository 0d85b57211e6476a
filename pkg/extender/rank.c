/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes are better. The best of many are kept in a heap whose root is the worst of them, so
 * that each other node is compared with that one alone. It becomes a heap once it is full.
 */
#include "base/macros.h"
#include "extender/internal.h"

int64_t rank_total(struct extender *extender, const struct soft_set *taken, uint32_t node)
{
	int64_t total;

	if (node == TABLE_NONE)
		return -PLACE_TOTAL_MOST;
	total = place_score(&extender->place, node).total;
	return soft_set_has(taken, node) ? total - PLACE_TOTAL_MOST : total;
}

int64_t rank_least(const struct extender *extender, int64_t best)
{
	const struct extender_options *options = &extender->options;
	const struct placement_weights *weights = options->weights;
	int64_t most =
		(weights->alignment + weights->nvlink + weights->pcie + weights->fragmentation) *
		PLACE_TERM_MOST;

	if (options->margin >= PLACEMENT_MARGIN_MOST)
		return INT64_MIN;
	return best - most / PLACEMENT_MARGIN_MOST * options->margin;
}

/* Of equals the one that was named first is better: kube-scheduler names zones in turn. */
static bool is_worse(const struct ranked *a, const struct ranked *b)
{
	return a->total != b->total ? a->total < b->total : a->at > b->at;
}

static void sink(struct best *best, size_t at)
{
	struct ranked *items = best->items, item = items[at];
	size_t child;

	while ((child = 2 * at + 1) < best->len) {
		if (child + 1 < best->len && is_worse(&items[child + 1], &items[child]))
			child++;
		if (!is_worse(&items[child], &item))
			break;
		items[at] = items[child];
		at = child;
	}
	items[at] = item;
}

static void make_heap(struct best *best)
{
	for (size_t i = best->len / 2; i-- > 0;)
		sink(best, i);
}

int best_init(struct best *best, struct arena *arena, size_t most)
{
	*best = (struct best){arena_alloc(arena, most * sizeof(*best->items)), 0, most};
	return best->items ? 0 : -1;
}

void best_offer(struct best *best, int64_t total, size_t at)
{
	struct ranked item = {total, at};

	if (best->len < best->most) {
		best->items[best->len++] = item;
		if (best->len == best->most)
			make_heap(best);
	} else if (is_worse(&best->items[0], &item)) {
		best->items[0] = item;
		sink(best, 0);
	}
}

int64_t best_total(const struct best *best)
{
	int64_t most = INT64_MIN;

	for (size_t i = 0; i < best->len; i++)
		most = MAX(most, best->items[i].total);
	return most;
}
