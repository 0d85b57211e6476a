/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts laid over a layout: cards by PCI address, then what follows from having all of them (which
 * cards were lost, that a uuid is one card's), then links.
 */
#include <string.h>

#include "agent/facts.h"

struct merging {
	const struct layout *layout;
	const struct machine_facts *facts;
	struct arena *arena;
	struct layout_gpu *gpus;
	uint32_t of_gpu[LIMIT_LAYOUT_GPUS]; /* the facts' card that a GPU is, or LAYOUT_NONE */
};

static void *merging_alloc(struct merging *merging, size_t size, struct error *err)
{
	void *block = arena_alloc(merging->arena, size);

	if (!block)
		error_set(err, ERROR_LIMIT, "a layout of more than %zu bytes",
			  merging->arena->limit);
	return block;
}

static uint32_t find_card(const struct machine_facts *facts, struct str pci)
{
	for (size_t i = 0; i < facts->n_cards; i++)
		if (str_equal(facts->cards[i].pci, pci))
			return (uint32_t)i;
	return LAYOUT_NONE;
}

static uint32_t find_numa(const struct layout *layout, uint32_t id)
{
	for (size_t i = 0; i < layout->n_numas; i++)
		if (layout->numas[i].id == id && layout->numas[i].n_cpus > 0)
			return (uint32_t)i;
	return LAYOUT_NONE;
}

static void add_partition(const struct partition_facts *partition, struct layout_mig *migs,
			  size_t *n)
{
	for (size_t i = 0; i < *n; i++) {
		if (!str_equal(migs[i].profile, partition->profile))
			continue;
		migs[i].count++;
		if (migs[i].memory != partition->memory)
			migs[i].memory = AMOUNT_UNKNOWN;
		return;
	}
	migs[(*n)++] = (struct layout_mig){partition->profile, 1, partition->memory};
}

/* Whether the partitions can all be there: beside each other they have no more than the card. */
static bool migs_fit(const struct layout_mig *migs, size_t n, int64_t card_memory)
{
	int64_t left = card_memory == AMOUNT_UNKNOWN ? LIMIT_LAYOUT_AMOUNT : card_memory;

	for (size_t i = 0; i < n; i++) {
		if (migs[i].memory == AMOUNT_UNKNOWN)
			continue;
		if (migs[i].memory > left / migs[i].count)
			return false;
		left -= migs[i].memory * migs[i].count;
	}
	return true;
}

static int merge_migs(struct merging *merging, const struct card_facts *card,
		      struct layout_gpu *gpu, struct error *err)
{
	struct layout_mig *migs;
	size_t n = 0;

	if (!card->partitioned)
		return 0;
	gpu->sharing = DEVICE_MIG;
	migs = merging_alloc(merging, card->n_partitions * sizeof(*migs), err);
	if (!migs)
		return -1;
	for (size_t i = 0; i < card->n_partitions; i++)
		if (!str_empty(card->partitions[i].profile))
			add_partition(&card->partitions[i], migs, &n);
	if (!migs_fit(migs, n, gpu->memory))
		for (size_t i = 0; i < n; i++)
			migs[i].memory = AMOUNT_UNKNOWN;
	gpu->migs = migs;
	gpu->n_migs = n;
	return 0;
}

static int merge_card(struct merging *merging, const struct card_facts *card,
		      struct layout_gpu *gpu, struct error *err)
{
	gpu->index = card->index;
	gpu->health = card->health;
	if (!str_empty(card->uuid))
		gpu->uuid = card->uuid;
	if (!str_empty(card->product))
		gpu->product = card->product;
	if (card->memory != AMOUNT_UNKNOWN)
		gpu->memory = card->memory;
	if (gpu->numa == LAYOUT_NONE)
		gpu->numa = find_numa(merging->layout, card->numa);
	return merge_migs(merging, card, gpu, err);
}

static int merge_cards(struct merging *merging, struct error *err)
{
	size_t n = merging->layout->n_gpus;

	merging->gpus = merging_alloc(merging, n * sizeof(*merging->gpus), err);
	if (!merging->gpus)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct layout_gpu *gpu = &merging->gpus[i];
		uint32_t card = find_card(merging->facts, merging->layout->gpus[i].pci);

		*gpu = merging->layout->gpus[i];
		merging->of_gpu[i] = card;
		if (card != LAYOUT_NONE &&
		    merge_card(merging, &merging->facts->cards[card], gpu, err) < 0)
			return -1;
	}
	return 0;
}

static void mark_lost(struct merging *merging)
{
	uint64_t silent = 0;
	size_t lost = 0;

	for (size_t i = 0; i < merging->facts->n_cards; i++) {
		const struct card_facts *card = &merging->facts->cards[i];

		lost += str_empty(card->pci) && card->health == LAYOUT_HEALTH_FAILED;
	}
	for (size_t i = 0; i < merging->layout->n_gpus; i++)
		if (merging->of_gpu[i] == LAYOUT_NONE)
			silent |= UINT64_C(1) << i & merging->facts->theirs;
	if ((size_t)__builtin_popcountll(silent) != lost)
		return;
	for (size_t i = 0; i < merging->layout->n_gpus; i++)
		if (silent >> i & 1)
			merging->gpus[i].health = LAYOUT_HEALTH_FAILED;
}

static void drop_shared_uuids(struct layout_gpu *gpus, size_t n)
{
	uint64_t shared = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			if (str_equal(gpus[i].uuid, gpus[j].uuid))
				shared |= UINT64_C(1) << i | UINT64_C(1) << j;
	for (size_t i = 0; i < n; i++)
		if (shared >> i & 1)
			gpus[i].uuid = STR_NONE;
}

/* Of one card's links, the sum to @to, or to all switches where @to is empty. */
static int64_t speed_to(const struct machine_facts *facts, uint32_t card, struct str to)
{
	int64_t sum = 0;

	for (size_t i = 0; i < facts->n_links; i++) {
		const struct link_facts *link = &facts->links[i];

		if (link->card == card && link->switched == str_empty(to) &&
		    (link->switched || str_equal(link->to, to)))
			sum += MIN(link->speed, LIMIT_LAYOUT_AMOUNT - sum);
	}
	return sum;
}

static bool has_links(const struct merging *merging, size_t gpu)
{
	uint32_t card = merging->of_gpu[gpu];

	return card != LAYOUT_NONE && merging->facts->cards[card].links_known;
}

/* Both cards' links are known. */
static int64_t told_bandwidth(const struct merging *merging, size_t a, size_t b)
{
	const struct machine_facts *facts = merging->facts;
	uint32_t x = merging->of_gpu[a], y = merging->of_gpu[b];
	int64_t there = speed_to(facts, x, merging->gpus[b].pci);
	int64_t back = speed_to(facts, y, merging->gpus[a].pci);
	int64_t from_x = speed_to(facts, x, STR_NONE), from_y = speed_to(facts, y, STR_NONE);
	int64_t direct = MIN(there, back), switched = MIN(from_x, from_y);

	return direct + MIN(switched, LIMIT_LAYOUT_AMOUNT - direct);
}

static int64_t shown_bandwidth(const struct layout *layout, size_t a, size_t b)
{
	for (size_t i = 0; i < layout->n_links; i++)
		if (layout->links[i].a == a && layout->links[i].b == b)
			return layout->links[i].bandwidth;
	return 0;
}

static int merge_links(struct merging *merging, struct layout *layout, struct error *err)
{
	size_t n = layout->n_gpus, count = 0;
	struct layout_link *links =
		merging_alloc(merging, n * (n > 0 ? n - 1 : 0) / 2 * sizeof(*links), err);

	if (!links)
		return -1;
	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = a + 1; b < n; b++) {
			bool told = has_links(merging, a) && has_links(merging, b);
			int64_t bandwidth = told ? told_bandwidth(merging, a, b)
						 : shown_bandwidth(merging->layout, a, b);

			if (bandwidth > 0)
				links[count++] = (struct layout_link){a, b, bandwidth};
		}
	layout->links = links;
	layout->n_links = count;
	return 0;
}

int machine_merge(const struct layout *layout, const struct machine_facts *facts,
		  struct arena *arena, struct layout *ret_layout, struct error *err)
{
	struct merging merging = {.layout = layout, .facts = facts, .arena = arena};
	struct layout merged = *layout;

	if (merge_cards(&merging, err) < 0)
		return -1;
	mark_lost(&merging);
	drop_shared_uuids(merging.gpus, layout->n_gpus);
	merged.gpus = merging.gpus;
	if (merge_links(&merging, &merged, err) < 0)
		return -1;
	*ret_layout = merged;
	return 0;
}
