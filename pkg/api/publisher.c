/* SPDX-License-Identifier: Apache-2.0 */
/* Cards that others publish, as a layout. */
#include "api/publisher.h"

#include <stdlib.h>

#include "base/macros.h"

static const struct publisher *const publishers[] = {&publisher_hami, &publisher_koordinator};

bool published_add(struct published_cards *cards, const struct published_card *card)
{
	if (cards->n == ARRAY_SIZE(cards->cards))
		return false;
	cards->cards[cards->n++] = *card;
	return true;
}

/* --- whether the list can be one of cards */

static bool is_text(struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] < ' ' || text.data[i] > '~')
			return false;
	return text.len <= LIMIT_LAYOUT_TEXT;
}

static bool is_card(const struct published_card *card)
{
	return !str_empty(card->uuid) && is_text(card->uuid) && is_text(card->pci) &&
	       card->numa >= 0 && card->numa <= INT32_MAX && card->index <= INT32_MAX;
}

static bool are_alike(const struct published_card *a, const struct published_card *b)
{
	return str_equal(a->uuid, b->uuid) || (!str_empty(a->pci) && str_equal(a->pci, b->pci));
}

static bool are_cards(const struct published_cards *cards)
{
	for (size_t i = 0; i < cards->n; i++) {
		if (!is_card(&cards->cards[i]))
			return false;
		for (size_t k = 0; k < i; k++)
			if (are_alike(&cards->cards[i], &cards->cards[k]))
				return false;
	}
	return cards->n > 0;
}

/* --- the layout */

static int compare_numas(const void *a, const void *b)
{
	const struct layout_numa *left = a, *right = b;

	return (left->id > right->id) - (left->id < right->id);
}

/* Those that cards are known to be on. */
static size_t list_numas(const struct published_cards *cards, struct layout_numa *numas)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < cards->n; i++)
		if (cards->cards[i].numa > 0)
			numas[n++] = (struct layout_numa){.id = (uint32_t)cards->cards[i].numa,
							  .memory = AMOUNT_UNKNOWN};
	qsort(numas, n, sizeof(*numas), compare_numas);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || numas[i].id != numas[kept - 1].id)
			numas[kept++] = numas[i];
	return kept;
}

static uint32_t numa_of(const struct layout *layout, const struct published_card *card)
{
	for (size_t i = 0; i < layout->n_numas; i++)
		if (layout->numas[i].id == card->numa)
			return (uint32_t)i;
	return LAYOUT_NONE;
}

/* An index that two cards have is nobody's. */
static uint32_t index_of(const struct published_cards *cards, size_t card)
{
	int64_t index = cards->cards[card].index;

	for (size_t i = 0; i < cards->n; i++)
		if (i != card && cards->cards[i].index == index)
			return LAYOUT_NONE;
	return index < 0 ? LAYOUT_NONE : (uint32_t)index;
}

static struct layout_gpu gpu_of(const struct layout *layout, const struct published_cards *cards,
				size_t i)
{
	const struct published_card *card = &cards->cards[i];

	return (struct layout_gpu){
		.uuid = card->uuid,
		.pci = card->pci,
		.index = index_of(cards, i),
		.numa = numa_of(layout, card),
		.bridge = LAYOUT_NONE,
		.speed = AMOUNT_UNKNOWN,
		.memory = AMOUNT_UNKNOWN,
		.sharing = DEVICE_OTHER,
		.health = card->healthy ? LAYOUT_HEALTH_OK : LAYOUT_HEALTH_FAILED,
	};
}

static int make_layout(const struct publisher *publisher, const struct published_cards *cards,
		       const struct layout **ret_layout)
{
	struct arena *arena = cards->pack->arena;
	struct layout *layout = arena_alloc(arena, sizeof(*layout));
	struct layout_numa *numas = arena_alloc(arena, cards->n * sizeof(*numas));
	struct layout_gpu *gpus = arena_alloc(arena, cards->n * sizeof(*gpus));

	if (!layout || !numas || !gpus)
		return pack_no_memory(cards->pack);
	*layout = (struct layout){
		.writer = str_from(publisher->name),
		.cpus_unknown = true,
		.numas = numas,
		.n_numas = list_numas(cards, numas),
		.gpus = gpus,
		.n_gpus = cards->n,
	};
	for (size_t i = 0; i < cards->n; i++)
		gpus[i] = gpu_of(layout, cards, i);
	*ret_layout = layout;
	return 0;
}

int publishers_read(const struct publisher_input *input, const struct pack *pack,
		    const struct layout **ret_layout)
{
	struct published_cards cards;

	*ret_layout = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(publishers); i++) {
		cards.pack = pack;
		cards.n = 0;
		if (publishers[i]->read(input, &cards) && are_cards(&cards))
			return make_layout(publishers[i], &cards, ret_layout);
	}
	return 0;
}
