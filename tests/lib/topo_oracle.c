/* SPDX-License-Identifier: Apache-2.0 */
/* Every definition by itself, with loops over everything. */
#include "topo_oracle.h"

#include "base/limits.h"
#include "base/macros.h"

static bool has(uint64_t set, size_t card)
{
	return set >> card & 1;
}

static uint32_t count_of(uint64_t set)
{
	uint32_t n = 0;

	for (size_t i = 0; i < 64; i++)
		n += has(set, i);
	return n;
}

/* --- pairs */

/* The bridges above a card, the lowest first. */
static size_t path_of(const struct layout *layout, size_t card, uint32_t *path)
{
	uint32_t at = layout->gpus[card].bridge;
	size_t len = 0;

	for (; at != LAYOUT_NONE; at = layout->bridges[at].parent)
		path[len++] = at;
	return len;
}

/* The bridges that two cards have in common, and those that only one of them is under. */
static size_t meet(const struct layout *layout, size_t a, size_t b, size_t *ret_between)
{
	uint32_t one[LIMIT_LAYOUT_BRIDGES], other[LIMIT_LAYOUT_BRIDGES];
	size_t n = path_of(layout, a, one), m = path_of(layout, b, other), common = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < m; j++)
			common += one[i] == other[j];
	*ret_between = n + m - 2 * common;
	return common;
}

static int64_t link_between(const struct layout *layout, size_t a, size_t b)
{
	for (size_t i = 0; i < layout->n_links; i++) {
		const struct layout_link *link = &layout->links[i];

		if ((link->a == a && link->b == b) || (link->a == b && link->b == a))
			return link->bandwidth;
	}
	return 0;
}

static enum oracle_answer answer(bool yes)
{
	return yes ? ORACLE_YES : ORACLE_NO;
}

static enum oracle_answer in_one(const struct layout *layout, enum layout_scope scope, size_t a,
				 size_t b)
{
	const struct layout_gpu *one = &layout->gpus[a], *other = &layout->gpus[b];
	size_t between;

	switch (scope) {
	case LAYOUT_NUMA:
		if (one->numa == LAYOUT_NONE || other->numa == LAYOUT_NONE)
			return ORACLE_UNKNOWN;
		return answer(one->numa == other->numa);
	case LAYOUT_PCIE_SWITCH:
		if (one->bridge == LAYOUT_NONE || other->bridge == LAYOUT_NONE)
			return ORACLE_UNKNOWN;
		return answer(meet(layout, a, b, &between) > 0);
	case LAYOUT_NVLINK:
		break;
	}
	return layout->n_links == 0 ? ORACLE_UNKNOWN : answer(link_between(layout, a, b) > 0);
}

enum oracle_answer oracle_in_one_domain(const struct layout *layout, enum layout_scope scope,
					uint64_t set)
{
	bool unknown = false;

	for (size_t a = 0; a < layout->n_gpus; a++) {
		for (size_t b = 0; b < a; b++) {
			enum oracle_answer pair;

			if (!has(set, a) || !has(set, b))
				continue;
			pair = in_one(layout, scope, a, b);
			if (pair == ORACLE_NO)
				return ORACLE_NO;
			unknown = unknown || pair == ORACLE_UNKNOWN;
		}
	}
	return unknown ? ORACLE_UNKNOWN : ORACLE_YES;
}

/* --- scores */

static void add_pair(const struct layout *layout, size_t a, size_t b, struct oracle_score *score)
{
	const struct layout_gpu *one = &layout->gpus[a], *other = &layout->gpus[b];
	int64_t bandwidth = link_between(layout, a, b);
	size_t between;

	if (bandwidth > 0)
		score->sums[0] += bandwidth < 1000000000 ? 1 : bandwidth / 1000000000;
	if (one->bridge != LAYOUT_NONE && other->bridge != LAYOUT_NONE &&
	    meet(layout, a, b, &between) > 0)
		score->sums[1] += between > 14 ? 1 : 15 - (int64_t)between;
	if (one->numa == LAYOUT_NONE || other->numa == LAYOUT_NONE)
		return;
	if (layout->distances)
		score->sums[2] +=
			255 - layout->distances[one->numa * layout->n_numas + other->numa];
	else
		score->sums[2] += one->numa == other->numa ? 245 : 0;
}

struct oracle_score oracle_score(const struct layout *layout, uint64_t set)
{
	struct oracle_score score = {0};

	for (size_t a = 0; a < layout->n_gpus; a++)
		for (size_t b = 0; b < a; b++)
			if (has(set, a) && has(set, b))
				add_pair(layout, a, b, &score);
	return score;
}

int oracle_compare(const struct oracle_score *a, const struct oracle_score *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(a->sums); i++)
		if (a->sums[i] != b->sums[i])
			return a->sums[i] < b->sums[i] ? -1 : 1;
	return 0;
}

/* --- kubelet */

static uint32_t count_under(const struct layout *layout, uint64_t set, uint64_t mask)
{
	uint32_t n = 0;

	for (size_t i = 0; i < layout->n_gpus; i++)
		n += has(set, i) && layout->gpus[i].numa != LAYOUT_NONE &&
		     has(mask, layout->gpus[i].numa);
	return n;
}

bool oracle_admits(const struct layout *layout, uint64_t free, uint32_t count)
{
	uint64_t all = layout->n_gpus < 64 ? (UINT64_C(1) << layout->n_gpus) - 1 : UINT64_MAX;
	uint64_t masks = UINT64_C(1) << layout->n_numas;
	uint32_t least = (uint32_t)layout->n_numas;
	bool admitted = false;

	if (count == 0 || count_under(layout, all, masks - 1) == 0)
		return true; /* no device hints anything */
	for (uint64_t mask = 1; mask < masks; mask++)
		if (count_under(layout, all, mask) >= count)
			least = MIN(least, count_of(mask));
	for (uint64_t mask = 1; mask < masks; mask++) {
		bool preferred = count_of(mask) == least;

		if (count_under(layout, free, mask) < count)
			continue;
		if (layout->kubelet.policy == LAYOUT_POLICY_SINGLE_NUMA)
			admitted = admitted || (preferred && count_of(mask) == 1);
		else
			admitted = admitted || preferred;
	}
	return admitted;
}
