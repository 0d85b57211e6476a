/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HAMi's annotation of a Node (Project-HAMi/HAMi, pkg/device/devices.go): in JSON since v2.8, where
 * whatever is 0 or false is left out, before that as CSV. Where its plugin hands cards out in
 * several units each, no unit is a card: nothing can be said of a choice of units.
 */
#include "api/keys.h"
#include "api/publisher.h"
#include "base/macros.h"
#include "codec/json.h"
#include "codec/json_pull.h"

struct wire_card {
	uint64_t present;
	struct str id;
	int64_t count, index, numa;
	bool health;
};

static const struct field card_fields[] = {
	FIELD(struct wire_card, id, "id", 0, FIELD_STRING),
	FIELD(struct wire_card, count, "count", 0, FIELD_INT64),
	FIELD(struct wire_card, index, "index", 0, FIELD_INT64),
	FIELD(struct wire_card, numa, "numa", 0, FIELD_INT64),
	FIELD(struct wire_card, health, "health", 0, FIELD_BOOL),
};
static const struct schema card_schema = SCHEMA("device", struct wire_card, card_fields);

static bool add(struct published_cards *cards, const struct wire_card *wire)
{
	const struct published_card card = {
		.uuid = wire->id,
		.index = wire->index,
		.numa = wire->numa,
		.healthy = wire->health,
	};

	return wire->count == 1 && published_add(cards, &card);
}

static bool read_json(struct str text, struct published_cards *cards)
{
	struct arena *arena = cards->pack->arena;
	struct json_pull pull;
	int more;

	json_pull_init(&pull, text, arena);
	if (json_pull_array(&pull, NULL) < 0)
		return false;
	while ((more = json_pull_element(&pull, NULL)) > 0) {
		struct wire_card card;
		struct str element;

		if (json_pull_skip(&pull, &element, NULL) < 0 ||
		    json_decode(&card_schema, element, arena, &card, NULL) < 0 ||
		    !add(cards, &card))
			return false;
	}
	return more == 0 && json_pull_end(&pull, NULL) == 0;
}

/* UUID,count,devmem,devcore,type,numa,health[,index,mode] */
enum { CSV_UUID, CSV_COUNT, CSV_NUMA = 5, CSV_HEALTH, CSV_INDEX, CSV_FIELDS = 9 };

static bool read_device(struct str device, struct wire_card *ret_card)
{
	struct str fields[CSV_FIELDS] = {{NULL, 0}};
	struct wire_card card = {.index = -1};
	size_t n = 0;
	bool more = true;

	while (more && n < CSV_FIELDS)
		more = str_split(device, ',', &fields[n++], &device);
	card.id = fields[CSV_UUID];
	card.health = str_equal(fields[CSV_HEALTH], STR("true"));
	if (n <= CSV_HEALTH || !str_to_int64(fields[CSV_COUNT], 0, INT32_MAX, &card.count) ||
	    !str_to_int64(fields[CSV_NUMA], 0, INT32_MAX, &card.numa) ||
	    (n > CSV_INDEX && !str_to_int64(fields[CSV_INDEX], 0, INT32_MAX, &card.index)))
		return false;
	*ret_card = card;
	return true;
}

static bool read_csv(struct str text, struct published_cards *cards)
{
	while (!str_empty(text)) {
		struct wire_card card;
		struct str device;

		str_split(text, ':', &device, &text);
		if (!read_device(device, &card) || !add(cards, &card))
			return false;
	}
	return true;
}

static bool read(const struct publisher_input *input, struct published_cards *cards)
{
	struct str text;

	if (!input->annotations ||
	    !wire_map_get(input->annotations, STR(KEY_HAMI_REGISTER), &text) || str_empty(text))
		return false;
	return text.data[0] == '[' ? read_json(text, cards) : read_csv(text, cards);
}

const struct publisher publisher_hami = {.name = "HAMi", .read = read};
