/* SPDX-License-Identifier: Apache-2.0 */
/* The list of sources, and what they have in common. */
#include "api/source_common.h"

#include <assert.h>

#include "base/checked.h"
#include "base/macros.h"

const struct source *const sources[] = {
	&source_nvidia,  &source_amd,         &source_intel, &source_hami,
	&source_volcano, &source_koordinator, &source_kai,   &source_of_table,
};
const size_t n_sources = ARRAY_SIZE(sources);

/* --- asks */

int source_asks_init(struct source_asks *asks, size_t capacity, const struct pack *pack)
{
	*asks = (struct source_asks){.capacity = capacity};
	asks->asks = arena_alloc(pack->arena, capacity * sizeof(*asks->asks));
	return asks->asks ? 0 : pack_no_memory(pack);
}

/* The first place whose ask does not come before @ask. */
static size_t place_of(const struct source_asks *asks, const struct device_ask *ask)
{
	size_t place = 0;

	while (place < asks->len && device_ask_compare(&asks->asks[place], ask) < 0)
		place++;
	return place;
}

void source_ask(struct source_asks *asks, struct device_ask ask)
{
	size_t place = place_of(asks, &ask);
	struct device_ask *at;

	if (ask.count <= 0)
		return;
	assert(asks->asks && asks->len <= asks->capacity);
	at = &asks->asks[place];
	if (place < asks->len && device_ask_compare(at, &ask) == 0) {
		at->count = saturating_add(at->count, ask.count);
		at->devices = saturating_add(at->devices, ask.devices);
		return;
	}
	assert(asks->len < asks->capacity);
	memmove(at + 1, at, (asks->len - place) * sizeof(*at));
	*at = ask;
	asks->len++;
}

struct device_ask *source_ask_find(struct source_asks *asks, struct str resource)
{
	for (size_t i = 0; i < asks->len; i++)
		if (str_equal(asks->asks[i].resource, resource))
			return &asks->asks[i];
	return NULL;
}

static void take_out(struct pack_amounts *amounts, size_t place)
{
	amounts->len--;
	memmove(&amounts->rows[place], &amounts->rows[place + 1],
		(amounts->len - place) * sizeof(*amounts->rows));
}

int64_t source_take(struct source_request *request, struct str resource)
{
	struct pack_amounts *amounts = &request->amounts;

	for (size_t i = 0; i < amounts->len; i++) {
		int64_t count = amounts->rows[i].count;

		if (!str_equal(amounts->rows[i].resource, resource))
			continue;
		take_out(amounts, i);
		return count;
	}
	return 0;
}

void source_ask_share(struct source_asks *asks, const struct source_share *share)
{
	int64_t cards = MAX(share->cards, 1);

	if (share->memory > 0)
		source_ask(asks, (struct device_ask){share->memory_row,
						     saturating_mul(share->memory, cards),
						     share->card_row, cards, 0});
	else if (share->percent > 0 && share->percent < 100)
		source_ask(asks, (struct device_ask){share->percent_row,
						     saturating_mul(share->percent, cards),
						     share->card_row, cards, 0});
	else
		source_ask(asks, device_ask_units(share->card_row, cards));
}

/* --- what was allocated */

/* The MiB of one container: "UUID,TYPE,MiB,cores:UUID,...". What cannot be read is none. */
static int64_t allocated_memory(struct str devices)
{
	int64_t sum = 0;

	while (!str_empty(devices)) {
		struct str device, field, rest;
		int64_t mib;

		str_split(devices, ':', &device, &devices);
		if (str_split(device, ',', &field, &rest) && str_split(rest, ',', &field, &rest) &&
		    str_split(rest, ',', &field, &rest) && str_to_int64(field, 0, INT64_MAX, &mib))
			sum = saturating_add(sum, mib);
	}
	return sum;
}

void source_raise_allocated(struct source_pod *pod, struct str key, struct str row)
{
	struct str text;

	if (!pod->bound || !wire_map_get(pod->annotations, key, &text))
		return;
	for (size_t i = 0; i < pod->n_containers && !str_empty(text); i++) {
		struct device_ask *ask = source_ask_find(&pod->containers[i], row);
		struct str devices;
		int64_t mib;

		str_split(text, ';', &devices, &text);
		mib = allocated_memory(devices);
		if (!ask || mib <= ask->count)
			continue;
		ask->told = mib - ask->count;
		pod->annotated = true;
	}
}

/* --- offers */

int64_t source_capacity(const struct source_node *node, struct str resource)
{
	for (size_t i = 0; i < node->capacity.len; i++)
		if (str_equal(node->capacity.rows[i].resource, resource))
			return node->capacity.rows[i].count;
	return 0;
}

bool source_label(const struct source_node *node, struct str base, const char *suffix,
		  struct str *ret_value)
{
	const struct wire_pair *pairs = node->labels->items;
	struct str tail = str_from(suffix);

	for (size_t i = node->labels->len; i > 0; i--) {
		struct str key = pairs[i - 1].key;

		if (key.len == base.len + tail.len && str_starts_with(key, base) &&
		    str_ends_with(key, tail)) {
			*ret_value = pairs[i - 1].value;
			return true;
		}
	}
	return false;
}

struct str source_product(const struct source_node *node, struct str base, const char *suffix)
{
	struct str product = STR_NONE;

	source_label(node, base, suffix, &product);
	return product.len <= LIMIT_NAME ? product : STR_NONE;
}

struct device_offer *source_offer_find(const struct source_node *node, struct str resource)
{
	for (size_t i = 0; i < node->n_offers; i++)
		if (str_equal(node->offers[i].resource, resource))
			return &node->offers[i];
	return NULL;
}

/* The last place is there for what finds no other. */
struct device_offer *source_offer(struct source_node *node, struct str resource, int64_t count)
{
	struct device_offer *offer = source_offer_find(node, resource);

	if (!offer) {
		node->full = node->full || node->n_offers == LIMIT_OFFERS_PER_NODE;
		offer = &node->offers[node->full ? LIMIT_OFFERS_PER_NODE : node->n_offers++];
	}
	*offer = (struct device_offer){
		.resource = resource,
		.unit_memory = AMOUNT_UNKNOWN,
		.count = count,
		.sharing = DEVICE_OTHER,
	};
	return offer;
}

static bool differ(int64_t a, int64_t b)
{
	return MAX(a, b) - MIN(a, b) > MAX(a, b) / SOURCE_TOLERANCE;
}

void source_price(struct device_offer *offer, const struct source_card *card, int64_t parts)
{
	int first = 0, other;

	offer->unit_memory = AMOUNT_UNKNOWN;
	offer->other_memory = 0;
	while (first < MEMORY_SOURCE_COUNT && card->by[first] / parts <= 0)
		first++;
	if (first == MEMORY_SOURCE_COUNT)
		return;
	offer->source = offer->other = (enum memory_source)first;
	offer->unit_memory = card->by[first] / parts;
	for (other = first + 1; other < MEMORY_SOURCE_COUNT; other++) {
		if (card->by[other] <= 0 || !differ(card->by[first], card->by[other]))
			continue;
		offer->other = (enum memory_source)other;
		offer->other_memory = MAX(card->by[other] / parts, 1);
		return;
	}
}

void source_offer_parts(struct source_node *node, struct str memory_row, struct str percent_row,
			int64_t cards)
{
	struct device_offer card = {.unit_memory = AMOUNT_UNKNOWN}, *offer;
	struct str product = source_product(node, STR("nvidia.com/gpu"), ".product");
	int64_t mib;

	source_price(&card, &node->card, 1);
	mib = card.unit_memory == AMOUNT_UNKNOWN ? 0 : card.unit_memory / MIB;
	offer = source_offer(node, memory_row, MAX(saturating_mul(mib, cards), 1));
	offer->product = product;
	offer->sharing = DEVICE_FRACTION;
	offer->unit_memory = MIB;
	offer = source_offer(node, percent_row, saturating_mul(cards, 100));
	offer->product = product;
	offer->sharing = DEVICE_FRACTION;
	source_price(offer, &node->card, 100);
}
